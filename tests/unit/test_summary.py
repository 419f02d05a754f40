"""Statistics of which no iteration is kept: the bits of the timeline's, in memory that does not grow with length."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gcexp import summary as summary_module
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays import ShiftedExponential
from gcexp.errors import DecodingError, ParameterError
from gcexp.run.compose import compose
from gcexp.run.measured import TIMED, marks, summary_columns, timing_columns
from gcexp.run.stages import length_of, simulated, summarised
from gcexp.schemes import Deadline, Decodable, Fastest, Scheme
from gcexp.summary import RunningMean, summarise, summary_of
from gcexp.timeline import run_clock


@pytest.mark.parametrize("count", [1, 7, 8, 129, 8192, 8193, 20_011, 30_029, 45_678, 54_321, 99_990])
def test_running_mean_has_the_bits_of_numpy(count):
    draw = np.random.default_rng(count)
    values = draw.exponential(size=count + 5) * 10.0 ** draw.integers(-3, 4, count + 5)
    for cuts in ([], [1, 2, count // 2], range(0, count, max(1, count // 7))):
        mean = RunningMean(count)
        for piece in np.split(values, cuts):
            mean.add(piece)
        assert mean.value == values[:count].mean()
    assert np.isnan(RunningMean(3).value)


@pytest.mark.parametrize(
    "overrides",
    [
        "scheme=cgc n=10 s=3 delay=shifted_exponential",  # trusted
        "scheme=forget n=6 s=2 delay=pareto delay.persistence=3",
        "scheme=frc n=12 s=3 wait.s=6 exact=false",  # heard, not promised
        "scheme=random_regular n=8 s=3",  # decoded, a code for each seed
        "scheme=cyclic_two_message n=7 s=4 code.beta=5 wait.s=5",  # two messages, partial
        "scheme=cyclic_partial n=8 s=3 code.beta=6 wait.s=4",  # decoded, one code for all seeds
        "scheme=lb n=12 code.d=2 code.clusters=4 delay=markov",  # a bound
        "scheme=gc_dc n=12 code.d=2 code.clusters=4 delay=markov",  # seated
        "scheme=cgc n=6 s=2 late=finish overhead=0.5",  # carried from iteration to iteration
    ],
)
@pytest.mark.parametrize(("rows", "chunk"), [("seeds", 500), ("running", 500), ("seeds", 10_000)])
def test_columns_have_the_bits_of_the_timeline(monkeypatch, overrides, rows, chunk):
    monkeypatch.setattr("gcexp.timeline.CHUNK", chunk)  # some iterations of a seed, or several seeds
    monkeypatch.setattr("gcexp.timeline.CHUNK_SEATED", 900)
    monkeypatch.setattr(summary_module, "KNOWN", 2**8)  # 32 patterns of a word: forgotten and decoded again
    config = compose([*overrides.split(), "iterations=203", "seeds=3"])
    length = length_of(config)
    at = marks(length.iterations, rows)
    found = summary_columns(summarised(config, length, at), config, at)
    expected = timing_columns(simulated(config, length), config, rows)
    assert tuple(found) == tuple(expected) == TIMED[rows]
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_statistics_end_with_the_seed():
    timeline = run_clock(Scheme(Uncoded(4), Fastest(s=1)), ShiftedExponential(), (0, 1, 2), 50).until(20.0)
    assert len(set(timeline.steps)) > 1
    found = summary_of(timeline, bound=False, marks=(1, int(timeline.steps.max())))
    for i, steps in enumerate(timeline.steps):
        assert found.duration[i] == timeline.duration[i, :steps].mean()
        assert np.isnan(found.running[i, 1]) == (steps < timeline.steps.max())


def test_memory_does_not_grow_with_the_length():
    peaks = []
    for iterations in (20_000, 80_000):
        tracemalloc.start()
        summarise(Scheme(Uncoded(5), Fastest(s=2)), ShiftedExponential(), (0,), iterations, chunk=20_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


class Wrong(CyclicRepetition):
    """Decodes to twice what it promises."""

    def weights(self, responses):
        return 2 * super().weights(responses)


def test_a_sample_of_what_is_trusted_is_certified():
    decoded = []

    class Counting(CyclicRepetition):
        def weights(self, responses):
            decoded.append(responses)
            return super().weights(responses)

    summarise(Scheme(Counting(30, 4), Decodable()), ShiftedExponential(), (0,), 3000, chunk=600)
    patterns = np.concatenate(decoded)
    assert len(patterns) == 64 == len(np.unique(patterns, axis=0))
    with pytest.raises(DecodingError):
        summarise(Scheme(Wrong(8, 2), Decodable()), ShiftedExponential(), (0,), 30)


def test_refusals_are_those_of_the_clock():
    for play in (run_clock, summarise):
        with pytest.raises(ParameterError, match="is ever heard"):
            play(Scheme(Uncoded(3), Deadline(time=0.5)), ShiftedExponential(shift=1.0), (0,), 5)
        with pytest.raises(ParameterError, match="not finite"):
            play(Scheme(Uncoded(3), Decodable()), ShiftedExponential(mean=float("inf")), (0,), 5)
