"""Which columns will the table of an analysis have? Said beside the function, so that a plan can hold them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def columns(
    *names: str,
    more: Callable[..., Iterable[str]] | None = None,
    clocks: bool = False,
) -> Callable[[Callable], Callable]:
    """Declare the columns of the table that a function returns, or whose rows it yields.

    A figure that draws another column is then refused before the first job, and a table with other columns
    when it is made. Without a declaration only the job finds out.

    Parameters
    ----------
    *names : str
        In any order, but of rows that are yielded as tuples in theirs; rows may be dictionaries as well.
    more : callable, optional
        Further names from the arguments of the function, where they depend on them.
    clocks : bool
        The function plays the schemes that its argument `schemes` names (`gcexp.run.benchmark_schemes`): what they
        depend on decides the table.

    Examples
    --------
    >>> @columns("n", "square", more=lambda powers: [f"n^{p}" for p in powers])
    ... def squares(powers=(3,)):
    ...     for n in range(2, 4):
    ...         yield n, n * n, *(n**p for p in powers)
    >>> squares.columns(powers=[3, 4]), squares.columns()
    (['n', 'square', 'n^3', 'n^4'], ['n', 'square', 'n^3'])
    >>> squares()
       n  square  n^3
    0  2       4    8
    1  3       9   27
    """

    def declared(function: Callable) -> Callable:
        def of(*positional: Any, **given: Any) -> list[str]:
            # Arguments that do not fit are refused.
            bound = inspect.signature(function).bind(*positional, **given)
            if more is None:
                return list(names)
            bound.apply_defaults()
            return [*names, *more(**bound.arguments)]

        @functools.wraps(function)
        def table(*positional: Any, **given: Any) -> Any:
            import pandas as pd  # takes a quarter of a second, and a plan only asks for the columns

            rows = list(function(*positional, **given))
            if rows and isinstance(rows[0], dict):
                return pd.DataFrame(rows)
            return pd.DataFrame(rows, columns=of(*positional, **given))

        made: Any = function
        if inspect.isgeneratorfunction(function):
            made = table
        made.columns = of  # asked for by gcexp.run.declarations
        made.clocks = clocks  # asked for by gcexp.run.declarations, too
        return made

    return declared
