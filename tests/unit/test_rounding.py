"""What float32 does to a gradient is explained by kinks and roundings, and what they do not explain is a defect."""

from copy import copy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from gcexp.codes import Code, CyclicRepetition, Uncoded
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.data import Dataset, load, prepare
from gcexp.delays import Pareto
from gcexp.run.verification import failure, verify_decoding
from gcexp.schemes import Fastest, Scheme
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent
from gcexp.tasks.mlp import MultilayerPerceptron, PerceptronProblem
from gcexp.tasks.networks import SmallCNN
from gcexp.tasks.torch_problem import TorchProblem
from gcexp.tasks.torch_task import TorchTask
from gcexp.tasks.training import Trajectory, train
from gcexp.timeline import simulate

TASK = MultilayerPerceptron("digits", evaluate_every=10**6, verify_every=100)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    prepare("digits", path)
    return load(path)


def trained(data, code, s=0, task=TASK, seed=0, iterations=1):
    """A training by gradient descent on the clock of a code."""
    timeline = simulate(Scheme(code, Fastest(s=s)), Pareto(1.0, 1.2).draw((seed,), iterations, code.n))
    trajectory = train(task, GradientDescent(), data, (seed,), (iterations,), progress=False)
    return lambda seed: code, timeline, trajectory


@pytest.fixture(scope="module")
def kinked(data):
    """An exact run in which one unit of one sample falls on the other side of its kink at iteration 1100."""
    *run, whole = trained(data, CyclicRepetition(n=10, s=4), 4, seed=1, iterations=1101)
    few = np.array([0, 1100])  # checks are the expensive part
    return *run, replace(whole, verified=few, parameters=whole.parameters[:, few // 100])


def test_a_unit_at_its_kink_raises_no_alarm(data, kinked):
    problem, w = TASK.problem(data, 1), kinked[2].parameters[0, 1]
    exact = problem.partition_gradients(w, 10, 0)
    raw = np.linalg.norm(problem.gradient(w, np.ones(10), 0) - exact.sum(0)) / np.sqrt((exact**2).sum())
    report = verify_decoding(*kinked, TASK, data)
    assert report["passed"] and report["rounding_error"] < 1e-5
    if raw > 1e-4:  # on this machine's matrix products, as where the case was found
        assert report["checks"][1]["kinks"] >= 1
    assert report["rounding_bound"] < 1e-4  # so that a coefficient off by 1e-3 has no room


third, sixth = np.eye(10)[[3, 6]]
#: What becomes of the coefficients of ten partitions.
DEFECTS = {
    "one partition left out": lambda c: c * (1 - sixth),
    "a coefficient off by 1e-3": lambda c: c * (1 + 1e-3 * sixth),
    "two workers swapped": lambda c: c + 0.5 * (third - sixth),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("when", [0, 1], ids=["start", "late, at a kink"])
@pytest.mark.parametrize("where", ["training", "both passes", "workers"])
def test_a_planted_defect_is_caught(data, kinked, monkeypatch, defect, when, where):
    *run, trajectory = kinked
    verified, parameters = trajectory.verified[[when]], trajectory.parameters[:, [when]]
    trajectory = replace(trajectory, verified=verified, parameters=parameters)
    spoilt, plain = DEFECTS[defect], PerceptronProblem.gradient

    def gradient(self, w, c, t):
        return plain(self, w, spoilt(c) if where == "both passes" or w.dtype == np.float32 else c, t)

    def encode(self, g):
        if defect == "two workers swapped":
            return (self.encoding @ g)[[0, 1, 2, 6, 4, 5, 3, 7, 8, 9]]
        return self.encoding @ (spoilt(np.ones(10))[:, None] * g)

    if where == "workers":
        monkeypatch.setattr(CyclicRepetition, "encode", encode)
    else:
        monkeypatch.setattr(PerceptronProblem, "gradient", gradient)
    report = verify_decoding(*run, trajectory, TASK, data)
    assert not report["passed"] and report["failures"]


def test_float32_messages_of_an_ill_conditioned_code_is_caught(data, monkeypatch):
    run = trained(data, CommunicationEfficient(n=20, d=6, m=5, theta_order="ascending"), 1)
    assert verify_decoding(*run, TASK, data)["passed"]
    plain = CommunicationEfficient.encode

    def single(self, gradients):
        return plain(self, gradients).astype(np.float32)

    monkeypatch.setattr(CommunicationEfficient, "encode", single)
    report = verify_decoding(*run, TASK, data)
    assert not report["passed"] and report["decoded_error"] > 1e-3


class Plain(Code):
    """Adds up what it gets."""

    def weights(self, responses):
        return responses.astype(float)


class Drawn:
    """A random problem: features and targets of any size and offset, a network of at most one layer, or the optimum."""

    def __init__(self, seed: int):
        draw = np.random.default_rng(seed)
        N, d = int(draw.choice([50, 200, 500, 2000])), int(draw.choice([1, 3, 10, 30, 100]))
        scale = 10 ** draw.uniform(-2, 3)
        x = scale * (
            draw.standard_normal((N, d)) * 10 ** draw.uniform(-1, 1, d) + draw.choice([0, 1, 10, 100])
        )
        self.x = x.astype(np.float32)
        z = self.x @ (draw.standard_normal(d) / np.abs(self.x).max(0))
        self.real, outputs = bool(draw.integers(2)), 1
        if self.real:
            y = z / z.std() * 10 ** draw.uniform(-2, 3)
            y += y.std() * 10 ** draw.uniform(-4, 1) * draw.standard_normal(N)
            self.y = y + draw.choice([0, 0, 100]) * np.abs(y).max()
            loss = nn.MSELoss(reduction="none")
        else:
            outputs = int(draw.choice([2, 3, 10]))
            self.y = np.digitize(z, np.quantile(z, np.linspace(0, 1, outputs + 1)[1:-1]))
            loss = nn.CrossEntropyLoss(reduction="none")
        self.hidden, unit = int(draw.choice([0, 0, 8, 32])), (nn.ReLU, nn.Tanh)[draw.integers(2)]

        def make():
            if not self.hidden:
                return nn.Linear(d, outputs)
            return nn.Sequential(nn.Linear(d, self.hidden), unit(), nn.Linear(self.hidden, outputs))

        self.data = Dataset("drawn", self.x, self.y, self.x[:5], self.y[:5], "")
        self.problem = TorchProblem(make, loss, self.data, seed, device="cpu")
        self.parameters = self.problem.initial() * np.float32(10 ** draw.uniform(-1, 1))
        if self.real and not self.hidden and draw.integers(3):
            whole = np.c_[self.x.astype(float), np.ones(N)]
            self.parameters = np.linalg.lstsq(whole, self.y)[0].astype(np.float32)
        k = int(draw.choice([4, 10, 20]))
        self.c = np.ones(k) if draw.integers(2) else draw.standard_normal(k)
        self.direction = draw.standard_normal(len(self.parameters))

    def checked(self, defect: float) -> list[str]:
        """What fails where the pass of training is off by so much, in any direction."""
        off, problem = self.direction / np.linalg.norm(self.direction) * defect, copy(self.problem)
        plain = self.problem.gradient
        problem.gradient = lambda w, c, t: plain(w, c, t) + np.asarray(off * (w.dtype == np.float32), w.dtype)
        code, once = Plain(np.diag(self.c), promise="linear"), np.array([0])
        timeline = simulate(Scheme(code, Fastest(s=0)), Pareto().draw((0,), 1, code.n))
        kept = Trajectory(once, once + 1, once, {}, once, self.parameters[None, None], once)
        task = SimpleNamespace(problem=lambda data, seed: problem)
        return verify_decoding(lambda seed: code, timeline, kept, task, self.data)["failures"]

    def summed(self) -> float:
        """Size of all terms that the gradient without a hidden layer sums, those of its outputs among them."""
        order, w = self.problem.rows(0), np.abs(self.parameters.astype(float))
        x = np.c_[self.x.astype(float), np.ones(len(self.y))][order]
        outputs = np.c_[
            w[: -(len(w) // x.shape[1])].reshape(-1, self.x.shape[1]), w[-(len(w) // x.shape[1]) :]
        ]
        aims = np.abs(self.y)[order] if self.real else 1.0
        each = 2 * np.linalg.norm(x, axis=1) * ((np.abs(x) @ outputs.T).max(1) + aims)
        return sum(np.abs(self.c) * [part.sum() for part in np.array_split(each, len(self.c))])


@pytest.mark.slow
def test_rounding_is_bounded_by_what_is_summed():
    """A regression on 2000 samples was called a defect over a rounding error of 2.6e-6."""
    tried = {True: 0, False: 0}  # regressions and classifiers whose defect must be seen
    for seed in range(40):
        drawn = Drawn(seed)
        assert not drawn.checked(0.0), seed
        if not drawn.hidden:
            assert drawn.checked(1e-4 * drawn.summed()), seed
            tried[drawn.real] += 1
    assert min(tried.values()) >= 6


def test_jumps_are_what_a_unit_changes(data):
    """A unit put exactly at its kink by its bias: the jump found is the difference of the two one-sided gradients."""
    problem = TASK.problem(data, 0)
    w = problem.initial().astype(np.float64)
    x = data.x_train[rng(0, "data_order").permutation(len(data.x_train))].astype(np.float64)
    W1, b1 = w[: 25 * 64].reshape(25, 64), w[25 * 64 : 25 * 65]
    b1[7] = -(x[3] @ W1[7])
    found = problem.rounding(w, np.ones(10), 0)
    sides = []
    for shift in (1e-7, -1e-7):
        b1[7] = -(x[3] @ W1[7]) + shift
        sides.append(problem.gradient(w, np.ones(10), 0))
    jump = sides[0] - sides[1]
    near = [np.linalg.norm(one - jump) / np.linalg.norm(jump) for one in found.jumps]
    assert min(near) < 1e-3 and len(near) < 5
    assert found.more == 0 and found.noise > 0


def test_pooled_maxima_are_watched_too(data):
    loss = nn.CrossEntropyLoss(reduction="none")
    task = TorchTask("digits", SmallCNN, loss, (1, 8, 8), batch=40, device="cpu")
    assert verify_decoding(*trained(data, Uncoded(4), task=task), task, data)["passed"]

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, 1.0 + 1e-8]))

        def forward(self, x):
            both = torch.stack([self.weight[0] * x[:, 0], self.weight[1] * x[:, 0]], -1)
            columns = both.reshape(
                -1, 1, 2, 1
            )  # of the first window the left one, of the second the right one
            windows = nn.functional.pad(columns, (0, 1)), nn.functional.pad(3 * columns, (1, 0))
            above = torch.cat(windows, -1)
            return nn.functional.max_pool2d(torch.cat([above, 5 * above], -2), 2).flatten(1)

    near = TorchTask("digits", Pool, lambda o, y: o.sum(1), batch=5, device="cpu", shape=(64,))
    big = replace(data, x_train=data.x_train + 1)
    found = near.problem(big, 0).rounding(np.array([1.0, 1.0 + 1e-8]), np.ones(1), 0)
    assert np.allclose(np.abs(found.jumps), np.tile([[1], [3], [5], [15]], (5, 2)))


def test_a_task_in_float32_is_replayed_in_float32(data):
    task = MultilayerPerceptron("digits", verify_every=1)
    run = trained(data, Uncoded(5), task=task, iterations=2)

    class Single(PerceptronProblem):
        precision = np.float32

        def partition_gradients(self, parameters, k, iteration):
            return np.stack([self.gradient(parameters, np.eye(k)[i], iteration) for i in range(k)])

    problem = task.problem(data, 0)
    problem.__class__ = Single
    wrapped = SimpleNamespace(problem=lambda data, seed: problem)
    report = verify_decoding(*run, wrapped, data)
    assert report["passed"] and report["rounding_bound"] == 1e-4 and report["weighted_error"] == 0
    spoilt = partial(PerceptronProblem.gradient, problem)
    problem.gradient = lambda w, c, t: spoilt(w, c * np.array([1, 1, 1, 1.002, 1]) if c.all() else c, t)
    assert not verify_decoding(*run, wrapped, data)["passed"]


def test_every_seed_that_failed_is_named():
    sentences = [f"seed {s}, iteration {t}: too large" for s in (2, 7, 9) for t in (0, 100)]
    told = failure(sentences)
    assert all(f"seed {s}, iteration 0" in told for s in (2, 7, 9)) and told.count("and 1 more") == 3
