"""Chromium without a screen, driven by chromedriver's plain HTTP (W3C WebDriver, and Chromium's own commands)."""

import base64
import json
import shutil
import subprocess
import threading
import time
import urllib.request

LIMIT = 60  # seconds for what takes some
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]

# Runs in each page before its own script.
WITNESS = """
window.seen = [];
addEventListener('error', e => seen.push('error: ' + e.message));
addEventListener('unhandledrejection', e => seen.push('rejected: ' + e.reason));
document.addEventListener('securitypolicyviolation', e => seen.push(`policy: ${e.effectiveDirective} ${e.blockedURI}`));
"""

# Texts that can hardly be read: the ratio of luminances of text and ground is below 4.5, as WCAG 2 (AA) defines it.
FAINT = """
const light = color => {
  const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = it => {
  for (; it; it = it.parentElement) {
    const color = getComputedStyle(it).backgroundColor;
    if (!/, 0\\)$/.test(color)) return color;
  }
  return 'rgb(255, 255, 255)';
};
const faint = [];
for (const it of document.body.querySelectorAll('*')) {
  const own = [...it.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  if (!own || !it.getClientRects().length || ['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT'].includes(it.tagName)) continue;
  const [a, b] = [light(getComputedStyle(it).color), light(ground(it))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) faint.push(`${it.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return faint;
"""

# Elements that reach beyond the right edge, but for what a box of their own scrolls.
BROAD = """
return [...document.body.querySelectorAll('*')].filter(it => {
  for (let box = it.parentElement; box; box = box.parentElement) if (getComputedStyle(box).overflowX === 'auto') return false;
  return it.getBoundingClientRect().right > innerWidth + .5;
}).map(it => `${it.tagName} ${it.textContent.trim().slice(0, 40)}`);
"""


def found():
    """Path of chromedriver, where Chromium is there too."""
    return any(map(shutil.which, ("chromium", "google-chrome"))) and shutil.which("chromedriver")


def line_with(stream, text):
    for line in stream:
        if text in line:
            threading.Thread(target=stream.read, daemon=True).start()  # or it would fill the pipe
            return line
    raise AssertionError(f"nothing said {text!r}")


class Browser:
    """A session, until the end of the block."""

    def __init__(self, driver):
        self.process = subprocess.Popen([driver, "--port=0", "--allowed-ips=127.0.0.1"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        port = line_with(self.process.stdout, "started successfully on port").rstrip(".\n").rsplit(" ", 1)[1]
        self.url = f"http://127.0.0.1:{port}/session"
        options = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": FLAGS}}
        self.url += "/" + self.ask("", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        self.command("Page.addScriptToEvaluateOnNewDocument", {"source": WITNESS})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("", method="DELETE")  # or Chromium would outlive its driver
        finally:
            self.process.terminate()
            self.process.wait(LIMIT)

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, method=method), timeout=LIMIT) as answer:
            return json.load(answer)["value"]

    def command(self, name, parameters):
        return self.ask("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, url):
        self.ask("/url", {"url": url})

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
        self.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.command("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def troubles(self):
        """What the browser complains of, what cannot be read, and what does not fit."""
        said = [entry["message"] for entry in self.ask("/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]
        return (said + self.run("const it = seen; seen = []; return it") + [f"faint: {it}" for it in self.run(FAINT)] +
                [f"too broad: {it}" for it in self.run(BROAD)])

    def picture(self, path, highest):
        """Writes the page as a PNG, from its top."""
        width, height = self.run("return [innerWidth, Math.ceil(document.body.getBoundingClientRect().height)]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, highest), "scale": 1}
        shot = self.command("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
