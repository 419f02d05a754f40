"""B18: 10^8 iterations of 10 workers, the whole command ``gcexp simulate``: the memory that it takes, imports included.

CPU seconds of a process of its own; floor: as many unit exponentials from one stream, some at a time.
"""

from __future__ import annotations

import numpy as np

from benchmarks.b16_workers import command
from benchmarks.measure import Row, median_cpu

N, ITERATIONS, MEMORY = 10, 10**8, 200


def draws() -> None:
    """A hundredth of the numbers, and nothing else."""
    stream = np.random.default_rng(0)
    for _ in range(10):
        stream.standard_exponential(N * ITERATIONS // 1000)


def run() -> list[Row]:
    """One line."""
    (floor,) = median_cpu(draws, repeats=3)
    run = ("scheme=cgc", "s=3", f"n={N}", f"iterations={ITERATIONS}", "seeds=1", "delay=shifted_exponential")
    seconds, memory = command(run)
    work = f"n={N} x {ITERATIONS:.0e}, whole command: {memory:.0f} MiB"
    bar, used = f"<= {MEMORY} MiB", (memory, MEMORY)
    return [Row("B18", work, seconds, bar, memory <= MEMORY, floor=100 * floor, memory=used)]
