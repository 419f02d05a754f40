"""Learning without a clock: what the paper says about its task."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gcexp.analysis.checks import COLUMNS, check, tabulated
from gcexp.analysis.declared import gives
from gcexp.codes.base import Code
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.errors import require
from gcexp.tasks.base import partition_edges
from gcexp.tasks.logistic_regression import LogisticProblem, LogisticRegression, area_under_roc
from gcexp.tasks.optimizers import AcceleratedGradient


@gives(*COLUMNS, checks=(__name__,))
def logistic_statements(rows: int) -> pd.DataFrame:
    """Statements about the task of Section 4: gradient and score on random rows.

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
    return tabulated(__name__, rows=rows)


@check(over="n = 10, 15, 20 and five points", grade="formula", rests_on=("gcexp.tasks.base:partition_edges",))
def gradient_is_sum(rows: int) -> Iterable[bool]:
    """The partial gradients of n equal subsets add up to the gradient of the loss, a central difference to 1e-6."""
    generator = np.random.default_rng(0)
    x = csr_matrix((generator.random((rows, 9)) < 0.4).astype(float))
    y = np.where(generator.random(rows) < 0.7, 1.0, -1.0)
    problem = LogisticProblem(x, y, x, y)

    def slope(at: np.ndarray, j: int) -> float:
        """Derivative of the total loss by a central difference."""
        step = 1e-5 * np.eye(9)[j]
        high, low = (np.logaddexp(0, -y * (x @ (at + sign * step))).sum() for sign in (1, -1))
        return (high - low) / 2e-5

    return (
        np.allclose(problem.partition_gradients(at, n, 0).sum(0), [slope(at, j) for j in range(9)], atol=1e-6)
        for n in (10, 15, 20)
        for at in generator.standard_normal((5, 9))
    )


#: (n, m, s) of Fig. 4.
_CODES = (
    *((10, 1, 3), (10, 3, 1), (10, 3, 0), (15, 1, 4), (15, 4, 1), (15, 4, 0)),
    *((20, 1, 6), (20, 4, 1), (20, 5, 1)),
)


@check(
    over="the nine codes of Fig. 4, 50 iterations, n - s drawn workers each",
    grade="built",
    answers=("abstract_same_generalisation",),
    rests_on=("gcexp.codes.comm_efficient:CommunicationEfficient",),
    small={"iterations": 2},
)
def same_iterates(rows: int, iterations: int = 50) -> Iterable[bool]:
    """Trained on sums that were encoded, sent in part and decoded, a model is that of the whole sums: to 1e-6 of its
    size in every iteration.
    """
    generator = np.random.default_rng(2)
    x = csr_matrix((generator.random((rows, 60)) < 0.4).astype(float))
    y = np.where(generator.random(rows) < 0.7, 1.0, -1.0)
    problem = LogisticProblem(x, y, x, y)
    rule = AcceleratedGradient(learning_rate=10.0, l2=1 / rows)

    def path(n: int, code: Code | None, silent: int) -> np.ndarray:
        """Parameters of every iteration, of a code or of the whole sum."""
        at, found = np.zeros(60), []
        state = rule.init(at)
        for _ in range(iterations):
            parts = problem.partition_gradients(at, n, 0)
            total = parts.sum(0)
            if code is not None:
                responses = (generator.permutation(n) >= silent).astype(int)
                sent = code.encode(parts) * responses[code.owner, None]  # what is not heard is lost
                total = code.combine(sent, code.decode(responses).weights[0])
            at, state = rule.update(total, state, at, n_samples=rows, recovered=rows)
            found.append(at)
        return np.array(found)

    for n, m, s in _CODES:
        coded, whole = path(n, CommunicationEfficient(n, s + m, m), s), path(n, None, 0)
        yield bool((np.linalg.norm(coded - whole, axis=1) <= 1e-6 * np.linalg.norm(whole, axis=1)).all())


@check(over="random scores", grade="built", rests_on=("gcexp.tasks.logistic_regression:area_under_roc",))
def auc_tool() -> Iterable[bool]:
    """The AUC is the area under the ROC curve as sklearn.metrics.auc computes it, with ties."""
    from sklearn.metrics import auc, roc_curve  # a second of imports: a plan only looks at the arguments

    generator = np.random.default_rng(0)
    cases = [(generator.integers(0, 6, 40) / 5, generator.integers(0, 2, 40) > 0) for _ in range(20)]
    return (
        np.isclose(area_under_roc(scores, labels), auc(*roc_curve(labels, scores)[:2]), rtol=1e-12)
        for scores, labels in cases
    )


_N, _ROWS = 26220, 32769  # for training, of the data


@check(over="n = 10, 15, 20 and five splits", grade="definition")
def training_samples() -> Iterable[bool]:
    """26220 of the 32769 rows are for training, none of them twice or among the others, in n equal subsets."""
    task = LogisticRegression("rows", train_rows=_N)
    orders = [task.order(_ROWS, seed) for seed in range(5)]
    return (
        len({*order[:_N].tolist()} - {*order[_N:].tolist()}) == _N
        and (np.diff(partition_edges(_N, n)) == _N // n).all()
        for order in orders
        for n in (10, 15, 20)
    )


@check(over="ten random quadratics, eta the largest step, T = 1 to 100", grade="one run")
def optimiser() -> Iterable[bool]:
    """After T updates it is within 2 ||w_0 - w*||^2 / (eta (T + 1)^2) of the minimum, the rate of Nesterov's method.

    Bubeck 2015, Theorem 3.19, on quadratics of slope 1/eta.
    """
    generator = np.random.default_rng(1)
    for _ in range(10):
        A = generator.standard_normal((30, 20)) * np.logspace(0, -generator.uniform(0, 3), 20)
        H, best = A.T @ A, generator.standard_normal(20)
        eta = 1 / np.linalg.eigvalsh(H)[-1]
        rule, w = AcceleratedGradient(learning_rate=eta, l2=0.0), np.zeros(20)
        state = rule.init(w)
        for T in range(1, 101):
            w, state = rule.update(H @ (w - best), state, w, n_samples=1, recovered=1)
            yield (w - best) @ H @ (w - best) / 2 <= 2 * (best @ best) / (eta * (T + 1) ** 2)
