"""What to type where a table does not say which columns are the iteration, the worker and the time."""

from __future__ import annotations

from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.names import COLUMNS_EXAMPLE, listed, typed
from gcexp_adviser.logs.recipes import LAUNCHER, NESTED_JSON, RATES, TURNED, see
from gcexp_adviser.logs.tables import Table

_CHOICES = 3  # columns of which a sum is shown


def example_of(table: Table) -> str:
    """What to type so that columns are known, with those of the table that may be meant.

    A time is what is called so, has a unit, or is the last column of numbers; other columns are taken in their order.
    """
    chosen = {}
    for role in NEEDED:
        fitting = table.names.fitting(role)
        if fitting:
            chosen[role] = fitting[0]
    left = table.names.without(chosen.values())
    numbers = [name for name in left.items if not name.is_stamp and table[name.written].is_numeric]
    with_unit = [name for name in numbers if name.unit]
    for name in [*with_unit, *numbers[-1:]]:
        chosen.setdefault("time", name.written)
    others = left.without(chosen.values()).written
    for role in NEEDED:
        if role not in chosen and others:
            chosen[role] = others.pop(0)
    if len(chosen) < len(NEEDED):
        return COLUMNS_EXAMPLE
    return "columns=" + typed(",".join(f"{role}:{chosen[role]}" for role in NEEDED))


def no_time(table: Table) -> str:
    """That no column is known to be the time, and what to type."""
    told = _no_column("time", table)
    if not table.named:
        return told
    parts = table.names.where(
        lambda name: (bool(name.unit) or "time" in name.base) and table[name.written].is_numeric
    )
    if len(parts) == 1:
        told += f"; where {parts[0]} is it: columns=time:{typed(parts[0])}"
    elif parts:
        several = "+".join(parts[:_CHOICES])
        told += f"; the sum of several is typed columns=time:{typed(several)}"
    stamps = table.names.where(lambda name: name.is_stamp) or table.names.fitting("start")
    if stamps:
        told += f"; for the time since the worker's previous row: columns=end:{typed(stamps[0])}"
    if table.names.where(lambda name: name.is_rate):
        told += f"; a rate becomes a time: {see(RATES)}"
    pattern, group = table.names.numbered
    if len(group) > 2:
        told += f"; where each of the columns {typed(pattern)} is an iteration, {see(TURNED)}"
    return told + where_nested(table)


def no_worker(table: Table) -> str:
    """That no column is known to be the worker, and what to type."""
    told = _no_column("worker", table)
    pattern, group = table.names.numbered
    if group and table.named:
        told += f"; where each of the columns {pattern} is a worker: columns=workers:{typed(pattern)}"
    return (
        f"{told}; the log of one worker alone does not show who is slow: of files of one worker each name all; where "
        f"a launcher wrote the rank before each line, {see(LAUNCHER)}{where_nested(table)}"
    )


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
    return (
        f"has no column {role!r} nor one of a similar name; it has {shown}: say which one it is, as in "
        f"columns={role}:NAME"
    )


def where_nested(table: Table) -> str:
    """The recipe for cells that hold several things, as a sentence goes on; nothing where there are none."""
    if not table.nested:
        return ""
    return f"; {listed(table.nested)} holds lists or objects: {see(NESTED_JSON)}"
