"""Inputs of a paper that were chosen to agree with what it says, and which of its claims read them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from gcexp.analysis.claims import Claim
from gcexp.errors import DataError, UserError, require_known
from gcexp.files import rows_of
from gcexp.report.printed import Printed

COLUMNS = ("id", "what", "fitted_to", "figures", "names")


@dataclass(frozen=True)
class FittedInput:
    """An input that was restored or fitted after the numbers were known: a row of a paper's ``fitted_inputs.csv``.

    Attributes
    ----------
    id : str
        Its name, which claims give as `fitted`.
    what : str
        What was chosen and how, a sentence: the reason why the statements are *consistent* at best.
    fitted_to : tuple of str
        The statements that it was chosen to agree with.
    figures : tuple of str
        Those whose tables depend on it.
    names : tuple of str
        Names in Python that hold it, such as ``numerics.MATRIX`` for one in a module of the paper.
    """

    id: str
    what: str
    fitted_to: tuple[str, ...]
    figures: tuple[str, ...]
    names: tuple[str, ...]


def read_fitted_inputs(
    path: Path, stated: Collection[str], figures: Collection[str]
) -> dict[str, FittedInput]:
    """The fitted inputs of a paper by id; none where there is no such file.

    Raises
    ------
    UserError
        For an input that stands twice or says nothing, and for a statement or a figure that the paper does not have.
    """
    found: dict[str, FittedInput] = {}
    for place, row in rows_of(path, COLUMNS):
        one = FittedInput(
            row["id"], row["what"], *(tuple(row[name].split()) for name in ("fitted_to", "figures", "names"))
        )
        if not one.id or one.id in found:
            raise DataError(f"{place}: id {one.id!r} is empty or stands twice")
        if not one.what or not one.fitted_to:
            raise DataError(
                f"{place}: {one.id} must say what was chosen, and to which statements it was fitted"
            )
        for statement in one.fitted_to:
            require_known("statement", statement, stated, place)
        for figure in one.figures:
            require_known("figure", figure, figures, place)
        found[one.id] = one
    return found


def require_marks(
    name: str,
    about: Claim | Printed,
    answered: Collection[str],
    reads: Callable[[FittedInput], bool],
    inputs: Mapping[str, FittedInput],
) -> None:
    """Raise unless a claim or a printed number names every input that it reads and that was fitted to what it answers.

    Raises
    ------
    UserError
        For an input that it reads and does not name, and for one that it names and the paper does not list.
    """
    for mark in about.fitted:
        require_known("fitted input", mark, inputs, name)
    for one in inputs.values():
        its_own = [statement for statement in one.fitted_to if statement in answered]
        if its_own and one.id not in about.fitted and reads(one):
            raise UserError(
                f"{name} answers {its_own[0]} and reads {one.id}, which was fitted to it: say so with fitted={one.id!r}"
            )


def claim_reads(function: Callable, package: str) -> Callable[[FittedInput], bool]:
    """Whether a claim reads an input: in the table of a figure, or by a name that its code uses."""
    about: Claim = function.claim  # type: ignore[attr-defined]
    used = {id(value) for value in _used(function, package)}

    def reads(one: FittedInput) -> bool:
        if set(one.figures) & set(about.figures):
            return True
        return any(id(_held(name, package)) in used for name in one.names)

    return reads


def _held(name: str, package: str) -> object:
    """What stands under a name in a module of a paper."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(f"{package}.{module}"), attribute)
    except (ImportError, AttributeError, ValueError):
        raise UserError(f"{package} has no {name}, which its fitted_inputs.csv names") from None


def _used(function: Callable, package: str) -> Iterator[object]:
    """What the names in the code of a function stand for, and in the functions of its package that it uses."""
    seen: set[int] = set()
    waiting: list[Callable] = [function]
    while waiting:
        one = inspect.unwrap(waiting.pop())
        if id(one) in seen or not inspect.isfunction(one):
            continue
        seen.add(id(one))
        for value in _values(one):
            yield value
            if callable(value) and str(getattr(value, "__module__", "")).startswith(package):
                waiting.append(value)


def _values(function: Callable) -> Iterator[object]:
    """What the global names in the code of a function stand for, also those of modules, as in ``theory.LAW``."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType):
            for attribute in names & vars(value).keys():
                yield vars(value)[attribute]


def _names(code: CodeType) -> Iterator[str]:
    """Global names and attributes in a code, and in the functions and comprehensions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
