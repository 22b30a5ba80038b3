#!/usr/bin/env python3
"""Measures consumers of SQS against each other, on this machine, in one run.

Everything is measured on a server of ours that is much faster than they are, on a core of its own. Rounds take turns; a
figure is the median of its rounds. Writes a table to standard output, and everything to the files that are named.
"""
import argparse
import json
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

from harness import compare, contenders, machine, report, scenarios, tables
from harness.measure import Bench, Failed
from harness.numbers import figure
from harness.progress import Progress
from harness.results import DISTURBED, median, summary
from harness.yardstick import proxies_off

ROOT = Path(__file__).resolve().parent.parent


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n  ./dev bench --quick --html quick.html\n  ./dev bench --scenario saturated --contender quern "
               "--contender wrk --rounds 5\n  ./dev bench --page docs/benchmarks.md\n  ./dev bench --from full.json --html "
               "full.html\n  ./dev bench --compare before.json after.json")
    parser.add_argument("--quick", action="store_true", help="the most telling scenarios, in less than five minutes")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", choices=scenarios.SCENARIOS,
                        help="only this one; may be repeated. See --list")
    parser.add_argument("--contender", action="append", default=[], metavar="NAME",
                        help="only this one, in every scenario; may be repeated. See --list")
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="of each scenario, rather than its own number")
    parser.add_argument("--json", metavar="FILE", help="write what was measured")
    parser.add_argument("--html", metavar="FILE", help="write the report, one file with everything in it")
    parser.add_argument("--page", metavar="FILE", help="put the results into a Markdown page, between its markers")
    parser.add_argument("--from", dest="source", metavar="FILE", help="measure nothing: take what --json wrote before")
    parser.add_argument("--compare", nargs=2, metavar=("A.json", "B.json"),
                        help="measure nothing: say what the second result has of the first")
    parser.add_argument("--no-install", action="store_true", help="leave out those contenders that are not installed yet")
    parser.add_argument("--list", action="store_true", help="say which scenarios and contenders there are")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=Path, help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def listing(everyone):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for `--list | head`
    for scenario in scenarios.SCENARIOS.values():
        print(f"{scenario.name:16}{'quick  ' if scenario.quick_rounds else '       '}{scenario.title}")
    print()
    for one in everyone:
        print(f"{one.name:18}{one.version:12}{one.absent or 'ready'}")


def capacity_of(scenario, contender, runs):
    """The contender's messages a second, where the scenario depends on it; raises Failed where they are not known."""
    if not scenario.needs_capacity:
        return 0
    capacity = median(summary(runs).get(scenarios.capacity_from(scenario), {}).get(contender.name), "rate")
    if not capacity:
        raise Failed("its capacity is not known")
    return capacity


def told(run):
    """A run in a few words."""
    if run.get("error"):
        return f"failed: {run['error']}"
    if "above_idle" in run:
        return f"{run['reached']:,} held, {run['above_idle'] / 2**20:.1f} MiB above idle"
    if "start_ms" in run:
        return f"{run['start_ms']:.0f} ms to the first message, {run['start_cpu_ms']:.0f} ms CPU until then"
    if "cpu_per_hour" in run:
        return f"{figure(run['cpu_per_hour'])} CPU s and {figure(run['requests_per_hour'])} requests an hour"
    return (f"{figure(run['rate'])} messages/s, {figure(run['cpu_us'])} us CPU, {figure(run['requests'])} requests each, "
            f"server {run['server_busy']:.0%} busy")


def disturbance(run):
    """How much of a core something else took; a run that failed is the worst."""
    return float("inf") if run.get("error") else run.get("others_busy", 0.0)


def carry_out(bench, steps, progress):
    """All runs. The idle ones at the same time: they take long and need no CPU."""
    runs = []

    def one(scenario, number, contender):
        run = {"scenario": scenario.name, "round": number, "contender": contender.name}
        try:
            return run | bench.run(scenario, contender, capacity_of(scenario, contender, runs))
        except (Failed, OSError, ValueError, RuntimeError) as why:
            return run | {"error": str(why)}

    def note(run):
        runs.append(run)
        progress.finish(f"{run['scenario']} {run['contender']}", told(run))

    for step in (step for step in steps if step[0].kind != "idle"):
        progress.step(f"{step[0].name} {step[2].name}")
        run = one(*step)
        if not run.get("error") and disturbance(run) > DISTURBED:
            progress.step(f"{step[0].name} {step[2].name}, again: something else ran")
            run = min(run, one(*step), key=disturbance)
        note(run)
    idle = [step for step in steps if step[0].kind == "idle"]
    if idle:
        progress.step("idle")
        with ThreadPoolExecutor(len(idle)) as pool:
            for run in pool.map(lambda step: one(*step), idle):
                note(run)
    return runs


def seconds_of(steps, pace):
    """What each step should take; the idle ones go together, and the first pays for all."""
    out = [pace.of(scenario, contender) for scenario, _, contender in steps if scenario.kind != "idle"]
    idle = [pace.of(scenario, contender) for scenario, _, contender in steps if scenario.kind == "idle"]
    return out + [max(idle)] + [0] * (len(idle) - 1) if idle else out


def pins():
    server, one, _ = machine.pins(1)
    _, two, remark = machine.pins(2)
    return {"server": server, "one": one, "two": two, "remark": remark}


def command(options):
    """What to type for such a run again; where its results went is nobody's business."""
    words = ["./dev", "bench"] + ["--quick"] * options.quick
    for name, values in (("--scenario", options.scenario), ("--contender", options.contender)):
        for value in values:
            words += [name, value]
    return shlex.join(words + (["--rounds", str(options.rounds)] if options.rounds else []))


def measure(options, everyone):
    there = [one for one in everyone if not one.absent]
    bench = Bench(options.bin / "yardstick-server", scenarios.QUICK if options.quick else scenarios.FULL)
    chosen = options.scenario or [name for name, one in scenarios.SCENARIOS.items() if one.quick_rounds or not options.quick]
    quick = options.quick and not options.scenario
    steps = scenarios.plan(there, chosen, quick, options.contender, options.rounds)
    began, at = time.monotonic(), datetime.now(timezone.utc)
    runs = carry_out(bench, steps, Progress(seconds_of(steps, bench.pace)))
    versions = {run["contender"]: run["version"] for run in runs if run.get("version")}
    return {"format": 1, "date": at.strftime("%Y-%m-%d %H:%M UTC"), "minutes": (time.monotonic() - began) / 60,
            "command": command(options), "quick": options.quick, "machine": machine.description(),
            "pins": pins(), "absent": [{"name": one.name, "why": one.absent} for one in everyone if one.absent],
            "contenders": [{"name": one.name, "version": one.version, "told": versions.get(one.name, ""),
                            "command": Path(one.command[0]).name} for one in there], "runs": runs}


def write(options, result):
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    if options.html:
        Path(options.html).write_text(report.as_html(result))
    if options.page:
        report.write_page(result, options.page)
    print(report.as_text(result))
    return 1 if any(run.get("error") for run in result["runs"]) else 0


def read_result(parser, name):
    try:
        result = json.loads(Path(name).read_text())
        if result["format"] == 1:
            return result
    except (OSError, ValueError, KeyError, TypeError) as why:
        parser.error(f"{name} is no result that --json wrote: {why}")
    parser.error(f"{name} has the format {result['format']}, and this reads 1")


def show_comparison(first, second):
    print(f"before: {report.heading(first)}\nafter:  {report.heading(second)}\n")
    if careful := compare.caution(first, second):
        print(careful + "\n")
    print(tables.text(compare.table(first, second)))
    return 0


def main():
    parser, options = parse()
    if options.compare:
        return show_comparison(*(read_result(parser, name) for name in options.compare))
    if options.source:
        return write(options, read_result(parser, options.source))
    proxies_off()
    machine.allow_sockets()
    if not options.no_install and not options.list:
        contenders.install_others([name for name in options.contender])
    everyone = contenders.everyone(options.bin / "contender-quern")
    if options.list:
        return listing(everyone)
    if options.contender:
        names = [one.name for one in everyone]
        if unknown := [name for name in options.contender if name not in names]:
            parser.error(f"--contender {unknown[0]}: there are {', '.join(names)}")
        everyone = [one for one in everyone if one.name in options.contender]
    if not (options.bin / "yardstick-server").exists():
        parser.error(f"{options.bin}/yardstick-server is not built; ./dev bench does that")
    return write(options, measure(options, everyone))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing that was started is left behind
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: stopped; nothing was written")
