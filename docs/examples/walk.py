#!/usr/bin/env python3
"""Runs the marked commands of a page in one shell, as its reader would, and waits for what the page says they bring.

usage: walk.py QUERN PAGE

A line `<!-- walk -->` before an indented block has it run, and `<!-- walk: COMMAND -->` runs COMMAND, which the reader does by
other means, in another shell say. `<!-- walk expects: TEXT -->` waits until the output so far has TEXT in it, a regular
expression. Ports are free ones instead of those of the page.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 60  # seconds for each step
MARK = re.compile(r"<!-- walk( expects)?(?:: (.*?))? -->\n*((?:    .*\n|\n(?=    ))*)")
PORT = re.compile(r"(?<=127\.0\.0\.1:)\d{4}\b|(?<=--port )\d{4}\b|(?<=--admin-port )\d{4}\b|(?<=hook\.py )\d{4}\b")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class Walk:
    """One shell, in a folder of its own."""

    def __init__(self, quern, page, folder):
        self.ports, self.said, self.steps = {}, Path(folder) / "said", 0
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
        path = os.pathsep.join((str(Path(quern).resolve().parent), kept["PATH"]))
        self.output = self.said.open("w")
        examples = Path(page).resolve().parent.parent / "examples"
        self.shell = subprocess.Popen(["bash"], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=self.output,
            stderr=self.output, start_new_session=True, env={**kept, "PATH": path, "HOME": folder, "EXAMPLES": str(examples),
                "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"})

    def run(self, commands):
        """Each line has to succeed."""
        self.steps += 1
        commands = PORT.sub(lambda found: self.ports.setdefault(found[0], free_port()), commands)
        print(commands, flush=True)
        over = f"step {self.steps} is over"
        self.shell.stdin.write(f"set -e\n{commands}\nset +e\necho '{over}'\n")
        self.shell.stdin.flush()
        self.expect(over)

    def expect(self, text):
        until = time.monotonic() + LIMIT
        while not re.search(text, self.said.read_text()):
            if self.shell.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"no {text!r} in:\n{self.said.read_text()}")
            time.sleep(0.05)

    def end(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.shell.pid, how)
            self.shell.wait(LIMIT)


def main(quern, page):
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(quern, page, folder)
        try:
            for expects, said, block in MARK.findall(Path(page).read_text()):
                if expects:
                    walk.expect(said)
                else:
                    walk.run(said or re.sub("^    ", "", block, flags=re.MULTILINE))
        finally:
            walk.end()
        if walk.steps == 0:
            raise SystemExit(f"{page}: nothing is marked to be run")
        print(walk.said.read_text())


if __name__ == "__main__":
    main(*sys.argv[1:])
