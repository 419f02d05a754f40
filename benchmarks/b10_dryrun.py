"""B10: wall seconds of ``snakemake -n`` for everything of the paper preset, in a process of its own.

A dry run before the first timed one fills the cache of compositions; then the median of five. CPU seconds of the same
processes stand in the note, and the number of Hydra compositions of one more dry run, counted around the only function
that composes, which must be 0.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

from benchmarks.measure import ROOT, Row
from gcexp.errors import UserError

ARGUMENTS = ["--dry-run", "--quiet", "--config", "preset=paper"]
_COUNT = f"""
import atexit, sys
from gcexp.run import compose
counted, inner = [], compose._hydra
compose._hydra = lambda choices: counted.append(choices) or inner(choices)
atexit.register(lambda: print("compositions:", len(counted)))
from snakemake.cli import main
main({ARGUMENTS!r})
"""


def dry(command: list[str]) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds and output of one dry run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise UserError(f"snakemake -n --config preset=paper fails: {' '.join(lines[-1:])}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout


def run() -> list[Row]:
    """One line."""
    walls, cpus, _ = zip(*(dry(["-m", "snakemake", *ARGUMENTS]) for _ in range(6)), strict=True)
    printed = dry(["-c", _COUNT])[2]
    compositions = int(printed.rpartition("compositions:")[2])
    wall, cpu = statistics.median(walls[1:]), statistics.median(cpus[1:])
    return [
        Row(
            *("B10", "snakemake -n, preset paper, wall", wall, "< 5 s wall, 0 compositions"),
            met=wall < 5 and compositions == 0,
            note=f"CPU {cpu:.2f} s, {compositions} compositions",
        )
    ]
