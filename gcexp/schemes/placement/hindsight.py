"""The best, median or worst fixed placement, found by playing the run with many of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gcexp.errors import require, require_known
from gcexp.schemes.placement.fixed import FixedPlacement
from gcexp.seeding import rng

WHICH = ("best", "median", "worst")
_MOST_PAIRED = 10  # workers whose pairings are all tried, 945 of them


@dataclass(frozen=True)
class Hindsight(FixedPlacement):
    """The best, median or worst fixed placement for the simulated iterations themselves: a choice in hindsight.

    Of all groupings into pairs of neighbours where ``pairs`` is set and n is even and at most 10 (945 for n = 10: with
    fractional repetition of load 2 nothing else matters), else of so many seeded random seats. The mean is taken with
    workers that stop at once. Among equals the first; of an even number the lower one in the middle.

    Parameters
    ----------
    which : {"best", "median", "worst"}
    pairs : bool
    sampled : int
        Random seats that are tried otherwise.
    """

    hindsight: ClassVar[bool] = True

    which: str = "best"
    pairs: bool = False
    sampled: int = 1000

    def __post_init__(self):
        require_known("which", self.which, WHICH)
        require(self.sampled >= 1, f"sampled must be a number of seats >= 1, got {self.sampled}")

    def seat(self, is_slow, seeds, play=None):
        require(
            play is not None,
            "placement=hindsight needs the times of the coming iterations, but seat() was called without play",
        )
        seats = self._candidates(play.shape[2])
        mean = _mean_durations(_Trial(play, seats))
        last = len(seats) - 1
        place = {"best": 0, "median": last // 2, "worst": last}[self.which]
        fastest_first = np.argsort(mean, axis=1, kind="stable")
        seats_of_seed = seats[fastest_first[:, place]]
        return np.broadcast_to(seats_of_seed[:, None], play.shape)

    def _candidates(self, n: int) -> np.ndarray:
        """Seats that are tried, (U, n)."""
        if self.pairs and n % 2 == 0 and n <= _MOST_PAIRED:
            seats = list(_pairings(tuple(range(n))))
        else:
            random = rng(0, "placement.hindsight")
            seats = [random.permutation(n) for _ in range(self.sampled)]
        return np.array(seats, dtype=np.int16)


class _Trial:
    """Some seats (U, n) that are tried in a game; trials of equal seats in equal games are equal."""

    def __init__(self, play, seats: np.ndarray):
        self.play, self.seats = play, seats
        self._key = play.fingerprint, seats.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Trial) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


# The best, the median and the worst seats of one game are asked for one after the other.
@lru_cache(maxsize=1)
def _mean_durations(trial: _Trial) -> np.ndarray:
    """Mean durations (S, U) of a game with each of the seats."""
    return np.stack([trial.play.in_hindsight(seats) for seats in trial.seats], axis=1)


def _pairings(workers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to group workers into pairs, as workers side by side."""
    if not workers:
        yield ()
        return
    first, *rest = workers
    for other in rest:
        others = tuple(w for w in rest if w != other)
        for pairs_of_others in _pairings(others):
            yield first, other, *pairs_of_others
