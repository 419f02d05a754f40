"""Training of Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): check 15 and loss numbers.

The coded training is written out here: every worker's message is encoded, what was not received is lost, and the master
decodes the rest, in float64 and in every iteration.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gcexp.data import Dataset, load, prepare
from gcexp.report.figurefile import figure
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.run.stages import Length, simulated
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.training import train

TARGET = "dynamic_clustering_training"
LABELS = ("GC", "GC-SC", "GC-DC, previous state", "GC-DC, perfect state")
T, RATE = 400, 0.1
#: Loss after 1, 10, 100 and 400 iterations, of the specification's data.
REFERENCE = {1: 366.0, 10: 55.2, 100: 0.443, 400: 2.9e-4}


@cache
def target():
    return figure(TARGET, "paper")


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


def train_coded(config, data, task):
    """Coded and uncoded training side by side: errors of gradients, parameters and losses by iteration; who is lost."""
    timeline = simulated(config, Length(T, None, (0,)))
    code, problem = build_scheme(config, 0).code, task.problem(data, 0)
    x, y = data.x_train.astype(np.float64), data.y_train
    plain, coded = problem.initial(), problem.initial()
    errors = []
    for t in range(T):
        responses = timeline.patterns[timeline.pattern[0, t]]
        gradients = problem.partition_gradients(coded, code.k, t)
        whole, found = gradients.sum(0), decoded(code, gradients, responses)
        coded = coded - RATE / len(y) * found
        plain = plain - RATE / len(y) * (x.T @ (x @ plain - y))
        gradient_error = np.linalg.norm(found - whole) / np.linalg.norm(whole)
        loss_error = abs(loss(x, y, coded) / loss(x, y, plain) - 1)
        errors.append((gradient_error, np.abs(coded - plain).max(), loss_error))
    return np.array(errors), code.n - (timeline.patterns[timeline.pattern[0]] > 0).sum(1)


# --- check 15


@pytest.mark.slow
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
def test_coded_training_is_uncoded_training(overrides):
    """An eighth of the size, partitions of unequal size, both simulations, all 400 iterations.

    The replays of every build try the target's own size.
    """
    composed = compose([*overrides, "delay=markov", "delay.initial_slow=4"])
    errors, lost = train_coded(composed, small(), LinearRegression("small"))
    assert lost.min() >= 1
    assert errors.max() < 1e-8


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
