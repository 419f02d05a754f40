"""Test whether an exact code still decodes accurately at its size, on three kinds of straggler sets."""

from __future__ import annotations

import warnings

import numpy as np

from gcexp.codes.base import RESIDUAL_BOUND, Code, is_binary
from gcexp.errors import DecodingError, ParameterError
from gcexp.schema import quoted
from gcexp.seeding import rng

KINDS = ("consecutive", "alternating", "random")
#: More workers are not tried: there what a code's proof says holds, and every decode is certified.
MOST_WORKERS = 400
#: Largest residual of the sets that are tried: half of what a decode may have, for those that are not.
MOST_RESIDUAL = RESIDUAL_BOUND / 2
#: Relative errors of the gradient by rounded messages, from which it is warned of, and above which it is refused.
TOLD_ERROR = 1e-4
MOST_ERROR = 1e-2
_SETS = (8, 5000)  # of a kind: at least 8, else 5000 / n, and no more than n


def is_solved(code: Code) -> bool:
    """Whether the promised weights come from a system of equations, which rounding may spoil.

    Plain sums, whose entries are all 0 or 1, are recovered without one.
    """
    return code.promise == "indicator" and bool(code.quorums) and not is_binary(code.encoding.data)


def silent_sets(n: int, s: int, kind: str) -> np.ndarray:
    """Some sets of s of n workers, (U, s): runs of neighbours, evenly spread ones, or random ones (always the same).

    Examples
    --------
    >>> silent_sets(4, 2, "alternating")
    array([[0, 2],
           [1, 3]])
    """
    most = min(n, max(_SETS[0], _SETS[1] // n))
    first = (np.arange(most) * n // most)[:, None]
    if kind == "consecutive":
        sets = (first + np.arange(s)) % n
    elif kind == "alternating":
        sets = (first + np.arange(s) * n // max(s, 1)) % n
    else:
        sets = rng(0, "monte_carlo", n, s).permuted(np.tile(np.arange(n), (most, 1)), axis=1)[:, :s]
    sets = np.sort(sets, axis=1)
    first_places: dict[bytes, int] = {}  # of equal sets; np.unique is far slower
    for place, row in enumerate(sets):
        first_places.setdefault(row.tobytes(), place)
    return sets[list(first_places.values())]


def patterns(code: Code, kind: str) -> np.ndarray:
    """Patterns that only just meet the code's quorums, with few rounds and with many, (U, n)."""
    patterns_of_options = []
    for i in range(max(len(quorum.need) for quorum in code.quorums)):
        of_quorums = []
        for quorum in code.quorums:
            workers = np.array(quorum.workers)
            r, q = quorum.need[min(i, len(quorum.need) - 1)]
            sets = silent_sets(len(workers), len(workers) - q, kind)
            responses = np.full((len(sets), len(workers)), r)
            np.put_along_axis(responses, sets, 0, axis=1)
            of_quorums.append((workers, responses))
        rows = max(len(responses) for _, responses in of_quorums)
        pattern = np.zeros((rows, code.n), dtype=np.int64)
        for workers, responses in of_quorums:  # side by side: those that are fewer begin again
            pattern[:, workers] = responses[np.arange(rows) % len(responses)]
        patterns_of_options.append(pattern)
    every = np.concatenate(patterns_of_options)
    return every[code.met(every)]


def residuals(code: Code, kind: str) -> float:
    """Largest entry of W B - 1 (x) I over the sets of a kind; infinite where a system has no solution."""
    return float(_residual_of_each(code, _weights(code, patterns(code, kind))).max(initial=0.0))


def _weights(code: Code, responses: np.ndarray) -> np.ndarray:
    """Weights of each pattern, a row for each block, (U blocks, M); NaN where a system has no solution."""
    M = code.encoding.shape[0]
    try:
        return np.asarray(code.weights(responses)).reshape(-1, M)
    except np.linalg.LinAlgError:
        return np.full((len(responses) * code.blocks, M), np.nan)


def _residual_of_each(code: Code, weights: np.ndarray) -> np.ndarray:
    """Largest entry of W B - 1 (x) I for each pattern, (U,)."""
    combined = np.real((code._decoding @ weights.T).T)
    combined = combined.reshape(-1, code.blocks, code.k, code.blocks)
    mean = np.einsum("ubkb->uk", combined) / code.blocks
    whole = mean if code.recovers < code.k else np.ones_like(mean)  # a partial sum is 0 or 1 itself
    off = np.abs(combined - np.rint(whole)[:, None, :, None] * np.eye(code.blocks)[:, None])
    return np.nan_to_num(off, nan=np.inf).max(axis=(1, 2, 3), initial=0.0)


def rounding_errors(code: Code, weights: np.ndarray, unit: float) -> np.ndarray:
    r"""Relative error of the gradient that is decoded from rounded messages, for each row of weights, (U,).

    The gradients of the k partitions are taken as independent and of equal size, as those of small parts of a batch
    are. Message w has the norm ||B_w|| then, and is rounded by up to unit times that; the gradient has the norm
    sqrt(k), so that the error is unit times sqrt(sum_w (W_w ||B_w||)^2 / k).

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> rounding_errors(Uncoded(n=4), np.ones((1, 4)), unit=2**-24) == 2**-24
    array([ True])
    """
    entries = abs(code.encoding)
    sizes = np.asarray((entries * entries).sum(1)).ravel()
    return unit * np.sqrt((np.abs(weights) ** 2 @ sizes) / code.k)


def is_tried(code: Code) -> bool:
    """Whether `require_accurate` tries anything."""
    return code.n <= MOST_WORKERS and is_solved(code)


def require_accurate(code: Code, unit: float = 0.0) -> None:
    """Refuse an exact code that does not decode within `MOST_RESIDUAL` from one of the sets tried.

    Codes that solve nothing and codes of more than `MOST_WORKERS` workers are taken as they are. A code that names
    nothing to take instead may be wrong rather than inaccurate, so that it is told what it promises.

    Parameters
    ----------
    code : Code
    unit : float
        Half the machine epsilon of the messages, 2^-24 for float32. `rounding_errors` above `TOLD_ERROR` are warned of,
        and above `MOST_ERROR` refused. Messages are exact by default.

    Raises
    ------
    ParameterError
    """
    if not is_tried(code):
        return
    largest_error, where = 0.0, ""
    for kind in KINDS:
        responses = patterns(code, kind)
        weights = _weights(code, responses)
        off = _residual_of_each(code, weights)
        if off.max(initial=0.0) > MOST_RESIDUAL:
            raise _inaccurate(code, kind, responses, off)
        error = float(rounding_errors(code, weights, unit).max(initial=0.0))
        if error > largest_error:
            largest_error, where = error, kind
    told = (
        f"{code!r} makes the rounding of messages larger: where the stragglers are {where}, the decoded gradient is "
        f"off by {100 * largest_error:.2g} % of its length"
    )
    if largest_error > MOST_ERROR:
        raise ParameterError(f"{told} (at most {100 * MOST_ERROR:g} %); take fewer workers or stragglers")
    if largest_error > TOLD_ERROR:
        warnings.warn(told, stacklevel=4)


def _inaccurate(code: Code, kind: str, responses: np.ndarray, off: np.ndarray) -> ParameterError:
    """The error for a code that is `off` by so much for each of some patterns."""
    heard = quoted(np.flatnonzero(responses[off.argmax()]).tolist())
    smaller = "" if code.instead else "; where only rounding spoils it, take fewer workers or stragglers"
    sentence = (
        f"{code!r} loses its accuracy: where the stragglers are {kind}, residuals reach {off.max():.0e} (at most "
        f"{MOST_RESIDUAL:.0e}), from workers {heard}{code._promised()}{smaller}"
    )
    error = ParameterError(sentence)
    error.__cause__ = DecodingError(sentence, code)
    return error
