"""Claims of a paper: declared, found in its package, and judged."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gcexp.analysis.claims.verdicts import (
    UNDECIDED,
    Undecided,
    Verdict,
    all_instances,
    consistent_at_best,
    every,
)
from gcexp.errors import Defect

if TYPE_CHECKING:
    from types import ModuleType

    import pandas as pd

Function = TypeVar("Function", bound=Callable)


@dataclass(frozen=True)
class Claim:
    """What stands at a claim function, as its attribute ``claim``."""

    statements: tuple[str, ...]  # ids of those that it answers
    figures: tuple[str, ...] = ()  # of the paper, whose tables the function takes in this order
    assumed: bool = False  # parameters were assumed by us, or restored from a damaged text
    post_hoc: str = ""  # which bar was set after the numbers were known: a level, a tolerance, a share
    reason: str = ""  # why it is not reproduced, where known
    fitted: tuple[str, ...] = ()  # inputs that it reads and that were fitted to its statements


def claim(
    *statements: str,
    figure: str | Sequence[str] = (),
    assumed: bool = False,
    post_hoc: str = "",
    reason: str = "",
    fitted: str | Sequence[str] = (),
) -> Callable[[Function], Function]:
    """Declare a function as a claim about some statements of its paper; see `Claim`.

    What was chosen after the numbers were known is either an input or a bar. A claim whose inputs were `fitted`, which
    it names as the paper's ``fitted_inputs.csv`` does, finds at best that a statement is consistent, never that it is
    reproduced. A bar that was set `post_hoc` leaves the outcome as it is, and is told beside it.

    Examples
    --------
    >>> @claim("even_squares")
    ... def squares_of_even_numbers_are_even():
    ...     for n in range(0, 20, 2):
    ...         yield n * n % 2 == 0
    >>> judge(squares_of_even_numbers_are_even, {})
    {'even_squares': Verdict(outcome='reproduced', found='10 of 10 instances')}
    """
    figures = (figure,) if isinstance(figure, str) else tuple(figure)
    inputs = (fitted,) if isinstance(fitted, str) else tuple(fitted)

    def declared(function: Function) -> Function:
        about = Claim(statements, figures, assumed, post_hoc, reason, inputs)
        function.claim = about  # type: ignore[attr-defined]
        return function

    return declared


def claims_of(package: str) -> list[Callable]:
    """The claim functions of a paper's package, in the order of its modules; none where it has no ``claims``."""
    found = []
    for module in _modules_of_claims(package):
        for one in vars(module).values():
            is_claim = isinstance(getattr(one, "claim", None), Claim)
            if is_claim and one.__module__ == module.__name__:
                found.append(one)
    return found


def _modules_of_claims(package: str) -> list[ModuleType]:
    """``claims`` of a paper's package, and the modules in it by their names."""
    try:
        root = importlib.import_module(f"{package}.claims")
    except ModuleNotFoundError as error:
        if error.name != f"{package}.claims":
            raise
        return []
    parts = pkgutil.iter_modules(getattr(root, "__path__", ()))
    names = sorted(part.name for part in parts)
    return [root, *(importlib.import_module(f"{root.__name__}.{name}") for name in names)]


def judge(function: Callable, tables: Mapping[str, pd.DataFrame]) -> dict[str, Verdict]:
    """The verdict of a claim on each statement that it answers, from the tables of the figures that it names.

    A function that answers with something else, or on a statement that it does not name, is a defect.
    """
    about: Claim = function.claim  # type: ignore[attr-defined]
    try:
        found = function(*(tables[name] for name in about.figures))
        if isinstance(found, Iterator):
            found = _concluded(list(found))
    except Undecided as why:
        found = Verdict(UNDECIDED, str(why))
    if isinstance(found, dict):
        verdicts = found
    else:
        verdicts = dict.fromkeys(about.statements, found)
    answers_all = set(verdicts) == set(about.statements)
    if not answers_all or not all(isinstance(verdict, Verdict) for verdict in verdicts.values()):
        raise Defect(
            f"claim {function.__name__} must give a verdict for {', '.join(about.statements)}, got {found!r}"
        )
    if about.fitted:
        return {name: consistent_at_best(verdict) for name, verdict in verdicts.items()}
    return verdicts


def _concluded(answers: list) -> Any:
    """One verdict of all that a claim yielded, or one for each statement where it yielded pairs."""
    if answers and isinstance(answers[0], tuple):
        by_statement: dict[str, list] = {}
        for name, answer in answers:
            by_statement.setdefault(name, []).append(answer)
        return {name: _concluded(found) for name, found in by_statement.items()}
    if any(isinstance(one, Verdict) for one in answers):
        return every(answers)
    return all_instances(answers)
