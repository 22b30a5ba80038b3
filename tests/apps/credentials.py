#!/usr/bin/env python3
"""Where `quern` gets its keys: how often it asks, and what it does when nobody answers at first."""

import http.server
import json
import os
import unittest

from program import Broker, ProgramTest, Server

ANSWER = """<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>mine</AccessKeyId>
<SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Sts(Server):
    """Hands out a role, once it has been unwell for so many requests."""

    def __init__(self, unwell):
        self.asked = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                handler.rfile.read(int(handler.headers["content-length"]))
                self.asked += 1
                body = ANSWER.encode() if self.asked > unwell else b""
                handler.send_response(200 if body else 503)
                handler.send_header("content-length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *_):
                pass

        super().__init__(Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Keys(ProgramTest):
    broker_options = None

    def setUp(self):
        super().setUp()
        keys = {"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}
        broker = self.enterContext(Broker(**keys))
        where = {"AWS_ENDPOINT_URL_SQS": broker.url}
        self.variables = {**where, **keys}
        self.create("orders")
        self.send("orders", "one")
        self.variables = where  # the keys are elsewhere

    def use_profile(self, text):
        path = os.path.join(self.folder, "config")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[profile here]\nregion = us-east-1\n" + text)
        self.variables.update(AWS_CONFIG_FILE=path, AWS_PROFILE="here")

    def use_role(self, sts_url):
        self.use_profile("role_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
                         "[profile base]\naws_access_key_id = base\naws_secret_access_key = s\n")
        self.variables["AWS_ENDPOINT_URL_STS"] = sts_url

    def test_a_process_is_run_once_for_all_that_a_command_does(self):
        printed = os.path.join(self.folder, "printed")
        with open(printed, "w", encoding="utf-8") as file:
            json.dump({"Version": 1, "AccessKeyId": "mine", "SecretAccessKey": "secret", "SessionToken": "token"}, file)
        runs = os.path.join(self.folder, "runs")
        self.use_profile(f"credential_process = echo run >> {runs}; cat {printed}\n")
        self.assertEqual([m["body"] for m in self.consume("orders")], ["one"])
        with open(runs, encoding="utf-8") as file:
            self.assertEqual(file.read(), "run\n")

    def test_an_sts_that_is_unwell_at_the_start_is_asked_again(self):
        with Sts(unwell=3) as sts:  # as often as it is asked for one search
            self.use_role(sts.url)
            self.assertEqual([m["body"] for m in self.consume("orders")], ["one"])
            self.assertEqual(sts.asked, 4)

    def test_an_sts_that_is_gone_is_no_mistake_of_the_command_line(self):
        with Sts(unwell=0) as gone:
            url = gone.url
        self.use_role(url)
        self.refuse("queue", "list", status=1, mentions=["the role arn:aws:iam::1:role/r", "Connection refused"])


if __name__ == "__main__":
    unittest.main()
