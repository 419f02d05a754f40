"""Weighted passes, optimisers and the training loop, on scikit-learn's digits."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gcexp.data import readers
from gcexp.data.load import Dataset
from gcexp.errors import ParameterError, UserError
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent, partition_edges, together
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.optimizers import AcceleratedGradient, Adam, Momentum
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.training import Trajectory, train
from tests.conftest import refusals


def digits(n_train: int) -> Dataset:
    images = readers.digits([])
    x_train = images["x_train"].astype(np.float32) / 16
    x_test = images["x_test"].astype(np.float32) / 16
    y_train, y_test = (images[name].astype(np.int64) for name in ("y_train", "y_test"))
    return Dataset("digits", x_train[:n_train], y_train[:n_train], x_test, y_test, "")


DATA = digits(400)
TASK = MultilayerPerceptron("digits", verify_every=4)
PROBLEM = TASK.problem(DATA, 0)
START = PROBLEM.initial()


# --- partitions


@given(st.integers(1, 300), st.data())
def test_partitions_are_those_of_array_split(n_samples, drawn):
    k = drawn.draw(st.integers(1, n_samples))
    edges = partition_edges(n_samples, k)
    assert np.diff(edges).tolist() == [len(part) for part in np.array_split(np.arange(n_samples), k)]
    assert edges[0] == 0 and edges[-1] == n_samples


# --- the weighted pass


def network(parameters: np.ndarray) -> nn.Sequential:
    """The perceptron as anyone would write it in torch."""
    layers = nn.Sequential(nn.Linear(64, 25), nn.ReLU(), nn.Linear(25, 10))
    vector_to_parameters(torch.tensor(parameters), layers.parameters())
    return layers


def plain_descent(steps: int) -> np.ndarray:
    """Full-batch gradient descent in plain torch."""
    layers, order = network(START), rng(0, "data_order").permutation(400)
    x, y = torch.from_numpy(DATA.x_train[order]), torch.from_numpy(DATA.y_train[order])
    for _ in range(steps):
        layers.zero_grad()
        cross_entropy(layers(x), y, reduction="sum").backward()
        with torch.no_grad():
            for w in layers.parameters():
                w -= (0.5 / len(y)) * w.grad
    return parameters_to_vector(layers.parameters()).detach().numpy()


@pytest.mark.parametrize("k", [1, 7, 30])
def test_exact_training_has_the_bits_of_plain_torch(k):
    exact = () if k == 1 else (np.ones((1, k)), np.zeros((1, 9), dtype=int))
    trajectory = train(TASK, GradientDescent(), DATA, [0], [9], *exact)
    np.testing.assert_array_equal(trajectory.parameters[0, 2], plain_descent(8))


def test_seeds_give_their_own_order_and_weights():
    other = TASK.problem(DATA, 1)
    assert not np.array_equal(other.initial(), START)
    one, two = (problem.partition_gradients(START, 7, 0) for problem in (PROBLEM, other))
    assert (one[0] != two[0]).any()
    np.testing.assert_allclose(one.sum(0), two.sum(0), atol=1e-9)
    np.testing.assert_array_equal(START, TASK.problem(DATA, 0).initial())
    W, b = START[:1600], START[1600:1625]
    assert not b.any() and abs(W.std() - 0.1) < 0.01


def test_score_is_accuracy_and_mean_loss():
    output, labels = network(START)(torch.tensor(DATA.x_test)), torch.tensor(DATA.y_test)
    score = PROBLEM.score(START)
    assert score["test_accuracy"] == (output.argmax(1) == labels).double().mean().item()
    assert score["test_loss"] == pytest.approx(cross_entropy(output, labels).item(), rel=1e-6)


test_what_makes_no_sense_is_refused = pytest.mark.filterwarnings("ignore::RuntimeWarning")(
    refusals(
        (lambda: MultilayerPerceptron("digits", hidden=0), "task.hidden"),
        (lambda: MultilayerPerceptron("digits", initial_std=0.0), "task.initial_std"),
        (lambda: MultilayerPerceptron("digits", evaluate_every=0), "task.evaluate_every"),
        (lambda: MultilayerPerceptron("digits", verify_every=-1), "task.verify_every"),
        (lambda: MultilayerPerceptron("mnist").problem(DATA, 0), "'mnist'.*'digits'"),
        (lambda: partition_edges(10, 0), "10.*k=0"),
        (lambda: partition_edges(10, 11), "10.*k=11"),
        (lambda: trained([0, 1], [3]), "steps"),
        (lambda: trained([0], [-1]), "steps"),
        (lambda: trained([0], [3], np.ones((1, 2))), "coefficients"),
        (lambda: trained([0], [3], np.ones((1, 2)), np.zeros((1, 2), int)), "pattern"),
        (lambda: trained([0], [20], rule=GradientDescent(1e30)), "seed 0"),
    )
)


# --- the loop


def trained(seeds, steps, *given, rule=GradientDescent(), **options) -> Trajectory:  # noqa: B008
    return train(replace(TASK, **options), rule, DATA, seeds, steps, *given)


def test_normalize_recovered_in_training():
    c = np.array([[1.0, 0.0, 1.0]])
    rule = GradientDescent(0.3, "recovered")
    trajectory = trained([0], [2], c, np.zeros((1, 2), int), rule=rule, verify_every=1)
    expected = START - 0.3 / PROBLEM.recovered_samples(c[0]) * PROBLEM.gradient(START, c[0], 0)
    np.testing.assert_allclose(trajectory.parameters[0, 1], expected, rtol=1e-6)
    real, pattern = np.array([[1.0, 0.0], [1.0, 0.5]]), np.array([[0, 0, 1]])
    trained([0], [2], real, pattern, rule=rule)  # the fraction is not used
    with pytest.raises(ParameterError, match="0.5.*normalize=total"):
        trained([0], [3], real, pattern, rule=rule)


def test_an_empty_decode_skips_the_update_and_counts():
    c = np.array([[1.0, 1.0], [0.0, 0.0]])
    trajectory = trained([0], [4], c, np.array([[0, 1, 1, 0]]), verify_every=1)
    assert trajectory.skipped.tolist() == [2] and trajectory.evaluated.tolist() == [0, 1, 2, 3, 4]
    kept = trajectory.parameters[0]
    np.testing.assert_array_equal(kept[2:4], kept[[1, 1]])
    loss = trajectory.scores["test_loss"][0]
    assert loss[0] != loss[1] == loss[2] == loss[3] != loss[4]
    assert trained([0], [2]).scores["test_loss"][0].tolist() == loss[[0, 1, 4]].tolist()


def test_evaluation_and_verification_grids():
    every = {"evaluate_every": 3, "verify_every": 2}
    trajectory = trained([3, 1], [7, 4], **every)
    assert trajectory.evaluated.tolist() == [0, 3, 4, 6, 7]
    nan = np.isnan(trajectory.scores["test_accuracy"])
    assert nan.tolist() == [[False, False, True, False, False], [False, False, False, True, True]]
    assert trajectory.verified.tolist() == [0, 2, 4, 6]
    assert np.isnan(trajectory.parameters).all(2).tolist() == [[False] * 4, [False, False, True, True]]
    assert trajectory.parameters.dtype == np.float32
    alone = trained([1], [4], **every)  # a seed's values do not depend on the others in the job
    np.testing.assert_array_equal(alone.scores["test_loss"][0], trajectory.scores["test_loss"][1, :3])
    np.testing.assert_array_equal(alone.parameters[0], trajectory.parameters[1, :2])


def test_no_steps_give_the_first_score():
    trajectory = trained([0], [0])
    assert trajectory.evaluated.tolist() == [0] and trajectory.parameters.shape[1] == 0
    assert np.isfinite(trajectory.scores["test_loss"]).all()


def test_save_and_load(tmp_path):
    trajectory = trained([0, 1], [3, 5])
    trajectory.save(tmp_path / "new" / "trajectory.npz", config=np.array("more"))
    loaded = Trajectory.load(tmp_path / "new" / "trajectory.npz")
    assert loaded.scores.keys() == trajectory.scores.keys() == {"test_accuracy", "test_loss"}
    for name, values in trajectory.arrays().items():
        np.testing.assert_array_equal(loaded.arrays()[name], values, strict=True)
    for content in (b"PK\x03\x04 cut off", b""):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(UserError, match="broken.npz"):
            Trajectory.load(tmp_path / "broken.npz")


def test_sixteen_changed_bytes_are_found_by_the_checksum(tmp_path):
    """In any array, those too that stay in the file until a replay uses them."""
    trajectory = trained([0, 1], [3, 5])
    path = tmp_path / "trajectory.npz"
    trajectory.save(path)
    whole = path.read_bytes()
    for name, array in trajectory.arrays().items():
        stored = array.tobytes()[-16:]
        if len(stored) < 16:
            continue
        place = whole.rindex(stored)
        path.write_bytes(whole[:place] + bytes(255 - byte for byte in stored) + whole[place + 16 :])
        with pytest.raises(UserError, match="trajectory.npz"):
            Trajectory.load(path)
            pytest.fail(name)


# --- seeds together


TOGETHER = TogetherPerceptron("digits", evaluate_every=2, verify_every=4)


class Clipped(GradientDescent):
    """Sees one seed at a time."""

    def update(self, gradient, *rest):
        assert gradient.ndim == 1
        return super().update(gradient / np.linalg.norm(gradient), *rest)


RULES = [GradientDescent(0.5), Momentum(0.1), AcceleratedGradient(0.5, l2=0.1), Adam(0.01), Clipped(50.0)]


@pytest.mark.parametrize("rows", [300, 400, 1000])
def test_gradients_of_seeds_together_are_each_seeds_own(monkeypatch, rows):
    """In float64, where neither a missed block nor a wrong derivative hides behind rounding."""
    monkeypatch.setattr(together, "ROWS", rows)
    both, alone = TOGETHER.together(DATA, [3, 8]), [TASK.problem(DATA, seed) for seed in (3, 8)]
    parameters = both.initial()
    np.testing.assert_array_equal(parameters, [problem.initial() for problem in alone])
    parameters = parameters + np.random.default_rng(0).normal(0, 0.1, parameters.shape)  # biases too
    assert both.n_samples == alone[0].n_samples == both.recovered_samples(np.ones(3))
    gradients, scores = both.gradient(parameters, np.ones(3), 0), both.score(parameters.astype(np.float32))
    for i, problem in enumerate(alone):
        expected = problem.gradient(parameters[i], np.ones(3), 0)
        assert np.linalg.norm(gradients[i] - expected) < 1e-12 * np.linalg.norm(expected)
        own = problem.score(parameters[i].astype(np.float32))
        assert {name: scores[name][i] for name in own} == pytest.approx(own, rel=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_seeds_together_learn_what_each_learns_alone(rule):
    """Up to rounding: a step adds 400 terms of float32 in another order, some 1e-6 of the gradient."""
    given = (rule, DATA, [5, 6, 7], [9] * 3)
    found, expected = train(TOGETHER, *given), train(replace(TASK, evaluate_every=2), *given)
    assert found.evaluated.tolist() == [0, 2, 4, 6, 8, 9] and found.verified.tolist() == [0, 4, 8]
    moved = expected.parameters - expected.parameters[:, :1]
    far = np.linalg.norm(found.parameters - expected.parameters) / np.linalg.norm(moved)
    assert 0 < far < 1e-4
    np.testing.assert_allclose(found.scores["test_loss"], expected.scores["test_loss"], rtol=1e-4)
    differ = np.abs(found.scores["test_accuracy"] - expected.scores["test_accuracy"])
    assert differ.max() < 1.01 / len(DATA.y_test)


def test_seeds_that_differ_are_not_trained_together():
    for more in (([2, 3],), ([2, 2], np.array([[1.0, 0.5]]), np.zeros((2, 2), int))):
        with pytest.raises(ParameterError, match="together"):
            train(TOGETHER, GradientDescent(), DATA, [0, 1], *more)


def test_divergence_of_one_of_the_seeds_together_names_it():
    class Wild(TogetherPerceptron):
        def together(self, data, seeds):
            problem = super().together(data, seeds)
            start = problem.initial()
            start[1] *= 1e30
            problem.initial = lambda: start
            return problem

    with pytest.raises(ParameterError, match="diverged: seed 9 has"), warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's would be printed before the sentence
        train(Wild("digits"), GradientDescent(1e30), DATA, [4, 9], [3, 3])
