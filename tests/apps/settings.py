#!/usr/bin/env python3
"""Options that stand in a file of --config and in variables; what the command line says counts before both."""

import signal
import subprocess
import unittest

from program import LIMIT, ProgramTest, wait_for


class Settings(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")
        self.path = self.folder + "/quern.toml"

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def bodies(self, *arguments):
        out, err = self.quern("consume", *arguments)
        return out, err

    def test_a_file_has_the_queue_and_every_option(self):
        self.send("orders", "a")
        self.write('log_level = "error"\n[consume]\nqueue = "orders"\nuntil_empty = true\nwait_time = 1\n'
                   'drain_deadline = "45s"\nexec = "cat; echo"\n[relay]\nany = "thing"\n')
        self.assertEqual(self.quern("--config", self.path, "consume"), ("a\n", ""))
        self.send("orders", "b")
        self.assertEqual(self.quern("consume", "orders", "--config=" + self.path)[0], "b\n")
        self.send("orders", "c")
        self.variables["QUERN_CONFIG"] = self.path
        self.assertEqual(self.quern("consume")[0], "c\n")

    def test_a_variable_counts_before_the_file_and_the_command_line_before_both(self):
        self.write('[consume]\nexec = "echo file"\nuntil_empty = true\nwait_time = "1s"\n')
        self.send("orders", "a")
        self.variables["QUERN_CONSUME_EXEC"] = "echo variable"
        self.assertEqual(self.quern("consume", "orders", "--config", self.path)[0], "variable\n")
        self.send("orders", "a")
        self.assertEqual(self.quern("consume", "orders", "--config", self.path, "--exec", "echo line")[0], "line\n")

    def test_what_is_wrong_is_told_with_its_place(self):
        for text, mentions in (
                ('[consume]\ndrain_deadlin = "45s"\n',
                 [self.path + ":2:1", "consume.drain_deadlin is not known", "did you mean drain_deadline?"]),
                ('[consume]\ndrain_deadline = "soon"\n', ["--drain-deadline", self.path + ":2:18", "must be a duration"]),
                ('[consumer]\n', [self.path + ":1:2", "did you mean consume?"]),
                ('[consume]\nlog_bodies = "much"\n', [self.path + ":2:14", "true or false"]),
                ('[consume\n', ["no TOML"])):
            with self.subTest(text):
                self.write(text)
                self.refuse("consume", "orders", "--config", self.path, status=2, mentions=mentions)
        self.refuse("consume", "orders", "--config", "/nonexistent", status=2, mentions=["--config /nonexistent"])
        self.variables["QUERN_CONSUME_MAX_AGE"] = "never"
        self.refuse("consume", "orders", status=2, mentions=["--max-age", "QUERN_CONSUME_MAX_AGE"])

    def test_an_option_that_nobody_knows_names_the_nearest(self):
        self.refuse("consume", "orders", "--handler-concurency", "4", status=2,
                    mentions=["--handler-concurency", "did you mean --handler-concurrency?"])

    def test_a_variable_that_means_nothing_is_warned_of(self):
        self.variables.update(QUERN_CONSUME_RATTE="5", QUERN_CONSUME_SERVICE_HOST="10.0.0.1",
                              QUERN_CONSUME_PORT="tcp://10.0.0.1:80")
        _, err = self.quern("consume", "orders", "--until-empty", "--wait-time", "1")
        self.assertIn("QUERN_CONSUME_RATTE is not known, did you mean QUERN_CONSUME_RATE?", err)
        self.assertNotIn("SERVICE_HOST", err)
        self.assertNotIn("CONSUME_PORT", err)

    def test_commands_of_commands(self):
        self.write('[queue.create]\nattribute = ["VisibilityTimeout=77"]\n')
        self.quern("queue", "create", "bills", "--config", self.path)
        self.assertIn("VisibilityTimeout=77", self.quern("queue", "attributes", "bills")[0])

    def test_the_relay_has_all_its_options_in_one_table(self):
        self.create("poison")
        self.write('[relay]\nqueue = "orders"\nurl = "http://127.0.0.1:1/"\npoison_queue = "poison"\nmax_age = "1s"\n'
                   'until_empty = true\nwait_time = 1\n')
        self.quern("relay", "--config", self.path)
        self.write('[relay]\nqueue = "orders"\nurl = "http://127.0.0.1:1/"\npoison_queue = "none-such"\n')
        self.refuse("relay", "--config", self.path, status=1, mentions=["none-such"])
        self.write('[relay]\nqueue = "orders"\nurl = "http://127.0.0.1:1/"\nconcurency = 3\n')
        self.refuse("relay", "--config", self.path, status=2, mentions=["did you mean concurrency?", ":4:1"])

    def test_a_signal_turns_limits_and_names_what_needs_a_restart(self):
        text = '[consume]\nmax_in_flight = 50\nexec = "cat"\n'
        self.write(text)
        process = self.start("consume", "orders", "--config", self.path, "--wait-time", "1",
                             stdout=subprocess.DEVNULL)
        wait_for(process.stderr, "consuming")
        self.write(text.replace("50", "7") + 'handler_concurrency = 3\nmax_age = "1h"\n')
        process.send_signal(signal.SIGHUP)
        self.assertIn("changed handler-concurrency, max-in-flight", wait_for(process.stderr, "are in force"))
        self.assertIn("need a restart: max-age", wait_for(process.stderr, "these settings have changed"))
        process.send_signal(signal.SIGUSR1)
        wait_for(process.stderr, "limits were turned: max_in_flight 7")
        self.write('[consume]\nmax_in_flight = "many"\n')
        process.send_signal(signal.SIGHUP)
        self.assertIn("max-in-flight", wait_for(process.stderr, "the settings stay as they are"))
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    # It said "settings are read again" of a concurrency that stayed as it was, and of a file that is not there.
    def test_a_relay_names_what_needs_a_restart_and_checks_all_files(self):
        text = '[relay]\nqueue = "orders"\nurl = "http://127.0.0.1:1/"\nconcurrency = 50\n'
        self.write(text)
        process = self.start("relay", "--config", self.path, "--wait-time", "1", stdout=subprocess.DEVNULL)
        wait_for(process.stderr, "consuming")
        self.write(text.replace("50", "5") + 'timeout = "3s"\ndrain_deadline = "9s"\n')
        process.send_signal(signal.SIGHUP)
        self.assertIn("need a restart: concurrency, drain-deadline",
                      wait_for(process.stderr, "these settings have changed"))
        wait_for(process.stderr, "settings are read again")
        self.write(text + '[relay.tls]\nca = "/nope.pem"\n')
        process.send_signal(signal.SIGHUP)
        self.assertIn("/nope.pem", wait_for(process.stderr, "settings stay as they were"))
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
