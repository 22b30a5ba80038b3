"""The harness for real, but without a clock: thousands of messages are handled and deleted, and none is stranded."""
import json
import os
import sys
import time
import unittest
import urllib.error
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import machine  # noqa: E402
from harness.contenders import floor, quern  # noqa: E402
from harness.measure import running  # noqa: E402
from harness.scenarios import Scenario  # noqa: E402
from harness.yardstick import Certificates, Yardstick, proxies_off  # noqa: E402

BIN = Path(os.environ["QUERN_BIN_DIR"])
COUNT = 2_000
PATIENCE = 90  # seconds, for a machine on which much else goes on


def started(server, contender, scenario, tls):
    server.reset()
    return running(contender, scenario, server, machine.cores(), tls)


class Drain(unittest.TestCase):
    def drain(self, *options, tls=None, enough=lambda seen: True, by=lambda program: quern(program, 1), **what):
        """What the server counted and what the contender reported, after COUNT deletes and a SIGTERM."""
        scenario = Scenario("drain", "", tls=tls is not None, **what)
        with Yardstick(BIN / "yardstick-server", options, None, tls) as server, \
                started(server, by(BIN / "contender-quern"), scenario, tls) as client:
            client.wait_until_ready()
            used, deadline = machine.Usage(client.group), time.monotonic() + PATIENCE
            while (seen := server.stats())["deleted"] < COUNT or not enough(seen):
                self.assertLess(time.monotonic(), deadline, seen)
                client.check()
                time.sleep(0.02)
            self.assertGreater(machine.resident(client.group), 0)
            self.assertGreater(used.spent()[0], 0)
            report = client.stop()
            seen = server.stats()
        self.assertEqual((seen["deleted"], seen["unknown"]), (report["handled"], 0))
        self.assertEqual(sum(seen["latency_us"].values()), seen["deleted"])
        self.assertEqual(sum(report["latency_us"].values()), report["handled"] + report["failed"])
        return seen, report

    def test_everything_is_handled_and_deleted_in_batches(self):
        seen, report = self.drain()
        self.assertEqual((report["failed"], seen["in_flight"]), (0, 0))
        self.assertLess(seen["deletes"], seen["deleted"] / 2)

    def test_the_floor_does_all_that_a_consumer_must(self):
        seen, report = self.drain(by=floor)
        self.assertEqual((report["failed"], seen["in_flight"]), (0, 0))
        self.assertLess(seen["deletes"], seen["deleted"] / 9)

    def test_what_fails_comes_again(self):
        seen, report = self.drain("--body", 4096, "--delay", 1, fail_one_in=100, enough=lambda seen: seen["redelivered"] > 0)
        self.assertGreaterEqual(report["failed"], COUNT // 100)
        self.assertLessEqual(seen["in_flight"], report["failed"])

    def test_a_fifo_queue(self):
        seen, report = self.drain("--groups", 1000, fifo=True)
        self.assertEqual((report["failed"], seen["in_flight"]), (0, 0))

    def test_over_tls_with_handlers_that_wait(self):
        tls = Certificates()
        self.addCleanup(tls.folder.cleanup)
        seen, report = self.drain(tls=tls, handler_ms=5, in_flight=100)
        self.assertEqual(seen["in_flight"], 0)
        self.assertLessEqual(seen["in_flight_most"], 100)


class Server(unittest.TestCase):
    def ask(self, server, operation, **body):
        return json.loads(server.ask("/", json.dumps(body).encode(), {"X-Amz-Target": f"AmazonSQS.{operation}"}))

    def test_a_receive_waits_for_the_message_that_comes(self):
        with Yardstick(BIN / "yardstick-server", ("--rate", 4)) as server:
            self.assertEqual(self.ask(server, "ReceiveMessage", WaitTimeSeconds=0), {})
            self.assertEqual(len(self.ask(server, "ReceiveMessage", WaitTimeSeconds=20)["Messages"]), 1)
            self.assertEqual(server.stats()["empty_receives"], 1)

    def test_what_nobody_was_given_cannot_be_deleted(self):
        with Yardstick(BIN / "yardstick-server") as server:
            given = self.ask(server, "ReceiveMessage")["Messages"][0]["ReceiptHandle"]
            said = self.ask(server, "DeleteMessageBatch", Entries=[
                {"Id": "good", "ReceiptHandle": given}, {"Id": "bad", "ReceiptHandle": given[:-1] + "?"}])
            self.assertEqual(said["Successful"], [{"Id": "good"}])
            self.assertEqual([(one["Id"], one["Code"]) for one in said["Failed"]], [("bad", "ReceiptHandleIsInvalid")])
            self.assertEqual((server.stats()["deleted"], server.stats()["unknown"]), (1, 1))

    def test_it_says_no_to_what_it_does_not_do(self):
        with Yardstick(BIN / "yardstick-server") as server, self.assertRaises(urllib.error.HTTPError) as refused:
            self.ask(server, "SendMessage")
        self.assertEqual(refused.exception.code, 400)
        refused.exception.close()


if __name__ == "__main__":
    proxies_off()
    unittest.main()
