"""B6: decode as messages arrive, circulant code of N=40 workers with messages of 1, 2 and 3 partitions.

Work: `Spanned("partitions").stop`, which inserts one row into an elimination at every arrival until all 40 single
gradients are in the span of what arrived. 120 rows over 40 partitions; a partition takes 0.01 + Exp(rate 10), drawn
beforehand, and a message arrives when its last partition is done. 20 iterations, in two ways: all in one call, side by
side, as a timeline does; and one call per iteration, as the peer does. The answer must be that of ranks from scratch at
every arrival: the same stopping time, and messages kept that span everything. Peer: elimination from scratch. Floor:
the products alone with which 40 rows are each freed twice of the basis that has grown by then, one iteration at a time.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, median_cpu
from gcexp.codes import CirculantMultiMessage
from gcexp.schemes import Spanned

N, SIZES, ITERATIONS = 40, (1, 2, 3), 20
PEER = "0.25 s per iteration"


def from_scratch(rows: np.ndarray, arrival: np.ndarray) -> float:
    """Arrival (messages,) at which the rows heard have full rank, by a rank of its own at every arrival."""
    order = np.argsort(arrival, kind="stable")
    full = rows.shape[1]
    needed = next(p for p in range(1, len(order) + 1) if np.linalg.matrix_rank(rows[order[:p]]) == full)
    return arrival[order[needed - 1]]


def run() -> list[Row]:
    """Two lines: all iterations side by side, and one by one."""
    code, rule = CirculantMultiMessage(N, SIZES), Spanned("partitions")
    partitions = 0.01 + np.random.default_rng(0).exponential(1 / 10, (1, ITERATIONS, N, sum(SIZES)))
    at = partitions.cumsum(-1)[..., np.cumsum(SIZES) - 1]  # (1, iterations, N, messages); r = 0 is the last

    def together() -> tuple[np.ndarray, np.ndarray]:
        return rule.stop(code, lambda r=0: at[..., r - 1])

    def alone() -> list[tuple[np.ndarray, np.ndarray]]:
        return [rule.stop(code, lambda r=0, t=t: at[:, t : t + 1, :, r - 1]) for t in range(ITERATIONS)]

    time, responses = together()
    rows = code.encoding.toarray()
    expected = [from_scratch(rows, at[0, t].ravel()) for t in range(ITERATIONS)]
    assert time[0].tolist() == expected, "stopping times differ from ranks from scratch"
    for kept in code.received(responses[0].astype(int)):
        assert np.linalg.matrix_rank(rows[kept]) == N, "the messages kept do not span every partition"
    for t, (one_time, one_responses) in enumerate(alone()):
        assert one_time == time[:, t] and (one_responses == responses[:, t]).all(), (
            "one by one differs from side by side"
        )
    basis = np.eye(N)[None]

    def products() -> None:
        for _ in range(ITERATIONS):
            for p in range(N):
                left, known = basis[:, :1], basis[:, :p]
                for _ in range(2):
                    left = left - left @ known.transpose(0, 2, 1) @ known

    floor, *times = median_cpu(products, together, alone)
    lines = zip(("side by side", "one call each"), times, strict=True)
    work, bar = f"N={N}, {len(code.owner)} rows, one iteration of {ITERATIONS}, ", "< 2 ms, the same answer"
    return [
        Row(
            "B6",
            work + way,
            ours / ITERATIONS,
            bar,
            ours / ITERATIONS < 2e-3,
            PEER,
            0.25,
            floor / ITERATIONS,
            "answer equal",
            limit=2e-3,
        )
        for way, ours in lines
    ]
