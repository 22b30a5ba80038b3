#!/usr/bin/env python3
"""Consumes for a long time through a broker that misbehaves, and watches memory and file descriptors.

soak.py QUERN [--seconds N] [--rate N] [--seed N]

Every second `quern send` adds messages to the queue of a broker that loses, delays, repeats and refuses; `quern consume`
runs all the time. A line every tenth of the time says what it holds. After the first quarter its memory may not grow by
more than 8 MiB, nor its descriptors by more than the connections of a burst. In the end it is stopped, and must leave
nothing stranded.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--seconds", type=int, default=600)
parser.add_argument("--rate", type=int, default=1000, help="messages a second")
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)

GROWTH = 8 << 20
BURST = 64  # connections: 16 for receives, 32 for the rest, and some that close

faults = {"seed": args.seed, "by_operation": {"CreateQueue": {}, "GetQueueAttributes": {}, "SendMessageBatch": {}}, "everywhere": {
    "latency": 0.2, "latency_max": 30, "throttled": 0.01, "server_error": 0.01, "dropped_before": 0.01,
    "dropped_after": 0.005, "half_open": 0.0005, "truncated": 0.005, "entry_failed": 0.02, "duplicated": 0.01}}


def held_by(process):
    """Resident bytes and open descriptors."""
    with open(f"/proc/{process.pid}/statm") as pages:
        resident = int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return resident, len(os.listdir(f"/proc/{process.pid}/fd"))


with tempfile.TemporaryDirectory(dir=os.environ.get("QUERN_TMP_DIR")) as folder:
    rates, report, log = (os.path.join(folder, name) for name in ("faults.json", "report.json", "log"))
    with open(rates, "w") as out:
        json.dump(faults, out)
    environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    broker = subprocess.Popen([args.quern, "broker", "--port", "0", "--faults", rates], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, env=environment)
    consumer = None
    try:
        environment["AWS_ENDPOINT_URL_SQS"] = broker.stdout.readline().removeprefix("listening on ").strip()
        queue = subprocess.run([args.quern, "queue", "create", "soak"], env=environment, check=True, text=True,
                               stdout=subprocess.PIPE, timeout=60).stdout.strip()
        with open(log, "w") as err:
            consumer = subprocess.Popen([args.quern, "consume", queue, "--visibility-timeout", "5", "--wait-time", "2",
                                         "--report", report], stdout=subprocess.DEVNULL, stderr=err, env=environment)
        began, samples, sent = time.monotonic(), [], 0
        for second in range(args.seconds):
            subprocess.run([args.quern, "send", queue, "--count", str(args.rate)], env=environment, check=True,
                           stderr=subprocess.DEVNULL, timeout=60)
            sent += args.rate
            samples.append(held_by(consumer))
            if (second + 1) % max(args.seconds // 10, 1) == 0:
                (resident, files), theirs = samples[-1], held_by(broker)
                print(f"{second + 1:5d} s, {sent} sent: consumer {resident >> 10} KiB, {files} descriptors; "
                      f"broker {theirs[0] >> 10} KiB, {theirs[1]} descriptors", flush=True)
            time.sleep(max(0, began + second + 1 - time.monotonic()))  # the rate
        consumer.send_signal(signal.SIGTERM)
        consumer.wait(timeout=60)
        with open(report) as text, open(log) as lines:
            left, errors = json.load(text), lines.read().splitlines()
        quarter = len(samples) // 4
        growth = max(r for r, _ in samples[quarter:]) - samples[quarter][0]
        files = max(f for _, f in samples[quarter:]) - samples[quarter][1]
        print(*errors[-3:], f"{len(errors)} lines of log", f"report {left}", sep="\n")
        print(f"after the first quarter: memory {growth >> 10:+} KiB at most, descriptors {files:+} at most")
        sys.exit(growth > GROWTH or files > BURST or left["stranded"] != 0)
    finally:
        if consumer:
            consumer.kill()
        broker.terminate()
        broker.wait(timeout=30)
