#!/usr/bin/env python3
"""Ctrl-C at random moments of each command that reads a queue: nothing stays hidden for longer than a lease, and nothing is lost.

A dozen moments by default; QUERN_INTERRUPTS=100 tries a hundred, and QUERN_SEED=… the same ones again."""

import http.server
import os
import random
import signal
import time
import unittest

from program import LIMIT, ProgramTest, Server, until

LEASE = 30  # seconds, of every command here
MESSAGES = 600
TIMES = int(os.environ.get("QUERN_INTERRUPTS", "12"))
SEED = int(os.environ.get("QUERN_SEED", random.randrange(10**6)))


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Interrupted(ProgramTest):
    broker_options = ("--no-auth",)

    def setUp(self):
        super().setUp()
        for name in ("dead", "orders", "poison"):
            self.create(name)
        self.hook = self.enterContext(Server(Answer))
        self.runs = 0

    def commands(self):
        """Command lines, by what they do."""
        self.runs += 1
        back = ("redrive", "dead", "--to", "orders", "--delay-base", "0", "--yes")
        file = f"{self.folder}/copy-{self.runs}"
        journal = ("--journal", f"{self.folder}/journal", "--name", f"run-{self.runs}")
        return {
            "look": ("dead-letters", "dead", "--count", "10000"),
            "edit": ("dead-letters", "edit", "missing", "--queue", "dead", "--to", "orders", "--attribute", "by=hand"),
            "copy": ("redrive", "export", "dead", file),
            "pass over": (*back, "--where", 'attr.none = "x"'),
            "try": (*back, "--dry-run"),
            "keep": (*back, "--keep"),
            "send": (*back, "--rate", "100/s"),
            "write down": (*back, *journal, "--rate", "100/s"),
            "wait": ("redrive", "dead", "--to", "orders", "--delay-base", "1h", "--delay-max", "2h", *journal),
            "set apart": ("redrive", "isolate", "dead", "--to", "poison", "--where-body", '/n = 1'),
            "consume": ("consume", "dead", "--exec", "sleep 0.02", "--max-in-flight", "20"),
            "relay": ("relay", "dead", f"http://127.0.0.1:{self.hook.server_port}/", "--concurrency", "5"),
        }

    def visible(self):
        return sum(self.counts(queue)[0] for queue in ("dead", "orders", "poison"))

    def interrupt(self, command, after, again):
        """Ends it by one signal, or by two."""
        running = self.start(*command)
        time.sleep(after)  # any moment will do: this is what is tried
        running.send_signal(signal.SIGINT)
        if again is not None:
            time.sleep(again)
            running.send_signal(signal.SIGINT)
        running.communicate(timeout=LIMIT)

    def test_nothing_stays_hidden_for_longer_than_a_lease(self):
        chance = random.Random(SEED)
        names = list(self.commands())
        for number in range(TIMES):
            name = names[number % len(names)]
            after, again = chance.uniform(0, 1.2), chance.uniform(0, 0.3) if number % 8 == 7 else None
            with self.subTest(command=name, number=number, seed=SEED, after=after, again=again):
                missing = MESSAGES - self.counts("dead")[0]
                self.send("dead", *('{"n":1}' for _ in range(missing)))
                before = self.visible()
                self.interrupt(self.commands()[name], after, again)
                ended = time.monotonic()
                until(lambda: self.counts("dead")[1], lambda hidden: hidden == 0)
                self.assertLess(time.monotonic() - ended, LEASE + 2)
                if name not in ("consume", "relay"):  # these delete
                    self.assertGreaterEqual(self.visible(), before)


if __name__ == "__main__":
    unittest.main()
