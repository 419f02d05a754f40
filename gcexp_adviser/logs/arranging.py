"""The record that lines or a matrix of times make: iterations renumbered, each time in its place, gaps marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.assembling import TwiceError, record_of_lines, record_of_matrix
from gcexp.traces.record import Flags, TraceFile
from gcexp_adviser.logs import ledger
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.long_rows import SIZES, Rows
from gcexp_adviser.logs.moments import other_scale, refuse_moments
from gcexp_adviser.logs.names import listed, typed
from gcexp_adviser.logs.recipes import DIFFERENCES, see
from gcexp_adviser.logs.tables import IN_MEMORY, OF_ARRAY, OF_FRAME, Table
from gcexp_adviser.logs.twice import refuse_twice
from gcexp_adviser.logs.wide_rows import Matrix

_MANY_EQUAL = 16  # equal times from which on they are no chance
_LEFT_SINCE = 20  # iterations from which on those since all workers are there suffice


def arranged(found: Rows | Matrix, table: Table, name: str, flags: Flags, how: How) -> TraceFile:
    """The record of times that were read, after a ledger of what they may be instead.

    Parameters
    ----------
    found : Rows or Matrix
    table : Table
        From which they were read, for sentences.
    name : str
        That of the record.
    flags : Flags
    how : How
        What a person has said. Where it names a unit, they are durations, whatever they look like.

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
    escape = 'the argument unit="s"' if place in IN_MEMORY else "unit=s"
    are_durations = bool(how.unit or flags.unit)
    if not are_durations:
        _refuse_equal(trace, place, escape)
    _refuse_unaligned(trace, table)
    _refuse_asynchronous(trace, place)
    _refuse_server(trace, found, how, place)
    trace = _at_common_steps(trace)
    remarks = []
    if not are_durations:
        cure = _cure_of_moments(found, place)
        trace = _differences_of_counters(trace, place, cure, escape)
        remarks.append(refuse_moments(trace.values["time"], place, cure, escape))
    remarks.append(other_scale(trace.values["time"], trace.labels))
    remarks.append(_unequal_data(trace, found, table))
    _refuse_doubtful_compute(trace, found, table, how)
    told = list(filter(None, remarks))
    return replace(trace, decisions=(*trace.decisions, *told))


# --- the ledger -------------------------------------------------------------------------------------------------------


def _there(trace: TraceFile) -> np.ndarray:
    """Which workers have a time in which iterations, bool (R, N)."""
    return ~np.isnan(trace.values["time"])


def _with_rows(trace: TraceFile, rows: np.ndarray, told: str) -> TraceFile:
    """The trace with some of its iterations alone, and why."""
    missing = np.isnan(trace.values["time"][rows])
    return replace(
        trace,
        values={name: matrix[rows] for name, matrix in trace.values.items()},
        chunks=None if trace.chunks is None else trace.chunks[rows],
        missing=missing if missing.any() else None,
        decisions=(*trace.decisions, told),
    )


def _refuse_equal(trace: TraceFile, place: str, escape: str) -> None:
    """Raise `DataError` where all times of several workers are one number."""
    times = trace.values["time"]
    rows, workers = times.shape
    if min(rows, workers) < 2 or times.size < _MANY_EQUAL or np.nanmin(times) < np.nanmax(times):
        return
    raise DataError(
        f"{place}: all {times.size} times are equal, {times.flat[0]:g}: they seem to be no times but a setting or a "
        f"count; where another column is the time: columns=time:NAME; where they are times: {escape}"
    )


def _refuse_unaligned(trace: TraceFile, table: Table) -> None:
    """Raise `DataError` where rows of files were numbered, though the files have not the same number of them."""
    if not table.is_numbered:
        return
    there = _there(trace)
    counts = there.sum(axis=0)
    if counts.min() == counts.max():
        return
    usual = int(counts.max())
    short = np.flatnonzero(counts < usual)
    whose = ledger.in_words(trace.labels, short.tolist())
    told = (
        f"{table.place}: no column says the iteration, and files have unequal numbers of rows ({whose}: "
        f"{listed(map(str, counts[short]))}, others up to {usual}): lines are lost, and which line is missing cannot "
        "be known, so rows cannot be aligned"
    )
    at = ledger.shift_of([column[~np.isnan(column)] for column in trace.values["time"].T])
    if at:
        told += f"; a shift from {at} on makes its times like those of the others"
    raise DataError(
        f"{told}; write the step into each line; where the last rows are those that are missing: columns=iteration:none"
    )


def _refuse_asynchronous(trace: TraceFile, place: str) -> None:
    """Raise `DataError` for a run in which each step is the update of one worker."""
    if ledger.one_worker_each(_there(trace)):
        raise DataError(
            f"{place}: there is one worker in each iteration, so the run seems to be asynchronous: nobody waits for "
            "anybody, and there is nothing to advise on; where each worker counts its own: columns=iteration:none"
        )


def _refuse_server(trace: TraceFile, found: Rows | Matrix, how: How, place: str) -> None:
    """Raise `DataError` where one of the workers seems to be the server."""
    if isinstance(found, Matrix) or how.every_row:
        return
    label = ledger.server_among(trace.labels)
    if label:
        (column, *_) = found.found.worker
        raise DataError(
            f"{place}: {label} may be no worker: a server waits for all others. Leave its rows out: without="
            f"{typed(f'{column}:{label}')}; where it is a worker: without=none"
        )


def _at_common_steps(trace: TraceFile) -> TraceFile:
    """The trace at the steps at which all workers log, and since all are there; and what is told of other steps."""
    there = _there(trace)
    if there.all() or not trace.flags.persistent:
        return trace
    every = ledger.cadences(there)
    if every.max() > 1:
        common = np.flatnonzero(there[:, every > 1].all(axis=1))
        if len(common) > 1:
            rare = ledger.in_words(trace.labels, np.flatnonzero(every > 1).tolist())
            told = (
                f"{rare} logged every {every.max()} iterations, others more: kept {len(common)} common iterations of "
                f"{len(there)}"
            )
            trace = _with_rows(trace, common, told)
            return replace(trace, flags=replace(trace.flags, sampled=True))
    joined = ledger.join_later(there)
    if joined:
        first = max(joined.values())
        told = f"{ledger.in_words(trace.labels, list(joined))} joined later, with iteration {first}"
        if len(there) - first >= _LEFT_SINCE:
            return _with_rows(trace, np.arange(first, len(there)), f"{told}: left out the iterations before")
        return replace(trace, decisions=(*trace.decisions, f"{told}: before, they are missing"))
    return trace


def _differences_of_counters(trace: TraceFile, place: str, cure: str, escape: str) -> TraceFile:
    """The trace with durations, where its times are counters that go on from iteration to iteration."""
    times = trace.values["time"]
    if trace.chunks is not None or not trace.flags.persistent:
        return trace
    counter = ledger.counter_of(times)
    if counter is None:
        return trace
    seen = f"the times of every worker grow from iteration to iteration, up to {np.nanmax(times):.6g}"
    if ledger.keeps_pace(times[counter.rows], counter.durations):
        raise DataError(
            f"{place}: {seen}, and those of all workers keep pace: they seem to count from the start of the run, and "
            f"differences hold the waiting for others; {cure}; where they are durations, name their unit: {escape}"
        )
    if counter.resets:
        seen += f", and begin anew {counter.resets} times" if counter.resets > 1 else ", and begin anew once"
    told = (
        f"{seen}: took them for counters, and the differences of rows for times; where they are durations, name their "
        f"unit: {escape}"
    )
    values = {name: matrix[counter.rows] for name, matrix in trace.values.items()}
    values["time"] = counter.durations
    missing = np.isnan(counter.durations)
    return replace(
        trace,
        values=values,
        missing=missing if missing.any() else None,
        decisions=(*trace.decisions, told),
    )


def _unequal_data(trace: TraceFile, found: Rows | Matrix, table: Table) -> str:
    """A sentence where workers have unequal amounts of data, by a column of sizes; else empty."""
    if isinstance(found, Matrix) or found.chunks is not None:
        return ""
    for column in table.names.where(lambda name: name.base in SIZES):
        if column in found.found.used or len(found.sizes.get(column, ())) != len(found.iterations):
            continue
        sizes = _as_matrix(found, found.sizes[column])
        if sizes.shape != trace.values["time"].shape:
            continue
        each = ledger.unequal_sizes(sizes, trace.values["time"])
        if each is None:
            continue
        slowest = int(each.argmax())
        return (
            f"{column} differs by worker: unequal data may be why some take longer, not slow workers. Per unit of "
            f"{column} worker {trace.labels[slowest]} takes longest, {each[slowest]:.3g} times as long as the middle"
        )
    return ""


def _as_matrix(found: Rows, numbers: np.ndarray) -> np.ndarray:
    """Numbers of rows (L,) as a matrix (R, N)."""
    iterations, rows = np.unique(found.iterations, return_inverse=True)
    workers, columns = np.unique(found.workers, return_inverse=True)
    matrix = np.full((len(iterations), len(workers)), np.nan)
    matrix[rows, columns] = numbers
    return matrix


def _refuse_doubtful_compute(trace: TraceFile, found: Rows | Matrix, table: Table, how: How) -> None:
    """Raise `DataError` where compute times seem to have another unit than the times, or to be in percent."""
    if isinstance(found, Matrix):
        return
    cure = "write its unit into its name, as compute_s or compute_ms, or leave it out: columns=compute:none"
    if not found.found.compute:
        if "compute" in dict(how.roles):
            return
        for column in table.names.without(found.found.used).where(lambda name: name.is_percent_of_compute):
            raise DataError(
                f"{table.place}: {column} seems to be the compute time in percent: make it a time, or leave it out: "
                "columns=compute:none"
            )
        return
    if "compute" not in trace.values:  # of micro-batches
        return
    doubt = ledger.compute_in_doubt(trace.values["time"], trace.values["compute"])
    if doubt:
        raise DataError(f"{table.place}: {doubt}: {cure}")


# --- records ----------------------------------------------------------------------------------------------------------


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
