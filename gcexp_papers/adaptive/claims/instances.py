"""Codes, matrices and sets that several claims try, made independently of the library's codes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import lcm

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.codes.adaptive import Adaptive, GroupedAdaptive, random_matrix
from gcexp.codes.general_v import solve_exactly
from gcexp.seeding import rng

#: (n, d) of codes whose E is drawn, with d < n.
DRAWN = [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (6, 3)]
#: Matrices that are drawn for each code.
DRAWS = 4


def sizes(workers: int) -> Iterator[tuple[int, int]]:
    """All (n, d) with 2 <= n <= workers and d <= n."""
    for n in range(2, workers + 1):
        for d in range(1, n + 1):
            yield n, d


def divisible(loads: range) -> Iterator[tuple[int, int, int]]:
    """All (d, L, s) with a load of `loads`, s < d stragglers and L = lcm(1..d) rounds."""
    for d in loads:
        L = lcm(*range(1, d + 1))
        for s in range(d):
            yield d, L, s


def small() -> Iterator[tuple[int, int, int, list[np.ndarray]]]:
    """n, d and L of codes with n <= 5 that are small enough for exact arithmetic, and drawn E of whole numbers."""
    for n, d in DRAWN[:5]:
        for L in range(1, lcm(*range(1, d + 1)) + 1):
            yield n, d, L, [whole(n, d, L, trial) for trial in range(DRAWS)]


@cache
def own(n: int, d: int, L: int) -> np.ndarray:
    """A cyclic code of L rounds over a prime field."""
    return engine.code(engine.cyclic(n, d), L, rng(0, "assignment", 2, n, d, L))


@cache
def rounds_of_own(n: int, d: int, L: int, s: int) -> int | None:
    """Fewest rounds of that code from which every n - s workers decode; None where all are too few."""
    return engine.rounds_needed(own(n, d, L), s)


@cache
def built(n: int, d: int, L: int) -> Adaptive:
    """The library's code of L rounds."""
    return Adaptive(n, d, L, search_seeds=1)


@cache
def grouped(n: int, d: int) -> GroupedAdaptive:
    """The library's code in groups."""
    return GroupedAdaptive(n, d, search_seeds=2)


def without(n: int, d: int, L: int, p: int) -> list[int]:
    """Q_p: rows of E of the workers that do not hold partition p."""
    silent_about_p = [j for j in range(n) if (p - j) % n >= d]
    rows = []
    for r in range(L):
        rows += [r * n + j for j in silent_about_p]
    return rows


def solved(E: np.ndarray, n: int, d: int, L: int) -> np.ndarray:
    """M of an integer E, exactly, (44) and (50); its columns are m n + i as in the paper."""
    M = np.zeros(((n - d + 1) * L, n * L), dtype=object)
    for m in range(L):
        M[m, m * n : (m + 1) * n] = 1
    for v in range(n * L):
        Q = without(n, d, L, v % n)
        x, determinant = solve_exactly(E[Q][:, L:], -(E[Q][:, :L] @ M[:L, v])[:, None])
        M[L:, v] = [Fraction(int(a), int(determinant)) for a in x[:, 0]]
    return M


def blocks(B: np.ndarray, n: int, L: int) -> np.ndarray:
    """The blocks B(r, m) of a matrix with columns m n + i, (L, L, n, n)."""
    return B.reshape(L, n, L, n).swapaxes(1, 2)


def whole(n: int, d: int, L: int, trial: int) -> np.ndarray:
    """A drawn E of whole numbers, nonzero wherever E may be."""
    generator = rng(0, "assignment", n, d, L, trial)
    drawn = np.rint(1000 * random_matrix(n, d, L, generator)).astype(int)
    staircase = np.arange((n - d + 1) * L) < (L + (np.arange(n * L) // n + 1) * (n - d))[:, None]
    return np.where(staircase & (drawn == 0), 1, drawn).astype(object)


def signals_needed(n: int, d: int, L: int, s: int) -> int:
    """Signals that make up a decoding matrix: the fewest rounds r with (n-s) r >= L + (n-d) r."""
    r = next(r for r in range(1, L + 1) if (n - s) * r >= L + (n - d) * r)
    return L + (n - d) * r
