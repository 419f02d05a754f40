"""What every delay model keeps."""

from __future__ import annotations

import pickle

import numpy as np

from gcexp.delays import DelayModel, Draws
from gcexp.testing.check import ITERATIONS, SEEDS

WORKERS = 10  # that a model is drawn for, where nobody says how many


class DelayContract:
    """What every delay model keeps."""

    def __init__(self, delay: DelayModel, n: int = WORKERS):
        self.delay = delay
        self.n = n
        self.name = type(delay).__name__

    def draw(
        self, seeds: tuple[int, ...] = SEEDS, iterations: int = ITERATIONS, n: int | None = None
    ) -> Draws:
        return self.delay.draw(seeds, iterations, n or self.n)

    def check_gives_times(self) -> None:
        """Draws have the seeds and the shape that were asked for, and give finite times >= 0.

        Cure: return ``Draws(seeds, (S, T, n), ...)`` with parts >= 0.
        """
        draws = self.draw()
        wanted = (len(SEEDS), ITERATIONS, self.n)
        assert draws.seeds == SEEDS, f"asked for the seeds {SEEDS}, got {draws.seeds}"
        assert draws.shape == wanted, f"asked for the shape {wanted}, got {draws.shape}"
        times = _prices(draws)
        wrong = ~(np.isfinite(times) & (times >= 0))
        assert not wrong.any(), f"a time is {times[wrong][0]}"

    def check_more_work_takes_no_less(self) -> None:
        """A larger load or a longer message takes no less time.

        Cure: let no part of the draws be negative.
        """
        times = _prices(self.draw())
        assert (times[2:] >= times[:2]).all(), (
            "with a load of 0.4 of the data a worker is faster than with 0.1"
        )
        assert (times[1::2] >= times[::2]).all(), "a message of 1 gradient arrives before one of 0.25"

    def check_a_worker_pays_for_its_own_load(self) -> None:
        """The time of a worker depends on its own load alone.

        Cure: do not override `arrival` so that it sums or sorts over workers.
        """
        draws = self.draw()
        load = np.linspace(0, 1, self.n)
        for w in {0, self.n // 2, self.n - 1}:
            alone = draws.arrival(load[w], 1.0)[..., w]
            np.testing.assert_array_equal(draws.arrival(load, 1.0)[..., w], alone)

    def check_does_not_depend_on_what_else_is_drawn(self) -> None:
        """Fewer iterations, workers or other seeds change no draw, and the same call gives the same bits.

        Cure: draw from one stream for each seed and worker, `gcexp.seeding.rng(seed, NAME, worker)`.
        """
        draws = self.draw()
        some = max(1, self.n // 2)
        _equal(draws, self.draw())
        _equal(draws, self.draw(iterations=3 * ITERATIONS + 1), (slice(None), slice(ITERATIONS)))
        _equal(self.draw(n=some), draws, (slice(None), slice(None), slice(some)), self.n / some)
        _equal(draws, self.draw((5, *SEEDS, 9)), (slice(1, 3),))
        _equal(self.draw(SEEDS[::-1]), draws, (slice(None, None, -1),))

    def check_workers_differ_and_seeds_do_or_do_not(self) -> None:
        """Workers have times of their own, and either all seeds differ or none does.

        Cure: number the streams by seed and worker.
        """
        times = self.draw((0, 1, 2), 200).arrival(0.3, 1.0)
        if times.any():
            for a, b in ((0, 1), (0, self.n - 1)):
                assert (times[:, :, a] != times[:, :, b]).any(), (
                    f"workers {a} and {b} always take equal times"
                )
            same = [bool((times[a] == times[b]).all()) for a, b in ((0, 1), (0, 2), (1, 2))]
            assert len(set(same)) == 1, "some seeds are equal and others are not"

    def check_relabelled_draws_are_the_workers_own(self) -> None:
        """Draws that are moved to other seats, or cut, keep their numbers.

        Cure: give the parts as arrays that broadcast to (S, T, n); a class of draws of your own says which parts stay.
        """
        draws = self.draw()
        seats = np.random.default_rng(0).permuted(np.tile(np.arange(self.n), (*draws.shape[:2], 1)), axis=-1)
        expected = np.take_along_axis(_prices(draws), np.broadcast_to(seats, (4, *seats.shape)), axis=-1)
        np.testing.assert_array_equal(_prices(draws.seated(seats)), expected)
        np.testing.assert_array_equal(_prices(draws.between(3, 4)), _prices(draws)[:, :, 3:4])

    def check_is_a_value(self) -> None:
        """Models are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass of numbers and texts.
        """
        copy = pickle.loads(pickle.dumps(self.delay))
        assert copy == self.delay, f"{self.delay!r} and its copy are not equal"
        assert hash(copy) == hash(self.delay), "a model and its equal copy have other hashes"


def _prices(draws: Draws, share: float = 1.0) -> np.ndarray:
    """Arrivals for two loads, times `share`, and two lengths, (4, S, T, n)."""
    priced = []
    for load in (0.1, 0.4):
        for length in (0.25, 1.0):
            priced.append(draws.arrival(load * share, length))
    return np.stack(priced)


def _equal(one: Draws, other: Draws, part: tuple = (...,), share: float = 1.0) -> None:
    """The first are the wanted part (seeds, iterations, workers) of the others.

    With fewer workers, at equal loads or, where times are known for a worker's share 1/n of the data, at equal shares.
    """
    found = _prices(one)
    wanted = _prices(other)[(slice(None), *part)]
    if share == 1 or (found == wanted).all():
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(_prices(one, share), wanted, rtol=1e-12)
    assert (one.is_slow is None) == (other.is_slow is None), "some draws have states, and others none"
    if one.is_slow is not None and other.is_slow is not None:
        np.testing.assert_array_equal(one.is_slow, other.is_slow[part])
