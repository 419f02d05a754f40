"""Changes of level of one worker and spells: found where they are, and what advice makes of them."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import gcexp
from benchmarks.level_changes import NOISES, logs
from gcexp.command import main
from gcexp_adviser.diagnosis.level_changes import levels_of
from gcexp_adviser.diagnosis.recorded import LEFT_OUT
from gcexp_adviser.diagnosis.resampling import ratio_interval
from gcexp_adviser.remedies.advice_in_words import told as verdict_of
from gcexp_adviser.remedies.verdict import Comparison

LATER = "they took a quarter longer than they did at least"
HONEST = [kind for kind in NOISES if kind != "slow state"]


@pytest.mark.parametrize("kind", HONEST)
def test_no_change_is_told_where_there_is_none(kind):
    for seed in range(4):
        found = levels_of(logs(kind, 200, 8, np.random.default_rng([seed, 5])))
        assert found.changes == found.spells == () and found.now == 0


@pytest.mark.parametrize("seed", [18, 47])
def test_spells_that_happen_to_come_often_at_the_end_are_no_change(seed):
    """A worker is slow in half of the last 160 rows, and at its usual level in between."""
    y = logs("slow state", 1000, 8, np.random.default_rng([901, seed, 1000, 8]))
    assert levels_of(y).changes == ()


def test_a_long_spell_at_the_end_is_no_change():
    """A trace with hundreds of spells of 10 rows on the mean has one of 84 rows now and then."""
    y = logs("slow state", 1000, 16, np.random.default_rng([901, 1, 1000, 16]))
    y[:, 3] = logs("noise", 1000, 1, np.random.default_rng(0))[:, 0]
    y[916:, 3] += np.log(3)
    assert levels_of(y).changes == ()
    y[700:, 3] = y[:300, 3] + np.log(3)
    (change,) = levels_of(y).changes
    assert change.worker == 3 and abs(change.row - 700) <= 5


@pytest.mark.parametrize(("factor", "row"), [(1.5, 20), (3, 100), (10, 180), (1 / 3, 60)])
def test_a_change_is_told_with_its_row_and_factor(factor, row):
    y = logs("memory", 200, 8, np.random.default_rng(3))
    y[row:, 2] += np.log(factor)
    (change,) = levels_of(y).changes
    assert change.worker == 2 and abs(change.row - row) <= 5
    assert change.factor.low < change.factor.value < change.factor.high
    assert change.factor.value == pytest.approx(factor, rel=0.1)
    assert levels_of(y).now == (change.row if row <= 160 else 0)


def test_a_change_back_is_a_spell():
    y = logs("noise", 300, 8, np.random.default_rng(0))
    y[80:120, 3] += np.log(3)
    found = levels_of(y)
    (spell,) = found.single_spells
    assert (found.changes, spell.worker, spell.first, spell.end) == ((), 3, 80, 120)
    assert spell.factor == pytest.approx(3, rel=0.05)
    assert found.passing[100, 3] == pytest.approx(np.log(spell.factor)) and found.passing[120, 3] == 0


def times(seed=5):
    return np.exp(0.1 * np.random.default_rng(seed).standard_normal((300, 10)))


def frame(x):
    rows, n = x.shape
    worker = np.tile(np.arange(n), rows)
    return pd.DataFrame({"iteration": np.repeat(np.arange(rows), n), "worker": worker, "time": x.ravel()})


def test_what_holds_now_is_answered_first():
    x = times()
    x[22:, 6] *= 12
    advice, fit = gcexp.advise(x, phi=0.5), gcexp.fit(x)
    for told in (str(advice), str(fit)):
        assert "worker 6 has been 12.1 times slower since iteration 22" in told and "throughout" not in told
    assert advice.since == 22 and "worker 6" in advice.sentence
    assert "On all 300 iterations" in str(advice)
    assert (
        repr(advice).startswith("<Advice for array: rebalance")
        and repr(fit) == "<Fit of array: level_change>"
    )


def test_one_burst_neither_hides_what_is_certain_nor_decides():
    x = times()
    x[:, 6] *= 1.6
    x[80:120, 3] *= 3
    advice = gcexp.advise(x, phi=0.5)
    assert advice.diagnosis.found == ["bad_node"]
    assert advice.diagnosis.mechanisms["bad_node"].workers == (6,)
    assert np.flatnonzero(advice.main.plan.shares == 0).tolist() == [6]
    assert advice.ratio == pytest.approx(0.768, abs=0.015)
    (second,) = [told for told in advice.sentences if told.startswith("Second")]
    assert "excluding worker 3 as well" in second and "one spell of 40 iterations" in second


def test_both_halves_must_ask_for_an_exclusion():
    x = times()
    x[:150:2, 1] *= 2  # every other row of the first half: no level that lasts
    x[:, 4] *= 4
    compared = Comparison(x)
    for both_halves, excluded in ((True, [4]), (False, [1, 4])):
        plan = compared.answer(0.5, both_halves).plan
        assert np.flatnonzero(plan.shares == 0).tolist() == excluded


def test_missing_rows_are_late_and_the_first_sentence_says_when_that_decides():
    x = times()
    x[:, 2] *= 1.9
    worst = np.where(x >= np.quantile(x, 0.95), np.nan, x)
    advice = gcexp.advise(worst, phi=0.5)
    assert advice.verdict == "rebalance"
    assert any("150 rows are missing" in told for told in advice.sentences)
    y = times()
    y[y > np.quantile(y, 0.97)] = np.nan
    decided = gcexp.advise(y, phi=0.0, timeout=30.0)
    assert decided.verdict != decided.without_missing.verdict
    assert "depends on that" in decided.sentences[0]


def test_a_verdict_for_one_phi_is_not_that_for_a_range_of_them():
    x = times()
    x[:, 2] *= 1.9
    known, other, unknown = (gcexp.advise(x, phi=phi) for phi in (0.5, 0.4, None))
    assert known.verdict == other.verdict == "rebalance" and unknown.verdict == "depends on phi"
    assert verdict_of(known).verdict == verdict_of(other).verdict != verdict_of(unknown).verdict
    below_a_half = gcexp.advise(x, phi=(0.0, 0.5))
    assert (
        below_a_half.verdict == "rebalance" and verdict_of(known).verdict == verdict_of(below_a_half).verdict
    )
    assert verdict_of(unknown).verdict != verdict_of(gcexp.advise(x, phi=(0.5, 1.0))).verdict


def test_missing_rows_are_priced_in_several_ways_and_found_in_none():
    x = times()
    x[:150, 2] = np.where(np.arange(150) % 3 == 0, np.nan, x[:150, 2])
    fit, advice = gcexp.fit(x), gcexp.advise(x, phi=0.5)
    assert set(advice.otherwise) == {LATER, LEFT_OUT}
    assert fit.found == ["no_mechanism"] == advice.diagnosis.found
    assert any("told by the rows that were logged alone" in note for note in fit.page().notes)


def test_a_name_with_a_space_and_a_quote_is_printed_as_it_can_be_typed(here, capsys, monkeypatch):
    monkeypatch.setattr("gcexp_adviser.page.files.drawn", lambda picture: b"")  # other tests look at it
    x = times()[:60, :6]
    x[:, 5] *= 1.6
    name = "node 6's.csv"
    frame(x).to_csv(name, index=False)
    assert main.main(["advise", name, "phi=0.5", "--write", "advised.yaml", "-o", "out"]) == 0
    out = capsys.readouterr().out.splitlines()
    shown = [shlex.split(line[line.index("gcexp ") :]) for line in out if "gcexp " in line]
    assert ["gcexp", "benchmark", name] in shown
    (run,) = [words for words in shown if words[:2] == ["gcexp", "run"]]
    played = [word for word in run[2:] if not word.startswith("scheme=")]
    told = json.loads((here / "out" / "advice.json").read_text())
    code = [word for word in told["scheme"] if word not in played]
    table = gcexp.simulate(*code, *played, iterations=60, seeds=1, progress=False)
    assert table["mean_iteration_time_s"][0] == pytest.approx(told["mean_as_written"], rel=1e-9)
    page = (here / "out" / "advice.html").read_text()
    assert page.count("data:image/png;base64,") == 2 and "What cannot be said" in page
    headings = [line for line in out if line.endswith(":") and line.startswith("What ")]
    assert headings == [
        "What was read:",
        "What makes workers slow:",
        "What to set:",
        "What cannot be said, and what would tell:",
    ]


def test_an_interval_of_a_ratio_is_positive():
    draw = np.random.default_rng(0)
    waiting = draw.pareto(1.1, 30) + 1
    low, high, _ = ratio_interval(waiting * draw.random(30) ** 4, waiting)
    assert 0 < low < high


def test_a_deadline_in_another_unit_is_said():
    times_in_ms = 1000 * times()[:100]
    deadline = {"scheme": "uncoded", "wait": "deadline", "wait.time": 900, "exact": False}
    table = gcexp.benchmark(times_in_ms, ["wait for all", deadline], [0.0], progress=False)
    notes = table.attrs["notes"]
    assert not any("heard" in note for note in notes)
    times_in_ms[20:] *= 5
    with pytest.warns(UserWarning, match="heard"):
        table = gcexp.benchmark(times_in_ms, ["wait for all", deadline], [0.0], progress=False)
    notes = table.attrs["notes"]
    assert any("heard" in note for note in notes)


def test_a_burst_that_ends_shortly_before_the_trace_does_is_a_spell():
    y = logs("noise", 300, 8, np.random.default_rng(1))
    y[237:297, 2] += np.log(3)
    found = levels_of(y)
    assert found.changes == () and [(one.first, one.end) for one in found.spells] == [(237, 297)]


def test_no_remedy_against_a_worker_that_has_just_recovered():
    x = np.tile(times(), (3, 1))
    x[:865, 2] *= 3
    advice = gcexp.advise(x, phi=0.5)
    (change,) = advice.diagnosis.levels.recent
    assert (change.worker, change.row, advice.verdict) == (2, 865, "not enough data")
    assert "recovered" in advice.main.reason and advice.scheme is None
