#!/usr/bin/env python3
"""Flags outside of the machine, as `quern consume --flag` and `quern redrive --breaker-flag` read them."""

import http.server
import json
import signal
import unittest

from program import LIMIT, ProgramTest, Server, wait_for


class Services(Server):
    """SSM, DynamoDB, AppConfig and its agent, all of which say the same word."""

    def __init__(self):
        self.word = "open"
        self.asked = []
        self.tokens = {}  # to what was read last in their session
        self.given = 0
        super().__init__(Answer)

    def token_for(self, seen):
        self.given += 1
        self.tokens[f"t{self.given}"] = seen
        return f"t{self.given}"


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, text, status=200, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        to = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        ask = json.loads(body)
        target = self.headers.get("X-Amz-Target", self.path)
        to.asked.append((target, ask))
        if target == "AmazonSSM.GetParameter":
            self.say(json.dumps({"Parameter": {"Name": ask["Name"], "Value": to.word}}))
        elif target == "DynamoDB_20120810.GetItem":
            self.say(json.dumps({"Item": {"id": ask["Key"]["id"], "data": {"S": to.word}, "other": {"S": "no word"}}}))
        else:
            self.say(json.dumps({"InitialConfigurationToken": to.token_for(None)}), 201)

    def do_GET(self):
        to = self.server
        to.asked.append((self.path, None))
        if self.path.startswith("/applications/"):
            return self.say(to.word)
        token = self.path.partition("/configuration?configuration_token=")[2]
        if token not in to.tokens:
            return self.say("{}", 400, x_amzn_ErrorType="BadRequestException")
        word = to.word
        text = "" if to.tokens.pop(token) == word else json.dumps({"orders": {"enabled": word == "open"}})
        return self.say(text, Next_Poll_Configuration_Token=to.token_for(word), Next_Poll_Interval_In_Seconds="1")


class Flags(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")
        self.services = self.enterContext(Services())
        port = self.services.server_address[1]
        for service in ("SSM", "DYNAMODB", "APPCONFIGDATA"):
            self.variables["AWS_ENDPOINT_URL_" + service] = f"http://127.0.0.1:{port}"
        self.variables["AWS_APPCONFIG_EXTENSION_HTTP_PORT"] = str(port)

    def halts_and_goes_on(self, flag):
        self.services.word = "open"
        self.send("orders", "a")
        process = self.start("consume", "orders", "--wait-time", "1", "--flag", flag, "--flag-interval", "1")
        self.assertIn("flag " + flag, wait_for(process.stderr, "says halt"))
        process.send_signal(signal.SIGUSR1)
        self.assertIn("flag " + flag, wait_for(process.stderr, "0 receives open"))
        self.assertEqual(self.counts("orders"), (1, 0, 0))
        self.services.word = "closed"
        self.assertEqual(json.loads(process.stdout.readline())["body"], "a")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_parameter(self):
        self.halts_and_goes_on("ssm:/orders/halt")
        self.assertEqual(self.services.asked[0],
                         ("AmazonSSM.GetParameter", {"Name": "/orders/halt", "WithDecryption": True}))

    def test_an_item_of_a_table(self):
        self.halts_and_goes_on("ddb:seen/orders")
        _, ask = self.services.asked[0]
        self.assertEqual((ask["TableName"], ask["Key"]), ("seen", {"id": {"S": "quern#flag#orders"}}))

    def test_a_configuration(self):
        self.halts_and_goes_on("appconfig:shop/prod/flags#/orders")
        path, ask = self.services.asked[0]
        self.assertEqual(path, "/configurationsessions")
        self.assertEqual(ask["RequiredMinimumPollIntervalInSeconds"], 15)
        self.assertEqual([path for path, _ in self.services.asked].count("/configurationsessions"), 1)

    def test_the_agent(self):
        self.halts_and_goes_on("appconfig-agent:shop/prod/flags")
        self.assertEqual(self.services.asked[0][0], "/applications/shop/environments/prod/configurations/flags")

    def test_one_flag_halts_several_queues(self):
        self.create("mails")
        self.send("mails", "b")
        process = self.start("consume", "orders", "mails", "--wait-time", "1", "--flag",
                             "appconfig:shop/prod/flags#/orders", "--flag-interval", "1")
        for _ in range(2):
            wait_for(process.stderr, "says halt")
        self.services.word = "closed"
        self.assertEqual(json.loads(process.stdout.readline())["body"], "b")
        sessions = [path for path, _ in self.services.asked if "session" in path]
        self.assertLessEqual(len(sessions), 2)  # both may have begun before either was answered
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_an_attribute_that_holds_no_word_is_unknown(self):
        process = self.start("consume", "orders", "--flag", "ddb:seen/orders#other", "--flag-interval", "2",
                             "--on-unknown-flag", "halt")
        self.assertIn("ddb:seen/orders#other", wait_for(process.stderr, "which halts"))
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_redrive_is_stopped_by_a_parameter_and_goes_on_when_it_is_closed(self):
        self.create("dead")
        self.send("dead", "a", "b")
        run = ("redrive", "dead", "--to", "orders", "--delay-base", "0", "--breaker-flag", "ssm:/orders/halt")
        _, err = self.quern(*run, status=5)
        self.assertIn("flag ssm:/orders/halt says halt", err)
        self.services.word = "nonsense"
        _, err = self.quern(*run, status=5)
        self.assertIn("never read, which halts", err)
        self.services.word = "closed"
        self.quern(*run)
        self.assertEqual((self.counts("dead"), self.counts("orders")), ((0, 0, 0), (2, 0, 0)))

    def test_what_is_no_flag_is_refused_with_the_form_that_it_should_have(self):
        forms = {
            "ssm:": "ssm:NAME",
            "ddb:seen": "ddb:TABLE/KEY[#attribute]",
            "ddb:seen/": "ddb:TABLE/KEY[#attribute]",
            "ddb:seen/orders#": "ddb:TABLE/KEY[#attribute]",
            "appconfig:shop/prod": "appconfig:APP/ENV/PROFILE[#/json/pointer]",
            "appconfig:shop/prod/flags/more": "appconfig:APP/ENV/PROFILE[#/json/pointer]",
            "appconfig-agent:shop//flags": "appconfig-agent:APP/ENV/PROFILE[#/json/pointer]",
            "appconfig:shop/prod/flags#orders": "begins with a slash",
            "appconfig:shop/prod/flags#": "begins with a slash",
        }
        for text, form in forms.items():
            with self.subTest(text=text):
                self.refuse("consume", "orders", "--flag", text, status=2, mentions=["--flag", text, form])
                self.refuse("redrive", "orders", "--breaker-flag", text, status=2, mentions=["--breaker-flag", form])

    def test_a_place_that_cannot_be_asked_is_told_with_the_option(self):
        self.variables["AWS_ENDPOINT_URL_SSM"] = "not a url"
        self.refuse("consume", "orders", "--flag", "ssm:/x", status=2, mentions=["--flag ssm:/x"])


if __name__ == "__main__":
    unittest.main()
