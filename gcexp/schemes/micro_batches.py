"""Waiting rules for workers that send one message per micro-batch: until enough data or time has passed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from gcexp.codes import Code
from gcexp.errors import require, require_known
from gcexp.schemes.limits import Limit, require_limit, time_of
from gcexp.schemes.waiting import times_before_the_run

_CLOSE = 1e-9
_THRESHOLDS = 200  # thresholds among which DropCompute chooses
CHECKS = ("border", "cut")


@dataclass(frozen=True)
class Covered:
    """Wait until a fraction of the partitions has arrived, each in a message of its own.

    For codes whose messages hold one partition each: nothing has to be decoded.

    Parameters
    ----------
    fraction : float
        Of the partitions, above 0 and at most 1.

    Examples
    --------
    >>> from gcexp.codes import PartialWork
    >>> code = PartialWork(n=2, d=2, q=1)
    >>> arrivals = {1: np.array([[[1.0, 5.0]]]), 2: np.array([[[3.0, 9.0]]])}
    >>> Covered().stop(code, arrivals.get)
    (array([[3.]]), array([[[2, 0]]], dtype=int16))
    """

    fraction: float = 1.0

    def __post_init__(self):
        require(0 < self.fraction <= 1, f"wait=covered needs 0 < fraction <= 1, got {self.fraction}")

    def stop(self, code, arrive):
        single = _single_partitions(code)
        by_rank = [arrive(r + 1) for r in range(single.most)]
        shape = by_rank[0].shape
        at = np.concatenate([arrived.reshape(-1, code.n) for arrived in by_rank], axis=1)  # (S T, R n)
        first_copy = reduce(np.minimum, (at.take(copy, axis=1) for copy in single.copies))
        need = ceil(self.fraction * code.k - _CLOSE)
        if need == code.k:
            time = first_copy.max(1)
        else:
            time = np.partition(first_copy, need - 1, axis=1)[:, need - 1]
        heard = at.reshape(-1, single.most, code.n) <= time[:, None, None]
        if single.has_message is not None:
            heard &= single.has_message
        responses = np.add.reduce(heard, axis=1, dtype=np.int16)
        return time.reshape(shape[:2]), responses.reshape(shape)


class _SinglePartitions(NamedTuple):
    """A code whose messages hold one partition each."""

    #: (copies, k), the messages with each partition, as rank * n + worker; of one with fewer copies the last again.
    copies: np.ndarray
    most: int  #: R, messages of a worker
    has_message: np.ndarray | None  #: (R, n), who has an r-th message; None where everybody sends R


@lru_cache(maxsize=8)  # asked in each iteration where workers are late
def _single_partitions(code: Code) -> _SinglePartitions:
    """What `Covered` needs to know of a code; `ParameterError` for one whose messages hold several partitions."""
    B = sparse.csc_array(code.encoding)
    entries_of_messages = np.diff(sparse.csr_array(B).indptr)
    single = (entries_of_messages == 1).all() and code.blocks == 1 and (B.data == 1).all()
    copies = np.diff(B.indptr)
    require(
        bool(single and copies.min() >= 1),
        "wait=covered needs a code whose messages hold one partition each and together hold all of "
        f"them; {code!r} is not such a code",
    )
    place = np.minimum(np.arange(copies.max())[:, None], copies - 1)
    message = B.indices[B.indptr[:-1] + place]
    most = int(code.messages.max())
    has_message = np.arange(most)[:, None] < code.messages
    return _SinglePartitions(
        copies=code.rank[message] * code.n + code.owner[message],
        most=most,
        has_message=None if has_message.all() else has_message,
    )


@dataclass(frozen=True)
class DropCompute:
    r"""Every worker stops computing micro-batches at a time limit, and the master waits for the last worker.

    With ``check=border`` a worker looks at the clock before each micro-batch and begins it unless the time is beyond
    tau; the iteration ends with the latest worker, and everybody is free then. With ``check=cut`` all are cut at tau:
    what counts are whole micro-batches by then, and the iteration takes max_w min(F_w, tau).

    Parameters
    ----------
    tau : float or str, optional
        A time, or a multiple of the median time of a worker such as ``"1.5x"``. Default: learned before the run. Of 200
        equally spaced values, from the smallest end of the micro-batch in the middle (index floor((M-1)/2)) to the
        largest end, the one with the largest mean over iterations of (share computed) (full duration / duration); among
        equals (1e-12) the larger.
    check : {"border", "cut"}

    Raises
    ------
    ParameterError
        For a tau that is not above 0, fewer than two micro-batches, or none before the run to learn from.

    References
    ----------
    Giladi et al.: DropCompute, arXiv 2306.10598, and its public code, whose choice of tau also counts the collective
    operation and starts behind the first iterations.

    Examples
    --------
    >>> from gcexp.codes import PartialWork
    >>> code, rule = PartialWork(n=2, d=1, q=2), DropCompute(tau=2.0)
    >>> arrivals = {None: np.array([[[2.0, 8.0]]]), 1: np.array([[[1.0, 4.0]]]), 2: np.array([[[2.0, 8.0]]])}
    >>> rule.stop(code, lambda r=None: arrivals[r], rule.begin(None))[:2]
    (array([[4.]]), array([[[2, 1]]], dtype=int16))
    """

    limits: ClassVar[tuple[str, ...]] = ("tau",)
    tau: Limit | None = None
    check: str = "border"

    def __post_init__(self):
        require_known("check", self.check, CHECKS)
        require_limit(self.tau, "wait=dropcompute: tau")

    @property
    def halts(self) -> bool:
        """Whether all workers have stopped computing when the master stops, for every value of `late`."""
        return self.check == "border"

    def begin(self, lead):
        if self.tau is not None:
            return None
        return self._learned(times_before_the_run("wait=dropcompute without tau", lead))

    def _learned(self, lead) -> np.ndarray:
        """The threshold of each seed, (S,), from ends of micro-batches before the run."""
        most = _micro_batches(lead.code)
        ends = np.stack([lead(r + 1) for r in range(most)])  # (M, S, P, n)
        thresholds: list[float] = []
        for i in range(ends.shape[1]):
            of_seed = ends[:, i]
            as_before = i > 0 and bool((of_seed == ends[:, i - 1]).all())  # as where rows are replayed
            thresholds.append(thresholds[-1] if as_before else self._best_threshold(of_seed))
        return np.array(thresholds)

    def _best_threshold(self, ends: np.ndarray) -> float:
        """The threshold with which most is computed per time, from ends of micro-batches (M, P, n)."""
        most = len(ends)
        iterations = ends.shape[1]
        full_duration = ends[-1].max(-1)
        candidates = np.linspace(ends[(most - 1) // 2].min(), ends.max(), _THRESHOLDS)
        gains = []
        for tau in candidates:
            count, duration = self._counts_and_durations(ends, np.full(iterations, tau))
            gains.append((count.mean(-1) / most * full_duration / duration).mean())
        best = np.flatnonzero(np.array(gains) >= max(gains) - 1e-12)
        return candidates[best[-1]]

    def _counts_and_durations(self, ends: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Micro-batches that each worker computes (..., n), and how long that takes (...); ends are (M, ..., n)."""
        limit = tau[..., None] * (1 + _CLOSE)
        if self.check == "cut":
            return (ends <= limit).sum(0), np.minimum(ends[-1].max(-1), tau)
        count = 1 + (ends[:-1] <= limit).sum(0)
        return count, np.take_along_axis(ends, count[None] - 1, 0)[0].max(-1)

    def stop(self, code, arrive, state):
        most = _micro_batches(code)
        ends = np.stack([arrive(r + 1) for r in range(most)])
        limit = time_of(self.tau, "tau") if state is None else state[:, None]
        tau = np.broadcast_to(limit, ends.shape[1:3])
        count, time = self._counts_and_durations(ends, tau)
        return time, count.astype(np.int16), state


def _micro_batches(code: Code) -> int:
    """Messages of a worker, the same for all of them."""
    most = int(code.messages.max(initial=0))
    require(most >= 2, f"dropcompute needs M >= 2 micro-batches, got {most}")
    require(
        bool((code.messages == most).all()) and bool((code.load == most).all()) and code.k == code.n * most,
        f"wait=dropcompute needs a code whose workers each send micro-batches of their own; {code!r} "
        "is not such a code",
    )
    return most
