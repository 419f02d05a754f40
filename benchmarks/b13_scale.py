"""B13: a long run in bounded memory: n=1000 workers, the fastest n - s = 950, 10^5 iterations, fresh draws in each.

Everything counts: draws of `shifted_exponential`, the waiting rule, the distinct patterns, their decode by the uncoded
scheme, and the timeline written. Floor: numpy's draw of as many unit exponentials and their partition, in chunks. The
durations must equal those of a first piece that is partitioned by hand, and other chunks must give the same bits.

Memory is the peak of a process of its own, less what it had after its imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, median_cpu
from gcexp.codes import Uncoded
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Fastest, Scheme
from gcexp.timeline import run_clock

N, S, ITERATIONS, CHUNK = 1000, 50, 100_000, 1000
PEER = "93 M worker-iterations/s (floor, elsewhere)"
_ALONE = """
import json, time
from benchmarks.b13_scale import *
before, begun = peak(), time.process_time()
written()
print(json.dumps([time.process_time() - begun, peak() - before]))
"""


def peak() -> float:
    """Largest memory of this process so far, MiB; getrusage would count that of the process that started it too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def written(iterations: int = ITERATIONS) -> None:
    """One run, from draws to the file."""
    timeline = run_clock(Scheme(Uncoded(N), Fastest(s=S)), ShiftedExponential(), (0,), iterations)
    with tempfile.TemporaryDirectory() as folder:
        timeline.save(Path(folder) / "timeline.npz")


def floor(iterations: int = ITERATIONS) -> None:
    """Draw and partition, nothing else."""
    stream = np.random.default_rng(0)
    for _ in range(0, iterations, CHUNK):
        np.partition(stream.standard_exponential((CHUNK, N)), N - S - 1, axis=-1)


def run() -> list[Row]:
    """The whole run, and what the floor takes."""
    scheme, delay = Scheme(Uncoded(N), Fastest(s=S)), ShiftedExponential()
    whole, pieces = (run_clock(scheme, delay, (0,), 3000, chunk) for chunk in (10**9, 70_000))
    by_hand = np.partition(delay.draw((0,), 3000, N).arrival(1 / N, 1.0), N - S - 1, axis=-1)[..., N - S - 1]
    assert np.array_equal(whole.duration, by_hand), "durations differ from numpy.partition"
    for name in ("duration", "pattern", "patterns", "coefficients"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name)), f"{name} depends on the chunk"
    alone = [
        json.loads(subprocess.run([sys.executable, "-c", _ALONE], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    ours, memory = np.median(alone, axis=0)
    (base,) = median_cpu(floor, repeats=3)
    rate = N * ITERATIONS / ours / 1e6
    work = f"n={N}, {ITERATIONS} iterations: {rate:.0f} M worker-iterations/s, {memory:.0f} MiB"
    # On a machine slower than the reference, whose floor is 93 M/s, the same share of its floor.
    limit = max(N * ITERATIONS / 30e6, base * 93 / 30)
    met = bool(ours <= limit and memory < 1024)
    bar = ">= 30 M/s or ours / floor <= 3.1; < 1 GiB"
    return [Row("B13", work, ours, bar, met, PEER, floor=base, limit=limit, memory=(memory, 1024))]
