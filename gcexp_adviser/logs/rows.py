"""From a table to the record of the times of workers in iterations."""

from __future__ import annotations

from dataclasses import replace

from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.ledger import judged
from gcexp_adviser.logs.long_rows import long_rows
from gcexp_adviser.logs.matching import matched
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.uncounted import rows_that_count
from gcexp_adviser.logs.wide_rows import wide_rows


def record_of(table: Table, how: How) -> TraceFile:
    """The record of a table, whether times stand in rows or in columns.

    Parameters
    ----------
    table : Table
    how : How
        What a person has said of it.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    counted = rows_that_count(table, how).read_with(how.decimal)
    found = matched(counted, how.columns)
    if found is None:
        log = wide_rows(counted, how)
    else:
        log = long_rows(counted, found, how)
    record = judged(log)
    return replace(record, decisions=(*counted.decisions, *record.decisions))
