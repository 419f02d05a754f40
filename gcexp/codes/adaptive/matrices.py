"""The matrix E of an adaptive code, and which of its rows are sent, held and decoded with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcexp.codes.base import arcs
from gcexp.errors import require


def rounds_needed(L: int, d: int) -> list[int]:
    """Rounds r_s = ceil(L / (d - s)) that decode with s = 0, ..., d-1 stragglers."""
    return [-(-L // (d - s)) for s in range(d)]


def first_zero(row, n: int, d: int, L: int):
    """Column from which on a row of E is zero; rows may be an array."""
    return L + (row // n + 1) * (n - d)


def vandermonde(n: int, d: int, L: int, alphas: Sequence | None = None) -> list[list]:
    r"""Structured E: row r n + j holds alpha_{j,r}^k for k < L + (r+1)(n-d), then zeros.

    By default alpha_{j,r} = 1 + j L + r. Given `alphas` stand at the places r n + j; integers and fractions stay exact.
    Equations (63) and, for n = d, (75) of Cao, Yan, Tang and Han.
    """
    if alphas is None:
        alphas = []
        for r in range(L):
            alphas += [1 + j * L + r for j in range(n)]
    require(
        len(alphas) == n * L == len(set(alphas)),
        f"structured E needs n*L = {n * L} distinct numbers, got {len(set(alphas))}",
    )
    width = (n - d + 1) * L
    rows = []
    for i, alpha in enumerate(alphas):
        filled = first_zero(i, n, d, L)
        powers = [alpha**k for k in range(filled)]
        rows.append(powers + [0] * (width - filled))
    return rows


def random_matrix(n: int, d: int, L: int, generator: np.random.Generator) -> np.ndarray:
    """Random E (Cao et al., equation (36)): standard normal, row r n + j zero from column L + (r+1)(n-d) on."""
    filled = first_zero(np.arange(n * L), n, d, L)
    width = (n - d + 1) * L
    return generator.standard_normal((n * L, width)) * (np.arange(width) < filled[:, None])


def decode_rows(n: int, d: int, L: int, silent: Sequence[int] | np.ndarray) -> np.ndarray:
    """Rows of E of the paper's decode matrix A: the first h = L + (n-d) r_s that the other workers send.

    A consists of their first h columns, and the first L rows of A^{-1} are the decode weights.
    """
    r = rounds_needed(L, d)[len(silent)]
    answers = np.ones(n, dtype=bool)
    answers[list(silent)] = False
    return (np.arange(r)[:, None] * n + np.flatnonzero(answers)).ravel()[: L + (n - d) * r]


def rows_by_holding(n: int, d: int, L: int) -> tuple[np.ndarray, np.ndarray]:
    """For every partition the rows of the workers that do not hold it, (n, (n-d) L), and of those that do, (n, d L)."""
    workers = np.roll(arcs(n, n), -1, axis=0)  # of partition p from worker p + 1 on
    rows = np.arange(L)[:, None] * n + workers[:, None]  # (partitions, rounds, workers)
    without = rows[:, :, : n - d]
    holders = rows[:, :, n - d :]
    return without.reshape(n, -1), holders.reshape(n, -1)
