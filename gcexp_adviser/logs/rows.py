"""From a table to numbers: the times of workers in iterations, whether they stand in rows or in columns."""

from __future__ import annotations

from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.long_rows import Rows, long_rows
from gcexp_adviser.logs.matching import canonical, is_canonical, looks_long, matched, refuse_wide_roles
from gcexp_adviser.logs.numbers import Writing
from gcexp_adviser.logs.tables import Table
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
    given = dict(how.roles)
    writing = Writing(table.place, table.semicolons, table.decimal_commas, how.decimal)
    if not given and is_canonical(table):
        return long_rows(table, canonical(table), how.unit, writing)
    if looks_long(table, given):
        return long_rows(table, matched(table, given, alone), how.unit, writing)
    refuse_wide_roles(given)
    return wide_rows(table, given, how.unit, writing)
