"""What float32 does to a gradient is explained by kinks and roundings, and what they do not explain is a defect."""

from copy import copy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from gcexp.codes import Code, CyclicRepetition, Uncoded
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.data import Dataset, load, prepare
from gcexp.delays import Draws, Pareto
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


@pytest.fixture(scope="module")
def kinked(data):
    """An exact run in which one unit of one sample falls on the other side of its kink at iteration 1100."""
    code = CyclicRepetition(n=10, s=4)
    timeline = simulate(Scheme(code, Fastest(s=4)), Pareto(1.0, 1.2).draw((1,), 1101, 10))
    whole = train(TASK, GradientDescent(), data, (1,), (1101,), progress=False)
    few = [0, 1100]  # checks are the expensive part
    return (
        code,
        timeline,
        replace(whole, verified=np.array(few), parameters=whole.parameters[:, [t // 100 for t in few]]),
    )


def test_a_unit_at_its_kink_raises_no_alarm(data, kinked):
    code, timeline, trajectory = kinked
    problem, w = TASK.problem(data, 1), trajectory.parameters[0, 1]
    exact = problem.partition_gradients(w, 10, 0)
    raw = np.linalg.norm(problem.gradient(w, np.ones(10), 0) - exact.sum(0)) / np.sqrt((exact**2).sum())
    report = verify_decoding(lambda seed: code, timeline, trajectory, TASK, data)
    assert report["passed"] and report["rounding_error"] < 1e-5
    if raw > 1e-4:  # on this machine's matrix products, as where the case was found
        assert report["checks"][1]["kinks"] >= 1
    assert report["rounding_bound"] < 1e-4  # so that a coefficient off by 1e-3 has no room


DEFECTS = ["one partition left out", "a coefficient off by 1e-3", "two workers swapped"]


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("when", [0, 1], ids=["start", "late, at a kink"])
@pytest.mark.parametrize("where", ["training", "both passes", "workers"])
def test_a_planted_defect_is_caught(data, kinked, monkeypatch, defect, when, where):
    code, timeline, trajectory = kinked
    trajectory = replace(
        trajectory, verified=trajectory.verified[[when]], parameters=trajectory.parameters[:, [when]]
    )

    def spoilt(c):
        c = np.array(c, float)
        if defect == "one partition left out":
            c[6] = 0
        elif defect == "a coefficient off by 1e-3":
            c[6] *= 1.001
        else:
            c[3] += 0.5  # the shares of two workers exchanged: what each partition gets is another number
            c[6] -= 0.5
        return c

    plain = PerceptronProblem.gradient
    if where == "workers":
        if defect == "two workers swapped":
            swapped = np.arange(10)
            swapped[[3, 6]] = 6, 3
            monkeypatch.setattr(type(code), "encode", lambda self, g: (self.encoding @ g)[swapped])
        else:
            monkeypatch.setattr(
                type(code), "encode", lambda self, g: self.encoding @ (spoilt(np.ones(10))[:, None] * g)
            )
    else:
        wrong = (np.float32,) if where == "training" else (np.float32, np.float64)

        def gradient(self, w, c, t):
            return plain(self, w, spoilt(c) if w.dtype in wrong else c, t)

        monkeypatch.setattr(PerceptronProblem, "gradient", gradient)
    report = verify_decoding(lambda seed: code, timeline, trajectory, TASK, data)
    assert not report["passed"] and report["failures"]


def test_float32_encoding_of_an_ill_conditioned_code_is_caught(data, monkeypatch):
    code = CommunicationEfficient(n=20, d=6, m=5, theta_order="ascending")
    timeline = simulate(Scheme(code, Fastest(s=1)), Pareto(1.0, 1.2).draw((0,), 1, 20))
    trajectory = train(TASK, GradientDescent(), data, (0,), (1,), progress=False)
    assert verify_decoding(lambda seed: code, timeline, trajectory, TASK, data)["passed"]

    def single(self, gradients):
        encoding = self.encoding.astype(np.float32)
        blocked = np.pad(gradients, ((0, 0), (0, -gradients.shape[1] % self.blocks))).astype(np.float32)
        return (encoding @ blocked.reshape(self.k * self.blocks, -1)).astype(np.float64)

    monkeypatch.setattr(type(code), "encode", single)
    report = verify_decoding(lambda seed: code, timeline, trajectory, TASK, data)
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
        draws = Draws((0,), (1, 1, code.n), start=np.ones(code.n))
        timeline = simulate(Scheme(code, Fastest(s=0)), draws)
        kept = Trajectory(once, once + 1, once, {}, once, self.parameters[None, None], once)
        task = SimpleNamespace(problem=lambda data, seed: problem)
        return verify_decoding(lambda seed: code, timeline, kept, task, self.data)["failures"]

    def summed(self) -> float:
        """Size of all terms that the gradient of a linear model sums, those of its outputs among them."""
        order, sizes = self.problem.rows(0), [len(part) for part in np.array_split(self.y, len(self.c))]
        x, y = np.c_[self.x.astype(float), np.ones(len(self.y))][order], self.y[order]
        classes = (len(self.parameters)) // x.shape[1]
        weights, biases = np.split(self.parameters.astype(float), [-classes])
        w = np.c_[weights.reshape(classes, -1), biases]
        terms, length = np.abs(x) @ np.abs(w).T, np.linalg.norm(x, axis=1)
        if self.real:
            each = 2 * (terms[:, 0] + np.abs(y))
        else:
            p = softmax(x @ w.T, axis=1)
            each = 2 + (p * (1 - p) * terms).sum(1)
        return float(np.repeat(np.abs(self.c), sizes) @ (length * each))


@pytest.mark.slow
def test_rounding_is_bounded_by_what_is_summed():
    """A regression on 2000 samples was called a defect over a rounding error of 2.6e-6."""
    linear = 0
    for seed in range(40):
        drawn = Drawn(seed)
        assert not drawn.checked(0.0), seed
        if not drawn.hidden:
            assert drawn.checked(1e-4 * drawn.summed()), seed
            linear += 1
    assert linear > 13


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
    task = TorchTask(
        "digits", SmallCNN, nn.CrossEntropyLoss(reduction="none"), (1, 8, 8), batch=40, device="cpu"
    )
    code = Uncoded(4)
    timeline = simulate(Scheme(code, Fastest(s=0)), Pareto().draw((0,), 1, 4))
    trajectory = train(task, GradientDescent(), data, (0,), (1,), progress=False)
    assert verify_decoding(lambda seed: code, timeline, trajectory, task, data)["passed"]

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, 1.0 + 1e-8]))

        def forward(self, x):
            both = torch.stack([self.weight[0] * x[:, 0], self.weight[1] * x[:, 0]], -1)
            square = nn.functional.pad(both.reshape(-1, 1, 2, 1), (0, 1))
            return nn.functional.max_pool2d(square, 2).flatten(1)

    near = TorchTask("digits", Pool, lambda o, y: o[:, 0], batch=5, device="cpu", shape=(64,))
    big = replace(data, x_train=data.x_train + 1)
    found = near.problem(big, 0).rounding(np.array([1.0, 1.0 + 1e-8]), np.ones(1), 0)
    assert len(found.jumps) == 5 and np.allclose(np.abs(found.jumps), 1)


def test_a_task_in_float32_is_replayed_in_float32(data):
    task = MultilayerPerceptron("digits", verify_every=1)
    code = Uncoded(n=5)
    timeline = simulate(Scheme(code, Fastest(s=0)), Pareto(1.0, 1.2).draw((0,), 2, 5))
    trajectory = train(task, GradientDescent(), data, (0,), (2,), progress=False)

    class Single(PerceptronProblem):
        precision = np.float32

        def partition_gradients(self, parameters, k, iteration):
            return np.stack([self.gradient(parameters, np.eye(k)[i], iteration) for i in range(k)])

    problem = task.problem(data, 0)
    problem.__class__ = Single
    wrapped = SimpleNamespace(problem=lambda data, seed: problem)
    report = verify_decoding(lambda seed: code, timeline, trajectory, wrapped, data)
    assert report["passed"] and report["rounding_bound"] == 1e-4 and report["weighted_error"] == 0
    spoilt = partial(PerceptronProblem.gradient, problem)
    problem.gradient = lambda w, c, t: spoilt(w, c * np.array([1, 1, 1, 1.002, 1]) if c.all() else c, t)
    assert not verify_decoding(lambda seed: code, timeline, trajectory, wrapped, data)["passed"]


def test_every_seed_that_failed_is_named():
    sentences = [f"seed {s}, iteration {t}: too large" for s in (2, 7, 9) for t in (0, 100)]
    told = failure(sentences)
    assert all(f"seed {s}, iteration 0" in told for s in (2, 7, 9)) and told.count("and 1 more") == 3
