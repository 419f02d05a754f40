"""Columns of times: their unit, by the cells, by the name or as a person said, and cells that are no time."""

from __future__ import annotations

import re

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import name_of
from gcexp_adviser.logs.numbers import is_empty
from gcexp_adviser.logs.tables import Table


def known_unit(given: str, of_cells: str, column: str, decisions: list[str], strict: bool) -> str:
    """The unit of the numbers in a column, and in `decisions` how it is known; empty where it is not.

    Parameters
    ----------
    given : str
        What a person named.
    of_cells : str
        What stands behind the numbers.
    column : str
        Whose name may say it.
    decisions : list of str
        To which is added what was decided.
    strict : bool
        Whether the name says nothing, as in the format of this project.

    Raises
    ------
    ParameterError
        Where a person named a unit though the numbers have theirs.
    """
    if of_cells and given:
        raise ParameterError(f"unit={given}: the numbers of {column} have units behind them already")
    if of_cells:
        return of_cells
    of_name = "" if strict else name_of(column).unit
    if given:
        told = f"times are in {given}, as unit={given} says"
        if of_name not in ("", given):
            told += f", not {of_name} as the name {column} says"
        decisions.append(told + made_seconds(given))
        return given
    if of_name:
        decisions.append(f"times are in {of_name} by the name {column}{made_seconds(of_name)}")
    elif not strict:
        decisions.append(
            "no unit of the times is named: they stay as they are; where they are milliseconds: unit=ms"
        )
    return of_name


def refuse_text(table: Table, column: str, values: np.ndarray, hint: str = "") -> None:
    """Raise `DataError` for the first cell of a column that is neither a number, as in `values`, nor empty."""
    cells = table.frame[column]
    for row in np.flatnonzero(np.isnan(values)):
        if not is_empty(cells.iloc[row]):
            raise DataError(
                f"{table.place}: {column} in {table.place_of(int(row))} is {quoted(cells.iloc[row])}, wanted is a "
                f"number > 0, or nothing where a worker has no time{how_to_write(cells.iloc[row])}{hint}"
            )


def how_to_write(cell: object) -> str:
    """How what a cell seems to mean is written, as a sentence goes on; empty where that is not known.

    >>> how_to_write("1.5D-03"), how_to_write("01:23.4"), how_to_write("soon")
    ('; write E in place of D, as 1.5E-03', '; of minutes and seconds write hours too, as 00:01:23.4', '')
    """
    text = str(cell).strip()
    if re.fullmatch(r"[-+]?\d*\.?\d+[dD][-+]?\d+", text):
        return f"; write E in place of D, as {text.upper().replace('D', 'E')}"
    if re.fullmatch(r"\d{1,2}:\d\d([.,]\d+)?", text):
        return f"; of minutes and seconds write hours too, as 00:{text}"
    return ""


def made_seconds(unit: str) -> str:
    """That times of a unit became seconds, as a sentence goes on."""
    return "" if unit == "s" else ", and were made seconds"
