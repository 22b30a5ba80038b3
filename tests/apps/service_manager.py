#!/usr/bin/env python3
"""What a service manager hears of the program: systemd's protocol of sd_notify(3)."""

import os
import signal
import socket
import subprocess
import unittest

from program import LIMIT, ProgramTest


class Notified(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")
        self.manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.settimeout(LIMIT)

    def listen(self, name):
        self.manager.bind(name)
        self.variables["NOTIFY_SOCKET"] = name.replace("\0", "@")

    def heard(self):
        return dict(line.split("=", 1) for line in self.manager.recv(4096).decode().splitlines())

    def heard_but(self, what):
        """The next news that are not just this."""
        while (news := self.heard()) == what:
            pass
        return news

    def consume(self, *options):
        return self.start("consume", "orders", "--exec", "true", "--wait-time", "1", *options, stdout=subprocess.DEVNULL)

    def test_ready_once_it_consumes_and_stopping_at_the_signal(self):
        self.listen(self.folder + "/notify")
        consuming = self.consume()
        news = self.heard()
        self.assertEqual((news["READY"], news["STATUS"]), ("1", f"consuming {self.broker.url}/000000000000/orders"))
        consuming.send_signal(signal.SIGTERM)
        self.assertEqual(self.heard()["STOPPING"], "1")
        self.assertEqual(consuming.wait(LIMIT), 0)

    def test_stopping_when_the_queue_is_empty(self):
        self.listen("\0" + "quern-test-" + str(os.getpid()))  # an abstract name
        consuming = self.consume("--until-empty")
        self.assertEqual(self.heard()["READY"], "1")
        self.assertEqual(self.heard()["STOPPING"], "1")
        self.assertEqual(consuming.wait(LIMIT), 0)

    def test_the_watchdog_hears_that_it_runs(self):
        self.listen(self.folder + "/notify")
        self.variables["WATCHDOG_USEC"] = "200000"
        consuming = self.consume()
        self.assertEqual(self.heard()["READY"], "1")
        for _ in range(3):
            self.assertEqual(self.heard(), {"WATCHDOG": "1"})
        consuming.send_signal(signal.SIGTERM)
        self.assertEqual(self.heard_but({"WATCHDOG": "1"})["STOPPING"], "1")
        self.assertEqual(consuming.wait(LIMIT), 0)

    # A restart is no cure for an outage of SQS: the rule is that of /livez.
    def test_the_watchdog_hears_that_all_is_well_while_sqs_is_away(self):
        self.listen(self.folder + "/notify")
        self.variables["WATCHDOG_USEC"] = "200000"
        consuming = self.consume()
        self.assertEqual(self.heard()["READY"], "1")
        self.broker.process.terminate()
        self.broker.process.wait(LIMIT)
        for _ in range(20):
            self.assertEqual(self.heard(), {"WATCHDOG": "1"})
        consuming.kill()

    def test_a_watchdog_that_is_meant_for_another_process(self):
        self.listen(self.folder + "/notify")
        self.variables.update(WATCHDOG_USEC="1000", WATCHDOG_PID="1")
        self.consume("--until-empty")
        self.assertEqual([next(iter(self.heard())) for _ in range(2)], ["READY", "STOPPING"])

    def test_a_manager_that_has_gone_harms_nothing(self):
        self.variables["NOTIFY_SOCKET"] = self.folder + "/nobody"
        consuming = self.consume("--until-empty")
        self.assertEqual(consuming.wait(LIMIT), 0)

    def test_the_broker_tells_too(self):
        self.listen(self.folder + "/notify")
        broker = self.start("broker", "--port", "0", stderr=subprocess.DEVNULL)
        self.assertEqual(self.heard()["STATUS"].split("http")[0], "listening on ")
        broker.send_signal(signal.SIGTERM)
        self.assertEqual(self.heard()["STOPPING"], "1")
        self.assertEqual(broker.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
