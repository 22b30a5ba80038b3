"""One run: a fresh server, a contender, a warm-up, a window."""
import functools
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

from . import machine, numbers
from .yardstick import Certificates, Yardstick

BOOT = 60  # seconds until a contender says that it is ready; a JVM on a busy machine takes ten
LEAVE = 30  # and to end


class Failed(Exception):
    """Why a run has no result."""


def environment(contender, scenario, in_flight, server, asked, certificates, result):
    """What bench/peers agrees on with us; nothing of the user's own settings for AWS."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BENCH_"))}
    queue = "bench.fifo" if scenario.fifo else "bench"
    told = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIABENCH",
            "AWS_SECRET_ACCESS_KEY": "bench", "AWS_ENDPOINT_URL": server.url, "AWS_ENDPOINT_URL_SQS": server.url,
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NODE_NO_WARNINGS": "1",
            "BENCH_QUEUE_URL": server.queue_url(queue), "BENCH_HOOK": server.url + "/hook",
            "BENCH_THREADS": str(contender.threads), "BENCH_RESULT": str(result), **scenario.env(in_flight),
            **{name: value.replace("{url}", server.url) for name, value in contender.env.items()}}
    if contender.bare:
        told["BENCH_HANDLE"] = server.handle()
    if asked:
        told["BENCH_ASK"] = asked.url.removeprefix("http://")
    if certificates:
        told |= {"AWS_CA_BUNDLE": str(certificates.authority), "NODE_EXTRA_CA_CERTS": str(certificates.authority)}
    return {**kept, **told}


class Running:
    """A contender that runs."""

    def __init__(self, contender, scenario, server, cores, certificates=None, in_flight=None, asked=None):
        self.contender = contender
        self.in_flight = in_flight or scenario.in_flight
        self.folder = tempfile.TemporaryDirectory(prefix="quern-bench-")
        self.result = Path(self.folder.name) / "result.json"
        self.errors = Path(self.folder.name) / "errors"
        places = {"{url}": server.url, "{queue}": server.queue_url("bench")}
        command = [functools.reduce(lambda text, place: text.replace(*place), places.items(), word)
                   for word in contender.command]
        self.began = time.monotonic()
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, cores)), *command], stdout=subprocess.PIPE, stderr=errors, text=True,
                stdin=subprocess.DEVNULL, start_new_session=True,
                env=environment(contender, scenario, self.in_flight, server, asked, certificates, self.result))
        self.group = self.process.pid
        self.used = machine.Usage(self.group)

    def wait_until_ready(self):
        if self.contender.bare or self.contender.relays:
            return
        ready, _, _ = select.select([self.process.stdout], [], [], BOOT)
        line = self.process.stdout.readline() if ready else ""
        if line.strip() != "ready":
            raise Failed(f"was not ready within {BOOT} s: {self.complaint() or line.strip() or 'it said nothing'}")

    def check(self):
        if self.process.poll() is not None:
            raise Failed(f"ended by itself with status {self.process.returncode}: {self.complaint()}")

    def complaint(self):
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def stop(self):
        """What it reports when it is told to end."""
        self.process.send_signal(signal.SIGINT if self.contender.relays else signal.SIGTERM)  # carrier knows no other
        try:
            self.process.wait(LEAVE)
        except subprocess.TimeoutExpired:
            raise Failed(f"did not end within {LEAVE} s of SIGTERM") from None
        if self.contender.bare or self.contender.relays:
            return {}
        if self.process.returncode != 0 or not self.result.exists():
            raise Failed(f"ended with status {self.process.returncode} and "
                         f"{'a' if self.result.exists() else 'no'} report: {self.complaint()}")
        return json.loads(self.result.read_text())

    def kill(self):
        try:
            os.killpg(self.group, signal.SIGKILL)  # it leads a group of its own
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


@contextmanager
def running(*arguments, **more):
    one = Running(*arguments, **more)
    try:
        yield one
    finally:
        one.kill()


def per_message(value, messages):
    return value / messages if messages else None


def warm(client, server, pace, scenario):
    """Waits until the contender is as fast as it gets; what may be missing yet: {cold, filling}.

    That is when its code is compiled, which takes so many CPU seconds, and when as many messages are done as it may hold:
    until then it receives more than it deletes.
    """
    time.sleep(pace.warm_up)
    client.check()
    began, cpu = time.monotonic(), client.contender.warm_up
    patience = min(pace.patience, 2 * cpu) - pace.warm_up
    fill = 0 if scenario.arrives or client.contender.bare else pace.turn_over
    while True:
        cold = cpu > 0 and client.used.spent()[0] < cpu
        filling = fill > 0 and server.stats()["deleted"] < client.in_flight
        waited = time.monotonic() - began
        if not (cold and waited < patience or filling and waited < fill):
            return {"cold": cold, "filling": filling}
        time.sleep(0.2)
        client.check()


def steady(client, server, pace, scenario):
    """Rates within the window, and latencies from its begin to the end of the contender."""
    lacking = warm(client, server, pace, scenario)
    if scenario.arrives:
        server.reset()  # the backlog is over, messages arrive by the schedule
        time.sleep(pace.calm)
    server.reset()
    cpu, others, began = machine.Usage(client.group), machine.Others(), time.monotonic()
    time.sleep(pace.window)
    client.check()
    (spent, kernel), seconds = cpu.spent(), time.monotonic() - began
    seen = server.stats()
    foreign = others.seconds(spent + seen["cpu_us"] / 1e6)
    memory = machine.resident(client.group)
    report = client.stop()
    messages, requests = seen["deleted"], seen["receives"] + seen["deletes"] + seen["changes"] + seen["others"]
    return {"seconds": seconds, "messages": messages, "rate": messages / seconds, "cpu_seconds": spent, "kernel": kernel,
            "cpu_us": per_message(spent * 1e6, messages), "per_cpu_second": messages / spent if spent else None,
            "requests": per_message(requests, messages), "server_busy": seen["cpu_us"] / seen["elapsed_us"],
            "others_busy": foreign / seconds, "resident": memory, "in_flight": seen["in_flight_mean"],
            "redelivered": per_message(seen["redelivered"], seen["handed"]), "refused": seen["unknown"],
            "behind_us": seen["behind_us"], "deleted_us": seen["latency_us"], **lacking,
            "handler_us": numbers.measured(report.get("latency_us", {})), "version": report.get("version", "")}


def held(client, server, count, limit):
    """Memory while so many messages are in handlers, above that of a start without any."""
    reached, deadline = 0, time.monotonic() + limit
    while time.monotonic() < deadline:
        client.check()
        time.sleep(0.1)
        before, reached = reached, server.stats()["in_flight"]
        if reached >= count and reached == before:
            break
    time.sleep(0.5)  # what was sent last has been read, too
    return {"reached": reached, "resident": machine.resident(client.group)}


def start(client, server):
    """How long it takes until a message is deleted, and the CPU that costs."""
    while not server.stats()["deleted"]:
        if time.monotonic() - client.began > BOOT:
            raise Failed(f"deleted nothing within {BOOT} s")
        client.check()
        time.sleep(0.002)
    return {"start_ms": (time.monotonic() - client.began) * 1e3, "start_cpu_ms": client.used.spent()[0] * 1e3}


def idle(client, server, pace):
    time.sleep(pace.settle)
    client.check()
    server.reset()
    cpu, began = machine.Usage(client.group), time.monotonic()
    time.sleep(pace.idle)
    client.check()
    seconds, seen = time.monotonic() - began, server.stats()
    requests = seen["receives"] + seen["others"]
    return {"seconds": seconds, "cpu_per_hour": cpu.spent()[0] * 3600 / seconds,
            "requests_per_hour": requests * 3600 / seconds, "resident": machine.resident(client.group),
            "connections": seen["connections"]}


class Bench:
    """Carries out runs with one server program."""

    def __init__(self, program, pace):
        self.program, self.pace = program, pace
        self.made = None

    def certificates(self):
        self.made = self.made or Certificates()
        return self.made

    def run(self, scenario, contender, capacity=0):
        """A run's figures; raises Failed when there are none. `capacity`: its messages a second, where that matters."""
        server_cores, cores, _ = machine.pins(contender.threads)
        tls = self.certificates() if scenario.tls else None
        options, in_flight = scenario.given(capacity)
        if contender.bare:
            options.append("--forget")
        with Yardstick(self.program, options, server_cores[0], tls) as server:
            if scenario.kind == "held":
                return self.run_held(scenario, contender, server, cores)
            with self.asked(scenario, server_cores[0]) as asked, \
                    running(contender, scenario, server, cores, tls, in_flight, asked) as client:
                client.wait_until_ready()
                if scenario.kind == "start":
                    return start(client, server)
                if scenario.kind == "idle":
                    return idle(client, server, self.pace)
                found = steady(client, server, self.pace, scenario)
                return {**found, "offered": scenario.offered(capacity) or None, "allowed": in_flight}

    def asked(self, scenario, core):
        """The service that handlers ask; None where they ask nobody."""
        return Yardstick(self.program, ("--delay", scenario.ask_ms), core) if scenario.ask_ms else nullcontext()

    def run_held(self, scenario, contender, server, cores):
        with Yardstick(self.program, ("--limit", 0), cores[0]) as empty, \
                running(contender, scenario, empty, cores) as client:
            client.wait_until_ready()
            time.sleep(1)
            before = machine.resident(client.group)
        with running(contender, scenario, server, cores) as client:
            client.wait_until_ready()
            found = held(client, server, scenario.in_flight, self.pace.fill)
        return {**found, "above_idle": found["resident"] - before}
