#!/usr/bin/env python3
"""`--metrics` of `quern consume`, and `--log-format`: what is sent, and that nobody waits for who takes it."""

import http.server
import json
import socket
import threading
import time
import unittest

from program import ProgramTest


class Receiver:
    """Keeps what is posted, with its headers, and answers with `status`."""

    def __init__(self, status=200, answer="{}"):
        posts = self.posts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                posts.append((self.path, dict(self.headers.items()), json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Metrics(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("dead")
        self.url = self.create("orders", "--attribute",
                               'RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}')
        self.send("dead", "a", "b")
        self.send("orders", *(f"m{i}" for i in range(25)))

    def run_with(self, form, *options):
        out, err = self.quern("consume", *(options or ["orders"]), "--until-empty", "--wait-time", "1", "--metrics", form)
        return [json.loads(line) for line in out.splitlines()], err

    def test_lines_of_the_embedded_format_go_to_standard_error_and_messages_to_standard_output(self):
        got, err = self.run_with("emf")
        self.assertEqual(len(got), 25)
        lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        self.assertTrue(all(line["QueueName"] == "orders" for line in lines), err)
        self.assertEqual(sum(line.get("MessagesReceived", 0) for line in lines), 25)
        self.assertEqual(sum(line.get("MessagesAcked", 0) for line in lines), 25)
        self.assertEqual([line["DeadLetters"] for line in lines if "DeadLetters" in line], [2])
        spread = next(line["ProcessDuration"] for line in lines if "ProcessDuration" in line)
        self.assertEqual(spread["Count"], 25)

    def test_several_queues_have_lines_of_their_own(self):
        self.create("mails")
        self.send("mails", "a", "b", "c")
        _, err = self.run_with("emf", "orders", "mails")
        received = {}
        for line in err.splitlines():
            if line.startswith("{") and "MessagesReceived" in line:
                told = json.loads(line)
                received[told["QueueName"]] = told["MessagesReceived"]
        self.assertEqual(received, {"orders": 25, "mails": 3})

    def test_an_otlp_receiver_gets_them_at_the_end(self):
        with Receiver() as receiver:
            self.variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k%20y",
                               "OTEL_SERVICE_NAME": "shop"}
            self.run_with("otlp")
        path, headers, body = receiver.posts[-1]
        self.assertEqual((path, headers["api-key"], headers["Content-Type"]), ("/v1/metrics", "k y", "application/json"))
        resource = body["resourceMetrics"][0]
        self.assertEqual(resource["resource"]["attributes"], [{"key": "service.name", "value": {"stringValue": "shop"}}])
        metrics = {m["name"]: m for m in resource["scopeMetrics"][0]["metrics"]}
        self.assertEqual(metrics["messaging.client.consumed.messages"]["sum"]["dataPoints"][0]["asInt"], "25")
        operations = {a["value"]["stringValue"] for p in metrics["quern.requests"]["sum"]["dataPoints"]
                      for a in p["attributes"] if a["key"] == "messaging.operation.name"}
        self.assertIn("DeleteMessageBatch", operations)

    def test_cloudwatch_gets_signed_requests(self):
        with Receiver() as receiver:
            self.variables["AWS_ENDPOINT_URL_CLOUDWATCH"] = receiver.url
            self.run_with("cloudwatch")
        _, headers, body = receiver.posts[-1]
        headers = {name.lower(): value for name, value in headers.items()}
        self.assertEqual(headers["x-amz-target"], "GraniteServiceVersion20100801.PutMetricData")
        self.assertIn("/us-east-1/monitoring/aws4_request", headers["authorization"])
        values = {d["MetricName"]: d.get("Value") for d in body["MetricData"]}
        self.assertEqual(values["MessagesAcked"], 25)

    def test_who_does_not_take_them_is_told_of_and_stops_nothing(self):
        with Receiver(status=503) as receiver:
            self.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url
            got, err = self.run_with("otlp")
        self.assertEqual(len(got), 25)
        self.assertIn("metrics: not exported: ", err)

    def test_who_never_answers_is_not_waited_for(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
            began = time.monotonic()
            got, _ = self.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--metrics", "otlp",
                                "--drain-deadline", "2")
            self.assertEqual(len(got.splitlines()), 25)
            self.assertLess(time.monotonic() - began, 30)

    def test_what_cannot_work_is_refused_at_once(self):
        self.refuse("consume", "orders", "--metrics", "statsd", status=2, mentions=["--metrics"])
        self.variables["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc"
        self.refuse("consume", "orders", "--metrics", "otlp", status=2, mentions=["OTEL_EXPORTER_OTLP_PROTOCOL"])


class LogFormat(ProgramTest):
    def test_each_line_is_json_of_the_format_that_was_asked_for(self):
        self.create("orders")
        for form, members in (("json", {"timestamp", "level", "message", "logger"}),
                              ("ecs", {"@timestamp", "log.level", "message", "log.logger", "ecs.version"})):
            with self.subTest(form):
                self.send("orders", 'a "quoted" one')
                _, err = self.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--log-format", form)
                lines = [json.loads(line) for line in err.splitlines()]
                self.assertEqual({frozenset(line) for line in lines}, {frozenset(members)})
                self.assertRegex(lines[0]["timestamp" if form == "json" else "@timestamp"],
                                 r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                self.assertTrue(any(line["message"].startswith("drained: ") for line in lines), err)


if __name__ == "__main__":
    unittest.main()
