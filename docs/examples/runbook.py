#!/usr/bin/env python3
"""Runs the commands of a page in its order, as its reader would, and compares what they print with what the page shows.

usage: runbook.py QUERN PAGE           with durations that nobody has to wait for
       runbook.py QUERN PAGE --write   as it stands, and writes into the page what they print

A command is a line `$ …` of a fenced block of the kind `console`; what follows up to the next one it prints, to standard output
or error. Ids, times, and numbers that depend on the moment may differ; so may the order of the lines. A line
`<!-- runbook: … -->` is something that happens between two blocks: see EVENTS.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LIMIT = 900  # seconds
BLOCK = re.compile(r"^```console\n(.*?)^```$|^<!-- runbook: ([^\n]+?) -->$", re.DOTALL | re.MULTILINE)
ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")

# What is not the same in two runs.
LOOSE = (
    (ID, "ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"(sent TIME) to TIME"), r"\1"),
    (re.compile(r'"order":\d+'), '"order":N'),
    (re.compile(r"\d+ requests? in all, and [\d.]+ s"), "N requests in all, and N s"),
    (re.compile(r"\bin \d+ (s|min)\b"), "in N s"),
    (re.compile(r"\d+ of \d+ messages have come back \(\d+ %\)"), "N of N messages have come back (N %)"),
    (re.compile(r"came back \d+"), "came back N"),
    (re.compile(r"attempt=\d"), "attempt=N"),  # the first, or the second of one that went ahead
    (re.compile(r"last event \d+"), "last event N"),
    (re.compile(r"^ *\d+ (?=TIME )", re.MULTILINE), ""),
    (re.compile(r" +"), " "),
)
PROGRESS = re.compile(r"^(?:settled|exported) \d.*/s.*$\n?", re.MULTILINE)  # where no terminal is

# Nobody waits for five minutes in a test. The second is that of the program's own looks, and of what a message takes to die.
SHORTER = ((r"(--canary \d+):\S+", r"\1:8s"), (r"(--ramp \S+):\S+", r"\1:2s"))

CHARGE = """\
# Charges an order: fails for good without an item, and in euros until it is fixed.
read -r order
case $order in
*'"item":null'*) echo "$QUERN_MESSAGE_ID: charge: no item" >&2; exit 1 ;;
*'"currency":"EUR"'*) [ -e fixed ] || { echo "$QUERN_MESSAGE_ID: charge: no rate for EUR" >&2; exit 1; } ;;
esac
"""


class World:
    """The broker, the queues and the service of the page, in a folder of their own."""

    def __init__(self, quern, folder):
        self.quern, self.folder, self.running, self.ids = Path(quern).resolve(), Path(folder), [], {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
        self.variables = {**kept, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                          "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
                          "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
                          "PATH": f"{self.quern.parent}:{os.environ['PATH']}"}
        broker = self.start("broker", "--port", "0", stdout=subprocess.PIPE)
        self.variables["AWS_ENDPOINT_URL_SQS"] = broker.stdout.readline().split()[-1]

    def start(self, *arguments, **more):
        process = subprocess.Popen([self.quern, *arguments], env=self.variables, cwd=self.folder, text=True,
                                   **{"stderr": subprocess.DEVNULL, **more})
        self.running.append(process)
        return process

    def end(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait(60)

    def shell(self, command, **more):
        return subprocess.run(["sh", "-c", command], env=self.variables, cwd=self.folder, text=True, timeout=LIMIT,
                              stdin=None if more else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              **more).stdout

    def count(self, queue):
        told = self.shell(f"quern queue attributes {queue}")
        return sum(int(number) for number in re.findall(r"^ApproximateNumberOfMessages\w*=(\d+)", told, re.MULTILINE))

    def until(self, is_so, what):
        end = time.monotonic() + 60
        while not is_so():
            if time.monotonic() > end:
                raise SystemExit(f"in vain waited until {what}")
            time.sleep(0.1)

    # ---- events ----

    def nobody_has_seen_the_alarm_yet(self):
        """Sixty orders, of which nineteen are dead, and three more that come later."""
        (self.folder / "charge.sh").write_text(CHARGE)
        for name in ("orders-dead", "orders-poison"):
            self.shell(f"quern queue create {name} --attribute MessageRetentionPeriod=1209600")
        policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:orders-dead","maxReceiveCount":3}'
        self.shell(f"quern queue create orders --attribute 'RedrivePolicy={policy}'")
        with open(self.folder / "orders.log", "w", encoding="utf-8") as log:
            self.start("--log-level", "error", "consume", "orders", "--exec", "sh charge.sh", "--wait-time", "1",
                       stdout=subprocess.DEVNULL, stderr=log)
        orders = {True: "", False: ""}
        for n in range(1, 61):
            whole, currency = n % 20 != 0, "EUR" if n % 3 == 0 else "USD"
            item = '"rolls"' if whole else "null"
            orders[whole] += f'{{"order":{n},"item":{item},"currency":"{currency}"}}\n'
        for whole in (True, False):
            self.shell("quern send orders", input=orders[whole])
            self.until(lambda: self.count("orders") == 0, "the orders are charged, or dead")
        threading.Thread(target=self.go_on_ordering, daemon=True).start()

    def go_on_ordering(self):
        """Orders that can be charged: without any, five that fail are an outage to the service's breaker, which waits."""
        till = self.start("send", "orders", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            while till.poll() is None:
                till.stdin.write('{"order":0,"item":"rolls","currency":"USD"}\n')
                till.stdin.flush()
                time.sleep(0.05)
        except OSError:
            pass  # it was ended

    def the_service_is_fixed(self):
        (self.folder / "fixed").touch()

    def what_was_sent_has_died_again(self):
        self.until(lambda: self.count("orders") == 0, "nothing is on its way")


EVENTS = {
    "nobody has seen the alarm yet": World.nobody_has_seen_the_alarm_yet,
    "the service is fixed": World.the_service_is_fixed,
    "what was sent has died again": World.what_was_sent_has_died_again,
}


def loosened(line):
    for pattern, common in LOOSE:
        line = pattern.sub(common, line)
    return line.strip()


def commands_of(block):
    """[(command, what it prints)]; a line that ends with a backslash goes on."""
    found = []
    for line in block.splitlines():
        if found and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line, []])
        else:
            found[-1][1].append(line)
    return [(command, "".join(line + "\n" for line in lines)) for command, lines in found]


def learn(world, shown, printed):
    """Which id of the page is which one now: of lines that are otherwise the same."""
    now = {loosened(line): line for line in printed.splitlines()}
    for line in shown.splitlines():
        for old, new in zip(ID.findall(line), ID.findall(now.get(loosened(line), ""))):
            world.ids[old] = new


def run(world, command, write):
    text = command[2:]
    if not write:
        for pattern, shorter in SHORTER:
            text = re.sub(pattern, shorter, text)
    for old, new in world.ids.items():
        text = text.replace(old, new)
    return PROGRESS.sub("", world.shell(text))


def told(page, world, write):
    """The page with what its commands print, and where that is not what it shows."""
    wrong = []

    def one(match):
        if match[2]:
            EVENTS[match[2]](world)
            return match[0]
        out = "```console\n"
        for command, shown in commands_of(match[1]):
            printed = run(world, command, write)
            learn(world, shown, printed)
            if sorted(map(loosened, shown.splitlines())) != sorted(map(loosened, printed.splitlines())):
                wrong.append(f"{command}\nis said to print\n{shown}and prints\n{printed}")
            for old, new in world.ids.items():
                command = command.replace(old, new)
            out += command + "\n" + printed
        return out + "```"

    return BLOCK.sub(one, page), wrong


def main(quern, name, *more):
    page = Path(name).read_text(encoding="utf-8")
    write = more == ("--write",)
    with tempfile.TemporaryDirectory() as folder:
        world = World(quern, folder)
        try:
            text, wrong = told(page, world, write)
        finally:
            world.end()
    if write:
        Path(name).write_text(text, encoding="utf-8")
    elif wrong:
        raise SystemExit("\n".join(wrong))
    else:
        print(f"{name}: {len(BLOCK.findall(page))} blocks and events, as it says")


if __name__ == "__main__":
    main(*sys.argv[1:])
