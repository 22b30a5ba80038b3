#!/usr/bin/env python3
"""`quern redrive`: dead letters go back, poison is set apart, what is not meant stays."""

import http.server
import json
import os
import pty
import signal
import stat
import threading
import unittest

from program import LIMIT, ProgramTest, Server, until, wait_for

ACCOUNT = "/000000000000/"


class CloudWatch(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.headers["X-Amz-Target"], body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


class Redriving(ProgramTest):
    broker_options = ("--no-auth",)

    def setUp(self):
        super().setUp()
        self.create("dead")
        self.create("poison")
        for name in ("orders", "billing"):
            policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
            self.create(name, "--attribute", "RedrivePolicy=" + json.dumps(policy))

    def die(self, queue, *bodies):
        """A look is a receive, and the second one is too many."""
        self.send(queue, *bodies)
        while self.counts(queue) != (0, 0, 0):
            self.quern("redrive", "sample", queue, "--count", "10000")

    def redrive(self, *options, **more):
        """What the report says, and standard error."""
        report = self.folder + "/report.json"
        _, err = self.quern("redrive", "dead", "--delay-base", "0", "--report", report, *options, **more)
        with open(report, encoding="utf-8") as text:
            return json.load(text), err

    def test_each_message_goes_back_to_the_queue_that_it_came_from(self):
        self.die("orders", *(f"order {i}" for i in range(30)))
        self.die("billing", "bill")
        self.assertEqual(self.counts("dead"), (31, 0, 0))
        report, err = self.redrive("--to-source")
        self.assertEqual((report["redriven"], report["deleted"]), (31, 31))
        self.assertEqual(report["by_queue"], {"orders": 30, "billing": 1})
        self.assertIn("redriven 31", err)
        got = self.consume("orders")
        self.assertEqual(sorted(m["body"] for m in got), sorted(f"order {i}" for i in range(30)))
        self.assertEqual(got[0]["attributes"]["x-redrive-attempt"], {"type": "Number", "value": "1"})
        self.assertRegex(got[0]["attributes"]["x-original-first-receive-timestamp"]["value"], r"^\d{4}-.*Z$")
        self.assertTrue(all(m["attributes"]["QuernOriginalId"]["value"] for m in got))
        self.assertEqual(self.counts("dead"), (0, 0, 0))

    def test_the_first_attempt_is_delayed_by_a_minute_unless_told_otherwise(self):
        self.send("dead", "m")
        self.quern("redrive", "dead", "--to", "orders")
        self.assertEqual(self.counts("orders"), (0, 0, 1))

    def test_only_what_is_chosen_goes(self):
        self.send("dead", *(json.dumps({"order": {"state": state}}) for state in ("new", "old", "new", "odd")))
        report, _ = self.redrive("--to", "orders", "--where-body", '/order/state = "new"')
        self.assertEqual((report["redriven"], report["skipped"]), (2, 2))
        self.assertEqual(self.counts("dead"), (2, 0, 0))
        report, _ = self.redrive("--to", "orders", "--limit", "1")
        self.assertEqual(report["redriven"], 1)
        self.assertEqual(self.counts("dead"), (1, 0, 0))
        report, _ = self.redrive("--to", "orders", "--since", "1h", "--until", "2026-01-02T03:04:05Z")
        self.assertEqual(report["redriven"], 0)
        message = json.loads(self.quern("dead-letters", "dead", "--json")[0])
        report, _ = self.redrive("--to", "orders", "--id", message["message_id"])
        self.assertEqual(report["redriven"], 1)

    # Both went: the ids were compared as doubles.
    def test_of_two_ids_that_differ_in_their_last_digit_one_is_meant(self):
        self.send("dead", *(json.dumps({"id": n}) for n in (8202522731445525542, 8202522731445525543)))
        self.quern("redrive", "isolate", "dead", "--to", "poison", "--where-body", "/id = 8202522731445525542")
        self.assertEqual([m["body"] for m in self.consume("poison")], ['{"id": 8202522731445525542}'])
        for n in (8202522731445525542, 8202522731445525543):
            self.sqs("SendMessage", "dead", MessageBody=str(n),
                     MessageAttributes={"n": {"DataType": "Number", "StringValue": str(n)}})
        report, _ = self.redrive("--to", "billing", "--where", "attr.n = 8202522731445525542")
        self.assertEqual((report["redriven"], report["skipped"]), (1, 2))
        self.assertEqual([m["body"] for m in self.consume("billing")], ["8202522731445525542"])

    # != was true of every body that could not be read: of one with a big number, and of one behind a byte order mark.
    def test_what_has_no_readable_json_is_chosen_neither_by_equal_nor_by_unequal_and_told(self):
        paid = ['{"state":"paid"}', '{"state":"paid","span":12345678901234567890123}', '\ufeff{"state":"paid"}']
        self.send("dead", *paid, '{"state":"open"}', "no JSON", "[")
        for condition, count in (('/state != "paid"', 1), ('/state = "paid"', 3)):
            report, err = self.redrive("--to", "orders", "--dry-run", "--where-body", condition)
            self.assertEqual((report["redriven"], report["skipped"], report["unreadable"]), (count, 6 - count, 2))
            self.assertIn("  2 have no readable JSON: ", err)
        out, _ = self.quern("dead-letters", "dead", "--groups", "--by", "/state")
        self.assertIn("3 with /state = paid", out)
        self.assertIn("2 have no readable JSON", out)
        _, err = self.quern("redrive", "isolate", "dead", "--to", "poison", "--where-body", '/state != "paid"')
        self.assertIn("2 have no readable JSON", err)
        self.assertEqual([m["body"] for m in self.consume("poison")], ['{"state":"open"}'])

    def test_a_message_of_almost_a_mebibyte_arrives_whole_or_is_isolated_whole(self):
        room_for_ours = 145  # all three, with their names and types
        for size, where in ((2**20 - room_for_ours, "orders"), (2**20 - 1, "poison")):
            body = "ä" * (size // 2) + "x" * (size % 2)
            self.send("dead", body)
            self.redrive("--to", "orders", "--poison-queue", "poison")
            got = self.consume(where)
            self.assertEqual([m["body"] == body for m in got], [True])
            self.assertEqual(len(got[0]["attributes"]), 3 if where == "orders" else 0)

    # It was 0, which a script took for an empty queue.
    def test_the_status_tells_of_messages_that_somebody_has_hidden(self):
        self.send("dead", "a", "b")
        self.sqs("ReceiveMessage", "dead", VisibilityTimeout=600)
        report, err = self.redrive("--to", "orders", status=1)
        self.assertEqual((report["redriven"], report["elsewhere"]), (1, 1))
        self.assertIn("1 messages were in flight elsewhere", err)

    def test_rules_name_the_queues_of_some(self):
        self.create("legacy")
        self.send("dead", '{"a":1}', '{"a":2}', '{"b":3}')
        report, _ = self.redrive("--to", "orders", "--rule", "/a = 1 -> billing", "--rule", '/a != 2 -> legacy')
        self.assertEqual(report["by_queue"], {"billing": 1, "legacy": 1, "orders": 1})
        self.refuse("redrive", "dead", "--rule", "/a = 1", status=2, mentions=["--rule", "CONDITION -> QUEUE"])
        self.refuse("redrive", "dead", "--rule", "/a = 1 -> none", "--to", "orders", status=1, mentions=["--rule: none", "NonExistentQueue"])

    def edit(self, identity, *options, status=0):
        return self.quern("dead-letters", "edit", identity, "--queue", "dead", *options, status=status)[1]

    def test_a_message_is_edited_and_sent_back_to_where_it_came_from(self):
        self.die("orders", "wrong", *(f"m{i}" for i in range(20)))
        look = [json.loads(line) for line in self.quern("dead-letters", "dead", "--json", "--count", "100")[0].splitlines()]
        wrong = next(m["message_id"] for m in look if m["body"] == "wrong")
        self.variables["EDITOR"] = "sed -i s/wrong/right/"
        self.assertRegex(self.edit(wrong), f"{wrong}: edited, sent to orders as .*, deleted from dead")
        self.assertEqual(self.counts("dead"), (20, 0, 0))
        got = self.consume("orders")
        self.assertEqual([m["body"] for m in got], ["right"])
        self.assertEqual(got[0]["attributes"]["QuernOriginalId"]["value"], wrong)
        self.assertEqual(got[0]["attributes"]["x-redrive-attempt"]["value"], "1")
        self.assertIn("no message " + wrong, self.edit(wrong, status=1))
        other = next(m["message_id"] for m in look if m["body"] != "wrong")
        for editor, said in (("true", "it is as it was"), ("false", "it was not edited")):
            self.variables["EDITOR"] = editor
            self.assertIn(said, self.edit(other, status=1))
        body = self.folder + "/body"
        with open(body, "w", encoding="utf-8") as text:
            text.write("new\n")
        self.edit(other, "--body", body, "--to", "billing", "--attribute", "by=hand")
        got = self.consume("billing")
        self.assertEqual([(m["body"], m["attributes"]["by"]["value"]) for m in got], [("new", "hand")])
        self.assertEqual(self.counts("dead"), (19, 0, 0))
        other = next(m["message_id"] for m in look if m["message_id"] not in (wrong, other))
        with open(body, "w", encoding="utf-8") as text:
            text.write("x" * 2**20 + "x")
        self.assertIn("stays as it was", self.edit(other, "--body", body, status=1))
        self.assertEqual(self.counts("dead"), (19, 0, 0))

    def test_a_dry_run_moves_nothing(self):
        self.send("dead", "a", "b")
        report, err = self.redrive("--to", "orders", "--dry-run")
        self.assertEqual((report["dry_run"], report["redriven"], report["deleted"]), (True, 2, 0))
        self.assertIn("would redrive 2", err)
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((2, 0, 0), (0, 0, 0)))

    def test_poison_goes_to_its_queue_and_without_one_is_left_and_named(self):
        self.send("dead", "bad", "worse")
        self.redrive("--to", "orders")
        self.die("orders")  # both have been redriven once
        report, err = self.redrive("--to", "orders", "--max-attempts", "1", status=1)
        self.assertEqual(report["left"], 2)
        self.assertIn(report["left_messages"][0]["id"], err)
        report, _ = self.redrive("--to", "orders", "--max-attempts", "1", "--poison-queue", "poison")
        self.assertEqual(report["isolated"], 2)
        got = self.consume("poison")
        self.assertEqual({m["attributes"]["QuernReason"]["value"] for m in got},
                         {"its attempts are used up (1 of 1)"})

    def test_isolate_moves_what_is_chosen_with_a_reason(self):
        self.send("dead", '{"version": 1}', '{"version": 2}')
        self.quern("redrive", "isolate", "dead", "--to", "poison", "--where-body", "/version = 1", "--reason", "legacy")
        got = self.consume("poison")
        self.assertEqual([m["body"] for m in got], ['{"version": 1}'])
        self.assertEqual(got[0]["attributes"]["QuernReason"]["value"], "legacy")
        self.assertEqual(self.counts("dead"), (1, 0, 0))

    def test_a_sample_shows_and_leaves_them(self):
        self.die("orders", "x" * 100, "short")
        for command in (("redrive", "sample"), ("dead-letters",)):
            out, err = self.quern(*command, "dead")
            self.assertIn("x" * 60 + "…", out)
            self.assertIn("2 from orders, sent 20", out)
            self.assertIn("2 messages of about 2 looked at, which costs each of them a receive; ", err)
            self.assertEqual(self.counts("dead"), (2, 0, 0))
        lines = [json.loads(line) for line in self.quern("dead-letters", "dead", "--json", "--count", "1")[0].splitlines()]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["source"], "orders")
        self.assertEqual(lines[0]["receive_count"], 4)  # one at its queue, and three looks
        out, _ = self.quern("dead-letters", "dead", "--body", "100")
        self.assertIn("x" * 100, out)
        self.assertNotIn("…", out)

    def test_a_sample_groups_by_source_by_reason_and_by_whatever_is_asked_for(self):
        self.send("dead", *(json.dumps({"version": version}) for version in (1, 1, 1, 2)))
        self.die("orders", json.dumps({"version": 2}))
        self.quern("redrive", "isolate", "dead", "--to", "poison", "--where-body", "/version = 1", "--reason", "legacy")
        self.die("billing", "no JSON")
        out, _ = self.quern("dead-letters", "dead", "--groups", "--by", "/version")
        self.assertEqual(sorted(line.split(", sent ")[0].strip() for line in out.splitlines()),
                         ["1 from billing", "1 from nobody knows where", "1 from orders", "1 has no readable JSON",
                          "2 with /version = 2"])
        out, _ = self.quern("dead-letters", "poison", "--by", "/version")
        self.assertIn("3 because legacy, sent 20", out)
        self.assertIn("3 with /version = 1, sent 20", out)
        self.assertRegex(out.splitlines()[0], "SOURCE +REASON +BODY")
        told = json.loads(self.quern("dead-letters", "dead", "--groups", "--json", "--by", "/version")[0])
        self.assertEqual({group.get("value"): group["count"] for group in told["by_part"]}, {"2": 2, None: 1})
        self.assertEqual([group.get("unreadable", False) for group in told["by_part"]], [False, True])
        self.assertEqual({group.get("source"): group["count"] for group in told["by_source"]},
                         {"orders": 1, "billing": 1, None: 1})
        self.assertEqual((told["messages"], told["depth"], told["cost"]["receives"], told["cost"]["still_hidden"]),
                         (3, 3, 3, 0))
        _, err = self.quern("dead-letters", "billing")
        self.assertEqual(err, "billing is empty\n")
        self.refuse("dead-letters", "dead", "--by", "version", status=2, mentions=["at character 1: expected attr."])

    # They stayed hidden for a minute, and those of an export for 15.
    def test_a_look_that_a_signal_ends_gives_back_what_it_held(self):
        self.send("dead", *(f"m{i}" for i in range(3000)))
        for told in (signal.SIGINT, signal.SIGTERM):
            running = self.start("dead-letters", "dead", "--count", "10000", "--groups")
            until(lambda: self.counts("dead")[1] >= 100)
            running.send_signal(told)
            out, err = running.communicate(timeout=LIMIT)
            self.assertEqual(running.returncode, 1, err)
            self.assertIn("a signal ended it early", err)
            self.assertRegex(out, " from nobody knows where")
            self.assertEqual(self.counts("dead"), (3000, 0, 0))

    def test_a_second_signal_ends_a_look_at_once(self):
        self.send("dead", *(f"m{i}" for i in range(2000)))
        running = self.start("dead-letters", "dead", "--count", "10000")
        until(lambda: self.counts("dead")[1] >= 100)
        running.send_signal(signal.SIGTERM)
        wait_for(running.stderr, "a second signal ends this at once")
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=LIMIT)
        self.assertIn(running.returncode, (-signal.SIGTERM, 1))  # 1: all was given back before

    def test_a_look_at_a_queue_that_moves_messages_on_says_which_it_will(self):
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 2}
        self.create("thrice", "--attribute", "RedrivePolicy=" + json.dumps(policy))
        self.send("thrice", "m")
        _, err = self.quern("dead-letters", "thrice")
        self.assertNotIn("policy", err)
        told = json.loads(self.quern("dead-letters", "thrice", "--groups", "--json")[0])
        self.assertEqual((told["cost"]["moves_on_after"], told["cost"]["at_their_last"]), (2, 1))
        self.assertEqual(self.counts("dead"), (0, 0, 0))
        _, err = self.quern("dead-letters", "thrice")
        self.assertEqual(err, "thrice: no message could be received, of about 1: they are hidden, or delayed\n")
        self.assertEqual(self.counts("dead"), (1, 0, 0))

    def test_a_rule_that_stops_the_run_has_a_status_of_its_own(self):
        self.die("orders", *(f"m{i}" for i in range(30)))
        over = threading.Event()

        def fail_all():
            while not over.is_set():
                self.die("orders")

        failing = threading.Thread(target=fail_all)
        failing.start()
        try:
            report, err = self.redrive("--canary", "5:60s", "--concurrency", "3", status=5)
        finally:
            over.set()
            failing.join(LIMIT)
        self.assertEqual(report["redriven"], 5)
        self.assertIn("canary: ", report["stopped"])
        self.assertIn("stopped: canary: ", err)

    def test_a_signal_drains(self):
        self.send("dead", *(f"m{i}" for i in range(100)))
        running = self.start("redrive", "dead", "--to", "orders", "--delay-base", "0", "--rate", "2", "--log-level", "debug")
        wait_for(running.stderr, "sent to orders")
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 1, err)
        self.assertIn("it was ended early", err)
        moved = self.counts("orders")[0]
        self.assertGreater(moved, 0)
        self.assertEqual(self.counts("dead"), (100 - moved, 0, 0))

    def test_killed_between_any_two_steps_it_loses_nothing(self):
        self.send("dead", *(f"m{i}" for i in range(300)))
        for _ in range(3):
            running = self.start("redrive", "dead", "--to", "orders", "--delay-base", "0", "--rate", "50",
                                 "--log-level", "debug")
            wait_for(running.stderr, "sent to orders")
            running.kill()
            running.communicate(timeout=LIMIT)
        moved = self.counts("orders")[0]
        self.assertGreaterEqual(moved + sum(self.counts("dead")), 300)
        self.assertLessEqual(moved + sum(self.counts("dead")), 330)  # ten at most in each run

    def test_what_makes_no_sense_is_refused_in_a_line(self):
        refused = {
            ("--where", "type = 1"): "at character 1: expected attr.",
            ("--where-body", "/a < 1"): "at character 4: expected = or !=",
            ("--ramp", "fast"): "is no ramp",
            ("--canary", "10"): "is no canary",
            ("--stop-on-return", "5"): "is no part",
            ("--delay-base", "1 week"): "is no duration",
            ("--delay-max", "16m"): "--delay-max must be 0 to 15 minutes",
            ("--since", "yesterday"): "is no time",
            ("--to", "dead"): "--to is the dead-letter queue itself",
            ("--name", "x"): "--journal",
            ("--journal", "x", "--keep"): "--keep",
            ("--breaker-flag", "ftp:/x"): "is no flag: file:PATH",
            **{(option, ""): f"{option}: must not be empty"
               for option in ("--id", "--group", "--reason", "--to", "--poison-queue", "--journal", "--report")},
        }
        for options, mention in refused.items():
            with self.subTest(options=options):
                self.refuse("redrive", "dead", *options, status=2, mentions=[mention])
        self.refuse("redrive", status=2, mentions=["DLQ"])
        self.refuse("redrive", "isolate", "dead", "--to", "poison", "--reason", "", status=2, mentions=["--reason"])
        self.refuse("redrive", "absent", status=1, mentions=["absent", "NonExistentQueue"])
        self.refuse("redrive", "dead", "--poison-queue", "absent", status=1, mentions=["--poison-queue absent"])
        self.refuse("redrive", "poison", status=2, mentions=["is the dead-letter queue of no queue"])

    def test_a_line_of_metrics_has_the_counts_and_says_what_they_are(self):
        self.send("dead", "a", "b")
        out, _ = self.quern("redrive", "dead", "--to", "orders", "--metrics", "emf")
        line = json.loads(out)
        self.assertEqual((line["SuccessfulRedrives"], line["PoisonPillsIsolated"], line["RedriveFailures"]), (2, 0, 0))
        metrics = line["_aws"]["CloudWatchMetrics"][0]
        self.assertEqual((metrics["Namespace"], metrics["Dimensions"]), ("DLQRedriver", [["QueueName"]]))
        self.assertLessEqual({metric["Name"] for metric in metrics["Metrics"]}, set(line))

    # Who has no log that CloudWatch takes in had no alarm on failed redrives.
    def test_cloudwatch_is_told_the_counts_of_each_process_once(self):
        with Server(CloudWatch) as cloudwatch:
            cloudwatch.told = []
            self.variables["AWS_ENDPOINT_URL_CLOUDWATCH"] = f"http://127.0.0.1:{cloudwatch.server_port}"
            journal = ("--journal", self.folder + "/journal", "--metrics", "cloudwatch")
            self.send("dead", "a", "b", "c")
            self.quern("redrive", "dead", "--to", "orders", "--delay-base", "0", *journal, "--breaker-flag",
                       "file:" + self.folder + "/flag", status=5)
            with open(self.folder + "/flag", "w", encoding="utf-8") as flag:
                flag.write("closed")
            self.quern("redrive", "resume", *journal)
        target, first, last = cloudwatch.told[0][0], *[body for _, body in cloudwatch.told]
        self.assertEqual(target, "GraniteServiceVersion20100801.PutMetricData")
        self.assertEqual((first["Namespace"], first["MetricData"][0]["Dimensions"]),
                         ("DLQRedriver", [{"Name": "QueueName", "Value": "dead"}]))
        self.assertEqual([{m["MetricName"]: m["Value"] for m in body["MetricData"]}["SuccessfulRedrives"]
                          for body in (first, last)], [0, 3])

    def test_a_cloudwatch_that_refuses_changes_no_exit_status(self):
        self.variables["AWS_ENDPOINT_URL_CLOUDWATCH"] = "http://127.0.0.1:1"
        self.send("dead", "a")
        _, err = self.quern("redrive", "dead", "--to", "orders", "--delay-base", "0", "--metrics", "cloudwatch")
        self.assertIn("metrics: not sent to CloudWatch: ", err)

    # A report to /dev/stdout, written by root, took the place of the device.
    def test_a_report_takes_the_place_of_no_device_or_pipe(self):
        pipe = self.folder + "/pipe"
        os.mkfifo(pipe)
        self.refuse("redrive", "dead", "--to", "orders", "--report", pipe, status=1, mentions=["--report", "no plain file"])
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_sqs_can_move_them_where_nothing_more_is_asked(self):
        self.die("orders", "a", "b")
        self.refuse("redrive", "dead", "--native", "only", "--limit", "1", status=2, mentions=["--native only", "--limit"])
        _, err = self.quern("redrive", "dead", "--native", "only", "--rate", "100")
        self.assertIn("moved 2", err)
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((0, 0, 0), (2, 0, 0)))
        self.send("dead", "c")
        _, err = self.quern("redrive", "dead", "--native", "auto", "--to", "orders", "--limit", "1")
        self.assertIn("redriven 1", err)

    def test_a_person_is_asked_first(self):
        self.send("dead", "m")
        for answer, left in (("n", 1), ("y", 0)):
            ours, theirs = pty.openpty()
            running = self.start("redrive", "dead", "--to", "orders", stdin=theirs)
            os.close(theirs)
            os.write(ours, (answer + "\n").encode())
            _, err = running.communicate(timeout=LIMIT)
            os.close(ours)
            self.assertIn("dead has about 1 messages. Redrive them to orders? [y/N]", err)
            self.assertEqual(self.counts("dead"), (left, 0, 0))


class RedrivingFifo(ProgramTest):
    def test_groups_keep_their_order(self):
        for name in ("dead", "orders"):
            self.create(name, "--fifo")
        for group in "ab":
            self.quern("send", "dead.fifo", "--group", group, stdin="".join(f"{n}\n" for n in range(20)))
        self.quern("redrive", "dead.fifo", "--to", "orders.fifo", "--delay-base", "0")
        got = self.consume("orders.fifo")
        for group in "ab":
            self.assertEqual([int(m["body"]) for m in got if m["group"] == group], list(range(20)))


if __name__ == "__main__":
    unittest.main()
