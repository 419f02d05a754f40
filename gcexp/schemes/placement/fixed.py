"""Placements that stay as they are for the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require
from gcexp.schemes.waiting import times_before_the_run


class FixedPlacement:
    """Base of the placements that stay as they are for the whole run."""

    stays: ClassVar[bool] = True

    def check(self, code: Code) -> None:
        pass


@dataclass(frozen=True)
class Home(FixedPlacement):
    """Every worker keeps its own place, as without a placement rule: static clustering (GC-SC).

    Examples
    --------
    >>> Home().seat(np.zeros((1, 2, 3), dtype=bool), seeds=(0,))[0]
    array([[0, 1, 2],
           [0, 1, 2]], dtype=int16)
    """

    def seat(self, is_slow, seeds, play=None):
        shape = play.shape if is_slow is None else is_slow.shape
        return np.broadcast_to(np.arange(shape[2], dtype=np.int16), shape)


@dataclass(frozen=True)
class Given(FixedPlacement):
    """Worker ``workers[j]`` takes place j of the code in every iteration.

    Parameters
    ----------
    workers : list of int
        Each of 0, ..., n-1 once.

    Examples
    --------
    >>> Given([2, 0, 1]).seat(np.zeros((1, 1, 3), dtype=bool), seeds=(0,))[0]
    array([[2, 0, 1]], dtype=int16)
    """

    workers: Sequence[int]

    def __post_init__(self):
        object.__setattr__(self, "workers", tuple(self.workers))
        each_once = set(range(len(self.workers)))
        require(
            set(self.workers) == each_once,
            f"placement=given must name each worker from 0 to n-1 once, got {list(self.workers)}",
        )

    def check(self, code):
        require(
            len(self.workers) == code.n,
            f"placement=given names {len(self.workers)} workers, but {code!r} has {code.n}",
        )

    def seat(self, is_slow, seeds, play=None):
        shape = play.shape if is_slow is None else is_slow.shape
        return np.broadcast_to(np.array(self.workers, dtype=np.int16), shape)


@dataclass(frozen=True)
class Zipper(FixedPlacement):
    """Fast workers before slow ones, learned from the times before the run and kept for the whole run.

    Workers by rising mean time, ties to the lower: the fastest, the slowest, the second fastest, the second slowest,
    and so on. In a cyclic code a slow worker's helper, who sits before it, is then fast.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> known = SimpleNamespace(shape=(1, 1, 5), past=np.array([[[4.0, 1.0, 2.0, 3.0, 5.0]]]))
    >>> Zipper().seat(None, (0,), known)
    array([[[1, 4, 2, 0, 3]]], dtype=int16)
    """

    learned: ClassVar[bool] = True

    def seat(self, is_slow, seeds, play=None):
        order = _by_past("zipper", play)
        n = play.shape[2]
        places = np.empty(n, dtype=np.intp)
        fast = -(-n // 2)
        slow = n // 2
        places[::2] = np.arange(fast)
        places[1::2] = n - 1 - np.arange(slow)
        return np.broadcast_to(order[:, None, places], play.shape)


def _by_past(rule: str, play) -> np.ndarray:
    """Workers by increasing mean time before the run, (S, n); raise `ParameterError` if the trace has no such times."""
    past = times_before_the_run(f"placement={rule}", None if play is None else play.past)
    return np.argsort(past.mean(1), axis=1, kind="stable").astype(np.int16)


@dataclass(frozen=True)
class Pairs(FixedPlacement):
    """Groups of d workers of similar group speed, learned from the times before the run and kept for the whole run.

    Workers by rising mean time, ties to the lower, are dealt to the n/d groups forwards, then backwards, and so on:
    with d = 2 the fastest goes with the slowest. Groups are d consecutive workers, as in fractional repetition.

    Parameters
    ----------
    d : int
        Size of a group, the load of fractional repetition.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> known = SimpleNamespace(shape=(1, 1, 4), past=np.array([[[4.0, 1.0, 2.0, 3.0]]]))
    >>> Pairs(d=2).seat(None, (0,), known)
    array([[[1, 0, 2, 3]]], dtype=int16)
    """

    learned: ClassVar[bool] = True

    d: int

    def check(self, code):
        require(
            self.d >= 1 and code.n % self.d == 0,
            f"placement=pairs needs d that divides n, got n={code.n}, d={self.d}",
        )

    def seat(self, is_slow, seeds, play=None):
        order = _by_past("pairs", play)
        n = play.shape[2]
        groups = n // self.d
        turn, group = np.divmod(np.arange(n), groups)
        backwards = turn % 2 == 1
        group = np.where(backwards, groups - 1 - group, group)
        seated = np.empty(order.shape, dtype=np.int16)
        seated[:, group * self.d + turn] = order
        return np.broadcast_to(seated[:, None], play.shape)
