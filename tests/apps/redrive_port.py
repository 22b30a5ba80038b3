#!/usr/bin/env python3
"""`quern redrive --admin-port`: what a run shows of itself."""

import json
import re
import subprocess
import unittest
import urllib.request

from program import LIMIT, ProgramTest, until, wait_for


def get(url):
    with urllib.request.urlopen(url, timeout=LIMIT) as answer:
        return answer.read().decode()


class Port(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("dead")
        self.create("orders")
        self.send("dead", *(json.dumps({"n": n, "good": n % 4 != 0}) for n in range(40)))

    def watch(self, *arguments):
        redriving = self.start("redrive", *arguments, "--admin-port", "0", stdout=subprocess.DEVNULL)
        return redriving, wait_for(redriving.stderr, "watch it at ").split()[-1]

    def numbers_when(self, url, holds):
        """{sample: value}, as soon as that holds of it."""
        def numbers():
            page = get(url + "metrics")
            return {name: float(value) for name, value in re.findall(r"^(quern_\S+) (\S+)$", page, re.M)}
        return until(numbers, holds)

    def test_counts_and_the_page_of_a_run(self):
        redriving, url = self.watch("dead", "--to", "orders", "--where-body", "/good = true", "--delay-base", "0", "--rate", "10/s")
        sent = 'quern_redrive_messages_total{queue="dead",result="redriven"}'
        seen = self.numbers_when(url, lambda found: 3 <= found[sent] < 30)
        self.assertGreaterEqual(seen['quern_messages_received_total{queue="dead"}'], seen[sent])
        self.assertEqual(seen['quern_redrive_failures_total{queue="dead"}'], 0)
        self.assertEqual(seen['quern_redrive_returns_total{queue="dead"}'], 0)
        self.assertTrue(any("SendMessageBatch" in name for name in seen), seen.keys())
        picture = json.loads(get(url + "explain"))
        self.assertEqual((picture["program"], [q["name"] for q in picture["queues"]]), ("quern redrive", ["dead"]))
        self.assertEqual(picture["health"]["live"]["status"], 200)
        self.numbers_when(url, lambda found: found['quern_redrive_messages_total{queue="dead",result="skipped"}'] == 10)
        self.assertEqual(redriving.wait(LIMIT), 0)
        self.assertEqual(self.counts("orders")[0], 30)

    def test_a_dry_run_counts_nothing_as_done(self):
        redriving, url = self.watch("dead", "--to", "orders", "--dry-run")
        seen = self.numbers_when(url, lambda found: found.get('quern_messages_received_total{queue="dead"}', 0) >= 10)
        self.assertEqual(seen['quern_redrive_messages_total{queue="dead",result="redriven"}'], 0)
        self.assertEqual(redriving.wait(LIMIT), 0)

    def test_a_run_that_sqs_does_has_nothing_to_show(self):
        self.refuse("redrive", "dead", "--to", "orders", "--native", "only", "--admin-port", "0", status=2, mentions=["--admin-port"])

    def test_isolating_has_one_too(self):
        message = json.loads(self.quern("dead-letters", "dead", "--json")[0].splitlines()[0])
        redriving, _ = self.watch("isolate", "dead", "--to", "orders", "--id", message["message_id"])
        self.assertEqual(redriving.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
