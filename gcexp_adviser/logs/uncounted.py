"""Which rows of a log do not count: those that a column marks as warm-up, evaluation or invalid."""

from __future__ import annotations

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.names import column_given, listed, name_of, typed
from gcexp_adviser.logs.numbers import cells_of
from gcexp_adviser.logs.tables import Table

#: Columns that say of what kind a row is, by their names without ``is_``.
_KINDS = ("phase", "split", "mode", "stage", "kind")
_VALID = ("valid", "counted")
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


def rows_that_count(table: Table, how: How) -> tuple[Table, list[str]]:
    """The table without rows that do not count, and what is told of them.

    Raises
    ------
    DataError
        Where a column marks rows in words of unknown meaning; the sentence shows what to type.
    """
    if how.every_row:
        return table, []
    column, words = how.without
    if column:
        return _without(table, column_given(column, table.columns, table.place), words)
    told = []
    used = set(dict(how.roles).values())
    for name in table.columns:
        if name in used or name in NEEDED:
            continue
        marks = _marked(table, name)
        if not marks:
            continue
        table, sentences = _without(table, name, marks)
        told += sentences
    return table, told


def _without(table: Table, column: str, words: tuple[str, ...]) -> tuple[Table, list[str]]:
    """The table without the rows in whose column one of the words stands."""
    texts = _texts(table, column)
    marked = np.isin(texts, [word.lower() for word in words])
    if not marked.any():
        raise ParameterError(
            f"{table.place}: without={column}:{'+'.join(words)} marks no row; {column} has {listed(np.unique(texts))}"
        )
    if marked.all():
        raise DataError(f"{table.place}: without={column}:{'+'.join(words)} leaves no row")
    told = (
        f"left out {int(marked.sum())} of {len(marked)} rows, whose {column} is {' or '.join(words)}; where they "
        "count: without=none"
    )
    return table.keep(~marked), [told]


def _texts(table: Table, column: str) -> np.ndarray:
    """The cells of a column as words in lower case."""
    cells = cells_of(table.frame[column])
    values, places = np.unique(cells.astype(str), return_inverse=True)
    return np.array([value.strip().lower() for value in values])[places.ravel()]


def _marked(table: Table, column: str) -> tuple[str, ...]:
    """The words of a column that mark rows that do not count; none for a column that marks no rows.

    >>> import pandas as pd
    >>> flags = pd.DataFrame(
    ...     {"is_warmup": [1, 0, 0], "valid": ["True", "True", "False"], "zone": list("aab")}
    ... )
    >>> [_marked(Table("mine", flags), column) for column in flags]
    [('1',), ('false',), ()]
    """
    base = name_of(column).base.removeprefix("is_").removesuffix("_name")
    is_warm = base.startswith("warm")
    if not is_warm and base not in (*_KINDS, *_VALID):
        return ()
    if table.frame[column].nunique() > _MOST_WORDS:
        return ()
    words = sorted(set(_texts(table, column).tolist()) - {"", "nan", "none"})
    if len(words) < 2:
        return ()
    yes = tuple(word for word in words if word in _YES)
    no = tuple(word for word in words if word in _NO)
    if (is_warm or base in _VALID) and len(yes) + len(no) == len(words):
        return no if base in _VALID else yes
    others = tuple(word for word in words if word in _DOES_NOT)
    trains = [word for word in words if word in _TRAINS]
    if trains and len(trains) + len(others) == len(words):
        return others
    if _tells_workers_or_parts(table, column):
        return ()
    raise DataError(
        f"{table.place}: {column} has {listed(words)}, so some rows may not count: say which, as in "
        f"without={typed(f'{column}:{words[0]}')}, or without=none where all do"
    )


def _tells_workers_or_parts(table: Table, column: str) -> bool:
    """Whether a column says something of workers, or of what part of a step a row is, and not whether it counts."""
    workers = table.names.fitting("worker")
    for worker in workers:
        if table.frame.groupby(worker, sort=False)[column].nunique().max() == 1:
            return True
    keys = [*table.names.fitting("iteration"), *workers]
    return bool(keys) and bool(table.frame.duplicated(keys).any())
