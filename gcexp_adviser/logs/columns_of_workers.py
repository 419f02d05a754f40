"""Which columns of a wide table, whose rows are iterations, are those of workers, and which others it has."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp_adviser.logs.names import Names, listed, typed
from gcexp_adviser.logs.no_workers import no_workers_among, what_to_type
from gcexp_adviser.logs.separators import UNNAMED
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.unmatched import columns_without_names, no_time_but_a_rate, not_known


def columns_of_workers(
    table: Table, given: dict[str, str], numbering: str, is_array: bool
) -> tuple[list[str], list[str]]:
    """The columns of the workers, and what was decided.

    Parameters
    ----------
    table : Table
    given : dict
        What ``columns=`` says.
    numbering : str
        The column of the iterations, or nothing.
    is_array : bool
        Whether the columns are those of an array, each of which is a worker's.

    Raises
    ------
    DataError, ParameterError
        Where columns may be something else than workers'; the sentence shows what to type.
    """
    names = table.names.without([numbering])
    doubt = ""
    if "workers" in given:
        found = _of_pattern(table, names, given["workers"])
    elif is_array:
        found = _of_array(table, names)
    elif table.named:
        found = _guessed_workers(table, names)
    else:
        found = names.where(lambda name: table[name.written].is_numeric)
        doubt = _doubt_without_header(table, names, found)
    if not numbering and "iteration" not in given and table.named:
        _refuse_unnumbered(table, found)
    if doubt:
        choices = columns_without_names(table)
        cure = f"say {', or '.join(choices)}" if choices else "write a header that names them"
        raise DataError(f"{table.place}: has no header, {doubt}; {cure}")
    others = no_workers_among(table, found)
    if others:
        cure = what_to_type(table, found, others)
        raise DataError(f"{table.place}: {others.told}; {cure}")
    told = []
    if not is_array:
        shown = found[0]
        if len(found) > 1:
            shown = f"{found[0]} to {found[-1]}"
        told.append(
            f"took each of the {len(found)} columns {shown} for a worker, and each row for an iteration"
        )
    not_used = names.without(found).written
    if not_used:
        told.append(f"did not use {listed(not_used)}")
    if numbering:
        told.append(f"iteration = {numbering}")
    return found, told


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
    if group and pattern.is_rate:
        raise DataError(f"{table.place}: {no_time_but_a_rate(pattern)}")
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


def _doubt_without_header(table: Table, names: Names, found: list[str]) -> str:
    """Why columns of numbers in a table without a header may be something else than workers'; empty for no doubt."""
    words = names.without(found).written
    if words or not found:
        return f"and no numbers in {listed(words)}, so others may be no worker's"
    if len(found) >= 3 and _may_be_long(table):
        return f"so its {len(found)} columns may be iteration, worker and time, or one for each worker"
    whole = [name for name in found if table[name].is_whole]
    if 0 < len(whole) < len(found):
        return f"and {whole[0]} has whole numbers only, unlike others, so it may be no worker's"
    if len(found) > 2 and table[found[0]].counts_rows:
        return f"and {found[0]} counts the rows, so it may be no worker's"
    return ""


def _may_be_long(table: Table) -> bool:
    """Whether the first two columns may number iterations and workers."""
    first = table[table.columns[0]].whole_numbers
    second = table[table.columns[1]].whole_numbers
    if first.min() < 0 or second.min() < 0:
        return False
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    return len(pairs) == len(first) and len(np.unique(first)) < len(first)
