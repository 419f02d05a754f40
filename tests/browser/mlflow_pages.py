"""MLflow's own pages of a folder's database, and the picture of them in the documentation.

``python -m tests.browser.mlflow_pages`` makes docs/mlflow.png anew, from what
``snakemake mlflow_partial_recovery_fig4_fixed_s`` imported into this folder.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from tests.browser.driver import LONGEST_WAIT, Browser

ROOT = Path(__file__).resolve().parents[2]
SHOWN = "partial_recovery_fig4_fixed_s"
#: What the list of runs shows to an eye: a list of its rows, each with the texts of its columns by their names. A cell
#: that is cut off, or lies under something, is not among them.
_LIST = """
const rows = {}, inner = document.querySelectorAll("[role=gridcell]");
for (const cell of inner) {
  const box = cell.getBoundingClientRect();
  const seen = [box.left + 2, box.right - 2].every(x => {
    const there = document.elementFromPoint(x, box.top + box.height / 2);
    return there && cell.contains(there);
  });
  const place = cell.closest("[row-index]").getAttribute("row-index");
  if (seen) (rows[place] ??= {})[cell.getAttribute("col-id")] = cell.innerText.trim();
}
return Object.keys(rows).sort((one, other) => one - other).map(place => rows[place]);
"""


@contextmanager
def mlflow_of(project_folder, **variables):
    """Address of MLflow's pages, as docs/mlflow.md starts them, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("mlflow")), "ui", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", "sqlite:///results/mlflow/mlflow.db"]
    variables |= {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, cwd=project_folder, env=os.environ | variables, **quiet) as server:
        try:
            _wait_for(port, server)
            yield f"http://127.0.0.1:{port}/"
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def _wait_for(port, server):
    """Wait until somebody listens."""
    end = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert server.poll() is None and time.monotonic() < end, "MLflow's server does not start"
            time.sleep(0.2)


def link_to(figure, folder, address):
    """The link to a figure's schemes that its import wrote down, on a server of this address."""
    listed = json.loads((Path(folder) / f"results/mlflow/quick/{figure}.imported").read_text())
    _, mark, page = listed["links"][figure].partition("#")
    return f"{address}{mark}{page}"


def shown_list(browser, column):
    """The rows of MLflow's list of runs as the window shows them, as soon as it shows a column."""

    def rows():
        found = browser.evaluate(_LIST)
        return found if any(column in row for row in found) else None

    return browser.wait(rows, f"the column {column}")


def main():
    """Make the picture."""
    with mlflow_of(ROOT) as address, Browser.started(1440, 900) as browser:
        browser.open(link_to(SHOWN, ROOT, address))
        shown_list(browser, "metrics.`time to 0.9 in s`")
        browser.click("//button[@data-component-id='mlflow.assistant.chat_panel.close']")
        shown_list(browser, "metrics.`mean iteration time in s`")
        browser.picture(ROOT / "docs/mlflow.png")


if __name__ == "__main__":
    main()
