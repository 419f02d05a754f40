"""Iterations at several loads: the own load says who is slow, and the others tell phi only, in every command."""

import json

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.delays import Trace
from gcexp.delays.trace_loads import loads_of, own_load
from gcexp_adviser.diagnosis.check import report
from gcexp_adviser.diagnosis.recorded import recorded
from gcexp_adviser.logs.reading import trace_of

PHI = 0.4


def times(rows, loads, seed=0, n=6):
    """Times of n workers at some loads, one of them half as slow again, with slow moments of all; and the loads."""
    draw = np.random.default_rng(seed)
    of_rows = np.repeat(loads, rows)
    noise = np.exp(0.05 * draw.standard_normal((len(of_rows), n)))
    noise[draw.random(noise.shape) < 0.03] *= 2
    noise[:, 3] *= 1.5
    return noise * (PHI + (1 - PHI) * of_rows)[:, None], of_rows


def frame(x, loads):
    """A frame as a person has it."""
    rows, n = x.shape
    return pd.DataFrame(
        {
            "iteration": np.repeat(np.arange(rows), n),
            "worker": np.tile(np.arange(n), rows),
            "time": x.ravel(),
            "load": np.repeat(loads, n),
        }
    )


@pytest.fixture
def two_loads(here):
    """300 iterations at load 1 and 20 at load 0.5 as a file, and the times of those at load 1."""
    x, loads = times([300, 20], [1.0, 0.5])
    frame(x, loads).to_csv("two.csv", index=False)
    return "two.csv", x[:300]


@pytest.mark.parametrize(
    ("rows", "loads", "own"),
    [
        ([300, 20], [1.0, 0.5], 1.0),
        ([20, 300], [1.0, 0.5], 1.0),  # 1 is the own load wherever it occurs
        ([10, 300], [2.0, 4.0], 4.0),
        ([300, 10], [2.0, 4.0], 2.0),
        ([20, 20], [2.0, 4.0], 4.0),  # never simply the smallest
        ([300, 10], [0.0, 0.5], 0.5),  # without work there is no load of one's own
        ([5], [32.0], 32.0),
        ([5, 5], [0.1 + 0.2, 0.7 + 0.1 + 0.2], 1.0),
    ],
)
def test_the_own_load_is_one_or_that_of_most_iterations(rows, loads, own):
    x, of_rows = times(rows, loads)
    found = loads_of(trace_of(frame(x, of_rows)))
    assert own_load(of_rows.round(9)) == found.own == own
    assert found.own_rows.tolist() == np.flatnonzero(np.isclose(of_rows, own)).tolist()
    assert sum(found.counts.values()) == sum(rows) and next(iter(found.counts)) == own


def test_advice_rests_on_the_own_load_and_the_others_tell_phi(two_loads, monkeypatch):
    monkeypatch.setattr("gcexp_adviser.page.files.drawn", lambda picture: b"")  # other tests look at it
    file, whole = two_loads
    advice, fit = gcexp.advise(file), gcexp.fit(file)
    assert advice.main.phi == pytest.approx(PHI, abs=0.02) and advice.measured
    assert fit.phi == advice.recorded.phi and fit.phi.low < PHI < fit.phi.high
    assert np.array_equal(advice.recorded.every, whole) and np.array_equal(fit.recorded.every, whole)
    known = gcexp.advise(whole, phi=advice.main.phi)
    assert advice.main.pick.ratio == known.main.pick.ratio and advice.main.bound == known.main.bound
    assert fit.worker_effect.tolist() == gcexp.fit(whole).worker_effect.tolist()
    mean = f"{whole.max(1).mean():.4g}"
    told = advice.page().text()
    assert (
        f"rest on its 300 iterations; 20 iterations at load 0.5 serve phi only. Waiting for all takes {mean}"
        in told
    )
    assert f"phi at load 1 was measured in this trace: {advice.recorded.phi}." in told
    assert (
        f"phi at load 1, the share of the time that does not grow with the load: {fit.phi}."
        in fit.page().text()
    )
    facts = json.loads(advice.write("out")[0].read_text())
    assert (facts["own_load"], facts["iterations_by_load"]) == (1.0, {"1": 300, "0.5": 20})
    assert facts["iterations"] == 300 and facts["mean_as_written"] == pytest.approx(advice.mean_as_written)


def test_advice_as_written_is_replayed_at_the_own_load(two_loads):
    file, whole = two_loads
    advice = gcexp.advise(file, late="every")
    overrides = dict(one.split("=", 1) for one in advice.scheme)
    mean = gcexp.simulate(**overrides, iterations=len(whole), seeds=1, progress=False)[
        "mean_iteration_time_s"
    ][0]
    assert mean == pytest.approx(advice.mean_as_written, rel=1e-12)


def test_the_replay_is_that_of_the_own_load(two_loads, refused):
    file, whole = two_loads
    keys = {"scheme": "uncoded", "n": 6, "iterations": 300, "seeds": 1, "progress": False}
    for delay in ({"delay": "trace", "delay.file": file}, {"delay": pd.read_csv(file)}):
        mean = gcexp.simulate(**keys, **delay)["mean_iteration_time_s"][0]
        assert mean == pytest.approx(whole.max(1).mean(), rel=1e-12)
    trace = Trace(file)
    assert np.allclose(trace.draw((0,), 300, 6).arrival(1 / 6, 1)[0], whole, rtol=1e-12)
    assert (trace.wraps(300), trace.wraps(301)) == (0, 1)
    refused(("row 305", "load 0.5"), Trace(file, rows=[4, 305]).draw, (0,), 1, 6)
    schemes = ["wait for all", "cyclic, s = 1", "bound: any loads up to 2"]
    tables = [gcexp.benchmark(source, schemes, [0.0, PHI], progress=False) for source in (file, whole)]
    numbers = [table.select_dtypes("number").drop(columns="chunks", errors="ignore") for table in tables]
    pd.testing.assert_frame_equal(*numbers)
    assert tables[0].attrs["rows"] == 270 and "load 0.5 serve phi" in tables[0].attrs["notes"][0]


def test_check_takes_no_schedule_of_loads_for_drift(capsys):
    x, loads = times([100, 100], [1.0, 0.5])
    assert "all times fall over the run" in report(trace_of(x))
    told = report(trace_of(frame(x, loads)))
    assert "over the run" not in told
    assert "100 iterations at load 0.5 serve phi only" in told and f"mean {x[:100].mean():.6g}" in told
    assert report(trace_of(frame(x, np.full(200, 8.0)))).count("loads:") == 1
    told = report(trace_of(frame(x, loads).assign(compute=0.1)))
    assert "delay.pricing" not in told and "phi at load 1" in told


def test_chunks_have_loads_as_well(refused):
    x, loads = times([60, 20], [1.0, 0.5])
    halves = [frame(x / 2, loads).assign(chunk=chunk) for chunk in (0, 1)]
    table = pd.concat(halves)
    trace = trace_of(table)
    assert loads_of(trace).counts == {1.0: 60, 0.5: 20}
    assert np.allclose(recorded(table).every, x[:60]) and recorded(table).chunks.shape == (60, 6, 2)
    assert np.allclose(Trace(trace).draw((0,), 60, 6).arrival(1 / 6, 1)[0], x[:60])
    table["load"] += table["chunk"] * (table["iteration"] == 7)
    refused(("iteration 7", "worker 0"), trace_of, table)


def test_times_after_a_barrier_are_looked_for_at_the_own_load():
    x, loads = times([100, 20], [1.0, 0.5])
    x[:100] = x[:100].max(1, keepdims=True)
    with pytest.raises(gcexp.errors.UserError, match="barrier=no"):
        gcexp.fit(frame(x, loads))


def test_a_load_of_nothing_fixes_the_constant_part():
    x, loads = times([200, 40], [1.0, 0.0])
    found = recorded(frame(x, loads))
    assert found.loads.own == 1.0 and len(found.every) == 200
    assert found.phi.value == pytest.approx(PHI, abs=0.02)


@pytest.mark.parametrize("kind", ["bad node", "slow state", "heavy tail"])
def test_intervals_of_phi_hold_the_truth(kind):
    from gcexp_papers.stragglers.clusters import KINDS
    from gcexp_papers.stragglers.clusters import times as cluster

    inside = 0
    for seed in range(20):
        draw = np.random.default_rng([seed, 1])
        x = cluster(dict(KINDS)[kind], 320, 8, draw)
        x[300:] *= PHI + (1 - PHI) / 2
        phi = recorded(frame(x, np.repeat([1.0, 0.5], [300, 20]))).phi
        inside += phi.low <= PHI <= phi.high
    assert inside >= 16


def test_three_loads_that_are_on_no_line_give_a_range(here):
    x, loads = times([60, 60, 60], [1.0, 2.0, 4.0])
    line = gcexp.advise(frame(x, loads))
    assert line.main.phi == pytest.approx(PHI, abs=0.02)
    bent = gcexp.advise(frame(x * loads[:, None], loads))
    assert bent.phi == [0.0, 1.0] and not bent.measured
    assert "phi at load 1 could not be measured: the typical times" in bent.page().text()
    few = gcexp.advise(frame(x[50:90], loads[50:90]))
    assert few.phi == [0.0, 1.0] and "two loads with 20 iterations" in few.page().text()
    given = gcexp.advise(frame(x, loads), phi=0.1)
    assert given.main.phi == 0.1 and f"it would be {line.recorded.phi}" in given.page().text()


@pytest.mark.parametrize(
    ("load", "named"), [(-1, "-1"), ("", "nan"), ("inf", "inf"), (2, "1 and 2"), (0, "0 and 1")]
)
def test_loads_that_are_none_are_refused_by_every_command(load, named, here, refused_command):
    x, loads = times([20], [1.0])
    table = frame(x, loads).astype({"load": object})
    table.loc[63, "load"] = load
    table.to_csv("bad.csv", index=False)
    for line in ("trace check bad.csv", "fit bad.csv", "advise bad.csv", "benchmark bad.csv uncoded"):
        refused_command(named, *line.split())
    replay = ["scheme=uncoded", "n=6", "delay=trace", "delay.file=bad.csv", "iterations=5", "seeds=1"]
    refused_command(named, "simulate", *replay)
    table["load"] = 0
    table.to_csv("none.csv", index=False)
    refused_command("load 0", "trace", "check", "none.csv")
