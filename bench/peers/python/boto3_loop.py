"""A plain loop of boto3: as many threads as there may be batches in hand, each of them receives, handles the ten, and deletes
those that succeeded in one request. How it is tuned: README.md."""
import collections
import json
import os
import platform
import signal
import sys
import threading
import time

import boto3
from botocore.config import Config


def setting(name, otherwise):
    return int(os.environ.get(name, otherwise))


QUEUE = os.environ["BENCH_QUEUE_URL"]
IN_FLIGHT = setting("BENCH_IN_FLIGHT", 1)
BATCH = min(10, IN_FLIGHT)
LOOPS = min(-(-IN_FLIGHT // 10), 1000)  # more threads than this only wait for the interpreter's lock
WAIT = setting("BENCH_HANDLER_MS", 0) / 1000
FAIL_ONE_IN = setting("BENCH_FAIL_ONE_IN", 0)


class Tally:
    """What one thread counts, so that no lock is needed."""

    def __init__(self):
        self.handled = self.failed = 0
        self.latency = collections.Counter()

    def late(self, microseconds):
        unit = 1
        while microseconds >= 100 * unit:
            unit *= 10
        self.latency[max(0, microseconds // unit * unit)] += 1


def handle(messages, tally):
    """Those of the messages that succeeded. A body is "<microseconds when it was due> <number> <padding>"."""
    succeeded = []
    for message in messages:
        due, number, _ = message["Body"].split(" ", 2)
        tally.late(time.time_ns() // 1000 - int(due))
        if FAIL_ONE_IN and int(number) % FAIL_ONE_IN == 0 and message["Attributes"]["ApproximateReceiveCount"] == "1":
            tally.failed += 1
        else:
            tally.handled += 1
            succeeded.append(message)
    if WAIT:
        time.sleep(WAIT)  # the ten of a batch wait together: a thread for each would cost more
    return succeeded


def loop(sqs, tally, stopped, busy):
    while not stopped.is_set():
        try:
            got = sqs.receive_message(QueueUrl=QUEUE, MaxNumberOfMessages=BATCH, WaitTimeSeconds=20,
                                      MessageSystemAttributeNames=["ApproximateReceiveCount"])
            with busy:
                entries = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]}
                           for n, message in enumerate(handle(got.get("Messages", ()), tally))]
                if entries:
                    answer = sqs.delete_message_batch(QueueUrl=QUEUE, Entries=entries)
                    if failed := answer.get("Failed"):
                        print(f"{len(failed)} were not deleted: {failed[0]['Code']}", file=sys.stderr)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            stopped.wait(1)


def main():
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    # Clients may be shared by threads, sessions may not.
    sqs = boto3.client("sqs", region_name=os.environ["AWS_REGION"], config=Config(max_pool_connections=LOOPS))
    threads = [(Tally(), threading.Lock()) for _ in range(LOOPS)]
    if LOOPS > 100:
        threading.stack_size(256 * 1024)
    for tally, busy in threads:
        threading.Thread(target=loop, args=(sqs, tally, stopped, busy), daemon=True).start()
    print("ready", flush=True)
    stopped.wait()
    # What a thread has in hand is finished. One that waits for messages cannot be woken, and is left.
    deadline = time.monotonic() + 10
    for _, busy in threads:
        busy.acquire(timeout=max(0, deadline - time.monotonic()))
    latency = sum((tally.latency for tally, _ in threads), collections.Counter())
    with open(os.environ["BENCH_RESULT"], "w") as out:
        json.dump({"handled": sum(tally.handled for tally, _ in threads), "failed": sum(tally.failed for tally, _ in threads),
                   "latency_us": latency, "version": f"boto3 {boto3.__version__}, Python {platform.python_version()}"}, out)
    os._exit(0)


main()
