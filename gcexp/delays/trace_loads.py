"""The loads at which the iterations of a trace were recorded, and which of these is the run's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.record import TraceFile

_DIGITS = 9  # loads that agree in so many decimal places are one load


@dataclass(frozen=True)
class Loads:
    """The loads of a trace's iterations, relative to a worker's share in the run that was recorded.

    Who is slow, verdicts, replay and bounds rest on the iterations at the own load. Those at other loads only tell phi,
    the share of the time that does not grow with the load.
    """

    own: float  # load of the run
    of_rows: np.ndarray = field(repr=False)  # (R,): load of every iteration

    @property
    def own_rows(self) -> np.ndarray:
        """Numbers of the iterations at the own load."""
        return np.flatnonzero(self.of_rows == self.own)

    @property
    def counts(self) -> dict[float, int]:
        """How many iterations each load has: the own load first, then the others from the largest to the smallest."""
        loads, numbers = np.unique(self.of_rows, return_counts=True)
        count_of = dict(zip(loads.tolist(), numbers.tolist(), strict=True))
        others = sorted(count_of.keys() - {self.own}, reverse=True)
        return {load: count_of[load] for load in [self.own, *others]}

    @property
    def several(self) -> bool:
        """Whether there are iterations at another load than the own one."""
        return len(self.counts) > 1

    @property
    def sentence(self) -> str:
        """How many iterations of which load serve what; empty where all have the own load."""
        if not self.several:
            return ""
        (own, number), *others = self.counts.items()
        at_others = " and ".join(f"{_iterations(count)} at load {load:g}" for load, count in others)
        verb = "serves" if sum(count for _, count in others) == 1 else "serve"
        return (
            f"The run's own load is {own:g}: who is slow, verdicts, replay and bounds rest on its "
            f"{_iterations(number)}; {at_others} {verb} phi only."
        )


def _iterations(number: int) -> str:
    return f"{number} iteration" if number == 1 else f"{number} iterations"


def own_load(loads: np.ndarray) -> float:
    """The run's own load, from the load of every iteration (R,).

    It is 1 where that occurs, else the load of most iterations, and the larger one of two that have equally many. It is
    never 0: iterations without any work only tell the part of the time that does not grow with the load.

    Examples
    --------
    >>> own_load(np.repeat([1.0, 0.5], [20, 300])), own_load(np.repeat([2.0, 4.0, 0.0], [20, 30, 300]))
    (1.0, 4.0)
    """
    values, counts = np.unique(loads[loads > 0], return_counts=True)
    if 1.0 in values:
        return 1.0
    most = values[counts == counts.max()]
    return float(most.max())


def loads_of(trace: TraceFile) -> Loads:
    """Loads of a trace's iterations; all are 1 where it has no column ``load``.

    Raises
    ------
    DataError
        For a load that is no number of at least 0, loads that differ within an iteration, and loads that are all 0.
    """
    matrix = trace.values.get("load")
    if matrix is None:
        return Loads(1.0, np.ones(len(trace.values["time"])))
    has_row = ~np.isnan(trace.values["time"])
    wrong = has_row & ~((matrix >= 0) & (matrix < np.inf))
    if wrong.any():
        row, worker = np.argwhere(wrong)[0]
        raise DataError(
            f"trace {trace.name}: the load of worker {trace.labels[worker]} in iteration {row} is "
            f"{matrix[row, worker]:g}, wanted is a number >= 0; leave the column load out if loads are not known "
            "(gcexp trace import FILE columns=load:none)"
        )
    rounded = matrix.round(_DIGITS)
    least = np.where(has_row, rounded, np.inf).min(axis=1)
    largest = np.where(has_row, rounded, -np.inf).max(axis=1)
    mixed = np.flatnonzero(least < largest)
    if len(mixed):
        row = mixed[0]
        loads = np.unique(rounded[row][has_row[row]])
        two = " and ".join(f"{load:g}" for load in loads[:2])
        raise DataError(
            f"trace {trace.name}: iteration {row} has loads {two}; one load per iteration is supported; leave "
            "the column load out if it says something else (gcexp trace import FILE columns=load:none)"
        )
    if not least.any():
        raise DataError(f"trace {trace.name}: every iteration has load 0; some must have the run's own load")
    return Loads(own_load(least), least)
