#!/usr/bin/env python3
"""Stops `quern consume` at random moments under load and looks at what it leaves behind.

signals.py QUERN [--runs N] [--messages N] [--seed N] [--term | --kill] [--fifo]

Each run starts the program on a queue that is kept full, sends SIGTERM after a random time, and then asks the
broker: no message may be hidden but those of handlers that the report says are still running. In the end the
queue is emptied, and every message must have been written out. With --kill the signal is SIGKILL: nothing is
asked of the process, but everything must come back after the visibility timeout and be handled. With --fifo each
message group must have been written out in its order, messages that came again aside.
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
parser.add_argument("--runs", type=int, default=20)
parser.add_argument("--messages", type=int, default=2000, help="sent before each run")
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
parser.add_argument("--term", dest="kill", action="store_false", default=False, help="the default")
parser.add_argument("--kill", action="store_true")
parser.add_argument("--fifo", action="store_true")
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)
chance = random.Random(args.seed)

folder = tempfile.mkdtemp(dir=os.environ.get("QUERN_TMP_DIR"))
environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
broker = subprocess.Popen([args.quern, "broker", "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment)
try:
    url = broker.stdout.readline().removeprefix("listening on ").strip()
    environment["AWS_ENDPOINT_URL_SQS"] = url

    def quern(*words, **how):
        return subprocess.run([args.quern, *words], env=environment, check=True, text=True, timeout=120, **how)

    def attribute(name):
        shown = quern("queue", "attributes", queue, "--json", stdout=subprocess.PIPE).stdout
        return int(json.loads(shown)[name])

    kind = ["signals.fifo", "--fifo"] if args.fifo else ["signals"]
    queue = quern("queue", "create", *kind, stdout=subprocess.PIPE).stdout.strip()
    groups = [f"g{n}" for n in range(8)] if args.fifo else [None]
    write = "printf '%s\\n' \"$(cat)\""  # the whole line at once, since others write there too
    commands = [None, None, write, f"sleep 0.0$(( $$ % 10 )); {write}"]
    seen, again, sent, failures = {}, 0, 0, 0  # body -> when it was first seen
    output = os.path.join(folder, "out")

    def consume(*words):
        return [args.quern, "consume", queue, "--visibility-timeout", "5", "--wait-time", "1", *words]

    def collect(command):
        global again
        with open(output) as lines:
            for line in lines:
                try:
                    body = line.strip() if command else json.loads(line)["body"]
                except ValueError:
                    continue  # a line that a killed process did not finish
                again += body in seen
                seen.setdefault(body, len(seen))

    def send(first, count):
        """Each group gets its share, in the order of the numbers."""
        for at, group in enumerate(groups):
            bodies = "".join(f"{group or 'm'} {n}\n" for n in range(first + at, first + count, len(groups)))
            quern("send", queue, *(["--group", group] if group else []), input=bodies, stderr=subprocess.DEVNULL)

    def disordered():
        """Groups of which a message was first seen after a later one."""
        order = {}
        for body in seen:
            group, number = body.split()
            order.setdefault(group, []).append(int(number))
        return [group for group, numbers in order.items() if numbers != sorted(numbers)]

    for run in range(args.runs):
        send(sent, args.messages)
        sent += args.messages
        command = chance.choice(commands)
        report = os.path.join(folder, "report.json")
        words = ["--report", report, "--drain-deadline", "10"] + (["--exec", command] if command else [])
        with open(output, "w") as out:
            process = subprocess.Popen(consume(*words), stdout=out, stderr=subprocess.PIPE, text=True, env=environment)
            time.sleep(chance.uniform(0, 0.7))  # the random moment itself, not a wait for something
            process.send_signal(signal.SIGKILL if args.kill else signal.SIGTERM)
            errors = process.communicate(timeout=60)[1]
        collect(command)
        left, hidden = None, attribute("ApproximateNumberOfMessagesNotVisible")
        if args.kill:
            print(f"run {run}: killed with {hidden} hidden, {len(seen)} of {sent} seen", flush=True)
            continue
        if os.path.exists(report):
            with open(report) as text:
                left = json.load(text)
            os.remove(report)
        elif process.returncode != -signal.SIGTERM:
            left = {}
        good = hidden == 0 if left is None else (
            process.returncode in (0, 3) and left.get("stranded") == 0 and left.get("at_risk") == 0
            and left.get("polls") == 0 and hidden <= left.get("running", 0))
        print(f"run {run}: exec {command!r}, status {process.returncode}, hidden {hidden}, report {left}", flush=True)
        if not good:
            failures += 1
            print(errors, file=sys.stderr)
    with open(output, "w") as out:
        subprocess.run(consume("--until-empty"), stdout=out, env=environment, check=True, timeout=120)
    collect(None)
    missing = sent - len(seen)
    wrong = disordered() if args.fifo else []
    print(f"sent {sent}, seen {len(seen)}, repeated {again}, missing {missing}, failed runs {failures}, "
          f"groups out of order {wrong}")
    sys.exit(bool(missing or failures or wrong))
finally:
    broker.terminate()
    broker.wait(timeout=30)
