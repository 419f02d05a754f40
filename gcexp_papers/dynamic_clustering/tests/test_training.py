"""Training of Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): check 15, loss numbers, the target's drawing.

The coded training is written out here: every worker's message is encoded, what was not received is lost, and the master
decodes the rest, in float64 and in every iteration.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from gcexp.data import Dataset, load, prepare
from gcexp.figures import draw, read_table, write_table
from gcexp.report.figurefile import figure
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.measured import scored
from gcexp.run.scheme import build_scheme
from gcexp.run.stages import Length, simulated
from gcexp.run.verification import verify_decoding
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.training import train

TARGET = "dynamic_clustering_training"
LABELS = ("GC", "GC-SC", "GC-DC, previous state", "GC-DC, perfect state")
T, RATE = 400, 0.1
#: Loss after 1, 10, 100 and 400 iterations, and on the test samples at the end, of the specification's data.
REFERENCE = {1: 366.0, 10: 55.2, 100: 0.443, 400: 2.9e-4}
REFERENCE_TEST = 2.7e-3


@cache
def target(preset="paper"):
    return figure(TARGET, preset)


@cache
def config(label):
    """What the target runs under this label."""
    (run,) = (run for run in target().runs if run.label == label)
    return run.config


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The prepared data set of the target."""
    path = tmp_path_factory.mktemp("data") / "linear_mixture.npz"
    prepare("linear_mixture", path)
    return load(path)


@pytest.fixture(scope="module")
def trajectory(data):
    """Training of the target, by the library, seed 0."""
    task = build(config("GC"), "task")
    return train(task, build(config("GC"), "optimizer"), data, (0,), (T,), progress=False)


def small() -> Dataset:
    """The same law with an eighth of the samples and features; 250 is no multiple of 12 or 20."""
    draws = np.random.default_rng(0)
    model = draws.choice([-1.0, 1.0], 125)
    shift = draws.choice([-1.0, 1.0], (300, 1)) * 1.5 / 125 * model
    x = (draws.standard_normal((300, 125)) + shift).astype(np.float32)
    y = x.astype(np.float64) @ model
    return Dataset("small", x[:250], y[:250], x[250:], y[250:], "")


def loss(x, y, theta):
    return ((x @ theta - y) ** 2).sum() / (2 * len(y))


def decoded(code, gradients, responses):
    """What the master makes of the messages that it has: encode, drop, decode."""
    received = code.received(responses[None])[0]
    sent = code.encoding @ gradients
    sent[~received] = np.nan  # whatever uses it is found out
    weights = code.decode(responses[None]).weights[0]
    assert not weights[:, ~received].any()
    return (weights[:, received] @ sent[received]).ravel()


def train_coded(config, data, task, seed, iterations):
    """Coded and uncoded training side by side: errors of gradients, of parameters and of losses, by iteration."""
    timeline = simulated(config, Length(iterations, None, (seed,)))
    code, problem = build_scheme(config, seed).code, task.problem(data, seed)
    x, y = data.x_train.astype(np.float64), data.y_train
    plain, coded = problem.initial(), problem.initial()
    errors = []
    for t in range(iterations):
        responses = timeline.patterns[timeline.pattern[0, t]]
        gradients = problem.partition_gradients(coded, code.k, t)
        whole, found = gradients.sum(0), decoded(code, gradients, responses)
        coded = coded - RATE / len(y) * found
        plain = plain - RATE / len(y) * (x.T @ (x @ plain - y))
        one, other = loss(x, y, coded), loss(x, y, plain)
        gradient_error = np.linalg.norm(found - whole) / np.linalg.norm(whole)
        errors.append((gradient_error, np.abs(coded - plain).max(), abs(one / other - 1), one))
    lost = code.n - (timeline.patterns[timeline.pattern[0]] > 0).sum(1)
    return np.array(errors), lost, coded


# --- check 15


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_coded_training_is_uncoded_training(label, data, trajectory):
    """Paper size, the schemes of the target, the first 100 iterations."""
    task = build(config(label), "task")
    errors, lost, theta = train_coded(config(label), data, task, 0, 100)
    assert (
        lost == (2 if label == "GC" else 10)
    ).all()  # r - 1 of all workers, or of each of the five clusters
    assert errors[:, 0].max() < 1e-8  # decoded gradients against the uncoded sum
    assert errors[:, 1].max() < 1e-8  # every coordinate of the model
    assert errors[:, 2].max() < 1e-8  # the loss curves
    np.testing.assert_allclose(errors[:, 3], trajectory.scores["train_loss"][0, 1:101], rtol=1e-8)
    test_loss = loss(data.x_test.astype(np.float64), data.y_test, theta)
    assert test_loss == pytest.approx(trajectory.scores["test_loss"][0, 100], rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "overrides",
    [
        ["scheme=gc", "n=12", "code.d=2"],
        ["scheme=gc_sc", "n=12", "code.d=2", "code.clusters=4"],
        ["scheme=gc_dc", "n=12", "code.d=2", "code.clusters=4", "placement.memberships=2"],
        ["scheme=gc", "n=20", "code.d=3"],
        ["scheme=gc_sc", "n=20", "code.d=3", "code.clusters=5"],
        ["scheme=gc_dc", "n=20", "code.d=3", "code.clusters=5", "placement.memberships=3"],
    ],
    ids=lambda overrides: "-".join(overrides[:2]),
)
def test_coded_training_is_uncoded_training_in_small(overrides, seed):
    """An eighth of the size, partitions of unequal size, both simulations, all 400 iterations."""
    composed = compose([*overrides, "delay=markov", "delay.initial_slow=4"])
    errors, lost, _ = train_coded(composed, small(), LinearRegression("small"), seed, T)
    assert lost.min() >= 1
    assert errors[:, :3].max() < 1e-8


@pytest.mark.parametrize("label", LABELS)
def test_the_step_verify_sees_errors_below_the_specifications(label, data):
    """It runs in every workflow, on its own grid of iterations, and is content with 1e-6."""
    task = replace(build(config(label), "task"), verify_every=5)
    timeline = simulated(config(label), Length(30, None, (0, 1)))
    trained = train(task, build(config(label), "optimizer"), data, (0, 1), (30, 30), progress=False)
    found = verify_decoding(
        lambda seed: build_scheme(config(label), seed).code, timeline, trained, task, data
    )
    assert found["passed"] and len(found["checks"]) == 12
    assert found["decoded_error"] < 1e-8 and found["weighted_error"] < 1e-12


def test_the_target_verifies_twenty_iterations_of_every_seed():
    for label in LABELS:
        assert config(label)["task"]["verify_every"] == 20 and config(label)["exact"] is True
    assert len({run.trajectory for run in target().runs}) == 1  # trained once


# --- numbers


def test_losses(trajectory):
    """The target's data: golden numbers, and the specification's up to its factor, where one data set can tell."""
    scores = trajectory.scores
    at = {t: scores["train_loss"][0, t] for t in REFERENCE}
    golden = {1: 344.4811278, 10: 57.5560737, 100: 0.5380018131, 400: 6.113858692e-4}
    assert at == pytest.approx(golden, rel=1e-8)
    assert scores["test_loss"][0, T] == pytest.approx(6.172485160e-3, rel=1e-8)
    for t in (1, 10, 100):
        assert 1 / 1.5 < at[t] / REFERENCE[t] < 1.5
    assert at[T] < 1e-3  # check 15
    assert (np.diff(scores["train_loss"][0]) < 0).all()


# --- the target


@pytest.fixture(scope="module")
def table(trajectory):
    """Table of a preset; all seeds have the scores of seed 0, from which they differ by rounding."""

    @cache
    def made(preset):
        frames = []
        for run in target(preset).runs:
            first, _, last = run.seeds.partition("-")
            seeds = tuple(range(int(first), int(last) + 1))
            S = len(seeds)
            shared = replace(
                trajectory,
                seeds=np.array(seeds),
                steps=np.full(S, T),
                scores={name: np.repeat(values, S, axis=0) for name, values in trajectory.scores.items()},
            )
            timeline = simulated(run.config, Length(run.iterations, None, seeds))
            frames.append(scored(timeline, shared, run.label, run.id))
        return pd.concat(frames, ignore_index=True)

    return made


def test_another_seed_trains_alike(data, trajectory):
    """The order of the samples is all that a seed changes, and the whole gradient does not depend on it."""
    other = train(
        build(config("GC"), "task"),
        build(config("GC"), "optimizer"),
        data,
        (7,),
        (50,),
        progress=False,
    )
    for name, values in other.scores.items():
        np.testing.assert_allclose(values[0], trajectory.scores[name][0, :51], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "quick"])
def test_drawing(preset, table, tmp_path):
    planned = target(preset)
    assert planned.labels == list(LABELS)
    write_table(table(preset), tmp_path / "table.csv")
    frame = read_table(tmp_path / "table.csv")
    axes = draw(frame, planned.file.plot, planned.file.title, planned.note).axes[0]
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "training loss"
    assert planned.file.level == 0.01 > axes.get_ylim()[0]  # the line of the level is in sight
