"""What a placement rule is, and what it may have beside that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gcexp.codes import Code
from gcexp.schemes.waiting import WorkerLimit


class Placement(Protocol):
    """A frozen dataclass with two methods."""

    def check(self, code: Code) -> None:
        """Raise `ParameterError` if the rule is not for this code."""

    def seat(
        self, is_slow: np.ndarray | None, seeds: Sequence[int], play: Callable | None = None
    ) -> np.ndarray:
        """Worker at place j of the code, (S, T, n); each row is a permutation.

        ``is_slow`` (S, T, n) are the states of the workers, None where the delay model has none. A rule that goes by
        what the master saw calls ``play(t, seats)``, with seats (S, n), for t = 0, 1, ... in turn: it plays iteration t
        and returns each worker's arrival (S, n) and when the master stopped (S,); ``play.shape`` is (S, T, n). So no
        rule can look ahead, and none needs to know load, code or delay law.
        """


@dataclass(frozen=True)
class PlacementExtras(WorkerLimit):
    """What a placement may have beside the members of `Placement`; read with `gcexp.extras.extras`."""

    #: ``start(seeds, n)`` gives a function that takes ``is_slow`` and `play` of the next iterations at each call, so
    #: that a long run is seated some iterations at a time; without it each seed is seated whole.
    start: Callable[[Sequence[int], int], Callable] | None = None
    #: The placement is the same in every iteration.
    stays: bool = False
    #: It is chosen from times that nobody knows beforehand.
    hindsight: bool = False
    #: It is learned from times before the run.
    learned: bool = False
    #: ``stored(code, seed)`` are the partitions that each worker keeps, boolean (n, k); else those that it computes.
    stored: Callable[[Code, int], np.ndarray] | None = None
    #: ``codewords(code, seed)`` are the codewords that each worker may have to send, (n,); else one.
    codewords: Callable[[Code, int], np.ndarray] | None = None
