"""A small service over sockets of this machine, which soak.py runs and disturbs: a broker that keeps its queue, a sender of
numbered messages, a web service that fails now and then, and three relays between them."""

import http.server
import json
import os
import pathlib
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time
import urllib.request

RATE = 200 # messages a second
VISIBILITY = 10 # s
SLOW = 1.2 * VISIBILITY # s: the web service's longest answer, whose lease must be extended
DRAIN = 8 # s: --drain-deadline
# Seconds until the queue must be empty: a killed relay's lease, one that a paused relay extends once more, a retry, and slack.
EMPTY = SLOW + VISIBILITY + 3 + 15
SETTLED = 5 # s without load before memory is measured


class Failed(Exception):
    """Why it cannot go on."""


def quietly(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


def free_port(chance):
    """One that is given to nobody unasked: a connection might get it while the broker is away."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = chance.randrange(first // 2, first)
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Web(http.server.ThreadingHTTPServer):
    """The web service. It counts how often it answered 200 to each number."""

    daemon_threads = True
    request_queue_size = 128 # all connections of three relays may come at once

    def __init__(self, chance):
        super().__init__(("127.0.0.1", 0), Hook)
        self.chance, self.came, self.slowed, self.requests = chance, bytearray(), set(), 0
        self.url = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass # whoever asked was killed

    def work(self, number):
        """The status of the answer, after the time that the work takes."""
        self.requests += 1
        if number % 1000 == 7 and number not in self.slowed: # once: a killed relay's lease is as long as this took
            self.slowed.add(number)
            time.sleep(SLOW)
        time.sleep(self.chance.choice([0, 0.002, 0.02]))
        draw = self.chance.random()
        if draw < 0.05:
            return 500 if draw < 0.03 else 429
        self.came[number] = min(self.came[number] + 1, 255)
        return 200


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1 # an answer is one write

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.work(int(body.split()[0]))
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Sender:
    """`quern send`, which is given numbers at a bounded rate. It ends when the broker is gone; the next one begins with what
    it could not send."""

    def __init__(self, ground):
        self.ground, self.errors = ground, ground.folder / "send.log"
        self.process, self.next, self.again = None, 0, []
        self.lines, self.due, self.last = [], 0.0, 0.0 # lines: the numbers that this process was given, in order

    def turn(self):
        now = time.monotonic()
        if self.process is None:
            if self.ground.broker is None:
                return
            self.errors.unlink(missing_ok=True)
            self.process = self.ground.start("send", self.ground.queue, log=self.errors, stdin=subprocess.PIPE)
            self.lines, self.due, self.last = [], 0.0, now
        elif self.process.poll() is not None:
            return self.finish()
        self.due, self.last = self.due + RATE * min(now - self.last, 1), now
        while self.due >= 1 and select.select([], [self.process.stdin], [], 0)[1]: # it has room for a line
            self.due -= 1
            self.lines.append(self.again.pop() if self.again else self.fresh())
            padding = "." * self.ground.chance.choice([0, 30, 300, 3000])
            if quietly(os.write, self.process.stdin.fileno(), f"{self.lines[-1]} {padding}\n".encode()) is None:
                break # it has ended, and says what it has sent

    def fresh(self):
        self.ground.web.came.append(0)
        self.next += 1
        return self.next - 1

    def finish(self):
        """Reads what the process has not sent, by the numbers of its lines."""
        quietly(self.process.stdin.close)
        status, text, self.process = self.process.wait(), self.errors.read_text(errors="replace"), None
        unsent = {int(line) for line in re.findall(r"message (\d+) was not sent:", text)}
        for spans in re.findall(r"^not sent: (.*), and what comes after", text, re.M):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", spans):
                unsent.update(range(int(first), int(last or first) + 1))
        told = re.search(r"^sent (\d+) of (\d+)$", text, re.M)
        sent, taken = map(int, told.groups()) if told else (0, 0)
        if not told or sent + len(unsent) != taken or status not in (0, 1):
            self.ground.problem(f"quern send: status {status}, and it does not tell what became of each line", text[-2000:])
        self.again += [number for line, number in enumerate(self.lines, 1) if line in unsent or line > taken]

    def ended(self):
        """Ends the process's input; True once it has sent all."""
        if self.process:
            quietly(self.process.stdin.close)
            if self.process.poll() is not None:
                self.finish()
        return self.process is None


class Ground:
    """All of it. What goes on side by side are generators, each of which is run on at every turn."""

    def __init__(self, start, problem, folder, chance):
        self.start, self.problem, self.folder, self.chance = start, problem, folder, chance
        self.counts = dict.fromkeys(["kills", "stops", "pauses", "restarts", "given back"], 0)
        self.calm, self.rough = True, True # calm: the load has stopped; rough: the broker may be killed
        self.broker, self.relays = None, {} # the broker, but while it is away; by name, and nobody touches "steady"
        self.broker_up, self.broker_lives, self.lost = 0.0, 0, set()
        self.port, self.web, self.sender = free_port(chance), Web(random.Random(chance.random())), Sender(self)
        self.url = f"http://127.0.0.1:{self.port}"
        self.queue = f"{self.url}/000000000000/soak"
        self.lives = []

    def begin(self):
        (self.folder / "queues.toml").write_text(f"[queues.soak]\nVisibilityTimeout = {VISIBILITY}\n")
        self.start_broker()
        self.start_relay("steady")
        self.lives = [self.relay_life("second"), self.relay_life("third"), self.broker_life()]

    def turn(self):
        if not self.calm:
            self.sender.turn()
        for life in self.lives:
            next(life)
        if (status := self.relays["steady"].poll()) is not None:
            raise Failed(f"the relay that nobody touches ended with status {status}; see steady.log")

    def rest(self, seconds):
        """Lets so much time pass, or less where the load stops."""
        until = time.monotonic() + seconds
        yield
        while time.monotonic() < until and not self.calm:
            yield

    def start_broker(self):
        broker = self.start("broker", "--port", self.port, "--no-auth", "--admin", "--queues", self.folder / "queues.toml",
            "--data", self.folder / "queues", log="broker.log", stdout=subprocess.PIPE)
        ready = select.select([broker.stdout], [], [], 60)[0]
        if not ready or not broker.stdout.readline().startswith(b"listening on"):
            raise Failed("the broker did not begin with what it had kept; see broker.log")
        self.broker, self.broker_up, self.broker_lives = broker, time.monotonic(), self.broker_lives + 1

    def broker_life(self):
        while True:
            yield from self.rest(self.chance.uniform(5, 30))
            if self.broker.poll() is not None:
                raise Failed(f"the broker ended by itself with status {self.broker.returncode}; see broker.log")
            if self.calm or not self.rough:
                continue
            broker, self.broker = self.broker, None
            if self.chance.random() < 0.7:
                broker.kill()
            else:
                yield from self.stop("broker", broker, 20, (0,))
            broker.wait()
            broker.stdout.close()
            yield from self.rest(self.chance.uniform(0, 4))
            self.start_broker()
            self.counts["restarts"] += 1

    def start_relay(self, name):
        for draft in self.folder.glob(f"{name}.json*"): # a killed one leaves the draft of its report
            draft.unlink()
        self.relays[name] = self.start("relay", self.queue, self.web.url, "--visibility-timeout", f"{VISIBILITY}s",
            "--wait-time", "2s", "--drain-deadline", f"{DRAIN}s", "--backoff", "1s,2s,3s", "--stats", "none",
            "--report", self.folder / f"{name}.json", log=f"{name}.log")

    def relay_life(self, name):
        while True:
            while self.broker is None: # a relay that cannot reach it at its start ends
                yield
            self.start_relay(name)
            yield from self.treat(name, self.relays[name])
            yield from self.rest(self.chance.uniform(0, 3))

    def treat(self, name, relay):
        """Pauses a relay now and then, and at last kills or stops it."""
        began = time.monotonic()
        while True:
            yield from self.rest(self.chance.uniform(2, 12))
            if relay.poll() is not None:
                if relay.returncode != 1 or self.broker and self.broker_up < began: # 1: the broker went away at its start
                    self.problem(f"{name} ended by itself with status {relay.returncode}; see {name}.log")
                return
            if self.calm:
                continue
            what = self.chance.choice(["kills", "stops", "pauses"])
            self.counts[what] += 1
            if what == "kills":
                relay.kill()
                relay.wait()
                return
            if what == "stops":
                yield from self.drain(name)
                return
            relay.send_signal(signal.SIGSTOP)
            yield from self.rest(self.chance.uniform(1.2, 2) * VISIBILITY)
            relay.send_signal(signal.SIGCONT)

    def stop(self, name, process, seconds, statuses):
        until = time.monotonic() + seconds
        process.terminate()
        while process.poll() is None and time.monotonic() < until:
            yield
        if process.poll() is None:
            self.problem(f"{name} did not end within {seconds} s of SIGTERM; see {name}.log")
            process.kill()
            process.wait()
        elif process.returncode not in statuses:
            self.problem(f"{name} ended with status {process.returncode} after SIGTERM; see {name}.log")

    def drain(self, name):
        """Stops a relay. It may not leave anything behind, unless the broker was away."""
        relay, report, began = self.relays[name], self.folder / f"{name}.json", time.monotonic()
        yield from self.stop(name, relay, DRAIN + 2, (0, 3))
        if not report.exists():
            self.problem(f"{name} wrote no report; see {name}.log")
            return
        told = json.loads(report.read_text())
        self.counts["given back"] += told["released"]
        if relay.returncode == 3 and self.broker and self.broker_up < began - VISIBILITY:
            self.problem(f"{name} left something behind when it was stopped, and the broker was there: {json.dumps(told)}")

    def end(self):
        self.lives = []
        yield from self.drain("steady")
        yield from self.stop("broker", self.broker, 20, (0,))

    def ask(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return json.load(answer)
        except OSError as why:
            raise Failed(f"the broker does not answer: {why}; see broker.log") from None

    def check(self):
        """What was sent must have arrived, and nothing may stay in the queue. Returns the seconds that this took."""
        self.calm, limit = True, time.monotonic() + 60
        while not self.sender.ended() or self.broker is None:
            yield
            if time.monotonic() > limit:
                raise Failed("quern send did not end within 60 s of the end of its input; see send.log")
        began, asked = time.monotonic(), 0.0
        while any((there := self.depth()).values()) and time.monotonic() < began + EMPTY:
            asked = time.monotonic()
            while time.monotonic() < asked + 0.3:
                yield
        took = time.monotonic() - began
        self.find_lost({*self.sender.again, *(self.left(there, took) if any(there.values()) else ())})
        settled = time.monotonic() + SETTLED
        while time.monotonic() < settled:
            yield
        return took

    def depth(self):
        there = self.ask("/_quern/queues")["queues"][0]
        return {state: there[state] for state in ("visible", "in_flight", "delayed")}

    def left(self, there, took):
        """The numbers of the messages that stay in the queue. The relays' logs say why."""
        for relay in self.relays.values():
            relay.send_signal(signal.SIGUSR1)
        left = self.ask("/_quern/messages?queue=soak&most=10000")["messages"]
        numbers = [int(message["body"].split()[0]) for message in left]
        first = [f"{number} ({message['state']}, receive {message['receive_count']})" for number, message in zip(numbers, left)]
        self.problem(f"messages are stranded, {took:.0f} s after the load stopped: {there}; {', '.join(first[:10])}")
        return numbers

    def find_lost(self, excused):
        came, at, lost = self.web.came, -1, []
        while (at := came.find(0, at + 1)) >= 0:
            if at not in excused and at not in self.lost:
                lost.append(at)
        self.lost.update(lost)
        if lost:
            self.problem(f"{len(lost)} messages are lost: {', '.join(map(str, lost[:20]))}{', ...' if len(lost) > 20 else ''}")
