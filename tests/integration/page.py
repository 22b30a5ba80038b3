#!/usr/bin/env python3
"""The live page in a real browser: failures, a suspected outage and a drain are seen, nothing is complained of on its console, nothing
breaks its own security policy, and it can be read in light and dark, on a desk and on a telephone. Usage: page.py QUERN

Needs chromedriver and Chromium (Debian: chromium-driver, chromium); ends with status 77, CTest's sign for a test that was skipped,
where they are not. With QUERN_PICTURES=FOLDER it takes longer, and leaves the pictures of docs/guide/watching.md there.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from browser import LIMIT, Browser, found, line_with

LOOKS = tuple((scheme, width) for scheme in ("light", "dark") for width in (1000, 400))

# The handler: what is said on standard error is its own log. It fails while it is told so, and waits while it is told so.
HANDLER = """read -r body
test -e down && exit 75
case $body in
*7) test "$QUERN_RECEIVE_COUNT" -gt 1 || exit 65;;
slow*) while test -e hold; do sleep 0.1; done;;
*) sleep 0.1${#body};;
esac"""


def environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "QUERN_"))}
    return {**kept, "AWS_CONFIG_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true", **extra}


class Shop:
    """A broker and a consumer whose handler does as the folder's files say, until the end of the block."""

    def __init__(self, quern, folder):
        self.quern, self.folder, self.running = quern, folder, []
        broker = self.start(environment(), "broker", "--port", "0", "--admin-port", "0")
        self.broker_page = line_with(broker.stderr, "watch it at ").split()[-1]
        self.known = environment(AWS_ENDPOINT_URL_SQS=line_with(broker.stdout, "listening on").split()[-1])
        self.call("queue", "create", "orders")
        self.consumer = self.start(self.known, "consume", "orders", "--exec", HANDLER, "--admin-port", "0",
                                   "--wait-time", "5", "--max-in-flight", "40", "--handler-concurrency", "8")
        self.page = line_with(self.consumer.stderr, "watch it at ").split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait(LIMIT)

    def start(self, variables, *arguments):
        process = subprocess.Popen([os.path.abspath(self.quern), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=variables, cwd=self.folder)
        self.running.append(process)
        return process

    def call(self, *arguments, stdin=""):
        subprocess.run([self.quern, *arguments], input=stdin, text=True, check=True, env=self.known, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=LIMIT)

    def send(self, *bodies):
        self.call("send", "orders", stdin="".join(body + "\n" for body in bodies))

    def has(self, name, so=True):
        path = os.path.join(self.folder, name)
        if so:
            open(path, "w").close()
        else:
            os.remove(path)

    def keep_sending(self, seconds):
        until = time.monotonic() + seconds
        for n in range(1 << 20):
            if time.monotonic() > until:
                return
            self.send(*(f"{'order ' * (1 + n * m % 4)}{m}" for m in range(16 if n % 3 else 4)))
            time.sleep(0.4)


def nothing_wrong(browser, what):
    for look in LOOKS:
        browser.look_like(*look)
        wrong = browser.troubles()
        assert not wrong, f"{what}, {look}: {wrong}"


def check(browser, shop, pictures):
    def picture(name, scheme, width, highest):
        if pictures:
            browser.look_like(scheme, width)
            browser.picture(os.path.join(pictures, name), highest)

    browser.open(shop.page)
    browser.wait_for("quern consume", "alive", "orders", "Nothing is in the way")
    nothing_wrong(browser, "at rest")

    shop.keep_sending(55 if pictures else 1)
    shop.send("order 7", "order 17")
    browser.wait_for("handler failed", "it is tried again")
    nothing_wrong(browser, "with failures")
    shop.send(*(f"order {n}0" for n in range(100)))
    browser.wait_for("wait for them")
    picture("page.png", "light", 1000, 1100)

    browser.wait_for("Nothing is in the way")
    shop.has("down")
    shop.send(*(f"order {n}0" for n in range(60)))
    browser.wait_for("breaker of the handlers", "breaker half open for")
    nothing_wrong(browser, "with a breaker that is half open")
    picture("page-outage.png", "dark", 1000, 1100)
    shop.has("down", False)
    shop.send("order 0")  # what waits here rests for up to a minute
    browser.wait_for("closed")
    browser.wait_for("Nothing is in the way")  # what waited there has begun

    shop.has("hold")
    shop.send("slow")
    browser.wait_for("running")
    shop.consumer.send_signal(signal.SIGTERM)
    browser.wait_for("draining")
    nothing_wrong(browser, "in a drain")
    picture("page-narrow.png", "light", 400, 1100)
    shop.has("hold", False)
    assert shop.consumer.wait(LIMIT) == 0
    browser.wait_for("the connection is lost")

    browser.open(shop.broker_page)
    browser.wait_for("Quern broker", "orders")
    browser.ask("/se/log", {"type": "browser"})  # the connection that was lost
    nothing_wrong(browser, "the broker's")

    # What would the browser have said? The policy is in force, and heard of.
    browser.run(f"document.body.append(Object.assign(document.createElement('img'), {{src: '{shop.page}x.png'}}));"
                "document.body.append(Object.assign(document.createElement('p'), {textContent: 'grey', style: 'color: gray; background: gray; width: 3000px'}))")
    until, heard = time.monotonic() + LIMIT, []
    while time.monotonic() < until and not any("policy: img-src" in it for it in heard):
        heard += browser.troubles()
    for kind in ("policy: img-src", "too broad: P grey", "faint: grey"):
        assert any(kind in it for it in heard), (kind, heard)


def main():
    driver = found()
    if not driver:
        print("skipped: there is no chromedriver, or no Chromium; Debian's packages are chromium-driver and chromium")
        return 77
    pictures = os.environ.get("QUERN_PICTURES", "")
    with tempfile.TemporaryDirectory() as folder, Browser(driver) as browser, Shop(sys.argv[1], folder) as shop:
        check(browser, shop, pictures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
