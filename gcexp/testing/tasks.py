"""What every task keeps."""

from __future__ import annotations

import pickle
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.extras import extras
from gcexp.tasks.base import ProblemExtras, TaskExtras

if TYPE_CHECKING:
    from gcexp.data import Dataset


class TaskContract:
    """What every task keeps, on data that it can be bound to."""

    def __init__(self, task: Any, data: Dataset, k: int):
        self.task = task
        self.data = data
        self.name = type(task).__name__
        self.k = extras(ProblemExtras, self.problem).partitions or k

    @cached_property
    def problem(self):
        """The task bound to seed 0's order."""
        return self.task.problem(self.data, 0)

    @cached_property
    def parameters(self) -> np.ndarray:
        """Somewhere off the initial point, in float64."""
        start = np.asarray(self.problem.initial(), dtype=np.float64)
        return start + 0.01 * np.random.default_rng(0).standard_normal(start.shape)

    def gradient(self, problem, coefficients, iteration: int = 3) -> np.ndarray:
        """The weighted pass; statistics that it gathers are thrown away."""
        given = self.parameters, np.asarray(coefficients, float), iteration
        return problem.gradient(*given, *self.statistics(problem))

    def statistics(self, problem) -> list[np.ndarray]:
        """What goes with every call of a problem that gathers statistics, and with no other."""
        gathered = extras(ProblemExtras, problem).statistics
        return [] if gathered is None else [gathered()]

    def check_is_a_value(self) -> None:
        """Tasks are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass, and build arrays and networks in `problem`.
        """
        copy = pickle.loads(pickle.dumps(self.task))
        assert copy == self.task, f"{self.task!r} and its copy are not equal"
        assert hash(copy) == hash(self.task), "a task and its equal copy have other hashes"
        assert self.task.evaluate_every >= 1, f"evaluate_every is {self.task.evaluate_every}"
        assert self.task.verify_every >= 1, f"verify_every is {self.task.verify_every}"

    def check_starts_from_a_flat_vector(self) -> None:
        """`initial` gives the same flat float32 or float64 vector each time.

        Cure: flatten the parameters, and draw them from the seed that `problem` was given.
        """
        start = self.problem.initial()
        flat = start.ndim == 1 and start.dtype in (np.float32, np.float64)
        assert flat, f"initial() has the shape {start.shape} and the type {start.dtype}"
        assert np.isfinite(start).all(), "initial() holds numbers that are not finite"
        np.testing.assert_array_equal(start, self.task.problem(self.data, 0).initial())

    def check_gradient_is_the_sum_of_its_partitions(self) -> None:
        """The weighted pass gives sum_i c_i g_i of the partition gradients: the decoded vector is a gradient.

        Cure: sum the loss over samples instead of averaging it, and let g_i depend on partition i alone.
        """
        parts = self.problem.partition_gradients(self.parameters, self.k, 3)
        wanted = (self.k, len(self.parameters))
        assert parts.shape == wanted, f"partition_gradients has the shape {parts.shape}, not {wanted}"
        assert parts.dtype == np.float64, f"partition_gradients has the type {parts.dtype}, not float64"
        draw = np.random.default_rng(1)
        for c in (
            np.ones(self.k),
            draw.standard_normal(self.k),
            draw.integers(0, 2, self.k),
            np.eye(self.k)[0],
        ):
            found = self.gradient(self.problem, c)
            assert found.shape == self.parameters.shape, f"gradient has the shape {found.shape}"
            scale = max(np.abs(c[:, None] * parts).sum(0).max(), 1e-300)
            np.testing.assert_allclose(found / scale, c @ parts / scale, rtol=0, atol=1e-5)

    def check_equal_arguments_give_equal_bits(self) -> None:
        """Equal arguments give equal bits, whatever was computed before.

        Cure: key what is random in a pass by `iteration`, and keep nothing between calls.
        """
        c = np.linspace(0.5, 1.5, self.k)
        again = self.gradient(self.task.problem(self.data, 0), c)
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)
        # Once more: nothing is kept between calls.
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)

    def check_counts_recovered_samples(self) -> None:
        """Samples are counted in partitions whose coefficient is not zero; all together are `n_samples`.

        Cure: cut the rows by `gcexp.tasks.base.partition_edges`, or inherit `recovered_samples` of `Sliced`.
        """
        alone = [self.problem.recovered_samples(one) for one in np.eye(self.k)]
        every = self.problem.recovered_samples(np.ones(self.k))
        N = self.problem.n_samples
        told = f"partitions one by one have {sum(alone)} samples, together {every}, n_samples is {N}"
        assert sum(alone) == every == N, told
        nothing = self.problem.recovered_samples(np.zeros(self.k))
        assert nothing == 0, f"coefficients of zero recover {nothing} samples"

    def check_scores_are_numbers(self) -> None:
        """`score` gives finite numbers by name, the same for the same parameters.

        Cure: score without dropout, and change nothing.
        """
        start = self.problem.initial()
        more = self.statistics(self.problem)
        scores = self.problem.score(start, *more)
        assert scores and all(np.isfinite(value) for value in scores.values()), f"score gives {scores}"
        assert scores == self.problem.score(start, *more), "scoring twice gives two answers"

    def check_scores_are_those_declared(self) -> None:
        """Scores have the names that the class declares: see `gcexp.tasks.base.TaskExtras`.

        Cure: list them as a plain tuple, ``scores = ("test_accuracy", "test_loss")``.
        """
        task = extras(TaskExtras, self.task)
        if task.scores is None:
            return
        declared = set(task.scores)
        if self.data.y_train.dtype.kind not in "iu":
            declared -= set(task.scores_of_labels)
        found = self.problem.score(self.problem.initial(), *self.statistics(self.problem))
        assert set(found) == declared, f"declared are {sorted(declared)}, score gives {sorted(found)}"
