"""Our spans and metrics at the collector's own OTLP receiver, and a sender that OpenTelemetry's packages instrument. A check
raises Wrong with what it found."""
import json
import subprocess
import threading

from kits import KITS, Missing
from peers import free_port
from relay_ground import Ground, until
from workloads import LIMIT, Wrong, equal, verdicts


class Collector:
    """Keeps what the receiver has decoded."""

    def __init__(self, ground):
        address = f"127.0.0.1:{free_port()}"
        running = ground.start([KITS["collector"].folder / "collector", address])
        if running.stdout.readline().strip() != "listening":
            raise Missing("the collector's receiver did not start")
        self.variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}", "OTEL_SERVICE_NAME": "shop"}
        self.exports = []
        threading.Thread(target=self.read, args=(running.stdout,), daemon=True).start()

    def read(self, lines):
        for line in lines:
            self.exports.append(json.loads(line))

    def parts(self, resources, scopes, what):
        return [one for export in list(self.exports) for resource in export.get(resources, ())
                for scope in resource[scopes] for one in scope[what]]

    def spans(self):
        """{name: span}, once those of `quern` are there."""
        until(lambda: any(s["name"].startswith("delete ") for s in self.parts("resourceSpans", "scopeSpans", "spans")),
              "a span of the settlement")
        found = self.parts("resourceSpans", "scopeSpans", "spans")
        out = {span["name"]: span for span in found}
        equal(len(out), len(found), "names of spans, of which each comes once")
        return out


def quern(ground, *words, stdin="", **variables):
    done = subprocess.run([ground.program, *words], input=stdin, text=True, capture_output=True, timeout=LIMIT,
                          env=ground.variables(**variables))
    if done.returncode != 0:
        raise Wrong(f"quern {words[0]} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout, done.stderr


def consume(ground, collector, *options):
    _, log = quern(ground, "consume", "orders", "--until-empty", "--wait-time", "1", *options, **collector.variables)
    for word in ("not exported", "spans dropped"):
        if word in log:
            raise Wrong(log.strip()[-300:])


def child_of(child, parent):
    equal((child["traceId"], child.get("parentSpanId")), (parent["traceId"], parent["spanId"]),
          f"trace and parent of {child['name']}")


def tree(ground):
    collector = Collector(ground)
    quern(ground, "send", "orders", "--traces", "otlp", stdin="cake\n", **collector.variables)
    consume(ground, collector, "--traces", "otlp", "--exec", "true")
    spans = collector.spans()
    child_of(spans["process orders"], spans["send orders"])
    child_of(spans["delete orders"], spans["process orders"])
    equal([link["spanId"] for link in spans["receive orders"]["links"]], [spans["send orders"]["spanId"]], "links of the receive")


def many(ground):
    collector = Collector(ground)
    ground.send([f"m{n}" for n in range(2000)])
    consume(ground, collector, "--traces", "otlp")
    until(lambda: len(collector.parts("resourceSpans", "scopeSpans", "spans")) >= 4000, "4000 spans")


def numbers(ground):
    collector = Collector(ground)
    ground.send([f"m{n}" for n in range(20)])
    consume(ground, collector, "--metrics", "otlp")
    until(lambda: collector.exports, "an export")
    metrics = {metric["name"]: metric for metric in collector.parts("resourceMetrics", "scopeMetrics", "metrics")}
    points = metrics["messaging.client.consumed.messages"]["sum"]["dataPoints"]
    equal([int(point["asInt"]) for point in points], [20], "messages consumed")
    counts = [int(point.get("count", 0)) for point in metrics["messaging.process.duration"]["histogram"]["dataPoints"]]
    equal(sum(counts), 20, "durations of handlers")


def from_javascript(ground):
    collector = Collector(ground)
    done = subprocess.run(["node", KITS["otel-js"].folder / "send.cjs", ground.queue, "cake"], text=True, timeout=LIMIT,
                          capture_output=True, env=ground.variables(**collector.variables))
    if done.returncode != 0:
        raise Wrong(f"the sender failed: {done.stderr.strip()[-300:]}")
    consume(ground, collector, "--traces", "otlp", "--exec", "true")
    spans = collector.spans()
    sends = [span for span in spans.values() if span["name"].startswith(("send ", "orders send"))]
    equal(len(sends), 1, f"spans of the sender's send among {sorted(spans)}")
    child_of(sends[0], spans["order"])
    child_of(spans["process orders"], sends[0])
    child_of(spans["delete orders"], spans["process orders"])
    equal(spans["delete orders"]["traceId"], done.stdout.strip(), "the trace that the sender began")


# name: the kits that it needs, its checks
TRACERS = {
    "collector": (("collector",), {"tree": tree, "many": many, "numbers": numbers}),
    "otel-js": (("collector", "otel-js"), {"tree": from_javascript}),
}


def run(name, program):
    return verdicts(TRACERS[name][1], lambda: Ground(program))
