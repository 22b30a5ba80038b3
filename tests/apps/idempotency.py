#!/usr/bin/env python3
"""`quern consume --idempotency` and `quern idempotency table`: the work of each key is done once."""

import json
import os
import signal
import subprocess
import time
import unittest
import urllib.request

from program import LIMIT, ProgramTest, until, wait_for

FAKE = os.path.join(os.environ["QUERN_BIN_DIR"], "fake_dynamodb")


class Once(ProgramTest):
    def setUp(self):
        super().setUp()
        self.url = self.create("orders")
        self.log = os.path.join(self.folder, "done")
        fake = subprocess.Popen([FAKE], stdout=subprocess.PIPE, text=True)

        def end():
            fake.kill()
            fake.wait(LIMIT)
            fake.stdout.close()

        self.addCleanup(end)
        self.variables["AWS_ENDPOINT_URL_DYNAMODB"] = fake.stdout.readline().strip()

    def work(self, *options, command=None):
        command = command or f"""printf '%s\\n' "$(cat)" >> {self.log}"""
        return self.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--exec", command, *options)

    def done(self):
        with open(self.log, encoding="utf-8") as log:
            return sorted(log.read().split())

    def rows(self, *arguments, status=0):
        return self.quern("idempotency", "table", *arguments, status=status)[0]

    def test_a_table_is_made_shown_and_made_again(self):
        self.assertEqual(self.rows("create", "seen"), "seen created\n")
        self.assertEqual(self.rows("create", "seen"), "seen was there\n")
        told = dict(line.split("=", 1) for line in self.rows("show", "seen").splitlines())
        self.assertEqual((told["status"], told["key"], told["billing"]), ("ACTIVE", "id", "PAY_PER_REQUEST"))
        self.assertEqual((told["time_to_live"], told["time_to_live_attribute"]), ("ENABLED", "expiration"))
        self.refuse("idempotency", "table", "show", "none", status=1, mentions=["none", "ResourceNotFoundException"])

    def test_what_has_the_same_key_is_done_once(self):
        for store in ("memory", "ddb:seen"):
            with self.subTest(store=store):
                if store != "memory":
                    self.rows("create", "seen")
                self.send("orders", '{"id":1}', '{"id":2}', '{"id":1}', '{"id":1}')
                if os.path.exists(self.log):
                    os.unlink(self.log)
                _, err = self.work("--idempotency", store, "--idempotency-key", "body:/id")
                self.assertEqual(self.done(), ['{"id":1}', '{"id":2}'])
                self.assertIn("claimed 2, completed 2, duplicates 2", err)
                self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_a_table_remembers_what_another_run_has_done(self):
        self.rows("create", "seen")
        options = ("--idempotency", "ddb:seen", "--idempotency-key", "body:/id", "--idempotency-name", "charge")
        for _ in range(2):
            self.send("orders", '{"id":"a"}')
            self.work(*options)
        self.assertEqual(self.done(), ['{"id":"a"}'])
        row = json.loads(self.rows("get", "seen", "a", "--name", "charge"))
        self.assertEqual(row["status"], "COMPLETED")
        self.assertEqual(json.loads(self.rows("get", "seen", row["key"])), row)
        self.rows("forget", "seen", "a", "--name", "charge")
        self.rows("get", "seen", "a", "--name", "charge", status=1)
        self.send("orders", '{"id":"a"}')
        self.work(*options)
        self.assertEqual(self.done(), ['{"id":"a"}', '{"id":"a"}'])

    # Only texts were found, since KEY was always quoted.
    def test_rows_of_numbers_and_of_several_parts_are_found_and_forgotten(self):
        self.rows("create", "seen")
        for pointers, key in (("/id", "17"), ("/eu,/id", '["EU", 17]'), ("/id", '17.50')):
            with self.subTest(key=key):
                number = "17.50" if key == "17.50" else "17"
                self.send("orders", f'{{"id":{number},"eu":"EU"}}')
                self.work("--idempotency", "ddb:seen", "--idempotency-key", "body:" + pointers, "--idempotency-name", "n")
                row = json.loads(self.rows("get", "seen", key, "--name", "n"))
                self.assertEqual(row["status"], "COMPLETED")
                self.rows("forget", "seen", key, "--name", "n")
                self.refuse("idempotency", "table", "get", "seen", key, "--name", "n", status=1, mentions=["there is no row n#", " or n#"])

    def test_what_the_guard_does_is_told_in_metrics_and_in_the_log(self):
        self.send("orders", '{"id":1}', '{"id":1}')
        running = self.start("consume", "orders", "--exec", "cat", "--admin-port", "0", "--idempotency", "memory", "--idempotency-key",
                             "body:/id", "--log-level", "debug", "--wait-time", "1")
        seen = []

        def next_line(text):
            seen.append(wait_for(running.stderr, text))
            return seen[-1]

        url = next_line("watch it at ").split()[-1]
        self.assertIn("the work of its key was done before: orders#", next_line("done before"))

        def page():
            with urllib.request.urlopen(url + "metrics", timeout=LIMIT) as answer:
                return answer.read().decode()

        for result, count in (("claimed", 1), ("completed", 1), ("duplicate", 1), ("unrecorded", 0)):
            line = f'quern_idempotency_messages_total{{queue="orders",result="{result}"}} {count}'
            until(page, lambda text, line=line: line in text)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=LIMIT)

    def test_a_command_that_fails_gives_its_key_free(self):
        self.send("orders", "m")
        command = f"""printf '%s\\n' "$(cat)" >> {self.log}; [ "$QUERN_RECEIVE_COUNT" = 2 ]"""
        self.work("--idempotency", "memory", command=command)
        self.assertEqual(self.done(), ["m", "m"])

    def test_a_run_that_is_killed_blocks_its_key_no_longer_than_its_lease(self):
        self.rows("create", "seen")
        self.send("orders", "m")
        options = ("--visibility-timeout", "3", "--idempotency", "ddb:seen")
        killed = self.start("consume", "orders", "--exec", "echo begun; sleep 20 & wait", *options)
        wait_for(killed.stdout, "begun")
        killed.send_signal(signal.SIGKILL)
        killed.wait(LIMIT)
        begun = time.monotonic()
        self.work(*options)
        self.assertEqual(self.done(), ["m"])
        self.assertLess(time.monotonic() - begun, 30)

    def test_what_cannot_work_is_told_at_the_start(self):
        self.refuse("consume", "orders", "--idempotency", "ddb:none", status=2, mentions=["no table none", "create none"])
        for options in (("--idempotency", "disk"), ("--idempotency", "ddb:"), ("--idempotency-key", "body"),
                        ("--idempotency", "memory", "--idempotency-key", "body:id")):
            with self.subTest(options=options):
                self.refuse("consume", "orders", *options, status=2, mentions=["--idempotency"])


if __name__ == "__main__":
    unittest.main()
