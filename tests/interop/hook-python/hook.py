"""A web service in Python for the relay's checks, with the packages that its users would take: verifies signatures with
`standardwebhooks`, reads events with `cloudevents`, runs a function with `awslambdaric`.

usage: hook.py [SECRET]    with a secret each request must be signed; answers 401 when it is not
       hook.py --lambda    the function of function.py, invoked as the emulator of Lambda's runtime is

Prints its address, and a line of JSON for each request. Each body is answered with 503 and Retry-After: 1 the first time, and
with 200 from then on; the function answers for itself.
"""
import atexit
import http.server
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
writing = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def note(**told):
    with writing:
        print(json.dumps(told), flush=True)


class Hook(Handler):
    secret = None
    seen = {}

    def do_POST(self):
        body = self.body()
        event, wrong = None, None
        try:
            event = self.look(body)
        except Exception as error:  # whatever a verifier throws
            wrong = f"{type(error).__name__}: {error}"
        key = self.headers["Idempotency-Key"]
        time = self.seen[key] = self.seen.get(key, -1) + 1
        note(headers=dict(self.headers), body=body.decode(), time=time, event=event, wrong=wrong)
        if wrong:
            self.say(401)
        elif time == 0:
            self.say(503, Retry_After="1")
        else:
            self.say(200)

    def look(self, body):
        if self.secret:
            from standardwebhooks import Webhook
            Webhook(self.secret).verify(body, dict(self.headers), json_parse=False)
        is_event = "ce-id" in self.headers or self.headers["Content-Type"].startswith("application/cloudevents")
        return self.read_event(body) if is_event else None

    def read_event(self, body):
        from cloudevents.core.bindings.http import HTTPMessage, from_http_event
        event = from_http_event(HTTPMessage(headers=dict(self.headers), body=body))
        return {"id": event.get_id(), "source": event.get_source(), "type": event.get_type(), "data": event.get_data()}


class Emulator(Handler):
    """Invocations come in at one end; the runtime of the function takes them at the other."""

    invocations = queue.Queue()
    waiting = {}  # by request id
    numbers = itertools.count()

    def do_POST(self):
        if self.path.endswith("/invocations"):
            self.invoke()
        else:
            *_, request, what = self.path.split("/")
            self.waiting.pop(request).put(self.body())
            self.say(202)

    def invoke(self):
        event = self.body()
        record = json.loads(event)["Records"][0]
        note(body=record["body"], record=record)
        request, answered = str(next(self.numbers)), queue.Queue()
        self.waiting[request] = answered
        self.invocations.put((request, event))
        self.say(200, answered.get())  # of an error as well: status alone lies

    def do_GET(self):
        request, event = self.invocations.get()
        self.say(200, event, Lambda_Runtime_Aws_Request_Id=request, Lambda_Runtime_Deadline_Ms="9999999999999",
                 Lambda_Runtime_Invoked_Function_Arn="arn:aws:lambda:us-east-1:000000000000:function:f",
                 Lambda_Runtime_Trace_Id="Root=1-0-0", Content_Type="application/json")


def start_function(address):
    variables = {**os.environ, "AWS_LAMBDA_RUNTIME_API": address, "AWS_LAMBDA_FUNCTION_NAME": "f"}
    runtime = subprocess.Popen([sys.executable, "-m", "awslambdaric", "function.handler"], cwd=HERE, env=variables,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(runtime.kill)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())


def main():
    is_function = sys.argv[1:] == ["--lambda"]
    Hook.secret = sys.argv[1] if len(sys.argv) > 1 else None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Emulator if is_function else Hook) as server:
        server.daemon_threads = True
        address = f"127.0.0.1:{server.server_port}"
        if is_function:
            start_function(address)
        print(address, flush=True)
        server.serve_forever()


main()
