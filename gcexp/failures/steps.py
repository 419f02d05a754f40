"""How long a step takes, and what it uses, while some workers are dead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gcexp.extras import extras
from gcexp.schemes.loads import LoadsExtras
from gcexp.schemes.placement import PlacementExtras
from gcexp.schemes.waiting import WaitingExtras
from gcexp.timeline import durations, simulate, with_limits_as_times

if TYPE_CHECKING:
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme

_TOGETHER = 2**18  # iterations times workers that the clock plays at once, as in `gcexp.timeline`


class Step(NamedTuple):
    """The mean step under one set of dead workers.

    Attributes
    ----------
    time : float
        Seconds; infinite where the iteration never ends.
    used : float
        Share of the data that it uses.
    """

    time: float
    used: float


class Steps:
    """The steps of a scheme under sets of dead workers, each asked of the clock once.

    A dead worker never arrives. Where an iteration ends all the same, the scheme endures the set, and its step is the
    mean over the iterations. A scheme that learns from iteration to iteration does not know who is dead in the first,
    which is left out.

    Parameters
    ----------
    scheme : Scheme
    draws : Draws (1, T, n)
        The workers' times while all of them are there.
    exact : bool
        Whether every step uses all data, so that nothing is decoded.
    """

    def __init__(self, scheme: Scheme, draws: Draws, exact: bool = True):
        self.n = scheme.code.n
        self.exact = exact
        self._scheme = with_limits_as_times(scheme, lambda: draws)
        iterations = draws.shape[1]
        learns = remembers(scheme)
        if not learns and iterations > 1 and _all_alike(draws):
            draws = draws.between(0, 1)
        self._draws = draws
        self._first = 1 if learns and iterations > 1 else 0
        self._kept: dict[int, Step] = {(1 << self.n) - 1: Step(np.inf, 0.0)}  # nobody is left

    @property
    def asked(self) -> np.ndarray:
        """The distinct sets of dead workers that the clock was asked about, (U, n)."""
        everybody = (1 << self.n) - 1
        return sets_of([dead for dead in self._kept if dead != everybody], self.n)

    @property
    def alive(self) -> Step:
        """The step while nobody is dead."""
        return self.of([0])[0]

    def of(self, dead: Sequence[int]) -> list[Step]:
        """The steps of sets of dead workers, in which bit w stands for worker w."""
        kept = self._kept
        new = [one for one in dict.fromkeys(dead) if one not in kept]
        if new:
            at_once = max(1, _TOGETHER // (self._draws.shape[1] * self.n))
            for first in range(0, len(new), at_once):
                some = new[first : first + at_once]
                kept.update(zip(some, self._ask(sets_of(some, self.n)), strict=True))
        return [kept[one] for one in dead]

    def times_alive(self) -> np.ndarray:
        """Durations (T,) of the iterations that count, while nobody is dead."""
        nobody = np.zeros((1, self.n), dtype=bool)
        return durations(self._scheme, self._draws.without(nobody))[0, self._first :]

    def _ask(self, dead: np.ndarray) -> list[Step]:
        """The steps of sets of dead workers (S, n), from the clock."""
        draws = self._draws.without(dead)
        if self.exact or not self._scheme.decodes:
            took = durations(self._scheme, draws)[:, self._first :].mean(axis=1)
            return [Step(time, 1.0) for time in took.tolist()]
        timeline = simulate(self._scheme, draws, endless=True)
        took = timeline.duration[:, self._first :].mean(axis=1)
        used = timeline.used[timeline.pattern[:, self._first :]].mean(axis=1)
        return [Step(*step) for step in zip(took.tolist(), used.tolist(), strict=True)]


def remembers(scheme: Scheme) -> bool:
    """Whether what a scheme does in an iteration depends on those before it."""
    moves = scheme.placement is not None and not extras(PlacementExtras, scheme.placement).stays
    learns = extras(WaitingExtras, scheme.wait).begin is not None or extras(LoadsExtras, scheme.loads).learned
    return moves or learns or scheme.late != "stop"


def _all_alike(draws: Draws) -> bool:
    """Whether all iterations have the same times, as those of equal workers."""
    alike = True
    for part in (draws.start, draws.compute, draws.transmit):
        if np.ndim(part) == 3:
            alike = alike and bool((part == np.asarray(part)[:, :1]).all())
    return alike and draws.linear and draws.is_slow is None


def sets_of(dead: Sequence[int], n: int) -> np.ndarray:
    """Sets of workers as a table (S, n) of truth values.

    Examples
    --------
    >>> sets_of([0b101, 0b000], n=3)
    array([[ True, False,  True],
           [False, False, False]])
    """
    width = -(-n // 8)
    packed = b"".join(one.to_bytes(width, "little") for one in dead)
    table = np.frombuffer(packed, dtype=np.uint8).reshape(len(dead), width)
    return np.unpackbits(table, axis=1, count=n, bitorder="little").astype(bool)
