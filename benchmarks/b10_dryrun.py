"""B10: CPU seconds of ``snakemake -n`` for everything of the paper preset, as the first plan of a clone and after it.

Each plan is a process of its own in a clean clone (commit first), which has neither compiled modules nor a `.cache`;
the second plan follows in the same clone. Median of three pairs. Floor: ``snakemake -n`` of a file with one empty rule.
The number of Hydra compositions of either plan, counted around the only function that composes, must be 0.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Row
from gcexp.errors import UserError

PLAN = ("--dry-run", "--quiet", "--config", "preset=paper")
LIMIT = 5
_COUNTED = """
import atexit, sys
from gcexp.run import compose
counted, inner = [], compose._hydra
compose._hydra = lambda choices: counted.append(choices) or inner(choices)
atexit.register(lambda: print("compositions:", len(counted)))
from snakemake.cli import main
main(sys.argv[1:])
"""


def planned(folder: Path, *command: str) -> tuple[float, str]:
    """CPU seconds of what a person types in a folder, whose modules are the ones that count, and what it printed."""
    keep = {
        k: v
        for k, v in os.environ.items()
        if k not in ("GCEXP_CONF", "GCEXP_SEARCHPATH", "PYTHONDONTWRITEBYTECODE") and "NUM_THREADS" not in k
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=keep | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise UserError(f"snakemake -n --config preset=paper fails: {' '.join(lines[-1:])}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def clone(place: Path) -> Path:
    """What is committed, in a folder of its own."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
    return place


def run() -> list[Row]:
    """Two lines."""
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    times = []
    with TemporaryDirectory() as folder:
        (empty := Path(folder, "empty")).mkdir()
        (empty / "Snakefile").write_text("rule all:\n")
        planned(empty, snakemake, *PLAN[:2])
        for turn in range(3):
            mine = clone(Path(folder, str(turn)))
            commands = (empty, PLAN[:2]), (mine, PLAN), (mine, PLAN)
            times.append([planned(where, snakemake, *given)[0] for where, given in commands])
        counted = [planned(clone(Path(folder, "counted")), "-c", _COUNTED, *PLAN)[1]]
        counted.append(planned(Path(folder, "counted"), "-c", _COUNTED, *PLAN)[1])
    floor, *ours = map(median, zip(*times, strict=True))
    rows = []
    for name, seconds, printed in zip(("first in a clone", "second"), ours, counted, strict=True):
        compositions = int(printed.rpartition("compositions:")[2])
        rows.append(
            Row(
                *("B10", f"snakemake -n, preset paper, {name}", seconds, f"< {LIMIT} s, 0 compositions"),
                met=seconds < LIMIT and compositions == 0,
                peer="1.4-2.3 s (floor)",
                floor=floor,
                limit=LIMIT,
                note=f"{compositions} compositions",
            )
        )
    return rows
