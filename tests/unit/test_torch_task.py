"""Any torch module by an option file: the small network, real targets, and what is refused."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from gcexp.data import Dataset, prepare
from gcexp.data.load import load
from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent
from gcexp.tasks.networks import SmallCNN
from gcexp.tasks.torch_task import TorchTask
from gcexp.tasks.training import train


def noise(targets="labels"):
    draw = np.random.default_rng(0)
    x = draw.standard_normal((60, 6)).astype(np.float32)
    y = draw.integers(0, 3, 60) if targets == "labels" else x @ np.arange(6.0)
    return Dataset("noise", x[:40], y[:40], x[40:], y[40:], "")


def linear(outputs=3, **more):
    loss = nn.CrossEntropyLoss(reduction="none") if outputs > 1 else nn.MSELoss(reduction="none")
    return TorchTask("noise", partial(nn.Linear, 6, outputs), loss, **more)


def test_the_small_network_by_its_option_file(tmp_path):
    prepare("digits", tmp_path / "digits.npz")
    task = build(compose(["task=small_cnn", "scheme=uncoded"]), "task")
    data = load(tmp_path / "digits.npz")
    problem = task.problem(data, 0)
    w = problem.initial()
    assert w.shape == (9930,) and (w != task.problem(data, 1).initial()).any()
    ones = [problem.gradient(w, np.ones(k), 0) for k in (1, 20)]
    np.testing.assert_array_equal(*ones)  # one exact trajectory serves every k


@pytest.mark.slow
def test_it_learns(tmp_path):
    prepare("digits", tmp_path / "digits.npz")
    task = build(compose(["task=small_cnn", "scheme=uncoded", "task.evaluate_every=60"]), "task")
    found = train(task, GradientDescent(0.1), load(tmp_path / "digits.npz"), [0], [60], progress=False)
    assert found.scores["test_accuracy"][0, -1] > 0.7


def test_real_targets_with_one_output():
    """(N, 1) outputs and (N,) targets are not broadcast to (N, N)."""
    data, task = noise("real"), linear(1)
    problem = task.problem(data, 2)
    w = problem.initial().astype(float)
    order = rng(2, "data_order").permutation(40)
    x, y = data.x_train[order].astype(float), data.y_train[order]
    residual = x @ w[:6] + w[6] - y
    expected = np.r_[2 * x.T @ residual, 2 * residual.sum()]
    np.testing.assert_allclose(problem.gradient(w, np.ones(4), 0), expected, rtol=1e-10)
    assert set(problem.score(problem.initial())) == {"test_loss"}
    found = train(task, GradientDescent(0.1), data, [2], [200], progress=False)
    assert found.scores["test_loss"][0, -1] < 1e-3 * found.scores["test_loss"][0, 0]


CROSS = nn.CrossEntropyLoss(reduction="none")


@pytest.mark.parametrize(
    ("task", "named"),
    [
        (TorchTask("noise", partial(nn.Linear, 6, 3), nn.CrossEntropyLoss()), "reduction='none'"),
        (TorchTask("noise", lambda: nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.1)), None), "dropout"),
        (TorchTask("other", None, None), "'other'"),
        (linear(shape=(2, 4)), "task.shape .*8 .*6"),
        (linear(shape=(2, 3)), r"\(2, 3\)"),
        (linear(2), "targets 0 to 2"),
        # One output against labels: the squares of all pairs were summed.
        (replace(linear(1), loss=nn.MSELoss(reduction="none")), r"\(N, 1\)"),
        (TorchTask("noise", partial(nn.Linear, 5, 3), CROSS), r"\(6,\)"),
        (TorchTask("noise", partial(nn.LSTM, 6, 3), nn.MSELoss()), "tuple"),
    ],
    ids=["loss", "dropout", "data", "size", "shape", "classes", "spread", "inputs", "tuple"],
)
def test_what_cannot_be_trained_is_refused(task, named):
    with pytest.raises(ParameterError, match=named):
        problem = task.problem(noise(), 0)
        problem.gradient(problem.initial(), np.ones(1), 0)


def test_a_module_is_spelled_in_the_option_file():
    config = compose(["task=torch", "scheme=uncoded"])
    assert isinstance(build(config, "task").module(), nn.Linear)
    config["task"]["module"] = {"_target_": "torch.nn.Linear", "_partial_": True, "in_feature": 3}
    with pytest.raises(UserError, match="'in_feature'.*'in_features'"):
        build(config, "task")
    config["task"]["module"] = {"_target_": "torch.nn.Linear", "_partial_": True, "in_features": 3}
    with pytest.raises(UserError, match="'out_features'"):
        build(config, "task")


def test_small_network_counts():
    assert sum(p.numel() for p in SmallCNN(3, 32, 10).parameters()) == 448 + 4640 + 32 * 256 * 10 + 10
    assert SmallCNN(3, 6, 4)(torch.zeros(2, 3, 6, 6)).shape == (2, 4)
