"""Which rows of a log do not count: those that a column marks as warm-up, evaluation or invalid."""

from __future__ import annotations

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.names import listed, typed
from gcexp_adviser.logs.tables import Table

#: Columns that say of what kind a row is, by their names without ``is_``.
_KINDS = ("phase", "split", "mode", "stage", "kind")
_VALID = ("valid", "counted")
#: Columns that say the same only where they have yes and no.
_TRAINING = ("train", "training")
_LEFT_OUT = ("discard", "discarded", "ignore", "ignored", "skip", "skipped")
_YES = frozenset("1 1.0 true t yes y".split())
_NO = frozenset("0 0.0 false f no n".split())
#: Words for rows of the training, and for others.
_TRAINS = frozenset("train training trn steady step fit forward_backward iteration iter batch".split())
_DOES_NOT = frozenset(
    """
    eval evaluate evaluation val valid validate validation test testing predict inference sanity sanity_check
    warm warmup warm_up warm-up warming compile compilation checkpoint checkpointing ckpt save saving restore init
    """.split()
)
_MOST_WORDS = 8  # of a column that says of what kind a row is


def rows_that_count(table: Table, how: How) -> Table:
    """The table without rows that do not count.

    Raises
    ------
    DataError
        Where a column marks rows in words of unknown meaning; the sentence shows what to type.
    """
    if how.every_row:
        return table
    given, words = how.without
    used = {*how.columns.values(), *NEEDED}
    may_mark = [given] if given else [name for name in table.columns if name not in used]
    for name in may_mark:
        marks = words or _marked(table, name)
        if marks:
            table = _without(table, name, marks)
    return table


def _marked(table: Table, name: str) -> tuple[str, ...]:
    """The words of a column that mark rows that do not count; none for a column that marks no rows.

    >>> import pandas as pd
    >>> flags = pd.DataFrame(
    ...     {"is_warmup": [1, 0, 0], "valid": ["True", "True", "False"], "zone": list("aab")}
    ... )
    >>> [_marked(Table("mine", flags), column) for column in flags]
    [('1',), ('false',), ()]
    """
    column = table[name]
    base = column.name.base.removeprefix("is_").removesuffix("_name")
    is_warm = base.startswith("warm")
    if not is_warm and base not in (*_KINDS, *_VALID, *_TRAINING, *_LEFT_OUT):
        return ()
    if column.distinct > _MOST_WORDS:
        return ()
    words = sorted(set(column.words.tolist()) - {"", "nan", "none"})
    if len(words) < 2:
        return ()
    yes = tuple(word for word in words if word in _YES)
    no = tuple(word for word in words if word in _NO)
    if base not in _KINDS and len(yes) + len(no) == len(words):
        return no if base in (*_VALID, *_TRAINING) else yes
    if base in (*_TRAINING, *_LEFT_OUT):
        return ()
    others = tuple(word for word in words if word in _DOES_NOT)
    trains = [word for word in words if word in _TRAINS]
    if trains and len(trains) + len(others) == len(words):
        return others
    if _tells_workers_or_parts(table, name):
        return ()
    raise DataError(
        f"{table.place}: {name} has {listed(words)}, so some rows may not count: say which, as in "
        f"without={typed(f'{name}:{words[0]}')}, or without=none where all do"
    )


def _tells_workers_or_parts(table: Table, name: str) -> bool:
    """Whether a column says something of workers, or of what part of a step a row is, and not whether it counts."""
    workers = table.names.fitting("worker")
    for worker in workers:
        if table.frame.groupby(worker, sort=False)[name].nunique().max() == 1:
            return True
    keys = [*table.names.fitting("iteration"), *workers]
    return bool(keys) and bool(table.frame.duplicated(keys).any())


def _without(table: Table, column: str, words: tuple[str, ...]) -> Table:
    """The table without the rows in whose column, as a person may have named it, one of the words stands."""
    name = table.column_named(column, "without")
    marked = np.isin(table[name].words, [word.lower() for word in words])
    said = f"without={name}:{'+'.join(words)}"
    if not marked.any():
        raise ParameterError(
            f"{table.place}: {said} marks no row; {name} has {listed(np.unique(table[name].words))}"
        )
    if marked.all():
        raise DataError(f"{table.place}: {said} leaves no row")
    told = (
        f"left out {int(marked.sum())} of {len(marked)} rows, whose {name} is {' or '.join(words)}; where they "
        "count: without=none"
    )
    return table.keep(~marked, told)
