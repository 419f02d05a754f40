"""B5: the clock of n=256 workers that ignores the slowest s=15, 1000 rounds of 1 + Exp(1), draws excluded.

Floor: `numpy.partition` of the same (1000, 256) array of arrivals along its workers; the durations must equal its
(n-s)-th smallest. Three lines, each doing more: the waiting rule alone (durations and who was heard: what the peer, a
counting simulator, does at most), that and the distinct patterns, and the whole `simulate` of cyclic repetition, which
prices the draws and keeps every distinct pattern (all 1000 differ), of which it decodes 64 with a certificate: the rest
is what the code promises.

Then the whole `simulate` of n=100 workers, 10^4 rounds, over the partition at their 91st smallest: at most twice that
for the fastest 91, three times where the quorums of a code are waited for.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.measure import Row, median_cpu
from gcexp.codes import Clustered, CyclicRepetition, FractionalRepetition, Uncoded
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.schemes.survivors import distinct
from gcexp.timeline import simulate

N, S, ROUNDS = 256, 15, 1000
PEER = "10.5 ms (durations)"
#: Of n=100 workers: scheme, and how many partitions its clock may take.
SMALL = {
    "uncoded, fastest 91": (Scheme(Uncoded(100), Fastest(s=9)), 2),
    "cgc s=9, fastest 91": (Scheme(CyclicRepetition(100, 9), Fastest(s=9)), 2),
    "frc d=10, decodable": (Scheme(FractionalRepetition(100, s=9), Decodable()), 3),
    "clustered P=10 d=3, decodable": (Scheme(Clustered(100, 10, 3), Decodable()), 3),
}


def small() -> list[Row]:
    """A line per scheme of n=100 workers."""
    draws, rows = ShiftedExponential(shift=1.0).draw((0,), 10_000, 100), []
    for name, (scheme, times) in SMALL.items():
        at = np.array(draws.arrival(scheme.code.load / scheme.code.k, scheme.code.length))
        floor, ours = median_cpu(partial(np.partition, at, 90), partial(simulate, scheme, draws), repeats=15)
        work, bar = f"n=100, 10000 rounds, simulate: {name}", f"ours / floor <= {times}"
        limit = times * floor
        rows.append(Row("B5", work, ours, bar, ours <= limit, floor=floor, limit=limit))
    return rows


def run() -> list[Row]:
    """Three lines over one floor, and those of `small`."""
    draws = ShiftedExponential(shift=1.0).draw((0,), ROUNDS, N)
    scheme = Scheme(CyclicRepetition(N, S), Fastest(s=S))
    at = np.array(draws.arrival(scheme.code.load / scheme.code.k, scheme.code.length))

    def floor() -> np.ndarray:
        return np.partition(at, N - S - 1, axis=-1)

    def wait() -> tuple[np.ndarray, np.ndarray]:
        return scheme.wait.stop(scheme.code, lambda r=None: at)

    expected = floor()[..., N - S - 1]
    assert np.array_equal(wait()[0], expected), "durations differ from numpy.partition"
    timeline = simulate(scheme, draws)
    assert np.array_equal(timeline.duration, expected), "durations of simulate differ from numpy.partition"
    base, waited, patterns, whole = median_cpu(
        floor, wait, lambda: distinct(wait()[1]), lambda: simulate(scheme, draws), repeats=15
    )
    work, bar = f"n={N} s={S}, {ROUNDS} rounds: ", "ours / floor <= 2"
    decoded = f"simulate, {len(timeline.patterns)} patterns"
    return [
        Row(
            "B5", work + "waiting rule", waited, bar, waited <= 2 * base, PEER, 10.5e-3, base, limit=2 * base
        ),
        Row(
            "B5",
            work + "and distinct patterns",
            patterns,
            bar,
            patterns <= 2 * base,
            floor=base,
            limit=2 * base,
        ),
        Row("B5", work + decoded, whole, "-", floor=base),
        *small(),
    ]
