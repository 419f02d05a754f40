"""What a placement rule may observe of the run whose workers it seats."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gcexp.timeline.arrivals import arrivals
from gcexp.timeline.play import State, first_state, play

if TYPE_CHECKING:
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme


class Game:
    """What a placement rule may observe: one iteration after another, with the places that it has chosen."""

    def __init__(self, scheme: Scheme, draws: Draws, state: State | None = None):
        self._scheme, self._draws = scheme, draws
        self._state = state or first_state(scheme, draws)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(S, T, n)."""
        return self._draws.shape

    @property
    def past(self) -> np.ndarray | None:
        """Times of the workers before the run, (S, P, n), where they are known."""
        return self._draws.past

    @property
    def fingerprint(self) -> str:
        """A key that is the same for equal codes, waiting rules and times."""
        code = self._scheme.code
        digest = hashlib.sha256(repr((code, self._scheme.wait)).encode())
        for r in range(int(code.messages.max())):
            arrived = arrivals(self._scheme, self._draws, r + 1)
            digest.update(arrived.tobytes())
        return digest.hexdigest()

    def in_hindsight(self, seats: np.ndarray) -> np.ndarray:
        """Mean duration (S,) of all these iterations with the same seats (n,) in each, where workers stop at once."""
        scheme = replace(self._scheme, late="stop", placement=None)
        draws = self._draws.seated(np.broadcast_to(seats, self.shape))
        played = play(scheme, draws, None, first_state(scheme, draws))
        return played.stop.mean(1)

    def __call__(self, t: int, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arrival of each worker (S, n) and when the master stopped (S,), with seats (S, n) in iteration t.

        What was cut short for good, because a late worker takes the newest model, arrives just behind the stop.
        """
        scheme = self._scheme
        draws = self._draws.between(t, t + 1).seated(seats[:, None])
        played = play(scheme, draws, seats[:, None], self._state)
        self._state = played.state
        by_seat = arrivals(scheme, draws) if played.arrived is None else played.arrived
        by_worker = np.empty(seats.shape)
        np.put_along_axis(by_worker, seats.astype(np.intp), by_seat[:, 0], axis=1)
        return by_worker, played.stop[:, 0]
