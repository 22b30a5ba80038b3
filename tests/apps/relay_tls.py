#!/usr/bin/env python3
"""`quern relay` and `openssl s_server`: certificates of either side that do not convince, and files that are exchanged."""

import base64
import http.server
import json
import os
import queue
import shutil
import ssl
import subprocess
import threading
import unittest

import program
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


class Guarded(http.server.BaseHTTPRequestHandler):
    """A web service that takes the newest token only, and the server that gives these out."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        to = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        text, status = b"", 200
        if self.path == "/token":
            to.asked.append((self.headers["Authorization"], body.decode()))
            text = json.dumps({"access_token": f"t{len(to.asked)}", "token_type": "Bearer", "expires_in": 3600}).encode()
        elif self.headers["Authorization"] == f"Bearer t{to.newest or len(to.asked)}":
            to.taken.append((dict(self.headers), body))
        else:
            status = 401
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


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

    def guarded(self):
        server = self.enterContext(program.Server(Guarded))
        server.asked, server.taken, server.newest = [], [], None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.at("server"), self.at("server", "key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.port = server.server_port
        return server

    def test_a_token_of_an_authorization_server_is_shown_and_renewed_when_it_is_refused(self):
        server = self.guarded()
        self.variables["QUERN_OAUTH2_SECRET"] = "s3cret"
        self.variables["QUERN_RELAY_OAUTH2_CLIENT_ID"] = "shop"
        with open(self.settings, "a", encoding="utf-8") as file:
            file.write(f'[relay.oauth2]\ntoken_url = "https://127.0.0.1:{server.port}/token"\nscope = "a b"\n')
        self.create("checked")
        out, _ = self.quern("relay", "checked", f"https://127.0.0.1:{server.port}/hook", "--config", self.settings, "--ca",
                            self.at("authority"), "--check")
        self.assertIn("a token is given", out)
        del server.asked[:]
        relay = self.relay(server)
        program.until(lambda: len(server.taken), lambda count: count == 1)
        server.newest = 2  # the first one is revoked
        self.send(self.queue, "b")
        program.until(lambda: len(server.taken), lambda count: count == 2)
        program.until(lambda: self.counts(self.queue), lambda counts: counts == (0, 0, 0))
        self.deletes(relay)
        basic = "Basic " + base64.b64encode(b"shop:s3cret").decode()
        self.assertEqual(server.asked, 2 * [(basic, "grant_type=client_credentials&scope=a%20b")])
        self.assertNotIn("s3cret", relay.stderr.read())

    def test_no_message_is_lost_or_dead_while_there_is_no_token(self):
        server = self.guarded()
        self.refuse("relay", "orders", "https://127.0.0.1:1/hook", "--check", "--oauth2-token-url", "https://127.0.0.1:1/token",
                    "--oauth2-client-id", "shop", "--oauth2-secret-file", self.at("server"), status=1,
                    mentions=["--oauth2-token-url", "127.0.0.1:1"])
        relay = self.relay(server, "--oauth2-token-url", "https://127.0.0.1:1/token", "--oauth2-client-id", "shop",
                           "--oauth2-secret-file", self.at("server"))
        self.assertIn("no token by OAuth2: https://127.0.0.1:1", wait_for(relay.stderr, "unavailable: "))
        relay.terminate()
        relay.communicate(timeout=LIMIT)
        self.assertEqual(server.taken, [])
        self.assertEqual(sum(self.counts(self.queue)), 1)

    def test_a_signature_by_ed25519_is_verified_by_the_public_key(self):
        self.openssl("genpkey", "-algorithm", "ed25519", "-out", self.at("signing"))
        self.openssl("pkey", "-in", self.at("signing"), "-pubout", "-out", self.at("public"))
        server = self.guarded()
        server.newest = "0"
        with open(self.at("token", "txt"), "w", encoding="utf-8") as file:
            file.write("t0")
        relay = self.relay(server, "--sign-ed25519", self.at("signing"), "--bearer-file", self.at("token", "txt"),
                           "--keep-alive", "0s")
        program.until(lambda: len(server.taken), lambda count: count == 1)
        headers, body = server.taken[0]
        kind, signature = headers["webhook-signature"].split(",")
        self.assertEqual(kind, "v1a")
        with open(self.at("signature", "bin"), "wb") as file:
            file.write(base64.b64decode(signature))
        with open(self.at("signed", "bin"), "wb") as file:
            file.write(f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body)
        self.openssl("pkeyutl", "-verify", "-pubin", "-inkey", self.at("public"), "-rawin", "-in", self.at("signed", "bin"),
                     "-sigfile", self.at("signature", "bin"))
        program.until(lambda: self.counts(self.queue), lambda counts: counts == (0, 0, 0))
        self.deletes(relay)

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
