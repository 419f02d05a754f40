"""B1: the cyclic repetition code of Tandon et al., built and decoded.

Work: build the library's default `CyclicRepetition(n, s)`; then the decode weights a of 200 random patterns of exactly
s stragglers (``default_rng(1)``, ``choice(n, s, replace=False)`` for each), all in one call of `weights`, divided by
200. The error is max abs(a B - 1) over all patterns and partitions. `decode`, which also computes the coefficients and
the certificate, stands in the note. Floor: ``numpy.linalg.solve`` of as many random systems of s unknowns, n to build
and one to decode. Peer: the original authors' routines, one ``lstsq`` per pattern.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, duration, median_cpu
from gcexp.codes import CyclicRepetition

PATTERNS = 200
#: n, s, and the peer's build ms, decode ms and worst error.
PEER = (
    (10, 2, 0.20, 0.030, "7e-13"),
    (20, 4, 0.38, 0.061, "3e-11"),
    (50, 5, 0.97, 0.34, "1.5e-8"),
    (100, 10, 2.8, 1.7, "5e-9"),
    (200, 20, 8.5, 6.4, "7e-9"),
    (400, 40, 35, 26, "6e-9"),
)


def run() -> list[Row]:
    """Two lines per size: build, and one decode with the worst error."""
    rows = []
    for n, s, build_ms, decode_ms, peer_error in PEER:
        code, draw = CyclicRepetition(n, s), np.random.default_rng(1)
        responses = np.ones((PATTERNS, n), dtype=np.int64)
        for pattern in responses:
            pattern[draw.choice(n, s, replace=False)] = 0
        error = np.abs(code.weights(responses) @ code.encoding.toarray() - 1).max()
        systems = draw.standard_normal((max(n, PATTERNS), s, s)), np.ones((max(n, PATTERNS), s, 1))
        solve_n, solve, build, weights, decode = median_cpu(
            lambda n=n, systems=systems: np.linalg.solve(*(part[:n] for part in systems)),
            lambda systems=systems: np.linalg.solve(*(part[:PATTERNS] for part in systems)),
            lambda n=n, s=s: CyclicRepetition(n, s),
            lambda code=code, responses=responses: code.weights(responses),
            lambda code=code, responses=responses: code.decode(responses),
        )
        size = f"{type(code).__name__} n={n} s={s}"
        rows.append(
            Row("B1", f"{size}: build", build, "-", None, f"{build_ms:g} ms", build_ms / 1e3, floor=solve_n)
        )
        ours, peer = weights / PATTERNS, decode_ms / 1e3
        fast = peer / ours >= 10 or n < 100
        rows.append(
            Row(
                *("B1", f"{size}: one decode", ours),
                bar="error <= 1e-10" + (", peer / ours >= 10" if n >= 100 else ""),
                met=bool(fast and error <= 1e-10),
                peer=f"{decode_ms:g} ms, error {peer_error}",
                peer_seconds=peer,
                floor=solve / PATTERNS,
                limit=peer / 10 if n >= 100 else None,
                note=f"error {error:.0e}, with certificate {duration(decode / PATTERNS)}",
            )
        )
    return rows
