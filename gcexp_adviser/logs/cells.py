"""The cells of a long text as columns: read in parts, so that little memory is needed and progress is shown."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.progress import bar
from gcexp_adviser.logs.separators import UNNAMED, Layout
from gcexp_adviser.logs.tables import Table

_PART = 2**20  # cells that are read at once
_CHUNK = 2**24  # bytes whose cells are counted at once
_LEAST = 2**6  # rows that are read at once
#: The default parser of pandas rounds as Python does from version 3.1 on, which warns where it is asked to.
_VERSION = tuple(map(int, pd.__version__.split(".")[:2]))
_EXACT: dict[str, Any] = {} if _VERSION >= (3, 1) else {"float_precision": "round_trip"}


def table_of_cells(layout: Layout) -> Table:
    """The table in a text that is divided into cells; raise `DataError` where a row has another number of them."""
    return Table(
        place=layout.place,
        frame=_frame_of(layout),
        place_of=lambda row: f"line {_line_of(layout, row)}",
        decisions=layout.decisions,
        named=layout.named,
        semicolons=layout.separator == ";",
    )


def _frame_of(layout: Layout) -> pd.DataFrame:
    """The cells of a text, as numbers where a whole column has numbers, else as text.

    Raises
    ------
    DataError
        For the first row that has another number of cells than the header.
    """
    columns: dict[int, Any] = {}
    as_text = list(range(len(layout.header)))
    # A point may divide thousands where semicolons divide the cells, and this is seen in text alone.
    if layout.separator != ";":
        with _faults_in_rows(layout):
            columns = _columns_of_numbers(layout)
        as_text = [number for number in as_text if number not in columns]
    # Cells that a row lacks are empty, and so the last column of such a text has no numbers alone.
    if as_text and as_text[-1] == len(layout.header) - 1:
        _check_widths(layout)
    if as_text:
        with _faults_in_rows(layout):
            texts = pd.concat(_parts(layout, dtype=str, usecols=as_text), ignore_index=True)
        columns |= dict(texts.items())
    frame = pd.DataFrame({number: columns[number] for number in sorted(columns)}, copy=False)
    if frame.empty:
        raise DataError(f"{layout.place} has a header and no rows")
    frame.columns = pd.Index(layout.header, dtype=object)
    empty = [name for name in frame if name.startswith(UNNAMED) and (frame[name] == "").all()]
    return frame.drop(columns=empty)


@contextmanager
def _faults_in_rows(layout: Layout) -> Iterator[None]:
    """Raise `DataError` for what pandas cannot read: the first row with another number of cells, or what it says."""
    try:
        yield
    except (ValueError, csv.Error, pd.errors.ParserWarning) as error:
        _check_widths(layout)
        raise DataError(f"{layout.place}: cannot be read ({' '.join(str(error).split())})") from None


def _columns_of_numbers(layout: Layout) -> dict[int, np.ndarray]:
    """The columns that have numbers alone, by their places."""
    most = layout.data.count(b"\n", layout.begin) + 1
    columns: dict[int, np.ndarray] = {}
    end = 0
    for part in _parts(layout):
        begin = end
        end += len(part)
        if not begin:
            columns = {
                number: np.empty(most, column.dtype) for number, column in part.items() if _is_number(column)
            }
        for number, column in part.items():
            if number not in columns:
                continue
            kinds = columns[number].dtype.kind + column.dtype.kind
            if kinds == "if":
                columns[number] = columns[number].astype(float)
            elif kinds not in ("ii", "uu", "ff", "fi"):
                del columns[number]
                continue
            columns[number][begin:end] = column
    found = {}
    for number, column in columns.items():
        looks_like_name = column.dtype.kind == "f" and layout.names.items[number].fits("worker")  # 1e3
        if not looks_like_name:
            found[number] = column[:end]
    return found


def _is_number(column: pd.Series) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"


def _parts(layout: Layout, **options: Any) -> Iterator[pd.DataFrame]:
    """The rows of a text part by part, as pandas reads them, with a bar of progress; columns are 0, 1, ..."""
    rows = BytesIO(layout.data)
    rows.seek(layout.begin)
    with (
        warnings.catch_warnings(),
        bar(len(layout.data) - layout.begin, "reading", "B") as progress,
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with too many cells
        parts = pd.read_csv(
            rows,
            sep=layout.separator,
            header=None,
            names=range(len(layout.header)),
            index_col=False,
            na_filter=False,
            low_memory=False,
            chunksize=max(_LEAST, _PART // len(layout.header)),
            **_EXACT,
            **options,
        )
        at = layout.begin
        for part in parts:
            yield part
            progress.update(rows.tell() - at)
            at = rows.tell()


# --- the number of cells of each line ---------------------------------------------------------------------------------


def _check_widths(layout: Layout) -> None:
    """Raise `DataError` for the first line that has another number of cells than the header."""
    width = len(layout.header)
    row = 0
    for widths in _widths(layout):
        wrong = np.flatnonzero(widths != width)
        if len(wrong):
            number = _line_of(layout, row + int(wrong[0]))
            raise DataError(f"{layout.place}: line {number} has {widths[wrong[0]]} cells, the header {width}")
        row += len(widths)


def _widths(layout: Layout) -> Iterator[np.ndarray]:
    """How many cells the rows have, part by part."""
    if b'"' in layout.data:
        yield _widths_of_quoted(layout)
        return
    data = layout.data
    at = layout.begin
    while at < len(data):
        end = data.find(b"\n", at + _CHUNK) + 1 or len(data)
        signs = np.frombuffer(data, np.uint8, end - at, at)
        ends = np.flatnonzero(signs == ord("\n"))
        if not len(ends) or ends[-1] != len(signs) - 1:
            ends = np.append(ends, len(signs))
        starts = np.append(0, ends[:-1] + 1)
        separators = np.flatnonzero(signs == ord(layout.separator))
        widths = np.searchsorted(separators, ends) - np.searchsorted(separators, starts) + 1
        filled = ends > starts
        for line in np.flatnonzero(filled & (widths == 1)) if len(layout.header) > 1 else ():
            filled[line] = bool(signs[starts[line] : ends[line]].tobytes().strip(_blanks(layout)))
        yield widths[filled]
        at = end


def _widths_of_quoted(layout: Layout) -> np.ndarray:
    """How many cells the rows have, of which some are quoted."""
    lines = _lines_of_cells(layout)
    widths = []
    try:
        for cells in lines:
            if _is_row(cells):
                widths.append(len(cells))
    except csv.Error as error:
        number = layout.data.count(b"\n", 0, layout.begin) + lines.line_num
        raise DataError(f"{layout.place}: line {number} cannot be read: {error}") from None
    return np.array(widths, int)


# --- where rows stand -------------------------------------------------------------------------------------------------


def _line_of(layout: Layout, row: int) -> int:
    """The number of the line, from 1, in which a row begins."""
    data = layout.data
    before = data.count(b"\n", 0, layout.begin)
    if b'"' in data:
        return before + _numbers_of_lines(layout)[row]
    at = layout.begin
    while row >= 0:
        end = data.find(b"\n", at)
        row -= bool(data[at:end].strip(_blanks(layout)))
        before += 1
        at = end + 1
    return before


def _blanks(layout: Layout) -> bytes:
    """What a line may hold that pandas leaves out as empty."""
    return b" \t".replace(layout.separator.encode(), b"")


def _lines_of_cells(layout: Layout):
    """A reader of the rows, cell by cell, where some cells are quoted."""
    rows = BytesIO(layout.data)
    rows.seek(layout.begin)
    return csv.reader(TextIOWrapper(rows, "utf-8", newline=""), delimiter=layout.separator)


def _is_row(cells: list[str]) -> bool:
    """Whether a line has cells that pandas does not leave out as empty."""
    return len(cells) > 1 or bool("".join(cells).strip())


def _numbers_of_lines(layout: Layout) -> list[int]:
    """The line in which each row ends, from 1, where some cells are quoted."""
    lines = _lines_of_cells(layout)
    return [lines.line_num for cells in lines if _is_row(cells)]
