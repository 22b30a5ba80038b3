#!/usr/bin/env python3
"""Kills a broker that keeps its queues, again and again, under load: what it answered is there, what it deleted is not.

broker_kill.py QUERN [--times N] [--seed N]
"""
import argparse
import http.client
import json
import os
import random
import subprocess
import tempfile
import threading

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--times", type=int, default=5)
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)

THREADS = 6
QUEUES = ["plain", "rows.fifo"]
HIDDEN = 3600  # s: longer than a run


class Gone(Exception):
    """The broker was killed before it answered."""


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, target, body=None, headers=None):
        try:
            self.connection.request(method, target, body, headers or {})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as why:
            raise Gone from why
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {text}")
        return json.loads(text) if text else {}

    def call(self, operation, **request):
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{operation}"}
        return self.ask("POST", "/", json.dumps(request), headers)


class Broker:
    def __init__(self, folder):
        self.process = subprocess.Popen([args.quern, "broker", "--port", "0", "--no-auth", "--admin", "--data", folder],
                                        stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if not said.startswith("listening on "):
            raise AssertionError(f"the broker did not come back: {said!r}")
        self.port = int(said.rsplit(":", 1)[1])

    def client(self):
        return Client(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Book:
    """What was answered, and what was asked for and may have happened, by body. Each is of one thread alone."""

    def __init__(self):
        self.sent = {}  # body: message id
        self.asked = set()  # sent without an answer
        self.deleted = set()
        self.deleting = set()  # without an answer
        self.receives = {}  # body: number of those answered
        self.handles = {}  # body: (queue, handle), not used yet
        self.duplicates = {}  # body: what repeats its send


def load(book, broker, name, dice):
    """Sends, receives and deletes until the broker is gone."""
    client = broker.client()
    number = 0
    try:
        while True:
            queue = dice.choice(QUEUES)
            fifo = queue.endswith(".fifo")
            action = dice.random()
            if action < 0.4:
                number += 1
                body = f"{name}-{number:06}"
                request = {"QueueUrl": queue, "MessageBody": body + " " + "x" * dice.choice([0, 300, 3000])}
                if fifo:
                    request.update(MessageGroupId=name, MessageDeduplicationId=body)
                book.asked.add(body)
                book.sent[body] = client.call("SendMessage", **request)["MessageId"]
                book.asked.remove(body)
                if fifo:
                    book.duplicates = {body: request}
            elif action < 0.55:
                got = client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=dice.randint(1, 10),
                                  VisibilityTimeout=HIDDEN, WaitTimeSeconds=dice.choice([0, 0, 1]))
                for m in got.get("Messages", []):
                    body = m["Body"].split()[0]
                    book.receives[body] = book.receives.get(body, 0) + 1
                    book.handles[body] = queue, m["ReceiptHandle"]
            elif book.handles:
                delete(book, client, dice.choice(sorted(book.handles)))
    except Gone:
        pass


def delete(book, client, body):
    queue, handle = book.handles.pop(body)
    book.deleting.add(body)
    client.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)
    book.deleting.remove(body)
    book.deleted.add(body)


def check(broker, books):
    """Compares what is there with the books, and enters what became of that which was not answered."""
    client = broker.client()
    there = {}
    rows = {}
    for queue in QUEUES:
        for m in client.ask("GET", f"/_quern/messages?queue={queue}&most=10000")["messages"]:
            body = m["body"].split()[0]
            assert body not in there, f"{body} is there twice"
            there[body] = m
            if "group" in m:
                rows.setdefault(m["group"], []).append(body)
    for group, bodies in rows.items():
        assert bodies == sorted(bodies), f"the group {group} is out of order: {bodies}"
    deleted = set().union(*(book.deleted | book.deleting for book in books))
    for book in books:
        lost = book.sent.keys() - deleted - there.keys()
        assert not lost, f"answered and lost: {sorted(lost)[:5]}"
        back = book.deleted & there.keys()
        assert not back, f"deleted and back: {sorted(back)[:5]}"
        for body in book.asked & there.keys():
            book.sent[body] = there[body]["id"]
        book.asked.clear()
        book.deleted |= book.deleting - there.keys()
        book.deleting.clear()
        for body in book.sent.keys() & there.keys():
            assert there[body]["id"] == book.sent[body], f"{body} has another id"
    for book in books:
        for body, number in book.receives.items():
            if body in there:
                m = there[body]
                assert m["receive_count"] >= number, f"{body} was received {number} times, not {m['receive_count']}"
                assert m["state"] == "in flight", f"{body} is {m['state']} within its visibility timeout"
        # Handles of the run before are good, and its sends are known.
        for body in sorted(book.handles)[:3]:
            delete(book, client, body)
        for body, request in book.duplicates.items():
            again = client.call("SendMessage", **request)
            assert again["MessageId"] == book.sent[body], f"{body} was sent twice"
        book.duplicates = {}
    return len(there)


with tempfile.TemporaryDirectory(dir=os.environ.get("QUERN_TMP_DIR")) as folder:
    dice = random.Random(args.seed)
    books = [Book() for _ in range(THREADS)]
    broker = Broker(folder)
    for queue in QUEUES:
        broker.client().call("CreateQueue", QueueName=queue,
                             Attributes={"FifoQueue": "true"} if queue.endswith(".fifo") else {})
    try:
        for turn in range(args.times):
            threads = [threading.Thread(target=load, args=(book, broker, f"r{turn:03}t{n}", random.Random(dice.random())))
                       for n, book in enumerate(books)]
            for thread in threads:
                thread.start()
            threads[0].join(dice.uniform(0.05, 0.5))  # it ends when the broker does
            broker.kill()
            for thread in threads:
                thread.join()
            broker = Broker(folder)
            left = check(broker, books)
            if turn % 10 == 0 or turn == args.times - 1:
                print(f"kill {turn + 1}: sent {sum(len(b.sent) for b in books)}, "
                      f"deleted {sum(len(b.deleted) for b in books)}, there {left}", flush=True)
    finally:
        broker.kill()
