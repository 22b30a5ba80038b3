"""Quern's consumer, as the program `quern`, with a whole workload on any SQS."""
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager

LIMIT = 150  # seconds that no workload comes near


class Wrong(Exception):
    """What a workload found."""


def equal(found, wanted, what):
    if found != wanted:
        raise Wrong(f"{what}: {found!r} instead of {wanted!r}")


class Workloads:
    """Each method is a workload; where: the environment that leads to the server."""

    def __init__(self, quern, where, prefix, messages):
        self.program, self.where, self.prefix, self.messages = quern, where, prefix, messages

    # ---- the program ----

    def quern(self, *words, stdin="", status=0):
        done = subprocess.run([self.program, *words], input=stdin, text=True, capture_output=True, env=self.where,
                              timeout=LIMIT)
        if done.returncode != status:
            raise Wrong(f"quern {words[0]} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout

    @contextmanager
    def started(self, *words):
        running = subprocess.Popen([self.program, *words], text=True, env=self.where, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        watchdog = threading.Timer(LIMIT, running.kill)
        watchdog.start()
        try:
            yield running
        finally:
            watchdog.cancel()
            running.kill()
            running.wait()
            running.stdout.close()
            running.stderr.close()

    def create(self, name, *options):
        return self.quern("queue", "create", f"{self.prefix}-{name}", *options).strip()

    def send(self, queue, bodies, *options):
        self.quern("send", queue, *options, stdin="".join(body + "\n" for body in bodies))

    def consume(self, queue, *options):
        """Until the queue is empty: the JSON lines, or with --exec the lines that the commands wrote."""
        out = self.quern("consume", queue, "--until-empty", "--wait-time", "1", *options).splitlines()
        return out if "--exec" in options else [json.loads(line) for line in out]

    # ---- the workloads ----

    def standard(self):
        queue = self.create("standard")
        bodies = [f"m{n}" for n in range(self.messages)]
        self.send(queue, bodies)
        got = self.consume(queue)
        equal(sorted(m["body"] for m in got), sorted(bodies), "bodies")
        left = json.loads(self.quern("queue", "attributes", queue, "--json"))
        equal(left["ApproximateNumberOfMessages"], "0", "left")
        equal(left["ApproximateNumberOfMessagesNotVisible"], "0", "left in flight")

    def order(self):
        queue = self.create("order", "--fifo", "--attribute", "ContentBasedDeduplication=true")
        groups = [f"g{n}" for n in range(4)]
        for group in groups:
            self.send(queue, [f"{group}-{n}" for n in range(8)], "--group", group)
        got = self.consume(queue)
        for group in groups:
            equal([m["body"] for m in got if m.get("group") == group], [f"{group}-{n}" for n in range(8)], f"group {group}")

    def dead_letters(self):
        letters = self.create("dead")
        arn = json.loads(self.quern("queue", "attributes", letters, "--json"))["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "2"})
        queue = self.create("mortal", "--attribute", f"RedrivePolicy={policy}")
        self.send(queue, ["good", "poison", "fair"])
        done = self.consume(queue, "--exec", 'read body; test "$body" != poison && echo "$body"')
        equal(sorted(done), ["fair", "good"], "handled")
        equal([m["body"] for m in self.consume(letters)], ["poison"], "dead letters")

    def leases(self):
        queue = self.create("leases")
        self.send(queue, ["slow"])
        done = self.consume(queue, "--visibility-timeout", "3", "--exec", "sleep 7; echo ran")
        equal(done, ["ran"], "runs of a handler that outlives its first lease")

    def crash(self):
        queue = self.create("crash")
        self.send(queue, ["survivor"])
        command = ["consume", queue, "--visibility-timeout", "3", "--wait-time", "2", "--exec", "echo begun; sleep 100"]
        with self.started(*command) as doomed:
            equal(doomed.stdout.readline(), "begun\n", "the handler's output")
            doomed.send_signal(signal.SIGKILL)
            doomed.wait()
        got = self.consume(queue)
        equal([m["body"] for m in got], ["survivor"], "bodies")

    def drain(self):
        queue = self.create("drain")
        bodies = [f"d{n}" for n in range(30)]
        self.send(queue, bodies)
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "drain.json")
            command = ["consume", queue, "--wait-time", "2", "--max-in-flight", "20", "--report", report,
                       "--visibility-timeout", "60", "--exec", "read body; sleep 0.3; echo $body"]
            with self.started(*command) as draining:
                first = draining.stdout.readline()
                draining.send_signal(signal.SIGTERM)
                handled = [first, *draining.stdout]
                equal(draining.wait(), 0, "exit status")
            with open(report) as told:
                equal(json.load(told)["stranded"], 0, "stranded")
        began = time.monotonic()
        rest = [m["body"] for m in self.consume(queue)]
        equal(sorted([line.strip() for line in handled] + rest), sorted(bodies), "handled before and after the drain")
        equal(time.monotonic() - began < 30, True, "what was given back is there at once")

    def long_poll(self):
        queue = self.create("poll")
        with self.started("--log-level", "debug", "consume", queue, "--wait-time", "8") as waiting:
            time.sleep(1)  # the poll is under way by then; if not, the message waits for it
            began = time.monotonic()
            self.send(queue, ["wake"])
            equal(json.loads(waiting.stdout.readline())["body"], "wake", "body")
            took = time.monotonic() - began
            waiting.send_signal(signal.SIGTERM)
            waiting.communicate()
        if took > 4:
            raise Wrong(f"the message came {took:.1f} s after it was sent")

    ALL = ("standard", "order", "dead_letters", "leases", "crash", "drain", "long_poll")

    def run(self):
        """{workload: why not, empty when it is fine}"""
        found = {}
        for name in self.ALL:
            try:
                getattr(self, name)()
                found[name] = ""
            except subprocess.TimeoutExpired as late:
                found[name] = f"quern {late.cmd[1]} took more than {late.timeout} s"
            except (Wrong, ValueError, KeyError, IndexError) as wrong:
                found[name] = " ".join(str(wrong).split())[:300]
        return found


def verdicts(checks, ground):
    """{check: why not, empty when it is fine}; each check has a ground of its own."""
    found = {}
    for check, work in checks.items():
        try:
            with ground() as there:
                work(there)
            found[check] = ""
        except subprocess.TimeoutExpired as late:
            found[check] = f"{late.cmd[0]} took more than {late.timeout} s"
        except (Wrong, LookupError, ValueError, OSError) as wrong:
            found[check] = " ".join(f"{type(wrong).__name__ if not isinstance(wrong, Wrong) else ''} {wrong}".split())[:300]
    return found
