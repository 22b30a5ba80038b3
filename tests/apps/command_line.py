#!/usr/bin/env python3
"""The command line of `quern`: help, errors, queues, sending, the broker."""

import json
import os
import signal
import subprocess
import unittest
import urllib.request
from pathlib import Path

from program import LIMIT, QUERN, Broker, ProgramTest, environment

COMMANDS = (("broker",), ("send",), ("consume",), ("demo",), ("queue",))


class Help(ProgramTest):
    broker_options = None

    def test_the_help_of_every_command_ends_with_an_example_of_it(self):
        self.assertIn("Exit status:", self.quern("--help")[0])
        for command in COMMANDS:
            out, err = self.quern(*command, "--help")
            self.assertEqual(err, "")
            self.assertRegex(out, r"(?s)Examples?:\n.*quern .*" + command[-1])

    def test_the_version_is_on_standard_output(self):
        self.assertRegex(self.quern("--version")[0], r"^quern \d+\.\d+\.\d+ \(([0-9a-f]{7,}|commit unknown), (g|Clang)\S* [0-9.]+\)\n$")

    def test_one_version_everywhere(self):
        version = self.quern("--version")[0].split()[1]
        root = Path(__file__).resolve().parents[2]
        for file, before in (("CHANGELOG.md", "## "), ("packaging/vcpkg/quern/vcpkg.json", '"version": "'), ("packaging/Dockerfile", "quern:"),
                             ("docs/examples/relay-compose.yaml", "quern:"), ("docs/guide/installing.md", "quern:")):
            self.assertIn(before + version, (root / file).read_text(), file)

    def test_a_wrong_command_line_is_one_line_that_names_the_mistake_and_the_help(self):
        for arguments, mentions in (
            ((), ["quern --help"]),
            (("grind",), ["quern --help", "grind"]),
            (("send",), ["QUEUE", "quern send --help"]),
            (("broker",), ["--port", "quern broker --help"]),
            (("queue", "create"), ["NAME", "quern queue create --help"]),
            (("consume", "q", "--max-in-flight", "0"), ["--max-in-flight"]),
            (("consume", "q", "--wait-time", "21"), ["--wait-time"]),
            (("consume", "q", "--max-bytes-in-flight", "64"), ["--max-bytes-in-flight", "64MiB"]),
            (("consume", "q", "--max-bytes-in-flight", "lots"), ["--max-bytes-in-flight"]),
            (("consume", "q", "--rate", "0"), ["--rate", "30/min"]),
            (("consume", "q", "--rate", "5/day"), ["--rate"]),
            (("consume", "q", "--rate", "nan"), ["--rate"]),
            (("consume", "q", "--burst", "5"), ["--rate"]),
            (("consume", "q", "--stall-after", "0"), ["--stall-after", "30s", "none"]),
            (("consume", "q", "--on-group-failure", "3"), ["--on-group-failure", "retry", "skip", "park", "halt"]),
            (("consume", "q", "--park-for", "0"), ["--park-for"]),
            (("consume", "q", "--tenant", "customer"), ["--tenant", "group, attribute:NAME or body:/json/pointer"]),
            (("send", "q", "--size", "9"), ["--size", "--count"]),
            (("send", "q", "--group", "two words"), ["--group"]),
            (("broker", "--port", "0", "--account", "12"), ["--account", "12 digits"]),
            (("broker", "--port", "0", "--host", "nowhere"), ["host", "nowhere"]),
            (("broker", "--port", "0", "--key", "half"), ["--key", "ID:SECRET"]),
            (("broker", "--port", "0", "--key", "a:b:c"), ["accounts", "12 digits"]),
        ):
            with self.subTest(arguments=arguments):
                self.refuse(*arguments, status=2, mentions=mentions)


class Surroundings(ProgramTest):
    broker_options = None

    def test_without_a_region_it_says_where_to_give_one(self):
        self.variables.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s")
        self.refuse("queue", "list", status=2, mentions=["--region", "AWS_REGION", "--endpoint"])

    def test_half_a_key_is_refused(self):
        self.variables.update(AWS_ACCESS_KEY_ID="k", AWS_ENDPOINT_URL_SQS="http://127.0.0.1:1")
        self.refuse("queue", "list", status=2, mentions=["AWS_SECRET_ACCESS_KEY"])

    def test_amazon_is_never_asked_with_the_keys_of_a_local_broker(self):
        for arguments in (("queue", "list", "--region", "eu-west-1"),
                          ("queue", "purge", "https://sqs.eu-west-1.amazonaws.com/123456789012/orders")):
            self.refuse(*arguments, status=2, mentions=["AWS_ACCESS_KEY_ID"])

    def test_without_any_keys_it_lists_where_it_has_looked(self):
        self.refuse("queue", "list", "--region", "eu-west-1", status=2,
                    mentions=["the environment", "web identity", 'the profile "default"', "the container",
                              "the instance (switched off by AWS_EC2_METADATA_DISABLED)", "aws sso login"])

    def test_the_keys_of_a_profile_are_found(self):
        config = os.path.join(self.folder, "config")
        with open(config, "w", encoding="utf-8") as file:
            file.write("[profile mine]\naws_access_key_id = mine\naws_secret_access_key = secret\n"
                       "[profile printed]\ncredential_process = cat " + self.folder + "/printed\n"
                       "[profile half]\naws_access_key_id = mine\n")
        with open(os.path.join(self.folder, "printed"), "w", encoding="utf-8") as file:
            json.dump({"Version": 1, "AccessKeyId": "mine", "SecretAccessKey": "secret"}, file)
        with Broker(AWS_ACCESS_KEY_ID="mine", AWS_SECRET_ACCESS_KEY="secret") as broker:
            self.variables.update(AWS_CONFIG_FILE=config, AWS_ENDPOINT_URL_SQS=broker.url)
            self.quern("queue", "list", "--profile", "mine")
            self.quern("queue", "list", "--profile", "printed")
            self.refuse("queue", "list", "--profile", "half", status=2,
                        mentions=['profile "half": aws_secret_access_key is missing'])
            self.refuse("queue", "list", "--profile", "absent", status=2, mentions=["--profile", "absent"])
            self.variables["AWS_PROFILE"] = "mine"
            self.quern("queue", "list")
            self.variables.update(AWS_ACCESS_KEY_ID="other", AWS_SECRET_ACCESS_KEY="s")
            self.refuse("queue", "list", status=1, mentions=["InvalidClientTokenId"])
            self.quern("queue", "list", "--profile", "mine")

    def test_an_endpoint_that_is_no_url_is_refused_by_name(self):
        self.refuse("queue", "list", "--endpoint", "localhost", status=2, mentions=["--endpoint"])
        self.refuse("queue", "purge", "ftp://x/y", status=2, mentions=["QUEUE"])

    def test_when_nobody_listens_it_asks_for_the_broker(self):
        with Broker() as gone:
            url = gone.url
        self.refuse("queue", "list", "--endpoint", url, status=1,
                    mentions=["Connection refused", "quern broker", "--endpoint"])
        self.refuse("consume", url + "/000000000000/orders", status=1, mentions=["Connection refused"])

    def test_wrong_keys_are_blamed_on_their_variables(self):
        with Broker(AWS_ACCESS_KEY_ID="mine", AWS_SECRET_ACCESS_KEY="secret") as broker:
            self.refuse("queue", "list", "--endpoint", broker.url, status=1, mentions=["AWS_ACCESS_KEY_ID"])
            self.variables.update(AWS_ACCESS_KEY_ID="mine", AWS_SECRET_ACCESS_KEY="wrong")
            self.refuse("queue", "list", "--endpoint", broker.url, status=1, mentions=["AWS_SECRET_ACCESS_KEY"])
            self.variables["AWS_SECRET_ACCESS_KEY"] = "secret"
            self.quern("queue", "list", "--endpoint", broker.url)

    def test_without_auth_any_key_will_do(self):
        with Broker("--no-auth") as broker:
            self.variables.update(AWS_ACCESS_KEY_ID="any", AWS_SECRET_ACCESS_KEY="thing")
            self.quern("queue", "list", "--endpoint", broker.url)


class Streams(ProgramTest):
    """Standard streams that are closed, or take nothing."""

    def setUp(self):
        super().setUp()
        self.url = self.create("orders")

    def with_streams(self, redirection, *arguments, status, stdin=""):
        """Standard error, when it is not redirected."""
        done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', QUERN, *arguments], input=stdin, text=True,
                              capture_output=True, timeout=LIMIT, env=environment(**self.variables))
        self.assertEqual(done.returncode, status, f"{arguments} {redirection}\n{done.stderr}")
        return done.stderr

    def test_output_that_cannot_be_written_is_an_error_of_one_line(self):
        for redirection in (">/dev/full", ">&-"):
            for arguments in (("queue", "list"), ("queue", "attributes", "orders"), ("--help",), ("--version",),
                              ("demo", "--messages", "10")):
                with self.subTest(arguments=arguments, redirection=redirection):
                    err = self.with_streams(redirection, *arguments, status=1)
                    self.assertRegex(err, r"\Aquern: .*standard output\n\Z")

    def test_a_standard_error_that_takes_nothing_ends_nothing(self):
        for redirection in ("2>/dev/full", "2>&-"):
            with self.subTest(redirection=redirection):
                self.with_streams(redirection, "send", "orders", stdin="a\nb\n", status=0)
                self.with_streams(redirection, "grind", status=2)
        self.assertEqual(self.counts("orders"), (4, 0, 0))

    def test_closed_streams_are_not_taken_for_sockets(self):
        self.with_streams(">&- 2>&-", "send", "orders", stdin="a\n", status=0)
        err = self.with_streams("<&-", "send", "orders", status=1)
        self.assertIn("standard input", err)
        err = self.with_streams(">&-", "consume", "orders", status=1)
        self.assertIn("Bad file descriptor: standard output", err)
        self.assertEqual(self.counts("orders"), (1, 0, 0))


class Queues(ProgramTest):
    def test_a_queue_is_created_found_described_and_deleted(self):
        url = self.create("orders", "--attribute", "VisibilityTimeout=60", "--attribute", "DelaySeconds=1")
        self.assertEqual(url, self.broker.url + "/000000000000/orders")
        self.create("other")
        self.assertEqual(self.quern("queue", "list", "--prefix", "ord")[0], url + "\n")
        self.assertEqual(len(self.quern("queue", "list")[0].splitlines()), 2)

        out, _ = self.quern("queue", "attributes", "orders")
        self.assertIn("VisibilityTimeout=60\n", out)
        told = json.loads(self.quern("queue", "attributes", url, "--json")[0])
        self.assertEqual(dict(line.split("=", 1) for line in out.splitlines()), told)
        self.assertEqual(told["DelaySeconds"], "1")

        self.quern("queue", "delete", "orders")
        self.refuse("queue", "attributes", "orders", status=1, mentions=["NonExistentQueue", "quern queue create"])

    def test_a_purge_leaves_the_queue_and_takes_the_messages(self):
        self.create("orders")
        self.send("orders", "a", "b")
        self.assertEqual(self.counts("orders"), (2, 0, 0))
        self.quern("queue", "purge", "orders")
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_a_fifo_queue_gets_the_name_that_it_needs(self):
        self.assertTrue(self.create("ledger", "--fifo").endswith("/ledger.fifo"))
        self.assertTrue(self.create("ledger.fifo", "--fifo").endswith("/ledger.fifo"))
        self.assertTrue(self.create("journal.fifo").endswith("/journal.fifo"))

    def test_an_attribute_without_a_value_is_a_mistake(self):
        self.refuse("queue", "create", "q", "--attribute", "VisibilityTimeout", status=2, mentions=["--attribute"])

    def test_what_the_service_refuses_is_one_line(self):
        self.refuse("queue", "create", "q", "--attribute", "VisibilityTimeout=soon", status=1,
                    mentions=["InvalidAttributeValue"])


class Sending(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def test_every_line_is_a_message(self):
        lines = [f"line {i} é ☃ \\ \" \t" for i in range(25)] + ["x" * 300_000] * 5 + ["the last one has no line feed"]
        _, err = self.quern("send", "orders", stdin="\n".join(lines))
        self.assertIn("sent 31 of 31", err)
        self.assertEqual(sorted(m["body"] for m in self.consume("orders")), sorted(lines))

    def test_a_line_that_cannot_be_a_message_is_reported_and_the_others_are_sent(self):
        lines = ["first", "", "x" * 1_048_576, "x" * 3_000_000, "bell \a", "last"]
        _, err = self.quern("send", "orders", stdin="\n".join(lines) + "\n", status=1)
        for number in (2, 4, 5):
            self.assertIn(f"message {number} was not sent", err)
        self.assertIn("sent 3 of 6", err)
        self.assertEqual(self.counts("orders"), (3, 0, 0))

    def test_a_message_leaves_before_the_next_line_comes(self):
        sending = self.start("send", "orders", stderr=subprocess.DEVNULL)
        consuming = self.start("consume", "orders", stderr=subprocess.DEVNULL)
        for body in ("one", "two"):
            sending.stdin.write(body + "\n")
            sending.stdin.flush()
            self.assertEqual(json.loads(consuming.stdout.readline())["body"], body)
        sending.stdin.close()
        self.assertEqual(sending.wait(LIMIT), 0)

    def test_made_up_messages_have_the_size_asked_for(self):
        _, err = self.quern("send", "orders", "--count", "37", "--size", "100")
        self.assertIn("sent 37 of 37", err)
        got = self.consume("orders")
        self.assertEqual(len({m["body"] for m in got}), 37)
        self.assertEqual({len(m["body"]) for m in got}, {100})

    def test_a_delay_keeps_messages_from_being_received(self):
        self.quern("send", "orders", "--count", "1", "--delay", "900")
        self.assertEqual(self.counts("orders"), (0, 0, 1))

    def test_a_group_arrives_with_the_message(self):
        self.quern("send", "orders", "--group", "tenant-7", stdin="a\n")
        self.assertEqual(self.consume("orders")[0]["group"], "tenant-7")

    def test_equal_lines_are_messages_of_their_own_on_a_fifo_queue_as_well(self):
        self.create("ledger.fifo", "--fifo", "--attribute", "ContentBasedDeduplication=true")
        self.refuse("send", "ledger.fifo", status=2, mentions=["--group"])
        self.refuse("send", "ledger.fifo", "--group", "g", "--delay", "1", status=2, mentions=["--delay"])
        self.quern("send", "ledger.fifo", "--group", "g", stdin="same\nsame\nsame\n")
        self.assertEqual(self.counts("ledger.fifo"), (3, 0, 0))

    def test_a_dead_endpoint_ends_it_at_once_whatever_is_left_of_the_input(self):
        self.broker.process.terminate()
        self.broker.process.wait(LIMIT)
        url = self.broker.url + "/000000000000/orders"
        _, err = self.quern("send", url, stdin="line\n" * 100_000, status=1)
        self.assertLess(len(err.splitlines()), 5, err[:1000])
        self.assertIn("Connection refused", err)
        read = err.split()[3]  # "sent 0 of 80"
        self.assertIn(f"not sent: 1 to {read}, and what comes after message {read}\n", err)

    def test_a_signal_ends_it_with_what_was_read(self):
        sending = self.start("send", "orders")
        consuming = self.start("consume", "orders", stderr=subprocess.DEVNULL)
        sending.stdin.write("one\ntwo\n")
        sending.stdin.flush()
        for _ in range(2):
            consuming.stdout.readline()
        sending.terminate()
        self.assertEqual(sending.wait(LIMIT), 1)
        self.assertEqual(sending.stderr.read(),
                         "sent 2 of 2\ninterrupted: what comes after message 2 was not sent\n")


class SendingInOrder(ProgramTest):
    broker_options = None

    def broker(self, faults):
        """One on which sends go wrong like this, and a FIFO queue on it."""
        path = self.folder + "/faults.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"by_operation": {"SendMessageBatch": faults}}, file)
        self.started = self.enterContext(Broker("--no-auth", "--faults", path))
        self.variables["AWS_ENDPOINT_URL_SQS"] = self.started.url
        self.create("ledger.fifo", "--fifo")

    def call(self, operation, **members):
        asked = urllib.request.Request(self.started.url, data=json.dumps({"QueueUrl": "ledger.fifo", **members}).encode(),
                                       headers={"X-Amz-Target": "AmazonSQS." + operation})
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            return json.loads(answer.read() or "{}")

    def received(self):
        bodies = []
        while got := self.call("ReceiveMessage", MaxNumberOfMessages=10).get("Messages"):
            bodies += [m["Body"] for m in got]
            self.call("DeleteMessageBatch", Entries=[{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]}
                                                     for i, m in enumerate(got)])
        return bodies

    def test_the_lines_for_a_fifo_queue_keep_their_order_also_when_some_have_to_be_sent_again(self):
        self.broker({"server_error": 0.05})
        lines = [str(i) + "x" * 300_000 * (i % 100 == 7) for i in range(1000)]
        self.quern("send", "ledger.fifo", "--group", "g", stdin="\n".join(lines))
        self.assertEqual(self.received(), lines)

    def test_no_line_for_a_fifo_queue_overtakes_one_that_could_not_be_sent(self):
        self.broker({"server_error": 1})
        _, err = self.quern("send", "ledger.fifo", "--group", "g", stdin="line\n" * 100, status=1)
        self.assertEqual(err.splitlines()[:2],
                         ["sent 0 of 10", "not sent: 1 to 10, and what comes after message 10"])
        self.assertEqual(self.received(), [])


class Brokers(ProgramTest):
    broker_options = None

    def test_both_signals_stop_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Broker() as broker:
                broker.process.send_signal(number)
                self.assertEqual(broker.process.wait(LIMIT), 0)

    def test_a_taken_port_is_named(self):
        with Broker() as broker:
            port = broker.url.rsplit(":", 1)[1]
            self.refuse("broker", "--port", port, status=1, mentions=[port, "in use", "--port"])

    def test_region_and_account_are_in_the_names_of_queues(self):
        with Broker("--region", "eu-west-1", "--account", "123456789012") as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.assertTrue(self.create("orders").endswith("/123456789012/orders"))
            self.assertIn("arn:aws:sqs:eu-west-1:123456789012:orders", self.quern("queue", "attributes", "orders")[0])

    def test_without_a_region_each_request_has_its_own(self):
        with Broker("--key", "alice:secret:111111111111", AWS_REGION="eu-north-1") as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            for region in ("us-east-1", "eu-west-1"):
                self.variables["AWS_REGION"] = region
                self.create("orders")
                self.assertIn(f"arn:aws:sqs:{region}:000000000000:orders", self.quern("queue", "attributes", "orders")[0])
            self.variables.update(AWS_ACCESS_KEY_ID="alice", AWS_SECRET_ACCESS_KEY="secret")
            self.assertTrue(self.create("orders").endswith("/111111111111/orders"))

    def test_real_keys_over_plain_http_cause_a_warning(self):
        self.variables.update(AWS_ENDPOINT_URL_SQS="http://sqs.invalid:9", AWS_ACCESS_KEY_ID="AKIAIOSFODNN7ABCDEFG",
                              AWS_SECRET_ACCESS_KEY="secret")
        _, err = self.quern("queue", "list", status=1)
        self.assertIn("warning: http://sqs.invalid:9 is not encrypted", err)
        self.variables["AWS_ACCESS_KEY_ID"] = "test"
        self.assertNotIn("encrypted", self.quern("queue", "list", status=1)[1])

    def test_what_rests_for_a_minute_need_not(self):
        with Broker("--relaxed") as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            for _ in range(2):
                self.create("orders")
                self.quern("queue", "delete", "orders")

    def test_a_query_without_a_signature_is_served_where_nobody_signs(self):
        with Broker("--no-auth", AWS_REGION="eu-north-1") as broker:
            with urllib.request.urlopen(broker.url + "/?Action=CreateQueue&QueueName=q", timeout=LIMIT) as answer:
                self.assertIn(b"/000000000000/q</QueueUrl>", answer.read())
            asked = broker.url + "/000000000000/q?Action=GetQueueAttributes&AttributeName.1=QueueArn"
            with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
                self.assertIn(b"arn:aws:sqs:eu-north-1:000000000000:q", answer.read())

    def faults(self, text):
        path = self.folder + "/faults.json"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_a_mistake_in_a_faults_file_is_named_by_its_key(self):
        for text, mention in (
            ("", "faults.json"),
            ("{", "JSON"),
            ("[]", "object"),
            ('{"sed": 1}', "sed"),
            ('{"seed": -1}', "seed"),
            ('{"everywhere": {"trottled": 1}}', "everywhere.trottled"),
            ('{"everywhere": {"throttled": "often"}}', "everywhere.throttled"),
            ('{"everywhere": {"throttled": 1.5}}', "everywhere.throttled"),
            ('{"everywhere": {"latency_max": 0.5}}', "everywhere.latency_max"),
            ('{"by_operation": {"ReceiveMessage": {"slow": 2}}}', "ReceiveMessage.slow"),
            ('{"by_operation": {"ReceiveMessage": 1}}', "by_operation.ReceiveMessage"),
            ('{"by_operation": {"RecieveMessage": {"slow": 1}}}', "by_operation.RecieveMessage"),
        ):
            with self.subTest(text=text):
                self.refuse("broker", "--port", "0", "--faults", self.faults(text), status=2, mentions=[mention])
        self.refuse("broker", "--port", "0", "--faults", self.folder + "/absent", status=2, mentions=["absent"])

    def test_a_faults_file_has_its_effect(self):
        path = self.faults('{"seed": 3, "by_operation": {"ListQueues": {"throttled": 1}}}')
        with Broker("--faults", path) as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.create("orders")
            self.refuse("queue", "list", status=1, mentions=["RequestThrottled"])


if __name__ == "__main__":
    unittest.main()
