#!/usr/bin/env python3
"""Alarms on a queue and its dead letters, as `quern alarms` sets them or writes them down."""

import http.server
import json
import unittest

from program import ProgramTest, Server

TOPIC = "arn:aws:sns:us-east-1:000000000000:on-call"


class CloudWatch(Server):
    def __init__(self):
        self.status = 200
        self.alarms = []
        self.deleted = []
        self.signed = []
        super().__init__(Answer)


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers["X-Amz-Target"].removeprefix("GraniteServiceVersion20100801.")
        known = operation in ("PutMetricAlarm", "DeleteAlarms")
        self.server.signed.append(self.headers["Authorization"])
        text = b"{}"
        if self.server.status != 200 or not known:
            text = b'{"__type":"LimitExceeded","message":"too many alarms"}'
        elif operation == "PutMetricAlarm":
            self.server.alarms.append(json.loads(body))
        else:
            self.server.deleted += json.loads(body)["AlarmNames"]
        self.send_response(self.server.status if known else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Alarms(ProgramTest):
    def setUp(self):
        super().setUp()
        self.cloudwatch = self.enterContext(CloudWatch())
        self.variables["AWS_ENDPOINT_URL_CLOUDWATCH"] = f"http://127.0.0.1:{self.cloudwatch.server_port}"
        self.quern("queue", "create", "orders-dead")
        arn = "arn:aws:sqs:us-east-1:000000000000:orders-dead"
        self.quern("queue", "create", "orders", "--attribute",
                   "RedrivePolicy=" + json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3}))

    def names(self):
        return [alarm["AlarmName"] for alarm in self.cloudwatch.alarms]

    def test_the_dead_letter_queue_is_found_and_everything_set(self):
        out, _ = self.quern("alarms", "put", "--queue", "orders", "--topic", TOPIC, "--topic", TOPIC + "2",
                            "--poison-queue", "orders-poison", "--max-age", "2h")
        self.assertEqual(out.splitlines(), ["quern orders: dead letters", "quern orders: poison", "quern orders: age",
                                            "quern orders: failed redrives"])
        self.assertEqual(self.names(), out.splitlines())
        dead, poison, age, _ = self.cloudwatch.alarms
        self.assertEqual(dead["Dimensions"], [{"Name": "QueueName", "Value": "orders-dead"}])
        self.assertEqual(dead["AlarmActions"], [TOPIC, TOPIC + "2"])
        self.assertEqual(poison["Dimensions"], [{"Name": "QueueName", "Value": "orders-poison"}])
        self.assertEqual(age["Threshold"], 7200)

    # Alarms without a topic told nobody, and nothing said so; what was set once stayed for ever.
    def test_alarms_that_tell_nobody_are_told_of_and_what_was_set_can_be_deleted(self):
        _, err = self.quern("alarms", "put", "--queue", "orders")
        self.assertIn("no --topic: the alarms tell nobody", err)
        _, err = self.quern("alarms", "put", "--queue", "orders", "--topic", TOPIC)
        self.assertEqual(err, "")
        out, _ = self.quern("alarms", "delete", "--queue", "orders")
        self.assertEqual(out.splitlines(), ["quern orders: dead letters", "quern orders: poison", "quern orders: age",
                                            "quern orders: failed redrives", "quern orders: quiet groups",
                                            "quern orders: noisy groups"])
        self.assertEqual(self.cloudwatch.deleted, out.splitlines())
        _, err = self.quern("alarms", "put", "--queue", "orders", "--topic", "on-call", status=2)
        self.assertIn('"on-call" is no ARN', err)

    def test_a_queue_without_dead_letters_is_told_of(self):
        out, err = self.quern("alarms", "put", "--queue", "orders-dead")
        self.assertEqual(out, "quern orders-dead: age\n")
        self.assertIn("orders-dead has no dead-letter queue", err)

    def test_a_dry_run_and_show_ask_no_cloudwatch(self):
        dry, _ = self.quern("alarms", "put", "--queue", "orders", "--dry-run")
        shown, _ = self.quern("alarms", "show", "--queue", "orders", "--format", "json")
        template, _ = self.quern("alarms", "show", "--queue", "orders")
        self.assertEqual(dry, shown)
        resources = json.loads(template)["Resources"]
        self.assertEqual([one["Properties"] for one in resources.values()],
                         [json.loads(line) for line in dry.splitlines()])
        self.assertEqual(self.names(), [])

    def test_a_refusal_names_the_alarm_and_the_place(self):
        self.cloudwatch.status = 400
        _, err = self.quern("alarms", "put", "--queue", "orders", status=1)
        self.assertIn("quern orders: dead letters, at 127.0.0.1:", err)
        self.assertIn("LimitExceeded", err)

    def test_a_queue_that_cannot_be_asked_leaves_its_name_to_the_user(self):
        _, err = self.quern("alarms", "put", "--queue", "missing", status=1)
        self.assertIn("--dead-letter-queue", err)
        out, _ = self.quern("alarms", "put", "--queue", "missing", "--dead-letter-queue", "else")
        self.assertEqual(out.splitlines()[0], "quern missing: dead letters")

    def test_the_alarms_are_where_the_url_says_that_the_queue_is(self):
        self.variables["AWS_REGION"] = "eu-west-1"
        self.quern("alarms", "put", "--queue", "https://sqs.us-east-2.amazonaws.com/1/orders", "--dead-letter-queue", "d")
        self.assertIn("/us-east-2/monitoring/", self.cloudwatch.signed[-1])
        self.quern("alarms", "put", "--queue", "orders", "--dead-letter-queue", "d")
        self.assertIn("/eu-west-1/monitoring/", self.cloudwatch.signed[-1])

    def test_rules_ask_nobody(self):
        self.broker.process.terminate()
        out, err = self.quern("alarms", "rules", "--queue", "https://sqs.eu-west-1.amazonaws.com/1/orders")
        self.assertTrue(out.startswith("groups:\n  - name: 'quern orders'\n"), out)
        self.assertNotIn("QuernRedriveFails", out)
        self.assertIn("--dead-letter-queue", err)

    def test_a_dead_letter_queue_has_a_rule_for_its_redrives(self):
        out, err = self.quern("alarms", "rules", "--queue", "orders", "--dead-letter-queue", "dead", "--max-redrive-failures", "25")
        self.assertEqual(err, "")
        self.assertRegex(out, r"QuernRedriveFails\n +expr: '.*\{queue=\"dead\"\}.* > 25'")

    def test_bad_options_are_named(self):
        for words, name in ((["--max-age", "0s"], "--max-age"), (["--max-redrive-failures", "100"], "--max-redrive-failures")):
            _, err = self.quern("alarms", "put", "--queue", "orders", *words, status=2)
            self.assertIn(name, err)
        self.quern("alarms", "put", status=2)

    def test_names_that_are_none_and_a_sixth_topic_are_refused(self):
        wrong = "a\"} or vector(1) #"
        for option in ("--dead-letter-queue", "--poison-queue"):
            _, err = self.quern("alarms", "put", "--queue", "orders", option, wrong, status=2)
            self.assertIn(option, err)
        for name in (wrong, "a'b"):
            _, err = self.quern("alarms", "rules", "--queue", name, status=2)
            self.assertIn("--queue", err)
        five = [word for n in range(5) for word in ("--topic", TOPIC + str(n))]
        self.quern("alarms", "put", "--queue", "orders", *five)
        _, err = self.quern("alarms", "put", "--queue", "orders", *five, "--topic", TOPIC, status=2)
        self.assertIn("--topic", err)


if __name__ == "__main__":
    unittest.main()
