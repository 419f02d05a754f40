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
        time, responses = np.empty(shape[:2]).ravel(), np.empty((shape[0] * shape[1], code.n), np.int16)
        for rows, arrivals in Arrivals.chunks(code, arrive, width=code.encoding.nnz):
            count = self._messages(code, arrivals)
            time[rows] = np.take_along_axis(arrivals.time, count[:, None] - 1, axis=1)[:, 0]
            responses[rows] = arrivals.responses(count)
        return time.reshape(shape[:2]), responses.reshape(shape)

    def _messages(self, code: Code, arrivals: Arrivals) -> np.ndarray:
        """How many messages each iteration waits for."""
        need, most = ceil(self.fraction * code.k - _CLOSE), arrivals.message.shape[1]
        count = np.minimum(_holding(code, arrivals.place, need), most)
        if self.monotone:
            high = np.full(len(count), most)
            while True:
                open_ = np.flatnonzero(count < high)
                if not len(open_):
                    return count
                middle = (count[open_] + high[open_]) // 2
                enough = _recovers(code, arrivals.responses(middle, open_), need)
                high[open_[enough]] = middle[enough]
                count[open_[~enough]] = middle[~enough] + 1
        waiting = count < most
        while waiting.any():
            # Of many iterations those with the fewest messages: their patterns occur at this step only.
            now = waiting if len(count) <= _FEW else waiting & (count == count[waiting].min())
            now = np.flatnonzero(now)
            missed = now[~_recovers(code, arrivals.responses(count[now], now), need)]
            count[missed] += 1
            waiting[now] = False
            waiting[missed] = count[missed] < most
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
        fastest, first = Fastest(q=self.q, s=self.s).stop(code, arrive)
        return np.minimum(decodable, fastest), np.where((decodable <= fastest)[..., None], responses, first)


def _holding(code: Code, place: np.ndarray, need: int) -> np.ndarray:
    """Number of messages until `need` partitions occur in them, (I,); one more than all messages if they never do."""
    messages, begin, held = _messages_with(code)
    first = np.full((len(place), code.encoding.shape[1]), place.shape[1])
    first[:, held] = np.minimum.reduceat(place[:, messages], begin, axis=1)
    first = first.reshape(len(place), code.k, code.blocks).max(2)
    return np.partition(first, need - 1, axis=1)[:, need - 1] + 1


@lru_cache(maxsize=8)  # asked in each iteration where workers are late
def _messages_with(code: Code) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Messages with each column of the encoding, one after the other; where those of a column begin; which columns."""
    B = code.encoding.tocsc()
    held = np.flatnonzero(np.diff(B.indptr))
    return B.indices, B.indptr[held], held


def _recovers(code: Code, responses: np.ndarray, need: int) -> np.ndarray:
    """Whether each pattern decodes to coefficients 0 and 1, at least `need` of them 1."""
    if len(responses) > _FEW:
        patterns, which = distinct(responses)
        return _enough(code, patterns, need)[which]
    return _tried(code, need).answers(responses)


class _Tried:
    """Remembers of a code which patterns decode to at least `need` coefficients 1 and else 0."""

    def __init__(self, code: Code, need: int):
        self._code, self._need = code, need
        self._known: dict[bytes, bool] = {}

    def answers(self, responses: np.ndarray) -> np.ndarray:
        """`_enough` of a few patterns, each decoded once as long as it is remembered."""
        if len(self._known) * self._code.n > _REMEMBERED:
            self._known.clear()
        names = [pattern.tobytes() for pattern in responses]
        new = {name: i for i, name in enumerate(names) if name not in self._known}
        if new:
            enough = _enough(self._code, responses[list(new.values())], self._need)
            self._known.update(zip(new, enough.tolist(), strict=True))
        return np.array([self._known[name] for name in names])


@lru_cache(maxsize=8)  # where workers are late, the same few patterns are asked for again and again
def _tried(code: Code, need: int) -> _Tried:
    return _Tried(code, need)


def _enough(code: Code, patterns: np.ndarray, need: int) -> np.ndarray:
    """`_recovers` of distinct patterns."""
    enough = code.met(patterns) if code.recovers >= need else np.zeros(len(patterns), dtype=bool)
    if enough.all():
        return enough
    c = code.decode(patterns[~enough], partial=True).coefficients
    nearest = np.rint(c)
    clean = (np.abs(c - nearest) < _CLOSE).all(1) & ((nearest == 0) | (nearest == 1)).all(1)
    enough[~enough] = clean & (nearest.sum(1) >= need)
    return enough
