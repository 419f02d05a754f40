"""Statements held against every small instance: how many there were, and in how many the statement holds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from gcexp.errors import require


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


def table(rows: Iterable[dict]) -> pd.DataFrame:
    """The rows of `counted` as a table."""
    return pd.DataFrame(list(rows))
