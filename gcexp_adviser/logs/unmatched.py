"""What to type where a table does not say which columns are the iteration, the worker and the time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.names import BRACKETS, COLUMNS_EXAMPLE, Name, listed, name_of
from gcexp_adviser.logs.numbers import is_numeric
from gcexp_adviser.logs.tables import Table

_CHOICES = 3  # columns of which a sum is shown
_LINES = ("log", "message", "msg", "line", "text")  # names of what holds a line of a log within JSON


def typed(column: str) -> str:
    """A column's name as it is typed in ``columns=``; quoted where a shell would divide it."""
    if re.search(r"[ ()\[\]&;|<>*?$]", column):
        return f"'{column}'"
    return column


def numbered(columns: Iterable[str]) -> tuple[str, list[str]]:
    """The first columns that differ in a number only, and a pattern that fits them; nothing where there are none.

    >>> numbered(["step", "run-0 - time", "run-1 - time", "run-1 - time_max"])
    ('run-* - time', ['run-0 - time', 'run-1 - time'])
    """
    groups: dict[str, list[str]] = {}
    for column in columns:
        if re.search(r"\d", column):
            groups.setdefault(re.sub(r"\d+", "*", column), []).append(column)
    for pattern, group in groups.items():
        if len(group) > 1:
            return pattern, group
    return "", []


def example_of(table: Table) -> str:
    """What to type so that columns are known, with those of the table that may be meant; raise nothing.

    A worker is named by words or small numbers that come back, an iteration by whole numbers that do, and a time is
    what has a unit, or the last of the other numbers.
    """
    left = table.names.without(table.names.where(lambda name: table.says_when(name.written)))
    chosen: dict[str, str] = {}
    looks = (("time", _has_unit), ("worker", _has_names), ("iteration", comes_back), ("worker", comes_back))
    for role, looks_so in looks:
        fitting = left.fitting(role) or [name.written for name in left.items if looks_so(table, name)]
        if fitting and role not in chosen:
            chosen[role] = fitting[0]
            left = left.without([fitting[0]])
    numbers = left.where(lambda name: is_numeric(table.frame[name.written]))
    if "time" not in chosen and numbers:
        chosen["time"] = numbers[-1]
    if len(chosen) < len(NEEDED):
        return COLUMNS_EXAMPLE
    return "columns=" + typed(",".join(f"{role}:{chosen[role]}" for role in NEEDED))


def _has_unit(table: Table, name: Name) -> bool:
    return bool(name.unit) and is_numeric(table.frame[name.written])


def _has_names(table: Table, name: Name) -> bool:
    return not is_numeric(table.frame[name.written]) and comes_back(table, name)


def comes_back(table: Table, name: Name) -> bool:
    """Whether a column has several values, each in several rows."""
    count = table.frame[name.written].nunique()
    return 1 < count <= len(table.frame) / 2


def no_time(table: Table) -> str:
    """That no column is known to be the time, and what to type."""
    told = _no_column("time", table)
    if not table.named:
        return told
    parts = table.names.where(
        lambda name: (bool(name.unit) or name.ends_with_time) and is_numeric(table.frame[name.written])
    )
    if len(parts) == 1:
        told += f"; where {parts[0]} is it: columns=time:{typed(parts[0])}"
    elif parts:
        several = "+".join(parts[:_CHOICES])
        told += f"; the sum of several is typed columns=time:{typed(several)}"
    stamps = table.names.where(lambda name: name.is_stamp) or table.names.fitting("start")
    if stamps:
        told += f"; for the time since the worker's previous row: columns=end:{typed(stamps[0])}"
    rates = table.names.where(lambda name: name.is_rate_of_iterations)
    if rates:
        told += (
            '; a rate becomes a time by: python -c "import pandas as pd; '
            f"d = pd.read_csv('FILE'); d.assign(time_s=1 / d[{rates[0]!r}]).to_csv('times.csv', index=False)\""
        )
    pattern, group = numbered(table.columns)
    if len(group) > 2:
        told += (
            f"; where each of the columns {typed(pattern)} is an iteration, turn the table: python -c "
            "\"import pandas as pd; pd.read_csv('FILE', index_col=0).T.to_csv('turned.csv', index_label='iteration')\""
        )
    return told


def no_worker(table: Table, iterations: tuple[str, ...]) -> str:
    """That no column is known to be the worker, and what to type."""
    told = _no_column("worker", table)
    likely = table.names.where(lambda name: name_of(name.base.rpartition("_")[2]).fits("worker"))
    if likely:
        return f"{told}; where {likely[0]} is it: columns=worker:{typed(likely[0])}"
    if BRACKETS in table.columns:
        told += f"; where the number in brackets is it: columns=worker:{BRACKETS}"
    elif iterations:
        told += "; the log of one worker alone does not show who is slow"
    return f"{told}; of files of one worker each name all: gcexp trace import FILE FILE ..."


def no_iteration(table: Table) -> str:
    """That no column is known to be the iteration, and what to type."""
    told = _no_column("iteration", table)
    if table.named:
        told += "; columns=iteration:none numbers the rows of each worker in their order"
    return told


def _no_column(role: str, table: Table) -> str:
    """That no column is known to be something, and what to type."""
    shown = listed(table.columns)
    if not table.named and "worker" in table.columns:  # of files that are called after their workers
        columns = [column for column in table.columns if column not in ("worker", "iteration")]
        return (
            f"has no header, so no column is known to be the {role!r}; its columns are {listed(columns)}: say which "
            f"they are, as in columns=iteration:{columns[0]},time:{columns[-1]}, or columns=time:{columns[-1]}"
        )
    if not table.named:
        return (
            f"has no header, so no column is known to be the {role!r}; its columns are {shown}: say which they are, as "
            "in columns=iteration:column1,worker:column2,time:column3, or columns=workers:* where each is a worker"
        )
    told = (
        f"has no column {role!r} nor one of a similar name; it has {shown}: say which one it is, as in "
        f"columns={role}:NAME"
    )
    lines = table.names.where(lambda name: name.base in _LINES)
    if lines:
        workers = table.names.fitting("worker") or ["WORKER"]
        told += (
            f"; where {lines[0]} holds the lines of a log, write them as text: "
            f"jq -r '\"worker=\\(.{workers[0]}) \\(.{lines[0]})\"' FILE > plain.log"
        )
    return told
