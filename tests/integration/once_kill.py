#!/usr/bin/env python3
"""Kills one of two `quern consume --exec … --idempotency` at random, again and again: what is recorded is never done twice.

once_kill.py QUERN FAKE_DYNAMODB [--runs N] [--messages N] [--seed N]

The effect of a message is a line in a file. It is there once for each message, but for those whose handler had begun when its
program was killed, and whose key was not completed by then: the command goes on, or has had its effect, nobody records it, and
once its claim has ended the message is handled again. Which these are, the table tells right after the kill. AWS_ENDPOINT_URL_DYNAMODB in place of FAKE_DYNAMODB: a service that is there, with a table `seen`.
"""
import argparse
import collections
import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("fake_dynamodb")
parser.add_argument("--runs", type=int, default=int(os.environ.get("QUERN_ONCE_KILL_RUNS", 20)))
parser.add_argument("--messages", type=int, default=40, help="sent before each run")
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)
chance = random.Random(args.seed)

folder = tempfile.mkdtemp(dir=os.environ.get("QUERN_TMP_DIR"))
begun, effects = os.path.join(folder, "begun"), os.path.join(folder, "effects")
# A handler says that it has begun, works, has its effect in one write, and takes some more time before it ends.
handler = (f'body=$(cat); echo "$RUN $body" >> {begun}; sleep 0.0$(( $$ % 4 )); echo "$RUN $body" >> {effects}; '
           'sleep 0.0$(( $$ % 3 ))')
environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")


def read(file):
    """[(run, body)] in their order."""
    if not os.path.exists(file):
        return []
    with open(file) as lines:
        return [tuple(line.split()) for line in lines]


def is_completed(message):
    key = "charge#" + hashlib.sha256(f'"{message}"'.encode()).hexdigest()
    question = {"TableName": "seen", "Key": {"id": {"S": key}}, "ConsistentRead": True}
    body = json.dumps(question)
    headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.GetItem",
               "content-length": str(len(body)), "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/"
               "dynamodb/aws4_request, SignedHeaders=host, Signature=0"}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(environment["AWS_ENDPOINT_URL_DYNAMODB"]).netloc, timeout=30)
    try:
        connection.request("POST", "/", body, headers)
        return json.load(connection.getresponse()).get("Item", {}).get("status", {}).get("S") == "COMPLETED"
    finally:
        connection.close()


def quern(*words, **how):
    return subprocess.run([args.quern, *words], env=environment, check=True, text=True, timeout=240, **how)


def consumer(run, *words):
    running.append(subprocess.Popen(
        [args.quern, "--log-level", "error", "consume", queue, "--visibility-timeout", "3", "--wait-time", "1",
         "--max-in-flight", "20", "--handler-concurrency", "8", "--idempotency", "ddb:seen", "--idempotency-key", "body",
         "--idempotency-name", "charge", "--exec", handler, *words],
        env=dict(environment, RUN=run)))
    return running[-1]


running = []


def server(command):
    running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    return running[-1].stdout.readline().removeprefix("listening on ").strip()


victims = {}  # run: those of its messages whose keys were completed when it had been killed
try:
    environment["AWS_ENDPOINT_URL_SQS"] = server([args.quern, "broker", "--port", "0"])
    if "AWS_ENDPOINT_URL_DYNAMODB" not in environment:
        environment["AWS_ENDPOINT_URL_DYNAMODB"] = server([args.fake_dynamodb])
    quern("idempotency", "table", "create", "seen", stdout=subprocess.DEVNULL)
    queue = quern("queue", "create", "orders", stdout=subprocess.PIPE).stdout.strip()
    sent = []
    for run in range(args.runs):
        bodies = [f"m-{run}-{n}" for n in range(args.messages)]
        sent += bodies
        quern("send", queue, input="".join(body + "\n" for body in bodies), stderr=subprocess.DEVNULL)
        names = [f"{run}a", f"{run}b"]
        pair = [consumer(name) for name in names]
        time.sleep(chance.uniform(0.05, 0.5))  # the random moment itself, not a wait for something
        victim = chance.randrange(2)
        pair[victim].kill()
        pair[victim].wait()
        victims[names[victim]] = {body for name, body in read(begun) if name == names[victim] and is_completed(body)}
        pair[1 - victim].send_signal(signal.SIGTERM)
        pair[1 - victim].wait(60)
    last = consumer("last", "--until-empty")
    if last.wait(240) != 0:
        sys.exit(f"the last consumer ended with status {last.returncode}")
finally:
    for one in running:
        one.kill()
        one.wait(30)

# Of a command that had not said that it has begun when its program was killed, nothing was completed either.
open_at_kill = collections.Counter(body for name, body in read(begun) if body not in victims.get(name, {body}))
times = collections.Counter(body for _, body in read(effects))
missing = [body for body in sent if times[body] == 0]
repeated = {body: count - 1 for body, count in times.items() if count > 1}
unexplained = {body: count for body, count in repeated.items() if count > open_at_kill[body]}
print(f"{args.runs} runs, {len(victims)} kills, {len(sent)} messages: {len(sent) - len(missing) - len(repeated)} done once, "
      f"{sum(open_at_kill.values())} handlers killed before their completion, {sum(repeated.values())} effects repeated for that; "
      f"missing {missing}, unexplained {unexplained}")
sys.exit(bool(missing or unexplained))
