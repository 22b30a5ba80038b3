"""Our store of keys on other people's DynamoDB, and Powertools on one table with us."""
import json
import select
import subprocess

import peers
from workloads import Wrong, equal

LIMIT = 60  # seconds that nobody comes near
CHECKS = ("claim", "complete", "extend", "abandon", "expiry", "fence", "together", "exclusive", "flag")
MEETINGS = ("theirs in progress", "theirs completed", "theirs of another payload", "ours in progress", "ours completed",
            "ours of another payload")


def services(where):
    """The environment of an SQS, for the other services beside it."""
    url = where["AWS_ENDPOINT_URL_SQS"]
    return {**where, "AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_ENDPOINT_URL_SSM": url}


def quern(program, where, *words):
    done = subprocess.run([program, *words], env=where, text=True, capture_output=True, timeout=LIMIT)
    if done.returncode != 0:
        raise Wrong(f"quern {' '.join(words[:3])} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def create_table(options, where):
    quern(options.quern, services(where), "idempotency", "table", "create", "seen")


def on_store(options, where):
    """{check: why not} of our store on one DynamoDB."""
    create_table(options, where)
    return peers.run_checks([options.store, "checks"], services(where), "", ["seen"])


def in_memory(options):
    return peers.run_checks([options.store, "checks"], peers.environment("", "any", "any"), "", ["memory"])


def flag(options, where, aws):
    """Why not: a parameter halts `quern consume`, and lets it go on."""
    def say(word):
        subprocess.run([aws, "ssm", "put-parameter", "--name", "/quern/halt", "--type", "String", "--overwrite", "--value", word],
                       env=where, check=True, capture_output=True, timeout=LIMIT)

    queue = quern(options.quern, where, "queue", "create", "halted").strip()
    say("halt")
    command = [options.quern, "consume", queue, "--flag", "ssm:/quern/halt", "--flag-interval", "1", "--wait-time", "1"]
    with subprocess.Popen(command, env=where, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            subprocess.run([options.quern, "send", queue], input="m\n", text=True, env=where, check=True, capture_output=True)
            early, _, _ = select.select([running.stdout], [], [], 4)
            say("run")
            late, _, _ = select.select([running.stdout], [], [], LIMIT)
            return "it worked although the flag was raised" if early else "" if late else "it did not go on"
        finally:
            running.kill()


class Meetings:
    """Who meets whose row. A side is a command that handles one order, and says what became of it."""

    def __init__(self, flavour, where, ours, theirs):
        self.where, self.number = services(where), 0
        self.sides = {"quern": lambda *words: [*ours, "handle", "seen", flavour, "orders", *words],
                      "them": lambda *words: [*theirs, "seen", "orders", *words]}

    def order(self, amount=7):
        return json.dumps({"id": f"o-{self.number}", "amount": amount})

    def started(self, side, *words):
        return subprocess.Popen([str(word) for word in self.sides[side](*words)], env=self.where, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def handle(self, side, body):
        with self.started(side, body) as running:
            try:
                out, err = running.communicate(timeout=LIMIT)
            finally:
                running.kill()
        if not out:
            raise Wrong(f"{side} said nothing: {err.strip()[-200:]}")
        return json.loads(out)

    def says(self, side, body, wanted):
        said = self.handle(side, body)
        equal(said["said"], wanted, f"{side} on {body}")
        return said.get("result")

    def in_progress(self, first, second):
        body = self.order()
        with self.started(first, body, "hold") as holding:
            try:
                equal(json.loads(holding.stdout.readline() or "{}").get("said"), "holding", first)
                self.says(second, body, "in progress")
                out, _ = holding.communicate("go on\n", timeout=LIMIT)
                equal(json.loads(out)["said"], "ran", f"{first} in the end")
            finally:
                holding.kill()
        self.says(second, body, "stored")

    def completed(self, first, second):
        body = self.order()
        results = [self.says(first, body, "ran"), self.says(second, body, "stored")]
        plain = [json.loads(result) if isinstance(result, str) else result for result in results]
        equal(plain[1], plain[0], "the result")

    def of_another_payload(self, first, second):
        self.says(first, self.order(7), "ran")
        self.says(second, self.order(8), "mismatch")

    def run(self):
        found = {}
        for name in MEETINGS:
            whose, what = name.split(" ", 1)
            pair = ("them", "quern") if whose == "theirs" else ("quern", "them")
            self.number += 1
            try:
                getattr(self, what.replace(" ", "_"))(*pair)
                found[name] = ""
            except (Wrong, ValueError, KeyError, subprocess.TimeoutExpired) as why:
                found[name] = " ".join(str(why).split())[:300]
        return found
