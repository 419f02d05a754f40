"""From a table to numbers: the times of workers in iterations, whether they stand in rows or in columns."""

from __future__ import annotations

from dataclasses import replace

from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.long_rows import Rows, long_rows
from gcexp_adviser.logs.matching import canonical, is_canonical, looks_long, matched, refuse_wide_roles
from gcexp_adviser.logs.numbers import Writing
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.uncounted import rows_that_count
from gcexp_adviser.logs.wide_rows import Matrix, wide_rows


def read_rows(table: Table, how: How, alone: bool = False) -> Rows | Matrix:
    """The times of a table.

    Parameters
    ----------
    table : Table
    how : How
        What a person has said of it.
    alone : bool
        Whether the table is that of one worker, so that no column need say the worker.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    table, told = rows_that_count(table, how)
    return _with_told(_read_rows(table, how, alone), told)


def _with_told(found: Rows | Matrix, told: list[str]) -> Rows | Matrix:
    """What was read, with what was told of rows that do not count."""
    return replace(found, decisions=[*told, *found.decisions]) if told else found


def _read_rows(table: Table, how: How, alone: bool) -> Rows | Matrix:
    """The times of a table whose rows all count."""
    given = dict(how.roles)
    writing = Writing(table.place, table.semicolons, table.decimal_commas, how.decimal)
    if not given and is_canonical(table):
        return long_rows(table, canonical(table), how.unit, writing, how.run)
    if looks_long(table, given):
        return long_rows(table, matched(table, given, alone), how.unit, writing, how.run)
    refuse_wide_roles(given)
    return wide_rows(table, given, how.unit, writing)
