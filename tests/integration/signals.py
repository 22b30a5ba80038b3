#!/usr/bin/env python3
"""Stops `quern consume` at random moments under load and looks at what it leaves behind.

signals.py QUERN [--runs N] [--messages N] [--seed N] [--term | --kill]

Each run starts the program on a queue that is kept full, sends SIGTERM after a random time, and then asks the
broker: no message may be hidden but those of handlers that the report says are still running. In the end the
queue is emptied, and every message must have been written out. With --kill the signal is SIGKILL: nothing is
asked of the process, but everything must come back after the visibility timeout and be handled.
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

    queue = quern("queue", "create", "signals", stdout=subprocess.PIPE).stdout.strip()
    write = "printf '%s\\n' \"$(cat)\""  # the whole line at once, since others write there too
    commands = [None, None, write, f"sleep 0.0$(( $$ % 10 )); {write}"]
    seen, sent, failures = set(), 0, 0
    output = os.path.join(folder, "out")

    def consume(*words):
        return [args.quern, "consume", queue, "--visibility-timeout", "5", "--wait-time", "1", *words]

    def collect(command):
        with open(output) as lines:
            for line in lines:
                try:
                    seen.add(line.strip() if command else json.loads(line)["body"])
                except ValueError:
                    pass  # a line that a killed process did not finish

    for run in range(args.runs):
        bodies = "".join(f"m{n}\n" for n in range(sent, sent + args.messages))
        quern("send", queue, input=bodies, stderr=subprocess.DEVNULL)
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
        if args.kill:
            print(f"run {run}: killed, {len(seen)} of {sent} seen")
            continue
        left, hidden = None, attribute("ApproximateNumberOfMessagesNotVisible")
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
    print(f"sent {sent}, seen {len(seen)}, missing {missing}, failed runs {failures}")
    sys.exit(missing != 0 or failures != 0)
finally:
    broker.terminate()
    broker.wait(timeout=30)
