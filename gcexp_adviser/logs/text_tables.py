"""Tables in text: lines of cells, and logs whose lines hold objects or numbers with names."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from io import StringIO

from gcexp.errors import DataError
from gcexp_adviser.logs.log_lines import cure_of_prose, is_log, numbers_of, objects_of, pairs_of
from gcexp_adviser.logs.names import names_of
from gcexp_adviser.logs.reports import sentence_of_bars, sentence_of_reports
from gcexp_adviser.logs.separators import UNNAMED, Layout, layout_of, whole_lines
from gcexp_adviser.logs.tables import Table, of_rows

_KEYS = ("iteration", "worker", "chunk")
_OF_A_STEP = (
    "iteration",
    "worker",
)  # what tells that a line is of a step, where no name is known to be a time
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal
_MARKUP = re.compile(r"\s*<(!doctype|\?xml|html|table|svg)\b", re.IGNORECASE)
_LOOKED_AT = 60  # rows whose names are looked at


def of_text(text: str, place: str, told: list[str]) -> Table:
    """The table in text: a log whose lines hold objects or numbers with names, or lines of cells."""
    if "\x1b[" in text:
        text = _COLOUR.sub("", text)
    if _MARKUP.match(text):
        raise DataError(f"{place}: is HTML or XML; save its table as CSV first, as by pandas.read_html")
    text, cut = whole_lines(text)
    told = [*told, *cut]
    for read in (objects_of, pairs_of):
        rows, more = read(text)
        if _are_timed(rows) and not (_lack_iteration(rows) and is_log(text)):
            return of_rows(rows, place, [*told, *more])
    rows, more = objects_of(text)
    if rows and not _lack_iteration(rows):  # of which a sentence tells that they have no times
        return of_rows(rows, place, [*told, *more])
    bars = sentence_of_bars(text)
    if bars:
        raise DataError(f"{place}: {bars}")
    if is_log(text):
        rows, more = numbers_of(text)
        return of_rows(rows, place, [*told, *more])
    rows, _ = pairs_of(text)
    # Bars or commas may stand in the lines of such a log too
    are_steps = (bool(rows) and not _lack_iteration(rows)) or is_log(text, _OF_A_STEP)
    try:
        table = _of_cells(text, place, told)
    except DataError as error:
        found = _of_words(text, place, told)
        if found is None:
            raise DataError(f"{error}{cure_of_prose(text)}") from None
        return found
    if are_steps or table.says_nothing:
        return _of_words(text, place, told) or replace(table, cure=cure_of_prose(text))
    return table


def _of_words(text: str, place: str, told: list[str]) -> Table | None:
    """The table in a log of which few lines have an iteration and a time of a known name, or None.

    Raises
    ------
    DataError
        For a log without times of steps, in a sentence with what to write in its place.
    """
    rows, more = numbers_of(text)
    if len(rows) > 1:
        return of_rows(rows, place, [*told, *more])
    report = sentence_of_reports(text)
    if report:
        raise DataError(f"{place}: {report}")
    rows, more = pairs_of(text)
    if rows and not _lack_iteration(rows):
        return of_rows(rows, place, [*told, *more])
    rows, more = numbers_of(text, _OF_A_STEP)
    if rows and len(rows[0]) > len(_OF_A_STEP) and is_log(text, _OF_A_STEP):
        return of_rows(rows, place, [*told, *more])
    return None


def _are_timed(rows: list[dict]) -> bool:
    """Whether the rows of a log have a time."""
    return any(names_of(row).has("time") for row in rows[:_LOOKED_AT])


def _lack_iteration(rows: list[dict]) -> bool:
    """Whether no row of a log has an iteration."""
    return not any(names_of(row).has("iteration") for row in rows[:_LOOKED_AT])


def _of_cells(text: str, place: str, told: list[str]) -> Table:
    """The table in text whose lines have the same number of cells."""
    import pandas as pd

    layout = layout_of(text, place)
    # What is told of a cell shows it as it was written, and numbers of keys look alike however they are read.
    texts = {number: object for number, name in enumerate(layout.header) if name not in _KEYS}
    try:
        frame = pd.read_csv(
            StringIO(layout.body),
            sep=layout.separator,
            header=None,
            names=range(layout.width),
            index_col=False,
            dtype=texts,
            na_filter=False,
            low_memory=False,
            engine="c",
        )
    except (ValueError, csv.Error) as error:
        raise DataError(f"{place}: cannot be read ({' '.join(str(error).split())})") from None
    if frame.empty:
        raise DataError(f"{place} has a header and no rows")
    frame.columns = pd.Index(layout.header, dtype=object)
    empty = [name for name in frame if name.startswith(UNNAMED) and (frame[name] == "").all()]
    frame = frame.drop(columns=empty)
    return Table(
        place=place,
        frame=frame,
        place_of=_Lines(layout),
        decisions=[*told, *layout.decisions],
        named=layout.named,
        semicolons=layout.separator == ";",
    )


@dataclass(frozen=True)
class _Lines:
    """Where the rows of a text stand in it."""

    layout: Layout

    def __call__(self, number: int) -> str:
        lines = csv.reader(StringIO(self.layout.body), delimiter=self.layout.separator)
        row = -1
        for cells in lines:
            row += bool(cells)
            if row == number:
                return f"line {self.layout.first_line + lines.line_num - 1}"
        return f"row {number}"
