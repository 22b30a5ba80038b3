#!/usr/bin/env python3
"""`quern-conformance` with cases of our own in the formats of AWS's: its verdicts, and its exit status."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

RUNNER = sys.argv.pop(1)
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


class Verdicts(unittest.TestCase):
    def judge(self, suite, files):
        """Runs a suite on a folder of files, whose texts are given by their names; what is no text becomes JSON."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content if isinstance(content, str) else json.dumps(content))
            done = subprocess.run([RUNNER, suite, folder], capture_output=True, text=True, timeout=60)
        return done.stdout.splitlines()[-1] if done.stdout else done.stderr

    def assert_passes(self, suite, files, count=1):
        self.assertEqual(self.judge(suite, files), f"{count} passed, 0 failed, 0 skipped")

    # The lines were taken for several values.
    def test_a_folded_header_is_one_value(self):
        canonical = ("GET\n/\n\nhost:example.amazonaws.com\nmy-header1:value1 value2 value3\n"
                     "x-amz-date:20150830T123600Z\n\nhost;my-header1;x-amz-date\n"
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        context = {"credentials": {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "secret"},
                   "region": "us-east-1", "service": "service", "timestamp": "2015-08-30T12:36:00Z"}
        for fold in ("\n  ", "\n     ", "\n\t"):
            request = f"GET / HTTP/1.1\nHost:example.amazonaws.com\nMy-Header1:value1{fold}value2{fold}value3\n\n"
            self.assert_passes("sigv4", {"context.json": context, "request.txt": request,
                                         "header-canonical-request.txt": canonical})

    # It ended the whole run.
    def test_a_case_without_parameters_is_asked_with_none(self):
        case = {"documentation": "Missing region",
                "expect": {"error": "Invalid Configuration: Missing Region"}}
        self.assert_passes("endpoints", {"sqs-endpoint-tests.json": {"testCases": [case, {**case, "params": {}}]}}, 2)

    def test_sso_needs_an_account_and_a_role_or_neither(self):
        session = {"sso_region": "us-east-7", "sso_start_url": "https://foo.bar"}
        asks = []
        for more in ({"sso_account_id": "123456789012"}, {"sso_role_name": "role"}):
            for base, sessions in (({"sso_session": "s"}, {"s": session}), (session, {})):
                asks.append({"docs": str(more),
                             "input": {"selected_profile": "A", "profiles": {"A": {**base, **more}},
                                       "sso_sessions": sessions},
                             "output": {"Error": "missing"}})
        self.assert_passes("assume-role", {"cases.json": asks}, len(asks))

    def test_version_1_1_of_the_protocol_is_told_by_its_content_type(self):
        metadata = {"protocol": "json", "jsonVersion": "1.1", "targetPrefix": "AmazonSSM"}
        headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonSSM.GetParameter"}
        request = {"method": "POST", "uri": "/", "headers": headers}
        cases = [{"id": f"{number}", "given": {"name": "GetParameter"}, **params, "serialized": {**request, **body}}
                 for number, (params, body) in enumerate((({"params": {}}, {"body": "{}"}), ({}, {})))]
        self.assert_passes("protocol", {"json_1_1.json": [{"metadata": metadata, "cases": cases}]}, 2)

    def test_a_server_that_fails_once_is_asked_again_for_the_credentials_of_a_role(self):
        url = "https://portal.sso.us-east-2.amazonaws.com/federation/credentials"
        keys = {"accessKeyId": "A", "secretAccessKey": "s", "sessionToken": "t", "expiration": 1651516560000}
        events = []
        for number, (query, status, body) in enumerate((("account_id=1&role_name=r", 500, ""),
                                                        ("role_name=r&account_id=1", 200,
                                                         json.dumps({"roleCredentials": keys})))):
            actions = ({"Request": {"request": {"uri": f"{url}?{query}", "method": "GET",
                                                "headers": {"x-amz-sso_bearer_token": ["a-token"]}}}},
                       {"Response": {"response": {"Ok": {"status": status, "headers": {}}}}},
                       {"Data": {"data": {"Utf8": body}, "direction": "Response"}})
            events += [{"connection_id": number, "action": action} for action in actions]
        config = ("[profile sso-test]\nsso_start_url = https://ssotest.awsapps.com/start\nsso_region = us-east-2\n"
                  "sso_account_id = 1\nsso_role_name = r\n")
        token = {"accessToken": "a-token", "expiresAt": "2080-10-16T03:56:45Z"}
        self.assert_passes("default-chain", {
            "env.json": {"HOME": "/home", "AWS_PROFILE": "sso-test"}, "fs/home/.aws/config": config,
            "fs/home/.aws/sso/cache/dace00cba5f8355ec9d274ceb2bcebdfbeed0e12.json": token,
            "http-traffic.json": {"events": events},
            "test-case.json": {"name": "retried", "result": {
                "Ok": {"access_key_id": "A", "secret_access_key": "s", "session_token": "t",
                       "account_id": "1", "expiry": 1651516560}}}})


if __name__ == "__main__":
    unittest.main()
