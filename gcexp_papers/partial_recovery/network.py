"""Whether the network of Sec. IX of Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) is what is trained here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gcexp.data import Dataset
from gcexp.tasks.optimizers import GradientDescent

_HIDDEN, _PIXELS, _DIGITS, _ROWS = 25, 784, 10, 40


def network() -> Iterator[tuple[str, bool]]:
    """Size, loss and step rule, on random images of the size of the MNIST digits.

    Yields
    ------
    tuple of str and bool
        What is checked, and whether it is so.
    """
    from gcexp.tasks.mlp import MultilayerPerceptron  # torch: a plan only looks at the function's arguments

    random = np.random.default_rng(0)
    images = random.random((_ROWS, _PIXELS), dtype=np.float32)
    digits = np.arange(_ROWS, dtype=np.int64) % _DIGITS
    data = Dataset("mnist", images, digits, images, digits, "")
    problem = MultilayerPerceptron("mnist").problem(data, seed=0)
    start = problem.initial()
    size = _HIDDEN * (_PIXELS + 1) + _DIGITS * (_HIDDEN + 1)
    yield "two layers with 25 hidden nodes: 19885 weights", len(start) == size == 19885

    def loss(parameters: np.ndarray) -> float:
        """Cross-entropy of the perceptron: an independent second computation that torch's gradient is compared with."""
        cuts = np.cumsum([_HIDDEN * _PIXELS, _HIDDEN, _DIGITS * _HIDDEN])
        W1, b1, W2, b2 = np.split(parameters, cuts)
        hidden = np.maximum(images @ W1.reshape(_HIDDEN, _PIXELS).T + b1, 0)
        output = hidden @ W2.reshape(_DIGITS, _HIDDEN).T + b2
        peak = output.max(1, keepdims=True)
        normal = peak[:, 0] + np.log(np.exp(output - peak).sum(1))
        return float((normal - output[np.arange(_ROWS), digits]).sum())

    gradient = problem.partition_gradients(start, 4, 0).sum(0)
    at = start.astype(np.float64)
    for place in random.choice(len(start), 12, replace=False):
        step = np.zeros(len(start))
        step[place] = 1e-6
        slope = (loss(at + step) - loss(at - step)) / 2e-6
        right = abs(slope - gradient[place]) <= 1e-4 * max(1.0, abs(slope))
        yield "cross-entropy: the gradient is its slope", right
    rule, at = GradientDescent(), start
    state, steps = rule.init(at), []
    for _ in range(3):
        moved, state = rule.update(gradient, state, at, n_samples=_ROWS, recovered=_ROWS)
        steps.append(at - moved)
        at = moved
    for step in steps:
        right = np.allclose(step, rule.learning_rate / _ROWS * gradient, atol=1e-9)
        yield "gradient descent with one constant step", right
