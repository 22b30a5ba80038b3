"""Other people's servers, each on a port of its own on 127.0.0.1, and other people's clients."""
import json
import os
import select
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

from kits import CACHE, HERE, KITS, Missing

BOOT = 120  # seconds; a JVM on a busy machine takes ten
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAINTEROP", "AWS_SECRET_ACCESS_KEY": "interop/secret+key"}


def environment(url, key, secret, **more):
    """That of the caller without its AWS settings, and with those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
    return {**kept, "AWS_ENDPOINT_URL_SQS": url, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NODE_NO_WARNINGS": "1", **more}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def process(name, command, **options):
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.log", "w") as log:
        running = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=log, text=True, **options)
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
            running.stdout.close()
            running.stdin.close()


def first_line(running, name):
    ready, _, _ = select.select([running.stdout], [], [], BOOT)
    line = running.stdout.readline() if ready else ""
    if not line:
        raise Missing(f"{name} did not start; see {CACHE / name}.log")
    return line


@contextmanager
def announced(name, command):
    """A server that prints {"url": …}, and the keys where it checks them."""
    with process(name, command) as running:
        said = json.loads(first_line(running, name))
        yield environment(said["url"], said.get("key", "any"), said.get("secret", "any"))


@contextmanager
def elasticmq():
    port = free_port()
    settings = {"rest-sqs.bind-hostname": "127.0.0.1", "rest-sqs.bind-port": port, "rest-stats.enabled": "false",
                "node-address.host": "127.0.0.1", "node-address.port": port}
    with process("elasticmq", ["java", *(f"-D{name}={value}" for name, value in settings.items()),
                               "-cp", KITS["elasticmq"].folder / "lib/*", "org.elasticmq.server.Main"]) as running:
        deadline = time.monotonic() + BOOT
        while not is_open(port):
            if running.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"elasticmq did not start; see {CACHE}/elasticmq.log")
            time.sleep(0.1)
        yield environment(f"http://127.0.0.1:{port}", "any", "any")


@contextmanager
def broker(quern, *options):
    """Ours, with its signature check on."""
    command = [quern, "--log-level", "warning", "broker", "--port", "0", *options]
    with process("broker", command, env=environment("", *KEYS.values())) as running:
        yield environment(first_line(running, "broker").split()[-1], *KEYS.values())


def node(script, *arguments):
    return ["node", KITS["node"].folder / script, *arguments]


def python(script, *arguments):
    return [KITS["python"].folder / "venv/bin/python", KITS["python"].folder / script, *arguments]


def java_dynamodb(port):
    at = KITS["dynamodb-local"].folder
    return ["java", "-Xmx256m", f"-Djava.library.path={at / 'lib'}", "-cp", f"{at}/lib/*:{at}/classes", "Local", port]


# name: (kit, how it is started)
SERVERS = {
    "fauxqs": ("node", lambda: announced("fauxqs", node("fauxqs.mjs"))),
    "local-aws-sqs": ("node", lambda: announced("local-aws-sqs", node("local-aws-sqs.mjs", free_port()))),
    "moto": ("python", lambda: announced("moto", python("moto_server.py", free_port()))),
    "elasticmq": ("elasticmq", elasticmq),
}

# name: (kit, the command that runs its checks, variables)
CLIENTS = {
    "aws-cli": ("python", lambda: ["bash", KITS["python"].folder / "cli_checks.sh"],
                lambda: {"AWS": str(KITS["python"].folder / "venv/bin/aws")}),
    "boto3": ("python", lambda: python("checks.py"), dict),
    "aws-cli-old": ("python-old", lambda: ["bash", HERE / "python/cli_checks.sh"],
                    lambda: {"AWS": str(KITS["python-old"].folder / "venv/bin/aws"),
                             "SYSTEM_ATTRIBUTES": "--attribute-names"}),
    "boto3-old": ("python-old", lambda: [KITS["python-old"].folder / "venv/bin/python", HERE / "python/checks.py"], dict),
    "js": ("node", lambda: node("checks.mjs"), dict),
    "js-old": ("node-old", lambda: ["node", "--import", KITS["node-old"].folder / "as-v3.mjs", HERE / "node/checks.mjs"], dict),
    "go": ("go", lambda: [KITS["go"].folder / "checks"], dict),
    "rust": ("rust", lambda: [KITS["rust"].folder / "target/debug/quern-interop"], dict),
    "java": ("java", lambda: ["java", "-cp", f"{KITS['java'].folder}/lib/*:{KITS['java'].folder}/classes", "Checks"],
             dict),
}

# name: (kit, how it is started); each is a DynamoDB
STORES = {
    "dynamodb-local": ("dynamodb-local", lambda: announced("dynamodb-local", java_dynamodb(free_port()))),
    "moto": SERVERS["moto"],
}

# name: (kit, whose rows, the command that handles one order)
POWERTOOLS = {
    "powertools": ("python", "python", lambda: python("powertools.py")),
    "powertools-js": ("powertools-js", "typescript", lambda: ["node", KITS["powertools-js"].folder / "handle.mjs"]),
}

EVERYONE = {**SERVERS, **CLIENTS, **STORES, **POWERTOOLS}


def run_checks(command, where, prefix, checks=(), limit=400):
    """Runs a program that prints one JSON line a check: {check: why not, empty when it is fine}."""
    try:
        done = subprocess.run([*map(str, command), *checks], env={**where, "QUERN_INTEROP_PREFIX": prefix}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit)
    except subprocess.TimeoutExpired as late:
        return {"(all)": f"took more than {late.timeout} s"}
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found[told["check"]] = "" if told["ok"] else " ".join(told["why"].split())[:300]
    if not found or done.returncode != 0:
        found["(all)"] = f"ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
    return found
