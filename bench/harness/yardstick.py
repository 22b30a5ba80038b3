"""The server that contenders are measured on: started for one run, asked for what it counted."""
import json
import os
import select
import ssl
import subprocess
import tempfile
import urllib.request
from pathlib import Path

BOOT = 10  # seconds


class Certificates:
    """An authority made for this run, and a certificate of it for 127.0.0.1; the files go with the object.

    Two certificates, because some TLS libraries refuse an authority that is a server at the same time.
    """

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="quern-bench-")
        at = Path(self.folder.name)
        self.authority, self.certificate, self.key = at / "ca.pem", at / "server.pem", at / "server-key.pem"
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        (at / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n"
                                  "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        self.run("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=bench authority", "-addext",
                 "keyUsage=critical,keyCertSign", "-out", self.authority, "-keyout", at / "ca-key.pem")
        self.run("req", *new_key, "-subj", "/CN=127.0.0.1", "-out", at / "request.pem", "-keyout", self.key)
        self.run("x509", "-req", "-days", "2", "-in", at / "request.pem", "-CA", self.authority, "-CAkey",
                 at / "ca-key.pem", "-CAcreateserial", "-extfile", at / "names", "-out", self.certificate)

    @staticmethod
    def run(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Yardstick:
    """A context: the server runs inside of it."""

    def __init__(self, program, options=(), core=None, certificates=None):
        tls = ["--certificate", certificates.certificate, "--key", certificates.key] if certificates else []
        self.context = ssl.create_default_context(cafile=certificates.authority) if certificates else None
        pin = ["taskset", "-c", str(core)] if core is not None else []
        self.command = [str(word) for word in [*pin, program, *options, *tls]]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        ready, _, _ = select.select([self.process.stdout], [], [], BOOT)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.__exit__()
            raise RuntimeError(f"the server does not start: {' '.join(self.command)}")
        self.url = line.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def queue_url(self, name):
        return f"{self.url}/000000000000/{name}"

    def stats(self):
        return json.loads(self.ask("/bench/stats"))

    def reset(self):
        self.ask("/bench/reset", b"")

    def handle(self):
        """A receipt handle, as a load generator wants one."""
        got = self.ask("/", b'{"QueueUrl":"any"}', {"X-Amz-Target": "AmazonSQS.ReceiveMessage"})
        return json.loads(got)["Messages"][0]["ReceiptHandle"]

    def ask(self, path, body=None, headers=None):
        request = urllib.request.Request(self.url + path, body, headers or {})
        with urllib.request.urlopen(request, timeout=BOOT, context=self.context) as answer:
            return answer.read()


def proxies_off():
    """The way to 127.0.0.1 is no proxy's, for us and for all contenders."""
    for name in [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
        del os.environ[name]
