"""The keys of a table's rows: numbers of iterations, and numbers or names of workers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.assembling import by_number
from gcexp_adviser.logs.names import SYNONYMS, name_of
from gcexp_adviser.logs.numbers import Writing, cells_of, is_empty
from gcexp_adviser.logs.panels import series_of
from gcexp_adviser.logs.tables import Table

_DIGITS = 18  # of a whole number in a file
#: What may stand before the number of a worker; what else stands there belongs to its name.
_NUMBERED = frozenset(
    """
    w worker worker_id rank rank_id r replica process proc p n t time times duration durations
    """.split()
) | {""}


def whole_numbers(table: Table, column: str, role: str, writing: Writing) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    codes, values = pd.factorize(cells_of(table.frame[column]), use_na_sentinel=False)
    numbers = np.zeros(len(values), np.int64)
    for place, value in enumerate(values):
        number = _whole(value, writing)
        if number is None and role == "iteration":
            number = _numbered_iteration(value)
        if number is None:
            row = int(np.flatnonzero(codes == place)[0])
            told = f"{role} in {table.place_of(row)} is {quoted(value)}, wanted is a whole number >= 0"
            if role == "iteration":
                told += "; where another column is the iteration: columns=iteration:NAME"
            raise DataError(f"{table.place}: {told}")
        numbers[place] = number
    return numbers[codes]


def _numbered_iteration(value: object) -> int | None:
    """The number of ``step_12`` or ``Epoch 3``, or None.

    >>> _numbered_iteration("step_12"), _numbered_iteration("node12")
    (12, None)
    """
    if not isinstance(value, str):
        return None
    found = re.fullmatch(r"([A-Za-z]+)[ _:-]?(\d{1,18})", value.strip())
    if not found or found[1].lower() not in SYNONYMS["iteration"]:
        return None
    return int(found[2])


def _whole(value: object, writing: Writing) -> int | None:
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
    table: Table, columns: tuple[str, ...], writing: Writing
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where workers have names."""
    cells = cells_of(table.frame[columns[0]])
    if len(columns) > 1:
        joined = _text_of(table, columns[0])
        for column in columns[1:]:
            joined = joined.str.cat(_text_of(table, column), sep="/")
        cells = joined.to_numpy(object)
    codes, values = pd.factorize(cells, use_na_sentinel=False)
    numbers: list[int] = []
    hosts: list[str] = []
    for place, value in enumerate(values):
        number = _whole(value, writing)
        wanted = ""
        if number is not None:
            numbers.append(number)
        elif isinstance(value, str) and not is_empty(value):
            hosts.append(value.strip())
        else:
            wanted = "a whole number >= 0 or a name"
        if numbers and hosts:
            wanted = (
                "a name, as in other rows" if number is not None else "a whole number >= 0, as in other rows"
            )
        if wanted:
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"{table.place}: worker in {table.place_of(row)} is {quoted(value)}, wanted is {wanted}"
            )
    if numbers:
        return np.array(numbers, np.int64)[codes], ()
    names = tuple(sorted(set(hosts), key=by_number))
    place_of = {name: place for place, name in enumerate(names)}
    return np.array([place_of[host] for host in hosts])[codes], names


def _text_of(table: Table, column: str) -> pd.Series:
    return table.frame[column].astype(str).str.strip()


def labels_of(columns: list[str], is_numbered: bool = False) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers of the workers that columns or files are named after, and no names; or places, and their names.

    Examples
    --------
    >>> labels_of(["rank_1", "rank_0"]), labels_of(["node7", "node8"])
    (((1, 0), ()), ((0, 1), ('node7', 'node8')))
    """
    places = tuple(range(len(columns)))
    if is_numbered:
        return places, ()
    columns = list(map(_without_unit, _without_common(columns)))
    numbers = set()
    ordered = []
    for column in columns:
        found = re.fullmatch(r"(.*?)_?(\d{1,18})", name_of(column).base)
        if not found or found[1] not in _NUMBERED or int(found[2]) in numbers:
            return places, tuple(name.strip() for name in columns)
        numbers.add(int(found[2]))
        ordered.append(int(found[2]))
    return tuple(ordered), ()


def _without_unit(column: str) -> str:
    """A worker's name without the unit of its times in brackets.

    >>> _without_unit("GPU 5 [ms]"), _without_unit("node (old)")
    ('GPU 5', 'node (old)')
    """
    bare = re.sub(r"\s*[(\[]\w+[)\]]\s*$", "", column)
    return bare if name_of(column).unit and bare else column


def _without_common(columns: list[str]) -> list[str]:
    """Names without the mapping that they come from, and without what was measured, where all have the same.

    >>> _without_common(["timers.0", "timers.1"]), _without_common(["run-0 - time", "run-1 - time"])
    (['0', '1'], ['run-0', 'run-1'])
    """
    series = series_of(columns)
    if len(series) == len(columns):
        return list(series.values())
    mappings = {name_of(column).timers for column in columns}
    if len(mappings) == 1 and "" not in mappings and len(columns) > 1:
        return [column.rpartition(".")[2] for column in columns]
    metrics = {column.rpartition(" - ")[2] for column in columns}
    if len(metrics) == 1 and len(columns) > 1:
        return [column.rpartition(" - ")[0] for column in columns]
    return columns
