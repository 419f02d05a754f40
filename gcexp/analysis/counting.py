"""Statements compared with every small instance: how many there were, and in how many the statement holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from gcexp.errors import require


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
