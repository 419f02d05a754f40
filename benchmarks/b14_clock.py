"""B14: the clock alone, draws included: nothing is decoded that a promise gives.

Work: `run_clock` of uncoded and of the fastest 950 of n=1000 workers, 10^5 iterations, and of cyclic repetition
n=100, s=10, 10^6 iterations. Floor: as many unit exponentials, each worker from a stream of its own, some at a time, as
every published draw is. Called in turn in one process; the median of two after a warm-up.
"""

from __future__ import annotations

from functools import partial

from benchmarks.measure import Row, median_cpu
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.seeding import rng
from gcexp.timeline import run_clock

PIECE = 2000
FLOOR = 153  # million worker-iterations per second where the bars were set
#: Scheme, iterations and the bar in million worker-iterations per second.
CASES = {
    "uncoded n=1000": (Scheme(Uncoded(1000), Decodable()), 10**5, 80),
    "forget n=1000 s=50": (Scheme(Uncoded(1000), Fastest(s=50)), 10**5, 80),
    "cgc n=100 s=10": (Scheme(CyclicRepetition(100, 10), Fastest(s=10)), 10**6, 40),
}


def draws(n: int, iterations: int) -> None:
    """As many numbers from as many streams, and nothing else."""
    for worker in range(n):
        stream = rng(0, "delays", worker)
        for _ in range(0, iterations, PIECE):
            stream.standard_exponential(PIECE)


def run() -> list[Row]:
    """One line per scheme."""
    rows = []
    for name, (scheme, iterations, rate) in CASES.items():
        clock = partial(run_clock, scheme, ShiftedExponential(), (0,), iterations)
        floor, ours = median_cpu(partial(draws, scheme.code.n, iterations), clock, repeats=2)
        done = scheme.code.n * iterations / 1e6
        limit = max(done / rate, floor * FLOOR / rate)  # on a slower machine the same share of its floor
        rows.append(
            Row(
                *("B14", f"{name}, {iterations} iterations: {done / ours:.0f} M worker-iterations/s", ours),
                bar=f">= {rate} M/s or ours / floor <= {FLOOR / rate:.1f}",
                met=ours <= limit,
                peer=f"{FLOOR} M/s (floor, elsewhere)",
                floor=floor,
                limit=limit,
            )
        )
    return rows
