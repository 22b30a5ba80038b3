#!/usr/bin/env python3
"""What the program and its platform tell each other: ECS, EC2, an autoscaler; and an operator who wants a try now."""

import http.server
import json
import signal
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from program import LIMIT, ProgramTest, Server, until, wait_for


class Agent(Server):
    """ECS's agent: what it was told, and when."""

    def __init__(self):
        told = self.told = []
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, on):
                agent.may_answer.wait(LIMIT)
                agent.answered += 1
                text = json.dumps({"protection": {"ProtectionEnabled": on, "TaskArn": "arn:aws:ecs:eu-west-1:1:task/t"}})
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                self.answer(agent.is_on)

            def do_PUT(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                agent.is_on = asked["ProtectionEnabled"]
                told.append((self.path, asked, time.monotonic()))
                self.answer(agent.is_on)

            def log_message(self, *_):
                pass

        self.is_on = False
        self.answered = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        super().__init__(Handler)

    def handle_error(self, *_):
        """Who asked has gone."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/api/7"

class Instance(Server):
    """The metadata service of an EC2 instance."""

    def __init__(self):
        instance = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, text=""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_PUT(self):
                self.answer(200, "t0ken")

            def do_GET(self):
                if self.headers["X-aws-ec2-metadata-token"] != "t0ken":
                    return self.answer(401)
                page = instance.pages.get(self.path)
                return self.answer(200, page) if page else self.answer(404)

            def log_message(self, *_):
                pass

        self.pages = {}
        super().__init__(Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=LIMIT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


class Platform(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")

    def test_a_task_is_protected_while_a_command_runs(self):
        agent = self.enterContext(Agent())
        self.variables["ECS_AGENT_URI"] = agent.url
        process = self.start("consume", "orders", "--wait-time", "1", "--protect-task", "--exec", "date +%s.%N; sleep 1")
        wait_for(process.stderr, "consuming")
        self.assertEqual(agent.told, [])
        self.send("orders", "a")
        process.stdout.readline()
        self.assertTrue(agent.is_on)
        until(lambda: agent.is_on, lambda on: not on)
        self.assertEqual([asked["ProtectionEnabled"] for _, asked, _ in agent.told], [True, False])
        self.assertEqual(agent.told[0][0], "/api/7/task-protection/v1/state")
        self.assertEqual(agent.told[0][1]["ExpiresInMinutes"], 30)
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_an_agent_that_hangs_delays_no_message(self):
        agent = self.enterContext(Agent())
        agent.may_answer.clear()
        self.variables["ECS_AGENT_URI"] = agent.url
        process = self.start("consume", "orders", "--wait-time", "1", "--protect-task", "--exec", "cat; echo")
        wait_for(process.stderr, "consuming")
        self.send("orders", *"abcde")
        seen = "".join(process.stdout.readline().strip() for _ in range(5))  # five write at once
        self.assertEqual(sorted(seen), list("abcde"))
        self.assertEqual(agent.answered, 0)
        agent.may_answer.set()

    def test_outside_of_ecs_it_says_so(self):
        self.refuse("consume", "orders", "--protect-task", status=2, mentions=["--protect-task", "ECS_AGENT_URI"])

    def test_a_spot_notice_begins_a_drain(self):
        instance = self.enterContext(Instance())
        self.variables.update(AWS_EC2_METADATA_SERVICE_ENDPOINT=instance.url, AWS_EC2_METADATA_DISABLED="false")
        process = self.start("consume", "orders", "--wait-time", "1", "--drain-on-notice", "spot", "--exec", "cat",
                             stdout=subprocess.DEVNULL)
        wait_for(process.stderr, "consuming")
        instance.pages["/latest/meta-data/spot/instance-action"] = '{"action":"terminate","time":"2099-01-02T03:04:05Z"}'
        self.assertIn("spot at 2099-01-02T03:04:05Z", wait_for(process.stderr, "the instance was told of its end"))
        self.assertEqual(process.wait(LIMIT), 0)

    def test_how_many_are_wanted_is_told_to_an_autoscaler(self):
        process = self.start("consume", "orders", "--wait-time", "1", "--target-dwell", "1m", "--admin-port", "0",
                             "--exec", "true", stdout=subprocess.DEVNULL)
        url = wait_for(process.stderr, "watch it at ").split()[-1].rstrip("/")
        status, text = until(lambda: get(url + "/wanted"), lambda answer: answer[0] == 503)
        self.assertEqual(json.loads(text), {"text": "not known yet"})
        over = threading.Event()

        def work():
            while not over.wait(1):
                self.send("orders", *"abc")

        sender = threading.Thread(target=work)
        sender.start()
        try:
            status, text = until(lambda: get(url + "/wanted"), lambda answer: answer[0] == 200)
        finally:
            over.set()
            sender.join()
        said = json.loads(text)
        self.assertEqual(said["wanted_replicas"], 1)
        self.assertIn("a second arrive, one handles", said["text"])
        self.assertEqual(json.loads(get(url + "/explain")[1])["wanted"]["replicas"], 1)
        self.assertIn('quern_wanted_replicas{queue="orders"} 1', get(url + "/metrics")[1])

    def test_a_flag_tells_others_of_an_outage(self):
        flag = self.folder + "/down"
        process = self.start("consume", "orders", "--wait-time", "1", "--raise-flag", "file:" + flag, "--exec",
                             f"test -e {self.folder}/well", stdout=subprocess.DEVNULL)
        wait_for(process.stderr, "consuming")
        self.send("orders", *(f"m{n}" for n in range(30)))

        def word():
            try:
                with open(flag) as file:
                    return file.read()
            except OSError:
                return ""

        until(word, lambda text: text == "open")
        with open(self.folder + "/well", "w"):
            pass
        process.send_signal(signal.SIGUSR2)
        until(word, lambda text: text == "closed")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)
        self.refuse("consume", "orders", "--raise-flag", "appconfig:a/b/c", status=2, mentions=["--raise-flag", "deployed"])
        self.refuse("consume", "orders", "--flag", "file:/x", "--raise-flag", "file:/x", status=2, mentions=["halt itself"])

    def test_the_page_has_it_try_what_waits_where_that_is_allowed(self):
        def post(url, token):
            asked = urllib.request.Request(url + "/probe", b"", {"X-Quern-Token": token})
            try:
                with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
                    return answer.status
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code

        for options, may in (([], False), (["--admin"], True)):
            process = self.start("consume", "orders", "--wait-time", "1", "--exec", "cat", "--admin-port", "0", *options,
                                 stdout=subprocess.DEVNULL)
            url = wait_for(process.stderr, "watch it at ").split()[-1].rstrip("/")
            wait_for(process.stderr, "consuming")
            self.assertEqual(json.loads(get(url + "/explain")[1])["can_probe"], may)
            if may:
                self.assertEqual(post(url, "wrong"), 403)
                self.assertEqual(post(url, get(url + "/token")[1]), 200)
                wait_for(process.stderr, "is tried now: the page asks")
            else:
                self.assertEqual(get(url + "/token")[0], 404)
                self.assertNotEqual(post(url, ""), 200)
            process.terminate()
            self.assertEqual(process.wait(LIMIT), 0)

    def test_a_signal_has_it_try_what_waits(self):
        process = self.start("consume", "orders", "--wait-time", "1", "--exec", "cat", stdout=subprocess.DEVNULL)
        wait_for(process.stderr, "consuming")
        process.send_signal(signal.SIGUSR2)
        wait_for(process.stderr, "what waits for better times is tried now")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
