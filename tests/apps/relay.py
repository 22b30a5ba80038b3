#!/usr/bin/env python3
"""`quern relay`: what reaches a web service, what becomes of the message, and what the program refuses."""

import http.server
import json
import signal
import threading
import time
import unittest

from program import LIMIT, Broker, ProgramTest, Server, wait_for


class Service(Server):
    """A web service that notes requests, and answers as a function of (path, headers, body) says: status, headers, body."""

    request_queue_size = 256  # fifty connect at once; those for whom there is no place try again seconds later

    def __init__(self, answer=lambda path, headers, body: (200, {}, b"")):
        service = self
        self.requests = []
        self.arrived = threading.Event()
        self.answer = answer

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.arrived.set()
                service.requests.append((self.command, self.path, dict(self.headers), body))
                status, headers, text = service.answer(self.path, self.headers, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = handle_any

            def log_message(self, *_):
                pass

        super().__init__(Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        pass  # whoever asked is gone

    def posts(self):
        return [request for request in self.requests if request[0] != "GET"]


class Relaying(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def relay(self, *arguments, **more):
        return self.quern("relay", *arguments, "--until-empty", "--wait-time", "1", **more)

    def test_every_message_is_posted_once_and_deleted(self):
        self.send("orders", *(f"message {i}" for i in range(300)))
        with Service() as service:
            _, err = self.relay("orders", service.url + "/hook?id={{id}}", "--header", "X-Body: {{body}}")
        self.assertEqual(sorted(r[3].decode() for r in service.requests), sorted(f"message {i}" for i in range(300)))
        for method, path, headers, body in service.requests:
            self.assertEqual(method, "POST")
            self.assertEqual(path, "/hook?id=" + headers["Quern-Message-Id"])
            self.assertEqual(headers["Idempotency-Key"], headers["Quern-Message-Id"])
            self.assertEqual(headers["Quern-Receive-Count"], "1")
            self.assertEqual(headers["X-Body"], body.decode())
            self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(self.counts("orders"), (0, 0, 0))
        self.assertRegex(err, "requests 300, acknowledged 300")

    def test_a_failure_comes_again_with_the_same_key(self):
        self.send("orders", "a")
        seen = []

        def answer(path, headers, body):
            seen.append(headers["Idempotency-Key"])
            return (503, {"Retry-After": "1"}, b"") if len(seen) < 3 else (204, {}, b"")

        with Service(answer) as service:
            self.relay("orders", service.url)
        self.assertEqual(len(seen), 3)
        self.assertEqual(len(set(seen)), 1)
        self.assertEqual([r[2]["Quern-Receive-Count"] for r in service.requests], ["1", "2", "3"])

    def test_what_the_service_answers_goes_to_the_reply_queue(self):
        self.create("replies")
        self.send("orders", "a", "b", "quiet")
        with Service(lambda path, headers, body: (200, {}, b"" if body == b"quiet" else b"re: " + body)) as service:
            self.relay("orders", service.url, "--reply-queue", "replies")
            self.refuse("relay", "orders", service.url, "--reply-queue", "absent", status=1,
                        mentions=["--reply-queue absent", "NonExistentQueue"])
        replies = {m["body"]: m["attributes"]["QuernMessageId"]["value"] for m in self.consume("replies")}
        sent = {"re: " + r[3].decode(): r[2]["Quern-Message-Id"] for r in service.requests if r[3] != b"quiet"}
        self.assertEqual(replies, sent)

    def test_a_batch_is_one_request_and_only_what_its_answer_names_comes_again(self):
        self.send("orders", *(f"{i}" for i in range(40)))

        def answer(path, headers, body):
            failed = [{"itemIdentifier": r["messageId"]} for r in json.loads(body)["Records"]
                      if r["body"] == "7" and r["attributes"]["ApproximateReceiveCount"] == "1"]
            return 200, {}, json.dumps({"batchItemFailures": failed}).encode()

        with Service(answer) as service:
            _, err = self.relay("orders", service.url, "--format", "lambda", "--batch", "10", "--batch-window", "1s",
                                "--concurrency", "2")
        came = [record["body"] for request in service.requests for record in json.loads(request[3])["Records"]]
        self.assertEqual(sorted(came), sorted([f"{i}" for i in range(40)] + ["7"]))
        self.assertLess(len(service.requests), 12)
        self.assertNotIn("Idempotency-Key", service.requests[0][2])
        self.assertRegex(err, "acknowledged 40, retried 1,")
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_the_number_of_requests_finds_itself(self):
        self.send("orders", *(f"{n}" for n in range(200)))
        with Service(lambda path, headers, body: (200, {}, b"")) as service:
            _, err = self.relay("orders", service.url, "--concurrency", "auto")
        self.assertEqual(len(service.requests), 200)
        self.assertRegex(err, "acknowledged 200,")

    # A receive brings ten of a group, and those took the places of other groups.
    def test_as_many_groups_as_requests_may_run_are_brought_side_by_side(self):
        self.create("ledger", "--fifo")
        for group in range(12):
            self.quern("send", "ledger.fifo", "--group", f"g{group}", stdin="".join(f"{n}\n" for n in range(10)))
        side_by_side = threading.Barrier(12)

        def answer(path, headers, body):
            if body == b"0":
                side_by_side.wait(30)
            return 200, {}, b""

        with Service(answer) as service:
            self.relay("ledger.fifo", service.url, "--concurrency", "12")
        self.assertEqual(len(service.requests), 120)

    def test_bodies_fill_a_batch(self):
        self.send("orders", *(f"{i}" * 200_000 for i in range(8)))
        with Service(lambda *_: (200, {}, b"")) as service:
            self.relay("orders", service.url, "--format", "lambda", "--batch", "8", "--batch-window", "1s",
                       "--batch-bytes", "500KiB")
        sizes = [len(json.loads(request[3])["Records"]) for request in service.requests]
        self.assertEqual((sum(sizes), max(sizes)), (8, 2))

    def test_a_redirect_is_not_followed(self):
        self.send("orders", "a")
        first = []

        def answer(path, headers, body):
            first.append(path)
            return (303, {"Location": "/other"}, b"") if len(first) == 1 else (200, {}, b"")

        with Service(answer) as service:
            self.relay("orders", service.url + "/hook")
        self.assertEqual([r[:2] for r in service.requests], [("POST", "/hook")] * 2)

    def test_what_is_rejected_goes_to_the_poison_queue_with_the_rules_reason(self):
        self.create("poison")
        self.send("orders", "good", "bad")
        path = self.folder + "/relay.toml"
        with Service(lambda path, headers, body: (422 if body == b"bad" else 200, {}, b"")) as service:
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'[relay]\nqueue = "orders"\nurl = "{service.url}"\n'
                           '[[relay.rule]]\nstatus = 422\ndo = "reject"\nreason = "invalid"\n')
            self.relay("--config", path, "--poison-queue", "poison")
        poison = self.consume("poison")
        self.assertEqual([m["body"] for m in poison], ["bad"])
        self.assertEqual(poison[0]["attributes"]["QuernReason"]["value"], "invalid (HTTP 422)")

    def test_a_rejected_message_without_a_poison_queue_is_told_by_the_status(self):
        self.send("orders", "bad")
        with Service(lambda *_: (422, {}, b"")) as service:
            _, err = self.relay("orders", service.url, "--reject", "422", status=4)
        self.assertIn("1 rejected and deleted unhandled", err)

    def test_a_rule_that_says_halt_ends_the_program_and_leaves_the_message(self):
        self.send("orders", "a")
        path = self.folder + "/relay.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write('[relay]\n[[relay.rule]]\nstatus = "410"\ndo = "halt"\n')
        with Service(lambda *_: (410, {}, b"")) as service:
            _, err = self.quern("relay", "orders", service.url, "--config", path, "--wait-time", "1", status=1)
        self.assertIn("a rule says halt: HTTP 410", err.splitlines()[-1])
        self.assertEqual(self.counts("orders"), (1, 0, 0))

    def test_sigterm_lets_the_request_under_way_end(self):
        self.send("orders", "a")
        arrived, go = threading.Event(), threading.Event()

        def answer(*_):
            arrived.set()
            go.wait(LIMIT)
            return 200, {}, b""

        with Service(answer) as service:
            relay = self.start("relay", "orders", service.url, "--wait-time", "1")
            self.assertTrue(arrived.wait(LIMIT))
            relay.send_signal(signal.SIGTERM)
            wait_for(relay.stderr, "draining")
            go.set()
            self.assertEqual(relay.wait(LIMIT), 0)
        self.assertEqual(len(service.requests), 1)
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_a_kill_loses_nothing_and_what_comes_twice_has_the_same_key(self):
        bodies = [str(i) for i in range(200)]
        self.send("orders", *bodies)
        with Service() as service:
            lease = ("--visibility-timeout", "3", "--concurrency", "10")
            relay = self.start("relay", "orders", service.url, *lease)
            self.assertTrue(service.arrived.wait(LIMIT))
            relay.kill()
            relay.wait(LIMIT)
            self.relay("orders", service.url, *lease)
        keys = {}
        for _, _, headers, body in service.requests:
            keys.setdefault(body.decode(), set()).add(headers["Idempotency-Key"])
        self.assertEqual(sorted(keys), sorted(bodies))
        self.assertEqual({len(of_one) for of_one in keys.values()}, {1})
        self.assertLessEqual(len(service.requests), len(bodies) + 20)

    def test_the_requests_of_a_fifo_group_come_in_order_though_some_fail(self):
        self.create("ledger", "--fifo")
        for group in "ab":
            self.quern("send", "ledger.fifo", "--group", group, stdin="".join(f"{group}{n}\n" for n in range(6)))

        def answer(path, headers, body):  # every first try of an even number fails
            return (500 if headers["Quern-Receive-Count"] == "1" and int(body[1:]) % 2 == 0 else 200), {}, b""

        with Service(answer) as service:
            self.relay("ledger.fifo", service.url)
        for group in "ab":
            tries = [int(r[3][1:]) for r in service.requests if r[3].startswith(group.encode())]
            self.assertEqual(tries, sorted(tries))
            self.assertEqual(sorted(set(tries)), list(range(6)))

    def test_sighup_takes_settings_up_and_keeps_the_old_ones_after_a_mistake(self):
        path = self.folder + "/relay.toml"

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write("[relay]\n" + text)

        with Service() as service:
            write(f'url = "{service.url}/one"\n')
            relay = self.start("relay", "orders", "--config", path, "--wait-time", "1")
            wait_for(relay.stderr, "consuming")
            write(f'url = "{service.url}/two"\n')
            relay.send_signal(signal.SIGHUP)
            wait_for(relay.stderr, "read again")
            write("timeout = never\n")
            relay.send_signal(signal.SIGHUP)
            self.assertIn(path + ":2:", wait_for(relay.stderr, "stay as they were"))
            self.send("orders", "a")
            self.assertTrue(service.arrived.wait(LIMIT))
            relay.send_signal(signal.SIGTERM)
            self.assertEqual(relay.wait(LIMIT), 0)
        self.assertEqual([r[1] for r in service.requests], ["/two"])

    # SIGHUP's default ended the program, and its supervisor took that for a wish.
    def test_sighup_while_the_service_is_waited_for_is_taken_up_afterwards(self):
        well = threading.Event()
        asked = threading.Event()

        def answer(path, headers, body):
            asked.set()
            return (200 if well.is_set() else 503), {}, b""

        with Service(answer) as service:
            relay = self.start("relay", "orders", service.url, "--wait-time", "1", "--health-url", service.url + "/ok",
                               "--health-interval", "100ms", "--wait-healthy", "60s")
            self.assertTrue(asked.wait(LIMIT))
            relay.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            self.assertIsNone(relay.poll())
            well.set()
            wait_for(relay.stderr, "read again")
            relay.send_signal(signal.SIGTERM)
            self.assertEqual(relay.wait(LIMIT), 0)

    # As the first process of a container it went on waiting, and was killed in the end.
    def test_a_signal_while_the_service_is_waited_for_ends_the_relay_at_once(self):
        self.send("orders", "a")
        for number in (signal.SIGTERM, signal.SIGINT):
            asked, may_answer = threading.Event(), threading.Event()

            def answer(path, headers, body):
                asked.set()
                may_answer.wait(LIMIT)
                return 503, {}, b""

            with Service(answer) as service:
                relay = self.start("relay", "orders", service.url, "--health-url", service.url + "/ok",
                                   "--health-timeout", "300s", "--wait-healthy", "300s")
                self.assertTrue(asked.wait(LIMIT))
                relay.send_signal(number)
                self.assertEqual(relay.wait(LIMIT), 0)
                may_answer.set()
                self.assertIn("nothing was received", relay.stderr.read())
            self.assertEqual(self.counts("orders"), (1, 0, 0))

    def test_tokens_come_from_files_and_stay_out_of_the_log(self):
        self.send("orders", "a")
        token, secret = self.folder + "/token", self.folder + "/secret"
        with open(token, "w", encoding="utf-8") as file:
            file.write("t0ken\n")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
        with Service() as service:
            _, err = self.relay("orders", service.url, "--bearer-file", token, "--sign-file", secret)
        headers = service.requests[0][2]
        self.assertEqual(headers["Authorization"], "Bearer t0ken")
        self.assertTrue(headers["webhook-signature"].startswith("v1,"))
        self.assertEqual(headers["webhook-id"], headers["Quern-Message-Id"])
        self.assertNotIn("t0ken", err)

    def test_a_health_check_that_fails_at_the_start_ends_it_or_is_waited_for(self):
        calls = []

        def answer(path, headers, body):
            calls.append(path)
            return (503 if path == "/ok" and len(calls) < 3 else 200), {}, b""

        self.send("orders", "a")
        with Service(answer) as service:
            health = ("--health-url", service.url + "/ok", "--health-interval", "100ms")
            self.relay("orders", service.url + "/hook", *health, "--wait-healthy", "60s")
            self.assertEqual(calls[:4], ["/ok", "/ok", "/ok", "/hook"] if calls[3] == "/hook" else ["/ok"] * 4)
            self.assertEqual(len(service.posts()), 1)
        with Service(lambda *_: (500, {}, b"")) as service:
            self.refuse("relay", "orders", service.url, "--health-url", service.url, "--health-interval", "100ms",
                        "--wait-healthy", "300ms", status=1, mentions=["--wait-healthy", "HTTP 500"])
            self.assertEqual(service.posts(), [])


class InPlaceOfOthers(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def test_carriers_variables_and_headers(self):
        path = self.folder + "/queues.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write('[queues.lines]\nmessages = [{ body = "a,b", attributes = { "Body.ContentType" = "text/csv" } }]\n')
        with Broker("--queues", path) as broker, Service() as service:
            self.variables = {
                "CARRIER_SQS_ENDPOINT": broker.url, "CARRIER_SQS_QUEUE_NAME": "lines",
                "CARRIER_SQS_RECEIVERS": "2", "CARRIER_SQS_RECEIVER_WORKERS": "0", "CARRIER_SQS_BATCH_SIZE": "10",
                "CARRIER_WEBHOOK_ENDPOINT": service.url + "/hook", "CARRIER_WEBHOOK_REQUEST_TIMEOUT": "1m30s",
                "CARRIER_NEW": "x"}
            _, err = self.quern("relay", "--compat", "carrier", "--until-empty", "--wait-time", "1")
        method, path, headers, body = service.requests[0]
        self.assertEqual((method, path, body), ("POST", "/hook", b"a,b"))
        self.assertEqual(headers["Content-Type"], "text/csv")
        self.assertEqual(headers["X-Carrier-Receive-Count"], "1")
        self.assertRegex(headers["X-Carrier-First-Receive-Time"], r"^\d{10}$")
        self.assertNotIn("Quern-Message-Id", headers)
        self.assertIn("CARRIER_NEW is not known here", err)

    def test_only_200_is_a_success_for_those_who_expect_carrier_or_sqsd(self):
        self.send("orders", "a")
        for compat in ("carrier", "sqsd"):
            with self.subTest(compat), Service() as service:
                calls = []

                def answer(*_):
                    calls.append(1)
                    return (202 if len(calls) == 1 else 200), {}, b""

                service.answer = answer
                self.send("orders", compat)
                self.quern("relay", "orders", service.url, "--compat", compat, "--until-empty", "--wait-time", "1")
                self.assertGreater(len(calls), 1)

    def test_sqsds_variables_and_headers(self):
        self.send("orders", "a")
        with Service() as service:
            self.variables.update({"SQSD_QUEUE_URL": self.broker.url + "/000000000000/orders",
                                   "SQSD_WORKER_HTTP_URL": service.url + "/work", "SQSD_WORKER_TIMEOUT": "60000",
                                   "SQSD_WORKER_CONCURRENCY": "3", "SQSD_RUN_DAEMONIZED": "1"})
            self.quern("relay", "--compat", "sqsd", "--until-empty", "--wait-time", "1")
            for name, remedy in (("CRON_FILE", "scheduler"), ("HTTP_HMAC_HEADER", "SQSD_HMAC_SECRET_KEY"),
                                 ("HMAC_SECRET_KEY", "SQSD_HTTP_HMAC_HEADER"), ("HTTP_HEALTH_PATH", "SQSD_HTTP_URL"),
                                 ("RUN_DAEMONIZED", "--until-empty")):
                before = self.variables.get("SQSD_" + name)
                self.variables["SQSD_" + name] = "x"
                self.refuse("relay", "--compat", "sqsd", status=2, mentions=["SQSD_" + name, remedy])
                self.variables.pop("SQSD_" + name)
                if before:
                    self.variables["SQSD_" + name] = before
        _, path, headers, _ = service.requests[0]
        self.assertEqual(path, "/work")
        self.assertEqual(headers["X-Aws-Sqsd-Queue"], "orders")
        self.assertEqual(headers["X-Aws-Sqsd-Receive-Count"], "1")
        self.assertTrue(headers["User-Agent"].startswith("aws-sqsd/"))


class Looking(ProgramTest):
    broker_options = None

    def test_a_dry_run_prints_the_request_of_a_body(self):
        out, _ = self.quern("relay", "orders", "http://shop:8080/t/{{body:/kind}}", "--dry-run",
                            "--header", "X-Kind: {{body:/kind}}", stdin='{"kind":"new"}\n')
        head, body = out.split("\n\n", 1)
        self.assertEqual(head.splitlines()[:2], ["POST /t/new HTTP/1.1", "Host: shop:8080"])
        self.assertIn("X-Kind: new", head)
        self.assertEqual(body, '{"kind":"new"}\n')

    def test_a_dry_run_takes_a_line_of_consume_and_hides_the_token(self):
        line = {"message_id": "m-1", "body": "hello", "receive_count": 3, "group": "g",
                "attributes": {"tenant": {"type": "String", "value": "a/b"}}}
        token = self.folder + "/token"
        with open(token, "w", encoding="utf-8") as file:
            file.write("t0ken")
        out, _ = self.quern("relay", "orders", "http://shop/{{attr.tenant}}", "--dry-run", "--bearer-file", token,
                            stdin=json.dumps(line))
        self.assertTrue(out.startswith("POST /a%2Fb HTTP/1.1\nHost: shop\n"), out)
        for header in ("Quern-Message-Id: m-1", "Quern-Receive-Count: 3", "Quern-Group-Id: g", "Quern-Attr-tenant: a/b",
                       "Authorization: Bearer (not shown)"):
            self.assertIn("\n" + header + "\n", out)
        self.assertNotIn("t0ken", out)

    def test_a_check_reads_everything_and_asks_for_health_once(self):
        with Service() as service:
            out, _ = self.quern("relay", "orders", service.url, "--check", "--health-url", service.url + "/ok")
            self.assertIn("the health check succeeds", out)
            self.assertEqual([r[:2] for r in service.requests], [("GET", "/ok")])
        self.refuse("relay", "orders", "http://h", "--check", "--sign-file", "/nonexistent", status=2,
                    mentions=["/nonexistent"])
        self.refuse("relay", "orders", "https://h", "--check", "--ca", "/nonexistent", status=2,
                    mentions=["/nonexistent"])

    def test_what_cannot_work_is_refused_by_name(self):
        for arguments, mentions in (
                (["orders"], ["URL"]),
                ([], ["QUEUE"]),
                (["orders", "shop"], ["URL", "http://"]),
                (["orders", "http://{{id}}/"], ["URL", "host"]),
                (["orders", "http://h/{{nothing}}"], ["URL", "nothing"]),
                (["orders", "http://h", "--timeout", "soon"], ["--timeout", "30s"]),
                (["orders", "http://h", "--success", "2x"], ["--success", "2x"]),
                (["orders", "http://h", "--header", "Host: x"], ["--header", "Host"]),
                (["orders", "http://h", "--header", "no colon"], ["--header"]),
                (["orders", "http://h", "--format", "xml"], ["--format", "raw"]),
                (["orders", "http://h", "--headers", "nginx"], ["--headers"]),
                (["orders", "http://h", "--concurrency", "0"], ["--concurrency"]),
                (["orders", "http://h", "--concurrency", "automatic"], ["--concurrency"]),
                (["orders", "http://h", "--client-key", "k.pem"], ["--client-cert"]),
                (["orders", "http://h", "--wait-healthy", "1s"], ["--health-url"]),
                (["orders", "http://h", "--batch", "10"], ["batch", "lambda"]),
                (["orders", "http://h/{{id}}", "--batch", "10", "--format", "lambda"], ["batch", "places"]),
                (["orders", "http://h", "--batch-window", "1s"], ["--batch-window", "--batch"]),
                (["orders", "http://h", "--batch", "10", "--format", "lambda", "--idempotency", "memory"],
                 ["--batch", "--idempotency"]),
                (["orders", "http://h", "--batch", "10", "--format", "lambda", "--reply-queue", "r"],
                 ["--batch", "--reply-queue"]),
                (["orders", "http://h", "--config", "/nonexistent.toml"], ["/nonexistent.toml"])):
            with self.subTest(arguments):
                self.refuse("relay", *arguments, status=2, mentions=mentions)

    def test_a_file_with_a_mistake_is_named_with_line_and_column(self):
        path = self.folder + "/relay.toml"
        for text, mentions in (
                ('[relay]\ntimeout = "soon"\n', ["2:11", "relay.timeout", "30s"]),
                ('[relay]\ntimeuot = "1s"\n', ["2:1", "relay.timeuot", "not known"]),
                ('[relay.bunch]\nsize = 1\n', ["relay.bunch", "not known"]),
                ('[[relay.rule]]\nstatus = "4xx"\n', ["relay.rule", "do"]),
                ('[[relay.rule]]\nstatus = "4xx"\ndo = "drop"\n', ["relay.rule.do", "reject"]),
                ('[relay.headers]\nHost = "x"\n', ["relay.headers.Host"]),
                ('[relay\n', ["no TOML"]),
                ('[queues]\n', ["queues"])):
            with self.subTest(text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.refuse("relay", "orders", "http://h", "--config", path, status=2, mentions=[path, *mentions])


if __name__ == "__main__":
    unittest.main()
