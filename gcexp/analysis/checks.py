"""Statements compared with instances: what is tried, how strong that is as evidence, and what of the paper it answers.

A check is a function that yields whether a statement holds in one instance after the other (or ``(what, holds)``, with
what was tried in words), decorated with what a claim about it needs: the figure whose analysis tabulates a module's
checks has one claim for each (`gcexp.report.expected`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import pandas as pd

from gcexp.errors import Defect, require

#: Of the table of a module's checks.
COLUMNS = ("id", "what", "instances", "tried", "held", "share")
Function = TypeVar("Function", bound=Callable)


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is tried, and the claim that it holds in every instance.

    Attributes
    ----------
    id : str
        Name, unique in its table; that of the statement which it answers, unless `answers` says otherwise.
    what : str
        What is tried, in words.
    over : str
        Over which instances.
    grade : str
        ``built``, ``enumerated``, ``formula``, ``one run`` or ``definition``; not needed of a companion.
    rests_on : tuple of str
        Objects of the library, ``module:object``: with any of them broken an instance fails, or the check stops.
    answers : tuple of str, optional
        Statements, or parts of them, ``id/part``; by default `id`.
    inputs : {"paper", "assumed"}
        Where its parameters come from.
    kind : {"statement", "companion"}
        A companion is ours and answers nothing.
    source : str
        Place in the paper; by default that of the first statement answered.
    reason : str
        Why it does not hold, where known.
    contradicts : tuple of str, optional
        Of a companion: what fails with it.
    calibrated : mapping, optional
        ``date`` and ``what``, see `gcexp.report.claims`.
    small : mapping
        Arguments of the smallest size at which the check still tells: at which the tests break what it rests on.
    """

    id: str
    what: str
    over: str
    grade: str = ""
    rests_on: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None
    inputs: str = "paper"
    kind: str = "statement"
    source: str = ""
    reason: str = ""
    contradicts: tuple[str, ...] | None = None
    calibrated: Mapping[str, str] | None = None
    small: Mapping[str, Any] = field(default_factory=dict)


def check(*, over: str, **about: Any) -> Callable[[Function], Function]:
    """Declare a function of instances as a check, with the first paragraph of its docstring as what is tried.

    Parameters
    ----------
    over : str
        Over which instances.
    **about
        Further fields of `Check`; `id` is the function's name where it is not given.

    Examples
    --------
    >>> @check(over="n < 4", grade="enumerated")
    ... def even_squares(most=4):
    ...     '''The square of an even number is even.'''
    ...     return (n * n % 2 == 0 for n in range(0, most, 2))
    >>> even_squares.checks[0].what, outcomes(even_squares, most=6)
    ('The square of an even number is even', {'even_squares': [True, True, True]})
    """

    def declared(function: Function) -> Function:
        what = " ".join((function.__doc__ or "").partition("\n\n")[0].split()).removesuffix(".")
        given = {"id": function.__name__, "what": what, "over": over} | about
        function.checks = (Check(**given),)  # type: ignore[attr-defined]
        return function

    return declared


def checks(*several: Check) -> Callable[[Function], Function]:
    """Declare a function that yields ``(id, holds)`` for several checks in turn: one enumeration that tells them all.

    Examples
    --------
    >>> @checks(
    ...     Check(id="even", what="n is even", over="n < 3", grade="definition"),
    ...     Check(id="small", what="n is below 9", over="n < 3", grade="definition"),
    ... )
    ... def parity():
    ...     for n in range(3):
    ...         yield "even", n % 2 == 0
    ...         yield "small", n < 9
    >>> outcomes(parity)
    {'even': [True, False, True], 'small': [True, True, True]}
    """

    def declared(function: Function) -> Function:
        function.checks, function.tells = several, True  # type: ignore[attr-defined]
        return function

    return declared


def outcomes(function: Callable, **arguments: Any) -> dict[str, list[bool]]:
    """Whether the statements of one check hold, instance by instance.

    Parameters
    ----------
    function : callable
        Decorated with `check` or `checks`.
    **arguments
        Those among them that the function has are handed to it by name.

    Returns
    -------
    dict
        Id to the instances.

    Raises
    ------
    ParameterError
        Without instances, which would make any statement true.
    Defect
        For an id that is not declared.
    """
    tried: dict[str, list[bool]] = {one.id: [] for one in function.checks}  # type: ignore[attr-defined]
    for name, holds in instances(function, **arguments):
        tried[name].append(holds)
    for name, found in tried.items():
        require(bool(found), f"{name}: there is no instance to try")
    return tried


def instances(function: Callable, **arguments: Any) -> Iterator[tuple[str, bool]]:
    """The instances of one check one by one, ``(id, holds)``: see `outcomes`."""
    wanted = inspect.signature(function).parameters
    declared = [one.id for one in function.checks]  # type: ignore[attr-defined]
    for one in function(**{name: value for name, value in arguments.items() if name in wanted}):
        told = one if isinstance(one, tuple) else (declared[0], one)
        name = told[0] if getattr(function, "tells", False) else declared[0]
        if name not in declared:
            raise Defect(f"{function.__name__} tells {name!r} and declares {', '.join(declared)}")
        yield name, bool(told[1])


def functions(*modules: str) -> list[Callable]:
    """The checks that stand in some modules, in their order."""
    return [
        one
        for module in modules
        for one in vars(importlib.import_module(module)).values()
        if hasattr(one, "checks") and one.__module__ == module
    ]


def declarations(*modules: str) -> list[dict]:
    """The checks that stand in some modules as mappings of `Check`, for the claims about them."""
    return [asdict(one) for function in functions(*modules) for one in function.checks]  # type: ignore[attr-defined]


def tabulated(*modules: str, **arguments: Any) -> pd.DataFrame:
    """The checks of some modules as a table: what was tried, and in how many of the instances it held.

    Parameters
    ----------
    *modules : str
        Dotted names.
    **arguments
        Handed to the checks that ask for them by name, without a value of their own.

    Returns
    -------
    DataFrame
        `COLUMNS`, a row per `Check`.
    """
    rows = []
    for function in functions(*modules):
        asked = inspect.signature(function).parameters.values()
        own = {one.name for one in asked if one.default is not one.empty}  # a size of its own
        found = outcomes(function, **{k: v for k, v in arguments.items() if k not in own})
        for one in function.checks:  # type: ignore[attr-defined]
            tried = found[one.id]
            about = {"id": one.id, "what": one.what, "instances": one.over}
            rows.append(about | {"tried": len(tried), "held": sum(tried), "share": sum(tried) / len(tried)})
    return pd.DataFrame(rows, columns=list(COLUMNS))
