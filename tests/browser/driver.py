"""A headless Chromium that is clicked in as a person clicks, driven over HTTP by its own ChromeDriver (WebDriver)."""

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
LONGEST_WAIT = 600  # seconds, for a page to show something on a machine with much else to do
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how WebDriver marks an element
#: Counts what a page hears of clicks of a person, in all tabs together. Scripts that click are not counted.
_COUNT = """
if (!window.clicksAreCounted) {
  window.clicksAreCounted = true;
  addEventListener("click", event => {
    if (event.isTrusted) localStorage.clicks = 1 + Number(localStorage.clicks || 0);
  }, true);
}
"""


def program():
    """The Chromium of this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A window with a profile of its own, in which nobody was before."""

    def __init__(self, address):
        self._address = address

    @classmethod
    @contextmanager
    def started(cls, width=1400, height=900):
        """A browser until the end of the block."""
        command = ["chromedriver", "--port=0"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as driver:
            try:
                port = next(
                    filter(None, (re.search(r"successfully on port (\d+)", line) for line in driver.stdout))
                )[1]
                server = cls(f"http://127.0.0.1:{port}")
                flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"]
                options = {"goog:chromeOptions": {"binary": program(), "args": flags}}
                made = server._ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
                browser = cls(f"{server._address}/session/{made['sessionId']}")
                browser._count_clicks()
                try:
                    yield browser
                finally:
                    browser._ask("DELETE", "")
            finally:
                driver.terminate()

    def _ask(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._address + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_WAIT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Refused(**json.load(error)["value"]) from None

    def _count_clicks(self):
        """Count clicks in this tab, on the page that is there and on all that follow."""
        given = {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": _COUNT}}
        self._ask("POST", "/goog/cdp/execute", given)
        self.evaluate(_COUNT)

    def open(self, address):
        """Open an address, as one that was typed or pasted."""
        self._ask("POST", "/url", {"url": address})

    def evaluate(self, script):
        """What a script on the page returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    @property
    def text(self):
        """What the page shows, as text."""
        return self.evaluate("return document.body.innerText")

    @property
    def clicks(self):
        """How many clicks pages of this address heard since the browser was started."""
        return int(self.evaluate("return localStorage.clicks || 0"))

    def wait(self, condition, what):
        """What a condition gives, as soon as it is something."""
        end = time.monotonic() + LONGEST_WAIT
        while not (found := condition()):
            assert time.monotonic() < end, f"the page does not show {what}:\n{self.text}"
            time.sleep(0.1)
        return found

    def find(self, path):
        """The first element with this XPath, as soon as there is one."""
        asked = {"using": "xpath", "value": path}
        found = self.wait(lambda: self._ask("POST", "/elements", asked), path)
        return found[0][_ELEMENT]

    def click(self, path):
        """Click on an element; raise `Refused` if something lies over it."""
        self._ask("POST", f"/element/{self.find(path)}/click")

    def go_to_newest_tab(self):
        """Look at the tab that was opened last."""
        *_, newest = self._ask("GET", "/window/handles")
        self._ask("POST", "/window", {"handle": newest})
        self._count_clicks()

    def picture(self, path):
        """Save what the window shows as PNG."""
        Path(path).write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))


class Refused(Exception):
    """What WebDriver could not do; `error` is its word for it."""

    def __init__(self, error, message, **_):
        super().__init__(f"{error}: {message}")
        self.error = error
