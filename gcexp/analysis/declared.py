"""Which columns will the table of an analysis have? Said beside the function, so that a plan can hold them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Analysis = TypeVar("Analysis", bound=Callable)


def columns(
    *names: str,
    more: Callable[..., Iterable[str]] | None = None,
    clocks: bool = False,
) -> Callable[[Analysis], Analysis]:
    """Declare the columns of the table that a function returns.

    A figure that draws another column is then refused before the first job, and a table with other columns
    when it is made. Without a declaration only the job finds out.

    Parameters
    ----------
    *names : str
        In any order.
    more : callable, optional
        Further names from the arguments of the function, where they depend on them.
    clocks : bool
        The function plays the schemes that its argument `schemes` names (`gcexp.run.benchmarked`): what they depend on
        decides the table.

    Examples
    --------
    >>> @columns("n", "time_s", more=lambda powers: [f"n^{p}" for p in powers])
    ... def times(powers=(2,)): ...
    >>> times.columns(powers=[2, 3]), times.columns()
    (['n', 'time_s', 'n^2', 'n^3'], ['n', 'time_s', 'n^2'])
    """

    def declared(function: Analysis) -> Analysis:
        def of(**given: Any) -> list[str]:
            bound = inspect.signature(function).bind(**given)
            bound.apply_defaults()
            return [*names, *(more(**bound.arguments) if more else ())]

        function.columns = of  # type: ignore[attr-defined]  # what gcexp.run.checks asks
        function.clocks = clocks  # type: ignore[attr-defined]
        return function

    return declared
