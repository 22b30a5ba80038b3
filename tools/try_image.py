#!/usr/bin/env python3
"""Unpacks the image that ./dev image made, and runs in its root what the guide shows. Needs root, Python and openssl, which the
image has not."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TREE / "docs" / "examples"
USER = 65532
CLEAN = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}


def unpack(archive, root):
    """The root of an image, and its configuration."""
    with tarfile.open(archive) as image:
        def read(digest):
            return image.extractfile("blobs/" + digest.replace(":", "/"))
        manifest = json.load(read(json.load(image.extractfile("index.json"))["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=read(layer["digest"])) as files:
                files.extractall(root)
        return json.load(read(manifest["config"]["digest"]))["config"]


class Root:
    def __init__(self, path):
        self.path = path

    def start(self, *arguments, **variables):
        """Starts the program in the root, as its user, with nothing of this environment."""
        def enter():
            os.chroot(self.path)
            os.chdir("/")
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
        return subprocess.Popen(arguments, preexec_fn=enter, env={**CLEAN, **variables}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, status=0, **variables):
        """Runs it to its end, and returns what it said."""
        process = self.start(*arguments, **variables)
        out, complaint = process.communicate(timeout=120)
        assert process.returncode == status, f"{arguments}: {process.returncode}\n{out}{complaint}"
        return out

    def broker(self, *options):
        process = self.start("/usr/bin/quern", "broker", "--port", "0", *options)
        return process, re.search(r"http\S+", process.stdout.readline())[0]


def compose():
    text = (EXAMPLES / "relay-compose.yaml").read_text()
    return ["/usr/bin/quern", *json.loads(re.search(r"command: (\[.*\])", text)[1])], json.loads(
        re.search(r'test: \["CMD", (.*)\]', text)[0].split(": ", 1)[1])[1:]


def kubernetes():
    text = (EXAMPLES / "relay-kubernetes.yaml").read_text()
    return ["/usr/bin/quern", *re.findall(r"^ +- (\S+)$", text[text.index("args:"):text.index("env:")], re.M)]


def deployed(root, url, command, health):
    """A relay as in an example, until it says that it is well."""
    relay = root.start(*command, AWS_ENDPOINT_URL_SQS=url)
    try:
        for _ in range(100):
            asked = root.start(*health)
            said = asked.communicate(timeout=60)
            if asked.returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"{command} does not become well: {said}")
    finally:
        relay.terminate()
        text = relay.communicate(timeout=60)[1]
    assert relay.returncode == 0, text


def over_tls(root, folder):
    """With authorities only where other distributions have them."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    inside = root.path / "etc" / "quern"
    for file in (key, certificate):
        shutil.copy(file, inside)
        os.chown(inside / file.name, USER, USER)
    broker, url = root.broker("--tls-certificate", "/etc/quern/certificate.pem", "--tls-key", "/etc/quern/key.pem")
    (root.path / "etc/ssl/certs/ca-certificates.crt").unlink()
    for bundle in ("etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"):
        root.run("/usr/bin/quern", "queue", "list", status=1, AWS_ENDPOINT_URL_SQS=url)
        (root.path / bundle).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificate, root.path / bundle)
        root.run("/usr/bin/quern", "queue", "list", AWS_ENDPOINT_URL_SQS=url)
        (root.path / bundle).unlink()
    broker.terminate()
    broker.communicate(timeout=60)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        root = Root(folder / "root")
        image = unpack(sys.argv[1], root.path)
        assert (image["Entrypoint"], image["User"]) == (["/usr/bin/quern"], f"{USER}:{USER}"), image
        files = sorted(str(f.relative_to(root.path)) for f in root.path.rglob("*") if not f.is_dir())
        assert files == ["etc/ssl/certs/ca-certificates.crt", "usr/bin/quern"], files
        print(root.run("/usr/bin/quern", "--version").strip())
        print(root.run("/usr/bin/quern", "demo", "--messages", "2000").strip())
        (root.path / "etc/quern").mkdir()
        shutil.copy(EXAMPLES / "relay.toml", root.path / "etc/quern")
        broker, url = root.broker()
        for queue in ("orders", "orders-bad"):
            root.run("/usr/bin/quern", "queue", "create", queue, AWS_ENDPOINT_URL_SQS=url)
        command, health = compose()
        deployed(root, url, command, health)
        deployed(root, url, kubernetes(), health)
        broker.terminate()
        broker.communicate(timeout=60)
        over_tls(root, folder)
    print("the image does what the guide says")


if __name__ == "__main__":
    main()
