#!/usr/bin/env python3
"""`quern consume --exec`: what the exit status of a command means for its message, and what this machine may lack."""

import json
import resource
import unittest

from program import ProgramTest


class ExecStatuses(ProgramTest):
    broker_options = ("--no-auth",)

    def setUp(self):
        super().setUp()
        self.create("orders")
        self.create("bad")

    def run_for_each(self, command, *arguments, **more):
        return self.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--exec", command, "--poison-queue", "bad",
                          *arguments, **more)

    def reasons(self):
        return sorted(message["attributes"]["QuernReason"]["value"] for message in self.consume("bad"))

    def test_lists_of_statuses_say_what_is_rejected_and_what_is_malformed(self):
        self.send("orders", "3", "5", "0")
        _, err = self.run_for_each("read status; exit $status", "--exec-reject", "3,7-9", "--exec-malformed", "5")
        self.assertEqual(self.reasons(), ["malformed: the command ended with status 5", "the command ended with status 3"])
        self.assertRegex(err, "error: malformed message: .*status 5")

    def test_sysexits_mean_what_its_header_says(self):
        self.send("orders", "65", "77", "0")
        self.run_for_each("read status; exit $status", "--sysexits")
        self.assertEqual(self.reasons(), ["malformed: the command ended with status 65", "the command ended with status 77"])

    def test_without_a_list_every_status_is_tried_again_by_the_backoff(self):
        self.send("orders", "a")
        _, err = self.run_for_each('test "$QUERN_RECEIVE_COUNT" -eq 3 || exit 65', "--backoff", "1s", "--log-messages", "info")
        self.assertRegex(err, "handler failed: .*: the command ended with status 65; try 1, again in 1 s")
        self.assertRegex(err, r"message .*: try 3, handled, \d+ ms; deleted")
        self.assertEqual(self.reasons(), [])

    def test_an_unavailable_status_says_nothing_of_the_message(self):
        self.send("orders", "a")
        _, err = self.run_for_each('test "$QUERN_RECEIVE_COUNT" -eq 2 || exit 4', "--exec-unavailable", "4", "--backoff", "1s")
        self.assertRegex(err, "warning: unavailable: .*: the command ended with status 4; try 1, again in 1 s")

    # It ended in the dead-letter queue: "Argument list too long".
    def test_attributes_that_are_too_long_for_a_variable_are_in_a_file(self):
        self.sqs("SendMessage", "orders", MessageBody="small",
                 MessageAttributes={"document": {"DataType": "String", "StringValue": "x" * 140_000}})
        out, _ = self.run_for_each('cat; echo " [$QUERN_ATTRIBUTES]"; wc -c < "$QUERN_ATTRIBUTES_FILE"')
        body, length = out.splitlines()
        self.assertEqual(body, "small []")
        self.assertGreater(int(length), 140_000)

    # 27 of 100 messages were dead whose command never ran.
    def test_a_machine_without_descriptors_costs_no_message_its_life(self):
        self.create("dead")
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
        self.sqs("SetQueueAttributes", "orders", Attributes={"RedrivePolicy": json.dumps(policy)})
        self.send("orders", *(f"{n}" for n in range(60)))
        _, err = self.run_for_each("sleep 0.1", "--max-in-flight", "60", "--backoff", "1s",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.assertRegex(err, "waiting: .*the command could not be started: ")
        self.assertEqual(self.counts("dead"), (0, 0, 0))


if __name__ == "__main__":
    unittest.main()
