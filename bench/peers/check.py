#!/usr/bin/env python3
"""Whether the contenders keep to the rules of the harness, against `quern broker`.

usage: check.py --quern PROGRAM [--messages N] [--in-flight N] [NAME...]

Of each that is installed: it drains a queue of N messages (20,000), and the queue is empty then; it handles again what failed
at first, and waits in its handlers; it takes one message at a time; it drains a FIFO queue; it speaks TLS to a server whose
authority only AWS_CA_BUNDLE names. Each run is ended by SIGTERM, within 30 seconds. The messages per CPU second are for
orientation: the broker is no yardstick.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from peers import contenders

KEYS = {"AWS_ACCESS_KEY_ID": "AKIABENCH", "AWS_SECRET_ACCESS_KEY": "bench/secret+key", "AWS_REGION": "us-east-1"}
PATIENCE = 180  # seconds for a queue to get empty
END = 30  # seconds from SIGTERM to the end


class Wrong(Exception):
    """What a contender did not do."""


def certify(folder):
    """A certificate for 127.0.0.1, and the authority that signed it."""
    def request(name, *more):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}.key",
                        "-out", f"{name}.pem", *more], cwd=folder, check=True, capture_output=True)
    request("ca", "-subj", "/CN=bench authority", "-addext", "keyUsage=keyCertSign")
    request("server", "-subj", "/CN=127.0.0.1", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1",
            "-addext", "basicConstraints=critical,CA:FALSE")


class Broker:
    def __init__(self, quern, folder, tls=False):
        words = ["--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key"] if tls else []
        self.quern, self.number = quern, 0
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BENCH_"))}
        self.where = {**kept, **KEYS, "AWS_CA_BUNDLE": str(folder / "ca.pem"), "NODE_EXTRA_CA_CERTS": str(folder / "ca.pem")}
        self.running = subprocess.Popen([quern, "--log-level", "warning", "broker", "--port", "0", *words], env=self.where,
                                        stdout=subprocess.PIPE, text=True)
        url = self.running.stdout.readline().split()[-1]
        self.where |= {"AWS_ENDPOINT_URL_SQS": url, "AWS_ENDPOINT_URL": url}

    def ask(self, *words, stdin=""):
        return subprocess.run([self.quern, *words], env=self.where, input=stdin, text=True, capture_output=True, check=True).stdout

    def filled(self, messages, visibility, groups):
        """A new queue with so many messages of 256 bytes; a FIFO queue if there are groups."""
        self.number += 1
        url = self.ask("queue", "create", f"check-{self.number}", *(["--fifo"] if groups else []),
                       "--attribute", f"VisibilityTimeout={visibility}",
                       *(["--attribute", "ContentBasedDeduplication=true"] if groups else [])).strip()
        for group in range(groups or 1):
            self.ask("send", url, *(["--group", f"g{group}"] if groups else []),
                     stdin="".join(f"{time.time_ns() // 1000:016} {number} ".ljust(256, "x") + "\n"
                                   for number in range(group, messages, groups or 1)))
        return url

    def left(self, url):
        told = json.loads(self.ask("queue", "attributes", url, "--json"))
        return int(told["ApproximateNumberOfMessages"]) + int(told["ApproximateNumberOfMessagesNotVisible"])

    def end(self):
        self.running.terminate()
        self.running.wait()
        self.running.stdout.close()


def cpu(pid):
    """Seconds that a process and all of its threads have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(peer, where, errors):
    with errors.open("w") as out:
        process = subprocess.Popen(peer["command"], env={**where, **peer["env"]}, stdout=subprocess.PIPE, stderr=out, text=True)
    try:
        if process.stdout.readline().strip() != "ready":
            raise Wrong(f"did not say that it is ready: {errors.read_text()[-300:]}")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def drained(peer, broker, folder, messages, visibility=300, groups=0, **settings):
    """Runs a contender until its queue is empty, then ends it: its report, and its CPU seconds since it was ready."""
    url = broker.filled(messages, visibility, groups)
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    told = {f"BENCH_{name}": str(value) for name, value in settings.items()}
    where = {**broker.where, **told, "BENCH_QUEUE_URL": url, "BENCH_RESULT": str(result), "BENCH_THREADS": "1"}
    errors = folder / "errors"
    with started(peer, where, errors) as process:
        used = cpu(process.pid)
        deadline = time.monotonic() + PATIENCE
        while left := broker.left(url):
            if time.monotonic() > deadline or process.poll() is not None:
                raise Wrong(f"left {left} of {messages} messages, status {process.poll()}")
            time.sleep(0.2)
        used = cpu(process.pid) - used
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(END)
        except subprocess.TimeoutExpired:
            raise Wrong(f"did not end within {END} s") from None
    # A loop that rests after an error that nobody sees is slow for no reason of its library's.
    equal((status, errors.read_text()[:300]), (0, ""), "status and standard error")
    report = json.loads(result.read_text())
    equal(report["handled"], messages, "handled")
    equal(sum(report["latency_us"].values()), report["handled"] + report["failed"], "latencies")
    for bucket in report["latency_us"]:
        equal(bucket.lstrip("0123456789") + bucket[2:].strip("0"), "", f"more than two digits in {bucket}")
    return report, used


def equal(found, wanted, what):
    if found != wanted:
        raise Wrong(f"{what}: {found!r} instead of {wanted!r}")


def plain(peer, brokers, folder, options):
    report, used = drained(peer, brokers[0], folder, options.messages, IN_FLIGHT=options.in_flight)
    equal(report["failed"], 0, "failed")
    return f"{options.messages / used:,.0f} messages per CPU second"


def failing(peer, brokers, folder, options):
    report, _ = drained(peer, brokers[0], folder, 300, visibility=2, IN_FLIGHT=25, HANDLER_MS=20, FAIL_ONE_IN=5)
    equal(report["failed"], 60, "failed")


def single(peer, brokers, folder, options):
    drained(peer, brokers[0], folder, 50, IN_FLIGHT=1)


def fifo(peer, brokers, folder, options):
    drained(peer, brokers[0], folder, 300, groups=10, IN_FLIGHT=40)


def tls(peer, brokers, folder, options):
    drained(peer, brokers[1], folder, 500, IN_FLIGHT=40)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--quern", required=True)
    parser.add_argument("--messages", type=int, default=20000)
    parser.add_argument("--in-flight", type=int, default=160)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        certify(folder)
        brokers = [Broker(options.quern, folder), Broker(options.quern, folder, tls=True)]
        try:
            for peer in (one for one in contenders() if not one["relays"]):
                if options.names and peer["name"] not in options.names:
                    continue
                for check in () if peer["absent"] else (plain, failing, single, fifo, tls):
                    try:
                        said = check(peer, brokers, folder, options) or "yes"
                    except Wrong as why:
                        said, wrong = f"NO: {why}", wrong + 1
                    print(f"{peer['name']:18}{check.__name__:10}{said}", flush=True)
                if peer["absent"]:
                    print(f"{peer['name']:18}absent: {peer['absent']}", flush=True)
        finally:
            for broker in brokers:
                broker.end()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
