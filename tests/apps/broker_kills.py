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

from program import LIMIT, Broker, ProgramTest, until

KILLS = int(os.environ.get("QUERN_KILLS", "30"))
UNDER_LOAD = 0.3  # seconds before each
MOST_THERE = 2_000  # messages of a worker, or a look is not of all


class Client(threading.Thread):
    """Works as fast as it is answered, whenever the broker is there."""

    def __init__(self, queue, place):
        super().__init__(daemon=True)
        self.queue, self.place = queue, place
        self.stopping = threading.Event()
        self.wrong = []

    def run(self):
        while not self.stopping.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.place["port"], timeout=LIMIT)
            try:
                while not self.stopping.is_set():
                    self.work(connection)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # it was killed, and the next one is on its way
            except (KeyError, ValueError) as unexpected:
                self.wrong.append(repr(unexpected))
                return
            finally:
                connection.close()

    def call(self, connection, operation, may_be_late=False, **members):
        body = json.dumps({"QueueUrl": self.queue, **members})
        connection.request("POST", "/", body, {"Content-Type": "application/x-amz-json-1.0",
                                               "X-Amz-Target": "AmazonSQS." + operation})
        answer = connection.getresponse()
        said = answer.read()
        if may_be_late and answer.status == 400:
            return None
        if answer.status != 200:
            self.wrong.append(f"{operation}: {answer.status} {said}")
        return json.loads(said or b"{}")


class Worker(Client):
    """Sends, receives, hides and deletes, and remembers what it was told."""

    hidden_until = {}  # of all workers: body -> when it may be received at the earliest

    def __init__(self, number, queue, place):
        super().__init__(queue, place)
        self.number = number
        self.begun, self.sent, self.asked, self.deleted = set(), set(), set(), set()
        self.start()

    def work(self, connection):
        entries = []
        for i in range(4 if len(self.sent) - len(self.deleted) < MOST_THERE else 0):
            name = f"{self.number}-{len(self.begun)}"
            self.begun.add(name)
            entry = {"Id": str(i), "MessageBody": name}
            if self.queue.endswith(".fifo"):
                entry |= {"MessageGroupId": f"g{self.number}-{i}", "MessageDeduplicationId": name}
            elif i == 3:
                entry |= {"DelaySeconds": 1}
                self.hidden_until[name] = time.time() + 1
            entries.append(entry)
        done = self.call(connection, "SendMessageBatch", Entries=entries)["Successful"] if entries else []
        self.sent |= {entries[int(one["Id"])]["MessageBody"] for one in done}
        found = self.call(connection, "ReceiveMessage", MaxNumberOfMessages=10, VisibilityTimeout=2).get("Messages", [])
        self.wrong += [one["Body"] + " came while it was hidden" for one in found
                       if time.time() < self.hidden_until.get(one["Body"], 0)]
        some = found[1:]  # the first comes again
        if found:
            self.hide(connection, found[0])
        if not some:
            return
        self.asked |= {one["Body"] for one in some}
        done = self.call(connection, "DeleteMessageBatch", Entries=[
            {"Id": str(i), "ReceiptHandle": one["ReceiptHandle"]} for i, one in enumerate(some)])["Successful"]
        self.deleted |= {some[int(one["Id"])]["Body"] for one in done}

    def hide(self, connection, one):
        asked_at = time.time()
        done = self.call(connection, "ChangeMessageVisibility", True, ReceiptHandle=one["ReceiptHandle"], VisibilityTimeout=3)
        if done is not None:
            self.hidden_until[one["Body"]] = asked_at + 3


class Mover(Client):
    """Sends what a task then moves to another queue, and deletes it there."""

    def __init__(self, queue, destination, arn, place):
        super().__init__(queue, place)
        self.letters, self.destination, self.arn = queue, destination, arn
        self.begun, self.sent, self.asked, self.deleted = [], set(), set(), set()
        self.start()

    def work(self, connection):
        self.queue = self.letters
        if len(self.sent) - len(self.deleted) < MOST_THERE:
            some = [f"letter-{len(self.begun) + i}" for i in range(10)]
            self.begun += some
            done = self.call(connection, "SendMessageBatch", Entries=[
                {"Id": str(i), "MessageBody": body} for i, body in enumerate(some)])["Successful"]
            self.sent |= {some[int(one["Id"])] for one in done}
        if not self.is_moving(connection):
            self.call(connection, "StartMessageMoveTask", SourceArn=self.arn + "letters", DestinationArn=self.arn + "moved")
        self.queue = self.destination
        for one in self.call(connection, "ReceiveMessage", MaxNumberOfMessages=10, VisibilityTimeout=2).get("Messages", []):
            self.asked.add(one["Body"])
            self.call(connection, "DeleteMessage", ReceiptHandle=one["ReceiptHandle"])
            self.deleted.add(one["Body"])

    def is_moving(self, connection):
        tasks = self.call(connection, "ListMessageMoveTasks", SourceArn=self.arn + "letters").get("Results", [])
        return any(task["Status"] == "RUNNING" for task in tasks)


class Purger(Client):
    """Sends, and has all of it thrown away; what was is never seen again."""

    def __init__(self, queue, place):
        super().__init__(queue, place)
        self.begun, self.purged = [], set()
        self.start()

    def work(self, connection):
        found = self.call(connection, "ReceiveMessage", MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", [])
        self.wrong += [one["Body"] + " was purged, and is back" for one in found if one["Body"] in self.purged]
        for _ in range(10):
            self.begun.append(f"scrap-{len(self.begun)}")
            self.call(connection, "SendMessage", MessageBody=self.begun[-1])
        self.call(connection, "PurgeQueue")
        self.purged |= set(self.begun)


class BrokerKillsTest(ProgramTest):
    broker_options = None

    def look(self, queue):
        """The bodies that are there, each as often as it is."""
        query = urllib.parse.urlencode({"queue": queue, "most": 10_000})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.place['port']}/_quern/messages?{query}", timeout=LIMIT) as answer:
            return [one["body"] for one in json.load(answer)["messages"]]

    def start_broker(self):
        broker = Broker("--no-auth", "--admin", "--relaxed", "--data", os.path.join(self.folder, "data"))

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
        arn = "arn:aws:sqs:us-east-1:000000000000:"
        redrive = json.dumps({"deadLetterTargetArn": arn + "letters", "maxReceiveCount": 5})
        letters = self.create("letters")
        moved = self.create("moved", "--attribute", "RedrivePolicy=" + redrive)
        scrap = self.create("scrap")
        queues = "orders", "ledger.fifo"
        workers = [Worker(number, queues[number % 2], self.place) for number in range(4)]
        mover = Mover(letters, moved, arn, self.place)
        purger = Purger(scrap, self.place)
        for _ in range(KILLS):
            time.sleep(UNDER_LOAD)
            broker.process.kill()
            broker.process.wait(LIMIT)
            broker = self.start_broker()
        clients = [*workers, mover, purger]
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join(LIMIT)
            self.assertFalse(client.is_alive())
            self.assertEqual(client.wrong, [])
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
        self.assertEqual(purger.purged & set(self.look("scrap")), set(), "purged, and back")
        self.assertTrue(purger.purged)
        connection = http.client.HTTPConnection("127.0.0.1", self.place["port"], timeout=LIMIT)
        until(lambda: mover.is_moving(connection), lambda moving: not moving)  # a look now might miss what is on its way
        connection.close()
        there = self.look("moved") + self.look("letters")
        self.assertEqual(len(there), len(set(there)), "twice")
        self.assertEqual(mover.sent - set(there) - mover.asked, set(), "lost")
        self.assertEqual(mover.deleted & set(there), set(), "back")
        self.assertTrue(mover.deleted)
        print(f"{KILLS} kills, {len(purger.purged)} purged, {len(mover.deleted)} moved and deleted, {len(there)} there")


if __name__ == "__main__":
    unittest.main()
