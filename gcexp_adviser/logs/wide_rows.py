"""Times that stand in columns, one for each worker, and rows that are iterations."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.traces.assembling import by_number, record_of_matrix
from gcexp.traces.record import LEAST, MOST
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.keys import whole_numbers
from gcexp_adviser.logs.names import NOT_USED, Names, listed, names_of, typed
from gcexp_adviser.logs.parsed import Parsed
from gcexp_adviser.logs.separators import UNNAMED
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.times import times_of_workers
from gcexp_adviser.logs.unmatched import not_known


def wide_rows(table: Table, how: How) -> Parsed:
    """What a table with a column for each worker says."""
    given = how.columns
    _refuse_long_roles(given)
    in_memory = not table.named and not table.columns[0].startswith("column")
    columns, numbering, told = _columns_of_workers(table, given, in_memory)
    times = times_of_workers(table, columns, how.unit, is_clean=in_memory)
    workers, hosts = tuple(range(len(columns))), ()
    if table.named:
        workers, hosts = names_of(columns).workers
    order = np.argsort(workers)
    if hosts:
        order = np.array(sorted(range(len(hosts)), key=lambda place: by_number(hosts[place])))
        hosts = tuple(np.array(hosts, dtype=object)[order])
    else:
        workers = tuple(np.array(workers)[order].tolist())
    matrix = times.seconds[:, order]
    iterations = np.arange(len(matrix))
    if numbering:
        iterations = whole_numbers(table[numbering], "iteration")
        values, counts = np.unique(iterations, return_counts=True)
        if counts.max() > 1:
            raise DataError(f"{table.place}: iteration {values[counts.argmax()]} stands twice")
        order = np.argsort(iterations)
        iterations = iterations[order]
        matrix = matrix[order]
    _check_times(matrix, hosts or tuple(map(str, workers)), table.place)
    flags = times.with_unit(table.flags)
    record = record_of_matrix(matrix, table.name, table.place, flags, iterations, workers, hosts)
    return Parsed(
        record=replace(record, decisions=(*told, *times.told, *record.decisions)),
        place=table.place,
        is_numbered=table.is_numbered,
        are_durations=bool(how.unit or table.flags.unit),
        every_row=how.every_row,
    )


def _refuse_long_roles(given: dict[str, str]) -> None:
    """Raise `ParameterError` where ``columns=`` names workers' columns and those of a long table."""
    clash = set(given) & {"worker", "time", "start", "end", "compute", "load", "chunk"}
    if clash:
        raise ParameterError(
            f"columns= names workers, a column for each, and {', '.join(sorted(clash))}, of a table with a row for each"
        )


def _columns_of_workers(
    table: Table, given: dict[str, str], in_memory: bool
) -> tuple[list[str], str, list[str]]:
    """The columns of the workers; the one of the iterations, which may be empty; and what was decided."""
    numbering = _numbering_of_wide(table, given)
    names = table.names.without([numbering])
    if "workers" in given:
        found = _of_pattern(table, names, given["workers"])
    elif in_memory:
        found = _of_array(table, names)
    elif table.named:
        found = _guessed_workers(table, names)
    else:
        found = _unnamed_workers(table, names)
    if not numbering and "iteration" not in given and table.named:
        _refuse_unnumbered(table, found)
    told = []
    if not in_memory:
        shown = found[0]
        if len(found) > 1:
            shown = f"{found[0]} to {found[-1]}"
        told.append(
            f"took each of the {len(found)} columns {shown} for a worker, and each row for an iteration"
        )
    others = names.without(found).written
    if others:
        told.append(f"did not use {listed(others)}")
    if numbering:
        told.append(f"iteration = {numbering}")
    return found, numbering, told


def _numbering_of_wide(table: Table, given: dict[str, str]) -> str:
    """The column of the iterations of a wide table; empty where there is none."""
    if given.get("iteration") == NOT_USED:
        return ""
    if "iteration" in given:
        return table.column_named(given["iteration"])
    found = table.names.fitting("iteration")
    if len(found) > 1:
        found = [name for name in found if table.frame[name].is_unique]
    if not found:
        return ""
    if len(found) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found)} may each be the iteration; say which one, as in "
            f"columns=iteration:{found[0]}"
        )
    return found[0]


def _of_pattern(table: Table, names: Names, pattern: str) -> list[str]:
    """The columns that a person has named by a pattern."""
    found = []
    for name in names.written:
        if fnmatchcase(name, pattern) and not name.startswith(UNNAMED):
            found.append(name)
    if not found:
        raise ParameterError(
            f"{table.place}: columns=workers:{pattern} fits no column; it has {listed(table.columns)}"
        )
    return found


def _of_array(table: Table, names: Names) -> list[str]:
    """The columns of an array; raise `DataError` where it may have a row for each iteration and worker."""
    found = names.written
    if len(found) == 3 and not table[found[2]].is_whole and _may_be_long(table):
        raise DataError(
            f"{table.place}: its 3 columns may be iteration, worker and time, or one for each worker; say "
            "columns=iteration:0,worker:1,time:2 or columns=workers:*"
        )
    return found


def _guessed_workers(table: Table, names: Names) -> list[str]:
    """Columns whose names are those of workers beyond doubt; raise `DataError` where there are none."""
    found = names.of_workers
    if found and not (found[0].strip().isdecimal() and _has_unknown(names.without(found))):
        return found
    pattern, group = table.names.numbered
    if group and re.search(r"bytes|count|num_|_size|examples|samples|tokens", pattern.base):
        raise DataError(
            f"{table.place}: the columns {pattern.written} seem to hold counts or bytes, and no times of workers; "
            f"where they are times: columns=workers:{pattern.typed}"
        )
    raise DataError(f"{table.place}: {not_known(table)}")


def _has_unknown(names: Names) -> bool:
    """Whether columns have names of their own, so that numbers beside them may be a row, not names."""
    return bool(names.where(lambda name: not (name.is_stamp or name.written.startswith(UNNAMED))))


def _refuse_unnumbered(table: Table, workers: list[str]) -> None:
    """Raise `DataError` where a column beside those of workers may number the iterations."""
    others = table.names.without(workers).where(
        lambda name: not name.is_stamp and not name.written.startswith(UNNAMED)
    )
    for column in others:
        if table[column].is_numeric and table[column].is_whole:
            raise DataError(
                f"{table.place}: no column is known to be the 'iteration', which {column} may be: say "
                f"columns=iteration:{typed(column)}, or columns=iteration:none where rows are in their order"
            )


def _unnamed_workers(table: Table, names: Names) -> list[str]:
    """The columns of a matrix without a header; raise `DataError` where some may be something else than a worker's."""
    words = names.where(lambda name: not table[name.written].is_numeric)
    found = names.where(lambda name: table[name.written].is_numeric)
    choice = "columns=iteration:column1,worker:column2,time:column3 or columns=workers:*"
    if words or not found:
        raise DataError(
            f"{table.place}: has no header, and no numbers in {listed(words)}, others may be no worker's; say {choice}"
        )
    if len(found) >= 3 and _may_be_long(table):
        raise DataError(
            f"{table.place}: has no header, so its {len(found)} columns may be iteration, worker and time, or one for "
            f"each worker; say {choice}"
        )
    whole = [name for name in found if table[name].is_whole]
    if 0 < len(whole) < len(found):
        first = whole[0]
        raise DataError(
            f"{table.place}: has no header, and {first} has whole numbers only, unlike others, so it may be no "
            f"worker's; say {choice}, or columns=iteration:{first},workers:* where it numbers the iterations"
        )
    if len(found) > 2 and table[found[0]].counts_rows:
        raise DataError(
            f"{table.place}: has no header, and {found[0]} counts the rows, so it may be no worker's; say "
            f"columns=iteration:{found[0]},workers:* or columns=workers:*"
        )
    return found


def _may_be_long(table: Table) -> bool:
    """Whether the first two columns may number iterations and workers."""
    first = table[table.columns[0]].whole_numbers
    second = table[table.columns[1]].whole_numbers
    if first is None or second is None:
        return False
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    return len(pairs) == len(first) and len(np.unique(first)) < len(first)


def _check_times(times: np.ndarray, labels: tuple[str, ...], place: str) -> None:
    """Raise `DataError` for a time that is none, and a worker without any."""
    missing = np.isnan(times)
    empty = np.flatnonzero(missing.all(0))
    if len(empty):
        raise DataError(f"{place}: worker {labels[empty[0]]} has no time in any iteration")
    wrong = np.argwhere(~missing & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row, worker = wrong[0]
        raise DataError(
            f"{place}: the time of worker {labels[worker]} in row {row} is {times[row, worker]:g}, wanted is a "
            f"number from {LEAST:g} to {MOST:g}"
        )
