"""Linear regression by least squares, in numpy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import require
from gcexp.seeding import rng
from gcexp.tasks.base import partition_edges, spans

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: One more slice in a weighted pass costs about as much as this many samples x parameters (measured: 10 us).
SLICE_COST = 15_000


@dataclass(frozen=True)
class LinearRegression:
    r"""Least squares from zero: 1/2 ||X theta - y||^2, summed over samples.

    The gradient of partition i is g_i = X_i^T (X_i theta - y_i), so that gradient descent with ``normalize: total``
    is a step on the mean loss 1/(2N) ||X theta - y||^2. All numbers are float64: without noise the loss falls towards
    zero, and in float32 rounding would be what is left of the gradient.

    Parameters
    ----------
    dataset : str
        Name of a data set with real targets.
    evaluate_every, verify_every : int
        See `gcexp.tasks.Task`.

    Raises
    ------
    ParameterError
        Unless evaluate_every, verify_every >= 1.

    References
    ----------
    Buyukates et al., arXiv 2011.01922, use it; data, step size and number of iterations are assumed.

    Examples
    --------
    >>> from gcexp.data import Dataset
    >>> x, y = np.eye(2, dtype=np.float32), np.array([1.0, -2.0])
    >>> problem = LinearRegression("mine").problem(Dataset("mine", x, y, x, y, ""), seed=0)
    >>> start = problem.initial()
    >>> problem.gradient(start, np.ones(2), 0), problem.score(start)
    (array([-1.,  2.]), {'train_loss': 1.25, 'test_loss': 1.25})
    """

    scores = ("train_loss", "test_loss")

    dataset: str
    evaluate_every: int = 1
    verify_every: int = 100

    def __post_init__(self):
        for name in ("evaluate_every", "verify_every"):
            require(
                getattr(self, name) >= 1, f"task.{name} must be an integer >= 1, got {getattr(self, name)}"
            )

    def problem(self, data: Dataset, seed: int) -> RegressionProblem:
        """Shuffle the training rows with the seed's data order."""
        require(
            data.name == self.dataset, f"task.dataset is {self.dataset!r}, but the data are {data.name!r}"
        )
        require(
            data.y_train.dtype.kind == "f",
            "task.dataset of a linear regression must be a data set with real targets, got "
            f"{data.name!r}, which has labels",
        )
        return RegressionProblem(data, seed)


class RegressionProblem:
    """Least squares on one seed's shuffled data; see `gcexp.tasks.Problem`."""

    def __init__(self, data: Dataset, seed: int):
        order = rng(seed, "data_order").permutation(len(data.y_train))
        self._x, self._y = data.x_train[order].astype(np.float64), data.y_train[order].astype(np.float64)
        self._test = data.x_test.astype(np.float64), data.y_test.astype(np.float64)
        self._gap = -(-SLICE_COST // self._x.shape[1])

    @property
    def n_samples(self) -> int:
        """Training samples."""
        return len(self._y)

    def initial(self) -> np.ndarray:
        """All zeros."""
        return np.zeros(self._x.shape[1])

    @np.errstate(over="ignore", invalid="ignore")  # whoever trains tells that it diverged
    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_i g_i: with c = 1 exactly the plain pass over all samples."""
        edges = partition_edges(self.n_samples, len(coefficients))
        coefficients = np.asarray(coefficients, np.float64)
        gradient = np.zeros(self._x.shape[1])
        for rows, weight in spans(coefficients, edges, self._gap):
            gradient += self._x[rows].T @ (weight * self._residual(rows, parameters))
        return gradient

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        """Each partition by itself."""
        edges = partition_edges(self.n_samples, k)
        parts = [slice(edges[i], edges[i + 1]) for i in range(k)]
        return np.stack([self._x[rows].T @ self._residual(rows, parameters) for rows in parts])

    def recovered_samples(self, coefficients: np.ndarray) -> int:
        """Samples in partitions with a coefficient that is not zero."""
        sizes = np.diff(partition_edges(self.n_samples, len(coefficients)))
        return int(sizes[np.asarray(coefficients) != 0].sum())

    @np.errstate(over="ignore", invalid="ignore")
    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """Half the mean squared residual, on the training and on the test samples."""
        x, y = self._test
        return {
            "train_loss": float(np.mean(self._residual(slice(None), parameters) ** 2)) / 2,
            "test_loss": float(np.mean((x @ self._checked(parameters) - y) ** 2)) / 2,
        }

    def _residual(self, rows: slice, parameters: np.ndarray) -> np.ndarray:
        return self._x[rows] @ self._checked(parameters) - self._y[rows]

    def _checked(self, parameters: np.ndarray) -> np.ndarray:
        l = self._x.shape[1]
        require(
            parameters.shape == (l,),
            f"the regression has {l} parameters, got {'x'.join(map(str, parameters.shape))}",
        )
        return parameters.astype(np.float64)
