#!/usr/bin/env python3
"""`--traces` of `quern send`, `quern consume` and `quern relay`: spans at a collector, and contexts on their way through."""

import http.server
import json
import os
import socket
import time
import unittest

from metrics import Receiver
from program import ProgramTest, Server, wait_for

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def spans_of(receiver):
    return [span for path, _, body in receiver.posts if path == "/v1/traces"
            for resource in body["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


def value(span, name):
    values = [next(iter(a["value"].values())) for a in span["attributes"] if a["key"] == name]
    return values[0] if values else None


def traceparent(span):
    return f"00-{span['traceId']}-{span['spanId']}-01"


class Traces(ProgramTest):
    def setUp(self):
        super().setUp()
        self.receiver = self.enterContext(Receiver())
        self.variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": self.receiver.url, "OTEL_SERVICE_NAME": "shop"}
        self.create("orders")

    def spans(self):
        """By name, which must be there once."""
        out = {}
        for span in spans_of(self.receiver):
            self.assertNotIn(span["name"], out)
            out[span["name"]] = span
        return out

    def send_traced(self, *bodies, **more):
        self.quern("send", "orders", "--traces", "otlp", stdin="".join(body + "\n" for body in bodies), **more)

    def consume_traced(self, *options, command="consume"):
        return self.quern(command, "orders", *options, "--until-empty", "--wait-time", "1", "--traces", "otlp")

    def test_sender_queue_handler_and_settling_are_one_tree_and_a_command_knows_its_place(self):
        self.send_traced("cake")
        told = os.path.join(self.folder, "told")
        self.consume_traced("--exec", f'echo "$TRACEPARENT/$TRACESTATE" > {told}')
        spans = self.spans()
        self.assertEqual(set(spans), {"send orders", "receive orders", "process orders", "delete orders"})
        root, process, delete = spans["send orders"], spans["process orders"], spans["delete orders"]
        self.assertNotIn("parentSpanId", root)
        self.assertEqual(process["parentSpanId"], root["spanId"])
        self.assertEqual(delete["parentSpanId"], process["spanId"])
        self.assertEqual({s["traceId"] for s in (root, process, delete)}, {root["traceId"]})
        self.assertEqual([s["spanId"] for s in spans["receive orders"]["links"]], [root["spanId"]])
        self.assertEqual({value(s, "messaging.message.id") for s in (root, process, delete)},
                         {value(root, "messaging.message.id")})
        self.assertEqual([s["kind"] for s in (root, process, delete, spans["receive orders"])], [4, 5, 3, 3])
        self.assertLessEqual(int(root["endTimeUnixNano"]), int(process["startTimeUnixNano"]) + 50_000_000)
        self.assertLessEqual(int(process["startTimeUnixNano"]), int(process["endTimeUnixNano"]))
        with open(told, encoding="utf-8") as file:
            self.assertEqual(file.read(), traceparent(process) + "/\n")
        resource = self.receiver.posts[0][2]["resourceSpans"][0]["resource"]["attributes"]
        self.assertEqual(resource, [{"key": "service.name", "value": {"stringValue": "shop"}}])

    def test_a_sender_that_is_part_of_something_goes_on_with_it(self):
        self.variables |= {"TRACEPARENT": CALLER, "TRACESTATE": "a=1"}
        self.send_traced("a")
        span = self.spans()["send orders"]
        self.assertEqual((span["traceId"], span["parentSpanId"]), (CALLER[3:35], CALLER[36:52]))
        got = self.consume("orders")[0]["attributes"]
        self.assertEqual([got[name]["value"] for name in ("traceparent", "tracestate")], [traceparent(span), "a=1"])

    def test_a_command_that_sends_continues_the_tree(self):
        self.create("replies")
        self.send_traced("a")
        program = os.path.join(os.environ["QUERN_BIN_DIR"], "quern")
        self.consume_traced("--exec", f"{program} send replies --traces otlp")
        spans = self.spans()
        self.assertEqual(spans["send replies"]["parentSpanId"], spans["process orders"]["spanId"])
        self.assertEqual(spans["send replies"]["traceId"], spans["send orders"]["traceId"])

    def test_many_messages_have_a_span_each_and_none_is_lost(self):
        self.quern("send", "orders", "--count", "1000", "--size", "20", "--traces", "otlp")
        out, err = self.consume_traced()
        self.assertEqual(len(out.splitlines()), 1000)
        self.assertNotIn("spans dropped", err)
        names = [span["name"] for span in spans_of(self.receiver)]
        for name in ("send orders", "process orders", "delete orders"):
            self.assertEqual(names.count(name), 1000, name)

    def test_a_web_service_gets_the_context_of_the_handler(self):
        seen = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                seen.append((self.headers["traceparent"], self.headers["X-Amzn-Trace-Id"]))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        hook = self.enterContext(Server(Hook))
        self.send_traced("a")
        self.consume_traced(f"http://127.0.0.1:{hook.server_port}/", command="relay")
        process = self.spans()["process orders"]
        self.assertEqual(process["parentSpanId"], self.spans()["send orders"]["spanId"])
        trace = process["traceId"]
        self.assertEqual(seen, [(traceparent(process),
                                 f"Root=1-{trace[:8]}-{trace[8:]};Parent={process['spanId']};Sampled=1")])

    def test_linked_only_the_handler_begins_a_trace(self):
        self.send_traced("a")
        self.consume_traced("--trace-links")
        root, process = self.spans()["send orders"], self.spans()["process orders"]
        self.assertNotIn("parentSpanId", process)
        self.assertNotEqual(process["traceId"], root["traceId"])
        self.assertEqual(process["links"][0]["spanId"], root["spanId"])

    def test_a_failure_is_the_status_and_its_log_line_has_the_trace(self):
        for form, members in (("json", ("message_id", "trace_id", "span_id")), ("ecs", ("message_id", "trace.id", "span.id"))):
            with self.subTest(form):
                self.receiver.posts.clear()
                self.create(form)
                self.send(form, "a")
                running = self.start("consume", form, "--exec", "exit 3", "--wait-time", "1", "--traces", "otlp",
                                     "--log-format", form)
                line = json.loads(wait_for(running.stderr, "handler failed"))
                running.terminate()
                running.communicate(timeout=60)
                process = next(s for s in spans_of(self.receiver) if s["name"] == f"process {form}")
                self.assertEqual([line[name] for name in members],
                                 [value(process, "messaging.message.id"), process["traceId"], process["spanId"]])
                self.assertEqual(process["status"]["code"], 2)
                self.assertEqual(value(process, "error.type"), "threw")

    def test_who_does_not_take_them_is_told_of_and_stops_nothing(self):
        with Receiver(status=400) as receiver:
            self.variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = receiver.url + "/in"
            self.send("orders", "a", "b")
            out, err = self.consume_traced()
            self.assertEqual(len(out.splitlines()), 2)
            self.assertIn("spans dropped: ", err)
            self.assertEqual({path for path, _, _ in receiver.posts}, {"/in"})

    def test_who_never_answers_is_not_waited_for(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
            self.send("orders", "a")
            began = time.monotonic()
            out, err = self.consume_traced("--drain-deadline", "2")
            self.assertEqual(len(out.splitlines()), 1)
            self.assertLess(time.monotonic() - began, 30)
            self.assertIn("the last export took too long", err)

    def test_variables_that_say_no_are_heeded(self):
        for name, word in (("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_TRACES_SAMPLER", "always_off")):
            with self.subTest(name):
                self.variables[name] = word
                self.send_traced("a")
                self.consume_traced()
                self.assertEqual(spans_of(self.receiver), [])
                del self.variables[name]

    def test_without_the_option_nothing_is_sent_and_nothing_is_added(self):
        self.send("orders", "a")
        got = self.consume("orders")
        self.assertEqual(got[0]["attributes"], {})
        self.assertEqual(self.receiver.posts, [])

    def test_what_cannot_work_is_refused_at_once(self):
        self.refuse("consume", "orders", "--traces", "zipkin", status=2, mentions=["--traces"])
        self.refuse("consume", "orders", "--trace-links", status=2, mentions=["--traces"])
        self.variables["OTEL_TRACES_SAMPLER"] = "xray"
        self.refuse("consume", "orders", "--traces", "otlp", status=2, mentions=["OTEL_TRACES_SAMPLER"])
        self.refuse("send", "orders", "--traces", "otlp", status=2, mentions=["OTEL_TRACES_SAMPLER"])


if __name__ == "__main__":
    unittest.main()
