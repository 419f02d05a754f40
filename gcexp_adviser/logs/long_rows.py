"""Times that stand in rows, one for each iteration and worker: durations, or starts and ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from gcexp.traces.assembling import Lines, TwiceError, record_of_lines, with_times
from gcexp.traces.record import Flags, TraceFile
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.keys import Keys, keys_of
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.parsed import Parsed
from gcexp_adviser.logs.runs import of_one_run
from gcexp_adviser.logs.spans import from_end_to_end, from_start_to_end
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.times import Times, compute_times, durations
from gcexp_adviser.logs.twice import refuse_twice


def long_rows(table: Table, found: Matched, how: How) -> Parsed:
    """What a table with a row for each iteration and worker says, of the run that is meant where there are several."""
    keys = keys_of(table, found)
    of_run: list[str] = []
    if found.iteration:
        rows, iterations, of_run = of_one_run(table, found, keys, how.run)
        if not rows.all():
            table = table.keep(rows)
            keys = keys_of(table, found)
        if how.run == "all":
            keys = replace(keys, iterations=iterations[rows])
    percent = _percent_of_compute(table, found, how.columns)
    if percent == found.compute:
        found = found.with_column("compute", "")  # it is asked about
    times = _times(table, found, keys, how.unit)
    values, of_values = _values(table, found, times)
    there = ~np.isnan(times.seconds)
    of_rows = _told_of_rows_without_times(keys, there) if found.times else []
    told = [*found.decisions, *keys.told, *of_run, *times.told, *of_values, *of_rows]
    record = _record(table, found, keys, values, times.with_unit(table.flags))
    return Parsed(
        record=replace(record, decisions=(*told, *record.decisions)),
        place=table.place,
        time=(*found.times, found.end)[0],
        worker=found.worker[0],
        is_end_to_end=not found.times and not found.start,
        is_numbered=table.is_numbered or not found.iteration,
        may_end_early=not found.iteration,
        are_durations=bool(how.unit or table.flags.unit),
        every_row=how.every_row,
        sizes=_sizes(table, found, keys, there),
        compute_unit=(table[found.compute].name.unit or times.unit) if found.compute else "",
        is_share=bool(found.compute) and table[found.compute].percents is not None,
        percent=percent,
    )


def _times(table: Table, found: Matched, keys: Keys, unit: str) -> Times:
    """The times of the rows (L,)."""
    if found.times:
        return durations(table, found, unit)
    if found.start:
        return from_start_to_end(table[found.start], table[found.end], keys, unit)
    return from_end_to_end(table[found.end], keys, unit)


def _values(table: Table, found: Matched, times: Times) -> tuple[dict[str, np.ndarray], list[str]]:
    """The times and other numbers of the rows (L,), and what was decided; of a clean record those of all columns."""
    values = {"time": times.seconds}
    told: list[str] = []
    if found.compute:
        compute = compute_times(table[found.compute], times)
        values["compute"] = compute.seconds
        told += compute.told
    if found.load:
        values["load"] = table[found.load].numbers.values
        told += table[found.load].numbers.told
    others = table.names.without(found.used).written
    if found.is_clean:
        values |= {name: table[name].further for name in others}
        return {name: values[name] for name in table.columns if name in values}, told
    if others:
        told.append(f"did not use {listed(others)}")
    return values, told


def _columns(table: Table, found: Matched) -> tuple[str, ...]:
    """What the record has, in the words of this project's format; of a clean record all its columns."""
    if found.is_clean:
        return tuple(table.columns)
    columns = ["iteration", "worker"]
    for name in ("chunk", "time", "compute", "load"):
        if name == "time" or getattr(found, name):
            columns.append(name)
    return tuple(columns)


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


def _record(
    table: Table, found: Matched, keys: Keys, values: dict[str, np.ndarray], flags: Flags
) -> TraceFile:
    """The record of the rows that have a time; raise `DataError` where two are of one iteration and worker."""
    rows = Lines(_columns(table, found), keys.iterations, keys.workers, values, keys.chunks, keys.hosts)
    try:
        return record_of_lines(with_times(rows, table.place), table.name, table.place, flags)
    except TwiceError as error:
        refuse_twice(table, found, error.who)


def _sizes(table: Table, found: Matched, keys: Keys, there: np.ndarray) -> dict[str, np.ndarray]:
    """How much data each worker had in each iteration (R, N), by the columns that say so."""
    names = table.names.without(found.used).where(lambda name: name.is_size)
    if not names or keys.chunks is not None:
        return {}
    iterations, rows = np.unique(keys.iterations[there], return_inverse=True)
    workers, places = np.unique(keys.workers[there], return_inverse=True)
    sizes = {}
    for name in names:
        sizes[name] = np.full((len(iterations), len(workers)), np.nan)
        sizes[name][rows, places] = table[name].further[there]
    return sizes


def _percent_of_compute(table: Table, found: Matched, given: dict[str, str]) -> str:
    """A column that seems to be the compute time in percent, where no other is the compute time; else empty."""
    if "compute" in given:
        return ""
    if found.compute:
        return found.compute if table[found.compute].percents is not None else ""
    names = table.names.without(found.used).where(lambda name: name.is_percent_of_compute)
    return names[0] if names else ""
