"""What needs no code where workers die: the others share the dead workers' data, or leave them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gcexp.schemes.loads import Even


@dataclass(frozen=True)
class Respread(Even):
    """Loads of workers who share the data of those that never arrive, n / (n - k) each where k are dead.

    The step in which a worker dies is not among these: it is what an endured failure costs (`redo`).

    Examples
    --------
    >>> from gcexp.delays import Draws
    >>> draws = Draws((0,), (1, 1, 4), compute=4.0).without(np.array([[False, True, False, False]]))
    >>> Respread().start(4, None)(draws)[0, 0].round(3)
    array([1.333, 0.   , 1.333, 1.333])
    """

    def start(self, n, known):
        def loads(draws) -> np.ndarray:
            there = np.isfinite(draws.arrival(1 / n, 1.0))
            return np.where(there, n / np.maximum(there.sum(axis=-1, keepdims=True), 1), 0.0)

        return loads


@dataclass(frozen=True)
class Present:
    """Wait for all who ever arrive: the data of dead workers are left out.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> Present().stop(Uncoded(n=3), lambda: np.array([[[3.0, np.inf, 2.0]]]))
    (array([[3.]]), array([[[1, 0, 1]]], dtype=int16))
    """

    most_workers: ClassVar[int] = 10**6

    def stop(self, code, arrive):
        at = arrive()
        there = np.isfinite(at)
        return np.where(there, at, 0.0).max(axis=-1), there * code.messages.astype(np.int16)
