"""A log that was read, in arrays: behind it nobody sees a cell or asks for a column."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gcexp.traces.clean import OF_ARRAY, OF_FRAME
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.names import Name


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """The record that a table makes as it stands, and what is said of it where it cannot be what it seems.

    Attributes
    ----------
    record : TraceFile
        Of R iterations and N workers.
    place : str
        How sentences begin.
    time : str
        The column of the times, or of the moments when rows ended; empty where each worker has a column.
    is_called_time : bool
        Whether that column is called a time or an end; so are those of workers.
    is_time_named : bool
        Whether a person named it.
    iteration : str
        The columns of the iterations as they are typed; empty where there is none, or a person named them.
    worker : str
        The column of the workers; empty where each worker has a column.
    is_end_to_end : bool
        Whether a time goes from the end of the worker's row before to that of its own.
    is_numbered : bool
        Whether the rows of each worker were numbered, since no column says the iteration.
    may_end_early : bool
        Whether a person said so, and thereby that the rows of a worker which are missing are its last ones.
    go_on : tuple of int
        Workers that have fewer rows than others, though not their last ones are missing, by the order of the lines.
    are_durations : bool
        Whether it is known that times are durations, since their unit was named.
    every_row : bool
        Whether a person said that all rows count.
    sizes : dict of arrays (R, N)
        How much data a worker had, by the columns that say so.
    durations : dict of arrays (R, N)
        What else took time, by the names of the columns that say so.
    compute_unit : str
        The unit in which compute times were written; empty where it is not known, and they stayed as they were.
    is_share : bool
        Whether compute times were made of their share of the time, which a person named.
    percent : str
        A column that seems to be the compute time in percent; empty where none does.
    """

    record: TraceFile
    place: str
    time: str = ""
    is_called_time: bool = True
    is_time_named: bool = False
    iteration: str = ""
    worker: str = ""
    is_end_to_end: bool = False
    is_numbered: bool = False
    may_end_early: bool = False
    go_on: tuple[int, ...] = ()
    are_durations: bool = False
    every_row: bool = False
    sizes: dict[str, np.ndarray] = field(default_factory=dict)
    durations: dict[Name, np.ndarray] = field(default_factory=dict)
    compute_unit: str = ""
    is_share: bool = False
    percent: str = ""

    @property
    def is_in_memory(self) -> bool:
        """Whether the log was an array or a frame, of which a person says more in Python."""
        return self.place in (OF_ARRAY, OF_FRAME)

    @property
    def escape(self) -> str:
        """What to type where times are durations, though they do not look so."""
        return 'the argument unit="s"' if self.is_in_memory else "unit=s"
