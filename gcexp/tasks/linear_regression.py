"""Linear regression by least squares, in numpy alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import ParameterError, require
from gcexp.seeding import rng
from gcexp.tasks.base import Settings, Sliced, partition_edges, spans

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: One more slice in a weighted pass costs about as much as this many samples x parameters (measured: 10 us).
SLICE_COST = 15_000


@dataclass(frozen=True)
class LinearRegression(Settings):
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

    def problem(self, data: Dataset, seed: int) -> LeastSquares:
        """Shuffle the training rows with the seed's data order."""
        self.require_data(data)
        require(
            data.y_train.dtype.kind == "f",
            "task.dataset of a linear regression must be a data set with real targets, got "
            f"{data.name!r}, which has labels",
        )
        order = rng(seed, "data_order").permutation(len(data.y_train))
        return LeastSquares(
            x=data.x_train[order].astype(np.float64),
            y=data.y_train[order].astype(np.float64),
            x_test=data.x_test.astype(np.float64),
            y_test=data.y_test.astype(np.float64),
        )


class Regression(Sliced):
    """Base of problems that see a sample x only through x . theta: theta starts from zero, and all is float64."""

    def __init__(self, x: Any, y: np.ndarray, x_test: Any, y_test: np.ndarray):
        self._x, self._y = x, y
        self._x_test, self._y_test = x_test, y_test
        self.n_samples = len(y)

    def initial(self) -> np.ndarray:
        return np.zeros(self._x.shape[1])

    def slopes(self, x: Any, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each sample by x . theta."""
        raise NotImplementedError

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        gradients = []
        for rows in self.slices(k):
            x = self._x[rows]
            y = self._y[rows]
            gradients.append(x.T @ self.slopes(x, y, parameters))
        return np.stack(gradients)

    def _outputs(self, x: Any, parameters: np.ndarray) -> np.ndarray:
        l = self._x.shape[1]
        if parameters.shape != (l,):
            shape = "x".join(map(str, parameters.shape))
            raise ParameterError(f"the regression has {l} parameters, got {shape}")
        return x @ parameters.astype(np.float64)


class LeastSquares(Regression):
    """Least squares; see `gcexp.tasks.Problem`. Whoever trains tells that it diverged."""

    def slopes(self, x, y, parameters):
        return self._outputs(x, parameters) - y

    @np.errstate(over="ignore", invalid="ignore")
    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_i g_i: with c = 1 exactly the plain pass over all samples."""
        N, l = self._x.shape
        gradient = np.zeros(l)
        edges = partition_edges(N, len(coefficients))
        gap = math.ceil(SLICE_COST / l)
        for rows, weight in spans(np.asarray(coefficients, np.float64), edges, gap):
            x = self._x[rows]
            y = self._y[rows]
            gradient += x.T @ (weight * self.slopes(x, y, parameters))
        return gradient

    @np.errstate(over="ignore", invalid="ignore")
    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """Half the mean squared residual, on the training and on the test samples."""
        return {
            "train_loss": self._loss(self._x, self._y, parameters),
            "test_loss": self._loss(self._x_test, self._y_test, parameters),
        }

    def _loss(self, x: np.ndarray, y: np.ndarray, parameters: np.ndarray) -> float:
        """Half the mean squared residual."""
        residuals = self.slopes(x, y, parameters)
        return float(np.mean(residuals**2)) / 2
