#!/usr/bin/env python3
"""`quern redrive --journal`: what is decided is written first, a kill is gone on from, and anybody can read it."""

import csv
import json
import os
import signal
import unittest
import zlib

from program import LIMIT, Broker, ProgramTest, until


class Journal(ProgramTest):
    broker_options = ("--no-auth",)

    def setUp(self):
        super().setUp()
        for name in ("dead", "orders", "poison"):
            self.create(name)
        self.journal = self.folder + "/journal"

    def redrive(self, *options, **more):
        return self.quern("redrive", "dead", "--to", "orders", "--delay-base", "0", "--journal", self.journal, *options,
                          **more)

    def ask(self, what, *options, **more):
        return self.quern("redrive", what, "--journal", self.journal, *options, **more)[0]

    def events(self, name="dead"):
        with open(f"{self.journal}/{name}.jsonl", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    def start_waiting(self, count):
        """A run whose messages all wait for an hour."""
        self.send("dead", *(f"m{i}" for i in range(count)))
        running = self.start("redrive", "dead", "--to", "orders", "--delay-base", "1h", "--delay-max", "30d", "--journal",
                             self.journal)
        until(lambda: os.path.exists(self.journal + "/dead.jsonl"))
        until(lambda: self.ask("status"), lambda told: f"open: {count} waiting until they are due" in told)
        return running

    def test_every_decision_is_there_to_read(self):
        self.send("dead", *(f"m{i}" for i in range(5)))
        self.redrive()
        events = self.events()
        self.assertEqual([e["id"] for e in events], list(range(1, len(events) + 1)))
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("ExecutionStarted", "ExecutionSucceeded"))
        message = next(e["message"] for e in events if "message" in e)
        self.assertEqual([e["type"] for e in events if e.get("message") == message],
                         ["ChoiceStateExited", "TaskScheduled", "TaskSucceeded", "MapIterationSucceeded"])
        status = self.ask("status")
        self.assertIn("dead: succeeded, of dead", status)
        self.assertIn("redriven 5, isolated 0, deleted 5", status)
        self.assertIn("nothing is open", status)
        self.assertNotIn("resume", status)
        self.assertIn("done, attempt 1", self.ask("status", "--message", message))
        self.assertEqual(len(self.ask("history", "--message", message).splitlines()), 4)
        self.assertEqual(len(self.ask("history").splitlines()), len(events))
        self.assertEqual([json.loads(line) for line in self.ask("export").splitlines()], events)
        table = list(csv.DictReader(self.ask("export", "--format", "csv").splitlines()))
        self.assertEqual([row["type"] for row in table], [e["type"] for e in events])
        self.assertEqual({row["messageId"] for row in table if row["messageId"]},
                         {m["message_id"] for m in self.consume("orders")})

    def test_a_name_is_for_one_run(self):
        self.send("dead", "m")
        self.redrive()
        self.refuse("redrive", "dead", "--to", "orders", "--delay-base", "0", "--journal", self.journal, status=2,
                    mentions=["the run dead is over (succeeded); a new one takes another --name"])
        self.refuse("redrive", "dead", "--to", "poison", "--journal", self.journal, status=2,
                    mentions=["the run dead was begun with other settings"])
        self.redrive("--name", "second")
        self.assertIn("second: succeeded", self.ask("status"))
        self.refuse("redrive", "history", "--journal", self.journal, status=2, mentions=["which one?", "dead second"])

    def test_a_wait_outlasts_a_kill_and_a_second_writer_is_told_who_has_the_place(self):
        running = self.start_waiting(3)
        self.refuse("redrive", "dead", "--to", "orders", "--journal", self.journal, "--name", "other", status=2,
                    mentions=[f"is in use by process {running.pid}, for dead"])
        before = self.events()
        running.kill()
        running.communicate(timeout=LIMIT)
        self.assertEqual(self.counts("dead"), (0, 3, 0))
        again = self.start("redrive", "resume", "--journal", self.journal)
        until(self.events, lambda told: any(e["type"] == "ExecutionRedriven" for e in told))
        again.send_signal(signal.SIGTERM)
        _, err = again.communicate(timeout=LIMIT)
        self.assertEqual(again.returncode, 1, err)
        self.assertIn("it was ended early", err)
        self.assertEqual(self.events()[:len(before)], before)
        self.assertIn("dead: running", self.ask("status"))

    def test_a_run_is_cancelled_while_it_goes_and_when_it_does_not(self):
        running = self.start_waiting(2)
        self.quern("redrive", "cancel", "--journal", self.journal)
        _, err = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 5, err)
        self.assertIn("cancelled", err)
        self.assertEqual(self.counts("dead"), (2, 0, 0))
        self.assertIn("dead: cancelled", self.ask("status"))
        self.refuse("redrive", "cancel", "--journal", self.journal, status=1, mentions=["cannot be cancelled"])
        self.refuse("redrive", "resume", "--journal", self.journal, status=2, mentions=["the run dead is over (cancelled)"])

    def test_a_run_that_goes_on_means_the_same_messages_and_the_same_time(self):
        self.redrive("--since", "2h", "--group", "a\tb\u0085c")
        began = json.loads(self.events()[0]["executionStartedEventDetails"]["input"])
        self.assertEqual((began["since"], began["group"]), ("2h", "a\tb\u0085c"))
        self.assertRegex(began["since_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_settings_that_a_journal_cannot_keep_are_refused(self):
        self.refuse("redrive", "dead", "--to", "orders", "--journal", self.journal, "--id", "a\udcff", status=2,
                    mentions=["a journal keeps settings in UTF-8"])

    def test_a_folder_that_cannot_be_had_is_told_with_its_reason(self):
        self.refuse("redrive", "dead", "--to", "orders", "--journal", "/proc/no/such", status=1,
                    mentions=["/proc/no", "No such file or directory"])
        self.refuse("redrive", "dead", "--to", "orders", "--journal", self.journal, "--dry-run", status=2,
                    mentions=["--journal", "--dry-run"])

    def test_a_torn_end_is_cut_and_told_and_damage_is_refused(self):
        self.redrive("--breaker-flag", "file:" + self.folder + "/absent", status=0)  # nothing to send
        path = self.journal + "/dead.jsonl"
        self.assertEqual(self.events()[-1]["type"], "ExecutionSucceeded")
        with open(path, "a", encoding="utf-8") as text:
            text.write('{"id":3,"prev')
        self.assertIn("dead: succeeded", self.ask("status"))
        with open(path, "a", encoding="utf-8") as text:
            text.write("\n" + json.dumps({"id": 3}) + "\n")
        with open(path, encoding="utf-8") as text:
            first = text.readline()
        with open(path, "w", encoding="utf-8") as text:
            text.write("broken\n" + first)
        os.unlink(self.journal + "/dead.size")  # as beside one of an older version
        self.refuse("redrive", "status", "--journal", self.journal, status=1,
                    mentions=["dead.jsonl: line 1 is damaged, and whole ones follow"])

    # What had been sent was gone from its end, so it was sent again and nobody knew.
    def test_a_journal_that_was_cut_is_refused_with_a_way_out(self):
        self.send("dead", *(f"m{i}" for i in range(20)))
        self.redrive("--limit", "10")
        path = self.journal + "/dead.jsonl"
        with open(path, encoding="utf-8") as text:
            lines = text.readlines()
        for kept in (0, 1, len(lines) - 1):
            with open(path, "w", encoding="utf-8") as text:
                text.writelines(lines[:kept])
            for command in (("status",), ("resume",), ("cancel",), ("history",)):
                only_read = command != ("history",) and (command != ("resume",) or kept == 0)
                _, err = self.quern("redrive", *command, "--journal", self.journal, status=1 if only_read else 2)
                self.assertIn("dead.jsonl: its end is missing or damaged", err)
                self.assertIn("begin anew with another --name", err)
        self.redrive("--name", "second")
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((0, 0, 0), (20, 0, 0)))

    # A run in a folder kept every other run out of it.
    def test_a_folder_has_several_runs_at_a_time_over_different_queues(self):
        running = self.start_waiting(1)
        self.send("poison", "m")
        self.quern("redrive", "poison", "--to", "orders", "--delay-base", "0", "--journal", self.journal)
        status = self.ask("status")
        self.assertIn("poison: succeeded", status)
        self.assertIn("dead: running", status)
        self.assertIn("what waits is hidden until", status)
        running.kill()

    # It took twelve hours until somebody could receive it.
    def test_cancelling_gives_back_what_a_killed_run_has_hidden(self):
        running = self.start_waiting(3)
        running.kill()
        running.communicate(timeout=LIMIT)
        self.assertEqual(self.counts("dead"), (0, 3, 0))
        _, err = self.quern("redrive", "cancel", "--journal", self.journal)
        self.assertIn("3 of 3 that wait are visible again", err)
        # The open receive of the process that was killed may have taken them at once, for the length of a lease.
        until(lambda: self.counts("dead"), lambda told: told == (3, 0, 0))

    def test_a_run_is_begun_again_under_the_next_number_once_it_is_over(self):
        for number in range(3):
            self.send("dead", "m")
            self.redrive("--again")
            self.assertEqual(self.counts("dead"), (0, 0, 0))
            self.assertIn(f"{['dead', 'dead-2', 'dead-3'][number]}: succeeded", self.ask("status"))
        for _ in range(2):
            self.assertIn("redriven 0", self.redrive("--again")[1])
        self.assertEqual([name for name in sorted(os.listdir(self.journal)) if name.endswith(".jsonl")],
                         ["dead-2.jsonl", "dead-3.jsonl", "dead.jsonl"])
        flag = self.folder + "/flag"
        for status in (5, 5):  # the one that is not over goes on
            self.send("dead", "m")
            self.redrive("--again", "--breaker-flag", "file:" + flag, status=status)
        self.assertIn("dead-4: stopped", self.ask("status"))
        self.assertNotIn("dead-5", self.ask("status"))

    def test_a_message_with_ten_attributes_goes_and_is_counted(self):
        self.sqs("SendMessage", "dead", MessageBody="full",
                 MessageAttributes={f"a{i}": {"DataType": "String", "StringValue": "x"} for i in range(10)})
        _, err = self.redrive()
        self.assertIn("redriven 1", err)
        self.assertEqual([len(m["attributes"]) for m in self.consume("orders")], [10])
        self.assertEqual([e["taskSucceededEventDetails"]["attempt"] for e in self.events() if e["type"] == "TaskSucceeded"], [1])

    def test_the_flag_stops_a_run_which_is_resumed_when_it_is_closed(self):
        self.send("dead", "a", "b")
        flag = self.folder + "/flag"
        _, err = self.redrive("--breaker-flag", "file:" + flag, status=5)
        self.assertIn("CircuitBreakerOpen: " + flag + " cannot be read", err)
        with open(flag, "w", encoding="utf-8") as text:
            text.write("open")
        _, err = self.quern("redrive", "resume", "--journal", self.journal, status=5)
        self.assertIn('says "open"', err)
        self.assertEqual(self.counts("dead"), (2, 0, 0))
        status = self.ask("status")
        self.assertIn("dead: stopped", status)
        self.assertIn(f"it goes on with: quern redrive resume --journal {self.journal} --name dead", status)
        with open(flag, "w", encoding="utf-8") as text:
            text.write("closed\n")
        self.quern("redrive", "resume", "--journal", self.journal)
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((0, 0, 0), (2, 0, 0)))

    def test_a_journal_from_before_a_setting_is_gone_on_with(self):
        self.send("dead", "a")
        flag = self.folder + "/flag"
        self.redrive("--breaker-flag", "file:" + flag, status=5)
        path = self.journal + "/dead.jsonl"
        with open(path, encoding="utf-8") as text:
            first, rest = text.read().split("\n", 1)
        first = first[:first.rindex(',"crc"')]
        older = first.replace(r',\"on_open\":\"stop\"', "")
        self.assertLess(len(older), len(first))
        os.unlink(self.journal + "/dead.size")
        with open(path, "w", encoding="utf-8") as text:
            text.write(f'{older},"crc":"{zlib.crc32(older.encode()):08x}"}}\n{rest}')
        self.quern("redrive", "resume", "--journal", self.journal, status=5)
        self.refuse("redrive", "dead", "--to", "orders", "--delay-base", "0", "--journal", self.journal, "--breaker-flag",
                    "file:" + flag, "--on-open", "wait", status=2, mentions=["begun with other settings"])
        with open(flag, "w", encoding="utf-8") as text:
            text.write("closed\n")
        self.redrive("--breaker-flag", "file:" + flag)
        self.assertIn("dead: succeeded", self.ask("status"))

    def test_a_run_waits_for_the_flag_when_it_is_told_to(self):
        self.send("dead", "a", "b")
        flag = self.folder + "/flag"
        with open(flag, "w", encoding="utf-8") as text:
            text.write("open")
        running = self.start("redrive", "dead", "--to", "orders", "--delay-base", "0", "--journal", self.journal,
                             "--breaker-flag", "file:" + flag, "--on-open", "wait")
        self.assertIn('redrive: halted: ', running.stderr.readline())
        with open(flag, "w", encoding="utf-8") as text:
            text.write("closed\n")
        _, err = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 0, err)
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((0, 0, 0), (2, 0, 0)))

    def test_messages_go_to_a_file_and_come_back_from_it_as_they_were(self):
        self.send("dead", "one", '{"two": "ü"}', *(f"m{i}" for i in range(40)))
        file = self.folder + "/messages"
        _, err = self.quern("redrive", "export", "dead", file)
        self.assertIn("exported 42 of about 42", err)
        self.assertEqual(self.counts("dead"), (42, 0, 0))
        _, err = self.quern("redrive", "import", file, "orders")
        self.assertIn("imported 42 of 42", err)
        self.assertEqual(sorted(m["body"] for m in self.consume("orders")), sorted(m["body"] for m in self.consume("dead")))
        with open(file, "a", encoding="utf-8") as lines:
            lines.write("{}\n")
        _, err = self.quern("redrive", "import", file, "orders", status=1)
        self.assertIn("line 43: it has no message_id", err)
        self.assertIn("imported 42 of 43", err)
        with open(file, "w", encoding="utf-8-sig") as lines:  # an editor's byte order mark
            lines.write('{"message_id":"1","attributes":[],"body":"by hand"}\n')
        self.quern("redrive", "import", file, "poison")
        self.assertEqual([m["body"] for m in self.consume("poison")], ["by hand"])
        self.refuse("redrive", "export", status=2, mentions=["--journal DIR, or DLQ and FILE"])

    def test_a_copy_that_fails_leaves_the_one_before_as_it_was(self):
        self.send("dead", "one")
        file = self.folder + "/messages"
        self.quern("redrive", "export", "dead", file)
        with open(file, encoding="utf-8") as lines:
            before = lines.read()
        faults = self.folder + "/faults.json"
        with open(faults, "w", encoding="utf-8") as text:
            json.dump({"by_operation": {"ReceiveMessage": {"access_denied": 1}}}, text)
        with Broker("--faults", faults) as broken:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broken.url
            self.create("dead")
            self.refuse("redrive", "export", "dead", file, status=1, mentions=["AccessDenied", "is as it was"])
        with open(file, encoding="utf-8") as lines:
            self.assertEqual(lines.read(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["faults.json", "messages"])

    def held_by_somebody(self, count):
        """Receives so many of the dead letters, for a while."""
        for _ in range(count):
            self.sqs("ReceiveMessage", "dead", VisibilityTimeout=600)

    def content(self, file):
        with open(file, encoding="utf-8") as lines:
            return lines.read()

    # A copy of 300 was replaced by one of 290, and that by one of 0.
    def test_a_partial_copy_does_not_take_the_place_of_a_whole_one(self):
        self.send("dead", *(f"m{i}" for i in range(30)))
        file = self.folder + "/messages"
        self.quern("redrive", "export", "dead", file)
        whole = self.content(file)
        self.held_by_somebody(10)
        for partial in (".partial", ".partial-2"):
            self.refuse("redrive", "export", "dead", file, status=1,
                        mentions=["exported 20 of about 30", "10 in flight elsewhere", "begin again", "is as it was",
                                  file + partial])
            self.assertEqual(self.content(file), whole)
            self.assertEqual(len(self.content(file + partial).splitlines()), 20)
        self.refuse("redrive", "export", "dead", self.folder + "/new", status=1,
                    mentions=["was not written", "/new.partial"])
        self.assertFalse(os.path.exists(self.folder + "/new"))

    def test_nothing_takes_the_place_of_a_copy_when_nothing_can_be_received_or_is_there(self):
        self.send("dead", "m")
        file = self.folder + "/messages"
        self.quern("redrive", "export", "dead", file)
        whole = self.content(file)
        self.held_by_somebody(1)
        self.refuse("redrive", "export", "dead", file, status=1, mentions=["exported 0 of about 1", "is as it was"])
        self.quern("queue", "purge", "dead")
        self.refuse("redrive", "export", "dead", file, status=1, mentions=["dead is empty", "is as it was"])
        self.assertEqual(self.content(file), whole)
        self.assertEqual(os.listdir(self.folder), ["messages"])
        self.quern("redrive", "export", "dead", self.folder + "/empty")
        self.assertEqual(self.content(self.folder + "/empty"), "")

    # It died with 3,000 messages hidden for 15 minutes.
    def test_an_export_that_a_signal_ends_gives_all_back_and_keeps_the_copy_before(self):
        self.send("dead", *(f"m{i}" for i in range(3000)))
        file = self.folder + "/messages"
        self.quern("redrive", "export", "dead", file)
        whole = self.content(file)
        for number, told in enumerate((signal.SIGINT, signal.SIGTERM)):
            running = self.start("redrive", "export", "dead", file)
            until(lambda: self.counts("dead")[1] >= 100)
            running.send_signal(told)
            _, err = running.communicate(timeout=LIMIT)
            self.assertEqual(running.returncode, 1, err)
            self.assertEqual(self.counts("dead"), (3000, 0, 0))
            partial = file + (".partial", ".partial-2")[number]
            for mention in ("a signal ended it early", "is as it was", partial):
                self.assertIn(mention, err)
            self.assertEqual(self.content(file), whole)
            self.assertIn(f"exported {len(self.content(partial).splitlines())} of about 3000", err)

    def test_of_a_group_nothing_is_imported_behind_what_was_not(self):
        self.create("later.fifo", "--attribute", "FifoQueue=true")
        file = self.folder + "/messages"
        with open(file, "w", encoding="utf-8") as lines:
            for number, group, body in ((1, "a", "one"), (2, "a", "x" * 1100000), (3, "b", "two"), (4, "a", "three")):
                lines.write(json.dumps({"message_id": f"m{number}", "body": body, "attributes": [], "group": group}) + "\n")
        _, err = self.quern("redrive", "import", file, "later.fifo", status=1)
        self.assertIn("line 4: not sent, since line 2 of its group was not", err)
        self.assertIn("imported 2 of 4", err)
        self.assertEqual([m["body"] for m in self.consume("later.fifo")], ["one", "two"])


if __name__ == "__main__":
    unittest.main()
