"""Waiting rules that ask the code's decoder, the clock, or two other rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import ClassVar

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require
from gcexp.schemes.arrivals import Arrivals
from gcexp.schemes.limits import Limit, require_limit, time_of
from gcexp.schemes.survivors import distinct
from gcexp.schemes.waiting import Decodable, Fastest

_CLOSE = 1e-9  # a coefficient this close to 0 or 1 is 0 or 1
_FEW = 64  # iterations whose patterns are remembered
_REMEMBERED = 2**24  # bytes of those patterns, about


@dataclass(frozen=True)
class Recovered:
    """Wait until the code's own decoder recovers a fraction of the partitions from what arrived.

    Messages are taken one by one. The decode must give coefficients 0 and 1, enough of them 1; where not even all
    messages do, the master waits for all. Every pattern is decoded at most once, none that holds too few partitions,
    and none for which the code promises enough.

    It makes no sense for a code that does not promise coefficients 0 and 1: its decoder recovers no partition as such.

    Parameters
    ----------
    fraction : float
        Of the partitions, above 0 and at most 1.
    monotone : bool
        Declare that the decoder never recovers fewer from more messages: the same answer by bisection.

    Examples
    --------
    >>> from gcexp.codes import FractionalRepetition
    >>> code = FractionalRepetition(n=6, d=2)
    >>> Recovered(fraction=0.6).stop(code, lambda r=1: np.array([[[3.0, 1.0, 9.0, 8.0, 4.0, 5.0]]]))
    (array([[4.]]), array([[[1, 1, 0, 0, 1, 0]]], dtype=int16))
    """

    fraction: float
    monotone: bool = False

    def __post_init__(self):
        require(0 < self.fraction <= 1, f"wait=recovered needs 0 < fraction <= 1, got {self.fraction}")

    def stop(self, code, arrive):
        require(
            code.promise == "indicator",
            f"wait=recovered: {code!r} promises no coefficients 0 and 1 (promise: {code.promise}), so that no "
            "partition is ever recovered as such; use wait=fastest, deadline or spanned",
        )
        shape = arrive(1).shape
        iterations = shape[0] * shape[1]
        time = np.empty(iterations)
        responses = np.empty((iterations, code.n), np.int16)
        for rows, arrivals in Arrivals.chunks(code, arrive, width=code.encoding.nnz):
            count = self._messages(code, arrivals)
            time[rows] = np.take_along_axis(arrivals.time, count[:, None] - 1, axis=1)[:, 0]
            responses[rows] = arrivals.responses(count)
        return time.reshape(shape[:2]), responses.reshape(shape)

    def _messages(self, code: Code, arrivals: Arrivals) -> np.ndarray:
        """How many messages each iteration waits for."""
        need = ceil(self.fraction * code.k - _CLOSE)
        most = arrivals.message.shape[1]
        least = np.minimum(_messages_that_hold(code, arrivals.place, need), most)
        if self.monotone:
            return _by_bisection(code, arrivals, need, least)
        return _one_by_one(code, arrivals, need, least)


def _by_bisection(code: Code, arrivals: Arrivals, need: int, least: np.ndarray) -> np.ndarray:
    """Messages after which `need` partitions are recovered, at least `least`, where more never recover fewer."""
    low, high = least, np.full(len(least), arrivals.message.shape[1])
    while True:
        undecided = np.flatnonzero(low < high)
        if not len(undecided):
            return low
        middle = (low[undecided] + high[undecided]) // 2
        enough = _recovers(code, arrivals.responses(middle, undecided), need)
        high[undecided[enough]] = middle[enough]
        low[undecided[~enough]] = middle[~enough] + 1


def _one_by_one(code: Code, arrivals: Arrivals, need: int, least: np.ndarray) -> np.ndarray:
    """Messages after which `need` partitions are recovered, at least `least`, by trying one message after the other."""
    count, most = least, arrivals.message.shape[1]
    is_waiting = count < most
    while is_waiting.any():
        is_next = is_waiting
        if len(count) > _FEW:
            # Of many iterations those with the fewest messages: their patterns occur at this step only.
            is_next = is_waiting & (count == count[is_waiting].min())
        rows = np.flatnonzero(is_next)
        enough = _recovers(code, arrivals.responses(count[rows], rows), need)
        is_waiting[rows] = False
        too_few = rows[~enough]
        count[too_few] += 1
        is_waiting[too_few] = count[too_few] < most
    return count


@dataclass(frozen=True)
class Deadline:
    """Stop at a fixed time with every message that arrived by then.

    It makes no sense for a code of which no message can arrive by then, which is an error if nothing does in any
    iteration; and little for one that decodes nothing below its quorum: those updates are skipped.

    Parameters
    ----------
    time : float or str
        From the start of the iteration, in the delay model's unit; the iteration takes this long even if all arrive
        before. ``"1.5x"`` is one and a half times the median time of a worker, see `gcexp.timeline.median_time`.
    early : bool
        End the iteration as soon as all have arrived.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> Deadline(time=2.5).stop(Uncoded(n=3), lambda r=1: np.array([[[3.0, 1.0, 2.0]]]))
    (array([[2.5]]), array([[[0, 1, 1]]], dtype=int16))
    """

    most_workers: ClassVar[int] = 10**6
    limits: ClassVar[tuple[str, ...]] = ("time",)
    time: Limit
    early: bool = False

    def __post_init__(self):
        require_limit(self.time, "wait=deadline: time")

    def stop(self, code, arrive):
        time = np.full(arrive(1).shape[:2], time_of(self.time, "time"))
        responses = responses_by(code, arrive, time)
        if self.early:
            time = np.minimum(time, arrive().max(-1))
        return time, responses


def responses_by(code: Code, arrive: Callable, time: np.ndarray) -> np.ndarray:
    """Messages of each worker that have arrived by some times (S, T), as counts (S, T, n) int16.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> responses_by(Uncoded(n=3), lambda r=None: np.array([[[3.0, 1.0, 2.0]]]), np.array([[2.0]]))
    array([[[0, 1, 1]]], dtype=int16)
    """
    responses = np.zeros((*time.shape, code.n), dtype=np.int16)
    for r in range(1, int(code.messages.max(initial=0)) + 1):
        responses += (arrive(r) <= time[..., None]) & (code.messages >= r)
    return responses


@dataclass(frozen=True)
class DecodableOrFastest:
    """Stop as soon as every quorum of the code is met, or the q fastest workers were heard, whichever comes first.

    With fractional repetition this is ErasureHead: all groups have answered, or ``num_collect`` = q messages are in.

    It makes no sense for a code without a quorum, which is never known to be decodable: use wait=fastest.

    Parameters
    ----------
    q : int, optional
        Most workers waited for.
    s : int, optional
        Workers ignored; give this or `q`.

    References
    ----------
    Wang, Charles, Papailiopoulos: ErasureHead, 2019 (rule as in its public implementation).

    Examples
    --------
    >>> from gcexp.codes import FractionalRepetition
    >>> at = np.array([[[3.0, 1.0, 2.0, 4.0], [1.0, 2.0, 8.0, 9.0]]])
    >>> DecodableOrFastest(q=3).stop(FractionalRepetition(n=4, d=2), lambda r=1: at)
    (array([[2., 8.]]), array([[[0, 1, 1, 0],
            [1, 0, 1, 0]]], dtype=int16))
    """

    most_workers: ClassVar[int] = 10**6
    q: int | None = None
    s: int | None = None

    def __post_init__(self):
        require(
            (self.q is None) != (self.s is None),
            f"wait=decodable_or_fastest takes either q or s, got q={self.q}, s={self.s}",
        )

    def stop(self, code, arrive):
        decodable, responses = Decodable().stop(code, arrive)
        fastest, of_fastest = Fastest(q=self.q, s=self.s).stop(code, arrive)
        is_decodable_first = decodable <= fastest
        responses = np.where(is_decodable_first[..., None], responses, of_fastest)
        return np.minimum(decodable, fastest), responses


def _messages_that_hold(code: Code, place: np.ndarray, need: int) -> np.ndarray:
    """Number of messages until `need` partitions occur in them, (I,); one more than all messages if they never do."""
    messages, begin, columns = _messages_of_columns(code)
    first = np.full((len(place), code.encoding.shape[1]), place.shape[1])
    first[:, columns] = np.minimum.reduceat(place[:, messages], begin, axis=1)
    first = first.reshape(len(place), code.k, code.blocks).max(2)
    return np.partition(first, need - 1, axis=1)[:, need - 1] + 1


@lru_cache(maxsize=8)  # asked in each iteration where workers are late
def _messages_of_columns(code: Code) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Messages with each column of the encoding, one after the other; where those of a column begin; which columns.

    Columns that no message holds are left out.
    """
    B = code.encoding.tocsc()
    columns = np.flatnonzero(np.diff(B.indptr))
    return B.indices, B.indptr[columns], columns


def _recovers(code: Code, responses: np.ndarray, need: int) -> np.ndarray:
    """Whether each pattern decodes to coefficients 0 and 1, at least `need` of them 1."""
    if len(responses) > _FEW:
        patterns, which = distinct(responses)
        return _decode_to_enough(code, patterns, need)[which]
    return _remembered_patterns(code, need).recover(responses)


class _RememberedPatterns:
    """Remembers of a code which patterns decode to at least `need` coefficients 1 and else 0."""

    def __init__(self, code: Code, need: int):
        self._code, self._need = code, need
        self._is_enough: dict[bytes, bool] = {}

    def recover(self, responses: np.ndarray) -> np.ndarray:
        """`_decode_to_enough` of a few patterns, each decoded once as long as it is remembered."""
        if len(self._is_enough) * self._code.n > _REMEMBERED:
            self._is_enough.clear()
        keys = [pattern.tobytes() for pattern in responses]
        new = {key: i for i, key in enumerate(keys) if key not in self._is_enough}
        if new:
            enough = _decode_to_enough(self._code, responses[list(new.values())], self._need)
            self._is_enough.update(zip(new, enough.tolist(), strict=True))
        return np.array([self._is_enough[key] for key in keys])


@lru_cache(maxsize=8)  # where workers are late, the same few patterns are asked for again and again
def _remembered_patterns(code: Code, need: int) -> _RememberedPatterns:
    return _RememberedPatterns(code, need)


def _decode_to_enough(code: Code, patterns: np.ndarray, need: int) -> np.ndarray:
    """`_recovers` of distinct patterns."""
    enough = code.met(patterns) if code.recovers >= need else np.zeros(len(patterns), dtype=bool)
    if enough.all():
        return enough
    c = code.decode(patterns[~enough], partial=True).coefficients
    nearest = np.rint(c)
    is_whole = (np.abs(c - nearest) < _CLOSE).all(1)
    is_0_or_1 = ((nearest == 0) | (nearest == 1)).all(1)
    enough[~enough] = is_whole & is_0_or_1 & (nearest.sum(1) >= need)
    return enough
