"""What every delay model draws, and how a draw is priced by a worker's load and message length."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np

from gcexp.errors import require
from gcexp.seeding import rng


@dataclass(frozen=True)
class Draws:
    """Random parts of S seeds x T iterations x n workers, drawn once and priced by every scheme.

    A worker that computes the fraction `load` of the data and sends `length` gradients arrives at
    ``start + load * compute + length * transmit``. Because no scheme takes part in the drawing, schemes that are
    compared share their random numbers.

    Attributes
    ----------
    seeds : tuple of int
        One per row of the first axis.
    shape : tuple (S, T, n)
        Shape to which the parts broadcast.
    start, compute, transmit : ndarray or float
        Seconds; seconds for all data; seconds for one gradient.
    is_slow : ndarray (S, T, n) of bool, optional
        State of each worker, where the model has states.
    """

    seeds: tuple[int, ...]
    shape: tuple[int, int, int]
    start: np.ndarray | float = 0.0
    compute: np.ndarray | float = 0.0
    transmit: np.ndarray | float = 0.0
    is_slow: np.ndarray | None = None

    def arrival(self, load, length) -> np.ndarray:
        """Arrival times (S, T, n) for `load` (scalar or (n,), fraction of the data) and `length` (gradients)."""
        times = self.start
        for amount, part in ((load, self.compute), (length, self.transmit)):
            if np.ndim(part) or part:  # a part that is a plain zero costs nothing
                times = times + np.multiply(amount, part)
        return np.broadcast_to(times, self.shape)

    def seated(self, seats: np.ndarray) -> Draws:
        """The same draws with worker ``seats[s, t, j]`` in place of worker j, seats (S, T, n).

        Examples
        --------
        >>> draws = Draws((0,), (1, 2, 3), start=np.array([1.0, 2.0, 3.0]))
        >>> draws.seated(np.array([[[0, 1, 2], [2, 0, 1]]])).arrival(load=1, length=0)
        array([[[1., 2., 3.],
                [3., 1., 2.]]])
        """
        seats = np.asarray(seats, dtype=np.intp)
        return self._each(lambda part: np.take_along_axis(np.broadcast_to(part, self.shape), seats, axis=2))

    def at(self, t: int) -> Draws:
        """The draws of iteration t alone, of shape (S, 1, n)."""
        S, _, n = self.shape
        one = self._each(lambda part: np.broadcast_to(part, self.shape)[:, t : t + 1])
        return replace(one, shape=(S, 1, n))

    def _each(self, change) -> Draws:
        """Draws with every random part changed."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{k: change(v) for k, v in parts.items() if isinstance(v, np.ndarray)})


class DelayModel(Protocol):
    """A frozen dataclass with the parameters of the law."""

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        """Draw for each (seed, worker) from a stream of its own: more workers or iterations change no earlier draw."""


def held_exponentials(
    seeds, iterations: int, n: int, persistence: int = 1, purpose: str = "delays"
) -> np.ndarray:
    """Unit exponentials (S, T, n), each held for `persistence` iterations and then drawn again.

    Every law with a closed-form inverse is a function of these, so that models too share their random numbers.

    Examples
    --------
    >>> held_exponentials((0,), 4, 2, persistence=2)[0, :, 0].round(3)
    array([2.471, 2.471, 0.883, 0.883])
    """
    require(iterations >= 1 and n >= 1, f"draws need iterations >= 1 and n >= 1, got {iterations} and {n}")
    require(persistence >= 1, f"persistence is a number of iterations >= 1, got {persistence}")
    rounds = -(-iterations // persistence)
    drawn = np.empty((len(seeds), rounds, n))
    for i, seed in enumerate(seeds):
        for w in range(n):
            drawn[i, :, w] = rng(seed, purpose, w).standard_exponential(rounds)
    return np.repeat(drawn, persistence, axis=1)[:, :iterations] if persistence > 1 else drawn
