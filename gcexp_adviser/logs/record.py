"""The way of a log: from any source to a table, to its columns, to what they say in arrays, to a record."""

from __future__ import annotations

from dataclasses import replace

from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.ledger import judged
from gcexp_adviser.logs.long_rows import long_rows
from gcexp_adviser.logs.matching import matched, without_empty_compute
from gcexp_adviser.logs.sources import table_of
from gcexp_adviser.logs.uncounted import rows_that_count
from gcexp_adviser.logs.wide_rows import wide_rows


def record_of(source: object, how: How) -> TraceFile:
    """The record of a source.

    Parameters
    ----------
    source : Path, several paths, frame, mapping of columns, or array
    how : How
        What a person has said of it.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    table = table_of(source, how)
    table = rows_that_count(table, how).read_with(how.decimal)
    table = without_empty_compute(table, how.columns)
    found = matched(table, how.columns)
    if found is None:
        log = wide_rows(table, how)
    else:
        log = long_rows(table, found, how)
    record = judged(log)
    return replace(record, decisions=(*table.decisions, *record.decisions))
