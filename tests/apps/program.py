"""What the tests of the program share: running it, with a broker of its own and nothing of the caller's environment."""

import faulthandler
import glob
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

QUERN = os.path.join(os.environ["QUERN_BIN_DIR"], "quern")
LIMIT = 120  # seconds that no command may take; none comes near


def environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
    return {**kept, "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true", **extra}


def tell_where_it_hangs():
    """Says to standard error where this program is, and where each thread of the programs that it has started."""
    faulthandler.dump_traceback()
    parents = {}
    for status in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(status, encoding="utf-8") as lines:
                told = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
            parents[int(told["Pid"])] = int(told["PPid"])
        except OSError:
            pass  # it has ended
    ours = {os.getpid()}
    for _ in parents:  # as deep as it may be
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    for pid in sorted(ours - {os.getpid()}):
        for what in ("cmdline", "task/*/wchan", "task/*/syscall"):
            for path in sorted(glob.glob(f"/proc/{pid}/{what}")):
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        print(path, file.read().replace("\0", " "), file=sys.stderr, flush=True)
                except OSError as why:
                    print(path, why, file=sys.stderr, flush=True)


# CTest ends a test program after 600 s without a word of where it was; the longest takes a quarter of that, on a busy machine half.
watch = threading.Timer(580, tell_where_it_hangs)
watch.daemon = True
watch.start()


class Broker:
    """A broker on a port of its own, until the end of the block."""

    def __init__(self, *options, **variables):
        self.process = subprocess.Popen([QUERN, "broker", "--port", "0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment(**variables))
        said = self.process.stdout.readline()
        if not said.startswith("listening on http"):
            raise AssertionError(f"the broker said {said!r}")
        self.url = said.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LIMIT)
        self.process.stdout.close()


class Server(http.server.ThreadingHTTPServer):
    """A web service on a port of its own, until the end of the block."""

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class ProgramTest(unittest.TestCase):
    """Each test has a broker, unless `broker_options` is None, and an empty folder."""

    broker_options = ()

    def setUp(self):
        self.variables = {}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        if self.broker_options is not None:
            self.broker = self.enterContext(Broker(*self.broker_options))
            self.variables["AWS_ENDPOINT_URL_SQS"] = self.broker.url

    def quern(self, *arguments, status=0, stdin="", **options):
        """Runs it to its end, and returns what it wrote to standard output and standard error."""
        done = subprocess.run([QUERN, *arguments], input=stdin, capture_output="stdout" not in options, text=True,
                              timeout=LIMIT, env=environment(**self.variables), **options)
        self.assertEqual(done.returncode, status, f"quern {' '.join(arguments)}\n{done.stderr}\n{done.stdout}")
        return done.stdout, done.stderr

    def start(self, *arguments, **options):
        """Starts it, with pipes to what is not given."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([QUERN, *arguments], text=True, env=environment(**self.variables), **pipes)

        def end():
            process.kill()
            process.wait(LIMIT)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()

        self.addCleanup(end)
        return process

    def refuse(self, *arguments, status, mentions):
        """It must fail with one line on standard error that says all of these."""
        out, err = self.quern(*arguments, status=status)
        self.assertEqual(out, "")
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertTrue(lines[0].startswith("quern: "), err)
        for mention in mentions:
            self.assertIn(mention, lines[0])

    def create(self, name, *options):
        return self.quern("queue", "create", name, *options)[0].strip()

    def send(self, queue, *bodies):
        self.quern("send", queue, stdin="".join(body + "\n" for body in bodies))

    def consume(self, queue, *options, **more):
        """The messages of the queue, until it is empty."""
        out, _ = self.quern("consume", queue, "--until-empty", "--wait-time", "1", *options, **more)
        return [json.loads(line) for line in out.splitlines()]

    def sqs(self, operation, queue, **more):
        """Calls the broker itself, which must not want signatures."""
        asked = urllib.request.Request(
            self.broker.url, json.dumps({"QueueUrl": f"{self.broker.url}/000000000000/{queue}", **more}).encode(),
            {"X-Amz-Target": "AmazonSQS." + operation, "Content-Type": "application/x-amz-json-1.0"})
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            return json.loads(answer.read() or b"{}")

    def counts(self, queue):
        """Visible, in flight, delayed."""
        told = json.loads(self.quern("queue", "attributes", queue, "--json")[0])
        return tuple(int(told["ApproximateNumberOfMessages" + kind]) for kind in ("", "NotVisible", "Delayed"))


def until(look, holds=bool):
    """Looks again and again until what is seen holds, and returns that."""
    end = time.monotonic() + LIMIT
    while True:
        seen = look()
        if holds(seen):
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"after {LIMIT} s it still was {seen!r}")
        time.sleep(0.05)


def wait_for(stream, text):
    """Reads lines up to one with the text."""
    for line in stream:
        if text in line:
            return line
    raise AssertionError(f"the output ended without {text!r}")
