"""Counts the instructions of each step of a message, and compares them with those that were counted before.

    ./dev guard             fails when a step takes 5 % more than bench/guard/baseline.json says, and names the functions;
                            or 15 % more system calls, where those are counted
    ./dev guard --update    writes what it counts into that file

Counted is what callgrind sees outside of the libraries of others (OpenSSL, simdjson, libc but for its allocator): those pick
their code by the processor. What two runs of different length differ by belongs to the steps, so a start costs nothing.
"""

import argparse
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEPS = {  # how often, and what of: over a socket no two runs meet quite the same batches
    "sign": (400, "request"),
    "build": (400, "request"),
    "parse": (200, "answer"),
    "cycle": (8000, "message"),
    "part": (4000, "message"),
    "wait": (8000, "message"),
    "watched": (8000, "message"),
    "timed": (8000, "message"),
    "measured": (8000, "message"),
    "traced": (8000, "message"),
    "leases": (5000, "message"),
    "outage": (5000, "message"),
}
ARRIVE = {"part": 1000}  # a second; of the others there is always another one
CALLS = ("cycle", "part")  # whose system calls are counted as well, by strace and not under valgrind
LIMIT = 1.05
LIMIT_OF_CALLS = 1.15  # how many answers are there at the first read differs from run to run
AT_MOST = {  # the first may be so many times the second, each with the allocator of the second: what that takes
    # goes by what lies where and differs by two percent, and no observer allocates
    ("watched", "cycle"): 1.04,  # two percent, and as much again for what two runs on a busy machine differ by
    ("timed", "cycle"): 1.08,  # half of it for the time of sending: asked for, read, copied; 3.1 to 6.2 % were counted
    ("measured", "cycle"): 1.08,  # which needs that time, and changes a dozen numbers
}
ALLOCATOR = re.compile(r"malloc|^_?free$|^cfree|_int_free|memalign|calloc|realloc|unlink_chunk")


def counted(profile):
    """Instructions by function, of a file that callgrind has written."""
    names, objects = {}, {}

    def name(known, text):
        number, given = re.match(r"\((\d+)\)(?: (.*))?$", text).groups()
        if given:
            known[number] = given
        return known[number]

    out = collections.Counter()
    place, function, is_call = "", "", False
    for line in profile.read_text().splitlines():
        key, equals, rest = line.partition("=")
        if equals and key in ("ob", "cob", "fn", "cfn"):
            said = name(objects if key.endswith("ob") else names, rest)
            if key == "ob":
                place = said
            elif key == "fn":
                function = said
        elif line.startswith("calls="):
            is_call = True  # the next line is the cost of what was called
        elif line and (line[0].isdigit() or line[0] in "+-*"):
            if not is_call and (place.endswith("guard-cycles") or ALLOCATOR.search(function)):
                out[plain(function)] += int(line.split()[-1])
            is_call = False
    return out


def plain(function):
    """Without what only tells clones and recursions apart, and not longer than one can read."""
    return re.sub(r"'\d+$| \[clone [^]]*\]", "", function)[:200]


def called(summary):
    """System calls by name, of a file that strace -c has written."""
    rows = (line.split() for line in summary.read_text().splitlines())
    return collections.Counter({row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdigit() and row[-1] != "total"})


def run(programs, step, count, of_calls):
    """What one run counted, by function or by system call; it has a server of its own."""
    with tempfile.TemporaryDirectory() as folder, Yardstick(programs / "yardstick-server", ARRIVE.get(step, 0)) as url:
        out = Path(folder) / "counted"
        under = ["strace", "-f", "-c", "-o", out] if of_calls else ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        done = subprocess.run([*under, programs / "guard-cycles", step, str(count)], env=os.environ | told_of(url),
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"guard: {step} failed: {done.stderr.strip().splitlines()[-1:]}")
        return called(out) if of_calls else counted(out)


def cost_of(programs, step, of_calls=False):
    """Instructions by function, or calls by name, for one request, answer or message."""
    count, _ = STEPS[step]
    few = run(programs, step, count, of_calls)
    many = run(programs, step, 3 * count, of_calls)
    return {f: (many[f] - few[f]) / (2 * count) for f in many if many[f] > few[f]}


def least_of(cost, again, most):
    """What is not dearer than `most`, or else the least of three: with sockets they vary by 3 %, and always upwards."""
    for _ in range(2):
        if sum(cost.values()) > most:
            cost = min(cost, again(), key=lambda it: sum(it.values()))
    return cost


def culprits(now, before):
    """The functions that took most of a rise, as text."""
    rise = sorted(((now.get(f, 0) - before.get(f, 0), f) for f in {*now, *before}), reverse=True)
    return [f"{more:+9.0f}  {f}" for more, f in rise[:8] if more >= 1]


def most(step, baseline):
    return LIMIT * baseline[step]["instructions"] if step in baseline else math.inf


def most_calls(step, baseline):
    known = baseline.get(step, {}).get("calls")
    return LIMIT_OF_CALLS * sum(known.values()) if known else math.inf


def compare(step, cost, calls, baseline):
    """Says what a step costs now; whether that is too much."""
    total, known = sum(cost.values()), baseline.get(step)
    unit = STEPS[step][1]
    if not known:
        print(f"{step:8} {total:8.0f} instructions a {unit}; nothing to compare with")
        return False
    worse = total > most(step, baseline)
    print(f"{step:8} {total:8.0f} instructions a {unit}, {100 * (total / known['instructions'] - 1):+.1f} %{'  FAILED' if worse else ''}")
    if worse:
        print("\n".join(culprits(cost, known["functions"])))
    if not calls or "calls" not in known:
        return worse
    total, before = sum(calls.values()), sum(known["calls"].values())
    more = total > most_calls(step, baseline)
    print(f"{step:8} {total:8.2f} system calls a {unit}, {100 * (total / before - 1):+.1f} %{'  FAILED' if more else ''}")
    if more:
        print("\n".join(f"{calls.get(name, 0):9.2f}  {name}, {known['calls'].get(name, 0):.2f} before" for name in calls))
    return worse or more


def worth_keeping(cost, calls):
    total = sum(cost.values())
    kept = {f: round(n, 1) for f, n in sorted(cost.items(), key=lambda item: -item[1]) if n >= total / 100}
    out = {"instructions": round(total), "functions": kept}
    if calls:
        out["calls"] = {name: round(n, 3) for name, n in sorted(calls.items(), key=lambda item: -item[1]) if n >= 0.01}
    return out


def compiler():
    said = subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout
    return said.splitlines()[0] if said else "unknown"


class Yardstick:
    """The server of the bench, on a free port, for as long as the block lasts. `rate`: messages a second; 0: a backlog."""

    def __init__(self, program, rate):
        self.program, self.arrivals = program, ["--poisson", "--rate", str(rate)] if rate else []

    def __enter__(self):
        self.server = subprocess.Popen([self.program, "--body", "256", *self.arrivals], stdout=subprocess.PIPE, text=True)
        said = self.server.stdout.readline().split()
        if not said:
            sys.exit(f"guard: {self.program} does not start")
        return said[-1]

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()


def told_of(url):
    """The environment that a step needs to find the server."""
    return {
        "BENCH_QUEUE_URL": f"{url}/000000000000/bench",
        "AWS_ENDPOINT_URL_SQS": url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    }


def main():
    ask = argparse.ArgumentParser(prog="./dev guard", description=__doc__.splitlines()[0])
    ask.add_argument("--update", action="store_true", help="make what is counted now the baseline")
    ask.add_argument("--step", choices=STEPS, action="append", help="only this one; may be given several times")
    ask.add_argument("--programs", type=Path, default=Path("build/release/bin"), help=argparse.SUPPRESS)
    told = ask.parse_args()

    file = HERE / "baseline.json"
    baseline = json.loads(file.read_text()) if file.exists() else {}
    if baseline.get("compiler", compiler()) != compiler():
        print(f"guard: the baseline is of {baseline['compiler']}, this is {compiler()}: nothing can be compared")
        if not told.update:
            return 0
        baseline = {}

    failed = False
    total, allocator = {}, {}
    for step in told.step or STEPS:
        def count(of_calls=False):
            return cost_of(told.programs, step, of_calls)
        cost = least_of(count(), count, 0 if told.update else most(step, baseline))
        calls = {}
        if step in CALLS and told.update:  # on a busy machine fewer, because messages gather meanwhile
            calls = sorted((count(True) for _ in range(3)), key=lambda it: sum(it.values()))[1]
        elif step in CALLS:
            calls = least_of(count(True), lambda: count(True), most_calls(step, baseline))
        total[step] = sum(cost.values())
        allocator[step] = sum(n for f, n in cost.items() if ALLOCATOR.search(f))
        if told.update:
            baseline[step] = worth_keeping(cost, calls)
            print(f"{step:8} {total[step]:8.0f} instructions a {STEPS[step][1]}"
                  + (f", {sum(calls.values()):.2f} system calls" if calls else ""))
        else:
            failed = compare(step, cost, calls, baseline) or failed
    for (step, base), limit in AT_MOST.items():
        if step not in total or base not in total:
            continue
        ratio = (total[step] - allocator[step] + allocator[base]) / total[base]
        print(f"{step} costs {100 * (ratio - 1):.1f} % more than {base}{'  FAILED' if ratio > limit else ''}")
        failed = failed or ratio > limit
    if told.update:
        file.write_text(json.dumps(baseline | {"compiler": compiler()}, indent=1) + "\n")
    if failed:
        print("guard: a step has become dearer by more than 5 %. Where that is meant, run ./dev guard --update and say why")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
