"""quern broker --data, killed again and again under load: what it has answered holds.

QUERN_KILLS says how often; by default a few times, which take seconds."""

import http.client
import json
import os
import threading
import time
import unittest
import urllib.parse
import urllib.request

from program import LIMIT, Broker, ProgramTest

KILLS = int(os.environ.get("QUERN_KILLS", "30"))
UNDER_LOAD = 0.3  # seconds before each
MOST_THERE = 2_000  # messages of a worker, or a look is not of all


class Worker(threading.Thread):
    """Sends, receives and deletes as fast as it is answered, and remembers what it was told."""

    def __init__(self, number, queue, place):
        super().__init__(daemon=True)
        self.number, self.queue, self.place = number, queue, place
        self.begun, self.sent, self.asked, self.deleted = set(), set(), set(), set()
        self.requests = 0
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.place["port"], timeout=LIMIT)
            try:
                while not self.stopping.is_set():
                    self.work(connection)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # it was killed, and the next one is on its way
            finally:
                connection.close()

    def call(self, connection, operation, **members):
        body = json.dumps({"QueueUrl": self.queue, **members})
        connection.request("POST", "/", body, {"Content-Type": "application/x-amz-json-1.0",
                                               "X-Amz-Target": "AmazonSQS." + operation})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{operation}: {answer.status} {said}")
        self.requests += 1
        return json.loads(said or b"{}")

    def work(self, connection):
        entries = []
        for i in range(4 if len(self.sent) - len(self.deleted) < MOST_THERE else 0):
            name = f"{self.number}-{len(self.begun)}"
            self.begun.add(name)
            entry = {"Id": str(i), "MessageBody": name}
            if self.queue.endswith(".fifo"):
                entry |= {"MessageGroupId": f"g{self.number}-{i}", "MessageDeduplicationId": name}
            entries.append(entry)
        done = self.call(connection, "SendMessageBatch", Entries=entries)["Successful"] if entries else []
        self.sent |= {entries[int(one["Id"])]["MessageBody"] for one in done}
        found = self.call(connection, "ReceiveMessage", MaxNumberOfMessages=10, VisibilityTimeout=2).get("Messages", [])
        some = found[1:]  # the first comes again
        if not some:
            return
        self.asked |= {one["Body"] for one in some}
        done = self.call(connection, "DeleteMessageBatch", Entries=[
            {"Id": str(i), "ReceiptHandle": one["ReceiptHandle"]} for i, one in enumerate(some)])["Successful"]
        self.deleted |= {some[int(one["Id"])]["Body"] for one in done}


class BrokerKillsTest(ProgramTest):
    broker_options = None

    def look(self, queue):
        """The bodies that are there, each as often as it is."""
        query = urllib.parse.urlencode({"queue": queue, "most": 10_000})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.place['port']}/_quern/messages?{query}", timeout=LIMIT) as answer:
            return [one["body"] for one in json.load(answer)["messages"]]

    def start_broker(self):
        broker = Broker("--no-auth", "--admin", "--data", os.path.join(self.folder, "data"))

        def end():
            broker.process.kill()
            broker.process.wait(LIMIT)
            broker.process.stdout.close()

        self.addCleanup(end)
        self.place = getattr(self, "place", {})
        self.place["port"] = urllib.parse.urlsplit(broker.url).port
        return broker

    def test_nothing_that_was_answered_is_lost_and_nothing_deleted_comes_back(self):
        broker = self.start_broker()
        self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
        self.create("orders")
        self.create("ledger.fifo", "--fifo")
        queues = "orders", "ledger.fifo"
        workers = [Worker(number, queues[number % 2], self.place) for number in range(4)]
        for _ in range(KILLS):
            time.sleep(UNDER_LOAD)
            broker.process.kill()
            broker.process.wait(LIMIT)
            broker = self.start_broker()
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join(LIMIT)
            self.assertFalse(worker.is_alive())
        for queue in queues:
            its = [worker for worker in workers if worker.queue == queue]
            begun, sent, asked, deleted = (set().union(*(getattr(w, what) for w in its))
                                           for what in ("begun", "sent", "asked", "deleted"))
            there = self.look(queue)
            self.assertLess(len(there), 10_000)
            self.assertEqual(len(there), len(set(there)))
            self.assertEqual(sent - set(there) - asked, set(), "lost")
            self.assertEqual(deleted & set(there), set(), "back")
            self.assertEqual(set(there) - begun, set(), "never sent")
            self.assertTrue(deleted)
            print(f"{queue}: {KILLS} kills, {len(sent)} sent, {len(deleted)} deleted, {len(there)} there")


if __name__ == "__main__":
    unittest.main()
