#!/usr/bin/env python3
"""`quern init`: what it writes can be used at once, and so can each line of it that is commented out."""

import os
import re
import subprocess
import tomllib
import unittest

from program import LIMIT, ProgramTest, wait_for


def told(text):
    """With what is commented out: the lines that begin with "#" and no blank."""
    return re.sub(r"^#(?! )", "", text, flags=re.M)


def keys(table, before=""):
    for name, value in table.items():
        yield before + name
        if isinstance(value, dict) and name != "headers":
            yield from keys(value, before + name + ".")


class Init(ProgramTest):
    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as to:
            to.write(text)
        return path

    def test_a_relay_begins_with_it(self):
        self.create("orders")
        self.quern("init", "relay", cwd=self.folder)
        out, _ = self.quern("relay", "--config", os.path.join(self.folder, "relay.toml"), "--check")
        self.assertIn("in order", out)

    def test_each_setting_of_a_relay_stands_in_it_and_is_read(self):
        text = told(self.quern("init", "relay", "-")[0])
        known = self.quern("relay", "--config", self.file("wrong.toml", "[relay]\nnonsense = 1\n"), status=2)[1]
        known = set(re.search(r"there are (.*)", known)[1].split(", "))
        here = set(keys(tomllib.loads(text)["relay"])) - {"headers", "tls", "sign", "oauth2", "health", "reply", "breaker"}
        self.assertEqual(here, known - {"headers"})
        for left_out in ("bearer_file", r"\[relay\.oauth2|token_url|client_id|secret_file |scope|audience|secret_in_body"):
            self.refused_only_for_files(re.sub(rf"^(batch|basic_file|insecure|{left_out}).*\n", "", text, flags=re.M))

    def refused_only_for_files(self, text):
        """Of all that it names, no file is there."""
        said = self.quern("relay", "--config", self.file("all.toml", text), "--check", status=2)[1]
        self.assertRegex(said, "/etc/quern/.*: (No such file|cannot be read)")

    def test_a_broker_begins_with_it(self):
        path = os.path.join(self.folder, "some.toml")
        self.quern("init", "queues", path)
        for text in (open(path).read(), told(open(path).read())):
            broker = self.start("broker", "--port", "0", "--queues", self.file("queues.toml", text), stderr=subprocess.DEVNULL)
            wait_for(broker.stdout, "listening on")
            broker.terminate()
            self.assertEqual(broker.wait(LIMIT), 0)

    def test_a_file_that_is_there_is_left_alone(self):
        path = self.file("relay.toml", "mine")
        self.assertIn("is there already", self.quern("init", "relay", path, status=1)[1])
        self.assertEqual(open(path).read(), "mine")
        self.assertIn("No such file", self.quern("init", "relay", "/nowhere/relay.toml", status=1)[1])
        self.quern("init", "nonsense", status=2)


if __name__ == "__main__":
    unittest.main()
