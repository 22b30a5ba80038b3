#!/usr/bin/env python3
"""The live page in a real browser: failures, an open breaker and a drain are seen, nothing is complained of on its console, and
it fits a telephone. Usage: page.py QUERN [SCREENSHOTS]

Needs chromedriver and Chromium (Debian: chromium-driver); ends with status 77, CTest's sign for a test that was skipped, where
they are not. With a folder for SCREENSHOTS it leaves page-light.png, page-dark.png and page-narrow.png there.
"""

import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

LIMIT = 60  # seconds for what takes some
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
    return {**kept, "AWS_CONFIG_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true", **extra}


def line_with(stream, text):
    for line in stream:
        if text in line:
            threading.Thread(target=stream.read, daemon=True).start()  # or it would fill the pipe
            return line
    raise AssertionError(f"nothing said {text!r}")


class Browser:
    """A session of WebDriver, by plain HTTP."""

    def __init__(self, driver):
        self.process = subprocess.Popen([driver, "--port=0", "--allowed-ips=127.0.0.1"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        port = line_with(self.process.stdout, "started successfully on port").rstrip(".\n").rsplit(" ", 1)[1]
        self.url = f"http://127.0.0.1:{port}/session"
        options = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": FLAGS}}
        self.url += "/" + self.ask("", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=LIMIT) as answer:
            return json.load(answer)["value"]

    def run(self, script):
        return self.ask("/execute/sync", {"script": script, "args": []})

    def wait_for(self, *texts):
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            seen = self.run("return document.body.innerText")
            if all(text in seen for text in texts):
                return seen
            time.sleep(0.1)
        raise AssertionError(f"the page lacks one of {texts}:\n{seen}")

    def look_like(self, scheme, width):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", {"features": features})
        self.command("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def command(self, name, parameters):
        self.ask("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("/screenshot")))

    def complaints(self):
        return [entry for entry in self.ask("/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def end(self):
        self.process.terminate()
        self.process.wait(LIMIT)


class Hook(http.server.BaseHTTPRequestHandler):
    """The web service: fails a third of the messages, is down while it is told to be, or does not answer at all."""

    down = False
    silent = threading.Event()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if body.startswith("slow"):
            self.silent.wait(LIMIT)
        self.send_response(503 if Hook.down else 500 if body.endswith("3") else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def check(quern, browser, shots):
    hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    broker = subprocess.Popen([quern, "broker", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
    relay = None
    try:
        known = environment(AWS_ENDPOINT_URL_SQS=broker.stdout.readline().split()[-1])

        def call(*arguments, stdin=""):
            subprocess.run([quern, *arguments], input=stdin, text=True, check=True, env=known, stdout=subprocess.DEVNULL, timeout=LIMIT)

        call("queue", "create", "orders")
        relay = subprocess.Popen([quern, "relay", "orders", f"http://127.0.0.1:{hook.server_port}/", "--admin-port", "0"],
                                 stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=known)
        url = line_with(relay.stderr, "watch it at ").split()[-1]
        browser.ask("/url", {"url": url})
        browser.wait_for("quern relay", "alive", "orders", "Nothing is in the way")

        call("send", "orders", stdin="".join(f"message {n}\n" for n in range(100)))
        browser.wait_for("it is tried again")
        for name, scheme, width in (("light", "light", 1100), ("dark", "dark", 1100), ("narrow", "light", 400)):
            browser.look_like(scheme, width)
            if shots:
                browser.screenshot(os.path.join(shots, f"page-{name}.png"))
        wide = browser.run("return document.documentElement.scrollWidth")
        assert wide <= 400, f"it is {wide} wide on a screen of 400"

        Hook.down = True
        call("send", "orders", stdin="".join(f"message {n}0\n" for n in range(40)))
        browser.wait_for("breaker of the handlers")
        Hook.down = False
        browser.wait_for("closed")

        call("send", "orders", stdin="slow\n")
        browser.wait_for("running")
        relay.send_signal(signal.SIGTERM)
        browser.wait_for("draining")
        complaints = browser.complaints()
        assert not complaints, complaints
        Hook.silent.set()
        relay.wait(LIMIT)
        browser.wait_for("the connection is lost")
    finally:
        for process in (relay, broker):
            if process:
                process.kill()
                process.wait(LIMIT)
        hook.shutdown()


def main():
    driver = shutil.which("chromedriver")
    if not driver or not any(map(shutil.which, ("chromium", "google-chrome"))):
        print("skipped: there is no chromedriver, or no Chromium; Debian's packages are chromium-driver and chromium")
        return 77
    browser = Browser(driver)
    try:
        check(sys.argv[1], browser, sys.argv[2] if len(sys.argv) > 2 else "")
    finally:
        browser.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
