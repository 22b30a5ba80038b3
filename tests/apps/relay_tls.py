#!/usr/bin/env python3
"""`quern relay` and `openssl s_server`: certificates of either side that do not convince, and files that are exchanged."""

import os
import queue
import shutil
import subprocess
import threading
import unittest

from program import LIMIT, ProgramTest, wait_for

ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Server:
    """`openssl s_server`, one connection at a time; a request is answered when the test says so."""

    def __init__(self, *options):
        command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-naccept", "50", *map(str, options)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, bufsize=1)
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.port = int(self.wait_for("ACCEPT ").rsplit(":", 1)[1])

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\r\n"))

    def wait_for(self, text):
        while True:
            line = self.lines.get(timeout=LIMIT)
            self.seen.append(line)
            if text in line:
                return line

    def answer(self):
        """Waits for a request, and answers it; returns the line of its key."""
        key = self.wait_for("Idempotency-Key: ")
        self.process.stdin.write(ANSWER)
        self.process.stdin.flush()
        return key

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(LIMIT)
        self.reader.join(LIMIT)
        self.process.stdin.close()
        self.process.stdout.close()


@unittest.skipUnless(shutil.which("openssl"), "no openssl command")
class Certificates(ProgramTest):
    def setUp(self):
        super().setUp()
        self.number = 0
        self.settings = os.path.join(self.folder, "relay.toml")
        with open(self.settings, "w", encoding="utf-8") as file:
            file.write('[relay]\n[relay.breaker]\nshare = 1.0\n')
        for name in ("authority", "stranger"):
            self.openssl("req", "-x509", *self.new_key(name), "-days", "2", "-subj", f"/CN={name}", "-out", self.at(name))
        self.certify("server", "authority")
        self.certify("client", "authority")

    def at(self, name, kind="pem"):
        return os.path.join(self.folder, f"{name}.{kind}")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=LIMIT)

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.at(name, "key")]

    def certify(self, name, authority, days="2"):
        """A certificate for 127.0.0.1; one of no days ends before anybody looks at it."""
        with open(self.at("names", "txt"), "w", encoding="utf-8") as file:
            file.write("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        self.openssl("req", *self.new_key(name), "-subj", f"/CN={name}", "-out", self.at(name, "request"))
        self.openssl("x509", "-req", "-days", days, "-in", self.at(name, "request"), "-CA", self.at(authority), "-CAkey",
                     self.at(authority, "key"), "-CAcreateserial", "-extfile", self.at("names", "txt"), "-out", self.at(name))

    def server(self, *options, certificate="server"):
        return self.enterContext(Server("-cert", self.at(certificate), "-key", self.at(certificate, "key"), *options))

    def mutual(self, *options):
        return self.server("-CAfile", self.at("authority"), "-Verify", "2", "-verify_return_error", *options)

    def relay(self, server, *options):
        """With a message in a queue of its own."""
        self.number += 1
        self.queue = f"orders-{self.number}"
        self.create(self.queue)
        self.send(self.queue, "a")
        return self.start("relay", self.queue, f"https://127.0.0.1:{server.port}/hook", "--config", self.settings,
                          "--ca", self.at("authority"), "--wait-time", "1", "--visibility-timeout", "10", *options)

    def shows(self, name):
        return ("--client-cert", self.at(name), "--client-key", self.at(name, "key"))

    def deletes(self, relay):
        relay.terminate()
        self.assertEqual(relay.wait(LIMIT), 0)
        self.assertEqual(self.counts(self.queue), (0, 0, 0))

    def is_kept_without_a_request(self, relay, server):
        """The message waits for the service, which has seen nothing of it."""
        line = wait_for(relay.stderr, "unavailable: ")
        relay.terminate()
        err = line + relay.stderr.read()
        relay.wait(LIMIT)
        self.assertNotIn("may have been carried out", err)
        self.assertRegex(err, "requests [0-9]+, acknowledged 0, retried 0,")
        self.assertFalse([seen for seen in server.seen if "POST" in seen])
        self.assertEqual(sum(self.counts(self.queue)), 1)
        return line

    def test_each_shows_the_other_a_certificate(self):
        for version in ("-tls1_2", "-tls1_3"):
            with self.subTest(version):
                server = self.mutual(version)
                relay = self.relay(server, *self.shows("client"))
                server.answer()
                self.deletes(relay)

    def test_a_service_whose_certificate_has_expired_or_is_a_strangers_sees_no_request(self):
        self.certify("expired", "authority", days="0")
        self.certify("strange", "stranger")
        for certificate, why in (("expired", "expired"), ("strange", "vouches for")):
            with self.subTest(certificate):
                server = self.server(certificate=certificate)
                self.assertIn(why, self.is_kept_without_a_request(self.relay(server), server))

    def test_a_service_that_refuses_our_certificate_or_misses_one_has_seen_no_request(self):
        self.certify("strange", "stranger")
        self.certify("expired", "authority", days="0")
        for version in ("-tls1_2", "-tls1_3"):
            for shown in ((), self.shows("strange"), self.shows("expired")):
                with self.subTest(version=version, shown=shown):
                    server = self.mutual(version)
                    self.is_kept_without_a_request(self.relay(server, *shown), server)

    def test_a_certificate_that_replaces_one_that_is_refused_is_shown_by_the_next_connection(self):
        self.certify("shown", "stranger")
        server = self.mutual()
        relay = self.relay(server, *self.shows("shown"))
        wait_for(relay.stderr, "unavailable: ")
        self.certify("shown", "authority")
        server.answer()
        self.deletes(relay)


if __name__ == "__main__":
    unittest.main()
