"""Adaptive codes of a drawn E: the search for a good one, and the small systems that give its weights."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import ceil, comb, log2
from typing import NamedTuple

import numpy as np

from gcexp.codes.adaptive.matrices import random_matrix, rounds_needed, rows_by_holding
from gcexp.errors import require
from gcexp.seeding import rng

ARITHMETICS = ("float64", "extended")
PASSES = {"float64": 2, "extended": 5}  # solve, then refine
MOST_PATTERNS = 500  # on which a drawn E is judged, per number of stragglers: all up to here, else a sample
#: Three draws that are all worse end the search.
HOPELESS = 1e3
E_BITS = 20  # a drawn E is rounded to multiples of 2^-20, so that its products with short numbers are exact
_SETS_AT_ONCE = 8  # few, so that a bad draw is given up soon


class Prefix:
    """The first r rounds of E (n r rows, h columns): weights for any workers silent, by a small system for each."""

    def __init__(self, E: np.ndarray, n: int, d: int, L: int, r: int, arithmetic: str):
        self._n, self._arithmetic = n, arithmetic
        self._A = E[: n * r, : L + (n - d) * r]
        h = self._A.shape[1]
        Q, R = np.linalg.qr(self._A, mode="complete")
        self._Q = Q[:, :h]
        self._R = R[:h]
        self._N = Q[:, h:].T
        self._target = np.eye(L, h)
        self._of_all = self._smallest(self._target)  # the weights where nobody is silent

    def _smallest(self, target: np.ndarray) -> np.ndarray:
        """The smallest W (..., n r) with W A = target (..., h)."""
        right_sides = target.reshape(-1, target.shape[-1]).T
        return np.linalg.solve(self._R.T, right_sides).T.reshape(target.shape) @ self._Q.T

    def __call__(self, silent: np.ndarray) -> np.ndarray:
        """W (U, L, n r) with W A = [I 0], zero on the workers `silent` (U, s)."""
        U = len(silent)
        (L, rows) = self._of_all.shape
        first_of_rounds = np.arange(0, rows, self._n)
        silent_rows = (first_of_rounds[:, None] + silent[:, None]).reshape(U, -1)
        # The null space on the silent rows, as orthonormal columns times a triangle.
        q, R = np.linalg.qr(self._N[:, silent_rows].transpose(1, 0, 2))
        silent_rows = np.broadcast_to(silent_rows[:, None], (U, L, silent_rows.shape[1]))
        W = np.zeros((U, L, rows))
        step = np.broadcast_to(self._of_all, W.shape)
        for refined in range(PASSES[self._arithmetic]):
            if refined:
                step = self._smallest(_residual(self._target, W, self._A, self._arithmetic))
            # A move in the null space silences the workers.
            on_silent_rows = np.take_along_axis(step, silent_rows, 2)
            y = np.linalg.solve(R.swapaxes(1, 2), on_silent_rows.swapaxes(1, 2))
            W += step - (q @ y).swapaxes(1, 2) @ self._N
            np.put_along_axis(W, silent_rows, 0, 2)
        return W


def _residual(target: np.ndarray, x: np.ndarray, A: np.ndarray, arithmetic: str) -> np.ndarray:
    """``target - x A``; `extended` cuts x into slices so short that no product with the entries of A is rounded."""
    if arithmetic == "float64":
        return target - x @ A
    bits = 53 - (E_BITS + 3) - ceil(log2(A.shape[-2] + 1))  # entries of A are below 2^3
    for _ in range(4):
        largest = np.abs(x).max(-1, keepdims=True, initial=0)
        _, exponent = np.frexp(largest)
        unit = np.ldexp(1.0, exponent - bits)
        part = np.rint(x / unit) * unit
        target = target - part @ A
        x = x - part
    return target


def _draw(n: int, d: int, L: int, construction: str, generator: np.random.Generator) -> np.ndarray:
    """One E, rounded to multiples of 2^-E_BITS."""
    if construction == "chebyshev":
        nodes = np.cos((np.arange(n * L) + 0.5) * np.pi / (n * L))
        E = generator.permutation(nodes)[:, None] ** np.arange(L)
    else:
        E = random_matrix(n, d, L, generator)
    return np.rint(E * 2**E_BITS) / 2**E_BITS


def _build(E: np.ndarray, n: int, d: int, L: int, arithmetic: str) -> tuple[np.ndarray, np.ndarray]:
    """B (n L, n, L), and the numbers whose rounding it suffered: |E| |M| or, for `extended`, |B|."""
    without, holders = rows_by_holding(n, d, L)
    size = (n - d) * L
    z = n - d
    A = E[without, L:].swapaxes(1, 2)
    target = -E[without, :L].swapaxes(1, 2)
    M, rest = np.zeros((2, n, L, size))  # the transposed M^D of each partition is their sum
    for _ in range(PASSES[arithmetic]):
        residual = _residual(_residual(target, M, A, arithmetic), rest, A, arithmetic)
        for i in range(0, size, z or 1):  # forward substitution, block by block
            own = slice(i, i + z)
            later = slice(i + z, size)
            triangle = A[:, own, own]
            right_side = residual[:, :, own]
            step = np.linalg.solve(triangle.swapaxes(1, 2), right_side.swapaxes(1, 2)).swapaxes(1, 2)
            residual[:, :, later] -= step @ A[:, own, later]
            rest[:, :, own] += step
        M, rest = M + rest, rest - ((M + rest) - M)
    A = E[holders, L:].swapaxes(1, 2)
    target = -E[holders, :L].swapaxes(1, 2)
    entries = -_residual(_residual(target, M, A, arithmetic), rest, A, arithmetic)
    B = np.zeros((n * L, n, L))
    B[holders, np.arange(n)[:, None]] = entries.swapaxes(1, 2)
    if arithmetic == "extended":
        return B, np.abs(B)
    size_of_sums = np.abs(M) @ np.abs(E[:, L:]).T
    return B, np.abs(E[:, None, :L]) + size_of_sums.transpose(2, 0, 1)


def _silent_sets(n: int, s: int, seed: int) -> np.ndarray:
    """Sets of s of n workers (U, s): all, or a sample where they are more than MOST_PATTERNS."""
    if comb(n, s) <= MOST_PATTERNS:
        return np.array(list(combinations(range(n), s)), dtype=int).reshape(comb(n, s), s)
    generator = rng(seed, "monte_carlo", n, s)
    return np.sort([generator.choice(n, s, replace=False) for _ in range(MOST_PATTERNS)], axis=1)


class BestDraw(NamedTuple):
    """The best of the matrices that were drawn."""

    bound: float  #: on the rounding error of a decoded coefficient
    trial: int  #: number of the draw
    E: np.ndarray
    B: np.ndarray


@lru_cache(maxsize=32)
def search(
    n: int, d: int, L: int, construction: str, arithmetic: str, search_seeds: int, seed: int
) -> BestDraw:
    """The draw with the smallest bound on its residual."""
    most_silent = {r: s for s, r in enumerate(rounds_needed(L, d))}  # of the rounds r that decode
    silent = {r: _silent_sets(n, s, seed) for r, s in reversed(most_silent.items())}  # the worst ones first
    smallest_bound, best_trial = np.inf, 0
    for trial in range(search_seeds):
        E = _draw(n, d, L, construction, rng(seed, "assignment", trial))
        try:
            bound = _bound(E, n, d, L, silent, arithmetic, limit=min(smallest_bound, HOPELESS))
        except np.linalg.LinAlgError:
            continue
        if bound < smallest_bound:
            smallest_bound, best_trial = bound, trial
        if trial >= 2 and smallest_bound > HOPELESS:
            break
    require(
        smallest_bound < 1,
        f"adaptive code with n={n}, d={d}, rounds={L}: rounding leaves nothing of the decoded gradient (errors reach "
        f"{smallest_bound:.0e} with the best drawn E); take fewer rounds, such as rounds={d}, or groups of d "
        "workers",
    )
    E = _draw(n, d, L, construction, rng(seed, "assignment", best_trial))
    B, _ = _build(E, n, d, L, arithmetic)
    return BestDraw(smallest_bound, best_trial, E, B)


def _bound(E: np.ndarray, n: int, d: int, L: int, silent: dict, arithmetic: str, limit: float) -> float:
    """Rounding error of a decoded coefficient at most: eps |W| |E| |M|, or eps |W| |B| for `extended`.

    Where it is above `limit`, some number above it: the search ends there.
    """
    B, size = _build(E, n, d, L, "float64")
    if arithmetic == "extended":
        size = np.abs(B)
    size = size.reshape(n * L, n * L) * np.finfo(float).eps
    worst = 0.0
    for r, sets in silent.items():
        prefix = Prefix(E, n, d, L, r, "float64")
        for some in np.split(sets, range(_SETS_AT_ONCE, len(sets), _SETS_AT_ONCE)):
            rounding_error = np.abs(prefix(some)) @ size[: n * r]
            worst = max(worst, float(rounding_error.max()))
            if worst > limit:
                return worst
    return worst
