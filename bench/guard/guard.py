"""Counts the instructions of each step of a message, and compares them with those that were counted before.

    ./dev guard             fails when a step takes 5 % more than bench/guard/baseline.json says, and names the functions
    ./dev guard --update    writes what it counts into that file

Counted is what callgrind sees outside of the libraries of others (OpenSSL, simdjson, libc but for its allocator): those pick
their code by the processor. What two runs of different length differ by belongs to the steps, so a start costs nothing.
"""

import argparse
import collections
import json
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
    "wait": (8000, "message"),
    "watched": (8000, "message"),
    "timed": (8000, "message"),
    "measured": (8000, "message"),
    "traced": (8000, "message"),
    "leases": (5000, "message"),
    "outage": (5000, "message"),
}
LIMIT = 1.05
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


def run(program, step, count, folder, environment):
    profile = Path(folder) / f"{step}.{count}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", str(program), step, str(count)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"guard: {step} failed: {done.stderr.strip().splitlines()[-1:]}")
    return counted(profile)


def cost_of(program, step, folder, environment):
    """Instructions by function for one request, answer or message."""
    count, _ = STEPS[step]
    few = run(program, step, count, folder, environment)
    many = run(program, step, 3 * count, folder, environment)
    return {f: (many[f] - few[f]) / (2 * count) for f in many if many[f] > few[f]}


def culprits(now, before):
    """The functions that took most of a rise, as text."""
    rise = sorted(((now.get(f, 0) - before.get(f, 0), f) for f in {*now, *before}), reverse=True)
    return [f"{more:+9.0f}  {f}" for more, f in rise[:8] if more >= 1]


def is_dearer(step, cost, baseline):
    return step in baseline and sum(cost.values()) > LIMIT * baseline[step]["instructions"]


def compare(step, cost, baseline):
    total, known = sum(cost.values()), baseline.get(step)
    unit = STEPS[step][1]
    if not known:
        print(f"{step:8} {total:8.0f} instructions a {unit}; nothing to compare with")
        return False
    ratio = total / known["instructions"]
    worse = is_dearer(step, cost, baseline)
    print(f"{step:8} {total:8.0f} instructions a {unit}, {100 * (ratio - 1):+.1f} %{'  FAILED' if worse else ''}")
    if worse:
        print("\n".join(culprits(cost, known["functions"])))
    return worse


def worth_keeping(cost):
    total = sum(cost.values())
    kept = {f: round(n, 1) for f, n in sorted(cost.items(), key=lambda item: -item[1]) if n >= total / 100}
    return {"instructions": round(total), "functions": kept}


def compiler():
    said = subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout
    return said.splitlines()[0] if said else "unknown"


class Yardstick:
    """The server of the bench, on a free port, for as long as the block lasts."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.server = subprocess.Popen([str(self.program), "--body", "256"], stdout=subprocess.PIPE, text=True)
        said = self.server.stdout.readline().split()
        if not said:
            sys.exit(f"guard: {self.program} does not start")
        return said[-1]

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()


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
    with Yardstick(told.programs / "yardstick-server") as url, tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "BENCH_QUEUE_URL": f"{url}/000000000000/bench",
            "AWS_ENDPOINT_URL_SQS": url,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        }
        total, allocator = {}, {}
        for step in told.step or STEPS:
            cost = cost_of(told.programs / "guard-cycles", step, folder, environment)
            for _ in range(2):  # steps with sockets vary by 3 % with what else the machine does, always upwards
                if is_dearer(step, cost, baseline):
                    again = cost_of(told.programs / "guard-cycles", step, folder, environment)
                    cost = min(cost, again, key=lambda it: sum(it.values()))
            total[step] = sum(cost.values())
            allocator[step] = sum(n for f, n in cost.items() if ALLOCATOR.search(f))
            if told.update:
                baseline[step] = worth_keeping(cost)
                print(f"{step:8} {baseline[step]['instructions']:8} instructions a {STEPS[step][1]}")
            else:
                failed = compare(step, cost, baseline) or failed
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
