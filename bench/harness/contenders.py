"""Who is measured: wrk, the floor and Quern here, others out of bench/peers."""
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import machine

PEERS = Path(__file__).resolve().parent.parent / "peers"


@dataclass(frozen=True)
class Contender:
    name: str
    version: str
    command: tuple
    env: dict = field(default_factory=dict)
    absent: str = ""  # why it can't be run here
    threads: int = 1
    bare: bool = False  # a load generator: it never says that it is ready, handles nothing and reports nothing
    backlog_only: bool = False  # knows nothing but receives and deletes by turns
    relays: bool = False  # brings messages to a web service; says and reports nothing, as the program of somebody's users
    start: float = 1.0  # seconds that it takes to start and to end, for the estimate
    warm_up: float = 0.0  # CPU seconds until its code is compiled
    guess: float = 5_000  # messages a second, for the estimate

    @property
    def slow(self):
        """Takes too long to warm up to be measured often."""
        return self.warm_up >= 10


# What an SDK's users write: a loop of receive, handle, delete.
LOOPS = ("aws-sdk-js", "aws-sdk-go", "aws-sdk-rust", "aws-sdk-java", "boto3")


def wrk():
    there = shutil.which("wrk")
    version = "-"
    if there:
        said = subprocess.run([there, "-v"], capture_output=True, text=True).stdout
        version = said.split()[1].removeprefix("debian/") if said.startswith("wrk ") else "-"
    command = (there or "wrk", "-t1", "-c32", "-d600", "-s", str(PEERS / "wrk.lua"), "{url}")
    return Contender("wrk", version, command, bare=True, guess=500_000,
                     absent="" if there else "wrk is not installed (Debian package wrk)")


def floor(program):
    program = Path(program).with_name("contender-floor")
    return Contender("floor", "this tree", (str(program),), backlog_only=True, guess=300_000,
                     absent="" if program.exists() else f"{program} is not built")


def quern(program, threads):
    absent = "" if Path(program).exists() else f"{program} is not built"
    return Contender("quern" if threads == 1 else f"quern-{threads}t", "this tree", (str(program),), threads=threads,
                     absent=absent, guess=100_000)


def at_once(program):
    """Quern with receive_latency 0: where messages come one by one."""
    usual = quern(program, 1)
    return replace(usual, name="quern-at-once", env={"BENCH_RECEIVE_LATENCY_MS": "0"})


def relays(program):
    """Those that bring messages to a web service: ours, the plain one in Go, and carrier where somebody has it."""
    program = Path(program).with_name("quern")
    told = ("relay", "{queue}", "{url}/hook", "--concurrency", "50", "--visibility-timeout", "60", "--stats", "none")
    yield Contender("quern-relay", "this tree", (str(program), "--log-level", "warning", *told), relays=True, guess=20_000,
                    absent="" if program.exists() else f"{program} is not built")
    carrier = os.environ.get("BENCH_CARRIER", "")
    env = {"CARRIER_SQS_ENDPOINT": "{url}", "CARRIER_SQS_QUEUE_NAME": "bench", "CARRIER_SQS_BATCH_SIZE": "10",
           "CARRIER_SQS_RECEIVERS": "5", "CARRIER_SQS_RECEIVER_WORKERS": "0", "CARRIER_WEBHOOK_ENDPOINT": "{url}/hook"}
    yield Contender("carrier", "-", (carrier or "carrier",), env, relays=True, start=1.5, guess=5_000,
                    absent="" if carrier else "no registry has it: name its program in BENCH_CARRIER")


def others():
    """Of bench/peers/peers.py, where that is there."""
    if not (PEERS / "peers.py").exists():
        return []
    peers = load_peers()
    out = []
    for one in peers.contenders(peers.FOLDER):
        out.append(Contender(one["name"], one["version"], tuple(one["command"]), one["env"], one["absent"] or "",
                             start=1.5, warm_up=one.get("warm_up", 0), relays=one.get("relays", False)))
    return out


def load_peers():
    spec = importlib.util.spec_from_file_location("peers", PEERS / "peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def install_others(names):
    """Fetches and builds what is missing, of all others or of those named; what cannot be had stays absent."""
    if (PEERS / "peers.py").exists():
        peers = load_peers()
        wanted = [name for name in names if name in peers.CONTENDERS]
        if wanted or not names:
            peers.install(peers.FOLDER, wanted, say=lambda line: print(line, file=sys.stderr, flush=True))


def everyone(program):
    several = [quern(program, threads) for threads in (3, 4, 6, 8, 12, 16) if threads < len(machine.cores())]
    return [wrk(), floor(program), quern(program, 1), quern(program, 2), at_once(program), *several, *relays(program), *others()]
