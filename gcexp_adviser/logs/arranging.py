"""The record that lines or a matrix of times make: iterations renumbered, each time in its place, gaps marked."""

from __future__ import annotations

from dataclasses import replace

from gcexp.traces.assembling import TwiceError, record_of_lines, record_of_matrix
from gcexp.traces.record import Flags, TraceFile
from gcexp_adviser.logs.long_rows import Rows
from gcexp_adviser.logs.moments import other_scale, refuse_moments
from gcexp_adviser.logs.names import typed
from gcexp_adviser.logs.recipes import DIFFERENCES, see
from gcexp_adviser.logs.tables import IN_MEMORY, OF_ARRAY, OF_FRAME, Table
from gcexp_adviser.logs.twice import refuse_twice
from gcexp_adviser.logs.wide_rows import Matrix


def arranged(found: Rows | Matrix, table: Table, name: str, flags: Flags, unit: str) -> TraceFile:
    """The record of times that were read.

    Parameters
    ----------
    found : Rows or Matrix
    table : Table
        From which they were read, for sentences.
    name : str
        That of the record.
    flags : Flags
    unit : str
        That of the times, where a person has named it: then they are durations, whatever they look like.

    Raises
    ------
    DataError
        For times that stand twice, moments in place of times, and other faults.
    """
    place = table.place
    if isinstance(found, Matrix):
        trace = _of_matrix(found, name, place, flags)
    else:
        trace = _of_rows(found, table, name, flags)
    times = trace.values["time"]
    remarks = []
    if not unit and not flags.unit:
        escape = 'the argument unit="s"' if place in IN_MEMORY else "unit=s"
        remarks.append(refuse_moments(times, place, _cure_of_moments(found, place), escape))
    remarks.append(other_scale(times, trace.labels))
    told = list(filter(None, remarks))
    return replace(trace, decisions=(*trace.decisions, *told))


def _cure_of_moments(found: Rows | Matrix, place: str) -> str:
    """What to type where times turn out to be moments."""
    if isinstance(found, Matrix):
        return f"take the differences of its rows first: {_differences(place)}"
    column = (found.found.times or (found.found.end,))[0]
    if place in IN_MEMORY:
        return (
            f"for the time since the worker's previous row: columns={{'end': {column!r}}}; where another column is the "
            "time: columns={'time': 'NAME'}"
        )
    return (
        f"for the time since the worker's previous row: columns=end:{typed(column)}; where another column is the time: "
        "columns=time:NAME"
    )


def _differences(place: str) -> str:
    """What makes differences of the rows of a matrix."""
    if place == OF_ARRAY:
        return "numpy.diff(array, axis=0)"
    if place == OF_FRAME:
        return "frame.diff().iloc[1:]"
    return see(DIFFERENCES)


def _of_matrix(found: Matrix, name: str, place: str, flags: Flags) -> TraceFile:
    trace = record_of_matrix(
        found.times,
        name,
        place,
        _with_unit(flags, found.unit),
        iterations=found.iterations,
        workers=found.workers,
        hosts=found.hosts,
    )
    return replace(trace, decisions=(*found.decisions, *trace.decisions))


def _of_rows(found: Rows, table: Table, name: str, flags: Flags) -> TraceFile:
    try:
        trace = record_of_lines(found, name, table.place, _with_unit(flags, found.unit))
    except TwiceError as error:
        refuse_twice(table, found.found, error.who)
    return replace(trace, decisions=(*found.decisions, *trace.decisions))


def _with_unit(flags: Flags, unit: str) -> Flags:
    """The flags with the unit that reading has found."""
    return replace(flags, unit=unit) if unit else flags
