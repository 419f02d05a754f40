"""B11 and B12: wall seconds of the quick preset, all targets, from a clean clone in a temporary folder, 2 cores.

The clone holds what is committed, so commit first. The current environment is used (installing is not measured): the
jobs import gcexp from the clone. One run, no warm-up: no results, no prepared data, no cache of compositions. The first
line is the time until the first figure is there, of the same run, with all targets in the queue; B11's bar of 60 s is
for a whole installation, so that line has no verdict.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Row
from gcexp.errors import UserError

CORES = 2


def run() -> list[Row]:
    """Two lines of one run."""
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("GCEXP_CONF", "GCEXP_SEARCHPATH")}
        environment["PYTHONPATH"] = str(clone)
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = [sys.executable, "-m", "snakemake", "--cores", str(CORES)]
        log, first, start = Path(folder) / "log", None, time.perf_counter()
        with open(log, "w") as file:
            process = subprocess.Popen(
                command, cwd=clone, env=environment, stdout=file, stderr=subprocess.STDOUT
            )
            try:
                while process.poll() is None:
                    if first is None and any(clone.glob("reports/quick/figures/*.pdf")):
                        first = time.perf_counter() - start
                    time.sleep(0.1)
            finally:
                if process.poll() is None:
                    process.terminate()  # Snakemake ends its jobs first
                    process.wait()
        wall = time.perf_counter() - start
        if process.returncode:
            raise UserError(
                "the quick preset fails in a clean clone: " + " ".join(log.read_text().splitlines()[-3:])
            )
        drawn = len(list(clone.glob("reports/quick/figures/*.pdf")))
    work = f"quick preset from a clean clone, {CORES} cores, wall: "
    return [
        Row("B11", work + "first figure", first or wall, "< 60 s with installation", note="1 run"),
        Row("B12", work + "all targets", wall, "< 5 min", wall < 300, note=f"1 run, {drawn} figures"),
    ]
