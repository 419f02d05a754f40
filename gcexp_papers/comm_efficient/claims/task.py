"""Sections 2 and 4: the learning task, and what decoding costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

from gcexp.analysis.claims import Verdict, all_instances, claim
from gcexp.codes.base import Code
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.tasks.logistic_regression import LogisticProblem, area_under_roc
from gcexp.tasks.optimizers import AcceleratedGradient
from gcexp.theory import comm_efficient as theory

from ..theory import ec2_like

ROWS = 60  # which 10, 15 and 20 divide


def _rows(generator: np.random.Generator, columns: int) -> tuple[csr_matrix, np.ndarray]:
    """Random rows of zeros and ones with random labels."""
    x = csr_matrix((generator.random((ROWS, columns)) < 0.4).astype(float))
    return x, np.where(generator.random(ROWS) < 0.7, 1.0, -1.0)


@claim("gradient_is_sum")
def partial_gradients_add_up() -> Verdict:
    """The partial gradients of n = 10, 15 and 20 subsets add up to the slope of the loss, at five random points."""
    generator = np.random.default_rng(0)
    x, y = _rows(generator, 9)
    problem = LogisticProblem(x, y, x, y)

    def slope(at: np.ndarray, j: int) -> float:
        """Derivative of the total loss by a central difference."""
        step = 1e-5 * np.eye(9)[j]
        high, low = (np.logaddexp(0, -y * (x @ (at + sign * step))).sum() for sign in (1, -1))
        return (high - low) / 2e-5

    return all_instances(
        np.allclose(problem.partition_gradients(at, n, 0).sum(0), [slope(at, j) for j in range(9)], atol=1e-6)
        for n in (10, 15, 20)
        for at in generator.standard_normal((5, 9))
    )


#: (n, m, s) of Fig. 4.
_CODES = (
    *((10, 1, 3), (10, 3, 1), (10, 3, 0), (15, 1, 4), (15, 4, 1), (15, 4, 0)),
    *((20, 1, 6), (20, 4, 1), (20, 5, 1)),
)


@claim("abstract_same_generalisation")
def coded_training_gives_the_same_models() -> Verdict:
    """Trained on sums that were encoded, sent in part and decoded, a model is that of the whole sums to 1e-6.

    The nine codes of Fig. 4 are compared in each of 50 iterations, with n - s drawn workers each.
    """
    generator = np.random.default_rng(2)
    x, y = _rows(generator, 60)
    problem = LogisticProblem(x, y, x, y)
    rule = AcceleratedGradient(learning_rate=10.0, l2=1 / ROWS)

    def path(n: int, code: Code | None, silent: int) -> np.ndarray:
        """Parameters of every iteration, of a code or of the whole sum."""
        at, found = np.zeros(60), []
        state = rule.init(at)
        for _ in range(50):
            parts = problem.partition_gradients(at, n, 0)
            total = parts.sum(0)
            if code is not None:
                responses = (generator.permutation(n) >= silent).astype(int)
                sent = code.encode(parts) * responses[code.owner, None]  # what is not heard is lost
                total = code.combine(sent, code.decode(responses).weights[0])
            at, state = rule.update(total, state, at, n_samples=ROWS, recovered=ROWS)
            found.append(at)
        return np.array(found)

    return all_instances(
        (np.linalg.norm(coded - whole, axis=1) <= 1e-6 * np.linalg.norm(whole, axis=1)).all()
        for n, m, s in _CODES
        for coded, whole in [(path(n, CommunicationEfficient(n, s + m, m), s), path(n, None, 0))]
    )


@claim("auc_tool")
def auc_is_that_of_sklearn() -> Verdict:
    """The AUC is the area under the ROC curve as sklearn.metrics.auc computes it: 20 random scores with ties."""
    from sklearn.metrics import auc, roc_curve  # its import takes a second

    generator = np.random.default_rng(0)
    cases = [(generator.integers(0, 6, 40) / 5, generator.integers(0, 2, 40) > 0) for _ in range(20)]
    return all_instances(
        np.isclose(area_under_roc(scores, labels), auc(*roc_curve(labels, scores)[:2]), rtol=1e-12)
        for scores, labels in cases
    )


@claim("optimiser")
def updates_converge_as_nesterov() -> Iterator[bool]:
    """After T = 1 to 100 updates the loss is within 2 ||w_0 - w*||^2 / (eta (T + 1)^2) of the minimum.

    This is the rate of Nesterov's method (Bubeck 2015, Theorem 3.19), tried on ten random quadratics with the largest
    step.
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


@claim("decoding_negligible")
def decoding_takes_few_operations() -> Verdict:
    """A decode takes less than 1 % of a worker's multiplications, with many rows: two codes each of n = 10, 15, 20.

    Tried with the 26,220 rows of the experiment as dense ones, and with 10^8 rows that have 44 ones each. A decode
    combines the n - s messages of l / m numbers with m weights each; a worker takes d / n of the rows.
    """
    length = 343_474
    chosen = [
        (n, theory.best_choices(**ec2_like(n))[name])
        for n in (10, 15, 20)
        for name in ("straggler_only", "best")
    ]
    return all_instances(
        (n - choice.s) * length < 0.01 * choice.d / n * rows * each
        for rows, each in ((26_220, length), (100_000_000, 44))
        for n, choice in chosen
        if choice is not None
    )
