"""Draws, their price, and the timeline and statistics that they give, also in chunks that need little memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gcexp import summary as summary_module
from gcexp.codes import (
    CyclicPartialRecovery,
    CyclicRepetition,
    CyclicTwoMessage,
    FractionalRepetition,
    Uncoded,
)
from gcexp.delays import ComputeTransmit, Draws, Pareto, ShiftedExponential, TwoStateMarkov
from gcexp.errors import DecodingError, ParameterError
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.measured import TIMED, marks, summary_columns, timing_columns
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Deadline, Decodable, Fastest, Scheme
from gcexp.schemes.survivors import distinct
from gcexp.summary import RunningMean, summarise, summary_of
from gcexp.timeline import joined, run_clock, simulate
from tests.conftest import refusals

SEEDS = (0, 1)


# --- Draws


def test_laws():
    pareto = Pareto(2.0, 3.0).draw(SEEDS, 4000, 3).arrival(0, 1).ravel()
    assert stats.kstest(pareto, stats.pareto(3.0, scale=2.0).cdf).pvalue > 1e-3
    shifted = ShiftedExponential(0.5, 2.0).draw(SEEDS, 4000, 3).arrival(0, 1).ravel()
    assert stats.kstest(shifted, stats.expon(0.5, 2.0).cdf).pvalue > 1e-3


def test_workers_and_seeds_are_independent():
    X = ShiftedExponential().draw(SEEDS, 4000, 3).arrival(0, 1)
    correlations = np.corrcoef(np.moveaxis(X, 1, 0).reshape(4000, -1).T)
    assert np.abs(correlations - np.eye(6)).max() < 0.06


def test_a_draw_is_kept_for_its_persistence_and_then_drawn_again():
    X = Pareto(persistence=10).draw(SEEDS, 25, 4).arrival(0, 1)
    kept = np.repeat(X[:, [0, 10, 20]], [10, 10, 5], axis=1)
    assert (X == kept).all() and (np.diff(X[:, [0, 10, 20]], axis=1) != 0).all()


def test_scalings_price_the_load():
    laws = (Pareto(1.0, 2.0, scaling=scaling, data_time=3.0) for scaling in ("data", "server"))
    data, server = (law.draw((0,), 4, 2) for law in laws)
    X = data.arrival(0, 1)
    assert np.allclose(data.arrival(0.25, 1), X + 0.75)
    assert np.allclose(server.arrival(0.25, 1), 0.25 * (3.0 + X))


def test_the_two_parts_are_independent_and_priced_apart():
    draws = ComputeTransmit(0, 1, 0, 1).draw((0,), 2000, 2)
    assert abs((draws.compute * draws.transmit).mean() - 1) < 0.1
    assert (draws.arrival(0.5, 0.25) == 0.5 * draws.compute + 0.25 * draws.transmit).all()


test_what_makes_no_sense_is_refused = refusals(
    (lambda: Pareto(scale=0), "scale"),
    (lambda: Pareto(shape=-1), "shape"),
    (lambda: Pareto(data_time=-1), "data_time"),
    (lambda: Pareto(persistence=0), "persistence"),
    (lambda: Pareto(scaling="serve"), "'server'"),
    (lambda: ShiftedExponential(shift=-1), "shift"),
    (lambda: ShiftedExponential(mean=0), "mean"),
    (lambda: ComputeTransmit(compute_shift=-1), "compute_shift"),
    (lambda: ComputeTransmit(transmit_mean=-1), "transmit_mean"),
    (lambda: Pareto().draw((0,), 0, 3), "iteration"),
    (lambda: Pareto().draw((-1,), 1, 3), "-1"),
    (lambda: Scheme(Uncoded(4), Fastest(s=1), -1.0), "overhead"),
    (lambda: simulate(Scheme(Uncoded(4), Fastest(s=1)), Pareto().draw(SEEDS, 2, 3)), "3 workers"),
)


# --- Waiting


def test_fastest_waits_for_all_messages_of_a_worker():
    code = CyclicTwoMessage(n=10, s=4, beta=7)
    _, responses = Fastest(s=4).stop(code, lambda: np.arange(10.0)[None, None])
    assert responses.tolist() == [[[2] * 6 + [0] * 4]]


# --- Timelines


@given(st.integers(1, 3), st.integers(1, 70), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_distinct_is_numpy_unique(levels, n, seed):
    responses = np.random.default_rng(seed).integers(0, levels + 1, (3, 4, n)).astype(np.int16)
    responses[1] = responses[0]
    rows, which = distinct(responses)
    assert (rows[which] == responses).all() and len(rows) == len(np.unique(responses.reshape(-1, n), axis=0))


def test_a_horizon_cuts_each_seed_after_the_iteration_that_reaches_it():
    whole = simulate(Scheme(Uncoded(4), Fastest(s=1)), Pareto().draw((0, 1, 2), 40, 4))
    cut = whole.until(20.0)
    for s in range(3):
        before, after = whole.clock[s, cut.steps[s] - 2], whole.clock[s, cut.steps[s] - 1]
        assert before < 20.0 <= after
    assert cut.ran.sum() == cut.steps.sum() and cut.duration.shape[1] == cut.steps.max()
    assert (whole.until(1e9).steps == 40).all()
    with pytest.raises(ParameterError, match="horizon"):
        whole.until(0)


def test_joined_timelines_keep_their_codes_apart():
    codes = {0: FractionalRepetition(6, 2), 1: FractionalRepetition(6, 3)}
    parts = [simulate(Scheme(c, Fastest(s=4)), Pareto().draw((s,), 20, 6)) for s, c in codes.items()]
    both = joined(parts)
    for s, part in enumerate(parts):
        assert (both.coefficients[both.pattern[s]] == part.coefficients[part.pattern[0]]).all()
        assert (both.duration[s] == part.duration[0]).all()
    assert both.seeds.tolist() == [0, 1]


def test_a_timeline_is_written_whole(tmp_path):
    """The steps that were cut off by a horizon, and tables of 0 and 1, which are stored as bits."""
    scheme = Scheme(CyclicPartialRecovery(6, 3, 4), Fastest(s=3))
    timeline = simulate(scheme, Pareto().draw(SEEDS, 9, 6)).until(5.0)
    timeline.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as stored:
        for name, values in vars(timeline).items():
            if values is None:  # it has no such field
                assert name not in stored
                continue
            found = stored[name]
            if f"{name}_columns" in stored:
                found = np.unpackbits(found, axis=1, count=int(stored[f"{name}_columns"]))
            np.testing.assert_array_equal(found, values, err_msg=name)


def test_a_zero_part_is_not_added():
    draws = Draws((0,), (1, 2, 3), start=np.ones(3))
    assert (draws.arrival(load=np.nan, length=np.nan) == 1).all()
    assert (replace(draws, transmit=2.0).arrival(load=0, length=0.5) == 2).all()


# --- In chunks

CLUSTERED = "n=12 code.d=2 code.clusters=4 delay=markov"
RUNS = [
    "scheme=cgc n=10 s=3 delay=shifted_exponential",  # trusted
    "scheme=cgc n=6 s=2 late=finish overhead=0.5",  # carried from iteration to iteration
    "scheme=cgc n=200 s=2 delay=shifted_exponential late=finish",
    "scheme=cgc n=6 s=2 delay=shifted_exponential delay.scaling=server",
    "scheme=forget n=6 s=2 delay=pareto delay.persistence=3",
    "scheme=forget n=200 s=20 delay=pareto delay.persistence=3",
    "scheme=forget n=6 s=2 delay=epochs delay.p=0.4",
    "scheme=frc n=12 s=3 wait.s=6 exact=false",  # heard, not promised
    "scheme=random_regular n=8 s=3 delay=pareto overhead=0.5",  # decoded, a code for each seed
    "scheme=cyclic_two_message n=7 s=4 code.beta=5 wait.s=5",  # two messages, partial
    "scheme=cyclic_two_message n=7 s=4 code.beta=5 delay=compute_transmit delay.persistence=2",
    "scheme=cyclic_partial n=8 s=3 code.beta=6 wait.s=4",  # decoded, one code for all seeds
    f"scheme=lb {CLUSTERED} delay.spread=0.3",  # a bound
    f"scheme=gc_dc {CLUSTERED}",  # seated
    f"scheme=gc_dc {CLUSTERED} delay.load_model=sum",
    f"scheme=gc_dc {CLUSTERED} placement.observe=perfect",
    f"scheme=gc_dc {CLUSTERED} placement.observe=arrival delay.initial_slow=4",
    f"scheme=gc_dc {CLUSTERED} placement.observe=censored placement.threshold=0.9",
    f"scheme=gc_dc {CLUSTERED} placement.observe=arrival late=finish",
    f"scheme=gc_sc {CLUSTERED} late=every",
    f"scheme=gc_sc {CLUSTERED} late=chunk",
]
each_run = pytest.mark.parametrize("overrides", RUNS)


@each_run
def test_the_same_bits_in_chunks_of_any_size(overrides):
    config = compose(overrides.split())
    scheme, delay = build_scheme(config, 0), build(config, "delay")
    seeds, n = (0, 3, 5), scheme.code.n
    iterations = 600 if n == 200 else 17  # or as many as are not played at once
    whole = run_clock(scheme, delay, seeds, iterations, 10**9)
    found = [run_clock(scheme, delay, seeds, iterations, m * n + 1) for m in (0, 2, 5, 2 * iterations)]
    for pieces in (simulate(scheme, delay.draw(seeds, iterations, n)), *found):
        for name, values in vars(whole).items():
            np.testing.assert_array_equal(getattr(pieces, name), values, err_msg=name, strict=True)
    alone = run_clock(scheme, delay, seeds[1:2], iterations)
    np.testing.assert_array_equal(alone.duration[0], whole.duration[1])


HOW_CUT = [("seeds", 500), ("running", 500), ("seeds", 10_000)]
# Each run in one way. FRC is cut within seeds: its rarest pattern is in an early chunk, and the least share is kept.
PAIRED = [(run, *HOW_CUT[(place + 2) % len(HOW_CUT)]) for place, run in enumerate(RUNS)]


@pytest.mark.parametrize(("overrides", "rows", "chunk"), PAIRED)
def test_statistics_of_which_no_iteration_is_kept_have_the_bits_of_the_timeline(
    monkeypatch, overrides, rows, chunk
):
    monkeypatch.setattr("gcexp.timeline.chunks.CHUNK", chunk)  # some iterations of a seed, or several seeds
    monkeypatch.setattr("gcexp.timeline.chunks.CHUNK_SEATED", 900)
    monkeypatch.setattr(summary_module, "KNOWN", 2**8)  # 32 patterns of a word: forgotten and decoded again
    run = Run.of([*overrides.split(), "iterations=203", "seeds=3"], trains=False)
    at = marks(run.iterations, rows)
    found = summary_columns(run, run.summary(at), at)
    expected = timing_columns(run, run.clock(), rows)
    assert tuple(found) == tuple(expected) == TIMED[rows]
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


def test_which_patterns_are_decoded_anew_does_not_depend_on_the_chunks(monkeypatch):
    monkeypatch.setattr(summary_module, "SAMPLE", 5)
    rows = np.arange(60).reshape(30, 2)

    def sample(chunks):
        summed = summary_module._SummaryInTurn(Scheme(Uncoded(2), Fastest(s=0)), (0,), len(rows), ())
        for chunk in np.array_split(rows, chunks):
            summed._sample_promised(chunk, np.ones(len(chunk), bool))
        return np.array(summed._sample)

    np.testing.assert_array_equal(sample(1), sample(6))


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


def test_statistics_end_with_the_seed():
    timeline = run_clock(Scheme(Uncoded(4), Fastest(s=1)), ShiftedExponential(), (0, 1, 2), 50).until(20.0)
    assert len(set(timeline.steps)) > 1
    found = summary_of(timeline, decodes=True, marks=(1, int(timeline.steps.max())))
    for i, steps in enumerate(timeline.steps):
        assert found.duration[i] == timeline.duration[i, :steps].mean()
        assert np.isnan(found.running[i, 1]) == (steps < timeline.steps.max())


@pytest.mark.parametrize(
    ("play", "scheme", "shorter", "growth"),
    [
        # Bytes of an iteration: duration, word of who was heard, pattern; and as much again to sort.
        (run_clock, Scheme(Uncoded(50), Fastest(s=49)), 2_000, 4 * (8 + 8 + 8)),
        (summarise, Scheme(Uncoded(5), Fastest(s=2)), 20_000, 1),
    ],
)
def test_memory_does_not_grow_with_the_length(play, scheme, shorter, growth):
    """Two runs, one four times as long: what is kept of an iteration, not what it takes to play it."""
    peaks = []
    for iterations in (shorter, 4 * shorter):
        tracemalloc.start()
        play(scheme, ShiftedExponential(), (0,), iterations, chunk=20_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 3 * shorter * growth


@dataclass(frozen=True)
class Whole:
    """A model from outside that draws in one piece only."""

    def draw(self, seeds, iterations, n):
        start = np.arange(n) + np.arange(iterations)[:, None] + 1.0
        return Draws(seeds, (len(seeds), iterations, n), start=start)


@dataclass(frozen=True)
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


class Counting(CyclicRepetition):
    """Keeps the patterns that it decodes, and gets all of them wrong if asked to."""

    factor = 1

    def __init__(self, n, s):
        super().__init__(n, s)
        self.decoded = []

    def weights(self, responses):
        self.decoded.extend(map(tuple, responses))
        return self.factor * super().weights(responses)


def test_a_clock_decodes_what_is_not_promised_and_certifies_a_sample_of_what_is():
    for wait, known in ((Decodable(), True), (Fastest(s=4), False)):
        code = Counting(n=20, s=3)
        timeline = run_clock(Scheme(code, wait), ShiftedExponential(), (0,), 1000)
        count = len(timeline.patterns)
        assert count > 500 and len(code.decoded) == (64 if known else count)
        assert np.isfinite(timeline.residual).sum() == len(code.decoded)
        expected = CyclicRepetition(n=20, s=3).decode(timeline.patterns, partial=True).coefficients
        assert (timeline.coefficients == expected).all()
    code = Counting(30, 4)
    summarise(Scheme(code, Decodable()), ShiftedExponential(), (0,), 3000, chunk=600)
    assert len(code.decoded) == 64 == len(set(code.decoded))
    code.factor = 2
    for play in (run_clock, summarise):
        with pytest.raises(DecodingError):
            play(Scheme(code, Decodable()), ShiftedExponential(), (0,), 200)


def test_refusals_are_those_of_the_clock():
    for play in (run_clock, summarise):
        with pytest.raises(ParameterError, match="is ever heard"):
            play(Scheme(Uncoded(3), Deadline(time=0.5)), ShiftedExponential(shift=1.0), (0,), 5)
        with pytest.raises(ParameterError, match="not finite"):
            play(Scheme(Uncoded(3), Decodable()), ShiftedExponential(mean=float("inf")), (0,), 5)
