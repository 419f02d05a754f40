"""Tables in text: lines of cells, of ``name=value``, or of what a regular expression finds in them."""

from __future__ import annotations

import csv
import re
import warnings
from io import BytesIO
from typing import Any

import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.lines import has_pairs, of_pairs, of_pattern, refuse_objects, refuse_words, words
from gcexp_adviser.logs.names import name_of
from gcexp_adviser.logs.separators import UNNAMED, Layout, layout_of, whole_lines
from gcexp_adviser.logs.tables import Table, of_rows

_HEAD = 2**16  # bytes by which it is seen what a text is
_MARKUP = re.compile(r"\s*<(!doctype|\?xml|html|table|svg)\b", re.IGNORECASE)
#: The default parser of pandas rounds as Python does from version 3.1 on, which warns where it is asked to.
_EXACT = {} if pd.__version__ >= "3.1" else {"float_precision": "round_trip"}


def of_text(data: bytes, place: str, told: list[str], pattern: str = "") -> Table:
    """The table in text, which is UTF-8.

    Raises
    ------
    DataError
        For text that is no table; the sentence says what to type or names a recipe.
    """
    data, cut = whole_lines(data)
    told = [*told, *cut]
    if pattern:
        rows, taken = of_pattern(data.decode(), pattern, place)
        return of_rows(rows, place, [*told, taken])
    head = data[:_HEAD].decode(errors="replace")
    if _MARKUP.match(head):
        raise DataError(f"{place}: is HTML or XML; save its table as CSV first, as by pandas.read_html")
    refuse_objects(head, place)
    if has_pairs(head):
        rows, taken = of_pairs(data.decode(), place)
        return of_rows(rows, place, [*told, taken])
    try:
        layout = layout_of(data, place)
    except DataError:
        refuse_words(head, place)
        raise
    if layout.named and layout.repeats_header:
        raise DataError(words(place))
    if len(layout.header) == 1:
        refuse_words(head, place)
    frame = _frame(layout, place)
    return Table(
        place=place,
        frame=frame,
        place_of=lambda row: f"line {layout.line_of(row)}",
        decisions=[*told, *layout.decisions],
        named=layout.named,
        semicolons=layout.separator == ";",
    )


def _frame(layout: Layout, place: str) -> pd.DataFrame:
    """The cells of a text, as numbers where a whole column has numbers."""
    try:
        # A point may divide thousands where semicolons divide the cells, and this is seen in text alone.
        frame = _read(layout, dtype=str if layout.separator == ";" else None)
        as_text = [number for number, name in enumerate(layout.header) if _is_ambiguous(name, frame[number])]
        if as_text:
            texts = _read(layout, dtype=str, usecols=as_text)
            for number in as_text:
                frame[number] = texts[number]
    except (ValueError, csv.Error) as error:
        raise DataError(f"{place}: cannot be read ({' '.join(str(error).split())})") from None
    frame.columns = pd.Index(layout.header, dtype=object)
    empty = [name for name in frame if name.startswith(UNNAMED) and (frame[name] == "").all()]
    return frame.drop(columns=empty)


def _read(layout: Layout, **options: Any) -> pd.DataFrame:
    """The cells of a text as pandas reads them; columns are 0, 1, ..."""
    rows = BytesIO(layout.data)
    rows.seek(layout.begin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # such columns are read again
        return pd.read_csv(
            rows,
            sep=layout.separator,
            header=None,
            names=range(len(layout.header)),
            index_col=False,
            na_filter=False,
            engine="c",
            **_EXACT,
            **options,
        )


def _is_ambiguous(name: str, column: pd.Series) -> bool:
    """Whether a column has to be read as text: names of workers that look like numbers, and mixed cells."""
    kind = column.dtype.kind
    if kind == "O":
        return pd.api.types.infer_dtype(column, skipna=False) != "string"
    return kind == "b" or (kind == "f" and name_of(name).fits("worker"))
