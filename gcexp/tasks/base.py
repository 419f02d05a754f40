"""The protocol of a learning task: a model with its data, seen through flat numpy vectors.

Optimisers, checkpoints and verification therefore work for every task and load no deep learning library.
Conventions: `N` samples, `k` partitions, `l` parameters, `c` the partition coefficients of a decoded gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gcexp.errors import require

if TYPE_CHECKING:
    from gcexp.data import Dataset


class Task(Protocol):
    """A frozen dataclass of hyper-parameters.

    Attributes
    ----------
    dataset : str
        Name of the data set it trains on.
    evaluate_every : int
        The model is scored after every so many updates, after none, and after the last.
    verify_every : int
        Parameters are kept for verification before and after one update in so many, the first included, and around the
        first one at which other workers are heard than before.

    See Also
    --------
    TaskExtras : what a task may have beside these.
    """

    @property
    def dataset(self) -> str: ...

    @property
    def evaluate_every(self) -> int: ...

    @property
    def verify_every(self) -> int: ...

    def problem(self, data: Dataset, seed: int) -> Problem:
        """The task bound to data in the seed's order."""


@dataclass(frozen=True)
class TaskExtras:
    """What a task may have beside the members of `Task`; read with `gcexp.extras.extras`.

    Scores, and whether a task is exact only, are read in the source of its class before anything is imported. A class
    that inherits them and defines anew what they are about (`problem` for scores, `together` for `exact_only`) says
    them anew.
    """

    #: Names of its scores, as a plain tuple in the class. A figure that draws another score is refused before anything
    #: is trained; a task without them is not asked.
    scores: tuple[str, ...] | None = None
    #: Those of them that only labels have, not real targets.
    scores_of_labels: tuple[str, ...] = ()
    #: Number of partitions k, where a gradient depends on how the rows are cut, as with batch normalisation. Exact
    #: training then passes so many coefficients; else one.
    partitions: int | None = None
    #: ``together(data, seeds)`` gives one problem for all seeds, which exact training takes side by side: parameters
    #: and gradients are (S, l), scores (S,).
    together: Callable[[Dataset, Sequence[int]], Problem] | None = None
    #: Whether it trains nothing but seeds together, with all coefficients 1.
    exact_only: bool = False
    #: Where it computes, by a name of `gcexp.tasks.devices.DEVICES`; a task without it computes on the processor.
    device: str | None = None


class Problem(Protocol):
    """A task bound to one seed: its N training rows (of an iteration) in order, partitions are contiguous slices.

    The loss is a **sum** over samples and g_i, the gradient of partition i, depends on partition i alone. Both are
    what makes sum_i c_i g_i the gradient of one weighted loss. The rows are all of the data, shuffled once, or the
    mini-batch of each iteration.

    Attributes
    ----------
    n_samples : int
        Training samples N of one iteration.

    See Also
    --------
    ProblemExtras : what a problem may have beside these.
    """

    @property
    def n_samples(self) -> int: ...

    def initial(self) -> np.ndarray:
        """Initial parameters, flat (l,), the same for every scheme; their type is that of the training.

        float32, or float64 for a task without a deep learning library.
        """

    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """sum_i c_i g_i in one weighted backward pass, flat (l,), for coefficients (k,).

        Computed in the precision of `parameters` or a higher one: that of `initial` in training; float32, as saved,
        and float64 in verification. `iteration` keys whatever is random in the pass, so that every holder of a
        partition computes the same g_i. Equal arguments give equal bits, in every process.
        """

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        """g_i of every partition, float64 (k, l): what workers compute. Only the verification asks for it."""

    def recovered_samples(self, coefficients: np.ndarray) -> int:
        """Samples in the partitions whose coefficient is not zero, for coefficients (k,)."""

    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """Scores of the parameters by name, the one to be plotted first.

        test_accuracy, test_loss, train_loss: means over samples, whatever the sum that is differentiated.
        """


@dataclass(frozen=True)
class ProblemExtras:
    """What a problem may have beside the members of `Problem`; read with `gcexp.extras.extras`."""

    #: As of `TaskExtras`.
    partitions: int | None = None
    #: Of a problem that gathers numbers beside the gradient, as running statistics: the method gives them as they are
    #: before training. `gradient` then takes such an array as a fourth argument and renews it in place, and `score`
    #: takes it as a second one.
    statistics: Callable[[], np.ndarray] | None = None
    #: Type of its partition gradients: float32 where float64 would take too long to verify.
    precision: type = np.float64


class Optimizer(Protocol):
    """A frozen dataclass: the master's update rule."""

    def check(self, coefficients: np.ndarray) -> None:
        """Raise `ParameterError` unless the rule is meaningful for all rows of coefficients (U, k)."""

    def init(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """State before the first update: named arrays whose shapes stay, kept in checkpoints and for verification."""

    def update(
        self,
        gradient: np.ndarray,
        state: dict[str, np.ndarray],
        parameters: np.ndarray,
        n_samples: int,
        recovered: int,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """New parameters (l,) and new state, from the decoded gradient (l,), N and the number of recovered samples.

        Nothing given is changed in place. An iteration that recovered nothing calls no update.
        """


def partition_edges(n_samples: int, k: int) -> np.ndarray:
    """Edges (k+1,) of contiguous slices whose sizes differ by at most one, larger ones first.

    Partition i is the rows ``edges[i]:edges[i + 1]``, as ``numpy.array_split`` cuts them.

    Raises
    ------
    ParameterError
        Unless 1 <= k <= n_samples.

    Examples
    --------
    >>> partition_edges(11, 4)
    array([ 0,  3,  6,  9, 11])
    """
    require(
        1 <= k <= n_samples, f"{n_samples} samples can be cut into 1 to {n_samples} partitions, got k={k}"
    )
    size, larger = divmod(n_samples, k)
    i = np.arange(k + 1)
    return i * size + np.minimum(i, larger)


class Settings:
    """Base of the tasks of this library: what `counts` names is at least 1, and they take the data that they name."""

    counts: tuple[str, ...] = ("evaluate_every", "verify_every")

    def __post_init__(self):
        for name in self.counts:
            value = getattr(self, name)
            require(value is None or value >= 1, f"task.{name} must be an integer >= 1, got {value}")

    def require_data(self: Task, data: Dataset) -> None:
        """Raise `ParameterError` for another data set."""
        require(
            data.name == self.dataset, f"task.dataset is {self.dataset!r}, but the data are {data.name!r}"
        )


class Sliced:
    """Base of the problems of this library: partition i of k is the i-th contiguous slice of `n_samples` rows."""

    n_samples: int

    def slices(self, k: int) -> list[slice]:
        """Rows of each partition."""
        return [slice(a, b) for a, b in pairwise(partition_edges(self.n_samples, k).tolist())]

    def weights(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficient of each row in float64, (N,)."""
        return np.repeat(np.asarray(coefficients, np.float64), self._sizes_of(len(coefficients)))

    def recovered_samples(self, coefficients: np.ndarray) -> int:
        return int(self._sizes_of(len(coefficients))[np.asarray(coefficients) != 0].sum())

    def _sizes_of(self, k: int) -> np.ndarray:
        return np.diff(partition_edges(self.n_samples, k))


def spans(
    coefficients: np.ndarray, edges: np.ndarray, gap: int
) -> Iterator[tuple[slice, float | np.ndarray]]:
    """Slices of the samples that a weighted pass must visit, each with one weight, or one per sample where they differ.

    Partitions of coefficient zero are left out where at least `gap` samples in a row have it; a shorter hole is
    cheaper to compute and multiply by zero than to step over. So the cost of a pass follows what was recovered.

    >>> list(spans(np.array([1.0, 0, 2, 2]), np.array([0, 3, 5, 6, 7]), gap=2))
    [(slice(0, 3, None), 1.0), (slice(5, 7, None), 2.0)]
    >>> list(spans(np.array([1.0, 0, 2, 0]), np.array([0, 2, 3, 4, 5]), gap=2))
    [(slice(0, 4, None), array([1., 1., 0., 2.]))]
    """
    used = np.flatnonzero(coefficients)
    if not len(used):
        return
    # Samples of coefficient zero between one used partition and the next.
    holes = edges[used[1:]] - edges[used[:-1] + 1]
    cuts = np.flatnonzero(holes >= max(gap, 1))
    for a, b in zip(used[np.r_[0, cuts + 1]], used[np.r_[cuts, len(used) - 1]], strict=True):
        c = coefficients[a : b + 1]
        rows = slice(int(edges[a]), int(edges[b + 1]))
        if (c == c[0]).all():
            yield rows, float(c[0])
        else:
            yield rows, np.repeat(c, np.diff(edges[a : b + 2]))
