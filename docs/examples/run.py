#!/usr/bin/env python3
"""Runs one example against a broker of its own, and checks what it says.

usage: run.py QUERN EXAMPLE      the built programs
"""

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

LIMIT = 60  # seconds


def expect(found, wanted):
    if found != wanted:
        raise SystemExit(f"expected {wanted!r}, found {found!r}")


def orders(program, quern, environment):
    """Handles what is in the queue, then drains at SIGTERM and leaves nothing behind."""
    def run(*arguments, **more):
        done = subprocess.run([quern, *arguments], env=environment, text=True, check=True, timeout=LIMIT,
                              stdout=subprocess.PIPE, **more)
        return done.stdout

    url = run("queue", "create", "orders").strip()
    run("send", "orders", input="rolls\nbread\ncake\n")
    with subprocess.Popen([program, url], env=environment, text=True, stdout=subprocess.PIPE) as process:
        handled = sorted(process.stdout.readline().strip() for _ in range(3))
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=LIMIT)
    expect(handled, ["bread", "cake", "rolls"])
    expect(rest, "")
    expect(process.returncode, 0)
    counts = run("queue", "attributes", "orders").splitlines()
    for name in ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"):
        expect([line for line in counts if line.startswith(name + "=")], [name + "=0"])
    expect(subprocess.run([program], env=environment, timeout=LIMIT).returncode, 2)


blocking = batches = tokens = orders


def command(*arguments, environment, **more):
    return subprocess.run(arguments, env=environment, text=True, check=True, timeout=LIMIT, stdout=subprocess.PIPE,
                          **more).stdout


def json_orders(program, quern, environment):
    """What is an order is handled, and what is none is in the other queue."""
    urls = [command(quern, "queue", "create", name, environment=environment).strip() for name in ("orders", "bad")]
    command(quern, "send", "orders", environment=environment,
            input='{"item":"rolls","count":3}\nthree rolls\n{"item":"bread","count":1}\n{"item":"cake"}\n')
    with subprocess.Popen([program, *urls], env=environment, text=True, stdout=subprocess.PIPE) as process:
        handled = sorted(process.stdout.readline().strip() for _ in range(2))
        bad = []
        while len(bad) < 2:
            said = command(quern, "consume", "bad", "--until-empty", "--wait-time", "1", environment=environment,
                           stderr=subprocess.DEVNULL)
            bad += [json.loads(line)["body"] for line in said.splitlines()]
        process.send_signal(signal.SIGTERM)
    expect(handled, ["1 bread", "3 rolls"])
    expect(sorted(bad), ["three rolls", '{"item":"cake"}'])
    expect(process.returncode, 0)


nlohmann_spdlog = json_orders


def middleware(program, quern, environment):
    """What comes twice is handled once, and what is no order is thrown away."""
    url = command(quern, "queue", "create", "orders", environment=environment).strip()
    rolls = '{"item":"rolls","count":3}'
    command(quern, "send", "orders", environment=environment,
            input=f'{rolls}\n{rolls}\nthree rolls\n{{"item":"cake","count":1}}\n')
    with subprocess.Popen([program, url], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        said = sorted(process.stdout.readline().strip() for _ in range(5))
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=LIMIT)
    expect(said, ["1 cake", "3 rolls", "done", "done", "done"])
    expect(rest, "")
    expect(process.returncode, 0)


def telling(program, quern, environment):
    """Each end of a message's time here has a line, and the end of the drain has one."""
    url = command(quern, "queue", "create", "orders", environment=environment).strip()
    command(quern, "send", "orders", environment=environment, input="rolls\ncake\n")
    with subprocess.Popen([program, url], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        said = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=LIMIT)
    parts = [re.fullmatch(r"(\w.*): waited (\d+) ms, handled (\d+) ms, settled (\d+) ms\n", line) for line in said]
    expect(sorted(part[1] for part in parts), ["deleted on try 1", "deleted on try 2", "not deleted on try 1"])
    expect([int(part[3]) >= 20 for part in parts], [True] * 3)
    expect(rest, "requests were made, nothing left behind\n")


def watched(program, quern, environment):
    """Its port has probes, metrics and the page."""
    url = command(quern, "queue", "create", "orders", environment=environment).strip()
    command(quern, "send", "orders", environment=environment, input="rolls\ncake\n")
    with subprocess.Popen([program, url], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        at = process.stdout.readline().strip()
        expect(sorted(process.stdout.readline().strip() for _ in range(2)), ["cake", "rolls"])

        def shown(path, wanted):
            for _ in range(LIMIT * 5):
                try:
                    with urllib.request.urlopen(at + path, timeout=LIMIT) as answer:
                        text = answer.read().decode()
                except urllib.error.HTTPError as refused:
                    text = str(refused)
                if wanted in text:
                    return
                time.sleep(0.2)
            raise SystemExit(f"{path}: no {wanted!r} in {text!r}")

        shown("/readyz", "ready")
        shown("/metrics", 'quern_messages_settled_total{queue="orders",outcome="acked"} 2')
        shown("/metrics", 'quern_receives_open{queue="orders"}')
        shown("/explain", '"program":"orders"')
        shown("/", "<html")
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)
    expect(process.returncode, 0)


def tracing(program, quern, environment):
    """Sender, handler, answer and settlement are one tree at the collector."""
    spans = {}

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                spans[span["name"]] = span
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
    urls = [command(quern, "queue", "create", name, environment=environment).strip() for name in ("orders", "answers")]
    command(quern, "send", "orders", "--traces", "otlp", environment=environment, input="cake\n")
    with subprocess.Popen([program, *urls], env=environment) as process:
        answer = ""
        while not answer:
            answer = command(quern, "consume", "answers", "--until-empty", "--wait-time", "1", environment=environment)
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)
    server.shutdown()
    expect(process.returncode, 0)
    expect(json.loads(answer)["body"], "done: cake")
    parents = {name: next((other for other in spans if spans[other]["spanId"] == span.get("parentSpanId")), None)
               for name, span in spans.items() if not name.startswith("receive ")}
    expect(parents, {"send orders": None, "process orders": "send orders", "send answers": "process orders",
                     "delete orders": "process orders"})


def shop_call(program, quern, environment):
    """What the shop says decides: done, rejected, or tried again."""
    said = {"rolls": [204], "stones": [422], "cake": [503, 204]}

    class Shop(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send_response(said[body].pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    url = command(quern, "queue", "create", "orders", environment=environment).strip()
    command(quern, "send", "orders", environment=environment, input="rolls\nstones\ncake\n")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with subprocess.Popen([program, url, "127.0.0.1", str(server.server_port)], env=environment, text=True,
                              stdout=subprocess.PIPE) as process:
            calls = sorted(process.stdout.readline().strip() for _ in range(4))
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=LIMIT)
        server.shutdown()
    expect(calls, ["cake 204", "cake 503", "rolls 204", "stones 422"])
    expect(rest, "nothing left behind\n")
    expect(process.returncode, 0)


def shop_test(program, _, environment):
    expect(output(program, environment), ["handled after 3 calls; leases extended: yes, lost: 0"])


def output(program, environment):
    return subprocess.run([program], env=environment, text=True, check=True, timeout=LIMIT,
                          stdout=subprocess.PIPE).stdout.splitlines()


def client(program, _, environment):
    lines = output(program, environment)
    expect(sorted(line for line in lines if line.startswith("received ")),
           ["received alpha", "received beta", "received gamma"])
    expect(lines[-1], "all deleted")


def vault(program, _, environment):
    environment = {name: value for name, value in environment.items() if not name.startswith("AWS_ACCESS")}
    lines = output(program, environment)
    expect(lines[0], "the vault is asked")
    expect([line.split("/")[-1] for line in lines[1:]], ["letters", "parcels"])


def producer(program, quern, environment):
    def run(*arguments):
        return subprocess.run(arguments, env=environment, text=True, check=True, timeout=LIMIT,
                              stdout=subprocess.PIPE).stdout.split("\n")

    url = run(quern, "queue", "create", "orders")[0]
    expect(run(program, url)[0], "sent 1000 of 1000")
    expect("ApproximateNumberOfMessages=1000" in run(quern, "queue", "attributes", "orders"), True)


def hook(program, quern, environment):
    """The web service of the guide: orders reach it, with its settings, and what is none is in the other queue."""
    for name in ("orders", "bad"):
        command(quern, "queue", "create", name, environment=environment)
    command(quern, "send", "orders", environment=environment,
            input='{"kind":"new","item":"rolls","count":3}\n{"kind":"new"\n{"kind":"old","item":"cake","count":1}\n')
    with subprocess.Popen([sys.executable, "-B", program, "0"], text=True, stdout=subprocess.PIPE) as service:
        try:
            port = service.stdout.readline().split()[-1]
            url = f"http://127.0.0.1:{port}/orders"
            settings = Path(program).with_name("relay.toml")
            command(quern, "relay", "orders", url, "--config", str(settings), "--poison-queue", "bad", "--until-empty",
                    "--wait-time", "1", environment=environment, stderr=subprocess.DEVNULL)
            expect(sorted(service.stdout.readline().strip() for _ in range(2)), ["1 cake", "3 rolls"])
        finally:
            service.terminate()
    bad = command(quern, "consume", "bad", "--until-empty", "--wait-time", "1", environment=environment,
                  stderr=subprocess.DEVNULL)
    expect([json.loads(line)["attributes"]["QuernReason"]["value"] for line in bad.splitlines()], ["no order (HTTP 422)"])
    printed = command(quern, "relay", "--config", str(settings), "--dry-run", environment=environment,
                      input='{"kind":"new"}')
    expect(printed.splitlines()[0], "POST /orders?kind=new HTTP/1.1")


def handler_test(program, _, environment):
    expect(output(program, environment)[0], "handled after 4 tries and 30 h")


def simulated_days(program, _, environment):
    line = output(program, environment)[-1]
    expect(line.partition(": ")[2], "0 not charged, 0 charged twice; 0 days with a broken promise")


def smallest_day(program, _, environment):
    line = output(program, environment)[0]
    expect(bool(re.fullmatch(r"seed \d+: \d+ messages and \d+ incidents, of which 1 and 1 are enough", line.strip())), True)


def main(quern, program):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    broker = subprocess.Popen([quern, "broker", "--port", "0"], env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    try:
        environment["AWS_ENDPOINT_URL_SQS"] = broker.stdout.readline().split()[-1]
        globals()[Path(program).stem](program, quern, environment)
    finally:
        broker.terminate()
        broker.wait(LIMIT)


if __name__ == "__main__":
    main(*sys.argv[1:])
