#!/usr/bin/env python3
"""Consumes through a broker that lies, stalls, hangs up and repeats itself: no message may be lost.

faults.py QUERN [--messages N] [--seed N]
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("quern")
parser.add_argument("--messages", type=int, default=3000)
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
args = parser.parse_args()
print(f"seed {args.seed}", flush=True)

# half_open is left out of deletes and sends: each costs a whole request timeout of real time.
everything = {
    "latency": 0.2, "latency_max": 30, "throttled": 0.03, "server_error": 0.05, "dropped_before": 0.05,
    "dropped_after": 0.03, "truncated": 0.03, "slow": 0.01, "slow_bytes_per_second": 20000,
    "entry_failed": 0.1, "duplicated": 0.05,
}
calm = {}
faults = {"seed": args.seed % 10**9, "everywhere": everything,
          "by_operation": {"CreateQueue": calm, "GetQueueAttributes": calm, "SendMessageBatch": calm}}

with tempfile.TemporaryDirectory(dir=os.environ.get("QUERN_TMP_DIR")) as folder:
    rates = os.path.join(folder, "faults.json")
    with open(rates, "w") as out:
        json.dump(faults, out)
    environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    broker = subprocess.Popen([args.quern, "broker", "--port", "0", "--faults", rates], stdout=subprocess.PIPE,
                              text=True, env=environment)
    try:
        environment["AWS_ENDPOINT_URL_SQS"] = broker.stdout.readline().removeprefix("listening on ").strip()

        def quern(*words, **how):
            return subprocess.run([args.quern, *words], env=environment, text=True, timeout=200, **how)

        queue = quern("queue", "create", "faulty", stdout=subprocess.PIPE, check=True).stdout.strip()
        bodies = [f"m{n}" for n in range(args.messages)]
        quern("send", queue, input="\n".join(bodies) + "\n", stderr=subprocess.DEVNULL, check=True)
        ended = quern("consume", queue, "--until-empty", "--visibility-timeout", "5", "--wait-time", "1",
                      "--drain-deadline", "15", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [json.loads(line)["body"] for line in ended.stdout.splitlines()]
        log = ended.stderr.splitlines()
        missing = set(bodies) - set(lines)
        strange = set(lines) - set(bodies)
        print(f"sent {len(bodies)}, written {len(lines)}, missing {len(missing)}, strange {len(strange)}, "
              f"status {ended.returncode}, {len(log)} lines of log")
        print("\n".join(log[-3:]))
        sys.exit(bool(missing or strange or ended.returncode != 0))
    finally:
        broker.terminate()
        broker.wait(timeout=30)
