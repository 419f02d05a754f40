"""Linear regression: the weighted pass, its bits, its scores, and one run without Snakemake."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp import figures
from gcexp.command import runs
from gcexp.command.main import main
from gcexp.data import Dataset
from gcexp.run.run import Run
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.training import train
from tests.conftest import refusals

ROOT = Path(__file__).resolve().parents[2]
N, D = 97, 11


def made(name="made", seed=0, noise=0.3) -> Dataset:
    """97 training and 30 test samples of 11 features, with noise so that no loss vanishes."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((N + 30, D)).astype(np.float32)
    y = x.astype(np.float64) @ draw.standard_normal(D) + noise * draw.standard_normal(N + 30)
    return Dataset(name, x[:N], y[:N], x[N:], y[N:], "")


DATA = made()
TASK = LinearRegression("made", evaluate_every=5, verify_every=4)
PROBLEM = TASK.problem(DATA, 0)
THETA = np.random.default_rng(1).standard_normal(D)
X, Y = DATA.x_train.astype(np.float64), DATA.y_train


# --- the gradient


def test_the_gradient_is_that_of_half_the_squared_residuals_summed():
    def loss(theta):
        return 0.5 * ((X @ theta - Y) ** 2).sum()

    step = 1e-4  # a quadratic: central differences are exact but for rounding
    slopes = [(loss(THETA + step * e) - loss(THETA - step * e)) / (2 * step) for e in np.eye(D)]
    np.testing.assert_allclose(PROBLEM.gradient(THETA, np.ones(1), 0), slopes, rtol=1e-7, atol=1e-6)


def test_partitions_are_those_of_array_split_of_the_shuffled_rows():
    parts = np.array_split(rng(0, "data_order").permutation(N), 12)  # 97 is no multiple of 12
    expected = [X[i].T @ (X[i] @ THETA - Y[i]) for i in parts]
    np.testing.assert_allclose(PROBLEM.partition_gradients(THETA, 12, 0), expected, rtol=1e-12, atol=1e-12)


def test_with_every_coefficient_one_it_is_the_plain_pass_bit_by_bit():
    """Exact schemes share a trajectory, whatever their number of partitions."""
    plain = PROBLEM.gradient(THETA, np.ones(1), 0).tobytes()
    assert all(PROBLEM.gradient(THETA, np.ones(k), 0).tobytes() == plain for k in (2, 12, 20, N))


# --- scores and training


def test_scores_are_half_the_mean_squared_residual():
    train_loss = ((X @ THETA - Y) ** 2).mean() / 2
    test_loss = ((DATA.x_test @ THETA - DATA.y_test) ** 2).mean() / 2
    for seed in (0, 3):  # whatever the order
        found = TASK.problem(DATA, seed).score(THETA)
        assert found == pytest.approx({"train_loss": train_loss, "test_loss": test_loss}, rel=1e-12)


def test_training_reaches_least_squares():
    found = train(TASK, GradientDescent(0.3), DATA, (0, 1), (400, 13), progress=False)
    best, losses = np.linalg.lstsq(X, Y)[0], found.scores["train_loss"][0]
    assert losses[-1] == pytest.approx(((X @ best - Y) ** 2).mean() / 2, rel=1e-9)
    assert (np.diff(losses[~np.isnan(losses)]) < 1e-12).all()
    assert np.isnan(found.scores["test_loss"][1, found.evaluated > 13]).all()
    np.testing.assert_allclose(found.parameters[0, -1], best, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, linear_mixture):
    """Working folder of a run: prepared data and nothing else."""
    made_in = tmp_path_factory.mktemp("run")
    shutil.copytree(linear_mixture.parent, made_in / "data" / "prepared")
    return made_in


# --- mistakes


overflowing = pytest.mark.filterwarnings("ignore:overflow encountered in (cast|multiply)")
test_mistakes = overflowing(
    refusals(
        (lambda: LinearRegression("made", evaluate_every=0), "task.evaluate_every.* 0"),
        (lambda: LinearRegression("made", verify_every=-3), "task.verify_every.* -3"),
        (lambda: TASK.problem(made("other"), 0), "'made'.*'other'"),
        (lambda: TASK.problem(replace(DATA, y_train=np.zeros(N, dtype=np.int64)), 0), "'made'.*labels"),
        (lambda: PROBLEM.gradient(np.zeros(12), np.ones(1), 0), "11 .*12"),
        (lambda: PROBLEM.gradient(THETA, np.ones(98), 0), "97.*k=98"),
        (lambda: train(TASK, GradientDescent(1e6), DATA, (0,), (400,)), "seed 0.*optimizer.learning_rate"),
    )
)


# --- one run without Snakemake


@pytest.mark.slow
def test_one_run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GCEXP_CONF", str(ROOT / "conf"))
    drawn = []
    monkeypatch.setattr(figures, "draw", lambda frame, plot, *words: drawn.append(plot))
    monkeypatch.setattr(figures, "save", lambda *_: None)
    overrides = ["scheme=gc_sc", "n=20", "code.d=3", "code.clusters=5", "delay=markov", "seeds=1"]
    overrides += ["task=linear_regression", "optimizer.learning_rate=0.1", "iterations=25"]
    made_in = runs.single_run(overrides, folder / "out")
    words = capsys.readouterr().out
    frame = pd.read_csv(made_in / "curve.csv")
    assert f"{frame.iloc[-1]['train_loss']:.4g}" in words
    assert drawn == [{"kind": "lines", "x": "simulated_time_s", "y": "train_loss", "yscale": "log"}]
    checked = json.loads((made_in / "verification.json").read_text())
    assert checked["passed"] and [check["iteration"] for check in checked["checks"]] == [0, 20]
    assert checked["decoded_error"] < 1e-8  # check 15
    assert frame["train_loss"].is_monotonic_decreasing and len(frame) == 26


def test_the_passage_of_a_run():
    curves = [[0.1, 0.5, 0.7], [0.1, 0.2, 0.6], [0.1, 0.2, 0.3]]
    rows = [(seed, i, float(i), c[i], 1 - c[i]) for seed, c in enumerate(curves) for i in range(3)]
    columns = ["seed", "iteration", "simulated_time_s", "test_accuracy", "train_loss"]
    frame = pd.DataFrame(rows, columns=columns)
    for score, level, told in (
        ("test_accuracy", 0.55, "2 (test accuracy 0.55, reached in 2 of 3 seeds)"),
        ("test_accuracy", 0.65, "not reached (test accuracy 0.65, reached in 1 of 3 seeds)"),
        ("train_loss", 0.45, "2 (train loss 0.45, reached in 2 of 3 seeds)"),
    ):
        assert runs.passage_in_words(frame, score, level) == told


@pytest.mark.parametrize(
    ("score", "first", "level"),
    [
        ("test_accuracy", 0.1, 0.55),
        ("test_auc", 0.5, 0.75),
        ("test_loss", 2.302, 1.2),
        ("score", 3, None),
        ("score", np.nan, None),
        ("test_loss", 0, None),
        ("test_loss", np.inf, None),
    ],
)
def test_the_usual_level_of_a_score(score, first, level):
    frame = pd.DataFrame({"iteration": [0, 1], score: [first, 0.5]})
    assert runs.usual_level(frame, score) == level


def test_recovered_fractions_are_told_where_coefficients_are_0_or_1():
    def found(*overrides):
        timeline = Run.of([*overrides, "n=6", "iterations=20", "seeds=2"]).clock()
        return runs.decoding_summary(timeline.coefficients, timeline.pattern[timeline.ran])

    assert found("scheme=cgc", "s=2") == {
        "mean error ||c-1||^2/k": "0 (largest 0)",
        "mean recovered fraction": "1.0000 (least 1.0000)",
    }
    assert found("scheme=forget", "s=2")["mean error ||c-1||^2/k"] == "0.3333 (largest 0.3333)"
    (error,) = found("scheme=sgc", "s=2").values()
    assert 0 < float(error.split()[0]) < 1


def test_a_level_in_a_table_of_many_runs(capsys, tmp_path, monkeypatch):
    words = "run -m scheme=cgc,frc n=6 s=1 iterations=4 seeds=2 --format csv --level".split()
    assert main([*words, "0.5"]) == 2
    assert "task" in capsys.readouterr().err
    assert main([*words[:2], "task=digits_mlp", *words[2:], "0.15"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert {"time_to_0.15", "seeds_reached", "final_test_accuracy"} <= {*found}
    assert (found["seeds_reached"] <= 2).all()
