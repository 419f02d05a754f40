"""Which rows of a log do not count: those that a column marks as warm-up, evaluation or invalid."""

from __future__ import annotations

import re

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.names import Name, listed, typed
from gcexp_adviser.logs.tables import Table

#: Columns that say of what kind a row is, by their names without ``is_``.
_KINDS = ("phase", "split", "mode", "stage", "kind")
_YES = frozenset("1 1.0 true t yes y".split())
_NO = frozenset("0 0.0 false f no n".split())
#: Words for rows of the training, and for others, in cells and in names of columns of yes and no.
_ALWAYS_TRAINS = frozenset(("train", "training", "trn"))
_TRAINS = _ALWAYS_TRAINS | frozenset("steady step fit forward_backward iteration iter batch".split())
_ALWAYS_DOES_NOT = frozenset(
    "eval evals evaluate evaluation evaluating validate validation warm warmup warming compile compilation".split()
)
_DOES_NOT = _ALWAYS_DOES_NOT | frozenset(
    """
    val valid test testing predict inference sanity sanity_check checkpoint checkpointing ckpt save saving restore init
    """.split()
)
#: Words of names of columns whose yes says that a row counts, or that it does not.
_COUNTS = frozenset("valid counted counts measured include included keep kept train training".split())
_LEFT_OUT = _ALWAYS_DOES_NOT | frozenset(
    """
    val test testing inference sanity exclude excluded discard discarded ignore ignored skip skipped invalid dropped
    """.split()
)
_FILLERS = frozenset("is do in was up step row iter iteration batch round epoch phase mode flag".split())
_BEFORE_TRAINING = ("-1", "-1.0", -1)  # an epoch of warm-up
_MOST_WORDS = 8  # of a column that says of what kind a row is
_MOST_PARTS = 3  # of such a word; a sentence has more
_HEAD = 1000  # rows in which a column that has more of them is known


def rows_that_count(table: Table, how: How) -> Table:
    """The table without rows that do not count.

    Raises
    ------
    DataError
        Where a column marks rows in words of unknown meaning; the sentence shows what to type.
    """
    given, words = how.without
    says_nothing = not (table.named or how.columns or given)  # what its columns are is asked first
    if how.every_row or says_nothing:
        return table
    used = {*how.columns.values(), *NEEDED}
    may_mark = [given] if given else [name for name in table.columns if name not in used]
    for name in may_mark:
        marks = words or _marked(table, name)
        if marks:
            table = _without(table, name, marks)
    return table


def _marked(table: Table, name: str) -> tuple[str, ...]:
    """The words of a column that mark rows that do not count; none for a column that marks no rows.

    A column of yes and no marks rows by its name, one of words that are known by its cells.

    >>> import pandas as pd
    >>> flags = pd.DataFrame(
    ...     {"is_warmup": [1, 0, 0], "valid": ["True", "True", "False"], "loop": ["val", "train", "train"]}
    ... )
    >>> [_marked(Table("mine", flags), column) for column in flags]
    [('1',), ('false',), ('val',)]
    """
    column = table[name]
    base = column.name.base.removeprefix("is_").removesuffix("_name")
    if base == "epoch":
        return _before_training(column)
    if name in table.names.fitting("worker") or column.series.iloc[:_HEAD].nunique() > _MOST_WORDS:
        return ()
    there = {str(cell).strip().lower() for cell in column.series.unique()}
    words = sorted(there - {"", "nan", "none"})
    if len(there) < 2 or not 0 < len(words) <= _MOST_WORDS:
        return ()
    if base not in _KINDS and set(words) <= _YES | _NO:
        return _marked_by_yes_or_no(column.name, sorted(there))
    is_of_kinds = base in _KINDS or base.startswith("warm") or _asks_what_counts(column)
    return _marked_by_words(table, name, words, is_of_kinds, has_empty=len(words) < len(there))


def _marked_by_words(
    table: Table, name: str, words: list[str], is_of_kinds: bool, has_empty: bool
) -> tuple[str, ...]:
    """The words of a column that mark rows that do not count, by what they mean.

    Parameters
    ----------
    table : Table
    name : str
    words : list of str
        Those in the cells of the column.
    is_of_kinds : bool
        Whether the column is called after kinds of rows.
    has_empty : bool
        Whether some of its cells are empty.

    Raises
    ------
    DataError
        Where some rows may not count; the sentence shows what to type.
    """
    others = tuple(word for word in words if _says(word, _DOES_NOT))
    trains = [word for word in words if word not in others and _says(word, _TRAINS)]
    surely_others = [word for word in words if _says(word, _ALWAYS_DOES_NOT)]
    are_known = len(trains) + len(others) == len(words)
    if not trains:  # beside empty cells
        are_known = has_empty and len(surely_others) == len(words)
    is_sure = bool(surely_others) or any(_says(word, _ALWAYS_TRAINS) for word in words)
    if are_known and (is_of_kinds or (is_sure and not _tells_workers(table, name))):
        return others
    may_not_count = is_of_kinds or bool(surely_others) or (are_known and bool(others))
    says_it_of_workers = are_known and bool(surely_others)  # as of one that evaluates
    if not may_not_count or _tells_parts(table) or (_tells_workers(table, name) and not says_it_of_workers):
        return ()
    first = (*others, *words)[0]
    raise DataError(
        f"{table.place}: {name} has {listed(words)}, so some rows may not count: say which, as in "
        f"without={typed(f'{name}:{first}')}, or without=none where all do"
    )


def _before_training(column: Column) -> tuple[str, ...]:
    """The words of an epoch before the first one, where others follow."""
    is_before = column.series.isin(_BEFORE_TRAINING)
    if is_before.all() or not is_before.any():
        return ()
    return tuple(np.unique(column.series[is_before].astype(str)))


def _marked_by_yes_or_no(name: Name, words: list[str]) -> tuple[str, ...]:
    """The words, which are yes, no or empty, of rows that do not count, by what the name of their column asks."""
    asked = _asked(name)
    if not asked:
        return ()
    if asked <= _COUNTS:
        return tuple(word for word in words if word not in _YES)
    if asked <= _LEFT_OUT:
        return tuple(word for word in words if word in _YES)
    return ()


def _asks_what_counts(column: Column) -> bool:
    """Whether a column of words has a name that asks which rows count."""
    asked = _asked(column.name)
    return bool(asked) and asked <= _COUNTS | _LEFT_OUT and not column.is_numeric


def _asked(name: Name) -> set[str]:
    """The words of a name that say what is asked of a row."""
    return set(name.base.split("_")) - _FILLERS


def _says(word: str, meanings: frozenset[str]) -> bool:
    """Whether a cell is one of some words, or one of them is one of its few parts.

    >>> [_says(word, _DOES_NOT) for word in ("eval", "warm-up", "val_loop", "evaluator", "a100")]
    [True, True, True, False, False]
    """
    parts = re.findall("[a-z]+", word)
    return word in meanings or (len(parts) <= _MOST_PARTS and not meanings.isdisjoint(parts))


def _tells_workers(table: Table, name: str) -> bool:
    """Whether a column says something of workers, each of which has one word in it."""
    for worker in table.names.fitting("worker"):
        if table.frame.groupby(worker, sort=False)[name].nunique(dropna=False).max() == 1:
            return True
    return False


def _tells_parts(table: Table) -> bool:
    """Whether rows are of parts of a step, of which a worker has several."""
    keys = [*table.names.fitting("iteration"), *table.names.fitting("worker")]
    return bool(keys) and bool(table.frame.duplicated(keys).any())


def _without(table: Table, column: str, words: tuple[str, ...]) -> Table:
    """The table without the rows in whose column, as a person may have named it, one of the words stands."""
    name = table.column_named(column, "without")
    marked = np.isin(table[name].words, [word.lower() for word in words])
    given = f"without={name}:{'+'.join(words)}"
    if not marked.any():
        raise ParameterError(
            f"{table.place}: {given} marks no row; {name} has {listed(np.unique(table[name].words))}"
        )
    if marked.all():
        raise DataError(f"{table.place}: {given} leaves no row")
    said = " or ".join(word or "empty" for word in words)
    told = (
        f"left out {int(marked.sum())} of {len(marked)} rows, whose {name} is {said}; where they "
        "count: without=none"
    )
    return table.keep(~marked, told)
