"""Adaptive codes of a structured or given E, solved exactly in fractions and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from gcexp.codes.adaptive.matrices import decode_rows, first_zero, rows_by_holding
from gcexp.codes.comm_efficient import fraction_rows
from gcexp.codes.general_v import solve_rational
from gcexp.errors import ParameterError, require

#: By the silent workers: rows that are received, and their weights.
ExactWeights = dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]


def exact_matrix(E: Sequence, n: int, d: int, L: int) -> np.ndarray:
    """E as fractions, if it has the shape of a code's."""
    exact = fraction_rows("E", E, (n * L, (n - d + 1) * L))
    for row, entries in enumerate(exact):
        zero_from = first_zero(row, n, d, L)
        rest = entries[zero_from:]
        require(
            not rest.any(),
            f"row {row} of E is zero from column {zero_from} on, got {list(map(str, rest))}",
        )
    return exact


def exact_code(E: np.ndarray, n: int, d: int, L: int) -> tuple[np.ndarray, ExactWeights]:
    """B, and the rows and weights without every set of stragglers, from an exact E."""
    return _exact_encoding(E, n, d, L), _exact_weights(E, n, d, L)


def _exact_encoding(E: np.ndarray, n: int, d: int, L: int) -> np.ndarray:
    """B (n L, n, L) in fractions."""
    without, holders = rows_by_holding(n, d, L)
    B = np.zeros((n * L, n, L), dtype=object)
    for p in range(n):
        try:
            M = solve_rational(E[without[p], L:], -E[without[p], :L])
        except ZeroDivisionError:
            raise ParameterError(
                f"E does not fit: its rows {without[p].tolist()} from column {L} on are singular"
            ) from None
        B[holders[p], p] = E[holders[p], :L] + E[holders[p], L:] @ M
    return B


def _exact_weights(E: np.ndarray, n: int, d: int, L: int) -> ExactWeights:
    """The weights without every set of stragglers, rounded once."""
    weights: ExactWeights = {}
    for s in range(d):
        for silent in combinations(range(n), s):
            rows = decode_rows(n, d, L, silent)
            A = E[rows, : len(rows)]
            try:
                W = solve_rational(A.T, np.eye(len(rows), L, dtype=int)).T
            except ZeroDivisionError:
                raise ParameterError(
                    f"E does not decode without workers {list(silent)}: the determinant of rows {rows.tolist()} is 0"
                ) from None
            weights[silent] = rows, W.astype(float)
    return weights
