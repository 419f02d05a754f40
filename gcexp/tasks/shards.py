"""How samples are assigned to partitions: at random, by label, or anew in each iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import require_known
from gcexp.seeding import rng
from gcexp.tasks.mlp import MultilayerPerceptron, PerceptronProblem

if TYPE_CHECKING:
    from gcexp.data import Dataset

SHARDS = ("random", "by_label")


@dataclass(frozen=True)
class ShardedPerceptron(MultilayerPerceptron):
    """The perceptron with a choice of which samples make up a partition.

    Parameters
    ----------
    dataset, hidden, initial_std, device, evaluate_every, verify_every
        See `gcexp.tasks.mlp.MultilayerPerceptron`.
    shards : {"random", "by_label"}
        Partitions are consecutive samples in a random order, or in that of their labels, and at random within a label:
        where the same worker is late again and again, its labels are not learned.
    reshuffle : bool
        In each iteration the partitions are dealt to the code's anew, at random: coefficient i goes to another one.

    Raises
    ------
    ParameterError
        For values outside these.

    Examples
    --------
    >>> ShardedPerceptron("digits", shards="by_label").order(np.array([1, 0, 1, 0]), seed=0)
    array([1, 3, 2, 0])
    """

    scores = ("test_accuracy", "test_loss")  # said anew, since what a problem is scored by is defined anew

    shards: str = "random"
    reshuffle: bool = False

    def __post_init__(self):
        super().__post_init__()
        require_known("task.shards", self.shards, SHARDS)

    def order(self, labels: np.ndarray, seed: int) -> np.ndarray:
        order = super().order(labels, seed)
        if self.shards == "by_label":
            return order[np.argsort(labels[order], kind="stable")]
        return order

    def problem(self, data: Dataset, seed: int) -> PerceptronProblem | Reshuffled:  # type: ignore[override]
        problem = super().problem(data, seed)
        if self.reshuffle:
            return Reshuffled(problem, seed)
        return problem


class Reshuffled:
    """A problem whose partition i takes place `place[i]` of the code, redrawn in each iteration.

    The permutation is drawn for (seed, iteration). What is recovered is counted by places; partitions differ by at
    most one sample.

    Examples
    --------
    >>> dealt = Reshuffled(None, seed=0)  # any problem
    >>> [dealt.place(3, iteration=t).tolist() for t in range(3)]
    [[2, 0, 1], [1, 2, 0], [1, 0, 2]]
    """

    def __init__(self, problem: PerceptronProblem, seed: int):
        self._problem, self._seed = problem, seed

    @property
    def n_samples(self) -> int:
        return self._problem.n_samples

    def initial(self) -> np.ndarray:
        return self._problem.initial()

    def recovered_samples(self, coefficients: np.ndarray) -> int:
        return self._problem.recovered_samples(coefficients)

    def score(self, parameters: np.ndarray) -> dict[str, float]:
        return self._problem.score(parameters)

    def place(self, k: int, iteration: int) -> np.ndarray:
        """Place in the code of each of the k partitions, (k,)."""
        return rng(self._seed, "gcexp.reshuffle", iteration).permutation(k)

    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_place(i) g_i."""
        return self._problem.gradient(parameters, self._dealt(coefficients, iteration), iteration)

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        """Gradients by place: row place(i) is g_i."""
        gradients = self._problem.partition_gradients(parameters, k, iteration)
        return gradients[np.argsort(self.place(k, iteration))]

    def _dealt(self, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        return np.asarray(coefficients)[self.place(len(coefficients), iteration)]
