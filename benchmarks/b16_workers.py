"""B16: 10^5 workers, 10^3 iterations, one seed: the whole command ``gcexp simulate``, and how its work grows with n.

CPU seconds and peak memory of a process of its own, start and imports included; then, in this process and without them,
the exponent in n that is fitted to run_clock's CPU seconds at four sizes. Floor: as many unit exponentials from one
stream, some at a time. Mean iteration times must agree with theory within four standard errors.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, median_cpu
from gcexp.codes import (
    Clustered,
    CyclicRepetition,
    EpsilonFractionalRepetition,
    FractionalRepetition,
    Uncoded,
)
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.theory.order_statistics import harmonic, shifted_exponential
from gcexp.timeline import run_clock

N, ITERATIONS, SIZES, PIECE = 100_000, 1000, (12_500, 25_000, 50_000, 100_000), 300
LIMIT, MEMORY, EXPONENT = 10, 1024, 1.1
COMMON = (f"n={N}", f"iterations={ITERATIONS}", "seeds=1", "delay=shifted_exponential")

#: What is typed, the same scheme for n workers, and the mean of its durations, unit exponentials, where it is known.
SCHEMES = {
    "uncoded": (("scheme=uncoded",), lambda n: Scheme(Uncoded(n), Decodable()), harmonic),
    "frc": (
        ("scheme=frc", "s=4"),
        lambda n: Scheme(FractionalRepetition(n, s=4), Fastest(s=4)),
        lambda n: shifted_exponential(n - 4, n),
    ),
    "cgc": (
        ("scheme=cgc", "s=4"),
        lambda n: Scheme(CyclicRepetition(n, 4), Fastest(s=4)),
        lambda n: shifted_exponential(n - 4, n),
    ),
    "clustered": (
        ("scheme=gc_sc", f"code.clusters={N // 20}", "code.d=3"),
        lambda n: Scheme(Clustered(n, n // 20, 3), Decodable()),
        None,
    ),
    "epsilon_frc": (
        ("scheme=epsilon_frc", f"s={N // 10}"),
        lambda n: Scheme(EpsilonFractionalRepetition(n, n // 10, 0.1), Fastest(s=n // 10)),
        lambda n: shifted_exponential(n - n // 10, n),
    ),
}


#: A small process starts it: the memory of the one that starts it would count as its own.
_ALONE = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def command(overrides: tuple[str, ...]) -> tuple[float, float]:
    """CPU seconds and peak MiB of one ``gcexp simulate``."""
    typed = [str(Path(sys.executable).with_name("gcexp")), "simulate", *overrides]
    done = subprocess.run([sys.executable, "-c", _ALONE, *typed], capture_output=True, check=True)
    status, seconds, memory = json.loads(done.stdout)
    assert status == 0, typed
    return seconds, memory


def exponent(make) -> float:
    """Slope of the clock's CPU seconds over n, both in logarithms."""
    seconds = median_cpu(
        *(partial(run_clock, make(n), ShiftedExponential(), (0,), PIECE) for n in SIZES), repeats=3
    )
    return float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])


def check(make, mean) -> None:
    """Compare the mean duration at N with theory."""
    found = run_clock(make(N), ShiftedExponential(), (0,), PIECE).duration
    assert abs(found.mean() - mean(N)) <= 4 * found.std(ddof=1) / np.sqrt(found.size), (found.mean(), mean(N))


def draws() -> None:
    """As many numbers, and nothing else."""
    stream = np.random.default_rng(0)
    for _ in range(ITERATIONS):
        stream.standard_exponential(N)


def run() -> list[Row]:
    """One line per scheme."""
    (floor,) = median_cpu(draws, repeats=3)
    rows = []
    for name, (overrides, make, mean) in SCHEMES.items():
        if mean:
            check(make, mean)
        seconds, memory = command((*overrides, *COMMON))
        slope = exponent(make)
        rows.append(
            Row(
                *("B16", f"{name}, n={N} x {ITERATIONS}, whole command", seconds),
                bar=f"<= {LIMIT} s, {MEMORY} MiB, exponent {EXPONENT}",
                met=seconds <= LIMIT and memory <= MEMORY and slope <= EXPONENT,
                floor=floor,
                limit=LIMIT,
                memory=(memory, MEMORY),
                note=f"{memory:.0f} MiB, n^{slope:.2f}",
            )
        )
    return rows
