"""Draws, their price, waiting rules and the timeline they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gcexp.codes import CyclicPartialRecovery, CyclicTwoMessage, FractionalRepetition, Uncoded
from gcexp.delays import ComputeTransmit, Draws, Pareto, ShiftedExponential
from gcexp.errors import ParameterError
from gcexp.schemes import Fastest, Scheme
from gcexp.schemes.survivors import distinct
from gcexp.timeline import joined, simulate

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
    assert (
        (X[:, :10] == X[:, :1]).all()
        and (X[:, 10:20] == X[:, 10:11]).all()
        and (X[:, 20:] == X[:, 20:21]).all()
    )
    assert (X[:, 9] != X[:, 10]).all() and (X[:, 19] != X[:, 20]).all()


def test_scalings_price_the_load():
    data, server = (
        Pareto(1.0, 2.0, scaling=scaling, data_time=3.0).draw((0,), 4, 2) for scaling in ("data", "server")
    )
    X = data.arrival(0, 1)
    assert np.allclose(data.arrival(0.25, 1), X + 0.75)
    assert np.allclose(server.arrival(0.25, 1), 0.25 * (3.0 + X))


def test_the_two_parts_are_independent_and_priced_apart():
    draws = ComputeTransmit(0, 1, 0, 1).draw((0,), 2000, 2)
    assert abs((draws.compute * draws.transmit).mean() - 1) < 0.1
    assert (draws.arrival(0.5, 0.25) == 0.5 * draws.compute + 0.25 * draws.transmit).all()


def test_bad_delay_parameters():
    for build, named in (
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
    ):
        with pytest.raises(ParameterError, match=named):
            build()


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
    timeline = simulate(
        Scheme(CyclicPartialRecovery(6, 3, 4), Fastest(s=3)), Pareto().draw(SEEDS, 9, 6)
    ).until(5.0)
    timeline.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as stored:
        for name, values in vars(timeline).items():
            found = stored[name]
            if f"{name}_columns" in stored:
                found = np.unpackbits(found, axis=1, count=int(stored[f"{name}_columns"]))
            np.testing.assert_array_equal(found, values, err_msg=name)


def test_draws_for_other_workers_are_refused():
    with pytest.raises(ParameterError, match="3 workers"):
        simulate(Scheme(Uncoded(4), Fastest(s=1)), Pareto().draw(SEEDS, 2, 3))


def test_a_zero_part_is_not_added():
    draws = Draws((0,), (1, 2, 3), start=np.ones(3))
    assert (draws.arrival(load=np.nan, length=np.nan) == 1).all()
    assert (replace(draws, transmit=2.0).arrival(load=0, length=0.5) == 2).all()
