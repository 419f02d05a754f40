"""A table as text: Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import UserError
from gcexp.figures import latex, markdown, rows
from gcexp.figures.plots import TablePlot
from gcexp.figures.tables import Typeset

if TYPE_CHECKING:
    import pandas as pd


def cell(value: object, spec: str | None = None) -> str:
    """Text of one cell: five digits unless a format is given, a dash where nothing is known.

    >>> cell(1 / 3), cell(1 / 3, ".2f"), cell(12), cell(True), cell(float("nan")), cell("a")
    ('0.33333', '0.33', '12', 'yes', '–', 'a')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value != value:
        return "–"
    if isinstance(value, float | np.floating):
        return format(float(value), spec or ".5g")
    if isinstance(value, int | np.integer):
        return format(int(value), spec or "d")
    return str(value)


@dataclass(frozen=True)
class Cells:
    """A table as text: what stands over its columns, its rows, and the places of the columns that hold numbers."""

    header: list[str]
    body: list[list[str]]
    numbers: list[int]

    @property
    def words(self) -> list[int]:
        """The places of the columns that hold no numbers."""
        return [column for column in range(len(self.header)) if column not in self.numbers]


def cells(frame: pd.DataFrame, plot: TablePlot) -> Cells:
    """A table as text, with the rows and columns that its plot shows."""
    import pandas as pd

    columns = list(frame.columns)
    if plot.columns is not None:
        columns = list(plot.columns)
    frame = rows.choose_rows(frame, plot.where)
    for column, values in plot.across.items():
        frame = _spread_across(frame, columns, column, values)
        columns = list(frame.columns)
    rows.require_columns(frame, *columns, *plot.headers, *plot.formats, *plot.once, plot.mean_by)
    if plot.mean_by is not None:
        frame = frame.groupby(plot.mean_by, sort=False, as_index=False).mean(numeric_only=True)
        columns = [column for column in columns if column in frame.columns]
    header = [str(plot.headers.get(column, column)) for column in columns]
    texts: dict[int, list[str]] = {}
    numbers = []
    for place, column in enumerate(columns):
        spec = plot.formats.get(column)
        texts[place] = [cell(value, spec) for value in frame[column]]
        if frame[column].dtype.kind in "iuf":
            numbers.append(place)
    body = pd.DataFrame(texts, dtype=object)
    once = [columns.index(column) for column in plot.once if column in columns]
    if once:
        body[once] = _without_repeats(body[once])
    return Cells(header, body.to_numpy().tolist(), numbers)


def _without_repeats(body: pd.DataFrame) -> pd.DataFrame:
    """Columns of text with empty cells for those that repeat the one above, if the cells before them repeat too."""
    repeats = body.eq(body.shift())
    with_all_before = repeats.cummin(axis=1)
    return body.mask(with_all_before, "")


def _spread_across(frame: pd.DataFrame, keys: list[str], column: str, values: str) -> pd.DataFrame:
    """The table with a column for each value of `column`, filled from `values`; `keys` tell its rows apart."""
    rows.require_columns(frame, column, values, *keys)
    double = frame.duplicated([*keys, column])
    if double.any():
        values_of_keys = [f"{key} = {frame.loc[double, key].iloc[0]}" for key in (*keys, column)]
        where = ", ".join(values_of_keys)
        raise UserError(f"across: two rows have {where}; name another column or choose rows by where")
    names = frame[column].drop_duplicates().tolist()
    wide = frame.pivot(index=keys, columns=column, values=values)[names].reset_index()
    in_order = frame[keys].drop_duplicates().merge(wide, how="left")
    return in_order.rename(columns={name: str(name) for name in names})


def typeset(
    frame: pd.DataFrame, plot: TablePlot, title: str = "", note: str = "", label: str = ""
) -> Typeset:
    """The table in Markdown and in LaTeX, which refers to it by `label`."""
    table = cells(frame, plot)
    in_markdown = markdown.grid(table.header, table.body, right=table.numbers)
    if title:
        in_markdown = f"**{markdown.escape(title)}**\n\n{in_markdown}"
    if note:
        in_markdown = f"{in_markdown}\n{markdown.escape(note)}\n"
    in_latex = latex.grid(table.header, table.body, right=table.numbers, title=title, note=note, label=label)
    return Typeset({".md": in_markdown, ".tex": in_latex})
