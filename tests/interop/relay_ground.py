"""What the relay's checks stand on: a broker, a web service of others, a proxy in front of it, and `quern relay` between."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kits import KITS, Missing
from peers import free_port, is_open
from workloads import LIMIT, Wrong

ALONE = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any",
         "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def until(holds, what, limit=LIMIT):
    deadline = time.monotonic() + limit
    while not holds():
        if time.monotonic() > deadline:
            raise Wrong(f"not within {limit} s: {what}")
        time.sleep(0.01)


class Worker:
    """A web service that prints its address and then a line of JSON for each request."""

    def __init__(self, running):
        self.running = running
        self.address = running.stdout.readline().strip()
        if not self.address:
            raise Missing(f"{running.args[0]} did not start")
        self.url = f"http://{self.address}"
        self.requests = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.running.stdout:
            self.requests.append(json.loads(line))

    def bodies(self):
        return [request["body"] for request in self.requests]

    def times(self):
        """How often each body came."""
        out = {}
        for body in self.bodies():
            out[body] = out.get(body, 0) + 1
        return out


class Ground:
    """Lives for one check; `quern`: the program."""

    def __init__(self, quern):
        self.program = str(quern)
        self.rule = ""  # a [[relay.rule]] of the settings
        self.stack = ExitStack()

    def __enter__(self):
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="quern-relay-")))
        said = self.start([self.program, "broker", "--port", "0", "--no-auth"]).stdout.readline()
        self.broker = said.split()[-1]
        self.queue = self.create("orders")
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, command, **more):
        """A process that ends with the check."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "env": self.variables(), **more}
        running = subprocess.Popen([str(word) for word in command], **options)

        def end():
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
            for pipe in (running.stdin, running.stdout, running.stderr):
                if pipe:
                    pipe.close()

        self.stack.callback(end)
        return running

    def variables(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_", "CARRIER_"))}
        url = {"AWS_ENDPOINT_URL_SQS": self.broker} if hasattr(self, "broker") else {}
        return {**kept, **ALONE, **url, **more}

    # ---- the queue ----

    def call(self, operation, **request):
        connection = http.client.HTTPConnection(self.broker.removeprefix("http://"), timeout=LIMIT)
        connection.request("POST", "/", json.dumps(request), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{operation}"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise Wrong(f"{operation}: {text!r}")
        return json.loads(text) if text else {}

    def create(self, name, **attributes):
        return self.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]

    def send(self, bodies, **more):
        """{body: message id}"""
        out = {}
        for at in range(0, len(bodies), 10):
            entries = [{"Id": str(n), "MessageBody": body, **more} for n, body in enumerate(bodies[at:at + 10])]
            for done in self.call("SendMessageBatch", QueueUrl=self.queue, Entries=entries)["Successful"]:
                out[bodies[at + int(done["Id"])]] = done["MessageId"]
        return out

    def left(self, queue=None):
        """Messages, hidden ones included."""
        names = ["ApproximateNumberOfMessages" + kind for kind in ("", "NotVisible", "Delayed")]
        told = self.call("GetQueueAttributes", QueueUrl=queue or self.queue, AttributeNames=names)["Attributes"]
        return sum(int(told[name]) for name in names)

    # ---- the relay ----

    def relay(self, url, *options, status=0, **variables):
        """Runs it until the queue is empty; returns its counts and its log."""
        with self.relaying(url, "--until-empty", *options, **variables) as running:
            log = running.communicate(timeout=LIMIT)[1]
        if running.returncode != status:
            raise Wrong(f"quern relay ended with status {running.returncode}: {log.strip()[-300:]}")
        return self.counts(log), log

    @contextmanager
    def relaying(self, url, *options, **variables):
        settings = self.folder / "relay.toml"  # an outage slows nothing
        settings.write_text('[relay]\n[relay.breaker]\nshare = 1\n'
                            + (f"[[relay.rule]]\n{self.rule}" if self.rule else ""))
        words = ["relay", *(("orders", url) if url else ()), "--config", settings, "--wait-time", "1", *options]
        running = subprocess.Popen([self.program, *map(str, words)], text=True, env=self.variables(**variables),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        watchdog = threading.Timer(LIMIT, running.kill)
        watchdog.start()
        try:
            yield running
        finally:
            watchdog.cancel()
            running.kill()
            running.wait()
            running.stderr.close()

    @staticmethod
    def counts(log):
        """The last line of statistics: {"requests": 10, "acknowledged": 9, ...}"""
        lines = [line for line in log.splitlines() if "requests " in line and "acknowledged " in line]
        if not lines:
            raise Wrong(f"the relay told no statistics: {log.strip()[-300:]}")
        found = re.findall(r"([a-z][a-z ]*?) (\d+)(?:,|$)", lines[-1][lines[-1].index("requests "):])
        return {name: int(value) for name, value in found}

    # ---- web services and proxies ----

    def go_hook(self, *options):
        return Worker(self.start([KITS["hook-go"].folder / "hook", *options]))

    def node_hook(self, *arguments):
        return Worker(self.start(["node", KITS["hook-node"].folder / "hook.mjs", *arguments]))

    def python_hook(self, *arguments):
        folder = KITS["hook-python"].folder
        return Worker(self.start([folder / "venv/bin/python", folder / "hook.py", *arguments]))

    def proxy(self, name, settings, port):
        """nginx or haproxy with a file of settings; its process."""
        root = KITS["proxies"].folder / "root"
        path = self.folder / f"{name}.conf"
        path.write_text(settings)
        libraries = ":".join(map(str, root.glob("usr/lib/*-linux-gnu")))
        flags = ["-p", self.folder, "-e", self.folder / "error.log", "-c"] if name == "nginx" else ["-W", "-db", "-f"]
        running = self.start([root / "usr/sbin" / name, *flags, path], stderr=open(self.folder / "proxy.log", "w"),
                             stdout=subprocess.DEVNULL, env=self.variables(LD_LIBRARY_PATH=libraries))
        until(lambda: is_open(port) or running.poll() is not None, f"{name} listens")
        if running.poll() is not None:
            raise Wrong(f"{name} did not start: {(self.folder / 'proxy.log').read_text()[-300:]}")
        return running

    def nginx(self, worker, server="", location="", outer=""):
        """Its process and its URL, in front of that worker."""
        port = free_port()
        spools = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        settings = f"""{'user root;' if os.getuid() == 0 else ''}
            daemon off; worker_processes 2; pid {self.folder}/nginx.pid;
            events {{ worker_connections 512; }}
            http {{
                {spools}
                log_format short '$status $http_idempotency_key'; access_log {self.folder}/access.log short;
                {outer}
                upstream hook {{ server {worker.address}; keepalive 32; }}
                server {{
                    listen 127.0.0.1:{port};
                    {server}
                    location / {{
                        proxy_pass http://hook; proxy_http_version 1.1; proxy_set_header Connection "";
                        {location}
                    }}
                }}
            }}"""
        return self.proxy("nginx", settings, port), f"http://127.0.0.1:{port}"

    def access_log(self):
        """[(status, idempotency key)] of nginx."""
        return [tuple(line.split()) for line in (self.folder / "access.log").read_text().splitlines()]

    def haproxy(self, worker, server="", backend=""):
        port = free_port()
        settings = f"""
            defaults
                mode http
                timeout connect 5s
                timeout client 30s
                timeout server 30s
                {backend}
            frontend front
                bind 127.0.0.1:{port}
                default_backend hook
            backend hook
                server one {worker.address} {server}
            """.replace("\n            ", "\n")
        return self.proxy("haproxy", settings, port), f"http://127.0.0.1:{port}"
