"""`gcexp fit`: mechanisms are found where they are and nowhere else, and the model replays its trace."""

import itertools
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import norm

import gcexp
from gcexp.command import main
from gcexp.delays import Composed
from gcexp.errors import UserError
from gcexp_adviser.diagnosis.barrier import barrier
from gcexp_adviser.diagnosis.mechanisms import found_in
from gcexp_adviser.diagnosis.phi import share_of_compute, share_of_loads
from gcexp_adviser.diagnosis.slow_states import Chain, fitted, maximised, smoothed
from gcexp_adviser.logs.reading import trace_of

JOBS = [f"pai-job{number}" for number in (1, 2, 3, 4)]


def times(name):
    return trace_of(name).values["time"]


@pytest.fixture(scope="module")
def found():
    names = [*JOBS, "bytedance-AR-dp", "bytedance-SE-dp", "bytedance-ST-dp"]
    return {name: found_in(times(name)) for name in names}


# --- Numbers of the bundled traces ----------------------------------------------------------------------------------


def test_variance_is_split(found):
    for name, shares in (
        ("pai-job1", (0.358583, 0.137911, 0.503506)),
        ("pai-job4", (0.907818, 0.007213, 0.084969)),
    ):
        assert [*found[name].variance.shares.values()] == pytest.approx(shares, abs=2e-6)
    names = [*JOBS, "bytedance-AR-dp", "bytedance-SE-dp"]
    expected = [0.215010, 0.021385, 0.234391, 0.078249, 0.787001, 0.002098]
    assert [found[name].variance.icc for name in names] == pytest.approx(expected, abs=1e-6)


FOUND = {
    "pai-job1": (["common_shock", "heterogeneous"], set()),
    "pai-job2": (["heterogeneous"], set()),
    "pai-job3": ([], {"slow_state", "drift", "heterogeneous"}),
    "pai-job4": (["level_change", "common_shock", "heterogeneous"], set()),
    "bytedance-AR-dp": (["bad_node"], set()),
    "bytedance-SE-dp": (["no_mechanism"], set()),
    "bytedance-ST-dp": ([], {"common_shock", "workers"}),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found_and_what_is_unsure(found, name):
    sure, unsure = FOUND[name]
    assert (found[name].found, set(found[name].unsure)) == (sure, unsure)


def test_a_drift_a_bad_node_and_slow_states_in_numbers(found):
    change = found["pai-job3"].mechanisms["drift"].numbers["change"].value
    assert np.log1p(change) == pytest.approx(0.082629, abs=2e-6)
    bad = found["bytedance-AR-dp"].mechanisms["bad_node"]
    factor = bad.numbers["factor"]
    assert bad.workers == (0,)
    assert (factor.value, factor.low, factor.high) == pytest.approx((2.26105, 2.25390, 2.26822), abs=2e-5)
    last = {change.worker: change for change in found["pai-job4"].levels.changes}
    assert [last[worker].row for worker in (4, 5)] == [102, 1872]
    assert last[5].factor.low < 4.24 < last[5].factor.high


def test_chunks_tell_noise_of_the_data():
    trace = trace_of("bytedance-SE-chunk")
    assert found_in(trace.values["time"], trace.chunks).found == ["data_bound_or_chunk_noise"]


def test_a_share_is_measured_where_the_trace_allows_it():
    trace = trace_of("faas-aws-2048mb")
    there = ~np.isnan(trace.values["time"][0])
    first = [trace.values[name][:1, there] for name in ("time", "compute")]
    assert there.sum() == 50 and share_of_compute(*first)[0].value == pytest.approx(0.210293, abs=1e-6)
    draw = np.random.default_rng(0)
    loads = np.repeat([1.0, 2.0, 4.0], 50)
    x = np.exp(0.05 * draw.standard_normal((150, 8))) * (0.3 + 0.7 * loads)[:, None]
    phi, _ = share_of_loads(x, loads)
    assert phi.low <= 0.3 <= phi.high and phi.value == pytest.approx(0.3, abs=0.02)
    bent = np.exp(0.05 * draw.standard_normal((150, 8))) * (loads**2)[:, None]
    assert share_of_loads(bent, loads) == (None, "the typical times of the loads are not on a line")
    assert share_of_loads(x[:20], loads[:20])[0] is None


def test_the_model_of_job_4s_first_half_does_not_hold_in_its_second():
    fit = gcexp.fit("pai-job4")
    assert fit.held["slowest"] == pytest.approx(0.614, abs=0.01)
    assert any("delay=trace" in note for note in fit.page().notes)


# --- Planted mechanisms ---------------------------------------------------------------------------------------------

NOISE = {"values": (0.1 * norm.ppf((np.arange(100) + 0.5) / 100)).tolist()}
PLANTED = {
    "bad_node": {"workers": [1.0, 1.0, 1.0, 1.8, *[1.0] * 12]},
    "slow_state": {"p01": 0.02, "p10": 0.1, "factor": 3.0},
    "common_shock": {"common_sd": 0.15},
    "heterogeneous": {"workers": np.exp(0.2 * norm.ppf((np.arange(10) + 0.5) / 10)).tolist()},
    "drift": {"drift": 0.3},
}
TRUE = {
    "bad_node": ("factor", 1.8, 0.01),
    "slow_state": ("p01", 0.02, 0.15),
    "common_shock": ("sd", 0.15, 0.05),
    "heterogeneous": ("sd", 0.2, 0.2),
    "drift": ("change", np.expm1(0.3), 0.08),
}


def planted(names, rows, seed, n=10, **more):
    """Times (rows, n) of a delay model with these mechanisms."""
    parts = NOISE | {key: value for name in names for key, value in PLANTED[name].items()} | more
    parts["drift"] = parts.get("drift", 0.0) / rows
    return Composed(**parts).draw((seed,), rows, n).arrival(1 / n, 1)[0].copy()


@pytest.mark.parametrize("name", TRUE)
def test_a_planted_mechanism_is_found_alone(name):
    number, value, bias = TRUE[name]
    seen = [found_in(planted([name], 200, seed)) for seed in range(6)]
    assert sum(one.found == [name] for one in seen) >= 5
    numbers = [one.mechanisms[name].numbers[number] for one in seen]
    assert np.mean([one.value for one in numbers]) == pytest.approx(value, rel=bias)
    assert sum(one.low <= value <= one.high for one in numbers) >= 4


@pytest.mark.parametrize(
    "pair", [("bad_node", "slow_state"), ("heterogeneous", "slow_state"), ("drift", "common_shock")]
)
def test_two_planted_mechanisms_are_both_found(pair):
    for rows in (120, 300):
        assert set(pair) <= set(found_in(planted(pair, rows, rows)).found)


def test_nothing_is_found_in_noise_and_nothing_certain_in_too_little():
    quiet = [found_in(planted([], 100, seed)).found for seed in range(8)]
    assert quiet.count(["no_mechanism"]) >= 7
    assert found_in(planted(["bad_node"], 29, 0)).mechanisms == {}
    for seed in range(4):
        for rows, n, factor in ((30, 10, 3.0), (300, 2, 3.0), (300, 10, 1.3)):
            assert "slow_state" not in found_in(planted(["slow_state"], rows, seed, n, factor=factor)).found


def test_the_chains_likelihood_is_that_of_all_paths_and_never_falls():
    draw = np.random.default_rng(1)
    y = draw.standard_normal((8, 1))
    model = Chain(0.2, 0.3, 1.0, 0.5, 0.7, np.array([-0.3]))
    paths = np.array(list(itertools.product((0, 1), repeat=8)))
    step = np.array([[0.8, 0.2], [0.3, 0.7]])
    chance = np.array([0.6, 0.4])[paths[:, 0]] * step[paths[:, :-1], paths[:, 1:]].prod(1)
    laws = norm.pdf(y, loc=[-0.3, 0.7], scale=[0.5, 0.7])
    total = (chance * laws[np.arange(8), paths].prod(1)).sum()
    assert smoothed(y, model)[0] == pytest.approx(np.log(total), abs=1e-12)
    y, seen, model = draw.standard_normal((200, 3)), [], replace(model, base=np.full(3, -0.3))
    for _ in range(40):
        likelihood, slow, pairs = smoothed(y, model)
        seen.append(likelihood)
        model = maximised(y, model, slow, pairs)
    assert np.diff(seen).min() > -1e-9


def test_slow_states_explain_spells_and_not_noise():
    """In noise the chain gains nothing, and the criterion takes off what its numbers cost: 5 log 400 = 30."""
    slow = np.zeros((100, 4), bool)
    slow[20:40, 0] = slow[60:80, 2] = True
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0, 0.1, slow.shape)
        assert -40 < fitted(noise, noise > 0.1).gain < -20
        assert fitted(noise + 0.5 * slow, slow).gain > 100


@pytest.mark.parametrize("name", ["bad_node", "slow_state", "common_shock", "drift"])
def test_the_model_replays_what_it_was_fitted_to(name):
    fit = gcexp.fit(planted([name], 400, 3), drift=True)
    assert all(abs(ratio - 1) < 0.04 for ratio in fit.replay.values()), fit.replay


# --- The delay model ------------------------------------------------------------------------------------------------


def test_composed_times_are_the_same_in_one_piece_and_in_two():
    parts = {"values": [-0.1, 0.0, 0.1], "phi": 0.3, "drift": 0.001}
    model = Composed(2.0, [1.0, 2.0, 3.0], 0.2, 0.5, 0.1, 0.3, 4.0, **parts)
    whole = model.draw((0, 1), 50, 3).arrival(1 / 3, 1)
    some = model.start((0, 1), 2)
    parts = np.concatenate([some(13).arrival(0.5, 1), some(37).arrival(0.5, 1)], axis=1)
    assert np.allclose(whole[:, :, :2], parts, rtol=1e-12)
    assert model.draw((0, 1), 20_000, 3).is_slow.mean() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    "given", [{"level": 0}, {"p01": 0.6, "p10": 0.6}, {"workers": [1, -1]}, {"common_lag": 1}, {"phi": 2}]
)
def test_composed_refuses(refused, given):
    refused(next(iter(given)), lambda: Composed(**given))
    refused("n=3", Composed(workers=[1.0, 2.0]).draw, (0,), 1, 3)


# --- Barriers, slow workers, traces as people have them ---------------------------------------------------------------


def test_times_after_a_barrier_are_refused_and_honest_ones_are_not(here, refused_command, capsys):
    for seed in range(40):
        draw = np.random.default_rng(seed)
        n, rows = int(draw.choice([4, 8, 10])), int(draw.choice([30, 100, 300]))
        honest = planted([list(TRUE)[seed % 5]], rows, seed, n)
        jitter = draw.uniform(0.001, 0.004) * draw.standard_normal(honest.shape)
        after = honest.max(1, keepdims=True) * np.exp(jitter)
        assert (barrier(honest)[0], barrier(after)[0]) == ("", "equalised")
    assert all(barrier(times(name)) == ("", "") for name in FOUND)
    frame(after).to_csv("after.csv", index=False)
    for verb in ("fit", "advise", "benchmark"):
        refused_command("barrier=no", verb, "after.csv")
    assert main.main(["benchmark", "after.csv", "wait for all", "barrier=no"]) == 0
    assert main.main(["fit", "after.csv", "barrier=no"]) == 0
    assert main.main(["trace", "check", "after.csv"]) == 0 and "barrier" in capsys.readouterr().out


def frame(x, names=None):
    rows, n = x.shape
    worker = np.tile(np.arange(n) if names is None else names, rows)
    return pd.DataFrame({"iteration": np.repeat(np.arange(rows), n), "worker": worker, "time": x.ravel()})


def test_a_trace_is_a_path_a_name_a_frame_or_an_array(tmp_path):
    x = times("bytedance-AR-dp")
    path = tmp_path / "mine.csv"
    frame(x).to_csv(path, index=False)
    for source in ("bytedance-AR-dp", path, str(path), frame(x), x, x.tolist(), trace_of(path)):
        assert np.array_equal(trace_of(source).values["time"], x)
    assert gcexp.fit(frame(x)).found == gcexp.fit(x).found == ["bad_node"]
    for source in (5, "nowhere", x[0], frame(x).drop(columns="time"), np.where(x > 40, np.nan, x), -x):
        with pytest.raises(UserError):
            gcexp.fit(source)


def test_workers_may_be_hosts():
    x = times("bytedance-AR-dp")
    trace = trace_of(frame(x, ["node10", "node2", "node1", "node3"]))
    assert trace.labels == ("node1", "node2", "node3", "node10")
    assert np.array_equal(trace.values["time"][:, 3], x[:, 0])
    assert gcexp.fit(trace).table["workers"].tolist() == ["node10"]


def test_iterations_without_all_workers_are_left_out_when_asked(here, monkeypatch, refused_command, capsys):
    monkeypatch.setattr("gcexp_adviser.page.files.drawn", lambda picture: b"")
    x = planted(["bad_node"], 60, 4)
    lines = frame(x).to_csv(index=False).splitlines()
    del lines[1 + 12 * 10 + 3]
    Path("holes.csv").write_text("\n".join([*lines, ""]))
    Path("cut.csv").write_text("\n".join(lines).rpartition(",")[0])
    for name in ("holes.csv", "cut.csv"):
        refused_command("absent=skip", "fit", name, "absent=refuse")
        assert main.main(["fit", name]) == 0 and "late" in capsys.readouterr().out
    trace = trace_of("cut.csv", absent="skip")
    assert trace.left_out == 2 and np.array_equal(trace.values["time"], np.delete(x, [12, 59], axis=0))
    assert main.main(["trace", "check", "cut.csv", "absent=skip"]) == 0
    assert main.main(["fit", "cut.csv", "absent=skip", "-o", "out"]) == 0
    told = json.loads(Path("out/fit.json").read_text())
    assert told["iterations"] == 58 and told["found"] == ["bad_node"]
    assert {path.name for path in Path("out").iterdir()} == {
        *("fit.html", "fit.json", "fit.md", "fit.png", "delay.yaml")
    }


def test_files_are_written_although_the_text_is_read_in_part(tmp_path, monkeypatch):
    """As by ``gcexp fit mine.csv -o out | head``, which closes the pipe."""

    def closed(*words, **how):
        raise BrokenPipeError

    monkeypatch.setattr("gcexp_adviser.page.files.drawn", lambda picture: b"")
    monkeypatch.setattr("builtins.print", closed)
    for name in ("fit", "advise"):
        with suppress(BrokenPipeError):
            main.main([name, "bytedance-AR-dp", "-o", str(tmp_path / name)])
        assert (tmp_path / name / f"{name if name == 'fit' else 'advice'}.json").is_file()


def test_what_fit_writes_is_an_option_of_delay(tmp_path):
    written = {path.name: path for path in gcexp.fit("bytedance-AR-dp").write(tmp_path)}
    given = yaml.safe_load(written["delay.yaml"].read_text())
    assert given.pop("_target_") == "gcexp.delays.composed.Composed"
    mean = Composed(**given).draw((0,), 2000, 4).arrival(0.25, 1).max(2).mean()
    assert mean == pytest.approx(times("bytedance-AR-dp").max(1).mean(), rel=0.01)


def test_loads_that_differ_within_an_iteration_are_refused(refused):
    table = frame(planted([], 40, 0)).assign(load=1)
    table.loc[123, "load"] = 2
    refused(("iteration 12", "1 and 2"), gcexp.fit, table)
    table["load"] = 1 + (table["iteration"] < 20)
    assert gcexp.fit(table.assign(time=table["time"] * table["load"])).phi.value == pytest.approx(0, abs=0.2)


def test_simulate_and_benchmark_take_times_in_memory():
    x = times("bytedance-AR-dp")
    schemes = ["wait for all", "cyclic, s = 1"]
    ratios = gcexp.benchmark("bytedance-AR-dp", schemes, [0.0], progress=False)["ratio"].tolist()
    for source in (x, frame(x)):
        table = gcexp.simulate(scheme="uncoded", n=4, delay=source, iterations=44, seeds=1, progress=False)
        assert table["mean_iteration_time_s"][0] == pytest.approx(x.max(1).mean(), rel=1e-12)
        assert gcexp.benchmark(source, schemes, [0.0], progress=False)["ratio"].tolist() == ratios
    with pytest.raises(UserError):
        gcexp.benchmark(5)
