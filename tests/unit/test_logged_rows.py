"""What makes workers slow is told by the rows that were logged; times of missing rows serve the clock alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import gcexp
from benchmarks.missing_rows import KINDS, WAYS, judged, times
from gcexp_adviser.diagnosis.barrier import barrier, stamped_after_waiting
from gcexp_adviser.diagnosis.check import report
from gcexp_adviser.diagnosis.level_changes import levels_of
from gcexp_adviser.diagnosis.logged import against_row, completed, median, two_way
from gcexp_adviser.diagnosis.mechanisms import found_in, resampled_variances, variance
from gcexp_adviser.diagnosis.phi import share_of_compute, share_of_loads
from gcexp_adviser.diagnosis.resampling import autocorrelation_time
from gcexp_adviser.diagnosis.slow_states import Chain, smoothed
from gcexp_adviser.diagnosis.trace_statistics import statistics


def noise(rows=200, n=8, seed=0):
    return np.random.default_rng(seed).normal(0, 0.1, (rows, n))


def with_gaps(x, share, seed=0):
    return np.where(np.random.default_rng([seed, 1]).random(x.shape) < share, np.nan, x)


def lost(kind, way, number):
    """Times of a cluster of `benchmarks.missing_rows`, and the same without the rows that are lost."""
    x = times(kind, number)
    missing = WAYS[way](x, np.random.default_rng([number, list(WAYS).index(way)]))
    return x, np.where(missing, np.nan, x)[~missing.all(axis=1)]


# --- Estimates --------------------------------------------------------------------------------------------------------


def test_effects_of_rows_and_workers_are_those_of_least_squares():
    y = with_gaps(noise(30, 5) + np.arange(5) + np.arange(30)[:, None] / 10, 0.4)
    means = two_way(y)
    row, worker = np.nonzero(~np.isnan(y))
    design = np.hstack([np.eye(30)[row], np.eye(5)[worker]])
    expected = design @ np.linalg.lstsq(design, y[row, worker])[0]
    fitted = means.by_row[:, None] + means.by_worker - means.mean
    np.testing.assert_allclose(fitted[row, worker], expected, atol=1e-9)
    np.testing.assert_allclose(two_way(completed(y)).by_row, means.by_row, atol=1e-9)
    y = y[~np.isnan(y).all(axis=1)]
    for axis in (0, 1):
        np.testing.assert_array_equal(median(y, axis=axis), np.nanmedian(y, axis=axis))


def test_the_scatter_of_a_workers_values_tells_how_sure_its_mean_is():
    """The variance of a worker's mean over many logs, and what one log says of it."""
    means, told = [], []
    for seed in range(300):
        own = against_row(with_gaps(noise(60, 4, seed), 0.4, seed))[:, 0]
        own = own[~np.isnan(own)]
        means.append(own.mean())
        told.append(own.var(ddof=1) / len(own))
    assert np.mean(told) == pytest.approx(np.var(means), rel=0.2)


def test_variances_are_those_of_the_whole_matrix():
    shared = np.random.default_rng(5).normal(0, 0.15, (300, 1))
    speeds = np.linspace(-0.3, 0.3, 8)
    for way in ("5 %", "40 %", "stretches"):
        y = noise(300) + shared + speeds
        missing = WAYS[way](y, np.random.default_rng(3))
        missing[missing.all(axis=1), 0] = False
        some = variance(np.where(missing, np.nan, y))
        assert some[:3] == pytest.approx(variance(y)[:3], rel=0.15)
    alike = [variance(with_gaps(noise(60, seed=seed), 0.4, seed)).icc for seed in range(40)]
    assert abs(np.mean(alike)) < 0.015
    y = with_gaps(y, 0.3)
    rows = np.random.default_rng(0).integers(300, size=(1, 300))
    (resampled,) = resampled_variances(y, rows)
    assert resampled.iteration == pytest.approx(variance(y[rows[0]]).iteration, rel=0.05)


def test_memory_is_that_of_the_pairs_that_are_there():
    draw = np.random.default_rng(2)
    series = np.zeros(4000)
    for t in range(1, len(series)):
        series[t] = 0.8 * series[t - 1] + draw.standard_normal()
    gaps = np.where(draw.random(len(series)) < 0.4, np.nan, series)
    assert autocorrelation_time(gaps) == pytest.approx(autocorrelation_time(series), rel=0.15)


def test_a_chain_goes_on_where_nothing_is_seen():
    y = np.random.default_rng(1).standard_normal((8, 1))
    y[[2, 3, 7]] = np.nan
    model = Chain(0.2, 0.3, 1.0, 0.5, 0.7, np.array([-0.3]))
    paths = np.array(list(itertools.product((0, 1), repeat=8)))
    step = np.array([[0.8, 0.2], [0.3, 0.7]])
    chance = np.array([0.6, 0.4])[paths[:, 0]] * step[paths[:, :-1], paths[:, 1:]].prod(1)
    laws = np.where(np.isnan(y), 1.0, norm.pdf(y, loc=[-0.3, 0.7], scale=[0.5, 0.7]))
    of_paths = chance * laws[np.arange(8), paths].prod(1)
    likelihood, slow, _ = smoothed(y, model)
    assert likelihood == pytest.approx(np.log(of_paths.sum()), abs=1e-12)
    assert slow[3, 0] == pytest.approx(of_paths[paths[:, 3] == 1].sum() / of_paths.sum(), abs=1e-12)


def test_phi_is_that_of_logged_rows():
    draw = np.random.default_rng(0)
    x = np.exp(0.1 * draw.standard_normal((60, 6)))
    compute = 0.7 * x
    gaps = with_gaps(x, 0.3)
    filled = np.where(np.isnan(gaps), 9.0, compute)  # nothing that a missing row was given counts
    phi, _ = share_of_compute(gaps, filled)
    assert phi.value == pytest.approx(0.3, abs=1e-9)
    loads = np.repeat([1.0, 0.5], 60)
    priced = np.vstack([x, 0.65 * x])
    phi, _ = share_of_loads(with_gaps(priced, 0.3), loads)
    assert phi.value == pytest.approx(0.3, abs=0.05)


def test_times_that_were_filled_do_not_look_as_if_they_had_waited():
    honest = np.exp(noise(60, 4))
    rank = honest.argsort(axis=1).argsort(axis=1)
    assert barrier(np.where(rank >= 2, np.nan, honest)) == ("", "")
    compute = np.exp(noise(60, 4, seed=1))
    gaps = with_gaps(honest + compute, 0.5)
    assert not stamped_after_waiting(gaps, np.where(np.isnan(gaps), 50.0, compute))
    waited = with_gaps(compute.max(1, keepdims=True) * np.exp(0.05 * noise(60, 4)), 0.3)
    assert stamped_after_waiting(waited, compute)


def test_statistics_are_those_of_logged_rows():
    x = np.exp(noise(300, 6) + np.linspace(0, 1, 6))
    whole, some = statistics(x), statistics(with_gaps(x, 0.2))
    for name in ("mean", "cov", "worker", "iteration", "rest", "max_over_median"):
        assert some[name] == pytest.approx(whole[name], rel=0.1, abs=0.05), name
    assert abs(some["lag1"]) < 0.1


# --- Findings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["5 %", "40 %", "stretches", "late ones"])
def test_the_rows_that_are_left_tell_what_the_whole_log_tells(kind, way):
    outcomes = [judged(lost(kind, way, number)[1], KINDS[kind][1]) for number in range(4)]
    assert sum(right for right, _ in outcomes) >= 3 or kind in ("noise", "heavy tails")
    assert sum(false for _, false in outcomes) <= 1


@pytest.mark.parametrize("way", ["20 %", "stretches"])
def test_the_numbers_are_those_of_the_whole_log(way):
    for kind, number in (
        ("slow worker", "factor"),
        ("correlated", "sd"),
        ("speeds", "sd"),
        ("spells", "p10"),
    ):
        whole, left = (found_in(x).mechanisms[KINDS[kind][1]].numbers[number] for x in lost(kind, way, 1))
        reach = (whole.high - whole.low) / 2
        assert left.value == pytest.approx(whole.value, abs=reach), kind


def test_a_change_is_told_with_its_iteration():
    y = with_gaps(noise(300), 0.3)
    y[150:, 5] += np.log(2)
    y[120:160, 2] = np.nan  # a stretch without rows is neither a spell nor a change
    (change,) = levels_of(y).changes
    assert change.worker == 5 and abs(change.row - 150) <= 5
    assert change.factor.low < 2 < change.factor.high
    (spell,) = levels_of(
        with_gaps(noise(300), 0.3) + (np.arange(300)[:, None] // 40 == 3) * np.eye(8)[1]
    ).spells
    assert spell.worker == 1 and abs(spell.first - 120) <= 3 and abs(spell.end - 160) <= 3


def test_what_missing_rows_are_priced_at_changes_nothing_that_is_found():
    x = lost("slow worker", "20 %", 0)[1]
    first, second = (gcexp.fit(x, absent="late", timeout=timeout) for timeout in (20.0, 200.0))
    assert first.found == ["bad_node"] and first.table.equals(second.table)
    assert (first.model, first.replay, first.held) == (second.model, second.replay, second.held)
    assert gcexp.advise(x, phi=0.5).diagnosis.found == ["bad_node"]
    assert "1.8" in report(x)


def test_where_rows_are_lost_later_and_later_it_is_not_sure_that_times_drift():
    x = lost("noise", "timeout falls", 0)[1]
    found = found_in(x)
    assert "drift" in found.unsure and "drift" not in found.found
    assert "rows are missing" in " ".join(gcexp.fit(x).page().notes)
    drifting = times("noise", 0) * np.exp(np.linspace(0, 0.3, 200))[:, None]
    assert "drift" in found_in(with_gaps(drifting, 0.2)).found


def test_rows_without_their_latest_workers_are_alike_by_that_alone():
    x = times("noise", 0)
    x[x.argsort(axis=1).argsort(axis=1) >= 4] = np.nan
    assert "common_shock" not in found_in(x).found
    assert "latest of their iterations" in found_in(x).unsure["common_shock"]
    assert "common_shock" in found_in(x, are_sampled=True).found  # then it is no choice of the latest
    assert "common_shock" in found_in(lost("correlated", "last ones", 0)[1]).found


def test_too_few_rows_are_told():
    x = times("slow worker", 0)
    x[12:, 5] = np.nan
    found = gcexp.fit(x)
    assert found.found == ["gone", "bad_node"] and "few_rows" in found.unsure
    assert "workers with too few rows (5)" in found.page().text()
    assert "worker 5 has no row since iteration 12" in found.sentences[0]


def test_a_worker_that_is_gone_is_no_worker_that_is_slow():
    x = times("noise", 0)
    x[130:, 2] = np.nan
    found = gcexp.fit(x)
    assert found.found == ["gone"] and found.levels.now == 130
    advice = gcexp.advise(x, phi=0.5)
    assert any("since iteration 130" in told for told in advice.sentences)


def test_a_worker_without_a_row_at_the_own_load_is_refused(refused):
    x = times("noise", 0)
    loads = np.where(np.random.default_rng(0).random(len(x)) < 0.3, 0.5, 1.0)
    x[loads == 1.0, 4] = np.nan
    row, worker = np.nonzero(~np.isnan(x))
    log = {"iteration": row, "worker": worker, "time": x[row, worker], "load": loads[row]}
    refused(("worker 4", "load 1"), gcexp.fit, pd.DataFrame(log))
