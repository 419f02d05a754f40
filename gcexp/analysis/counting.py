"""Statements held against every small instance: how many there were, and in how many the statement holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from gcexp.errors import require

#: Of the table of `counted` rows.
COLUMNS = ("id", "what", "instances", "tried", "held", "share")


def counted(statement: str, what: str, instances: str, found: Iterable[bool | np.bool]) -> dict:
    """One row: a statement, what was tried, and in how many of the instances it held.

    Parameters
    ----------
    statement : str
        Its id.
    what : str
        What is checked, in words.
    instances : str
        Of what there are as many as in `found`.
    found : iterable of bool
        Whether it holds, instance by instance.

    Returns
    -------
    dict
        ``id, what, instances, tried, held, share``.

    Raises
    ------
    ParameterError
        Without instances, which would make any statement true.

    Examples
    --------
    >>> row = counted("even", "n is even", "n < 4", (n % 2 == 0 for n in range(4)))
    >>> row["tried"], row["held"], row["share"]
    (4, 2, 0.5)
    """
    tried = [bool(one) for one in found]
    require(bool(tried), f"{statement}: there is no instance to try")
    row = {"id": statement, "what": what, "instances": instances, "tried": len(tried), "held": sum(tried)}
    return row | {"share": sum(tried) / len(tried)}


def collected(checks: Iterable[Iterable[tuple]], names: Sequence[str] = ("id", "what")) -> pd.DataFrame:
    """Checks that tell several statements in turn, instance by instance, as a table of one row per statement.

    Parameters
    ----------
    checks : iterable of iterables of tuples
        Each tuple is an instance: what the columns `names` say, and whether it holds.
    names : sequence of str
        Columns that say which statement it is. Rows with an equal first one stand together.

    Returns
    -------
    DataFrame
        `names`, then ``cases, hold``.

    Raises
    ------
    ParameterError
        If a check has no instance.

    Examples
    --------
    >>> def parity():
    ...     for n in range(3):
    ...         yield "even", n % 2 == 0
    ...         yield "small", n < 9
    >>> collected([parity()], ["id"]).to_numpy().tolist()
    [['even', 3, 2], ['small', 3, 3]]
    """
    found: dict[tuple, list[bool]] = {}
    for check in checks:
        tried = [(tuple(statement), bool(holds)) for *statement, holds in check]
        name = getattr(check, "__name__", "a check").strip("_")  # of a generator: its function's
        require(bool(tried), f"{name}: there is no instance to try")
        for statement, holds in tried:
            found.setdefault(statement, []).append(holds)
    first = list(dict.fromkeys(statement[0] for statement in found))
    rows = [
        dict(zip(names, statement, strict=True)) | {"cases": len(each), "hold": sum(each)}
        for statement, each in sorted(found.items(), key=lambda item: first.index(item[0][0]))
    ]
    return pd.DataFrame(rows)


def table(rows: Iterable[dict]) -> pd.DataFrame:
    """The rows of `counted` as a table."""
    return pd.DataFrame(list(rows))
