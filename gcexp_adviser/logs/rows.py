"""What the rows of a table say in arrays, and the record that they make as it stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.assembling import Lines, TwiceError, record_of_lines, record_of_matrix, with_times
from gcexp.traces.record import LEAST, MOST, NEEDED, Flags, TraceFile
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.keys import Keys, keys_of
from gcexp_adviser.logs.lost_lines import that_go_on
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.means import told_of_means
from gcexp_adviser.logs.names import Names, listed, typed
from gcexp_adviser.logs.parsed import Parsed
from gcexp_adviser.logs.phases import may_be_waiting
from gcexp_adviser.logs.recipes import SEVERAL_ROWS, see
from gcexp_adviser.logs.runs import of_one_run
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.times import Times, times_of
from gcexp_adviser.logs.waiting import refuse_tiling

_DATES = 1e9  # seconds since 1970 that a date has
_MOST_KINDS = 50  # values of a column that says what a row is about


@dataclass(frozen=True)
class _Numbers:
    """The numbers that the rows of a table hold.

    Attributes
    ----------
    columns : tuple of str
        What the record has, in the words of this project's format; of a clean record all its columns.
    values : dict of arrays (L,)
        ``time`` and what else the record has; of a table with a column for each worker ``time`` (R, N) alone.
    sizes : dict of arrays (L,)
        How much data a worker had, by the columns that say so.
    durations : dict of arrays (L,)
        What else took time, by the columns that say so, which may be called as what the record has.
    told : list of str
        What was decided.
    """

    columns: tuple[str, ...]
    values: dict[str, np.ndarray]
    sizes: dict[str, np.ndarray] = field(default_factory=dict)
    durations: dict[str, np.ndarray] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def rows_of(table: Table, found: Matched, how: How) -> Parsed:
    """What the rows of a table say, of the run that is meant where there are several.

    Raises
    ------
    DataError, ParameterError
        For the first cell that is no key or no time, several runs of which none was named, and several rows of one
        iteration and worker.
    """
    table, keys, of_rows = _of_one_run(table, found, how.run)
    times = times_of(table, found, keys, how.unit)
    if found.times and found.iteration:
        others = [table[name] for name in table.names.without(found.used).written]
        refuse_tiling(others, times.seconds, times.unit, keys)
    percent = _percent_of_compute(table, found, how.columns)
    if percent == found.compute:
        found = found.with_column("compute", "")  # it is asked about
    numbers = _numbers(table, found, keys, times)
    record = _record(table, found, keys, numbers, times.with_unit(table.flags))
    told = [*found.decisions, *of_rows, *times.told, *numbers.told, *record.decisions]
    of_means = told_of_means(table, found, keys, times)
    if of_means:
        told.append(of_means)
    values = {name: matrix for name, matrix in record.values.items() if name in numbers.values}
    sizes = {name: matrix for name, matrix in record.values.items() if name in numbers.sizes}
    durations = {table[name].name: record.values[_beside(name)] for name in numbers.durations}
    record = replace(record, values=values, decisions=tuple(told))
    if found.compute:
        record = replace(record, compute_column=found.compute)
    (time, *_) = (*found.times, found.end)
    may_end_early = bool(found.worker) and not found.iteration
    return Parsed(
        record=record,
        place=table.place,
        time=time,
        is_called_time=not time or table[time].name.fits("time") or table[time].name.fits("end"),
        is_time_named="time" in how.columns,
        iteration="" if "iteration" in how.columns else "+".join(found.iteration),
        worker=(*found.worker, "")[0],
        is_end_to_end=bool(found.end) and not found.start,
        is_numbered=table.is_numbered or may_end_early,
        may_end_early=may_end_early,
        go_on=that_go_on(keys.workers) if may_end_early else (),
        are_durations=bool(how.unit or table.flags.unit),
        every_row=how.every_row,
        sizes=sizes,
        durations=durations,
        compute_unit=(table[found.compute].name.unit or times.unit) if found.compute else "",
        is_share=bool(found.compute) and table[found.compute].percents is not None,
        percent=percent,
    )


def _without_empty_rows(table: Table, found: Matched) -> tuple[Table, list[str]]:
    """The table without rows that have neither an iteration nor a time, as other events, and what is told of them."""
    if found.is_clean or not (found.iteration and found.times):
        return table, []
    empty = np.ones(len(table.frame), bool)
    for name in (*found.iteration, *found.times):
        empty &= table[name].empty
        if not empty.any():
            return table, []
    count = int(empty.sum())
    rows = "1 row" if count == 1 else f"{count} rows"
    return table.keep(~empty), [f"left out {rows} with neither an iteration nor a time"]


def _of_one_run(table: Table, found: Matched, run: str) -> tuple[Table, Keys, list[str]]:
    """The rows of the run that is meant, whose they are, and what was decided."""
    table, left_out = _without_empty_rows(table, found)
    keys = keys_of(table, found)
    if not found.iteration and (found.of_workers or table.runs is None):
        return table, keys, [*left_out, *keys.told]
    if not found.iteration:
        rows_of_run = pd.Series(keys.workers).groupby([table.runs, keys.workers])
        keys = replace(keys, iterations=rows_of_run.cumcount().to_numpy())
    rows, iterations, told = of_one_run(table, found, keys, run)
    if not rows.all():
        table = table.keep(rows)
        keys = keys_of(table, found)
    if run == "all":
        keys = replace(keys, iterations=iterations[rows])
    return table, keys, [*left_out, *keys.told, *told]


def _numbers(table: Table, found: Matched, keys: Keys, times: Times) -> _Numbers:
    """The numbers of the rows; of a clean record those of all columns."""
    values = {"time": times.seconds}
    if found.of_workers:
        return _Numbers(NEEDED, values)
    if found.times:
        _refuse_wrong_time(table, found, times)
    told: list[str] = []
    if found.compute:
        compute = _compute_times(table[found.compute], times)
        values["compute"] = compute.seconds
        told += compute.told
    if found.load:
        values["load"] = table[found.load].numbers.values
        told += table[found.load].numbers.told
    others = table.names.without(found.used)
    keys_there = ("iteration", "worker", "chunk") if found.chunk else ("iteration", "worker")
    columns = (*keys_there, *values)
    if found.is_clean:
        columns = tuple(table.columns)
        values |= {name: table[name].further for name in others.written}
        values = {name: values[name] for name in columns if name in values}
    elif unused := others.where(lambda name: not name.is_unit):
        told.append(f"did not use {listed(unused)}")
    if found.times:
        told += _told_of_rows_without_times(keys, ~np.isnan(times.seconds))
    sizes = {
        name: table[name].further for name in others.where(lambda name: name.is_size or name.base == "batch")
    }
    durations = _further_durations(table, others, times.unit) if found.times else {}
    return _Numbers(columns, values, sizes, durations, told)


def _further_durations(table: Table, others: Names, unit: str) -> dict[str, np.ndarray]:
    """What columns beside the time say that took time, in seconds where the unit of the times is known."""
    found = {}
    for name in others.items:
        is_other = (
            name.is_stamp or name.is_rate or any(map(name.fits, ("iteration", "worker", "start", "end")))
        )
        if is_other or not (name.says_time or may_be_waiting(name)):
            continue
        numbers = table[name.written].further
        there = numbers[~np.isnan(numbers)]
        if not len(there) or (there < 0).any() or there.max() > _DATES:
            continue
        found[name.written] = Times(numbers, (name.unit or unit) if unit else "").seconds
    return found


def _percent_of_compute(table: Table, found: Matched, given: dict[str, str]) -> str:
    """A column that seems to be the compute time in percent, where no other is the compute time; else empty."""
    if "compute" in given or found.of_workers:
        return ""
    if found.compute:
        return found.compute if table[found.compute].percents is not None else ""
    names = table.names.without(found.used).where(lambda name: name.is_percent_of_compute)
    return names[0] if names else ""


def _compute_times(column: Column, times: Times) -> Times:
    """Times of computing alone (L,), in the unit of the times of their rows, or their share in percent."""
    unit = times.unit
    if column.percents is not None:
        told = f"compute is the time, of which {column.name.written} is the share in percent"
        return Times(times.values * column.percents / 100, unit, [told])
    values, of_cells, told, _ = column.numbers_in_unit(unit)
    if np.isnan(values).all():
        raise DataError(
            f"{column.place}: {column.name.written} has no number; leave it out: columns=compute:none"
        )
    if of_cells:
        return Times(values, of_cells, list(told))
    of_name = column.name.unit
    if of_name and not unit:
        raise DataError(
            f"{column.place}: {column.name.written} is in {of_name}, and the unit of the times is unknown; name it: "
            "unit=ms"
        )
    return Times(values, of_name or unit, list(told))


def _told_of_rows_without_times(keys: Keys, there: np.ndarray) -> list[str]:
    """What is told of the rows without a time, where `there` (L,) says which rows have one."""
    if there.all():
        return []
    pairs = pd.MultiIndex.from_arrays([keys.iterations, keys.workers])
    beside = pairs[~there].isin(pairs[there])
    missing = int((~beside).sum())
    other = int(beside.sum())
    told = []
    if missing:
        verb = "row has no time: it counts" if missing == 1 else "rows have no time: they count"
        told.append(f"{missing} {verb} as missing")
    if other:
        rows = "1 row" if other == 1 else f"{other} rows"
        told.append(f"left out {rows} without a time, whose iteration and worker have one in another row")
    return told


# --- the record -------------------------------------------------------------------------------------------------------


def _beside(column: str) -> str:
    """What durations of a column are called among the values of a record, where `column` may be in use already."""
    return f"{column} beside the time"


def _record(table: Table, found: Matched, keys: Keys, numbers: _Numbers, flags: Flags) -> TraceFile:
    """The record of the times that are there; raise `DataError` where two are of one iteration and worker."""
    if found.of_workers:
        iterations = None
        if found.iteration:
            iterations = keys.iterations
            _refuse_iterations_that_stand_twice(table, found, iterations)
        times = numbers.values["time"]
        return record_of_matrix(times, table.name, table.place, flags, iterations, keys.workers, keys.hosts)
    durations = {_beside(name): values for name, values in numbers.durations.items()}
    values = numbers.values | numbers.sizes | durations
    rows = Lines(numbers.columns, keys.iterations, keys.workers, values, keys.chunks, keys.hosts)
    try:
        return record_of_lines(with_times(rows, table.place), table.name, table.place, flags)
    except TwiceError as error:
        _refuse_twice(table, found, error.who)


# --- rows that are refused --------------------------------------------------------------------------------------------


def _refuse_wrong_time(table: Table, found: Matched, times: Times) -> None:
    """Raise `DataError` for the first row whose duration is no time; it may be that of something else in a step."""
    wrong = np.flatnonzero(~times.are_times & ~np.isnan(times.seconds))
    if not len(wrong):
        return
    row = int(wrong[0])
    _refuse_rows_that_stand_twice(table, found)
    cell = table[found.times[0]].series.iloc[row]
    sentence = f"{table.place}: time in {table.place_of(row)} is {_wanted(cell)}"
    if times.seconds[row] < 0 and len(found.times) == 1:
        mark = typed(f"{found.times[0]}:{cell}")
        sentence += f"; where it stands for a worker that was too late: without={mark}"
    raise DataError(sentence)


def _wanted(cell: object) -> str:
    """A cell that is no time, and what is wanted."""
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if 0 < value < np.inf:
        return f"{quoted(cell)}, wanted is a number from {LEAST:g} to {MOST:g}"
    return f"{quoted(cell)}, wanted is a number > 0, or nothing where a worker has no time"


def _refuse_rows_that_stand_twice(table: Table, found: Matched) -> None:
    """Raise `DataError` where several rows are of the same iteration and worker, by their cells."""
    if not found.iteration:
        return
    keys = [*found.iteration, *found.worker]
    if found.chunk:
        keys.append(found.chunk)
    twice = np.flatnonzero(table.frame.duplicated(keys))
    if not len(twice):
        return
    row = table.frame.iloc[int(twice[0])].astype(str)
    iteration = "/".join(row[list(found.iteration)])
    worker = "/".join(row[list(found.worker)])
    _refuse_twice(table, found, f"iteration {iteration}, worker {worker}")


def _refuse_iterations_that_stand_twice(table: Table, found: Matched, iterations: np.ndarray) -> None:
    """Raise `DataError` where several rows (R,) of a table with a column for each worker are of one iteration."""
    twice = np.flatnonzero(pd.Series(iterations).duplicated())
    if len(twice):
        _refuse_twice(table, found, f"iteration {iterations[twice[0]]}")


def _refuse_twice(table: Table, found: Matched, who: str) -> NoReturn:
    """Raise `DataError`: several rows are of the iteration and worker that `who` names."""
    told = f"{table.place}: {who} stands twice"
    kinds = _kinds(table, found)
    if kinds:
        told += f"; its rows differ in {listed(kinds)}, as {kinds[0]} {table.frame[kinds[0]].iloc[0]}"
    told += f": {see(SEVERAL_ROWS)}"
    telling_apart = _telling_rows_apart(table, found)
    if telling_apart:
        told += f", or name the columns that tell them apart: columns={telling_apart}"
    raise DataError(told)


def _telling_rows_apart(table: Table, found: Matched) -> str:
    """A key of several columns that tells the rows with a time apart, as it is typed; empty where there is none."""
    timed = table.frame
    for name in found.times:
        timed = timed[~table[name].empty[timed.index]]
    keys = [*found.iteration, *found.worker]
    others = table.names.without(found.used)
    for role, mine in (("iteration", found.iteration), ("worker", found.worker)):
        for name in others.fitting(role) if mine else ():
            if not timed.duplicated([*keys, name]).any():
                coarsest_first = sorted((name, *mine), key=lambda part: table[part].distinct)
                return f"{role}:{typed('+'.join(coarsest_first))}"
    return ""


def _kinds(table: Table, found: Matched) -> list[str]:
    """Columns with few values, in which rows of one iteration and worker differ."""
    if not found.iteration:
        return []
    keys = [*found.iteration, *found.worker]
    kinds = []
    for name in table.names.without(found.used).written:
        if table[name].distinct > _MOST_KINDS:
            continue
        if table.frame.groupby(keys, sort=False)[name].nunique().max() > 1:
            kinds.append(name)
    return kinds
