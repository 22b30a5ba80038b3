#!/usr/bin/env python3
"""The examples of deployment in docs/examples: their command lines run, their probes are answered, their graces suffice."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from program import LIMIT, QUERN, ProgramTest, until, wait_for

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
DRAIN = 30  # seconds, of --drain-deadline


def systemd():
    text = (EXAMPLES / "quern-relay@.service").read_text()
    guide = (EXAMPLES.parent / "guide" / "relay.md").read_text()
    command = re.search(r"^ExecStart=(.*)$", text, re.M)[1].replace("%i", "relay")
    command = command.replace("$OPTIONS", re.search(r'OPTIONS="(.*?)"', guide)[1])
    return shlex.split(command), int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M)[1])


def kubernetes():
    text = (EXAMPLES / "relay-kubernetes.yaml").read_text()
    arguments = re.findall(r"^ +- (\S+)$", text[text.index("args:"):text.index("env:")], re.M)
    return ["/usr/bin/quern", *arguments], int(re.search(r"terminationGracePeriodSeconds: (\d+)", text)[1])


def compose():
    text = (EXAMPLES / "relay-compose.yaml").read_text()
    return ["/usr/bin/quern", *json.loads(re.search(r"command: (\[.*\])", text)[1])], int(re.search(r"stop_grace_period: (\d+)s", text)[1])


def succeeds(url):
    try:
        with urllib.request.urlopen(url, timeout=LIMIT):
            return True
    except urllib.error.HTTPError as refused:
        refused.close()
        return False


class Deployed(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")
        self.create("orders-bad")

    def arguments(self, command):
        """Those of the example, with the settings that the guide shows, and any port that is free."""
        self.assertEqual(command[:2], ["/usr/bin/quern", "relay"])
        text = " ".join(shlex.quote(word) for word in command[1:])
        text = text.replace("/etc/quern/relay.toml", str(EXAMPLES / "relay.toml"))
        return shlex.split(re.sub(r"(--admin-port[= ])\d+", r"\g<1>0", text))

    def test_the_settings_and_options_of_each_are_in_order(self):
        for example in (systemd, kubernetes, compose):
            with self.subTest(example.__name__):
                out, _ = self.quern(*self.arguments(example()[0]), "--check")
                self.assertIn("in order", out)

    def test_each_waits_longer_than_a_drain_may_take(self):
        for example in (systemd, kubernetes, compose):
            with self.subTest(example.__name__):
                self.assertGreaterEqual(example()[1], DRAIN + 10)

    def test_the_probes_are_answered(self):
        text = (EXAMPLES / "relay-kubernetes.yaml").read_text()
        probes = re.findall(r"(\w+)Probe: {httpGet: {path: (\S+), port: (\d+)}", text)
        self.assertEqual([name for name, _, _ in probes], ["startup", "liveness", "readiness"])
        command, _ = kubernetes()
        self.assertEqual({f"--admin-port={port}" for _, _, port in probes} - set(command), set())
        relay = self.start(*self.arguments(command), "--wait-time", "1", stdout=subprocess.DEVNULL)
        port = wait_for(relay.stderr, "watch it at ").rstrip("/\n").rsplit(":", 1)[1]
        wait_for(relay.stderr, "consuming")
        for name, path, _ in probes:
            until(lambda: succeeds(f"http://127.0.0.1:{port}{path}"))  # some are well once the first receive has been answered
        relay.send_signal(signal.SIGTERM)
        self.assertEqual(relay.wait(LIMIT), 0)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_takes_the_units(self):
        for name, suffixes in (("quern-relay@", [".service"]), ("quern-redrive@", [".service", ".timer"])):
            units = [Path(self.folder) / (name + "orders" + suffix) for suffix in suffixes]
            for unit, suffix in zip(units, suffixes):
                unit.write_text((EXAMPLES / (name + suffix)).read_text().replace("/usr/bin/quern", os.path.abspath(QUERN)))
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual([line for line in said.stderr.splitlines() if name in line], [])

    def redrive_by_timer(self):
        text = (EXAMPLES / "quern-redrive@.service").read_text()
        return shlex.split(re.search(r"^ExecStart=(.*)$", text, re.M)[1].replace("%i", "orders-dead").replace("%%", "%").replace("$OPTIONS", ""))

    def redrive_by_cron_job(self):
        text = (EXAMPLES / "redrive-cronjob.yaml").read_text()
        return ["/usr/bin/quern", *re.findall(r"^ +- (\S+)$", text[text.index("args:"):text.index("env:")], re.M)]

    def test_a_redrive_on_a_timer_runs_again_and_again(self):
        self.create("orders-dead")
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:orders-dead", "maxReceiveCount": 1}
        self.create("failing", "--attribute", "RedrivePolicy=" + json.dumps(policy))
        for number, example in enumerate((self.redrive_by_timer, self.redrive_by_cron_job)):
            command = " ".join(shlex.quote(word) for word in example()[1:])
            command = re.sub(r"/var/lib/quern[-\w]*", f"{self.folder}/{number}", command).replace("5:2m", "5:1s")
            for run in range(2):
                with self.subTest(example=example.__name__, run=run):
                    self.send("failing", "m")
                    while self.counts("failing")[0]:
                        self.quern("dead-letters", "failing")
                    self.quern(*shlex.split(command), "--delay-base", "0")
                    self.assertEqual(self.counts("orders-dead"), (0, 0, 0))
                    self.quern("consume", "failing", "--until-empty", "--wait-time", "1")
            self.assertEqual(sorted(path.name for path in Path(f"{self.folder}/{number}").glob("*.jsonl")),
                             ["orders-dead-2.jsonl", "orders-dead.jsonl"])


if __name__ == "__main__":
    unittest.main()
