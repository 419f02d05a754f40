"""The record of a trace: the times of all workers in all iterations, whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gcexp.errors import require

NEEDED = ("iteration", "worker", "time")
#: Columns of the file that `gcexp.distributed.Recorder` writes on each rank.
RECORDED = {"iteration": int, "worker": int, "time": float, "compute": float, "load": float}
LEAST, MOST = 1e-150, 1e150  # times whose sums, squares and quotients are numbers


def rank_file(rank: int) -> str:
    """The name of the file of one rank's recording.

    >>> rank_file(3)
    'rank-0003.csv'
    """
    return f"rank-{rank:04}.csv"


@dataclass(frozen=True)
class Flags:
    """What a matrix of times means: its entry in ``index.json`` beside the file; defaults where there is none."""

    persistent: bool = True  # a column is one worker throughout
    data_bound: bool = False  # slow because of its data: a partition that is computed twice is slow twice
    sampled: bool = False  # rows are not consecutive iterations
    unit: str = ""
    licence: str = ""
    measures: str = ""
    cite: str = ""


@dataclass(frozen=True, eq=False)
class TraceFile:
    """A trace: R rows (iterations) of N workers, its name that of the file without folder and ending.

    Attributes
    ----------
    workers : tuple of int
        Numbers of the workers in the file, rising.
    names : tuple of str
        Names of their hosts, or empty.
    values : mapping of arrays (R, N)
        ``time`` and the other columns of numbers. NaN where a row has fewer workers and where `missing` rows were not
        filled.
    chunks : array (R, N, M), optional
        Times of the micro-batches that add up to ``time``, in order.
    missing : array of bool (R, N), optional
        Which workers have no row in which iterations, though they take part in the trace; None where none is missing.
        `gcexp.traces.missing.as_late` fills their times and leaves this mask, so that it tells what was filled.
    left_out : int
        Number of iterations that were left out because workers were missing.
    gap : str
        Which iterations are in no row at all, as a sentence goes on; empty where none lacks.
    decisions : tuple of str
        What the reader took for what, a sentence each; empty for a file in the format of this project.
    source : str
        The file, folder or bundled trace as it was named; empty for times in memory and for several files.
    replayable : bool
        Whether ``delay=trace`` replays the source as it is: a clean record, or a folder of recordings.
    compute_column : str
        What the column of the compute times is called in the source.
    """

    name: str
    columns: tuple[str, ...]
    workers: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    chunks: np.ndarray | None = None
    flags: Flags = field(default_factory=Flags)
    names: tuple[str, ...] = ()
    left_out: int = 0
    missing: np.ndarray | None = None
    gap: str = ""
    decisions: tuple[str, ...] = ()
    source: str = ""
    replayable: bool = False
    compute_column: str = "compute"

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the workers: their numbers or their names."""
        return self.names or tuple(map(str, self.workers))

    @property
    def logged(self) -> np.ndarray:
        """Times (R, N) that were logged: NaN where rows are missing, whatever time they were given."""
        if self.missing is None:
            return self.values["time"]
        return np.where(self.missing, np.nan, self.values["time"])

    @property
    def lacks_rows(self) -> bool:
        """Whether rows are missing and were not filled."""
        return self.missing is not None and bool(np.isnan(self.values["time"][self.missing]).any())

    def column(self, name: str, purpose: str) -> np.ndarray:
        """Values (R, N) of a column; raise `DataError` if there is none."""
        require(
            name in self.values,
            f"trace {self.name} has no column {name!r} for {purpose}; it has {', '.join(self.columns)}",
        )
        return self.values[name]
