"""What becomes of a message that `quern redrive`, or a mover of others, brings from one queue to another: on our broker, where it
may also go wrong on the way, and on other people's servers."""
import json
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import peers
from kits import KITS
from workloads import Workloads, Wrong, equal

LIMIT = 120  # seconds for one move, of which none takes 25 where the machine is at rest
OURS = ("x-redrive-attempt", "x-original-first-receive-timestamp", "QuernOriginalId")  # are in the copy besides
TRACE = "Root=1-67891233-abcdef012345678912345678"
ATTRIBUTES = [
    {"name": "text", "type": "String", "value": "\u00e4 \t<&>\""}, {"name": "label", "type": "String.json", "value": "{}"},
    {"name": "number", "type": "Number", "value": "-1.50"}, {"name": "count", "type": "Number.int", "value": "7"},
    {"name": "bytes", "type": "Binary", "base64": "AP8B"}, {"name": "picture", "type": "Binary.png", "base64": "iVBORw=="}]


def node(script):
    return lambda quern, dead, to: ["node", KITS["movers"].folder / script, dead, to]


def names(command):
    return lambda quern, *urls: command(quern, *(url.rsplit("/", 1)[1] for url in urls))


# name: the command, given the program quern and the URLs of both queues
MOVERS = {
    "quern": lambda quern, dead, to: [quern, "redrive", dead, "--to", to, "--delay-base", "0"],
    "lumigo-cli": names(node("lumigo.cjs")),
    "replay-aws-dlq": node("replay.cjs"),
}

VARIABLES = {"AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"}


class Move(Workloads):
    """Two queues, what is in them, and one mover between them."""

    def __init__(self, quern, where, mover, check):
        super().__init__(quern, {**where, **VARIABLES}, f"{mover}-{check}", 0)
        self.mover, self.command = mover, MOVERS[mover]
        self.dead = self.to = None

    def queues(self, *options, to=()):
        self.dead, self.to = self.create("dead", *options), self.create("to", *options, *to)

    def move(self):
        """The status and the last words of the mover; that it fails is no news by itself."""
        done = subprocess.run([str(word) for word in self.command(self.program, self.dead, self.to)], env=self.where, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT)
        return f"status {done.returncode} {done.stderr.strip()[-120:]}"

    def count(self, queue):
        told = json.loads(self.quern("queue", "attributes", queue, "--json"))
        return sum(int(told["ApproximateNumberOfMessages" + kind]) for kind in ("", "NotVisible", "Delayed"))

    def fill(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "messages.jsonl")
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            self.quern("redrive", "import", str(file), self.dead)

    def exported(self):
        """The messages of the other queue, which stay there."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "messages.jsonl")
            self.quern("redrive", "export", self.to, str(file))
            return [json.loads(line) for line in file.read_text().splitlines()]

    # ---- the checks ----

    def plain(self):
        """Forty messages, each there, by ours once, and none left."""
        self.queues()
        bodies = [f"m{n}" for n in range(40)]
        self.send(self.dead, bodies)
        said = self.move()
        there = [m["body"] for m in self.exported()]
        if self.mover != "quern":  # moto may give one to two of its loops
            there = set(there)
        equal(sorted(there), sorted(bodies), f"bodies, after {said}")
        equal(self.count(self.dead), 0, "left")

    def types(self):
        """String, Number and Binary, with and without a label of their own."""
        self.queues()
        self.fill([{"message_id": "1", "attributes": ATTRIBUTES, "body": "b"}])
        said = self.move()
        there = [{a["name"]: a for a in m["attributes"] if a["name"] not in OURS} for m in self.exported()]
        if there != [{a["name"]: a for a in ATTRIBUTES}]:
            lost = sorted({a["name"] for a in ATTRIBUTES} - set(there[0] if there else ()))
            raise Wrong(f"lost: {', '.join(lost)}" if there else f"the message is not there, after {said}")

    def trace(self):
        """The X-Ray header."""
        self.queues()
        self.fill([{"message_id": "1", "trace_header": TRACE, "attributes": [], "body": "b"}])
        self.move()
        equal([m.get("trace_header") for m in self.exported()], [TRACE], "trace header")

    def groups(self):
        """Three groups of five: each in its order, and still in its group."""
        self.queues("--fifo")
        for group in "abc":
            self.send(self.dead, [f"{group}{n}" for n in range(5)], "--group", group)
        said = self.move()
        got = self.consume(self.to)
        for group in "abc":
            equal([m["body"] for m in got if m.get("group") == group], [f"{group}{n}" for n in range(5)],
                  f"group {group}, after {said}")

    def refused(self):
        """The queue takes nothing above 1 KiB, and of each batch refuses some: none is lost."""
        self.queues(to=("--attribute", "MaximumMessageSize=1024"))
        self.send(self.dead, [f"m{n}" + "x" * (1500 if n % 10 == 3 else 0) for n in range(50)])
        self.move()
        if gone := 50 - self.count(self.to) - self.count(self.dead):
            raise Wrong(f"{gone} of 50 are lost")

    def killed(self):
        """SIGKILL in the middle: nothing is lost, and ten at most are there twice."""
        self.queues()
        self.send(self.dead, [f"m{n}" for n in range(1000)])
        with subprocess.Popen([str(word) for word in self.command(self.program, self.dead, self.to)], env=self.where,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as doomed:
            end = time.monotonic() + LIMIT
            while self.count(self.to) < 50 and doomed.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            doomed.kill()
        there, left = self.count(self.to), self.count(self.dead)
        if left == 0:
            raise Wrong("it was done before it could be killed")
        if there + left < 1000:
            raise Wrong(f"{1000 - there - left} of 1000 are lost")
        if there + left > 1010:
            raise Wrong("more than ten of 1000 are there twice")

    def run(self, check):
        try:
            getattr(self, check)()
        except subprocess.TimeoutExpired as late:
            return f"took more than {late.timeout} s"
        except (Wrong, ValueError, KeyError, IndexError) as wrong:
            return " ".join(str(wrong).split())[:300]
        return ""


ANYWHERE = ("plain", "types", "trace", "groups")
NOT_TOGETHER = {("moto", "replay-aws-dlq")}  # its long polls of 20 s keep all of moto busy
SLOW = {"latency": 1, "latency_min": 20, "latency_max": 30}  # milliseconds: time to be killed in


@contextmanager
def slow_broker(quern):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "faults.json")
        file.write_text(json.dumps({"by_operation": {"SendMessageBatch": SLOW, "SendMessage": SLOW}}))
        with peers.broker(quern, "--faults", str(file)) as where:
            yield where


def on_server(name, quern):
    """{mover: {check on that server: why not}}"""
    found = {mover: {} for mover in MOVERS}

    def make(where, *checks):
        work = [(mover, check) for check in checks for mover in MOVERS if (name, mover) not in NOT_TOGETHER]
        with ThreadPoolExecutor(len(work)) as pool:  # replay-aws-dlq ends with a long poll of 20 s
            whys = pool.map(lambda one: Move(quern, where, *one).run(one[1]), work)
        for (mover, check), why in zip(work, whys):
            found[mover][f"{name}: {check}"] = why

    if name != "our broker":
        with peers.SERVERS[name][1]() as where:
            make(where, *ANYWHERE)
        return found
    with peers.broker(quern) as where:
        make(where, *ANYWHERE, "refused")
    with slow_broker(quern) as where:
        make(where, "killed")
    return found


def side_by_side(by_server):
    """{mover: {check: why not}} of all servers."""
    return {mover: {check: why for found in by_server.values() for check, why in found.get(mover, {}).items()}
            for mover in MOVERS}
