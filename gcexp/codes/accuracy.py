"""Test whether an exact code still decodes accurately at its size, on three kinds of straggler sets."""

from __future__ import annotations

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
    return float(_residual_of_each(code, patterns(code, kind)).max(initial=0.0))


def _residual_of_each(code: Code, responses: np.ndarray) -> np.ndarray:
    """Largest entry of W B - 1 (x) I for each pattern, (U,)."""
    M = code.encoding.shape[0]
    try:
        weights = np.asarray(code.weights(responses)).reshape(-1, M)
    except np.linalg.LinAlgError:
        return np.full(len(responses), np.inf)
    combined = np.real((code._decoding @ weights.T).T)
    combined = combined.reshape(len(responses), code.blocks, code.k, code.blocks)
    mean = np.einsum("ubkb->uk", combined) / code.blocks
    whole = mean if code.recovers < code.k else np.ones_like(mean)  # a partial sum is 0 or 1 itself
    off = np.abs(combined - np.rint(whole)[:, None, :, None] * np.eye(code.blocks)[:, None])
    return np.nan_to_num(off, nan=np.inf).max(axis=(1, 2, 3), initial=0.0)


def is_tried(code: Code) -> bool:
    """Whether `require_accurate` tries anything."""
    return code.n <= MOST_WORKERS and is_solved(code)


def require_accurate(code: Code) -> None:
    """Refuse an exact code that does not decode within `MOST_RESIDUAL` from one of the sets tried.

    Codes that solve nothing and codes of more than `MOST_WORKERS` workers are taken as they are. A code that names
    nothing to take instead may be wrong rather than inaccurate, so that it is told what it promises.
    """
    if not is_tried(code):
        return
    for kind in KINDS:
        responses = patterns(code, kind)
        off = _residual_of_each(code, responses)
        if off.max(initial=0.0) <= MOST_RESIDUAL:
            continue
        heard = quoted(np.flatnonzero(responses[off.argmax()]).tolist())
        smaller = "" if code.instead else "; where only rounding spoils it, take fewer workers or stragglers"
        sentence = (
            f"{code!r} loses its accuracy: where the stragglers are {kind}, residuals reach {off.max():.0e} (at most "
            f"{MOST_RESIDUAL:.0e}), from workers {heard}{code._promised()}{smaller}"
        )
        raise ParameterError(sentence) from DecodingError(sentence, code)
