"""A web server for tests of downloads, and the data sets that this machine has."""

import http.server
import os
import threading
from pathlib import Path

import pytest

from tests.conftest import LONG


class WebServer:
    """Answers a path with its page: bytes, a status, or (bytes, promised length, whether it then stalls).

    A list of pages is given out in turn, the last of them ever after.
    """

    def __init__(self):
        self.pages, self.asked, self.release = {}, [], threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                page = outer.pages.get(self.path, 404)
                if isinstance(page, list):
                    page = page.pop(0) if len(page) > 1 else page[0]
                if isinstance(page, int):
                    return self.send_error(page)
                body, promised, stalls = page if isinstance(page, tuple) else (page, len(page), False)
                self.send_response(200)
                self.send_header("Content-Length", str(promised))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()
                if stalls:
                    outer.release.wait(LONG)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def web_server(monkeypatch):
    """A server of one's own, which no proxy stands before and no data folder replaces."""
    monkeypatch.delenv("GCEXP_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    served = WebServer()
    yield served
    served.release.set()
    served.server.shutdown()
    served.server.server_close()


@pytest.fixture(scope="session")
def published_data():
    """Find the folder in which a published file lies, as `mnist/NAME`; a test that finds none is skipped."""
    folders = [os.environ.get("GCEXP_DATA"), Path(__file__).resolve().parents[3] / "shared" / "data"]

    def folder_of(file):
        for folder in folders:
            if folder and (Path(folder) / file).exists():
                return Path(folder)
        pytest.skip(f"{file} is neither in $GCEXP_DATA nor in ../shared/data")

    return folder_of
