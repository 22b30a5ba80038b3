#!/usr/bin/env python3
"""How `quern` gets to SQS: profiles, TLS, proxies."""

import os
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from metrics import Receiver
from program import Broker, ProgramTest


class Proxy:
    """An HTTP proxy that opens tunnels, wherever they are to lead, to one port of this machine.

    With `dies_after` it dies whenever it has carried so many bytes: all its connections break, and who comes next meets
    one that is not up yet."""

    def __init__(self, port, dies_after=None):
        self.target = ("127.0.0.1", port)
        self.dies_after = dies_after
        self.asked = []
        self.deaths = 0
        self.lock = threading.Lock()
        self.carried = 0
        self.is_up = True
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            some = client.recv(1)
            if not some:
                return client.close()
            head += some
        with self.lock:
            self.asked.append(head.decode().split("\r\n")[0])
            was_up, self.is_up = self.is_up, True
        if not was_up:
            client.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            return client.close()
        server = socket.create_connection(self.target)
        with self.lock:
            self.open |= {client, server}
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=self.relay, args=(server, client), daemon=True)
        back.start()
        self.relay(client, server)
        back.join()
        with self.lock:
            self.open -= {client, server}
        client.close()
        server.close()

    def relay(self, source, sink):
        try:
            while some := source.recv(4096):
                sink.sendall(some)
                self.count(len(some))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def count(self, size):
        with self.lock:
            self.carried += size
            if self.dies_after is None or self.carried < self.dies_after:
                return
            self.carried, self.is_up = 0, False
            self.deaths += 1
            for each in self.open:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # close() alone would leave accept() waiting, and the port open
        self.listener.close()


class Profiles(ProgramTest):
    broker_options = None

    def test_a_profile_says_what_nothing_else_does(self):
        config = os.path.join(self.folder, "config")
        with Broker() as general, Broker() as special:
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"[default]\nendpoint_url = {general.url}\n"
                           "[profile work]\nregion = eu-north-1\nservices = local\n"
                           "aws_access_key_id = test\naws_secret_access_key = test\n"
                           f"[services local]\nsqs =\n  endpoint_url = {special.url}\n")
            self.variables["AWS_CONFIG_FILE"] = config
            self.assertIn(general.url, self.quern("queue", "create", "by-default")[0])
            self.assertIn(special.url, self.quern("queue", "create", "by-name", "--profile", "work")[0])
            self.variables["AWS_PROFILE"] = "work"
            self.assertIn("by-name", self.quern("queue", "list")[0])
            self.variables.update(AWS_ENDPOINT_URL=general.url, AWS_REGION="us-east-1")
            self.assertIn("by-default", self.quern("queue", "list")[0])

    def test_a_profile_that_is_not_there_is_named(self):
        self.refuse("queue", "list", "--profile", "nobody", status=2, mentions=["--profile", "nobody"])


@unittest.skipUnless(shutil.which("openssl"), "no openssl command to make certificates with")
class Tls(ProgramTest):
    broker_options = None

    def certify(self, name):
        """Files of a certificate for that name and its key."""
        files = [os.path.join(self.folder, f"{name}{kind}.pem") for kind in ("", "-key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "1", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                        "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
        return files

    def test_the_broker_serves_https_and_its_clients_check_it(self):
        certificate, key = self.certify("localhost")
        with Broker("--tls-certificate", certificate, "--tls-key", key) as broker:
            self.assertTrue(broker.url.startswith("https://127.0.0.1:"), broker.url)
            url = broker.url.replace("127.0.0.1", "localhost")
            self.refuse("queue", "list", "--endpoint", url, status=1, mentions=["self-signed", "AWS_CA_BUNDLE"])
            self.variables["AWS_CA_BUNDLE"] = certificate
            self.assertEqual(self.quern("queue", "create", "orders", "--endpoint", url)[0],
                             f"{url}/000000000000/orders\n")
            self.variables["AWS_ENDPOINT_URL"] = url
            self.send("orders", "one", "two")
            self.assertEqual(sorted(each["body"] for each in self.consume("orders")), ["one", "two"])
            self.refuse("queue", "list", "--endpoint", broker.url, status=1, mentions=["localhost, not for 127.0.0.1"])

    def test_a_proxy_leads_to_hosts_that_only_it_can_find(self):
        certificate, key = self.certify("sqs.test.example")
        with Broker("--tls-certificate", certificate, "--tls-key", key, "--allow-host", "sqs.test.example") as broker:
            port = int(broker.url.rpartition(":")[2])
            with Proxy(port) as proxy:
                self.variables.update(AWS_CA_BUNDLE=certificate, HTTPS_PROXY=proxy.url, NO_PROXY="example.org",
                                      AWS_ENDPOINT_URL_SQS="https://sqs.test.example")
                self.assertEqual(self.create("orders"), "https://sqs.test.example/000000000000/orders")
                self.send("orders", "one")
                self.assertEqual([each["body"] for each in self.consume("orders")], ["one"])
                self.assertEqual(set(proxy.asked), {"CONNECT sqs.test.example:443 HTTP/1.1"})
            self.refuse("queue", "list", status=1, mentions=[proxy.url.removeprefix("http://"), "HTTPS_PROXY"])

    def test_a_proxy_that_dies_again_and_again_loses_no_message(self):
        certificate, key = self.certify("sqs.test.example")
        with Broker("--tls-certificate", certificate, "--tls-key", key, "--allow-host", "sqs.test.example") as broker:
            port = int(broker.url.rpartition(":")[2])
            self.variables.update(AWS_CA_BUNDLE=certificate, AWS_ENDPOINT_URL_SQS="https://sqs.test.example")
            with Proxy(port) as proxy:
                self.variables["HTTPS_PROXY"] = proxy.url
                self.create("orders")
                self.send("orders", *(f"order {i:04} {'x' * 500}" for i in range(1000)))
            with Proxy(port, dies_after=100_000) as proxy:
                self.variables["HTTPS_PROXY"] = proxy.url
                got = self.consume("orders", "--visibility-timeout", "3")
                self.assertEqual({each["body"][:10] for each in got}, {f"order {i:04}" for i in range(1000)})
                self.assertGreater(proxy.deaths, 3)
                self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_spans_are_signed_for_aws_and_for_nobody_else(self):
        host = "xray.eu-west-1.amazonaws.com"
        certificate, key = self.certify(host)
        receiver = Receiver()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate, key)
        receiver.server.socket = tls.wrap_socket(receiver.server.socket, server_side=True)
        with Broker() as broker, receiver, Proxy(receiver.server.server_port) as proxy, Receiver() as other:
            self.variables.update(AWS_ENDPOINT_URL_SQS=broker.url, HTTPS_PROXY=proxy.url, SSL_CERT_FILE=certificate)
            self.create("orders")

            def authorization(there, url, headers=""):
                self.variables.update(OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_HEADERS=headers)
                self.quern("send", "orders", "--traces", "otlp", stdin="cake\n")
                path, got, body = there.posts.pop()
                self.assertEqual((path, len(body["resourceSpans"])), ("/v1/traces", 1))
                return got.get("Authorization", got.get("authorization"))

            self.assertRegex(authorization(receiver, f"https://{host}"),
                             r"^AWS4-HMAC-SHA256 Credential=test/\d{8}/eu-west-1/xray/aws4_request, SignedHeaders=.*host;.*, Signature=[0-9a-f]{64}$")
            self.assertEqual(authorization(receiver, f"https://{host}", "authorization=Bearer%20x"), "Bearer x")
            self.assertIsNone(authorization(other, other.url))
            self.assertEqual(set(proxy.asked), {f"CONNECT {host}:443 HTTP/1.1"})

    def test_half_a_pair_of_files_is_refused(self):
        certificate, key = self.certify("localhost")
        for wrong in (("--tls-certificate", certificate), ("--tls-key", key),
                      ("--tls-certificate", key, "--tls-key", certificate),
                      ("--tls-certificate", certificate, "--tls-key", "/nowhere.pem")):
            self.quern("broker", "--port", "0", *wrong, status=2)


if __name__ == "__main__":
    unittest.main()
