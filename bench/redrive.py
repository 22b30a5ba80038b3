#!/usr/bin/env python3
"""Measures what moves the messages of a dead-letter queue back: Quern, and movers of others, on one machine in one run.

usage: redrive.py [--messages N] [--rounds N] [--mover NAME...] [--bin FOLDER]

Each run has a broker of ours for itself, on the first core, and a queue full of messages of 200 bytes; the mover has the next
core, from its start to its end. Its CPU time is what the operating system says of it and its children. Rounds take turns; a
figure is the median of its rounds. Every message has to arrive, or what is missing is told beside the figures.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from harness import contenders, machine

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "interop"))

from kits import KITS, Missing  # noqa: E402

LIMIT = 1200  # seconds that one mover may take
LEFT = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class Failed(Exception):
    pass


def environment(url=""):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
    return {**kept, "AWS_ENDPOINT_URL_SQS": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NODE_NO_WARNINGS": "1",
            "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"}


@contextmanager
def broker(quern, core):
    with subprocess.Popen([quern, "--log-level", "error", "broker", "--port", "0"], stdout=subprocess.PIPE, text=True,
                          env=environment(), preexec_fn=lambda: os.sched_setaffinity(0, core)) as running:
        try:
            yield running.pid, running.stdout.readline().split()[-1]
        finally:
            running.terminate()


def ask(quern, url, *arguments):
    return subprocess.run([quern, *arguments], env=environment(url), text=True, check=True, capture_output=True,
                          timeout=LIMIT).stdout


def count(quern, url, queue):
    told = json.loads(ask(quern, url, "queue", "attributes", queue, "--json"))
    return sum(int(told[name]) for name in LEFT)


def cpu_of(pid):
    fields = machine.stat_of(pid)
    return (int(fields[11]) + int(fields[12])) * machine.TICK


def run(command, url, core, log):
    """Seconds on the wall, and of CPU."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], env=environment(url), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=log, preexec_fn=lambda: os.sched_setaffinity(0, core))
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - began, used.ru_utime + used.ru_stime, process.returncode


class Mover:
    """`command` makes of (program quern, folder, URL of the dead-letter queue, URL of the other one) what to run; one that takes
    long has `fewer` times fewer messages, in one round alone."""

    def __init__(self, name, command, absent="", fewer=1):
        self.name, self.command, self.absent, self.fewer = name, command, absent, fewer


def quern_with(*options):
    return lambda quern, folder, dead, orders: [
        quern, "--log-level", "error", "redrive", dead, "--to", orders, "--delay-base", "0", "--yes",
        *(word.format(folder=folder) for word in options)]


def installed(kit):
    try:
        kit.install()
    except Missing as why:
        return str(why)
    return ""


def name_of(url):
    return url.rsplit("/", 1)[1]


def movers():
    peers = contenders.load_peers()
    go = peers.kits(peers.FOLDER)["go"]
    lacks_go, lacks_node = installed(go), installed(KITS["movers"])
    node = KITS["movers"].folder
    named = os.environ.get("BENCH_SQSMOVER", "")
    return [
        Mover("quern", quern_with()),
        Mover("quern, --concurrency 100", quern_with("--concurrency", "100")),
        Mover("quern, --journal", quern_with("--journal", "{folder}/journal")),
        Mover("go-mover", lambda quern, folder, dead, orders: [go.folder / "go-mover", dead, orders], lacks_go),
        Mover("lumigo-cli", lambda quern, folder, dead, orders: [
            "node", node / "lumigo.cjs", name_of(dead), name_of(orders)], lacks_node, fewer=5),
        Mover("replay-aws-dlq", lambda quern, folder, dead, orders: ["node", node / "replay.cjs", dead, orders], lacks_node,
              fewer=20),
        Mover("sqsmover", lambda quern, folder, dead, orders: [
            named, "--source", name_of(dead), "--destination", name_of(orders), "--region", "us-east-1", "--endpoint",
            dead.rsplit("/", 2)[0]],
            "" if named else "not pinned here, since the module proxy refused it: name its program in BENCH_SQSMOVER"),
    ]


def measure(quern, mover, messages, server, client):
    with broker(quern, server) as (pid, url), tempfile.TemporaryDirectory() as folder:
        dead, orders = (ask(quern, url, "queue", "create", name).strip() for name in ("dead", "orders"))
        ask(quern, url, "send", "dead", "--count", str(messages), "--size", "200")
        log_name = Path(folder, "log")
        others, before = machine.Others(), cpu_of(pid)
        with open(log_name, "w", encoding="utf-8") as log:
            wall, cpu, status = run(mover.command(quern, folder, dead, orders), url, client, log)
        server_cpu = cpu_of(pid) - before
        disturbed = others.seconds(cpu + server_cpu) / wall
        if status != 0:
            raise Failed(f"ended with status {status}: {log_name.read_text(errors='replace')[-300:]}")
        return {"messages": messages, "wall": wall, "cpu": cpu, "server": server_cpu / wall, "others": disturbed,
                "left": count(quern, url, "dead"), "arrived": count(quern, url, "orders")}


def remarks(runs):
    first = runs[0]
    out = []
    if first["messages"] != max(run["most"] for run in runs):
        out.append(f"{first['messages']:,} messages")
    for run in runs:
        if run["left"] or run["arrived"] != run["messages"]:
            out.append(f"{run['arrived']:,} arrived, {run['left']:,} left")
    if (others := max(run["others"] for run in runs)) > 1 / 7:
        out.append(f"other processes took {others:.0%} of a core")
    if (server := max(run["server"] for run in runs)) > 0.9:
        out.append(f"server {server:.0%} busy: it may be the limit")
    return "; ".join(out)


def table(results):
    def median(runs, what):
        return statistics.median(what(run) for run in runs)

    lines = ["| mover | messages/s | CPU us a message | messages a CPU second | remarks |", "|---|---|---|---|---|"]
    for name, runs in results.items():
        rate, us = median(runs, lambda r: r["messages"] / r["wall"]), median(runs, lambda r: r["cpu"] / r["messages"] * 1e6)
        lines.append(f"| {name} | {rate:,.0f} | {us:.1f} | {1e6 / us:,.0f} | {remarks(runs)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mover", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    everyone = movers()
    if unknown := [name for name in options.mover if name not in [one.name for one in everyone]]:
        parser.error(f"--mover {unknown[0]}: there are {'; '.join(one.name for one in everyone)}")
    wanted = [one for one in everyone if not options.mover or one.name in options.mover]
    machine.allow_sockets()
    server, client, remark = machine.pins(1)
    quern = str(options.bin / "quern")
    if not shutil.which(quern):
        parser.error(f"{quern} is not built")
    at, results = datetime.now(timezone.utc), {}
    for number in range(options.rounds):
        for mover in (one for one in wanted if not one.absent):
            if number and mover.fewer > 1:
                continue
            try:
                found = measure(quern, mover, max(1, options.messages // mover.fewer), server, client)
            except Failed as why:
                print(f"{mover.name}: {why}", file=sys.stderr, flush=True)
                continue
            results.setdefault(mover.name, []).append({**found, "most": options.messages})
            print(f"{mover.name}: {found}", file=sys.stderr, flush=True)
    about = machine.description()
    print(f"{at:%Y-%m-%d %H:%M UTC}, {about['cpu']}, {about['cores']} cores, {about['system']}, Linux {about['kernel']}; broker "
          f"on core {server[0]}, mover on core {client[0]}. {remark}\n")
    print(table(results))
    for one in wanted:
        if one.absent:
            print(f"\nleft out: {one.name}: {one.absent}")
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
