#!/usr/bin/env python3
"""Tries for HOURS to break Quern, in three ways at once, and says at the end what was lost, stranded or has grown.

  days     simulated days (quern sim) of seeds that nobody has tried
  fuzz     random bytes for the readers of bytes from outside, one target after the other
  service  over sockets of this machine: a broker that keeps its queue, a sender of numbered messages, a web service that
           fails now and then, and three relays. Two of these are killed, stopped, paused for longer than a lease, and
           started anew at random moments; the third runs from beginning to end. In the first of each four intervals the
           broker is killed or stopped, too, and goes on with the queue that it has kept.

At the end of each interval (an hour, or a tenth of the whole; a minute at least) the load stops. The queue must then run empty,
and each number that was sent must have been answered with 200. After that the memory of the broker and of the third relay is
measured. From the second measurement of a process (the first one is warm-up) to its last it may not grow by more than a tenth,
or 4 MiB where that is more.

Ctrl-C ends it early, with the report so far. When something was wrong the exit status is 1, and what the programs wrote is kept.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from soak_service import Failed, Ground, quietly

TREE = pathlib.Path(__file__).resolve().parent.parent
SEEDS = 4 # of a slice of simulated days, less than a minute
FUZZED = 60 # s: a slice of fuzzing
ENOUGH = 10 # failed slices: there will hardly be anything new
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MIB = 1 << 20


def duration(seconds):
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


def memory(process):
    """Resident bytes, those of them that the process alone has and has written, and open descriptors; None when it is gone."""
    text = quietly(pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text) if process else None
    sizes = {name: int(size) << 10 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text or "", re.M)}
    if not sizes:
        return None
    return sizes["Rss"], sizes["Private_Dirty"] + sizes["Swap"], len(os.listdir(f"/proc/{process.pid}/fd"))


class Children:
    """Every process started here. They end with this one, however it ends, and hear no Ctrl-C of their own."""

    def __init__(self, folder):
        self.folder, self.all = folder, set()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
        self.environment = kept | {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        self.before = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []

    def start(self, *command, log, before=(), stdin=subprocess.DEVNULL, stdout=None):
        """Adds what the command says to the log; where it has a `stdout`, only its errors."""
        with (self.folder / log).open("ab") as out:
            one = subprocess.Popen([*self.before, *before, *map(str, command)], env=self.environment, stdin=stdin,
                stdout=stdout or out, stderr=out, start_new_session=True)
        self.all = {other for other in self.all if other.poll() is None} | {one}
        return one

    def end(self):
        for one in self.all:
            if one.poll() is None:
                quietly(os.killpg, one.pid, signal.SIGKILL) # what it has started, too
                one.wait()


class Slices:
    """Runs of one kind at low priority, one after the other. What a failing one says is kept, and the next one begins."""

    def __init__(self, name, children, problem, command):
        self.name, self.children, self.problem, self.command = name, children, problem, command
        self.number, self.process, self.began = 0, None, 0.0
        self.failed, self.seconds, self.days = 0, 0.0, 0

    def turn(self):
        if self.process is not None:
            if self.process.poll() is not None:
                self.finish()
        elif self.failed < ENOUGH:
            self.log, self.began = self.children.folder / f"{self.name}-{self.number}.log", time.monotonic()
            self.process = self.children.start(*self.command(self.number), log=self.log, before=("nice", "-n", "10"))

    def finish(self):
        self.seconds += time.monotonic() - self.began
        text = self.log.read_text(errors="replace")
        self.days += sum(map(int, re.findall(r"^(\d+) passed, \d+ failed", text, re.M)))
        if self.process.returncode:
            self.failed += 1
            said = [line for line in text.splitlines() if not line.startswith("simulated ")]
            command = " ".join(map(str, self.command(self.number))).replace(f"{self.children.folder}/", "")
            self.problem(f"status {self.process.returncode} of `{command}`; see {self.log.name}", "\n".join(said[-60:]))
        else:
            self.log.unlink()
        self.number, self.process = self.number + 1, None

    def end(self):
        """Counts the time of a slice that is not done."""
        self.seconds += time.monotonic() - self.began if self.process else 0


def days(quern, seed):
    return lambda n: [quern, "sim", "--threads", 1, "--seeds", f"{seed + n * SEEDS}..{seed + (n + 1) * SEEDS - 1}"]


def fuzzing(fuzzer, seed):
    run = [sys.executable, "-B", TREE / "tests/fuzz/run.py", "--program", fuzzer]
    names = subprocess.run([*run, "--list"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    random.Random(seed).shuffle(names)
    return lambda n: [*run, "--jobs", 1, "--seconds", FUZZED, "--seed", (seed + n) % (1 << 31) or 1, names[n % len(names)]]


class Soak:
    def __init__(self, given, folder):
        self.began, self.shown, self.problems, self.measured = time.monotonic(), 0.0, [], []
        self.seconds, self.seed = given.hours * 3600, given.seed
        self.intervals = max(1, int(self.seconds / max(60, min(3600, self.seconds / 10))))
        self.children = Children(folder)
        # Copies, so that a build meanwhile does not change what is tried.
        quern = shutil.copy2(given.quern, folder / "quern")
        self.slices = {}
        if given.sim:
            self.slices["days"] = Slices("days", self.children, self.problem, days(quern, given.seed))
        if given.fuzz:
            command = fuzzing(shutil.copy2(given.fuzzer, folder / "fuzzer"), given.seed)
            self.slices["fuzz"] = Slices("fuzz", self.children, self.problem, command)
        self.ground = Ground(lambda *command, **more: self.children.start(quern, *command, **more), self.problem, folder,
            random.Random(given.seed))

    def run(self):
        self.say(f"{duration(self.seconds)}, a check every {duration(self.seconds / self.intervals)}, --seed {self.seed}")
        self.ground.begin()
        for number in range(self.intervals):
            self.ground.calm, self.ground.rough = False, number % 4 == 0
            until = self.began + self.seconds * (number + 1) / self.intervals
            while time.monotonic() < until:
                self.turn()
            took = self.to_end(self.ground.check())
            self.measured.append((self.elapsed(), self.ground.sender.next, self.ground.broker_lives,
                memory(self.ground.relays.get("steady")), memory(self.ground.broker)))
            self.say(f"{self.status()}; empty after {took:.0f} s")
        self.to_end(self.ground.end(), alone=True)

    def to_end(self, steps, alone=False):
        """What a generator returns in the end; all else goes on meanwhile, unless it is `alone`."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            if alone:
                time.sleep(0.02)
            else:
                self.turn()

    def turn(self):
        time.sleep(0.02)
        for one in (*self.slices.values(), self.ground):
            one.turn()
        if sys.stderr.isatty() and time.monotonic() > self.shown + 1:
            self.shown = time.monotonic()
            sys.stderr.write("\r\033[K" + self.status()[:shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()

    def elapsed(self):
        return time.monotonic() - self.began

    def say(self, text):
        print(("\r\033[K" if sys.stderr.isatty() else "") + f"soak: {text}", file=sys.stderr, flush=True)

    def problem(self, text, more=""):
        self.problems.append(f"after {duration(self.elapsed())}: {text}")
        self.say(f"WRONG: {text}\n{more}".rstrip())

    def status(self):
        """One line; what matters most comes first, as a terminal may be narrow."""
        told = [f"{len(self.problems)} WRONG"] if self.problems else []
        told.append(f"{self.ground.sender.next:,} messages")
        for name, process in (("relay", self.ground.relays.get("steady")), ("broker", self.ground.broker)):
            if there := memory(process):
                told.append(f"{name} {there[0] / MIB:.1f} MiB")
        for name, one in self.slices.items():
            told.append(f"{one.days:,} days" if name == "days" else f"{one.seconds:.0f} s fuzzed")
        told += [f"{self.ground.counts[one]} {one}" for one in ("kills", "stops", "pauses", "restarts")]
        return f"{duration(self.elapsed())}: {', '.join(told)}"

    def report(self):
        if self.measured:
            print("| time | messages | relay, MiB | private | descriptors | broker, MiB | private | descriptors | its life |\n"
                "|---|---|---|---|---|---|---|---|---|")
        for at, sent, life, *processes in self.measured:
            cells = [f"{rss / MIB:.1f} | {private / MIB:.1f} | {files}" for rss, private, files in processes]
            print(f"| {duration(at)} | {sent:,} | {' | '.join(cells)} | {life} |")
        print()
        self.compare("the relay", [row[3][1] for row in self.measured])
        for life in sorted({row[2] for row in self.measured}):
            self.compare(f"the broker in life {life}", [row[4][1] for row in self.measured if row[2] == life])
        web, sender, counts = self.ground.web, self.ground.sender, self.ground.counts
        print(f"{sender.next - len(sender.again):,} messages sent, {len(web.came) - web.came.count(0):,} delivered, "
            f"{sum(times > 1 for times in web.came):,} of them twice or more, by {web.requests:,} requests")
        print(f"relays: {counts['kills']} kills, {counts['stops']} stops, which gave {counts['given back']} messages back, "
            f"{counts['pauses']} pauses; the broker: {counts['restarts']} restarts")
        for name, one in self.slices.items():
            done = f"{one.days:,} simulated days passed" if name == "days" else f"{one.seconds:.0f} s of fuzzing"
            print(f"{done}; of {one.number} slices {one.failed} failed")
        for one in self.problems:
            print(f"WRONG {one}")

    def compare(self, name, values):
        if len(values) < 3:
            print(f"{name}: too few measurements to compare, {len(values)}")
            return
        more, limit = values[-1] - values[1], max(values[1] / 10, 4 * MIB)
        print(f"{name}: {more / MIB:+.2f} MiB of private memory from its second measurement to its last; "
            f"a leak is more than {limit / MIB:.1f}")
        if more > limit:
            self.problem(f"{name} leaks: {', '.join(f'{value / MIB:.1f}' for value in values)} MiB without load")


def main():
    parser = argparse.ArgumentParser(prog="./dev soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hours", metavar="HOURS", type=float, help="how long; 0.05 is three minutes")
    parser.add_argument("--seed", type=int, metavar="N", help="of the days, the fuzzing and the kills; default: another one each "
        "time, which is told. The same one has the same days again, but kills at other moments of a message's life")
    parser.add_argument("--no-sim", dest="sim", action="store_false", help="no simulated days")
    parser.add_argument("--no-fuzz", dest="fuzz", action="store_false", help="no fuzzing, which needs clang")
    parser.add_argument("--quern", metavar="PROGRAM", default=TREE / "build/release/bin/quern", help=argparse.SUPPRESS)
    parser.add_argument("--fuzzer", metavar="PROGRAM", default=TREE / "build/fuzz/bin/quern_fuzz", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not 0 < given.hours < 10_000:
        parser.error("HOURS is a number above 0: 0.05 is three minutes")
    for program in (given.quern, *([given.fuzzer] if given.fuzz else [])):
        if not pathlib.Path(program).exists():
            parser.error(f"there is no {program}; ./dev soak builds it")
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1, 1 << 31)
    for one in ENDING:
        signal.signal(one, signal.default_int_handler)

    folder, soak = pathlib.Path(tempfile.mkdtemp(prefix="quern-soak-")), None
    try:
        soak = Soak(given, folder)
        soak.run()
    except KeyboardInterrupt:
        if soak:
            soak.say("ended early: what was sent last had no time to arrive")
    except Failed as why:
        soak.problem(str(why))
    finally:
        for one in ENDING:
            signal.signal(one, signal.SIG_IGN) # the report is not interrupted
        if soak:
            soak.children.end()
            for one in soak.slices.values():
                one.end()
            soak.report()
        if soak and not soak.problems and sys.exc_info()[0] is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"soak: what the programs wrote is in {folder}", file=sys.stderr)
    return 1 if soak is None or soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
