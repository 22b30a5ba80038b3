#!/usr/bin/env python3
"""`quern-conformance`: its exit status."""

import json
import os
import subprocess
import tempfile
import unittest

RUNNER = os.path.join(os.environ["QUERN_BIN_DIR"], "quern-conformance")
GOOD = {"id": "body alone", "body": "a", "md5": "0cc175b9c0f1b6a831c399e269772661"}
BAD = {**GOOD, "md5": "0" * 32}


class ExitStatus(unittest.TestCase):
    def run_vectors(self, *vectors, redirection=""):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump({"attribute_vectors": vectors}, file)
            file.flush()
            return subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', RUNNER, "md5", file.name],
                                  capture_output=True, text=True, timeout=60)

    def test_it_tells_whether_all_cases_passed(self):
        for vectors, status in (((GOOD,), 0), ((GOOD, BAD), 1), ((), 1)):
            with self.subTest(vectors=vectors):
                self.assertEqual(self.run_vectors(*vectors).returncode, status)

    def test_what_cannot_apply_is_counted_as_skipped_with_its_reason(self):
        case = {"documentation": "any", "params": {"Region": "eu-west-1"},
                "expect": {"endpoint": {"url": "https://sqs.eu-west-1.amazonaws.com"}}}
        with tempfile.TemporaryDirectory() as folder:
            for service in ("sqs", "lambda"):
                with open(os.path.join(folder, f"{service}-endpoint-tests.json"), "w", encoding="utf-8") as file:
                    json.dump({"testCases": [case]}, file)
            done = subprocess.run([RUNNER, "endpoints", folder], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "skipped lambda-endpoint-tests: any: Quern does not talk to this service\n"
                                      "1 passed, 0 failed, 1 skipped\n")
        self.assertEqual(done.returncode, 0)

    def test_a_verdict_that_cannot_be_written_is_no_pass(self):
        done = self.run_vectors(GOOD, redirection=">/dev/full")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "quern-conformance: standard output could not be written\n"))
        self.assertEqual(self.run_vectors(*[BAD] * 500, redirection=">/dev/full 2>/dev/full").returncode, 1)


if __name__ == "__main__":
    unittest.main()
