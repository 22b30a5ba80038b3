#!/usr/bin/env python3
"""Fuzzes the readers of bytes from outside, one after the other, with libFuzzer.

usage: ./dev fuzz [NAME...] [--seconds N] [--jobs N] [--seed N] [--keep DIR] [--list | --coverage]

  NAME         targets; without any, all of them
  --seconds N  time for each (default: 60)
  --jobs N     targets at a time (default: the number of cores)
  --seed N     of what libFuzzer tries (default: another one each time); the same seed tries the same inputs, as far as it gets
  --keep DIR   inputs that reached something new are kept there for the next run (default: build/fuzz/corpus)
  --list       the names of the targets
  --coverage   tries nothing new, and lists the lines of each source that the inputs of earlier runs reach

An input that a reader falls over is put into tests/fuzz/corpus/NAME/, where the test fuzz_corpus reads it from then on.
A target begins with that folder, with what was kept, and with AWS's own cases where they lie beside the tree (seeds.py).
The last column counts the edges of the program's control flow that the inputs of a target reach.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import seeds

HERE = Path(__file__).resolve().parent
LAST = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: \d+ corp: (\d+)")


def names():
    table = (HERE / "targets.cpp").read_text(encoding="utf-8")
    return re.findall(r'^    \{"(\w+)"', table, re.M)


def start(program, name, limit, seed, keep):
    corpus = HERE / "corpus" / name
    kept = keep / name
    kept.mkdir(parents=True, exist_ok=True)
    more = keep / "seeds" / name
    folders = [str(kept), str(corpus)] + ([str(more)] if seeds.write(name, more) else [])
    log = keep / f"{name}.log"
    environment = dict(os.environ, QUERN_FUZZ=name, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1")
    command = [program, limit, "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-use_value_profile=1",
               f"-seed={seed}", f"-artifact_prefix={kept}/", "-print_final_stats=1", *folders]
    if seed and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # addresses steer it too
    with open(log, "w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    return process, name, kept, log, corpus, time.monotonic()


def finish(run):
    process, name, kept, log, corpus, began = run
    text = log.read_text(encoding="utf-8", errors="replace")
    found = LAST.findall(text)
    runs, edges, inputs = found[-1] if found else ("0", "?", "0")
    print(f"{name:20} {int(runs):>12,} runs {inputs:>6} inputs {edges:>7} edges {time.monotonic() - began:6.0f} s"
          + ("" if process.returncode == 0 else "   FELL OVER"), flush=True)
    if process.returncode == 0:
        return True
    for crash in sorted(kept.glob("crash-*")) + sorted(kept.glob("timeout-*")) + sorted(kept.glob("oom-*")) + sorted(kept.glob("leak-*")):
        corpus.mkdir(exist_ok=True)
        shutil.move(crash, corpus / crash.name)
        print(f"    {corpus / crash.name}")
    print("    " + "\n    ".join(text.splitlines()[-40:]))
    print(f"    the whole of it: {log}", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=60, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)  # libFuzzer: 0 draws one
    parser.add_argument("--keep", type=Path, default=HERE.parent.parent / "build" / "fuzz" / "corpus", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--coverage", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.list:
        print("\n".join(names()))
        return 0
    unknown = sorted(set(args.names) - set(names()))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; ./dev fuzz --list names them")
    if args.seconds < 1 or args.jobs < 1:
        parser.error("--seconds and --jobs want a number from 1")
    limit = "-runs=0" if args.coverage else f"-max_total_time={args.seconds}"
    waiting, running, good = list(args.names or names()), [], True
    try:
        while waiting or running:
            while waiting and len(running) < args.jobs:
                running.append(start(args.program, waiting.pop(0), limit, args.seed, args.keep.resolve()))
            time.sleep(0.2)
            for run in [run for run in running if run[0].poll() is not None]:
                running.remove(run)
                good = finish(run) and good
    finally:
        for run in running:
            run[0].kill()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
