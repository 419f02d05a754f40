"""B11 and B12: wall seconds of the quick preset from clean clones in a temporary folder, 2 cores.

B11: the first figure file alone. B12: all targets, in another clone. A clone holds what is committed, so commit first:
no results, no prepared data, no cache of compositions. The current environment is used and the jobs import gcexp from
the clone. Installing is not measured, so B11, whose bar includes it, has no verdict unless it is missed without. One
run each, no warm-up. CPU seconds are those of the whole machine: nobody waits for the server that forks the jobs, so
that their seconds are added up nowhere else. Other work on the machine moves both numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.measure import ROOT, Row
from gcexp.errors import UserError

CORES = 2
GOAL = 250  # CPU seconds: 150, and 100 of the companions that came later


def busy() -> float:
    """CPU seconds that the machine has worked since it started."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system


def reproduce(name: str | None = None) -> tuple[float, float, str]:
    """Wall and CPU seconds of Snakemake in a new clone, and its target: the first figure unless named."""
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("GCEXP_CONF", "GCEXP_SEARCHPATH")}
        environment["PYTHONPATH"] = str(clone)
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        first = sorted((clone / "gcexp_papers").glob("*/figures/*.yaml"))[0]
        target = name or f"{first.parent.parent.name}_{first.stem}"
        snakemake = str(Path(sys.executable).with_name("snakemake"))
        command = [sys.executable, snakemake, target, "--cores", str(CORES)]
        before, start = busy(), time.perf_counter()
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
        wall, cpu = time.perf_counter() - start, busy() - before
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise UserError(f"snakemake {target} fails in a clean clone: {' '.join(lines[-3:])}")
    return wall, cpu, target


def run() -> list[Row]:
    """Three lines."""
    first, first_cpu, target = reproduce()
    wall, cpu, _ = reproduce("all")
    work = f"quick preset from a clean clone, {CORES} cores, wall: "
    notes = [f"1 run, CPU {seconds:.0f} s" for seconds in (first_cpu, cpu)]
    return [
        Row(
            "B11",
            work + target,
            first,
            "< 60 s with installation",
            None if first < 60 else False,
            note=notes[0],
        ),
        Row("B12", work + "all targets", wall, "< 150 s", wall < 150, note=notes[1]),
        Row("B12", "the same, CPU seconds of the machine", cpu, f"< {GOAL} s", cpu < GOAL, limit=GOAL),
    ]
