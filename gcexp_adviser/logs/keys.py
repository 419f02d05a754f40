"""The keys of a table's rows: of which iteration, worker and micro-batch each one is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.assembling import by_number
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import Names, listed
from gcexp_adviser.logs.numbers import is_empty, whole_number
from gcexp_adviser.logs.recipes import NESTED_JSON, see
from gcexp_adviser.logs.tables import Table

_EXACT = 2**53  # up to which floats hold all whole numbers


@dataclass(frozen=True)
class Keys:
    """Of which iteration, worker and micro-batch each row (L,) is.

    Where each worker has a column, iterations are those of the rows (R,), and workers those of the columns (N,).

    Attributes
    ----------
    iterations, workers : arrays of int (L,), or (R,) and (N,)
        Numbers; those of workers are places in `hosts` where they have names.
    hosts : tuple of str
        Names of the workers, or empty.
    chunks : array of int (L,), optional
    told : list of str
        What was decided.
    """

    iterations: np.ndarray
    workers: np.ndarray
    hosts: tuple[str, ...] = ()
    chunks: np.ndarray | None = None
    told: list[str] = field(default_factory=list)


def keys_of(table: Table, found: Matched) -> Keys:
    """Of which iteration, worker and micro-batch the rows of a table are.

    Raises
    ------
    DataError
        For the first cell that names no worker, or is no number of an iteration.
    """
    if found.of_workers:
        return _keys_of_columns(table, found)
    for name in found.worker:
        if name in table.nested:
            raise DataError(f"{table.place}: {name}, the worker, holds lists or objects; {see(NESTED_JSON)}")
    workers, hosts, told = _workers([table[name] for name in found.worker])
    iterations, numbered = _iterations([table[name] for name in found.iteration], workers)
    chunks = None
    if found.chunk:
        chunks = whole_numbers(table[found.chunk], "chunk")
    return Keys(iterations, workers, hosts, chunks, [*told, *numbered])


def _keys_of_columns(table: Table, found: Matched) -> Keys:
    """The workers of the columns, where each worker has one; rows are counted where no column says the iteration."""
    rows = np.arange(len(table.frame))
    if not table.named:
        return Keys(rows, np.arange(len(found.of_workers)))
    if found.iteration:
        rows, _ = _iterations([table[name] for name in found.iteration], rows)
    numbers, hosts = Names(tuple(table[name].name for name in found.of_workers)).workers
    if not hosts:
        return Keys(rows, np.array(numbers))
    order = sorted(range(len(hosts)), key=lambda place: by_number(hosts[place]))
    return Keys(rows, np.argsort(order), tuple(hosts[place] for place in order))


def whole_numbers(column: Column, role: str) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    numbers = column.whole_numbers
    row = int(numbers.argmin())
    if numbers[row] >= 0:
        return numbers
    told = f"{role} in {column.place_of(row)} is {quoted(column.cells[row])}, wanted is a whole number >= 0"
    if role == "iteration":
        told += "; where another column is the iteration: columns=iteration:NAME"
    raise DataError(f"{column.place}: {told}")


def _iterations(columns: list[Column], workers: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Numbers of the rows' iterations, and what was decided."""
    if not columns:
        numbers = pd.Series(workers).groupby(workers).cumcount().to_numpy()
        return numbers, ["no column says the iteration: the rows of each worker are numbered in their order"]
    parts = []
    for column in columns:
        parts.append(whole_numbers(column, "iteration"))
    if len(parts) == 1:
        return parts[0], []
    _, numbers = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
    names = " and ".join(column.name.written for column in columns)
    return numbers.ravel(), [f"numbered the pairs of {names} in their order"]


def _workers(columns: list[Column]) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
    """Numbers of the rows' workers; the names that they are places of, where workers have names; what was decided.

    Where any worker is no whole number, all have names; nan, none and the like are names only among names.
    """
    first, *others = columns
    cells = first.cells
    if others:
        joined = _text_of(first)
        for column in others:
            joined = joined.str.cat(_text_of(column), sep="/")
        cells = joined.to_numpy(object)
    elif cells.dtype.kind == "i" and cells.min() >= 0:
        return cells.astype(np.int64, copy=False), (), []
    codes, values = pd.factorize(cells, use_na_sentinel=False)
    numbers = [whole_number(value, first.writing) for value in values]
    no_numbers = [value for value, number in zip(values, numbers, strict=True) if number is None]
    are_numbered = len(no_numbers) < len(values)
    has_names = not are_numbered or not all(map(is_empty, no_numbers))
    for place, value in enumerate(values):
        if numbers[place] is None and (_is_nobody(value) or (is_empty(value) and not has_names)):
            row = int(np.flatnonzero(codes == place)[0])
            sentence = f"{first.place}: worker in {first.place_of(row)} is {quoted(value)}, "
            if _is_inexact(value):
                sentence += (
                    "a float, which has lost digits of such a number: give ids as whole numbers or as text"
                )
            else:
                sentence += "wanted is a whole number or a name"
            raise DataError(sentence)
    if None not in numbers:
        return np.array(numbers, np.int64)[codes], (), []
    hosts = [str(value).strip() for value in values]
    words = [host for host in hosts if not host.isdecimal()]
    told = []
    if are_numbered and words:
        told.append(f"took all workers for names, since some are no numbers: {listed(words)}")
    names = tuple(sorted(set(hosts), key=by_number))
    place_of = {name: place for place, name in enumerate(names)}
    return np.array([place_of[host] for host in hosts])[codes], names, told


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
    return _is_inexact(value) or value < 0 or value != int(value)


def _is_inexact(value: Any) -> bool:
    """Whether a cell is a float of more digits than floats hold."""
    return isinstance(value, float | np.floating) and _EXACT < abs(value) < np.inf


def _text_of(column: Column) -> pd.Series:
    return column.series.astype(str).str.strip()
