"""Update rules against torch's, against formulas written out, and resumed bit by bit."""

import numpy as np
import pytest
import torch

from gcexp.errors import ParameterError
from gcexp.tasks.optimizers import AcceleratedGradient, Adam, GradientDescent, Momentum
from gcexp.tasks.schedules import Cosine, StepDecay
from tests.conftest import refusals

N, RECOVERED, UPDATES = 12, 7, 25


def gradients(w, u):
    """Of a quadratic with a wobble, as a sum over N samples."""
    scales = np.array([1.0, 0.3, 2.0])
    return N * (scales * (w - [1, -2, 0.5]) + np.sin(u))


def followed(rule, dtype=np.float64):
    w = np.array([0.5, 0.1, -1.0], dtype)
    state, path = rule.init(w), []
    for u in range(UPDATES):
        given = w.copy(), {name: np.array(array) for name, array in state.items()}
        new, after = rule.update(gradients(w, u).astype(dtype), state, w, N, RECOVERED)
        np.testing.assert_array_equal(w, given[0])  # nothing is changed in place
        for name, array in given[1].items():
            np.testing.assert_array_equal(state[name], array)
        w, state = new, after
        assert w.dtype == dtype and all(a.dtype == dtype for name, a in state.items() if name != "updates")
        path.append(w)
    return np.array(path)


def torch_path(optimizer, given, schedule=None, *of_schedule):
    w = torch.tensor([0.5, 0.1, -1.0], dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, optimizer)([w], **given)
    scheduler = getattr(torch.optim.lr_scheduler, schedule or "ConstantLR")(optimizer, *of_schedule or (1,))
    path = []
    for u in range(UPDATES):
        w.grad = torch.from_numpy(gradients(w.detach().numpy(), u) / N)
        optimizer.step()
        scheduler.step()
        path.append(w.detach().numpy().copy())
    return np.array(path)


@pytest.mark.parametrize(
    ("rule", "theirs"),
    [
        (GradientDescent(0.2), ("SGD", {"lr": 0.2})),
        (Momentum(0.1, 0.0), ("SGD", {"lr": 0.1})),
        (Momentum(0.1, 0.9, weight_decay=0.3), ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3})),
        (Momentum(0.1, 0.8, True), ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True})),
        (Adam(0.05), ("Adam", {"lr": 0.05})),
        (Adam(0.05, 0.8, 0.99, 1e-3), ("Adam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-3})),
        (Adam(0.05, weight_decay=0.2), ("Adam", {"lr": 0.05, "weight_decay": 0.2})),
        (Adam(0.05, weight_decay=0.2, decoupled=True), ("AdamW", {"lr": 0.05, "weight_decay": 0.2})),
        (
            Momentum(0.1, schedule=StepDecay(4, 0.5)),
            ("SGD", {"lr": 0.1, "momentum": 0.9}, "StepLR", 4, 0.5),
        ),
        (Adam(0.1, schedule=Cosine(UPDATES, 0, 0.25)), ("Adam", {"lr": 0.1}, "CosineAnnealingLR", 25, 0.025)),
    ],
    ids=repr,
)
def test_as_torch_updates(rule, theirs):
    np.testing.assert_allclose(followed(rule), torch_path(*theirs), rtol=1e-10)


def test_accelerated_gradient_written_out():
    """The update of the specification, with alpha = 1 / N."""
    eta, alpha = 0.2, 1 / N
    beta = u = np.array([0.5, 0.1, -1.0])
    path = []
    for i in range(UPDATES):
        theta = 2 / (i + 2)
        new = (1 - theta) * beta + theta * u - eta / N * gradients(beta, i) - 2 * alpha * eta * beta
        u = beta + (new - beta) / theta
        beta = new
        path.append(beta)
    np.testing.assert_allclose(followed(AcceleratedGradient(eta, 1.0)), path, rtol=1e-11)


@pytest.mark.parametrize(
    "rule",
    [GradientDescent(0.1), Momentum(0.1), AcceleratedGradient(0.1), Adam(0.1)],
    ids=lambda r: type(r).__name__,
)
def test_float32_stays_float32_and_recovered_divides(rule):
    np.testing.assert_allclose(followed(rule, np.float32), followed(rule), rtol=2e-3, atol=2e-4)
    other = type(rule)(0.1, normalize="recovered")
    plain = type(rule)(0.1, **({"l2": N / RECOVERED} if isinstance(rule, AcceleratedGradient) else {}))
    w, g = np.array([1.0, 2.0]), np.array([3.0, -5.0])
    found, _ = other.update(g, other.init(w), w, N, RECOVERED)
    scaled, _ = plain.update(g * N / RECOVERED, plain.init(w), w, N, RECOVERED)
    np.testing.assert_allclose(found, scaled)
    with pytest.raises(ParameterError, match="coefficients must be 0 or 1"):
        other.check(np.array([[0.5]]))


test_numbers_out_of_range_are_refused = refusals(
    (lambda: Momentum(0.0), "learning_rate"),
    (lambda: Momentum(momentum=1.0), "momentum"),
    (lambda: Momentum(weight_decay=-1.0), "weight_decay"),
    (lambda: Adam(beta2=1.0), "beta2"),
    (lambda: Adam(epsilon=0.0), "epsilon"),
    (lambda: AcceleratedGradient(l2=-1.0), "l2"),
    (lambda: Adam(normalize="all"), "normalize"),
    (lambda: StepDecay(0), "every"),
    (lambda: Cosine(4, 4), "warmup"),
    (lambda: Cosine(4, final=2), "final"),
)
