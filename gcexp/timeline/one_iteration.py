"""The first iteration of a run, message by message, as `gcexp.show` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.timeline.arrivals import arrivals
from gcexp.timeline.game import Game
from gcexp.timeline.play import first_state, play

if TYPE_CHECKING:
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme


@dataclass(frozen=True)
class Iteration:
    """What happened in one iteration, worker by worker in the order of their places."""

    computed: np.ndarray  #: (R, n), when each worker's r-th message was; one with fewer repeats its last
    arrived: np.ndarray  #: (R, n), when it reached the master
    stop: float  #: when the master stopped
    #: (n,), messages that it decoded with; where the rule orders them (M,), which they are
    responses: np.ndarray


def first_iteration(scheme: Scheme, draws: Draws) -> Iteration:
    """What happens in the first iteration of the first seed; all limits of the scheme are times (`in_times_of`)."""
    state = first_state(scheme, draws)
    if scheme.placement is not None:
        draws = draws.seated(scheme.placement.seat(draws.is_slow, draws.seeds, Game(scheme, draws, state)))
    rho = state.loads(draws) if state.loads else None
    played = play(scheme, draws, None, state)
    responses = played.responses
    if scheme.lag:
        responses = responses[:, :, 0]  # all that an iteration without others before it has
    computed, arrived = [], []
    for r in range(1, int(scheme.code.messages.max(initial=1)) + 1):
        computed.append(arrivals(scheme, draws, r, rho, sending=False)[0, 0])
        arrived.append(arrivals(scheme, draws, r, rho, sending=True)[0, 0])
    return Iteration(np.array(computed), np.array(arrived), float(played.stop[0, 0]), responses[0, 0])
