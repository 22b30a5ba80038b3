#!/usr/bin/env python3
"""Stops `quern relay` at random moments under load: nothing is lost, and what comes again was in flight, with the same key.

relay_signals.py QUERN [--runs N] [--messages N] [--seed N] [--term | --kill] [--fifo]

Each run starts the program on a queue that is kept full, sends the signal after a random time, and asks the broker which
messages are in flight then. After SIGKILL these may come again, once for each such moment, and no others; after SIGTERM none.
In the end the queue is emptied, and every message must have come. With --fifo each group must have come in its order.
The number of runs is 20, or that of QUERN_RUNS.
"""
import argparse
import http.client
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--runs", type=int, default=int(os.environ.get("QUERN_RUNS", 20)))
parser.add_argument("--messages", type=int, default=500, help="in the queue before each run")
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
parser.add_argument("--term", dest="kill", action="store_false", default=False, help="the default")
parser.add_argument("--kill", action="store_true")
parser.add_argument("--fifo", action="store_true")
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)
chance = random.Random(args.seed)
LIMIT = 120  # s


class Hook(http.server.BaseHTTPRequestHandler):
    """A web service that takes its time."""

    protocol_version = "HTTP/1.1"
    came = []  # (body, idempotency key), in order of arrival

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.came.append((body, self.headers["Idempotency-Key"]))
        time.sleep(random.choice([0, 0.002, 0.02]))  # the work itself
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # whoever asked was killed


class Broker:
    def __init__(self):
        self.process = subprocess.Popen([args.quern, "broker", "--port", "0", "--no-auth", "--admin"], text=True,
                                        stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().split()[-1]
        self.connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=LIMIT)

    def ask(self, method, target, body=None, headers=None):
        self.connection.request(method, target, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text) if text else {}

    def call(self, operation, **request):
        return self.ask("POST", "/", json.dumps(request), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{operation}"})

    def in_flight(self, queue):
        """{(body, number of receives)}"""
        there = self.ask("GET", f"/_quern/messages?queue={queue}&most=100000")["messages"]
        return {(m["body"], m["receive_count"]) for m in there if m["state"] == "in flight"}


def send(broker, url, bodies):
    for at in range(0, len(bodies), 10):
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[at:at + 10])]
        if args.fifo:
            entries = [{**e, "MessageGroupId": e["MessageBody"].split()[0],
                        "MessageDeduplicationId": e["MessageBody"].replace(" ", "-")} for e in entries]
        done = broker.call("SendMessageBatch", QueueUrl=url, Entries=entries)
        assert not done.get("Failed"), done


def out_of_order(came):
    """Groups of which a message first came after a later one."""
    rows = {}
    for body in dict.fromkeys(came):
        group, number = body.split()
        rows.setdefault(group, []).append(int(number))
    return [group for group, numbers in rows.items() if numbers != sorted(numbers)]


def main():
    queue = "orders.fifo" if args.fifo else "orders"
    broker, server = Broker(), Server(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test",
                       AWS_ENDPOINT_URL_SQS=broker.url)
    relay = [args.quern, "relay", queue, f"http://127.0.0.1:{server.server_port}/", "--visibility-timeout", "3",
             "--concurrency", "20", "--wait-time", "1"]
    sent, caught, failed = [], set(), 0
    try:
        url = broker.call("CreateQueue", QueueName=queue,
                          Attributes={"FifoQueue": "true"} if args.fifo else {})["QueueUrl"]
        for run in range(args.runs):
            come = len({body for body, _ in Hook.came})
            fresh = [f"g{n % 40} {n}" for n in range(len(sent), come + args.messages)]
            send(broker, url, fresh)
            sent += fresh
            process = subprocess.Popen(relay, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(chance.uniform(0, 0.6))  # the random moment itself, not a wait for something
            process.send_signal(signal.SIGKILL if args.kill else signal.SIGTERM)
            errors = process.communicate(timeout=LIMIT)[1]
            hidden = broker.in_flight(queue)
            print(f"run {run}: {len(Hook.came)} requests, {len(hidden)} in flight, status {process.returncode}", flush=True)
            if args.kill:
                caught |= hidden
            elif hidden or process.returncode not in (0, -signal.SIGTERM):  # the second: before it knew of signals
                failed += 1
                print(errors, file=sys.stderr)
        subprocess.run([*relay, "--until-empty"], env=environment, check=True, timeout=LIMIT, stderr=subprocess.DEVNULL)
    finally:
        broker.process.terminate()
        broker.process.wait(timeout=30)
        server.shutdown()
    bodies, keys = [body for body, _ in Hook.came], {}
    times = dict.fromkeys(sent, 0)
    for body, key in Hook.came:
        times[body] += 1
        keys.setdefault(body, set()).add(key)
    may = dict.fromkeys(sent, 1)
    for body, _ in caught:
        may[body] += 1
    missing = [body for body in sent if times[body] == 0]
    too_often = [body for body in sent if times[body] > may[body]]
    two_keys = [body for body, all_of_it in keys.items() if len(all_of_it) != 1]
    disorder = out_of_order(bodies) if args.fifo else []
    print(f"{args.runs} runs: sent {len(sent)}, missing {len(missing)}, repeated {len(bodies) - len(set(bodies))}, "
          f"in flight at a signal {len(caught)}, repeated though not in flight {len(too_often)}, "
          f"with more than one key {len(two_keys)}, groups out of order {len(disorder)}, failed runs {failed}")
    return bool(missing or too_often or two_keys or disorder or failed)


sys.exit(main())
