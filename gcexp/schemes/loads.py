"""Loads: the share of the data that each worker computes in each iteration, if it differs from the code's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require, require_known
from gcexp.schemes.waiting import WorkerLimit, times_before_the_run
from gcexp.theory.bounds import water_loads

KNOW = ("hindsight", "last", "prefix")
_TOGETHER = 2**8  # iterations, of all seeds together, whose loads are computed at once
_NEVER = 1e100  # stands for the time of a worker that did not arrive at all


class Loads(Protocol):
    """A frozen dataclass with two methods."""

    def check(self, code: Code) -> None:
        """Raise `ParameterError` if the loads are not for this code."""

    def start(self, n: int, known: tuple[np.ndarray, np.ndarray] | None) -> Callable:
        """Function that takes the draws of the next iterations and returns relative loads (S, T, n).

        ``draws.parts()`` are the fixed and the growing part of every worker's time at relative load 1, ``known`` those
        of the iterations before the run, each (S, P, n), where a delay model has them.
        """


@dataclass(frozen=True)
class LoadsExtras(WorkerLimit):
    """What loads may have beside the members of `Loads`; read with `gcexp.extras.extras`."""

    #: Shares cover the data once: the gradient is exact, and only a rule that hears everybody makes sense.
    exact: bool = False
    #: Loads are chosen from times that nobody knows beforehand.
    hindsight: bool = False
    #: Loads are learned from earlier iterations.
    learned: bool = False
    #: The data of each batch are drawn anew, so that what is heard makes up a whole batch.
    fresh: bool = False


class _Shares:
    """Loads for one message per worker on partitions of its own: for any of them the sum of all is the gradient."""

    exact: ClassVar[bool] = True

    def check(self, code: Code) -> None:
        one = (code.messages == 1).all() and (code.n * code.load == code.k).all()
        require(
            bool(one),
            f"loads={type(self).__name__.lower()} needs a code that gives each worker partitions of its own, such as "
            f"scheme=uncoded; {code!r} does not",
        )


@dataclass(frozen=True)
class Even(_Shares):
    """Every worker has load 1, as the code says.

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> Even().start(3, None)(Draws((0,), (1, 2, 3)))[0, 0]
    array([1., 1., 1.])
    """

    def start(self, n, known):
        return lambda draws: np.ones(draws.shape)


@dataclass(frozen=True)
class Given(_Shares):
    """Named shares, the same in every iteration.

    Parameters
    ----------
    shares : list of float
        Relative loads of workers 0, ..., n-1; they sum to n.

    Raises
    ------
    ParameterError
        Unless shares are >= 0, and as many as workers, and sum to their number.

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> Given([1.5, 0.5]).start(2, None)(Draws((0,), (1, 1, 2)))
    array([[[1.5, 0.5]]])
    """

    shares: Sequence[float]

    def __post_init__(self):
        object.__setattr__(self, "shares", tuple(self.shares))
        require(min(self.shares, default=-1) >= 0, f"shares must be loads >= 0, got {list(self.shares)}")
        n = len(self.shares)
        require(
            abs(sum(self.shares) - n) <= 1e-9 * n,
            f"shares must sum to n={n}, got a sum of {sum(self.shares):g}",
        )

    def check(self, code):
        super().check(code)
        require(
            len(self.shares) == code.n,
            f"loads=given has {len(self.shares)} shares, but {code!r} has {code.n} workers",
        )

    def start(self, n, known):
        return lambda draws: np.broadcast_to(np.array(self.shares, float), draws.shape)


@dataclass(frozen=True)
class Uneven(_Shares):
    r"""Loads rho >= 0 that sum to n, are at most `cap`, and would finish at the same time at the known speeds.

    They minimise the largest F_w + rho_w C_w over the workers with rho_w > 0: `gcexp.theory.bounds.water_loads`.

    Parameters
    ----------
    know : {"last", "prefix", "hindsight"}
        ``last``: each worker's time in the last iteration in which it had something to do; the first iteration has
        even loads, so that every worker is measured once. ``prefix``: mean times before the run. ``hindsight``: the
        times of this iteration itself, which nobody knows beforehand: the best that any loads could do.
    cap : float, optional
        Largest relative load; default none. Memory, mostly.

    Raises
    ------
    ParameterError
        For a cap below 1, times before the run that nobody knows, times that follow the data, and learning from
        workers that are new in every iteration.

    References
    ----------
    The idea of giving slow workers less, as in LB-BSP (SoCC 2020); these formulas are this library's.

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> draws = Draws((0,), (1, 2, 2), compute=2 * np.array([[[1.0, 3.0], [1.0, 1.0]]]))
    >>> Uneven(know="hindsight").start(2, None)(draws)
    array([[[1.5, 0.5],
            [1. , 1. ]]])
    >>> Uneven(know="last").start(2, None)(draws)
    array([[[1. , 1. ],
            [1.5, 0.5]]])
    """

    know: str = "last"
    cap: float | None = None

    def __post_init__(self):
        require_known("know", self.know, KNOW)

    @property
    def hindsight(self) -> bool:
        """Whether the loads are chosen from times that nobody knows beforehand."""
        return self.know == "hindsight"

    @property
    def learned(self) -> bool:
        """Whether the loads are learned from earlier iterations."""
        return not self.hindsight

    def check(self, code):
        super().check(code)
        require(
            self.cap is None or self.cap >= 1,
            f"cap must be at least 1, since the shares sum to n={code.n}; got cap={self.cap}",
        )

    def start(self, n, known):
        if self.know == "prefix":
            fixed, growing = times_before_the_run("know=prefix", known)
            mean_fixed = fixed.mean(1, keepdims=True)
            mean_growing = growing.mean(1, keepdims=True)
            shares = water_loads(mean_fixed, mean_growing, self.cap)
            return lambda draws: np.broadcast_to(shares, draws.shape)
        if self.know == "hindsight":
            return lambda draws: water_loads(*draws.parts(), self.cap)
        return _LoadsFromLastIteration(self.cap)


class _LoadsFromLastIteration:
    """Loads (S, T, n) of the next iterations at each call, from each worker's parts when it last had something to do.

    The first iteration has even loads, so that every worker is measured once.
    """

    def __init__(self, cap: float | None):
        self._cap = cap
        #: Each worker's fixed and growing part when it was last measured, (2, S, n).
        self._measured: np.ndarray | None = None

    def __call__(self, draws) -> np.ndarray:
        require(
            not draws.renewed,
            f"know=last learns from the iteration before, but the rows of {draws.renewed} belong "
            "to different workers (persistent: false)",
        )
        parts = np.stack(draws.parts())
        if self._measured is not None:
            return self._next_loads(parts, self._measured)
        first_parts = parts[:, :, 0].copy()
        even = np.ones_like(parts[0, :, :1])
        return np.concatenate([even, self._next_loads(parts[:, :, 1:], first_parts)], axis=1)

    def _next_loads(self, parts: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """Loads (S, T, n) of iterations with `parts` (2, S, T, n), where workers were last measured with `measured`.

        Who is idle, and so is not measured, depends on the loads before, and changes seldom. So the loads of some
        iterations are computed together, as if the same workers were idle in all of them. They hold up to the first
        iteration in which others are idle; those behind it are computed again.
        """
        S, T, n = parts.shape[1:]
        # At t the parts of the iteration before t.
        before = np.concatenate([measured[:, :, None], parts], axis=2)
        loads = np.empty((S, T, n))
        is_idle = np.zeros((S, n), bool)
        begin = np.zeros(S, int)  # the iterations of each seed before this one have their loads
        together = np.arange(max(1, _TOGETHER // S))
        while (begin < T).any():
            seeds = np.flatnonzero(begin < T)
            every = np.arange(len(seeds))
            rows = np.minimum(begin[seeds, None] + together, T - 1)
            known = np.where(is_idle[seeds, None], measured[:, seeds, None], before[:, seeds[:, None], rows])
            known_fixed, known_growing = known
            found = _loads(known_fixed, known_growing, self._cap)
            loads[seeds[:, None], rows] = found
            others_are_idle = ((found == 0) != is_idle[seeds, None]).any(-1)
            others_are_idle[:, -1] = True
            end = others_are_idle.argmax(1)
            last = rows[every, end]
            is_idle[seeds] = found[every, end] == 0
            measured[:, seeds] = np.where(is_idle[seeds], known[:, every, end], parts[:, seeds, last])
            begin[seeds] = last + 1
        self._measured = measured
        return loads


def _loads(fixed: np.ndarray, growing: np.ndarray, cap: float | None) -> np.ndarray:
    """`water_loads`, which leave workers without work that never arrived, where the others can hold all shares."""
    never = np.isinf(fixed)
    if not never.any():
        return water_loads(fixed, growing, cap)
    n = fixed.shape[-1]
    there = n - never.sum(axis=-1, keepdims=True)
    most = there * (float(n) if cap is None else cap)
    instead = np.where(
        most < n, 0.0, _NEVER
    )  # who is there cannot hold all shares: the others are waited for
    return water_loads(np.where(never, instead, fixed), growing, cap)


@dataclass(frozen=True)
class Recent(_Shares):
    """Loads in inverse proportion to each worker's mean time in the last iterations, renewed before every iteration.

    The first iteration has even loads. With times that repeat, and that grow in proportion to the load, all workers
    end together. No worker is ever left without work, so that one that recovers is noticed.

    Parameters
    ----------
    window : int
        Iterations that are looked back at, at least 1.

    Raises
    ------
    ParameterError
        For a window below 1, times that follow the data, and workers that are new in every iteration.

    References
    ----------
    This library's; `Uneven` answers the last iteration alone.

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> draws = Draws((0,), (1, 3, 2), compute=2 * np.array([[[1.0, 3.0], [1.0, 1.0], [1.0, 1.0]]]))
    >>> Recent(window=2).start(2, None)(draws)[0].tolist()
    [[1.0, 1.0], [1.5, 0.5], [1.3333333333333333, 0.6666666666666666]]
    """

    learned: ClassVar[bool] = True

    window: int = 20

    def __post_init__(self):
        require(self.window >= 1, f"window is a number of iterations >= 1, got {self.window}")

    def start(self, n, known):
        return _LoadsFromRecentIterations(self.window)


class _LoadsFromRecentIterations:
    """Loads (S, T, n) of the next iterations at each call, by the speeds in the last `window` iterations."""

    def __init__(self, window: int):
        self._window = window
        self._last_times: np.ndarray | None = None  # (S, at most window, n)

    def __call__(self, draws) -> np.ndarray:
        require(
            not draws.renewed,
            f"loads=recent learns from earlier iterations, but {draws.renewed} has new workers in every row "
            "(persistent: false)",
        )
        S, T, n = draws.shape
        fixed, growing = draws.parts()
        times = fixed + growing
        loads = np.empty(draws.shape)
        for t in range(T):
            now = times[:, t : t + 1]
            if self._last_times is None:
                speed = np.ones((S, n))
                self._last_times = now
            else:
                speed = 1 / self._last_times.mean(1)
                self._last_times = np.concatenate([self._last_times, now], axis=1)[:, -self._window :]
            loads[:, t] = n * speed / speed.sum(1, keepdims=True)
        return loads


@dataclass(frozen=True)
class Backup(_Shares):
    """Backup workers: each of n workers has load n / (n - b), and the first n - b to finish make up the batch.

    Shares are drawn afresh for each batch, so that it does not matter whose they are: this is for mini-batches. With
    fixed partitions some would be lost, and only the clock means anything.

    Parameters
    ----------
    b : int
        Workers that are not waited for; take ``wait=fastest`` with s = b.

    References
    ----------
    Chen, Pan, Monga, Bengio, Jozefowicz: Revisiting distributed synchronous SGD, arXiv 1604.00981; loads from memory.

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> Backup(b=1).start(5, None)(Draws((0,), (1, 1, 5)))[0, 0, 0]
    np.float64(1.25)
    """

    exact: ClassVar[bool] = False
    fresh: ClassVar[bool] = True

    b: int

    def check(self, code):
        super().check(code)
        require(self.b >= 0, f"backup needs b >= 0, got {self.b}")
        require(self.b < code.n, f"backup b={self.b} leaves no worker of n={code.n}")

    def start(self, n, known):
        return lambda draws: np.full(draws.shape, n / (n - self.b))
