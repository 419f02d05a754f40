"""Numbers and texts of a table, by the values that stand in their rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.claims.verdicts import ROUNDING, Undecided, Verdict, every, less
from gcexp.errors import UserError, require, unknown
from gcexp.schema import typed

if TYPE_CHECKING:
    import pandas as pd


def number(
    table: pd.DataFrame,
    column: str,
    where: Mapping[str, Any] | None = None,
    statistic: str | None = None,
    rows: int | None = 1,
) -> float:
    """A number of a table: the cell of the one row that has the values of `where`, each a value or a list of them.

    Several rows become one number by a `statistic`: mean, median, max or min. There must be as many as `rows` says,
    neither more nor fewer, and any number where it is None. Another number of rows, or a cell that is empty or not
    finite, leaves the claim undecided; a column or value that the table does not have, or text, is a mistake.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"scheme": ["a", "b", "b"], "load": [1, 2, 4]})
    >>> number(table, "load", {"scheme": "a"}), number(table, "load", {"scheme": "b"}, "max", rows=2)
    (1.0, 4.0)
    """
    where = where or {}
    keep = chosen(table, where, column)
    cells = table[column].array[keep]
    if rows is not None and len(cells) != rows:
        raise Undecided(f"{len(cells)} rows have {_said(where)}, not {rows}")
    require(len(cells) == 1 or statistic is not None, f"{len(cells)} rows want a statistic")
    numbers = cells
    if cells.dtype.kind not in "iufb":
        numbers = [as_number(cell) for cell in cells]
        if None in numbers:
            raise UserError(f"column {column!r} holds text there, as {cells[0]!r}, not numbers")
    values = np.asarray(numbers, dtype=np.float64)
    missing = ~np.isfinite(values)
    if missing.any():
        raise Undecided(f"{column} is missing or not finite in {missing.sum()} rows")
    reduce = getattr(np, statistic or "mean")
    return float(reduce(values))


def text(table: pd.DataFrame, column: str, where: Mapping[str, Any]) -> str:
    """The cell of the one row that has some values, as text."""
    keep = chosen(table, where, column)
    cells = table[column].array[keep]
    if len(cells) != 1:
        raise Undecided(f"{len(cells)} rows have {_said(where)}, not 1")
    return str(cells[0])


def selected(table: pd.DataFrame, where: Mapping[str, Any], *columns: str) -> pd.DataFrame:
    """Rows whose columns have the wanted values, at least one; a list of values admits each of them."""
    return table[chosen(table, where, *columns)]


def chosen(table: pd.DataFrame, where: Mapping[str, Any], *columns: str) -> np.ndarray:
    """Which rows `selected` takes; a table also has the other columns."""
    for column in (*where, *columns):
        if column not in table.columns:
            raise UserError(unknown("column", column, table.columns))
    keep = np.ones(len(table), dtype=bool)
    for column, wanted in where.items():
        has_it = np.zeros(len(table), dtype=bool)
        for value in listed(wanted):
            has_it |= _equal(table[column], value)
        if not has_it.any():
            raise UserError(unknown(f"{column} in the table", wanted, table[column].drop_duplicates()))
        keep &= has_it
    if not keep.any():
        raise UserError(f"no row has {_said(where)}")
    return keep


def below(
    table: pd.DataFrame,
    column: str,
    first: Any,
    then: Any,
    where: Mapping[str, Any] | None = None,
    *,
    by: str = "label",
    statistic: str | None = None,
    rows: int | None = 1,
    **compared: Any,
) -> Verdict:
    """Whether the number of each side of `first` is below that of each side of `then`.

    Parameters
    ----------
    table : DataFrame
    column : str
        Where the numbers stand.
    first, then : value or list of values
        Of the column `by`.
    where, statistic, rows
        Which rows else, and how several of them become one number: as for `number`.
    **compared
        ``or_equal`` and ``resolution`` of `less`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"label": ["a", "b", "c"], "load": [1, 2, 4]})
    >>> below(table, "load", "a", ["b", "c"])
    Verdict(outcome='reproduced', found='1 against 2; 1 against 4')
    """

    def numbers(sides: Any) -> list[float]:
        found = []
        for side in listed(sides):
            of_side = {**(where or {}), by: side}
            found.append(number(table, column, of_side, statistic, rows))
        return found

    pairs = itertools.product(numbers(first), numbers(then))
    return every(less(left, right, **compared) for left, right in pairs)


def as_number(cell: Any) -> float | None:
    """A cell as a number; text is one where `gcexp.schema.typed` reads a number or a fraction.

    Examples
    --------
    >>> as_number("3/8"), as_number("1e-3"), as_number("cyclic"), as_number(2)
    (0.375, 0.001, None, 2.0)
    """
    try:
        if not isinstance(cell, str):
            return float(cell)
        value = typed(cell.strip(), fractions=True)
        if isinstance(value, bool | str):
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _equal(cells: pd.Series, value: object) -> np.ndarray:
    if cells.dtype.kind in "iuf" and not isinstance(value, bool):
        wanted = as_number(value)
        if wanted is not None:
            return np.isclose(cells.to_numpy(dtype=np.float64), wanted, rtol=ROUNDING, atol=0)
    if cells.dtype.name != "str":
        cells = cells.astype(str)
    return np.asarray(cells.array == str(value), dtype=bool)


def listed(value: Any) -> tuple:
    """The values of a list, or the one value."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return (value,)


def _said(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{column} = {value}" for column, value in where.items()) or "the whole table"
