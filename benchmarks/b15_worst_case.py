"""B15: the exact worst case of 50 million sets of stragglers, by branch and bound.

Work: `gcexp.decoding_error.error.error` with ``max_searched`` for `RegularBipartiteCode(n=60, d=3, seed=0)` and s = 6,
which has 50 063 860 sets: the search must find .0538256. The same for a code whose messages depend on each other (a
Bernoulli code of rank 58), and for one of degree 10, where the bound rules out little.
Medians of three. Peer: a compiled depth-first search with an incremental Cholesky factor, no bounds, in a spike; it is
for square matrices of full rank.
"""

from __future__ import annotations

from functools import partial

from benchmarks.measure import Row, duration, median_cpu
from gcexp.codes import BernoulliCode, RegularBipartiteCode
from gcexp.decoding_error.error import MAX_SEARCHED, error

N, S, VALUE = 60, 6, 0.0538256


def search(code):
    found = error(code, S, max_searched=MAX_SEARCHED)
    assert found.exact, found
    return found


def run() -> list[Row]:
    """One line."""
    code = RegularBipartiteCode(N, 3, seed=0)
    value = search(code).lower
    assert abs(value - VALUE) < 1e-7, value
    others = (BernoulliCode(N, 4, N, seed=0), RegularBipartiteCode(N, 10, seed=1))
    ours, dependent, dense = median_cpu(*(partial(search, one) for one in (code, *others)), repeats=3)
    return [
        Row(
            *("B15", f"exact worst case, regular bipartite n={N} d=3 s={S}", ours, "<= 2 s"),
            met=ours <= 2,
            limit=2,
            peer="0.71 s",
            peer_seconds=0.71,
            note=f"error {value:.7f}; rank 58 {duration(dependent)}, d=10 {duration(dense)}",
        )
    ]
