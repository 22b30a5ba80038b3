#!/usr/bin/env python3
"""`quern relay`: what its operators see of the web service's answers, when messages come again, and what it does in
place of other relays."""

import hashlib
import hmac
import json
import os
import unittest
import urllib.request

from program import Broker, ProgramTest, wait_for
from relay import Service


class Answers(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def relay(self, *arguments, **more):
        return self.quern("relay", *arguments, "--until-empty", "--wait-time", "1", **more)

    @staticmethod
    def first_fails(status, headers=None):
        """An answer that is `status` for the first request of each body, and 200 for the next."""
        seen = set()

        def answer(path, its, body):
            known = body in seen
            seen.add(body)
            return (200, {}, b"") if known else (status, headers or {}, b"")

        return answer

    def test_each_message_has_a_line_with_its_try_and_the_answer(self):
        self.send("orders", "a")
        with Service(self.first_fails(500)) as service:
            _, err = self.relay("orders", service.url, "--log-messages", "info", "--backoff", "1s")
        lines = [line for line in err.splitlines() if " message " in line]
        self.assertRegex(lines[0], r"info: message [0-9a-f-]{36}: try 1, HTTP 500, \d+ ms; again in 1 s$")
        self.assertRegex(lines[1], r"info: message [0-9a-f-]{36}: try 2, HTTP 200, \d+ ms; deleted$")
        self.assertRegex(err, r"warning: retried: [0-9a-f-]{36}: HTTP 500; try 1, again in 1 s")

    def test_lines_of_json_have_fields(self):
        self.send("orders", "a")
        with Service(self.first_fails(409)) as service:
            _, err = self.relay("orders", service.url, "--backoff", "1s", "--log-format", "json")
        told = [json.loads(line) for line in err.splitlines()]
        line = next(line for line in told if line["message"].startswith("retried"))
        self.assertEqual((line["queue"], line["attempt"], line["status"], line["delay_s"]), ("orders", 1, 409, 1))
        self.assertRegex(line["message_id"], "^[0-9a-f-]{36}$")

    def test_different_answers_do_not_hide_each_other(self):
        self.send("orders", *(f"{status}" for status in (404, 404, 404, 500, 408, 403)))
        seen = set()

        def answer(path, headers, body):
            if headers["Quern-Message-Id"] in seen:
                return 200, {}, b""
            seen.add(headers["Quern-Message-Id"])
            return int(body), {}, b""

        with Service(answer) as service:
            _, err = self.relay("orders", service.url, "--backoff", "1s")
        for status in (404, 500, 408, 403):
            self.assertIn(f": HTTP {status}", err)
        self.assertIn("HTTP 404; retried, though no try is likely to help; try 1, again in 1 s (and 1 more like it)", err)

    def test_metrics_count_answers_and_the_page_shows_them(self):
        self.send("orders", "a", "b")
        with Service(lambda path, headers, body: (503 if body == b"a" else 202, {}, b"")) as service:
            relay = self.start("relay", "orders", service.url, "--admin-port", "0", "--wait-time", "1")
            url = wait_for(relay.stderr, "http://127.0.0.1:").split()[-1].rstrip("/")
            while len(service.requests) < 3:
                service.arrived.wait(1)
            page = urllib.request.urlopen(url + "/metrics").read().decode()
            self.assertRegex(page, r'quern_webhook_requests_total\{queue="orders",status="202"\} 1\n')
            self.assertRegex(page, r'quern_webhook_requests_total\{queue="orders",status="503"\} [1-9]')
            out, _ = self.quern("top", url, "--once")
            self.assertRegex(out, "handler refused, .*, try 1: HTTP 503; what it needs is unavailable")
            relay.terminate()
            relay.communicate()

    def test_a_message_that_dies_leaves_its_reason(self):
        self.send("orders", "a")
        self.create("bad")
        with Service(lambda *_: (404, {}, b"")) as service:
            self.relay("orders", service.url, "--backoff", "1s", "--max-tries", "2", "--poison-queue", "bad")
        message = self.consume("bad")[0]
        self.assertIn("at last: HTTP 404", message["attributes"]["QuernReason"]["value"])

    def test_retry_after_has_a_limit_of_ones_own(self):
        self.send("orders", "a")
        with Service(self.first_fails(429, {"Retry-After": "99999"})) as service:
            self.relay("orders", service.url, "--retry-after-max", "1s")
        self.assertEqual(len(service.requests), 2)

    def test_rules_have_their_own_backoff_and_tries(self):
        self.create("bad")
        self.send("orders", "a")
        config = os.path.join(self.folder, "relay.toml")
        with Service(lambda *_: (409, {}, b"")) as service:
            with open(config, "w", encoding="utf-8") as file:
                file.write(f'[relay]\nqueue = "orders"\nurl = "{service.url}"\n[[relay.rule]]\nstatus = 409\ndo = "retry"\n'
                           'backoff = "1s"\ntries = 2\n')
            self.relay("--config", config, "--poison-queue", "bad")
        self.assertEqual(len(service.requests), 2)
        self.assertEqual(self.consume("bad")[0]["attributes"]["QuernReason"]["value"], "HTTP 409; tried 2 times")

    def test_delays_that_make_no_sense_are_refused(self):
        self.refuse("relay", "orders", "http://localhost:1/", "--backoff", "soon", status=2,
                    mentions=["--backoff", "series of delays"])

    def test_a_reply_that_is_no_text_goes_as_base64_and_the_work_is_done_once(self):
        self.create("replies")
        self.send("orders", "a")
        with Service(lambda *_: (200, {}, b"done \x07")) as service:
            self.relay("orders", service.url, "--reply-queue", "replies")
        self.assertEqual(len(service.requests), 1)
        reply = self.consume("replies")[0]
        self.assertEqual((reply["body"], reply["attributes"]["QuernEncoding"]["value"]), ("ZG9uZSAH", "base64"))

    def test_several_queues_have_their_urls(self):
        self.create("mails")
        self.send("orders", "order")
        self.send("mails", "mail")
        with Service() as service:
            _, err = self.relay("orders", service.url + "/orders", "--route", f"mails={service.url}/mails")
        self.assertEqual(sorted((path, body) for _, path, _, body in service.requests),
                         [("/mails", b"mail"), ("/orders", b"order")])
        self.assertRegex(err, "requests 2, acknowledged 2")
        self.refuse("relay", "orders", "http://localhost:1/", "--route", "mails", status=2, mentions=["QUEUE=URL"])

    def test_what_was_published_to_sns_is_unwrapped(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.send("orders", json.dumps({
            "Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:us-east-1:1:t", "Message": '{"order": 7}',
            "Timestamp": "2026-11-20T10:00:00.000Z",
            "MessageAttributes": {"traceparent": {"Type": "String", "Value": trace},
                                  "tenant": {"Type": "String", "Value": "a"}}}), "no notification")
        with Service() as service:
            self.relay("orders", service.url + "/{{id}}", "--format", "sns-message")
        by_body = {body: headers for _, _, headers, body in service.requests}
        self.assertEqual(set(by_body), {b'{"order": 7}', b"no notification"})
        headers = by_body[b'{"order": 7}']
        self.assertEqual((headers["traceparent"], headers["Quern-Attr-tenant"]), (trace, "a"))


class InPlaceOfSqsd(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def test_simple_sqsds_signature_is_that_of_method_url_and_body(self):
        self.send("orders", "the body")
        with Service() as service:
            url = service.url + "/work"
            self.variables.update({
                "SQSD_QUEUE_URL": self.broker.url + "/000000000000/orders", "SQSD_HTTP_URL": url,
                "SQSD_HTTP_HMAC_HEADER": "X-Signature", "SQSD_HMAC_SECRET_KEY": "s3cret",
                "SQSD_HTTP_AUTHORIZATION_HEADER": "token 1", "SQSD_HTTP_AUTHORIZATION_HEADER_NAME": "X-Token"})
            self.quern("relay", "--compat", "sqsd", "--until-empty", "--wait-time", "1")
        _, path, headers, body = service.requests[0]
        wanted = hmac.new(b"s3cret", f"POST {url}\n".encode() + body, hashlib.sha256).hexdigest()
        self.assertEqual((path, headers["X-Signature"], headers["X-Token"]), ("/work", wanted, "token 1"))

    def test_the_daemons_file_is_read_and_messages_choose_their_path(self):
        queues = os.path.join(self.folder, "queues.toml")
        with open(queues, "w", encoding="utf-8") as file:
            file.write('[queues.jobs]\nmessages = [{ body = "a", attributes = { "beanstalk.sqsd.path" = "/nightly/é" } }, '
                       '{ body = "b", attributes = { "beanstalk.sqsd.path" = "/../x" } }]\n')
        with Broker("--queues", queues) as broker, Service() as service:
            config = os.path.join(self.folder, "default.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"queue_url: {broker.url}/000000000000/jobs\nhttp_port: {service.server_port}\n"
                           "http_path: /work\nerror_visibility_timeout: 1\n")
            self.variables = {"AWS_ENDPOINT_URL_SQS": broker.url}
            relay = self.start("relay", "--compat", "sqsd", "--sqsd-config", config)
            wait_for(relay.stderr, "leads upwards")
            relay.terminate()
            relay.communicate()
        self.assertEqual([(r[1], r[3], r[2]["X-Aws-Sqsd-Path"]) for r in service.requests],
                         [("/nightly/%C3%A9", b"a", "/nightly/%C3%A9")])


if __name__ == "__main__":
    unittest.main()
