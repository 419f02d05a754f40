"""A run in chunks of seeds or iterations has the bits of one piece, and its memory does not grow with its length."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

from gcexp.codes import Uncoded
from gcexp.delays import Draws, ShiftedExponential, TwoStateMarkov
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Fastest, Scheme
from gcexp.timeline import Timeline, run_clock, simulate

SEEDS, ITERATIONS = (0, 3, 5), 17
CLUSTERED = "n=12 code.d=2 code.clusters=4 delay=markov"


@pytest.mark.parametrize(
    "overrides",
    [
        "scheme=forget n=6 s=2 delay=pareto delay.persistence=3",
        "scheme=cgc n=6 s=2 delay=shifted_exponential delay.scaling=server",
        "scheme=cyclic_two_message n=7 s=4 code.beta=5 delay=compute_transmit delay.persistence=2",
        "scheme=random_regular n=10 s=3 delay=pareto overhead=0.5",
        "scheme=forget n=6 s=2 delay=epochs delay.p=0.4",
        f"scheme=lb {CLUSTERED} delay.spread=0.3",
        f"scheme=gc_dc {CLUSTERED} delay.load_model=sum",
        f"scheme=gc_dc {CLUSTERED} placement.observe=perfect",
        f"scheme=gc_dc {CLUSTERED} placement.observe=arrival delay.initial_slow=4",
        f"scheme=gc_dc {CLUSTERED} placement.observe=censored placement.threshold=0.9",
        f"scheme=gc_dc {CLUSTERED} placement.observe=arrival late=finish",
        f"scheme=gc_sc {CLUSTERED} late=every",
        f"scheme=gc_sc {CLUSTERED} late=chunk",
    ],
)
def test_the_same_bits_in_chunks_of_any_size(overrides):
    config = compose(overrides.split())
    scheme, delay = build_scheme(config, 0), build(config, "delay")
    n = scheme.code.n
    whole = simulate(scheme, delay.draw(SEEDS, ITERATIONS, n))
    for chunk in (1, 2 * n, 5 * n + 1, 2 * ITERATIONS * n, 10**9):
        pieces = run_clock(scheme, delay, SEEDS, ITERATIONS, chunk)
        for field in dataclasses.fields(Timeline):
            ours, theirs = getattr(pieces, field.name), getattr(whole, field.name)
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{field.name} at {chunk}")
    alone = run_clock(scheme, delay, SEEDS[1:2], ITERATIONS)
    np.testing.assert_array_equal(alone.duration[0], whole.duration[1])


@pytest.mark.parametrize(
    "overrides",
    [
        "scheme=forget n=200 s=20 delay=pareto delay.persistence=3",
        "scheme=cgc n=200 s=2 delay=shifted_exponential late=finish",
    ],
)
def test_draws_at_hand_are_played_some_at_a_time(overrides):
    """More of them than are played at once."""
    config = compose(overrides.split())
    scheme, delay = build_scheme(config, 0), build(config, "delay")
    pieces = simulate(scheme, delay.draw(SEEDS, 600, 200))
    whole = run_clock(scheme, delay, SEEDS, 600, 10**9)
    for field in dataclasses.fields(Timeline):
        np.testing.assert_array_equal(getattr(pieces, field.name), getattr(whole, field.name))


def test_memory_does_not_grow_with_the_length():
    """Two runs, one four times as long: what is kept of an iteration, not what it takes to play it."""
    peaks = []
    for iterations in (2_000, 8_000):
        tracemalloc.start()
        run_clock(Scheme(Uncoded(50), Fastest(s=49)), ShiftedExponential(), (0,), iterations, chunk=50_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    kept = (
        8 + 8 + 8
    )  # bytes of an iteration: duration, word of who was heard, pattern; and as much again to sort
    assert peaks[1] - peaks[0] < 6_000 * 4 * kept


@dataclasses.dataclass(frozen=True)
class Whole:
    """A model from outside that draws in one piece only."""

    def draw(self, seeds, iterations, n):
        return Draws(
            seeds, (len(seeds), iterations, n), start=np.arange(n) + np.arange(iterations)[:, None] + 1.0
        )


@dataclasses.dataclass(frozen=True)
class Backwards:
    """A placement from outside that seats all iterations at once."""

    def check(self, code):
        pass

    def seat(self, is_slow, seeds, play=None):
        return np.broadcast_to(np.arange(play.shape[2])[::-1], play.shape)


def test_models_and_placements_from_outside_need_no_chunks():
    scheme = Scheme(Uncoded(3), Fastest(q=1), placement=Backwards())
    timeline = run_clock(scheme, Whole(), (0, 1), 4, chunk=1)
    assert timeline.duration.tolist() == [[1, 2, 3, 4]] * 2
    assert timeline.patterns.tolist() == [[0, 0, 1]]
    markov = run_clock(scheme, TwoStateMarkov(), (0,), 4, chunk=1)
    whole = simulate(scheme, TwoStateMarkov().draw((0,), 4, 3))
    np.testing.assert_array_equal(markov.duration, whole.duration)
