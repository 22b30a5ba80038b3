"""`quern relay` and the proxies, workers and verifiers of others. A check raises Wrong with what it found."""
import json
import signal
import subprocess
from email.utils import formatdate

from kits import KITS
from relay_ground import Ground, until
from workloads import Wrong, equal, verdicts


def plan(number, *answers):
    """A body for the Go hook: what it answers, time after time, until it says 200."""
    return json.dumps({"n": number, "answers": list(answers)})


def nothing_lost(ground, worker, bodies, most_twice=0):
    """Every body arrived and its message is gone; so many came more than once at the most."""
    times = worker.times()
    equal([body for body in bodies if body not in times], [], "lost")
    equal(ground.left(), 0, "left in the queue")
    twice = sum(count - 1 for count in times.values())
    if twice > most_twice:
        raise Wrong(f"{twice} requests came again, {most_twice} may")


# ---- nginx ----

def reload_under_load(ground):
    worker = ground.go_hook()
    nginx, url = ground.nginx(worker)
    bodies = [plan(n, {"wait": "20ms"}) for n in range(3000)]
    ground.send(bodies)
    with ground.relaying(url, "--until-empty", "--concurrency", "30") as running:
        for done in range(500, 3000, 500):
            until(lambda: len(worker.requests) >= done, f"{done} requests")
            nginx.send_signal(signal.SIGHUP)
        log = running.communicate(timeout=120)[1]
    counts = ground.counts(log)
    nothing_lost(ground, worker, bodies, counts.get("perhaps done and retried", 0))
    with_200 = [key for status, key in ground.access_log() if status == "200"]
    equal(len(set(with_200)), 3000, "messages that nginx answered with 200")


def connections_close_early(ground):
    worker = ground.go_hook()
    _, url = ground.nginx(worker, server="keepalive_timeout 1s; keepalive_requests 7;")
    bodies = [plan(n) for n in range(400)]
    ground.send(bodies)
    counts, _ = ground.relay(url, "--concurrency", "5", "--rate", "80")
    nothing_lost(ground, worker, bodies, counts.get("perhaps done and retried", 0))


def too_many_requests(ground):
    worker = ground.go_hook()
    _, url = ground.nginx(worker, outer="limit_req_zone $server_port zone=all:1m rate=40r/s; limit_req_status 429;",
                          location="limit_req zone=all burst=5 nodelay;")
    bodies = [plan(n) for n in range(1500)]
    ground.send(bodies)
    ground.rule = 'status = "429"\ndo = "retry"\nafter = "2s"\n'  # by its backoff a message refused eight times waits for minutes
    counts, _ = ground.relay(url, "--concurrency", "50")
    nothing_lost(ground, worker, bodies)
    statuses = [status for status, _ in ground.access_log()]
    equal(counts.get("refused"), statuses.count("429"), "answers of 429 that were counted")
    late = statuses[-500:].count("429")
    if late > 100:
        raise Wrong(f"{late} of the last 500 requests were refused: it does not ask for less")


def upstream_times_out(ground):
    worker = ground.go_hook()
    _, url = ground.nginx(worker, location="proxy_read_timeout 1s;")
    bodies = [plan(n, {"wait": "5s"}) if n % 10 == 0 else plan(n) for n in range(60)]
    ids = ground.send(bodies)
    counts, _ = ground.relay(url, "--concurrency", "10")
    timed_out = {key for status, key in ground.access_log() if status == "504"}
    equal(sorted(timed_out), sorted(ids[body] for body in bodies[::10]), "messages of which nginx said 504")
    nothing_lost(ground, worker, bodies, len(timed_out))
    equal(counts["unavailable"] >= len(timed_out), True, "504 says that the service is unavailable")


def underscores(ground):
    attribute = {"my_tenant": {"DataType": "String", "StringValue": "a"}}
    for setting, arrives in ("", False), ("underscores_in_headers on;", True):
        worker = ground.go_hook()
        _, url = ground.nginx(worker, server=setting)
        ground.send([plan(0)], MessageAttributes=attribute)
        ground.relay(url, "--header", "X-Tenant: {{attr.my_tenant}}")
        headers = worker.requests[0]["headers"]
        equal("Quern-Attr-My_tenant" in headers, arrives, f"the attribute's own header, with {setting or 'the default'}")
        equal(headers.get("X-Tenant"), ["a"], "a header of one's own name")


def large_bodies(ground):
    worker = ground.go_hook()
    _, url = ground.nginx(worker, server="client_max_body_size 500k;")
    small, large = "s" * 400_000, "l" * 1_000_000
    dead = ground.create("dead")
    arn = ground.call("GetQueueAttributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    ground.call("SetQueueAttributes", QueueUrl=ground.queue, Attributes={
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})})
    ground.send([small])
    ground.send([large])
    _, log = ground.relay(url)
    equal(worker.bodies(), [small], "bodies that nginx let pass")
    equal("HTTP 413; retried, though no try is likely to help" in log, True, "the log warns of 413")
    equal(ground.left(dead), 1, "dead letters")


def unix_socket(ground):
    worker = ground.go_hook()
    socket = ground.folder / "app.sock"
    ground.nginx(worker, server=f"listen unix:{socket};")
    bodies = [plan(n) for n in range(50)]
    ground.send(bodies)
    ground.relay("http://app.internal/hook", "--unix-socket", socket)
    nothing_lost(ground, worker, bodies)
    equal({request["target"] for request in worker.requests}, {"/hook"}, "target")


# ---- haproxy ----

def full_queue(ground):
    worker = ground.go_hook()
    _, url = ground.haproxy(worker, server="maxconn 2", backend="timeout queue 50ms")
    bodies = [plan(n, {"wait": "20ms"}) for n in range(200)]
    ground.send(bodies)
    counts, _ = ground.relay(url, "--concurrency", "20")
    nothing_lost(ground, worker, bodies)
    equal(counts["unavailable"] > 0, True, "some were answered with 503")


def flapping(ground):
    worker = ground.go_hook("-flap", "9,2")  # rarely enough that no message fails eight times, and waits for minutes
    _, url = ground.haproxy(worker, server="check inter 100ms fall 1 rise 1", backend="option httpchk GET /ok")
    bodies = [plan(n, {"wait": "10ms"}) for n in range(1500)]
    ground.send(bodies)
    counts, _ = ground.relay(url, "--concurrency", "10")
    nothing_lost(ground, worker, bodies, counts.get("perhaps done and retried", 0))
    equal(counts["unavailable"] > 0, True, "some were answered with 503")


# ---- workers: what carrier and sqsd leave to their users ----

CARRIER = {"CARRIER_SQS_QUEUE_NAME": "orders", "CARRIER_SQS_RECEIVERS": "2", "CARRIER_SQS_BATCH_SIZE": "10",
           "CARRIER_SQS_RECEIVER_WORKERS": "0"}


def in_place_of_carrier(ground, worker, *options, path="/hook", scheme="http", **more):
    variables = {**CARRIER, "CARRIER_SQS_ENDPOINT": ground.broker,
                 "CARRIER_WEBHOOK_ENDPOINT": f"{scheme}://{worker.address}{path}", **more}
    return ground.relay(None, "--compat", "carrier", *options, **variables)


def carriers_request(ground):
    worker = ground.go_hook()
    csv = {"Body.ContentType": {"DataType": "String", "StringValue": "text/csv"}}
    ground.send(["a,b"], MessageAttributes=csv)
    in_place_of_carrier(ground, worker, "--carrier-time", "ms")
    request = worker.requests[0]
    first = request["headers"].pop("X-Carrier-First-Receive-Time")[0]
    equal(len(first), 13, "digits of the first receive")
    headers = {"Content-Type": ["text/csv"], "X-Carrier-Receive-Count": ["1"], "Content-Length": ["3"]}
    sent = {name: value for name, value in request["headers"].items() if name not in ("User-Agent", "Accept-Encoding")}
    equal(sent, headers, "headers")
    equal((request["method"], request["target"], request["body"]), ("POST", "/hook", "a,b"), "request")


def sqsds_request(ground):
    worker = ground.go_hook()
    ground.send(["work"], MessageAttributes={"Kind": {"DataType": "String", "StringValue": "new"}})
    for url in ("SQSD_WORKER_HTTP_URL", "SQSD_HTTP_URL"):
        ground.send([url], MessageAttributes={"Kind": {"DataType": "String", "StringValue": "new"}})
        ground.relay(None, "--compat", "sqsd", **{"SQSD_QUEUE_URL": ground.queue, url: worker.url + "/work"})
    for request in worker.requests:
        headers = request["headers"]
        equal((headers["X-Aws-Sqsd-Queue"], headers["X-Aws-Sqsd-Attr-Kind"], headers["X-Aws-Sqsd-Receive-Count"]),
              (["orders"], ["new"], ["1"]), "headers")
    equal(len(worker.requests), 3, "requests")


def what_carrier_loses(ground):
    """Each of these is deleted, lost sight of, or sent as a GET there."""
    worker = ground.go_hook()
    in_a_second = {"Retry-After": formatdate(1, usegmt=True), "Date": formatdate(0, usegmt=True)}
    first = {"204": {"status": 204}, "303": {"status": 303, "headers": {"Location": "/other"}},
             "429 with a date": {"status": 429, "headers": in_a_second},
             "429 with 0": {"status": 429, "headers": {"Retry-After": "0"}},
             "503 with 1": {"status": 503, "headers": {"Retry-After": "1"}}}
    bodies = [plan(name, answer) for name, answer in first.items()]
    ground.send(bodies)
    in_place_of_carrier(ground, worker)
    equal(sorted(worker.times().values()), [2] * len(bodies), "each comes twice: only 200 deletes")
    equal({(r["method"], r["target"]) for r in worker.requests}, {("POST", "/hook")}, "no redirect is followed")


def long_retry_after(ground):
    """50000 s are more than SQS takes: the real one is refused, and forgets the message until its lease ends."""
    worker = ground.go_hook()
    ground.send([plan(0, {"status": 429, "headers": {"Retry-After": "50000"}})])
    variables = {**CARRIER, "CARRIER_SQS_ENDPOINT": ground.broker, "CARRIER_WEBHOOK_ENDPOINT": worker.url}
    with ground.relaying(None, "--compat", "carrier", "--visibility-timeout", "3", **variables) as running:
        until(lambda: worker.requests, "the request")
        running.send_signal(signal.SIGTERM)
        log = running.communicate(timeout=60)[1]
    equal(running.returncode, 0, "exit status")
    equal(ground.counts(log)["retried"], 1, "retried")
    with ground.relaying(None, "--compat", "carrier", **variables) as running:
        got = ground.call("ReceiveMessage", QueueUrl=ground.queue, WaitTimeSeconds=5)
        equal(got.get("Messages", []), [], "back after its lease of 3 s")
    equal(ground.left(), 1, "left")


def tls_1_2(ground):
    certificate, key = ground.folder / "cert.pem", ground.folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key],
                   check=True, capture_output=True)
    worker = ground.go_hook("-cert", certificate, "-key", key, "-tls12")
    ground.send(["a"])
    in_place_of_carrier(ground, worker, scheme="https", CARRIER_WEBHOOK_TLS_INSECURE_SKIP_VERIFY="true")
    equal(worker.bodies(), ["a"], "bodies")


def drain(ground):
    """SIGTERM, which the real one does not know: requests end, their messages are deleted, the rest is there at once."""
    worker = ground.go_hook()
    bodies = [plan(n, {"wait": "300ms"}) for n in range(100)]
    ground.send(bodies)
    with ground.relaying(worker.url, "--concurrency", "20", "--visibility-timeout", "60") as running:
        until(lambda: len(worker.requests) >= 30, "some requests")
        running.send_signal(signal.SIGTERM)
        log = running.communicate(timeout=60)[1]
    equal(running.returncode, 0, "exit status")
    counts = ground.counts(log)
    equal(counts["acknowledged"], len(worker.requests), "acknowledged at the end")
    ground.relay(worker.url)
    nothing_lost(ground, worker, bodies)


def node_worker(ground):
    worker = ground.node_hook()
    bodies = [f"order {n}" for n in range(30)]
    ids = ground.send(bodies)
    ground.relay(worker.url)
    equal(worker.times(), {body: 2 for body in bodies}, "each is asked to wait once")
    for request in worker.requests:
        raw = request["headers"]
        headers = dict(zip(raw[::2], raw[1::2]))
        equal(headers["Idempotency-Key"], ids[request["body"]], "the key, the same each time")


# ---- verifiers ----

SECRETS = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2VjcmV0IG51bWJlciB0d28gb2YgMzIgYnl0ZXMhISE=")


def signed(ground, hook):
    """Both secrets sign while they are exchanged; another is refused, each attempt signs anew."""
    files = [ground.folder / f"secret{n}" for n in (0, 1)]
    for file, secret in zip(files, SECRETS):
        file.write_text(secret)
    options = ("--sign-file", files[0], "--sign-file", files[1])
    bodies = ['{"n":1}', '{"text":"\u00fc \u2713 \U0001f600"}', '  {"spaces": "around"} \n']
    for secret in SECRETS:
        worker = hook(secret)
        ground.send(bodies)
        ground.relay(worker.url, *options)
        equal([request["wrong"] for request in worker.requests], [None] * 6, f"signatures with {secret}")
    worker = hook("whsec_" + "AAAA" * 8)
    ground.send(bodies[:1])
    with ground.relaying(worker.url, *options) as running:
        until(lambda: worker.requests, "a request")
    equal("o matching signature found" in worker.requests[0]["wrong"], True, "a wrong secret is refused")


def events(ground, hook):
    for style in ("cloudevents", "cloudevents-structured"):
        worker = hook()
        bodies = ['{"count":3}', '{"text":"\u00fc \u2713 \U0001f600"}']
        ids = ground.send(bodies)
        ground.relay(worker.url, "--format", style)
        equal([request["wrong"] for request in worker.requests], [None] * 4, f"{style} is read")
        for request in worker.requests:
            event = request["event"]
            equal((event["type"], event["source"]), ("com.amazon.sqs.message", "arn:aws:sqs:us-east-1:000000000000:orders"),
                  f"type and source in {style}")
            equal(event["id"] in ids.values(), True, f"the id in {style}")
        equal(sorted(ids[json.dumps(r["event"]["data"], ensure_ascii=False, separators=(",", ":"))] == r["event"]["id"]
                     for r in worker.requests), [True] * 4, f"data in {style}")


# What a function returns for its first event, and whether the relay may delete the messages after that.
LAMBDA = {"null": True, "nothing": True, "no failures": True, "null failures": True, "itself": False, "empty id": False,
          "null id": False, "unknown id": False, "no id": False, "no list": False, "raises": False, "no object": False}


def function(ground):
    worker = ground.python_hook("--lambda")
    ids = ground.send(list(LAMBDA))
    ground.relay(worker.url + "/2015-03-31/functions/function/invocations", "--format", "lambda", "--concurrency", "1")
    times = worker.times()
    equal({body: times[body] == 1 for body in LAMBDA}, LAMBDA, "done after the first event")
    for request in worker.requests:
        record = request["record"]
        equal(record["messageId"], ids[record["body"]], "messageId")
        equal(record["eventSourceARN"], "arn:aws:sqs:us-east-1:000000000000:orders", "eventSourceARN")
        equal(record["attributes"]["ApproximateReceiveCount"] in ("1", "2"), True, "the receive count")


def function_of_batches(ground):
    worker = ground.python_hook("--lambda")
    ground.send([f"{'fail' if n % 3 == 0 else 'fine'} {n}" for n in range(60)])
    counts, _ = ground.relay(worker.url + "/2015-03-31/functions/function/invocations", "--format", "lambda", "--batch", "10",
                             "--batch-window", "1s", "--concurrency", "2")
    equal((counts["acknowledged"], counts["retried"]), (60, 20), "acknowledged, and retried")
    equal(counts["requests"] < 20, True, "ten messages make one request")


# name: (kits, {check: function of a ground})
RELAYS = {
    "nginx": (("proxies", "hook-go"), {
        "reload": reload_under_load, "keep_alive": connections_close_early, "limit_req": too_many_requests,
        "timeout": upstream_times_out, "underscores": underscores, "large": large_bodies, "unix": unix_socket}),
    "haproxy": (("proxies", "hook-go"), {"maxconn": full_queue, "flapping": flapping}),
    "go-worker": (("hook-go",), {
        "carrier": carriers_request, "sqsd": sqsds_request, "answers": what_carrier_loses,
        "long_retry": long_retry_after, "tls_1_2": tls_1_2, "sigterm": drain}),
    "node-worker": (("hook-node",), {
        "again": node_worker, "signed": lambda ground: signed(ground, ground.node_hook),
        "events": lambda ground: events(ground, ground.node_hook)}),
    "python-worker": (("hook-python",), {
        "signed": lambda ground: signed(ground, ground.python_hook),
        "events": lambda ground: events(ground, ground.python_hook), "lambda": function,
        "batches": function_of_batches}),
}


def run(name, quern):
    return verdicts(RELAYS[name][1], lambda: Ground(quern))
