"""What Ye and Abbe (ICML 2018) say about the task that is learnt, held against the library's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.metrics import auc, roc_curve

from gcexp.analysis import counting
from gcexp.errors import require
from gcexp.tasks.logistic_regression import LogisticProblem, area_under_roc


def logistic_statements(rows: int) -> pd.DataFrame:
    """Two statements about the task of Section 4, on random rows.

    Parameters
    ----------
    rows : int
        Rows, a multiple of 60 as in the experiment, so that 10, 15 and 20 subsets are equal.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``: in which share of the instances a statement holds.
    """
    require(rows > 0 and rows % 60 == 0, f"rows are a multiple of 60, got {rows}")
    generator = np.random.default_rng(0)
    x = csr_matrix((generator.random((rows, 9)) < 0.4).astype(float))
    y = np.where(generator.random(rows) < 0.7, 1.0, -1.0)
    problem = LogisticProblem(x, y, x, y)
    points = [generator.standard_normal(9) for _ in range(5)]

    def slope(at: np.ndarray, j: int) -> float:
        """Derivative of the total loss by a central difference."""
        step = 1e-5 * np.eye(9)[j]
        high, low = (np.logaddexp(0, -y * (x @ (at + sign * step))).sum() for sign in (1, -1))
        return (high - low) / 2e-5

    sums = counting.counted(
        "gradient_is_sum",
        "the partial gradients of n equal subsets add up to the gradient of the loss, a central difference to 1e-6",
        "n = 10, 15, 20 and five points",
        (
            np.allclose(
                problem.partition_gradients(at, n, 0).sum(0), [slope(at, j) for j in range(9)], atol=1e-6
            )
            for n in (10, 15, 20)
            for at in points
        ),
    )
    cases = [(generator.integers(0, 6, 40) / 5, generator.integers(0, 2, 40) > 0) for _ in range(20)]
    areas = counting.counted(
        "auc_tool",
        "the AUC is the area under the ROC curve as sklearn.metrics.auc computes it, with ties",
        "random scores",
        (
            np.isclose(area_under_roc(scores, labels), auc(*roc_curve(labels, scores)[:2]), rtol=1e-12)
            for scores, labels in cases
        ),
    )
    return counting.table([sums, areas])
