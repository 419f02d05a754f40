"""Tables behind the figures of Ye and Abbe (ICML 2018) that need no clock and no training.

Every function returns a tidy table. Codes are decoded in exact fractions, unless a function is about rounding.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.comm_efficient import (
    CommunicationEfficient,
    evaluation_points,
)
from gcexp.delays.compute_transmit import ComputeTransmit
from gcexp.errors import require
from gcexp.schemes import Scheme
from gcexp.seeding import rng
from gcexp.theory import comm_efficient as theory

# --- Tables ---------------------------------------------------------------------------------------------------


@columns("symbol", "meaning", "value")
def notation(meanings: dict[str, str], n: int, d: int, m: int, length: int) -> pd.DataFrame:
    """Table 1: what the symbols mean, and their values in a code that is built.

    Parameters
    ----------
    meanings : mapping
        Symbol (n, k, d, s, m, l, g, f) to its meaning.
    n, d, m : int
        Workers, load and blocks of the code.
    length : int
        Numbers in a gradient.

    Returns
    -------
    DataFrame
        ``symbol, meaning, value``: of g and f, how many numbers a gradient of a partition and a message have.
    """
    code = CommunicationEfficient(n, d, m)
    sent = code.encode(np.zeros((code.k, length)))
    values = {
        "n": code.n,
        "k": code.k,
        "d": int(code.load.max()),
        "s": code.s,
        "m": code.blocks,
        "l": length,
        "g": length,
        "f": sent.shape[1],
    }
    require(set(meanings) == set(values), f"the symbols are {', '.join(values)}, got {', '.join(meanings)}")
    return pd.DataFrame(
        [
            {"symbol": symbol, "meaning": meaning, "value": values[symbol]}
            for symbol, meaning in meanings.items()
        ]
    )


@columns("straggler", "coordinate", "worker", "weight", "fraction", "error")
def decode_weights(
    n: int, d: int, m: int, theta: list[float | str], scales: list[float | str]
) -> pd.DataFrame:
    """Table 2: exact weights on the messages that answer, for every set of d - m stragglers.

    Parameters
    ----------
    n, d, m, theta, scales
        As in `CommunicationEfficient`.

    Returns
    -------
    DataFrame
        ``straggler, coordinate, worker, weight, fraction, error``: the largest difference between the decoded
        coefficients and those of the sum, in fractions, so that 0 is exact.
    """
    code = CommunicationEfficient(n, d, m, theta=theta, scales=scales)
    C = code.exact_encoding()
    target = np.tile(np.eye(m, dtype=int), n)
    rows = []
    for silent in combinations(range(n), code.s):
        weights = code.exact_weights([[w not in silent for w in range(n)]])[0]
        error = abs(weights @ C - target).max()
        for u in range(m):
            for w in range(n):
                weight = Fraction(weights[u, w])
                rows.append(
                    {
                        "straggler": " ".join(map(str, silent)),
                        "coordinate": u,
                        "worker": w,
                        "weight": float(weight),
                        "fraction": str(weight) if w not in silent else "",
                        "error": float(error),
                    }
                )
    return pd.DataFrame(rows)


@columns(
    *("m", "d", "s", "expected_time_s", "gain_of_last_straggler_s", "spare", "rank", "below_uncoded"),
    "below_best_m1",
)
def expected_times(n: int, t1: float, lambda1: float, t2: float, lambda2: float) -> pd.DataFrame:
    """Table 3: mean iteration time of every load d and message length 1/m, with s = d - m stragglers.

    Parameters
    ----------
    n, t1, lambda1, t2, lambda2
        As in `gcexp.theory.comm_efficient.expected_time`.

    Returns
    -------
    DataFrame
        ``m, d, s, expected_time_s``; ``rank``, 1 for the smallest time; ``below_uncoded, below_best_m1``, by how many
        per cent it is below the time of d = m = 1, and below the best with m = 1; ``gain_of_last_straggler_s``, by how
        much smaller it is than with any smaller s; ``spare``, whether there is any.
    """
    law = (t1, lambda1, t2, lambda2)
    rows = []
    for m in range(1, n + 1):
        for d in range(m, n + 1):
            time, *fewer = (theory.expected_time(n, d, m, *law, s=s) for s in range(d - m, -1, -1))
            gain = min(fewer) - time if fewer else np.nan
            rows.append(
                {"m": m, "d": d, "s": d - m, "expected_time_s": time, "gain_of_last_straggler_s": gain}
            )
    frame = pd.DataFrame(rows)
    time = frame["expected_time_s"]
    frame["spare"] = (frame["s"] > 0).astype(int)
    frame["rank"] = time.rank().astype(int)
    uncoded = time[(frame["m"] == 1) & (frame["d"] == 1)].iloc[0]
    frame["below_uncoded"] = 100 * (1 - time / uncoded)
    frame["below_best_m1"] = 100 * (1 - time / time[frame["m"] == 1].min())
    return frame


# --- Stability ------------------------------------------------------------------------------------------------


@columns("case", "n", "d", "m", "method", "worst_error", "condition")
def stability(methods: list, length: int, sets: int, seed: int = 0) -> pd.DataFrame:
    r"""Rounding errors and condition numbers of the code, and what exact coefficients change.

    The error is ||g_hat - g|| / sqrt(sum_i ||g_i||^2) for standard normal partition gradients g_i, messages and sums
    in float64; the worst of the responder sets.

    Parameters
    ----------
    methods : list of mapping
        ``label`` and ``of``: how coefficients and weights are computed, and what makes the codes, which have the same
        n, d and m in all methods.
    length : int
        Numbers in a gradient.
    sets : int
        Responder sets tried: all, where they are not more, else as many random ones.
    seed : int
        Of gradients and sets.

    Returns
    -------
    DataFrame
        ``case, n, d, m, method, worst_error``; ``condition``, the largest condition number of the n-s columns of the
        Vandermonde matrix that decode (empty for a general V).

    Raises
    ------
    ParameterError
        If the codes of one method are not those of another.
    """
    rows = []
    labels = [given["label"] for given in methods]
    for makers in zip(*(given["of"] for given in methods), strict=True):
        codes = [make() for make in makers]
        shapes = {(code.n, code.d, code.m, code.s) for code in codes}
        require(len(shapes) == 1, f"every method has the same codes, got {', '.join(map(repr, codes))}")
        [(n, d, m, s)] = shapes
        generator = rng(seed, "monte_carlo", n, d, m)
        g = generator.standard_normal((n, length))
        size = np.sqrt((g**2).sum())
        silent = _silent_sets(n, s, sets, generator)
        responses = np.ones((len(silent), n), dtype=np.int64)
        np.put_along_axis(responses, silent, 0, axis=1)
        condition = max(condition_number(n, tuple(who)) for who in silent.tolist())
        for method, code in zip(labels, codes, strict=True):
            # `decode` would refuse what this table is about.
            found = (code.weights(responses) @ code.encode(g)).reshape(len(responses), -1)[:, :length]
            rows.append(
                {
                    "case": f"d = {d}, m = {m}",
                    "n": n,
                    "d": d,
                    "m": m,
                    "method": method,
                    "worst_error": np.linalg.norm(found - g.sum(0), axis=1).max() / size,
                    "condition": condition if isinstance(code, CommunicationEfficient) else np.nan,
                }
            )
    return pd.DataFrame(rows)


@lru_cache(maxsize=1024)
def condition_number(n: int, silent: tuple[int, ...]) -> float:
    """2-norm condition number of the responders' Vandermonde matrix, by its exact inverse: float64 ends at 1e16."""
    x = [point for w, point in enumerate(evaluation_points(n)) if w not in silent]
    a = [int(2 * point) for point in x]  # whole numbers: y = 2 x
    P = [1]  # prod (y - a_w), ascending
    for root in a:
        P = [low - root * high for low, high in zip([0, *P], [*P, 0], strict=True)]
    inverse = np.empty((len(x), len(x)))
    for w, root in enumerate(a):  # row w: the coefficients of prod_{v != w} (y - a_v) / (a_w - a_v)
        quotient = [0]
        for coefficient in reversed(P[1:]):
            quotient.insert(0, coefficient + root * quotient[0])
        scale = sum(coefficient * root**r for r, coefficient in enumerate(quotient[:-1]))
        inverse[w] = [float(Fraction(c * 2**r, scale)) for r, c in enumerate(quotient[:-1])]
    V = np.array(x, dtype=float) ** np.arange(len(x))[:, None]
    return float(np.linalg.norm(V, 2) * np.linalg.norm(inverse, 2))


def _silent_sets(n: int, s: int, most: int, generator: np.random.Generator) -> np.ndarray:
    """Sets of s of n workers (sets, s): all, or `most` random ones."""
    if comb(n, s) <= most:
        return np.array(list(combinations(range(n), s)), dtype=int).reshape(comb(n, s), s)
    return np.array([generator.choice(n, s, replace=False) for _ in range(most)])


# --- What a clock should show ---------------------------------------------------------------------------------


def expected_iteration_time(scheme: Scheme, delay: ComputeTransmit, iterations: int) -> float:
    """Mean iteration time with the delay model of Section 5, the scheme's overhead included.

    Parameters
    ----------
    scheme : Scheme
        Naive, or communication-efficient: one message of every worker, any n-s decode.
    delay : ComputeTransmit
    iterations : int
        Not used: the mean is the same for all numbers of iterations.

    Examples
    --------
    >>> from gcexp.schemes import Decodable
    >>> scheme = Scheme(CommunicationEfficient(10, 4, 3), Decodable(), overhead=1.2)
    >>> round(expected_iteration_time(scheme, ComputeTransmit(), 1), 4)
    2.5544
    """
    code, n = scheme.code, scheme.code.n
    d, m = int(code.load.max()), code.blocks
    s = n - (code.quorums[0].need[0][1] if code.quorums else n)
    law = {
        "t1": delay.compute_shift / n,
        "lambda1": n / delay.compute_mean,
        "t2": delay.transmit_shift,
        "lambda2": 1 / delay.transmit_mean,
    }
    return scheme.overhead + theory.expected_time(n, d, m, s=s, **law)
