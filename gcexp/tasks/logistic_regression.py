"""Logistic regression on categorical rows, one-hot encoded with pairs of columns: sparse, in scipy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import expit

from gcexp.data.categories import one_hot_pairs
from gcexp.errors import require
from gcexp.tasks.base import Settings
from gcexp.tasks.linear_regression import Regression

if TYPE_CHECKING:
    from gcexp.data import Dataset


@dataclass(frozen=True)
class LogisticRegression(Settings):
    r"""Logistic regression from zero: sum over samples of log(1 + exp(-y x . theta)), y = +-1.

    The gradient of partition i is g_i = -X_i^T (y_i / (1 + exp(y_i * X_i theta))), in float64. The rows are those of
    the split in its order, so that partition i is a consecutive block of them.

    Parameters
    ----------
    dataset : str
        Name of a data set of categorical rows with labels 0 and 1, all of them training rows: the split is made here.
    train_rows : int
        Training rows N of the split, a multiple of every number of partitions used if these shall be equal; the
        other rows are for testing.
    split_seed : int or None
        The split is ``numpy.random.default_rng(split_seed).permutation``; None: each seed of the run has its own.
    pad_to : int or None
        Length of the model: columns without a one are appended. Their gradient is zero, and the model the same.
    evaluate_every, verify_every : int
        See `gcexp.tasks.Task`.

    Raises
    ------
    ParameterError
        Unless evaluate_every, verify_every, train_rows >= 1 and split_seed >= 0.

    References
    ----------
    Ye and Abbe, "Communication-computation efficient gradient coding", ICML 2018, section 4.
    """

    scores = ("test_auc", "test_loss")
    counts = ("train_rows", *Settings.counts)

    dataset: str
    train_rows: int
    split_seed: int | None = None
    pad_to: int | None = None
    evaluate_every: int = 1
    verify_every: int = 20

    def __post_init__(self):
        super().__post_init__()
        require(
            self.split_seed is None or self.split_seed >= 0,
            f"task.split_seed must be an integer >= 0 or null, got {self.split_seed}",
        )

    def problem(self, data: Dataset, seed: int) -> LogisticProblem:
        """Split the rows, and encode them over the values that occur in any."""
        self.require_data(data)
        rows = data.x_train
        labels = data.y_train
        require(
            rows.dtype.kind == "i" and rows.ndim == 2 and set(np.unique(labels)) == {0, 1},
            f"a logistic regression needs categorical rows with labels 0 and 1, which {data.name!r} has not",
        )
        N = len(labels)
        require(
            self.train_rows < N,
            f"task.train_rows must leave at least one row for the test, so at most {N - 1}, got {self.train_rows}",
        )
        order = self.order(N, seed)
        ones, l = one_hot_pairs(rows)
        require(
            self.pad_to is None or self.pad_to >= l,
            f"task.pad_to must be null or at least the {l} columns of the encoding, got {self.pad_to}",
        )
        l = self.pad_to or l
        signs = 2.0 * labels - 1
        train = order[: self.train_rows]
        test = order[self.train_rows :]
        return LogisticProblem(_sparse(ones[train], l), signs[train], _sparse(ones[test], l), signs[test])

    def order(self, N: int, seed: int) -> np.ndarray:
        """Rows as they are split: the first `train_rows` are for training."""
        if self.split_seed is not None:
            seed = self.split_seed
        return np.random.default_rng(seed).permutation(N)


class LogisticProblem(Regression):
    """Logistic regression on sparse rows in their order, with labels +-1; see `gcexp.tasks.Problem`."""

    def slopes(self, x: csr_matrix, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        return -y * expit(-y * self._outputs(x, parameters))

    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_i g_i: with c = 1 exactly the plain pass over all samples."""
        slopes = self.slopes(self._x, self._y, parameters)
        if not (coefficients == 1).all():
            slopes *= self.weights(coefficients)
        return self._x.T @ slopes

    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """Area under the ROC curve, and mean logistic loss, on the test samples."""
        y = self._y_test
        margins = self._outputs(self._x_test, parameters)
        return {
            "test_auc": area_under_roc(margins, y > 0),
            "test_loss": float(np.mean(np.logaddexp(0, -y * margins))),
        }


def area_under_roc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a positive sample scores above a negative one, ties counted half.

    >>> area_under_roc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True]))
    0.875
    """
    ordered = np.sort(scores[~positive])
    above = scores[positive]
    below = np.searchsorted(ordered, above, "left") + np.searchsorted(ordered, above, "right")
    return float(below.sum() / (2 * len(above) * len(ordered)))


def _sparse(ones: np.ndarray, l: int) -> csr_matrix:
    N, q = ones.shape
    return csr_matrix((np.ones(N * q), ones.ravel(), np.arange(0, N * q + 1, q)), shape=(N, l))
