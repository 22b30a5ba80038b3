#!/usr/bin/env python3
"""Plants flaws in the layers below the consumer, one after the other, and says after how many days each is found.

    python3 -B tests/whole_stack/flaws.py [NAME...]

A flaw is a few words of the code that are others. It is planted in a copy of what is committed, which is built in a folder of
its own (some minutes the first time; ccache helps). The exit status is 1 if one is not found within a thousand days.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
POOL, CALL = "lib/quern/net/detail/host_pool.cpp", "lib/quern/aws/detail/call_steps.hpp"
FLAWS = {  # name: [(file, the words, the others)]
    "an old deadline is kept": [
        (POOL, "link.deadline = deadline;\n    watchdog_", "if (link.deadline == tick::max()) link.deadline = deadline;\n    watchdog_"),
        (POOL, "            link->deadline = tick::max();\n", ""),
        (POOL, "        link.deadline = tick::max();\n", "")],
    "a connection that the server has closed is used, and the request not sent again": [
        (POOL, " && (time - link.idle_since < rules_.rested || link.is_quiet())", ""),
        (POOL, "if (why.fault != web_hook_fault::stale || ", "if (true || why.fault != web_hook_fault::stale || ")],
    "keys are renewed at each request": [
        ("lib/quern/aws/credentials/detail/refresh.cpp", "renew_at_ = *expires_at - duration_cast<wall_time::duration>(early);",
         "renew_at_ = m.wall - duration_cast<wall_time::duration>(early);")],
    "a refusal for the clock is answered with the same time, at once": [
        (CALL, "if (!had_second_chance && skew_.learn(", "if (skew_.learn("),
        ("lib/quern/aws/clock_skew.cpp", "    offset_ = std::chrono::round<std::chrono::seconds>(*theirs - now);\n", "")],
    "the clock is corrected the wrong way": [
        ("lib/quern/aws/clock_skew.cpp", "offset_ = std::chrono::round<std::chrono::seconds>(*theirs - now);",
         "offset_ = std::chrono::round<std::chrono::seconds>(now - *theirs);")],
    "a half-open control connection is waited for without end": [
        (POOL, "std::clamp<std::chrono::milliseconds>(ask.timeout, {}, longest_wait);",
         "ask.via == net::lane::data ? std::chrono::milliseconds(ask.timeout) : longest_wait;")],
    "a place in a lane is not given back after a wait": [
        (POOL, "if (in_line.is_called())\n        --lane.granted;\n    else if (ec)", "if (in_line.is_called())\n        ;\n    else if (ec)")],
    "the watchdog stays asleep after a rest": [
        ("lib/quern/net/detail/host_pool.hpp", "        until_ = tick::max(); // the cancelled wait does not reset it: the next "
         "deadline must arm the timer\n", "")],
    "the watchdog watches over one deadline": [
        (POOL, "    if (next != tick::max()) watchdog_.watch(*this, next);\n", "")],
    "retries make no pause": [
        (CALL, "auto const advice = rule.failed(why, hint_in(answer), jitter_());",
         "auto advice = rule.failed(why, hint_in(answer), jitter_());\n            advice.wait = {};\n"
         "            if (why.retryable) advice.is = retry_advice::verdict::again;")],
    "a receive has no time beyond its wait": [
        ("lib/quern/sqs/client.cpp", "travels(own.options.request_timeout, own.receive_slack);",
         "travels(own.options.request_timeout, std::chrono::milliseconds(-500));")],
}


def planted(tree, changes):
    """Writes the flaw; returns what puts things right."""
    before = {}
    for name, words, others in changes:
        file = tree / name
        text = file.read_text()
        before.setdefault(file, text)
        if words not in text:
            sys.exit(f"flaws: {name} has no {words!r} any more")
        file.write_text(text.replace(words, others))
    return before


def build(tree):
    said = subprocess.run(["cmake", "--build", tree / "build/release", "--target", "whole_stack"], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(said.stdout[-3000:] + said.stderr)


def days_until_found(tree, most):
    for first in range(1, most, 50):
        said = subprocess.run([tree / "build/release/tests/bin/whole_stack", "--seeds", f"{first}..{first + 49}"],
                              capture_output=True, text=True)
        if found := re.search(r"^FAILED seed (\d+): (.*)", said.stdout, re.M):
            return int(found[1]), found[2]
    return None, ""


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("names", metavar="NAME", nargs="*", help="only these; a part of the name will do")
    names = ask.parse_args().names
    missed = 0
    with tempfile.TemporaryDirectory(prefix="quern-flaws-") as folder:
        tree = pathlib.Path(folder) / "tree"
        subprocess.run(["git", "clone", "--quiet", TREE, tree], check=True)
        subprocess.run(["cmake", "--preset", "release"], cwd=tree, check=True, capture_output=True)
        build(tree)
        if days_until_found(tree, 100)[0]:
            sys.exit("flaws: days fail without any flaw")
        for name, changes in FLAWS.items():
            if names and not any(one in name for one in names):
                continue
            before = planted(tree, changes)
            build(tree)
            day, what = days_until_found(tree, 1000)
            missed += day is None
            print(f"{name}: " + (f"day {day}, {what}" if day else "NOT FOUND"), flush=True)
            for file, text in before.items():
                file.write_text(text)
    return int(missed != 0)


if __name__ == "__main__":
    sys.exit(main())
