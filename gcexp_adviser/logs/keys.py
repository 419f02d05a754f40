"""The keys of a table's rows: numbers of iterations, and numbers or names of workers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.assembling import by_number
from gcexp_adviser.logs.names import listed, name_of
from gcexp_adviser.logs.numbers import Writing, cells_of, is_empty
from gcexp_adviser.logs.recipes import NESTED_JSON, see
from gcexp_adviser.logs.tables import Table

_DIGITS = 18  # of a whole number in a file
_EXACT = 2**53  # up to which floats hold all whole numbers
#: What may stand before the number of a worker; what else stands there belongs to its name.
_NUMBERED = ("", "w", "worker", "r", "rank", "p", "proc", "process")


def whole_numbers(table: Table, column: str, role: str, writing: Writing) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    cells = cells_of(table.frame[column])
    if cells.dtype.kind == "i" and cells.min() >= 0:
        return cells.astype(np.int64, copy=False)
    codes, values = pd.factorize(cells, use_na_sentinel=False)
    numbers = np.zeros(len(values), np.int64)
    for place, value in enumerate(values):
        number = _whole(value, writing)
        if number is None:
            row = int(np.flatnonzero(codes == place)[0])
            told = f"{role} in {table.place_of(row)} is {quoted(value)}, wanted is a whole number >= 0"
            if role == "iteration":
                told += "; where another column is the iteration: columns=iteration:NAME"
            raise DataError(f"{table.place}: {told}")
        numbers[place] = number
    return numbers[codes]


def _whole(value: Any, writing: Writing) -> int | None:
    """A whole number >= 0 of at most 18 digits in a cell, or None."""
    if isinstance(value, str):
        text = value.strip()
        if writing.points_divide and re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", text):
            text = text.replace(".", "")
        text = text.removesuffix(".0")
        if text.isdecimal() and len(text) <= _DIGITS:
            return int(text)
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    if not 0 <= value < 10**_DIGITS or value != int(value):
        return None
    return int(value)


def workers_of(
    table: Table, columns: tuple[str, ...], writing: Writing, decisions: list[str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where workers have names.

    Where any worker is no whole number, all have names; nan, none and the like are names only among names.
    """
    for column in columns:
        if column in table.nested:
            raise DataError(
                f"{table.place}: {column}, the worker, holds lists or objects; {see(NESTED_JSON)}"
            )
    cells = cells_of(table.frame[columns[0]])
    if len(columns) > 1:
        joined = _text_of(table, columns[0])
        for column in columns[1:]:
            joined = joined.str.cat(_text_of(table, column), sep="/")
        cells = joined.to_numpy(object)
    elif cells.dtype.kind == "i" and cells.min() >= 0:
        return cells.astype(np.int64, copy=False), ()
    codes, values = pd.factorize(cells, use_na_sentinel=False)
    numbers = [_whole(value, writing) for value in values]
    others = [value for value, number in zip(values, numbers, strict=True) if number is None]
    are_numbered = len(others) < len(values)
    has_names = not are_numbered or not all(map(is_empty, others))
    for place, value in enumerate(values):
        if numbers[place] is None and (_is_nobody(value) or (is_empty(value) and not has_names)):
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"{table.place}: worker in {table.place_of(row)} is {quoted(value)}, wanted is a number or a name"
            )
    if None not in numbers:
        return np.array(numbers, np.int64)[codes], ()
    hosts = [str(value).strip() for value in values]
    words = [host for host in hosts if not host.isdecimal()]
    if are_numbered and words:
        told = listed(words)
        decisions.append(f"took all workers for names, since some are no numbers: {told}")
    names = tuple(sorted(set(hosts), key=by_number))
    place_of = {name: place for place, name in enumerate(names)}
    return np.array([place_of[host] for host in hosts])[codes], names


def _is_nobody(value: Any) -> bool:
    """Whether a cell names no worker: nothing, or a number that is negative or no whole one.

    >>> [_is_nobody(value) for value in ("", None, np.nan, -1, "-1", 0.5, 2.0, "none", "node-1")]
    [True, True, True, True, True, True, False, False, False]
    """
    if isinstance(value, str):
        return not value.strip() or bool(re.fullmatch(r"\s*-\d+\s*", value))
    if isinstance(value, int) and abs(value) > _EXACT:  # of JSON, of any length
        return value < 0
    if value is None or isinstance(value, bool | np.bool_) or not np.isfinite(value):
        return True
    if isinstance(value, float | np.floating) and abs(value) > _EXACT:  # not known to the last digit
        return True
    return value < 0 or value != int(value)


def _text_of(table: Table, column: str) -> pd.Series:
    return table.frame[column].astype(str).str.strip()


def labels_of(columns: list[str], is_numbered: bool = False) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers of the workers that columns or files are named after, and no names; or places, and their names.

    Examples
    --------
    >>> labels_of(["rank_1", "rank_0"]), labels_of(["node7 [ms]", "node8 [ms]"])
    (((1, 0), ()), ((0, 1), ('node7', 'node8')))
    """
    places = tuple(range(len(columns)))
    if is_numbered:
        return places, ()
    numbers = []
    for column in columns:
        found = re.fullmatch(r"([a-z]*)_?(\d{1,18})", name_of(column).base)
        if found and found[1] in _NUMBERED:
            numbers.append(int(found[2]))
    if len(set(numbers)) == len(columns):
        return tuple(numbers), ()
    return places, tuple(map(_without_unit, columns))


def _without_unit(column: str) -> str:
    """A worker's name without the unit of its times in brackets.

    >>> _without_unit("GPU 5 [ms]"), _without_unit("node (old)")
    ('GPU 5', 'node (old)')
    """
    bare = re.sub(r"\s*[(\[]\w+[)\]]\s*$", "", column)
    return bare if name_of(column).unit and bare else column.strip()
