"""The perceptrons of all seeds at once, for exact training: a layer of theirs is one product with the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import cross_entropy, one_hot

from gcexp.tasks.devices import device_of, leaves_of
from gcexp.tasks.mlp import MultilayerPerceptron, initial, shapes

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: Samples of one product: so many of all seeds' hidden units stay in the cache.
ROWS = 1000


@dataclass(frozen=True)
class TogetherPerceptron(MultilayerPerceptron):
    """The perceptron whose seeds are trained side by side, for schemes whose coefficients are all 1.

    Its gradient is then a sum over all samples, in which neither their order nor the partitions show: S seeds differ
    in their parameters alone, and ten take less than half the time. Numbers are those of
    `gcexp.tasks.mlp.MultilayerPerceptron` up to the order in which float32 adds. Replays follow every seed by itself.

    Parameters
    ----------
    dataset, hidden, initial_std, device, evaluate_every, verify_every
        See `gcexp.tasks.mlp.MultilayerPerceptron`.

    Raises
    ------
    ParameterError
        As there. Training refuses schemes that are not exact, and seeds of different lengths.
    """

    exact_only = True

    def together(self, data: Dataset, seeds: Sequence[int]) -> PerceptronsTogether:
        """The task bound to data for all seeds."""
        self.require_data(data)
        return PerceptronsTogether(self, data, seeds)


class PerceptronsTogether:
    """Perceptrons of S seeds on the same samples: a problem (`gcexp.tasks.Problem`) with a row per seed.

    A row of the parameters (S, l) is that of `gcexp.tasks.mlp.PerceptronProblem`.
    """

    def __init__(self, task: MultilayerPerceptron, data: Dataset, seeds: Sequence[int]):
        self._task = task
        self._seeds = seeds
        self._shapes = shapes(task, data)
        device = device_of(task.device)
        # Copies that torch owns are aligned alike in every process, as matrix products need for equal bits.
        self._x = torch.from_numpy(data.x_train).clone().to(device)
        self._x_test = torch.from_numpy(data.x_test).clone().to(device)
        self._y_test = torch.from_numpy(data.y_test).to(device)
        (classes,) = self._shapes[-1]
        labels = one_hot(torch.from_numpy(data.y_train), classes)
        self._labels = labels.T.contiguous().to(device)
        self.n_samples = len(self._x)

    def initial(self) -> np.ndarray:
        return np.stack([initial(self._task, self._shapes, seed) for seed in self._seeds])

    def recovered_samples(self, coefficients: np.ndarray) -> int:
        return self.n_samples

    @torch.no_grad()
    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """Sum of all samples' gradients for each seed, (S, l), by back-propagation in blocks of `ROWS` samples.

        With H = max(W1 x + b1, 0) and D = softmax(W2 H + b2) - y, these are D H^T for W2, and for W1
        ((W2^T D) * (H > 0)) x^T; biases sum over samples.
        """
        leaves = self._leaves(parameters)
        W1, _, W2, _ = leaves
        gradients = [torch.zeros_like(leaf) for leaf in leaves]
        of_W1, of_b1, of_W2, of_b2 = gradients
        for x, labels in zip(self._x.split(ROWS), self._labels.split(ROWS, 1), strict=True):
            x = x.to(W1.dtype)
            hidden, output = _forward(x, leaves)
            D = output.softmax(1).sub_(labels)
            E = (W2.mT @ D).mul_(hidden > 0)
            of_W1.view(-1, x.shape[1]).addmm_(E.flatten(0, 1), x)
            of_b1 += E.sum(2)
            of_W2.baddbmm_(D, hidden.mT)
            of_b2 += D.sum(2)
        return torch.cat([gradient.flatten(1) for gradient in gradients], 1).cpu().numpy()

    @torch.no_grad()
    def score(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """Accuracy and mean cross-entropy on the test samples, (S,) each."""
        _, output = _forward(self._x_test, self._leaves(parameters))
        labels = self._y_test.expand(len(output), -1)
        losses = cross_entropy(output, labels, reduction="none")
        right = (output.argmax(1) == labels).cpu()
        return {"test_accuracy": right.double().mean(1).numpy(), "test_loss": losses.mean(1).cpu().numpy()}

    def _leaves(self, parameters: np.ndarray) -> list[torch.Tensor]:
        """W1 (S, hidden, features), b1 (S, hidden), W2 (S, classes, hidden) and b2 (S, classes)."""
        return leaves_of(parameters, self._shapes, str(self._x.device))


def _forward(x: torch.Tensor, leaves: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Hidden units (S, hidden, N) and outputs (S, classes, N) of samples x (N, features)."""
    W1, b1, W2, b2 = leaves
    hidden = torch.addmm(b1.reshape(-1, 1), W1.flatten(0, 1), x.T).relu_().view(*b1.shape, -1)
    return hidden, torch.baddbmm(b2[:, :, None], W2, hidden)
