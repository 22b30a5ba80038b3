#!/usr/bin/env python3
"""`quern` and a service that means harm: what reaches the terminal and the log."""

import hashlib
import http.server
import json
import threading
import time
import unittest

from program import ProgramTest

COMMAND = "\x1b]0;owned\x07\x9b2J"  # sets the title of a terminal, and clears it


class Service(http.server.BaseHTTPRequestHandler):
    """Answers each operation with what the test has put there: a status and an object."""

    protocol_version = "HTTP/1.1"
    answers = {}

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        status, answer = self.answers[self.headers["x-amz-target"].split(".")[1]]
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("x-amzn-requestid", "r\x9b2J")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class HostileService(ProgramTest):
    broker_options = None

    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.variables["AWS_ENDPOINT_URL_SQS"] = f"http://127.0.0.1:{server.server_port}"

    def assert_harmless(self, text):
        controls = [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0]
        self.assertEqual(controls, [], text)

    def test_no_error_commands_the_terminal(self):
        Service.answers = {"ListQueues": (400, {"__type": "a#Evil" + COMMAND, "message": "no" + COMMAND})}
        out, err = self.quern("queue", "list", status=1)
        self.assertIn("Evil", err)
        self.assert_harmless(out + err)

    def test_a_list_without_end_is_given_up(self):
        Service.answers = {"ListQueues": (200, {"QueueUrls": ["http://h/000000000000/q"], "NextToken": "again"})}
        out, err = self.quern("queue", "list", status=1)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("gave the same NextToken twice", err)

    def test_neither_do_urls_and_attributes(self):
        url = "http://localhost/000000000000/q" + COMMAND
        Service.answers = {"ListQueues": (200, {"QueueUrls": [url]}), "CreateQueue": (200, {"QueueUrl": url}),
                           "GetQueueUrl": (200, {"QueueUrl": url}),
                           "GetQueueAttributes": (200, {"Attributes": {"Policy" + COMMAND: "{}" + COMMAND}})}
        for command in (("list",), ("create", "q"), ("attributes", "q"), ("attributes", "q", "--json")):
            out, err = self.quern("queue", *command)
            self.assertTrue(out, command)
            if "--json" in command:
                self.assertEqual(json.loads(out), {"Policy" + COMMAND: "{}" + COMMAND})
            self.assert_harmless(out + err)

    def test_neither_does_what_consumers_say_and_print(self):
        text = "\x7f" + COMMAND + "\u00e9"
        message = {"MessageId": "m" + COMMAND, "ReceiptHandle": "h", "Body": text,
                   "MD5OfBody": hashlib.md5(text.encode()).hexdigest(),
                   "Attributes": {"ApproximateReceiveCount": "1"}}
        Service.answers = {"GetQueueUrl": (200, {"QueueUrl": "http://localhost/000000000000/q"}),
                           "GetQueueAttributes": (200, {"Attributes": {
                               "ApproximateNumberOfMessages" + part: "0" for part in ("", "NotVisible", "Delayed")}}),
                           "ReceiveMessage": (200, {"Messages": [message]}),
                           "ChangeMessageVisibilityBatch": (200, {"Successful": [], "Failed": []}),
                           "DeleteMessageBatch": (200, {"Successful": [], "Failed": [
                               {"Id": "0", "Code": "Evil" + COMMAND, "SenderFault": True, "Message": "no" + COMMAND}]})}
        for command in (("consume", "q"), ("relay", "q", "http://127.0.0.1:9/hook"), ("consume", "q", "--log-format", "ecs")):
            running = self.start(*command, "--drain-deadline", "2")
            time.sleep(1)
            running.terminate()
            out, err = running.communicate(timeout=60)
            self.assertIn("q", err)
            self.assert_harmless(out + err)
            if command[0] == "consume":
                self.assertEqual(json.loads(out.splitlines()[0])["body"], text)
        Service.answers["GetQueueUrl"] = (200, {"QueueUrl": "http://localhost/000000000000/q" + COMMAND})
        refused = self.start("consume", "q")
        out, err = refused.communicate(timeout=60)
        self.assertNotEqual(refused.returncode, 0)
        self.assertEqual(out, "")
        self.assertIn("no queue's name", err)
        self.assert_harmless(err)


if __name__ == "__main__":
    unittest.main()
