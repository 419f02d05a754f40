"""A headless Chromium, spoken to by its DevTools protocol: nothing beside the browser has to be installed."""

import asyncio
import base64
import os
import re
import shutil
import subprocess
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


class Tab:
    """A page that is open: what it says of itself, and everything that went wrong on it."""

    def __init__(self, socket):
        self.socket, self.number, self.wrong = socket, 0, []

    async def ask(self, method, **parameters):
        """Answer to one command; errors of the page that arrive meanwhile are noted."""
        self.number += 1
        await self.socket.send_json({"id": self.number, "method": method, "params": parameters})
        while True:
            said = await self.socket.receive_json(timeout=600)
            if said.get("id") == self.number:
                assert "error" not in said, said
                return said["result"]
            about = said.get("params", {})
            if said.get("method") == "Runtime.exceptionThrown":
                self.wrong.append(about["exceptionDetails"]["text"])
            if said.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
                self.wrong.append(about["entry"]["text"])

    async def value(self, script):
        """What a script gives."""
        found = await self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def open(self, address, width=1280, height=1000, scheme="light"):
        for domain in ("Page", "Runtime", "Log"):
            await self.ask(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.ask("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.ask("Emulation.setEmulatedMedia", features=features)
        await self.ask("Page.navigate", url="about:blank")  # or another fragment would keep the page
        await self.until("location.href === 'about:blank'")
        await self.ask("Page.navigate", url=address)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def until(self, condition, seconds=60):
        """Wait until something is true on the page."""
        end = time.monotonic() + seconds
        while not await self.value(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            await asyncio.sleep(0.3)

    async def printed(self):
        """The page as PDF."""
        return base64.b64decode(
            (await self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.7))["data"]
        )


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Address of the DevTools of a headless Chromium; where there is none, or nobody asked for it, a skip."""
    if "GCEXP_TEST_BROWSER" not in os.environ:
        pytest.skip("a browser is started by `make test-browser` only")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"there is no Chromium (looked for: {', '.join(NAMES)})")
    folder = tmp_path_factory.mktemp("chromium")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    command = [program, *options, f"--user-data-dir={folder}", "about:blank"]
    with open(folder / "log", "w") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            end = time.monotonic() + 60
            while not (found := re.search(r"ws://([^/]+)/", (folder / "log").read_text())):
                assert time.monotonic() < end and process.poll() is None, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"http://{found[1]}"
        finally:
            process.terminate()


@pytest.fixture
def browse(chromium):
    """Call a coroutine with a fresh tab."""
    from aiohttp import ClientSession

    async def with_tab(visit):
        async with ClientSession() as session:
            async with session.put(f"{chromium}/json/new") as answer:
                address = (await answer.json())["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                return await visit(Tab(socket))

    return lambda visit: asyncio.run(with_tab(visit))
