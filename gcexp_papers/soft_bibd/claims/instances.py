"""The small codes that the claims try, every set of survivors of them, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from gcexp.codes.base import Code
from gcexp.decoding_error.subset_errors import Rows
from gcexp.designs.block_designs import named_design
from gcexp.seeding import rng
from gcexp.theory.errors import Parameters

DESIGNS = (
    "complete-3-2",
    "complete-4-2",
    "complete-4-3",
    "complete-5-3",
    "pg-2-2",
    "complement-pg-2-2",
    "ag_dual-2-3",
    "paley2-9",
    "stack-complete-4-3-2",
    "sts-9",
)
REPETITIONS = ((4, 4, 1), (4, 4, 2), (6, 3, 2), (6, 6, 3), (9, 12, 3), (8, 4, 4), (5, 5, 1))  # n, k, r
ROUNDING = 1e-9


@cache
def survivor_sets(n: int) -> np.ndarray:
    """All sets of survivors, (2^n, n); bit j of the number is worker j."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def code(A: np.ndarray) -> Code:
    """Code of a matrix (partitions x workers)."""
    return Code(np.transpose(A).astype(float), promise="least_squares", n=np.shape(A)[1])


def errors(A: np.ndarray, responses: np.ndarray | None = None) -> np.ndarray:
    """Error of each set of survivors, by default of all of them."""
    rows = Rows(np.transpose(A).astype(float))
    if responses is None:
        return rows.table
    return rows.errors(responses > 0)


def first_errors(A: np.ndarray) -> np.ndarray:
    """Error where the last s workers straggle, for s = 0, ..., n: of a design that of every set."""
    n = A.shape[1]
    return errors(A, np.tri(n + 1, n, -1, dtype=bool)[::-1])


def worst(A: np.ndarray) -> np.ndarray:
    """Largest error over all sets, for s = 0, ..., n."""
    n = np.shape(A)[1]
    found = errors(A)
    lost = n - np.bitwise_count(np.arange(2**n))
    return np.array([found[lost == s].max() for s in range(n + 1)])


@cache
def incidence(name: str) -> np.ndarray:
    """Matrix of a design, partitions x workers."""
    return named_design(name).incidence.astype(float)


def parameters(name: str) -> Parameters:
    """Of a design."""
    return Parameters(*named_design(name).params)


def designs(*more: str) -> Iterator[tuple[Parameters, np.ndarray]]:
    """Parameters and matrices of the ten designs of up to 9 workers, and of `more`."""
    return ((parameters(name), incidence(name)) for name in (*DESIGNS, *more))


def repetition(n: int, k: int, r: int) -> np.ndarray:
    """The FRC as the paper writes it: n/r all-one blocks on the diagonal."""
    return np.kron(np.eye(n // r), np.ones((k * r // n, r)))


def random_matrices(count: int, seed: int) -> Iterator[np.ndarray]:
    """Binary matrices of small random sizes."""
    random = rng(seed, "monte_carlo", 11)
    for _ in range(count):
        k, n = random.integers(2, 6, 2)
        yield random.integers(0, 2, (k, n)).astype(float)


def close(a, b, tolerance: float = ROUNDING) -> bool:
    """Whether all numbers agree."""
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0) <= tolerance)
