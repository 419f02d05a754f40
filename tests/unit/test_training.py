"""Weighted passes, optimisers and the training loop, on scikit-learn's digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy, linear, relu

from gcexp.data.load import Dataset
from gcexp.errors import ParameterError, UserError
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent, partition_edges, together
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.optimizers import AcceleratedGradient, Adam, Momentum
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.training import Trajectory, train


def digits(n_train: int) -> Dataset:
    x, y = load_digits(return_X_y=True)
    x = np.ascontiguousarray(x / 16, dtype=np.float32)
    return Dataset("digits", x[:n_train], y[:n_train], x[1500:], y[1500:], "")


DATA = digits(400)
TASK = MultilayerPerceptron("digits", verify_every=4)
PROBLEM = TASK.problem(DATA, 0)
START = PROBLEM.initial()


def relative(found, expected, gradients):
    return np.linalg.norm(found - expected) / np.sqrt((gradients**2).sum())


# --- partitions


@given(st.integers(1, 300), st.data())
def test_partitions_are_those_of_array_split(n_samples, drawn):
    k = drawn.draw(st.integers(1, n_samples))
    edges = partition_edges(n_samples, k)
    assert np.diff(edges).tolist() == [len(part) for part in np.array_split(np.arange(n_samples), k)]
    assert edges[0] == 0 and edges[-1] == n_samples


# --- the weighted pass


def test_the_last_partition_and_every_sample_take_part():
    gradients = PROBLEM.partition_gradients(START, 7, 0)
    assert np.linalg.norm(gradients, axis=1).min() > 0
    whole = PROBLEM.partition_gradients(START, 1, 0)
    np.testing.assert_allclose(gradients.sum(0), whole[0], atol=1e-10 * np.abs(whole).max())
    last = np.eye(7)[6]
    assert relative(PROBLEM.gradient(START, last, 0), gradients[6], gradients) < 1e-5
    assert [PROBLEM.recovered_samples(c) for c in (last, np.ones(7), -0.5 * np.eye(7)[0])] == [57, 400, 58]


def plain_descent(steps: int) -> np.ndarray:
    """Full-batch gradient descent as anyone would write it in torch."""
    features, hidden, classes = 64, 25, 10
    shapes = [(hidden, features), (hidden,), (classes, hidden), (classes,)]
    cuts = np.cumsum([np.prod(s) for s in shapes])[:-1]
    weights = [
        torch.tensor(p).view(s).requires_grad_() for p, s in zip(np.split(START, cuts), shapes, strict=True)
    ]
    order = rng(0, "data_order").permutation(400)
    x, y = torch.from_numpy(DATA.x_train[order]), torch.from_numpy(DATA.y_train[order])
    for _ in range(steps):
        output = linear(relu(linear(x, weights[0], weights[1])), weights[2], weights[3])
        cross_entropy(output, y, reduction="sum").backward()
        with torch.no_grad():
            for w in weights:
                w -= (0.5 / len(y)) * w.grad
                w.grad = None
    return np.concatenate([w.detach().numpy().ravel() for w in weights])


@pytest.mark.parametrize("k", [1, 7, 30])
def test_exact_training_has_the_bits_of_plain_torch(k):
    exact = {} if k == 1 else {"coefficients": np.ones((1, k)), "pattern": np.zeros((1, 9), dtype=int)}
    trajectory = train(TASK, GradientDescent(), DATA, [0], [9], **exact)
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
    output = linear(
        relu(linear(torch.tensor(DATA.x_test), torch.tensor(START[:1600]).view(25, 64))),
        torch.tensor(START[1625:1875]).view(10, 25),
    )
    labels = torch.tensor(DATA.y_test)
    score = PROBLEM.score(START)
    assert score["test_accuracy"] == (output.argmax(1) == labels).double().mean().item()
    assert score["test_loss"] == pytest.approx(cross_entropy(output, labels).item(), rel=1e-6)


CODED = {"coefficients": np.ones((1, 2)), "pattern": np.zeros((1, 2), int)}


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: MultilayerPerceptron("digits", hidden=0), "task.hidden"),
        (lambda: MultilayerPerceptron("digits", initial_std=0.0), "task.initial_std"),
        (lambda: MultilayerPerceptron("digits", evaluate_every=0), "task.evaluate_every"),
        (lambda: MultilayerPerceptron("digits", verify_every=-1), "task.verify_every"),
        (lambda: MultilayerPerceptron("mnist").problem(DATA, 0), "'mnist'.*'digits'"),
        (lambda: partition_edges(10, 0), "10.*k=0"),
        (lambda: partition_edges(10, 11), "10.*k=11"),
        (lambda: train(TASK, GradientDescent(), DATA, [0, 1], [3]), "steps"),
        (lambda: train(TASK, GradientDescent(), DATA, [0], [-1]), "steps"),
        (lambda: train(TASK, GradientDescent(), DATA, [0], [3], CODED["coefficients"]), "coefficients"),
        (lambda: train(TASK, GradientDescent(), DATA, [0], [3], **CODED), "pattern"),
        (lambda: train(TASK, GradientDescent(1e30), DATA, [0], [20]), "seed 0"),
    ],
)
def test_what_makes_no_sense_is_refused(act, named):
    with pytest.raises(ParameterError, match=named), np.errstate(all="ignore"):
        act()


# --- optimisers


def test_normalize_recovered_in_training():
    c = np.array([[1.0, 0.0, 1.0]])
    given = DATA, [0], [2], c, np.zeros((1, 2), int)
    trajectory = train(replace(TASK, verify_every=1), GradientDescent(0.3, "recovered"), *given)
    expected = START - 0.3 / PROBLEM.recovered_samples(c[0]) * PROBLEM.gradient(START, c[0], 0)
    np.testing.assert_allclose(trajectory.parameters[0, 1], expected, rtol=1e-6)


def test_normalize_recovered_refuses_real_coefficients_that_are_used():
    c = np.array([[1.0, 0.0], [1.0, 0.5]])
    train(TASK, GradientDescent(normalize="recovered"), DATA, [0], [2], c, np.array([[0, 0, 1]]))
    with pytest.raises(ParameterError, match="0.5.*normalize=total"):
        train(TASK, GradientDescent(normalize="recovered"), DATA, [0], [3], c, np.array([[0, 0, 1]]))


# --- the loop


def test_an_empty_decode_skips_the_update_and_counts():
    c = np.array([[1.0, 1.0], [0.0, 0.0]])
    trajectory = train(
        replace(TASK, verify_every=1), GradientDescent(), DATA, [0], [4], c, np.array([[0, 1, 1, 0]])
    )
    assert trajectory.skipped.tolist() == [2] and trajectory.evaluated.tolist() == [0, 1, 2, 3, 4]
    kept = trajectory.parameters[0]
    np.testing.assert_array_equal(kept[1], kept[2])
    np.testing.assert_array_equal(kept[1], kept[3])
    loss = trajectory.scores["test_loss"][0]
    assert loss[0] != loss[1] == loss[2] == loss[3] != loss[4]
    exact = train(replace(TASK, verify_every=1), GradientDescent(), DATA, [0], [2])
    assert exact.scores["test_loss"][0].tolist() == loss[[0, 1, 4]].tolist()


def test_evaluation_and_verification_grids():
    task = replace(TASK, evaluate_every=3, verify_every=2)
    trajectory = train(task, GradientDescent(), DATA, [3, 1], [7, 4])
    assert trajectory.evaluated.tolist() == [0, 3, 4, 6, 7]
    nan = np.isnan(trajectory.scores["test_accuracy"])
    assert nan.tolist() == [[False, False, True, False, False], [False, False, False, True, True]]
    assert trajectory.verified.tolist() == [0, 2, 4, 6]
    assert np.isnan(trajectory.parameters).all(2).tolist() == [[False] * 4, [False, False, True, True]]
    assert trajectory.parameters.dtype == np.float32
    alone = train(
        task, GradientDescent(), DATA, [1], [4]
    )  # a seed's values do not depend on the others in the job
    np.testing.assert_array_equal(alone.scores["test_loss"][0], trajectory.scores["test_loss"][1, :3])
    np.testing.assert_array_equal(alone.parameters[0], trajectory.parameters[1, :2])


def test_no_steps_give_the_first_score():
    trajectory = train(TASK, GradientDescent(), DATA, [0], [0])
    assert trajectory.evaluated.tolist() == [0] and trajectory.parameters.shape[1] == 0
    assert np.isfinite(trajectory.scores["test_loss"]).all()


def test_save_and_load(tmp_path):
    trajectory = train(TASK, GradientDescent(), DATA, [0, 1], [3, 5])
    trajectory.save(tmp_path / "new" / "trajectory.npz", config=np.array("more"))
    loaded = Trajectory.load(tmp_path / "new" / "trajectory.npz")
    assert loaded.scores.keys() == trajectory.scores.keys() == {"test_accuracy", "test_loss"}
    for name, values in trajectory.arrays().items():
        np.testing.assert_array_equal(loaded.arrays()[name], values)
        assert loaded.arrays()[name].dtype == values.dtype
    for content in (b"PK\x03\x04 cut off", b""):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(UserError, match="delete it and run again"):
            Trajectory.load(tmp_path / "broken.npz")


# --- seeds together


TOGETHER = TogetherPerceptron("digits", evaluate_every=2, verify_every=4)
RULES = [GradientDescent(0.5), Momentum(0.1), AcceleratedGradient(0.5, l2=0.1), Adam(0.01)]


@pytest.mark.parametrize("rows", [300, 400, 1000])
def test_gradients_of_seeds_together_are_each_seeds_own(monkeypatch, rows):
    """In float64, where neither a missed block nor a wrong derivative hides behind rounding."""
    monkeypatch.setattr(together, "ROWS", rows)
    both, alone = TOGETHER.together(DATA, [3, 8]), [TASK.problem(DATA, seed) for seed in (3, 8)]
    parameters = both.initial()
    np.testing.assert_array_equal(parameters, [problem.initial() for problem in alone])
    parameters = parameters + np.random.default_rng(0).normal(0, 0.1, parameters.shape)  # biases too
    assert both.n_samples == alone[0].n_samples == both.recovered_samples(np.ones(3))
    for found, start, problem in zip(
        both.gradient(parameters, np.ones(3), 0), parameters, alone, strict=True
    ):
        expected = problem.gradient(start, np.ones(3), 0)
        assert relative(found, expected, expected) < 1e-12
    scores = both.score(parameters.astype(np.float32))
    for i, problem in enumerate(alone):
        for name, value in problem.score(parameters[i].astype(np.float32)).items():
            assert scores[name][i] == pytest.approx(value, rel=1e-6), name


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
    one = 1 / len(DATA.y_test)
    np.testing.assert_allclose(
        found.scores["test_accuracy"], expected.scores["test_accuracy"], atol=1.01 * one
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"steps": [2, 3]},
        {"steps": [2, 2], "coefficients": np.array([[1.0, 0.5]]), "pattern": np.zeros((2, 2), int)},
    ],
    ids=["steps", "coefficients"],
)
def test_seeds_that_differ_are_not_trained_together(arguments):
    with pytest.raises(ParameterError, match="trains all seeds together"):
        train(TOGETHER, GradientDescent(), DATA, [0, 1], **arguments)


def test_divergence_of_one_of_the_seeds_together_names_it():
    class Wild(TogetherPerceptron):
        def together(self, data, seeds):
            problem = super().together(data, seeds)
            start = problem.initial()
            start[1] *= 1e30
            problem.initial = lambda: start
            return problem

    with pytest.raises(ParameterError, match="diverged: seed 9 has"), np.errstate(all="ignore"):
        train(Wild("digits"), GradientDescent(1e30), DATA, [4, 9], [3, 3])


def test_a_rule_sees_one_seed_at_a_time():
    class Clipped(GradientDescent):
        def update(self, gradient, *rest):
            assert gradient.ndim == 1
            return super().update(gradient / np.linalg.norm(gradient), *rest)

    given = (Clipped(50.0), DATA, [0, 1], [3, 3])
    found, expected = (train(task, *given).scores["test_loss"][:, -1] for task in (TOGETHER, TASK))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
