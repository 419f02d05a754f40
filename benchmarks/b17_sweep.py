"""B17: ``gcexp.sweep`` of 1000 points of 100 iterations, cgc and frc with n and s varied, one process, nothing kept.

CPU seconds from the call to the rows, in a process and a folder of its own, imports not included: options are composed,
codes built and checked, clocks played. Floor: in the same process, the clock of every point, its scheme already built.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from tempfile import TemporaryDirectory

import gcexp
from benchmarks.measure import ROOT, Row
from gcexp.codes import CyclicRepetition, FractionalRepetition
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Fastest, Scheme
from gcexp.timeline import run_clock

#: Every s + 1 divides every n, as fractional repetition wants it.
GRID = {
    "scheme": ["cgc", "frc"],
    "n": [12 * i for i in range(1, 6)],
    "s": [1, 2, 3, 5, 11],
    "overhead": [i / 20 for i in range(20)],
}
ITERATIONS, LIMIT = 100, 2.5
#: What a sweep loads when it is called.
IMPORTED = (
    *("gcexp.benchmarking", "gcexp.codes.accuracy", "gcexp.experiments", "gcexp.summary"),
    *("gcexp.run.measured", "gcexp.run.result", "joblib", "pandas", "tqdm"),
)


def points() -> list[Scheme]:
    """The scheme of every point."""
    codes = {
        "cgc": CyclicRepetition,
        "frc": lambda n, s: FractionalRepetition(n, s=s),
    }
    made = {(name, n, s): codes[name](n, s) for name in GRID["scheme"] for n in GRID["n"] for s in GRID["s"]}
    return [
        Scheme(code, Fastest(s=s), overhead)
        for (_, _, s), code in made.items()
        for overhead in GRID["overhead"]
    ]


def measured() -> list[float]:
    """CPU seconds of the sweep and of its clocks."""
    for module in IMPORTED:
        importlib.import_module(module)
    schemes, times = points(), [time.process_time()]
    given = {"delay": "shifted_exponential", "iterations": ITERATIONS, "seeds": 1, "progress": False}
    table = gcexp.sweep(GRID, **given)
    times.append(time.process_time())
    assert len(table) == len(schemes) == 1000
    for scheme in schemes:
        run_clock(scheme, ShiftedExponential(), (0,), ITERATIONS)
    times.append(time.process_time())
    return [after - before for before, after in zip(times, times[1:], strict=False)]


def run() -> list[Row]:
    """One line, the better of two."""
    found = []
    for _ in range(2):
        with TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.b17_sweep"],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                capture_output=True,
                check=True,
            )
        found.append(json.loads(done.stdout))
    ours, floor = min(found)
    return [
        Row(
            *("B17", f"sweep of 1000 points x {ITERATIONS} iterations, nothing kept", ours, f"<= {LIMIT} s"),
            met=ours <= LIMIT,
            peer="1.4 s (floor)",
            floor=floor,
            limit=LIMIT,
        )
    ]


if __name__ == "__main__":
    print(json.dumps(measured()))
