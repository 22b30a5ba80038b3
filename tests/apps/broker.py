"""quern broker: queues from a file, queues that are kept."""

import json
import os
import signal
import sqlite3
import unittest
import urllib.request

from program import LIMIT, Broker, ProgramTest

SHOP = """
[queues.orders]
VisibilityTimeout = 60
dead_letter_queue = "orders-dead"
messages = ["first", "second"]
[queues.orders-dead]
"""


class BrokerFilesTest(ProgramTest):
    broker_options = None

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def queues(self, broker):
        with urllib.request.urlopen(broker.url + "/_quern/queues", timeout=LIMIT) as answer:
            return {q["name"]: (q["visible"], q["in_flight"]) for q in json.load(answer)["queues"]}

    def test_queues_of_a_file_are_there_when_it_listens(self):
        with Broker("--admin", "--queues", self.path("shop.toml", SHOP)) as broker:
            self.assertEqual(self.queues(broker), {"orders": (2, 0), "orders-dead": (0, 0)})

    def test_a_bad_file_is_refused_with_its_line_before_anything_is_made(self):
        path = self.path("shop.toml", SHOP + "VisibilityTimeout = -1\n")
        data = self.path("data")
        self.refuse("broker", "--port", "0", "--queues", path, "--data", data, status=2,
                    mentions=[f"{path}:7:21: queues.orders-dead.VisibilityTimeout", "0 to 43200"])
        self.refuse("broker", "--port", "0", "--queues", self.path("absent.toml"), status=2, mentions=["absent.toml"])
        with Broker("--admin", "--data", data) as broker:
            self.assertEqual(self.queues(broker), {})

    def test_queues_survive_a_stop_and_a_kill_and_the_file_sends_once(self):
        options = "--admin", "--data", self.path("data"), "--queues", self.path("shop.toml", SHOP)
        with Broker(*options) as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.assertEqual({m["body"] for m in self.consume("orders")}, {"first", "second"})
        with Broker(*options) as broker:
            self.assertEqual(self.queues(broker), {"orders": (0, 0), "orders-dead": (0, 0)})
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.send("orders", "third")
            broker.process.send_signal(signal.SIGKILL)
        with Broker(*options) as broker:
            self.assertEqual(self.queues(broker)["orders"], (1, 0))
        self.path("shop.toml", SHOP + "VisibilityTimeout = 5\n")  # what was kept wins
        with Broker(*options) as broker:
            self.assertEqual(self.queues(broker)["orders"], (1, 0))
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.assertIn("VisibilityTimeout=30", self.quern("queue", "attributes", "orders-dead")[0])

    def test_a_purge_reads_no_messages_of_other_queues_in_databases_of_before_too(self):
        data = self.path("data")
        file = os.path.join(data, "queues.sqlite")
        for forget in False, True:
            if forget:
                with sqlite3.connect(file) as database:
                    database.execute("DROP INDEX message_by_queue")
                database.close()
            with Broker("--data", data):
                pass
            database = sqlite3.connect(file)
            plan = database.execute("EXPLAIN QUERY PLAN DELETE FROM message WHERE queue = 1").fetchall()
            database.close()
            self.assertIn("message_by_queue", str(plan))

    def test_a_folder_is_for_one_broker_at_a_time(self):
        data = self.path("data")
        with Broker("--data", data):
            self.refuse("broker", "--port", "0", "--data", data, status=2, mentions=["queues.sqlite is in use"])
        self.path("data/queues.sqlite", "something else, and long enough " * 99)
        self.refuse("broker", "--port", "0", "--data", data, status=2, mentions=["is no SQLite database"])


if __name__ == "__main__":
    unittest.main()
