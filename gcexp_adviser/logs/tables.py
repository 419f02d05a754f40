"""Tables as they were written: named columns, from arrays and frames in memory and from rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError, ParameterError, unknown
from gcexp.schema import quoted
from gcexp.traces.assembling import MOST_CELLS
from gcexp.traces.clean import OF_ARRAY, OF_FRAME
from gcexp.traces.record import Flags
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.names import Names, listed, names_of
from gcexp_adviser.logs.numbers import Writing
from gcexp_adviser.logs.recipes import HEADERS, see

if TYPE_CHECKING:
    import pandas as pd

MATRIX = "took each row of the array for an iteration, and each column for a worker"
_NESTED = (list, dict, set, np.ndarray)  # cells that hold several things
_HEAD = 1000  # rows


def _row(number: int) -> str:
    return f"row {number}"


@dataclass(frozen=True)
class Table:
    """A table as it was written; ``table[name]`` is one of its columns.

    Attributes
    ----------
    place : str
        How sentences begin: ``trace mine.csv``.
    frame : DataFrame
        Its columns have distinct names. Cells are text where the source is text.
    name : str
        That of the record.
    flags : Flags
        What is known of its times without reading it.
    place_of : callable
        Where a row stands, for sentences: ``line 3``.
    decisions : list of str
        What was taken for what.
    named : bool
        Whether the columns have names of their own, not only places.
    semicolons : bool
        Whether semicolons divide the cells, as where numbers have decimal commas.
    decimal : str
        The decimal sign, where a person has named it.
    decimal_commas : bool
        Whether a number in some cell has a decimal comma, so that points divide thousands in others.
    nested : tuple of str
        Columns whose cells are lists or objects.
    files : array of int, optional
        From which file each row comes, where there are several.
    runs : array of str, optional
        To which run each row belongs by the name or the folder of its file.
    is_numbered : bool
        Whether the rows of each file were numbered, since no column says the iteration.
    worker_in_place_of_runs : str
        What ``columns=worker:`` says where files are those of workers, and not of runs as was guessed.
    """

    place: str
    frame: pd.DataFrame
    name: str = ""
    flags: Flags = field(default_factory=Flags)
    place_of: Callable[[int], str] = _row
    decisions: list[str] = field(default_factory=list)
    named: bool = True
    semicolons: bool = False
    decimal: str = ""
    decimal_commas: bool = False
    nested: tuple[str, ...] = ()
    files: np.ndarray | None = None
    runs: np.ndarray | None = None
    is_numbered: bool = False
    worker_in_place_of_runs: str = ""

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    @cached_property
    def names(self) -> Names:
        """What the names of the columns say."""
        return names_of(self.columns)

    @cached_property
    def head(self) -> Table:
        """Its first rows, by which it is seen what a column may be."""
        return self.keep(np.arange(len(self.frame)) < _HEAD)

    @cached_property
    def _read(self) -> dict[str, Column]:
        writing = Writing(self.place, self.semicolons, self.decimal_commas, self.decimal)
        return {
            name.written: Column(name, self.frame[name.written], writing, self.place_of)
            for name in self.names.items
        }

    def __getitem__(self, name: str) -> Column:
        """A column by its name."""
        return self._read[name]

    def column_named(self, given: str, option: str = "columns") -> str:
        """The column that a person named, exactly or but for case and spaces; raise `ParameterError` if none."""
        if given in self.columns:
            return given
        near = [name for name in self.columns if name.strip().casefold() == given.strip().casefold()]
        if len(near) == 1:
            return near[0]
        raise ParameterError(
            f"{self.place}: {option}= names a column that is not there: {unknown('column', given, self.columns)}"
        )

    def read_with(self, decimal: str) -> Table:
        """The table whose numbers are read with the decimal sign that a person named, if any, or else that of cells."""
        commas = self.semicolons and any(self[name].has_decimal_comma for name in self.columns)
        return replace(self, decimal=decimal, decimal_commas=commas)

    def keep(self, rows: np.ndarray, told: str = "") -> Table:
        """The table with some of its rows alone, which `rows` (L,) of bool says, and why."""
        places = np.flatnonzero(rows)
        return replace(
            self,
            frame=self.frame[rows].reset_index(drop=True),
            place_of=lambda number: self.place_of(int(places[number])),
            decisions=[*self.decisions, *([told] if told else [])],
            files=None if self.files is None else self.files[rows],
            runs=None if self.runs is None else self.runs[rows],
        )


def table_in_memory(source: Any) -> Table:
    """The table of a frame, of what becomes one, or of an array."""
    if hasattr(source, "to_pandas"):  # tables of Arrow and Polars
        source = source.to_pandas()
    if isinstance(source, np.ma.MaskedArray) and not source.dtype.names:
        source = source.astype(float).filled(np.nan)
    if isinstance(source, Mapping):
        source = _framed(source)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return of_frame(source, OF_FRAME)
    return of_array(source, OF_ARRAY)


def of_read(read: Any, place: str, decisions: list[str]) -> Table:
    """The table of what a file holds: a frame, an array, or rows, whose cells have names or are in their order."""
    import pandas as pd

    if isinstance(read, list) and isinstance(read[0], dict):
        read = pd.DataFrame(read)
    if isinstance(read, pd.DataFrame):
        return of_frame(read, place, decisions)
    return of_array(read, place, decisions)


def of_array(source: Any, place: str, decisions: list[str] | None = None) -> Table:
    """The table of an array (iterations, workers), a structured array, or lists of lists; columns are 0, 1, ..."""
    import pandas as pd

    decisions = list(decisions or [])
    wanted = (
        "wanted is a file of times, a bundled trace's name, a frame with the columns iteration, worker and time, or an "
        "array of shape (iterations, workers)"
    )
    try:
        array = np.asarray(source)
    except (TypeError, ValueError):
        _refuse_ragged(source, place)
        raise DataError(f"{place}: {wanted}, got {quoted(source)}") from None
    if array.dtype.names and array.ndim == 1:
        return of_frame(pd.DataFrame(array), place, decisions)
    try:
        if array.dtype.kind not in "fiub":
            array = array.astype(float)
        fits = array.ndim == 2 and array.size > 0
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise DataError(f"{place}: {wanted}, got {quoted(source)}")
    rows, columns = array.shape
    if columns > rows > 1:
        decisions.append(
            f"there are more workers ({columns}) than iterations ({rows}): where rows are workers, turn it: array.T"
        )
    names = pd.Index([str(number) for number in range(columns)], dtype=object)
    return Table(place, pd.DataFrame(array, columns=names), place, decisions=decisions, named=False)


def _refuse_ragged(source: Any, place: str) -> None:
    """Raise `DataError` for the first of several lists that has not as many cells as the first one."""
    rows = [row if isinstance(row, list | tuple) else [row] for row in source]
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise DataError(
                f"{place}: {_row(number)} has {len(row)} cells, and row 0 has {len(rows[0])}; wanted is a time of each "
                "worker in each row, and null or nan where there is none"
            )
        for cell in row:
            if isinstance(cell, _NESTED):
                raise DataError(
                    f"{place}: {_row(number)} holds {quoted(cell)}, wanted is a time in each cell"
                )


def _framed(columns: Mapping) -> pd.DataFrame:
    """The frame of a mapping of names to columns; raise `DataError` for what is none."""
    import pandas as pd

    try:
        return pd.DataFrame(columns)
    except (ValueError, TypeError) as error:
        raise DataError(f"columns that are no table ({error}): {quoted(columns)}") from None


def of_frame(frame: pd.DataFrame, place: str, decisions: list[str] | None = None) -> Table:
    """The table of a frame, whose index is a column where it has a name."""
    import pandas as pd

    told = list(decisions or [])
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(f"{place}: its columns have several levels; {see(HEADERS)}")
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named and len(named) == frame.index.nlevels:
        frame = frame.reset_index()
        told.append(f"took the index for {' and '.join(str(name) for name in named)}")
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        ((name, count),) = Counter(names).most_common(1)
        raise DataError(f"{place} has {count} columns {quoted(name)}; it has {listed(names)}")
    if not len(frame) or not names:
        raise DataError(f"{place} has no rows")
    if frame.size > 4 * MOST_CELLS:
        raise DataError(f"{place} has {len(frame)} rows and {len(names)} columns; so many are not read")
    frame = frame.set_axis(pd.Index(names, dtype=object), axis=1).reset_index(drop=True)
    nested = []
    for name in names:
        if frame[name].dtype == object and any(isinstance(cell, _NESTED) for cell in frame[name]):
            frame[name] = frame[name].astype(str)  # no number, but it can be compared and shown
            nested.append(name)
    return Table(place, frame, place, decisions=told, nested=tuple(nested))
