"""Classification with a multilayer perceptron of one hidden layer, in torch.

No `gcexp.tasks.torch_problem.TorchProblem`: published curves start from numpy's initial weights, and a step on 60,000
images within a few percent of plain torch needs the samples in order beforehand, taken as slices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import cross_entropy, linear, relu

from gcexp.errors import require, require_known
from gcexp.seeding import rng
from gcexp.tasks.base import Settings, Sliced, partition_edges, spans
from gcexp.tasks.devices import DEVICES, device_of, flat_of, leaves_of

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: One more slice in a weighted pass costs about as much as this many samples x parameters (measured: 0.1 ms).
SLICE_COST = 1_000_000


@dataclass(frozen=True)
class MultilayerPerceptron(Settings):
    """One hidden layer of rectified linear units, cross-entropy summed over samples.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    hidden : int
        Hidden units.
    initial_std : float
        Weights start as N(0, initial_std^2), biases as 0.
    device : {"auto", "cpu", "cuda", "mps"}
        See `gcexp.tasks.devices.device_of`; published curves are those of the processor.
    evaluate_every, verify_every : int
        See `gcexp.tasks.Task`.

    Raises
    ------
    ParameterError
        Unless hidden, evaluate_every, verify_every >= 1, initial_std > 0 and the device is known.
    """

    scores = ("test_accuracy", "test_loss")
    counts = ("hidden", *Settings.counts)

    dataset: str
    hidden: int = 25
    initial_std: float = 0.1
    evaluate_every: int = 1
    verify_every: int = 100
    device: str = "cpu"

    def __post_init__(self):
        super().__post_init__()
        require_known("task.device", self.device, DEVICES)
        require(
            self.initial_std > 0, f"task.initial_std must be a standard deviation > 0, got {self.initial_std}"
        )

    def problem(self, data: Dataset, seed: int) -> PerceptronProblem:
        """Shuffle the training rows with the seed's data order."""
        self.require_data(data)
        return PerceptronProblem(self, data, seed)

    def order(self, labels: np.ndarray, seed: int) -> np.ndarray:
        """Training rows (N,) as they are cut into partitions."""
        return rng(seed, "data_order").permutation(len(labels))


class PerceptronProblem(Sliced):
    """The perceptron on one seed's shuffled data; see `gcexp.tasks.Problem`.

    The flat vector holds W1 (hidden, features), b1 (hidden,), W2 (classes, hidden) and b2 (classes,), row by row.
    """

    def __init__(self, task: MultilayerPerceptron, data: Dataset, seed: int):
        # One thread: two 2-thread jobs on 2 cores are about nine times slower than two 1-thread jobs.
        self._device = device_of(task.device)
        order = torch.from_numpy(task.order(data.y_train, seed))
        # Copies that torch owns are aligned alike in every process; matrix products need that to give equal bits.
        self._x = torch.from_numpy(data.x_train)[order].to(self._device)
        self._y = torch.from_numpy(data.y_train)[order].to(self._device)
        self._x_test = torch.from_numpy(data.x_test).clone().to(self._device)
        self._y_test = torch.from_numpy(data.y_test).clone().to(self._device)
        self.n_samples = len(self._y)
        self._shapes = shapes(task, data)
        self._initial = partial(initial, task, self._shapes, seed)
        l = sum(int(np.prod(shape)) for shape in self._shapes)
        self._gap = math.ceil(SLICE_COST / l)

    def initial(self) -> np.ndarray:
        return self._initial()

    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_i g_i: with c = 1 exactly the plain pass over all samples."""
        edges = partition_edges(self.n_samples, len(coefficients))
        leaves = self._leaves(parameters)
        coefficients = np.asarray(coefficients, parameters.dtype)
        loss = torch.zeros_like(leaves[0][0, 0])
        for rows, weight in spans(coefficients, edges, self._gap):
            if isinstance(weight, float):
                loss = loss + weight * self._loss(rows, leaves, "sum")
            else:
                loss = loss + torch.from_numpy(weight).to(leaves[0]) @ self._loss(rows, leaves, "none")
        if not loss.requires_grad:  # nothing was recovered
            return np.zeros_like(parameters)
        return flat_of(torch.autograd.grad(loss, leaves)).cpu().numpy()

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        """Each partition by itself, in float64 throughout."""
        leaves = self._leaves(parameters.astype(np.float64))
        gradients = []
        for rows in self.slices(k):
            loss = self._loss(rows, leaves, "sum")
            gradient = flat_of(torch.autograd.grad(loss, leaves))
            gradients.append(gradient.cpu().numpy())
        return np.stack(gradients)

    def _loss(self, rows: slice, leaves: list[torch.Tensor], reduction: str) -> torch.Tensor:
        output = _forward(self._x[rows].to(leaves[0]), leaves)
        return cross_entropy(output, self._y[rows].to(leaves[0].device), reduction=reduction)

    @torch.no_grad()
    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """Accuracy and mean cross-entropy on the test samples."""
        output = _forward(self._x_test, self._leaves(parameters))
        right = output.argmax(1) == self._y_test
        return {
            "test_accuracy": float(right.cpu().double().mean()),
            "test_loss": float(cross_entropy(output, self._y_test)),
        }

    def _leaves(self, parameters: np.ndarray) -> list[torch.Tensor]:
        device = self._device
        if device == "mps" and parameters.dtype == np.float64:  # which it does not have
            device = "cpu"
        return leaves_of(parameters, self._shapes, device)


def shapes(task: MultilayerPerceptron, data: Dataset) -> list[tuple[int, ...]]:
    """Of W1, b1, W2 and b2."""
    features = data.x_train.shape[1]
    classes = int(max(data.y_train.max(), data.y_test.max())) + 1
    return [(task.hidden, features), (task.hidden,), (classes, task.hidden), (classes,)]


def initial(task: MultilayerPerceptron, shapes: list[tuple[int, ...]], seed: int) -> np.ndarray:
    """W ~ N(0, initial_std^2), b = 0, flat (l,)."""
    draw = rng(seed, "initial_weights")
    parts = []
    for shape in shapes:
        is_weight = len(shape) == 2
        if is_weight:
            parts.append(task.initial_std * draw.standard_normal(shape).ravel())
        else:
            parts.append(np.zeros(shape))
    return np.concatenate(parts).astype(np.float32)


def _forward(x: torch.Tensor, leaves: list[torch.Tensor]) -> torch.Tensor:
    W1, b1, W2, b2 = leaves
    return linear(relu(linear(x, W1, b1)), W2, b2)
