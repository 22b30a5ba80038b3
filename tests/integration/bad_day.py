#!/usr/bin/env python3
"""A bad day over real sockets: `quern consume` over TLS and through a proxy, which reset connections, go silent, dribble, answer
503, die, open no tunnel and send TLS alerts, one after the other, to a broker that has faults of its own. No message may be
lost; what each trouble cost is printed.

bad_day.py QUERN [--seconds N] [--rate N] [--seed N]
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from gate import HOST, Gate

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--seconds", type=float, default=3, help="that each trouble lasts")
parser.add_argument("--rate", type=int, default=100, help="messages sent a second")
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)
chance = random.Random(args.seed)

TROUBLES = ("resets", "half_open", "slow", "storm", "dead", "no_tunnel", "alerts")
RECOVERY = 60  # seconds by which a message must come after any trouble; a half-open delete alone takes ten to be given up
faults = {"seed": args.seed % 10**9, "by_operation": {
    "ReceiveMessage": {"server_error": 0.02, "duplicated": 0.02},
    "DeleteMessageBatch": {"server_error": 0.02, "throttled": 0.02, "entry_failed": 0.02}}}


class Reader(threading.Thread):
    """What the consumer wrote: when each body came, how often, and with which receive count."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.news = stream, threading.Condition()
        self.came, self.receives, self.times = {}, {}, 0
        self.last = 0.0

    def run(self):
        for line in self.stream:
            message = json.loads(line)
            with self.news:
                self.times += 1
                self.last = time.monotonic()
                self.came.setdefault(message["body"], self.last)
                self.receives[message["body"]] = message["receive_count"]
                self.news.notify_all()

    def wait_for(self, bodies, deadline):
        with self.news:
            self.news.wait_for(lambda: all(body in self.came for body in bodies), deadline - time.monotonic())
            return [body for body in bodies if body not in self.came]


class Sender(threading.Thread):
    """Sends at a steady rate, past the gate, until told to end."""

    def __init__(self, program, queue, environment):
        super().__init__(daemon=True)
        self.sent, self.over = [], threading.Event()
        self.process = subprocess.Popen([program, "send", queue], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=environment)

    def run(self):
        while not self.over.wait(0.1):
            bodies = [f"m{len(self.sent) + n}" for n in range(args.rate // 10)]
            self.process.stdin.write("\n".join(bodies) + "\n")
            self.process.stdin.flush()
            self.sent += bodies

    def end(self):
        self.over.set()
        self.join()
        self.process.stdin.close()
        return self.process.wait(60)


def trouble(gate, reader, sender, mood):
    """Lets it last, and says how long the consumer took after it to write out all that was sent until its end."""
    requests, harm, at, written = gate.requests.copy(), gate.harm, len(sender.sent), len(reader.came)
    gate.become(mood)
    time.sleep(args.seconds)
    during = len(reader.came) - written
    gate.become("calm")
    over = time.monotonic()
    due = list(sender.sent)
    missing = reader.wait_for(due, over + RECOVERY)
    caught_up = time.monotonic() - over
    first = min((when for when in list(reader.came.values()) if when >= over), default=over) - over
    again = [reader.receives[body] - 1 for body in due[at:] if body in reader.receives]
    made = gate.requests - requests
    print(f"{mood:10} {len(due) - at:6} {during:8} {gate.harm - harm:8} {made['receivemessage']:9} "
          f"{made.total() - made['receivemessage']:9} {sum(again) / max(1, len(again)):8.2f} {max(again, default=0):5} "
          f"{first:8.2f} s {caught_up:8.2f} s", flush=True)
    return missing


def attributes(quern, queue, environment):
    shown = subprocess.run([quern, "queue", "attributes", queue, "--json"], env=environment, text=True, timeout=60,
                           stdout=subprocess.PIPE, check=True).stdout
    told = json.loads(shown)
    return [int(told["ApproximateNumberOfMessages" + kind]) for kind in ("", "NotVisible")]


def day(folder):
    rates = os.path.join(folder, "faults.json")
    with open(rates, "w") as out:
        json.dump(faults, out)
    direct = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    broker = subprocess.Popen([args.quern, "broker", "--port", "0", "--faults", rates, "--allow-host", HOST], stdout=subprocess.PIPE, text=True,
                              env=direct)
    try:
        direct["AWS_ENDPOINT_URL_SQS"] = url = broker.stdout.readline().split()[-1]
        queue = subprocess.run([args.quern, "queue", "create", "bad-day"], env=direct, stdout=subprocess.PIPE, text=True,
                               check=True).stdout.strip()
        gate = Gate(int(url.rsplit(":", 1)[1]), folder, chance)
        through = dict(direct, AWS_ENDPOINT_URL_SQS=f"https://{HOST}", AWS_CA_BUNDLE=os.path.join(folder, "gate.pem"),
                       https_proxy=f"http://127.0.0.1:{gate.port}", no_proxy="")
        with open(os.path.join(folder, "consume.log"), "w+") as log:
            consumer = subprocess.Popen([args.quern, "consume", queue, "--visibility-timeout", "5", "--wait-time", "2",
                                         "--drain-deadline", "30"], stdout=subprocess.PIPE, stderr=log, text=True, env=through)
            try:
                return live_through(gate, Reader(consumer.stdout), Sender(args.quern, queue, direct), consumer, queue, direct,
                                    log)
            finally:
                consumer.kill()
                consumer.wait()
                gate.close()
    finally:
        broker.terminate()
        broker.wait(30)


def live_through(gate, reader, sender, consumer, queue, direct, log):
    reader.start()
    sender.start()
    print("messages sent and written while it lasts; requests harmed, receives and others made until all was written;\n"
          "times that a message was received again; time from its end to the first message and to the last that was due")
    print(f"{'trouble':10} {'sent':>6} {'written':>8} {'harmed':>8} {'receives':>9} {'others':>9} {'again':>8} {'most':>5} "
          f"{'first':>10} {'all':>10}")
    missing = []
    for mood in ("calm", *TROUBLES):
        missing = trouble(gate, reader, sender, mood)
        if missing:
            break
    unsent = sender.end()
    missing = missing or reader.wait_for(sender.sent, time.monotonic() + RECOVERY)
    deadline = time.monotonic() + RECOVERY
    while attributes(args.quern, queue, direct) != [0, 0] and time.monotonic() < deadline:
        time.sleep(0.2)  # what was written may come again, when its delete was lost
    consumer.send_signal(signal.SIGTERM)
    status = consumer.wait(60)
    reader.join(10)
    left = attributes(args.quern, queue, direct)
    strange = set(reader.came) - set(sender.sent)
    print(f"sent {len(sender.sent)}, written {reader.times}, missing {len(missing)}, strange {len(strange)}, "
          f"left {left[0]} + {left[1]} in flight, status {status}; "
          f"{gate.requests.total() / max(1, len(sender.sent)):.2f} requests a message; {gate.harm} requests were harmed")
    log.seek(0)
    lines = log.read().splitlines()
    print(f"{len(lines)} lines of log; the last:", *lines[-2:], sep="\n  ")
    if missing or strange or unsent or status != 0 or left != [0, 0]:
        print("\n".join(lines[-40:]))
        return 1
    return 0


with tempfile.TemporaryDirectory(dir=os.environ.get("QUERN_TMP_DIR")) as scratch:
    sys.exit(day(scratch))
