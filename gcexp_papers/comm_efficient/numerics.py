"""Tables behind the figures of Ye and Abbe (ICML 2018) that need no clock and no training.

Codes are decoded in exact fractions, unless a function is about rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.polynomial.polynomial import polydiv, polyfromroots, polyval

from gcexp.analysis.declared import columns
from gcexp.codes.comm_efficient import CommunicationEfficient, evaluation_points
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.base import alike
from gcexp.delays.compute_transmit import ComputeTransmit
from gcexp.errors import require
from gcexp.schemes import Scheme
from gcexp.seeding import rng

from . import theory

# --- Tables ---------------------------------------------------------------------------------------------------


@columns("symbol", "meaning", "value")
def notation(code: Callable[[], CommunicationEfficient], length: int):
    """Table 1: what the symbols mean, and their values in a code for gradients of so many numbers."""
    made = code()
    message = made.encode(np.zeros((made.k, length)))[0]
    yield "n", "workers", made.n
    yield "k", "data subsets (partitions), k = n", made.k
    yield "d", "data subsets of each worker", int(made.load.max())
    yield "s", "stragglers that are tolerated", made.s
    yield "m", "factor by which messages are shorter than a gradient", made.blocks
    yield "l", "dimension of the gradient, coordinates 0, ..., l - 1", length
    yield "g", "partial gradient of a data subset", length
    yield "f", "message of a worker", len(message)


@columns("straggler", "coordinate", "worker", "weight", "fraction", "error")
def decode_weights(code: Callable[[], CommunicationEfficient]):
    """Table 2: exact weights on the messages that answer, for every set of d - m stragglers.

    ``error`` is the largest difference between the decoded coefficients and those of the sum, in fractions, so that 0
    is exact.
    """
    made = code()
    target = np.tile(np.eye(made.blocks, dtype=int), made.n)
    for silent in combinations(range(made.n), made.s):
        answers = [worker not in silent for worker in range(made.n)]
        weights = made.exact_weights([answers])[0]
        error = float(abs(weights @ made.exact_encoding() - target).max())
        for (coordinate, worker), weight in np.ndenumerate(weights):
            yield {
                "straggler": " ".join(map(str, silent)),
                "coordinate": coordinate,
                "worker": worker,
                "weight": float(weight),
                "fraction": str(weight) if answers[worker] else "",
                "error": error,
            }


@columns(
    *("m", "d", "s", "expected_time_s", "gain_of_last_straggler_s", "spare", "rank", "below_uncoded"),
    "below_best_m1",
)
def expected_times(n: int, t1: float, lambda1: float, t2: float, lambda2: float) -> pd.DataFrame:
    """Table 3: mean iteration time of every load d and message length 1/m, with s = d - m stragglers.

    Arguments are those of `theory.expected_time`. ``rank`` is 1 for the smallest time.
    ``below_uncoded`` and ``below_best_m1`` say by how many per cent the time is below that of d = m = 1, and below the
    best with m = 1. ``gain_of_last_straggler_s`` is by how much it is smaller than with any smaller s, and ``spare``
    whether there is any.
    """
    rows = []
    for m in range(1, n + 1):
        for d in range(m, n + 1):
            *fewer, time = [
                theory.expected_time(n, d, m, t1, lambda1, t2, lambda2, s=s) for s in range(d - m + 1)
            ]
            row = {"m": m, "d": d, "s": d - m, "expected_time_s": time}
            row["gain_of_last_straggler_s"] = min(fewer, default=np.nan) - time
            row["spare"] = int(d > m)
            rows.append(row)
    frame = pd.DataFrame(rows)
    time = frame["expected_time_s"]
    return frame.assign(
        rank=time.rank().astype(int),
        below_uncoded=100 * (1 - time / time[0]),
        below_best_m1=100 * (1 - time / time[frame["m"] == 1].min()),
    )


# --- Stability ------------------------------------------------------------------------------------------------


@columns("case", "n", "d", "m", "method", "worst_error", "condition")
def stability(methods: list, length: int):
    r"""Rounding errors and condition numbers of the code, and what exact coefficients change.

    A method has its ``label``, and ``of`` makes its codes, which have the same n, d and m in all methods. The error is
    ||g_hat - g|| / sqrt(sum_i ||g_i||^2) for standard normal partition gradients g_i of `length` numbers, messages and
    sums in float64; the worst of all responder sets. ``condition`` is the largest condition number of the n-s columns
    of the Vandermonde matrix that decode (empty for a general V).
    """
    makers_of_methods = [given["of"] for given in methods]
    for makers in zip(*makers_of_methods, strict=True):
        codes = [make() for make in makers]
        shapes = {(code.n, code.d, code.m, code.s) for code in codes}
        require(len(shapes) == 1, f"every method has the same codes, got {', '.join(map(repr, codes))}")
        ((n, d, m, s),) = shapes
        g = rng(0, "monte_carlo", n, d, m).standard_normal((n, length))
        size = np.sqrt((g**2).sum())
        responses = np.concatenate(list(all_sets(n, s))).astype(int)
        largest_condition = max(condition_number(n, silent) for silent in combinations(range(n), s))
        for given, code in zip(methods, codes, strict=True):
            # `decode` would refuse what this table is about.
            decoded = code.weights(responses) @ code.encode(g)
            decoded = decoded.reshape(len(responses), -1)[:, :length]
            errors = np.linalg.norm(decoded - g.sum(0), axis=1) / size
            condition = np.nan
            if isinstance(code, CommunicationEfficient):
                condition = largest_condition
            yield f"d = {d}, m = {m}", n, d, m, given["label"], errors.max(), condition


@lru_cache(maxsize=1024)
def condition_number(n: int, silent: tuple[int, ...]) -> float:
    """2-norm condition number of the responders' Vandermonde matrix, by its exact inverse: float64 ends at 1e16."""
    points = [x for worker, x in enumerate(evaluation_points(n)) if worker not in silent]
    whole = polyfromroots(points)
    inverse = []
    for x in points:  # a row: the coefficients of prod_{v != w} (y - x_v) / (x_w - x_v)
        others, _ = polydiv(whole, np.array([-x, Fraction(1)]))
        inverse.append((others / polyval(x, others)).astype(float))
    V = np.array(points, dtype=float) ** np.arange(len(points))[:, None]
    return float(np.linalg.norm(V, 2) * np.linalg.norm(inverse, 2))


# --- What a clock should show ---------------------------------------------------------------------------------


def expected_iteration_time(scheme: Scheme, delay: ComputeTransmit, iterations: int) -> float:
    """Mean iteration time with the delay model of Section 5, the scheme's overhead included.

    The scheme is naive or communication-efficient: every worker sends one message, and any n-s decode. The mean is the
    same for all numbers of iterations.

    Examples
    --------
    >>> from gcexp.schemes import Decodable
    >>> scheme = Scheme(CommunicationEfficient(10, 4, 3), Decodable(), overhead=1.2)
    >>> round(expected_iteration_time(scheme, ComputeTransmit(), 1), 4)
    2.5544
    """
    code = scheme.code
    n = scheme.code.n
    s = 0
    if code.quorums:
        _, needed = code.quorums[0].need[0]
        s = n - needed
    mean = theory.expected_time(
        n,
        d=int(code.load.max()),
        m=code.blocks,
        t1=alike(delay, "compute_shift") / n,
        lambda1=n / alike(delay, "compute_mean"),
        t2=alike(delay, "transmit_shift"),
        lambda2=1 / alike(delay, "transmit_mean"),
        s=s,
    )
    return scheme.overhead + mean
