#!/usr/bin/env python3
"""--admin-port: what a program shows of itself, to whom, and `quern top`, which watches it."""

import json
import re
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from program import LIMIT, ProgramTest, until, wait_for


def get(url, **headers):
    """Status and body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


class Watching(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def watch(self, *arguments, port="0"):
        """Starts it, and returns it with the URL that it tells."""
        process = self.start(*arguments, "--admin-port", port, stdout=subprocess.DEVNULL)
        return process, wait_for(process.stderr, "watch it at ").split()[-1].rstrip("/")

    def picture(self, url):
        return json.loads(get(url + "/explain")[1])

    def act(self, url, path, token, body):
        """Status and body of a POST."""
        asked = urllib.request.Request(url + path, body, {"X-Quern-Token": token})
        try:
            with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def file(self, name, text):
        path = self.folder + "/" + name
        with open(path, "w") as to:
            to.write(text)
        return path

    def test_health_asks_whether_it_is_well(self):
        consuming, url = self.watch("consume", "orders", "--exec", "true", "--wait-time", "1")
        until(lambda: get(url + "/readyz")[0], lambda status: status == 200)
        for asked in (url, url + "/", url + "/livez", url + "/readyz"):
            said, complaint = self.quern("health", asked)
            self.assertEqual((len(said.splitlines()), complaint), (1, ""))
        self.assertIn("status 404", self.quern("health", url + "/nowhere", status=1)[1])
        consuming.send_signal(signal.SIGTERM)
        self.assertEqual(consuming.wait(LIMIT), 0)
        self.assertIn(url + "/livez: ", self.quern("health", url, status=1)[1])  # nobody listens
        self.quern("health", "nonsense", status=2)

    def test_health_of_what_hangs(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            self.assertIn(url, self.quern("health", url, "--timeout", "1", status=1)[1])

    def test_a_consumer_shows_what_it_does(self):
        consuming, url = self.watch("consume", "orders", "--exec", "exit 1", "--wait-time", "1")
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$")
        until(lambda: get(url + "/readyz")[0], lambda status: status == 200)
        for path in ("/livez", "/startupz"):
            self.assertEqual(get(url + path)[0], 200)
        self.assertIn("<title>Quern</title>", get(url + "/")[1])
        self.send("orders", "a", "b")
        seen = until(lambda: self.picture(url), lambda p: p["queues"][0]["counts"]["retried"] >= 2)  # they come again
        queue = seen["queues"][0]
        self.assertEqual((seen["program"], queue["name"]), ("quern consume", "orders"))
        retried = queue["counts"]["retried"]
        self.assertGreaterEqual(queue["counts"]["received"], retried)
        self.assertEqual({t["what"] for t in queue["troubles"]}, {"handler failed"})
        self.assertGreaterEqual(sum(queue["durations"]["handled"]), retried)
        status, metrics = get(url + "/metrics")
        self.assertEqual(status, 200)
        for name in ('quern_messages_received_total{queue="orders"}', 'quern_handler_failures_total{queue="orders",kind="threw"}',
                     'quern_messages_settled_total{queue="orders",outcome="retried"}'):
            self.assertGreaterEqual(int(re.search("^" + re.escape(name) + r" (\d+)$", metrics, re.M)[1]), retried)
        self.assertRegex(metrics, r'(?m)^quern_queue_messages\{queue="orders",state="visible"\} \d+$')
        consuming.send_signal(signal.SIGTERM)
        self.assertEqual(consuming.wait(LIMIT), 0)
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])))

    def test_several_queues_are_shown_each(self):
        self.create("bills")
        _, url = self.watch("consume", "orders", "bills")
        until(lambda: get(url + "/readyz")[0], lambda status: status == 200)
        seen = self.picture(url)
        self.assertEqual([q["name"] for q in seen["queues"]], ["orders", "bills"])
        self.assertIn("bills: ready", get(url + "/readyz?verbose")[1])

    def test_a_relay_and_the_demo_have_one_too(self):
        _, url = self.watch("relay", "orders", "http://127.0.0.1:9/")
        self.assertEqual(until(lambda: self.picture(url), lambda p: p["queues"])["program"], "quern relay")
        _, url = self.watch("demo", "--messages", "3000000")
        seen = until(lambda: self.picture(url), lambda p: p["queues"] and p["queues"][0]["counts"]["acked"])
        self.assertEqual(seen["program"], "quern demo")

    def test_other_names_are_not_answered_to(self):
        _, url = self.watch("consume", "orders")
        self.assertEqual(get(url + "/livez", Host="evil.example")[0], 403)
        self.assertEqual(get(url + "/livez", Host="localhost")[0], 200)
        _, url = self.watch("consume", "orders", "--admin-host", "pod.internal")
        self.assertEqual(get(url + "/livez", Host="pod.internal:80")[0], 200)

    def test_a_port_that_is_taken_is_an_error_and_options_without_it_are(self):
        _, url = self.watch("consume", "orders")
        self.refuse("consume", "orders", "--admin-port", url.rsplit(":", 1)[1], status=1,
                    mentions=["--admin-port", "choose another"])
        self.refuse("consume", "orders", "--admin-port", "0", "--admin-address", "localhost", status=2,
                    mentions=["--admin-address", "IP address"])
        self.refuse("consume", "orders", "--admin-address", "127.0.0.1", status=2, mentions=["--admin-port"])
        self.refuse("consume", "orders", "--admin-port", "65536", status=2, mentions=["--admin-port"])
        self.refuse("send", "orders", "--admin-port", "0", status=2, mentions=["--admin-port"])

    def test_top_shows_it_on_a_terminal(self):
        _, url = self.watch("consume", "orders")
        until(lambda: get(url + "/readyz")[0], lambda status: status == 200)
        out, _ = self.quern("top", url, "--once")
        self.assertRegex(out, r"^quern consume   alive   ready   up for ")
        self.assertIn("\norders\n  nothing is in the way\n", out)
        self.assertNotIn("\x1b", out)
        watching = self.start("top", url + "/")
        wait_for(watching.stdout, "quern consume")
        self.assertTrue(re.search(r"receive \d+ \(\d+\.\d/s\) -> wait 0", wait_for(watching.stdout, "/s) -> ")))

    def test_a_broker_shows_its_queues_and_without_admin_that_is_all(self):
        _, url = self.watch("broker", "--port", "0")
        self.assertEqual([get(url + path)[0] for path in ("/livez", "/readyz", "/startupz", "/")], [200] * 4)
        self.assertEqual(self.picture(url)["queues"], [])
        self.assertIn("quern_broker_connections_total 0\n", get(url + "/metrics")[1])
        self.assertEqual(get(url + "/token")[0], 403)
        self.assertEqual(self.act(url, "/send?queue=orders", "", b"hello")[0], 405)
        self.assertEqual(get(url + "/livez", Host="evil.example")[0], 403)

    def test_an_administrator_acts_on_the_queues_of_a_broker_and_they_are_kept(self):
        options = ("broker", "--port", "0", "--no-auth", "--admin", "--data", self.folder + "/queues")
        broker = self.start(*options, "--admin-port", "0")
        url = wait_for(broker.stderr, "watch it at ").split()[-1].rstrip("/")
        self.variables["AWS_ENDPOINT_URL_SQS"] = wait_for(broker.stdout, "listening on").split()[-1]
        self.create("bills")
        token = get(url + "/token")[1]
        self.assertEqual(self.act(url, "/send?queue=bills", token, b"hello")[0], 200)
        self.assertEqual(self.act(url, "/send?queue=bills", "", b"forged")[0], 403)
        broker.kill()
        broker.wait(LIMIT)
        again = self.start(*options)
        self.variables["AWS_ENDPOINT_URL_SQS"] = wait_for(again.stdout, "listening on").split()[-1]
        self.assertEqual([m["body"] for m in self.consume("bills")], ["hello"])

    def test_an_admin_port_of_a_broker_that_cannot_be_is_an_error(self):
        self.refuse("broker", "--port", "0", "--admin-port", self.broker.url.rsplit(":", 1)[1], status=1,
                    mentions=["--admin-port", "choose another"])
        self.refuse("broker", "--port", "0", "--admin-port", "0", "--admin-address", "localhost", status=2,
                    mentions=["--admin-address", "IP address"])

    def test_top_shows_a_broker(self):
        _, url = self.watch("broker", "--port", "0", "--queues", self.file("shop.toml", "[queues.orders]\nmessages = ['a']\n"))
        out, _ = self.quern("top", url, "--once")
        self.assertRegex(out, r"^quern broker   alive   ready   up for ")
        self.assertRegex(out, r"\n  orders +1 +0 +0 ")
        watching = self.start("top", url)
        self.assertTrue(wait_for(watching.stdout, "requests (0.0/s)"))

    def test_top_says_what_is_wrong(self):
        self.refuse("top", "http://127.0.0.1:9", "--once", status=1, mentions=["127.0.0.1:9"])
        self.refuse("top", self.broker.url, status=1, mentions=["--admin-port"])
        self.refuse("top", "nonsense", status=2, mentions=["nonsense"])


if __name__ == "__main__":
    unittest.main()
