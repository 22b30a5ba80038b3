#!/usr/bin/env python3
"""`quern demo`: it ends by itself, and its figures add up."""

import json
import unittest

from program import ProgramTest


class Demo(ProgramTest):
    broker_options = None

    def test_nothing_is_lost_and_every_figure_is_there(self):
        out, _ = self.quern("demo", "--messages", "3000", "--json")
        told = json.loads(out)
        retried = sum(number % 128 == 100 for number in range(3000))
        self.assertEqual((told["sent"], told["acked"], told["retried"], told["lost"]), (3000, 3000, retried, 0))
        self.assertEqual(told["duplicates"], 0)
        self.assertGreater(told["messages_per_second"], 0)
        self.assertGreaterEqual(told["requests_per_message"], 0.2)
        self.assertLess(told["requests_per_message"], 1.0)
        self.assertGreater(told["p50_ms"], 0)
        self.assertGreaterEqual(told["p99_ms"], told["p50_ms"])

    def test_as_text_it_is_a_name_and_a_value_a_line(self):
        out, err = self.quern("demo", "--messages", "200", "--size", "2000", "--max-in-flight", "5")
        told = dict(line.split(": ") for line in out.splitlines())
        self.assertEqual(list(told), ["sent", "acked", "retried", "lost", "duplicates", "messages/s",
                                      "requests per message", "p50 ms", "p99 ms"])
        self.assertEqual((told["sent"], told["acked"], told["lost"]), ("200", "200", "0"))
        self.assertNotIn("\r", err)


if __name__ == "__main__":
    unittest.main()
