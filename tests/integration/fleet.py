#!/usr/bin/env python3
"""Eight `quern consume --fleet-limit` on one queue with a backlog: together they keep to one rate, and use it; three are killed.

fleet.py QUERN FAKE_DYNAMODB [--rate N] [--seconds N] [--most N]

Counts the messages of each second, at any phase, as they come out of the programs. AWS_ENDPOINT_URL_DYNAMODB in place of
FAKE_DYNAMODB: a service that is there.
"""
import argparse
import bisect
import os
import signal
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("fake_dynamodb")
parser.add_argument("--rate", type=int, default=100, help="messages a second, of all together")
parser.add_argument("--seconds", type=int, default=10, help="that each part is watched for")
parser.add_argument("--most", type=float, default=1.15, help="of the rate in any second: 1.05 is kept, but a loaded machine "
                    "reads late what was printed in time")
args = parser.parse_args()
environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
running = []
stamps = []  # of messages
lock = threading.Lock()


def quern(*words, **how):
    return subprocess.run([args.quern, *words], env=environment, check=True, text=True, timeout=60, **how)


def server(command):
    running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    return running[-1].stdout.readline().removeprefix("listening on ").strip()


def follow(stream):
    for _ in stream:
        with lock:
            stamps.append(time.monotonic())


def consumer():
    one = subprocess.Popen([args.quern, "--log-level", "error", "consume", queue, "--rate", str(args.rate), "--fleet-limit",
                            "ddb:seen/orders", "--max-in-flight", "100"], env=environment, stdout=subprocess.PIPE)
    running.append(one)
    threading.Thread(target=follow, args=[one.stdout], daemon=True).start()
    return one


def watch(name):
    """Watches for the time given: (share of the rate that was used, most in a second)."""
    begin = time.monotonic()
    time.sleep(args.seconds)  # what is watched is time itself
    with lock:
        seen = sorted(at for at in stamps if begin - 1 <= at <= begin + args.seconds)
    most = max((bisect.bisect_left(seen, at + 1) - i for i, at in enumerate(seen)), default=0)
    used = sum(at >= begin for at in seen) / args.seconds / args.rate
    print(f"{name}: {used:.1%} of {args.rate}/s used, at most {most} in a second", flush=True)
    return used, most


wrong = []
try:
    environment["AWS_ENDPOINT_URL_SQS"] = server([args.quern, "broker", "--port", "0"])
    if "AWS_ENDPOINT_URL_DYNAMODB" not in environment:
        environment["AWS_ENDPOINT_URL_DYNAMODB"] = server([args.fake_dynamodb])
    quern("idempotency", "table", "create", "seen", stdout=subprocess.DEVNULL)
    queue = quern("queue", "create", "orders", stdout=subprocess.PIPE).stdout.strip()
    quern("send", queue, "--count", str(args.rate * (4 * args.seconds + 60)), stderr=subprocess.DEVNULL)
    fleet = [consumer() for _ in range(8)]
    time.sleep(10)  # until all have their slices
    parts = [watch("eight processes")]
    for one in fleet[:3]:
        one.kill()
    killed = time.monotonic()
    time.sleep(10)
    parts.append(watch("ten seconds after three were killed"))
    table = quern("idempotency", "table", "fleet", "seen", "orders", stdout=subprocess.PIPE).stdout
    print(table, end="")
    with lock:
        seen = sorted(stamps)
    most = max((bisect.bisect_left(seen, at + 1) - i for i, at in enumerate(seen)), default=0)
    back = next((s for s in range(1, 20) if sum(killed + s <= at < killed + s + 1 for at in seen) >= 0.95 * args.rate), None)
    print(f"at most {most} in any second from the start; 95 % again in the second that begins {back} s after the kill")
    if most > args.most * args.rate or any(used < 0.95 for used, _ in parts):
        wrong.append("the rate is not kept, or not used")
    if len(table.splitlines()) != 5:
        wrong.append("the dead are still there")
    for one in fleet[3:]:
        one.send_signal(signal.SIGTERM)
    for one in fleet[3:]:
        one.wait(60)
    if quern("idempotency", "table", "fleet", "seen", "orders", stdout=subprocess.PIPE).stdout:
        wrong.append("who ended did not give its slice back")
finally:
    for one in running:
        one.kill()
        one.wait(30)
print("; ".join(wrong) or "held")
sys.exit(bool(wrong))
