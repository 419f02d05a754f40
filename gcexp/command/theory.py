"""Every public function of `gcexp.theory` by name, with arguments as a person types them: behind ``gcexp theory``.

A value is a number, a fraction ``2/3``, ``inf``, ``true``, ``false``, ``none``, a list ``[1, 2]``, text, or another
formula: ``partial_recovery.multigraphs(n=4)``. A formula that lacks one required argument is a function of that one,
``adaptive.average_time(n=20, d=3, s_max=0)`` of p. ``scipy.stats.expon(scale=2)`` is a law's quantile as the value at
which exp(-e) is left, a function of e.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import pkgutil
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

import gcexp.theory
from gcexp.errors import UserError, unknown
from gcexp.schema import is_number

_WORDS = {"inf": math.inf, "nan": math.nan, "true": True, "false": False, "none": None}
_WORDS |= {"True": True, "False": False, "None": None}
_LAWS = "scipy.stats."


# --- What there is -----------------------------------------------------------------------------------------------


@cache
def functions() -> dict[str, Callable]:
    """Public functions of the theory modules, as ``module.function``."""
    found = {}
    for module in pkgutil.iter_modules(gcexp.theory.__path__):
        members = vars(importlib.import_module(f"gcexp.theory.{module.name}"))
        for name, function in members.items():
            own = getattr(function, "__module__", "") == f"gcexp.theory.{module.name}"
            if inspect.isfunction(function) and own and not name.startswith("_"):
                found[f"{module.name}.{name}"] = function
    return dict(sorted(found.items()))


def listing(module: str | None = None) -> dict[str, str]:
    """First docstring line of each function, of one module or of all; empty for what is no module."""
    return {
        name: inspect.getdoc(function).partition("\n")[0]
        for name, function in functions().items()
        if module in (None, name.partition(".")[0])
    }


def as_lines(found: Mapping[str, str]) -> str:
    """A listing with aligned columns."""
    width = max(map(len, found))
    return "\n".join(f"{name:{width}}  {line}" for name, line in found.items())


# --- Arguments ---------------------------------------------------------------------------------------------------


def evaluate(name: str, given: Iterable[str]):
    """Result of the function `name` for arguments such as ``n=15`` and ``alpha=2/3``.

    Raises
    ------
    UserError
        For an unknown name or argument, a missing one, a value of the wrong kind, and whatever the function refuses.

    Examples
    --------
    >>> evaluate("partial_recovery.lower_bound", ["n=15", "s=9", "alpha=2/3"])
    Fraction(89, 648)
    >>> evaluate("adaptive.rounds", ["L=6", "d=3"])
    Traceback (most recent call last):
    gcexp.errors.UserError: adaptive.rounds: 's' is missing (it takes L, d, s)
    """
    values = {}
    for argument in given:
        key, equals, text = argument.partition("=")
        if not equals or not key.isidentifier():
            raise UserError(f"an argument is KEY=VALUE, got {argument!r}")
        if key in values:
            raise UserError(f"{name}: {key!r} is given twice")
        values[key] = parse(text)
    return _call(name, values)


def parse(text: str):
    """A value as typed; what is nothing else is text.

    Examples
    --------
    >>> parse("2/3"), parse("[1, -inf]"), parse("pg-2-3"), parse("adaptive.survivable(n=20, d=3)")
    (Fraction(2, 3), [1, -inf], 'pg-2-3', 12)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    try:
        return _read(tree)
    except _Text:
        return text


class _Text(Exception):
    """Not in the grammar: a word."""


def _read(node: ast.expr):
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return node.value
        case ast.Name(id=word):
            return _WORDS.get(word, word)
        case ast.UnaryOp(op=ast.USub(), operand=inner) if is_number(value := _read(inner)) or isinstance(
            value, Fraction
        ):
            return -value
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            numerator, denominator = _read(left), _read(right)
            if type(numerator) is not int or type(denominator) is not int:
                raise _Text
            if denominator == 0:
                raise UserError(f"{ast.unparse(node)} divides by zero")
            return Fraction(numerator, denominator)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_read(part) for part in parts]
        case ast.Call(func=ast.Attribute() as func, args=[], keywords=keywords) if all(
            k.arg for k in keywords
        ):
            return _call(ast.unparse(func), {k.arg: _read(k.value) for k in keywords}, partly=True)
    raise _Text


def _call(name: str, given: dict, partly: bool = False):
    """The function's value; where `partly`, a function of the one argument that is missing."""
    if partly and name.startswith(_LAWS):
        return _law(name, given)
    if name not in functions():
        raise UserError(unknown("formula", name, functions()))
    function = functions()[name]
    parameters = inspect.signature(function).parameters
    named = [key for key, p in parameters.items() if p.kind is not p.VAR_KEYWORD]
    open_ended = len(named) < len(parameters)
    hints = typing.get_type_hints(function)
    for key in given:
        if key not in named and not open_ended:
            raise UserError(f"{name}: {unknown('argument', key, named)}")
    values = {}
    for key, value in given.items():
        hint = hints.get(key) if key in named else hints.get(list(parameters)[-1])
        values[key] = _fitted(hint, value, f"{name}: {key}")
    missing = [key for key in named if key not in given and parameters[key].default is parameters[key].empty]
    if partly and len(missing) == 1:
        return lambda x: function(**values, **{missing[0]: x})
    if missing:
        raise UserError(f"{name}: {missing[0]!r} is missing (it takes {', '.join(parameters)})")
    try:
        return function(**values)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        told = ", ".join(f"{key}={_plain(value)}" for key, value in values.items())
        raise UserError(f"{name} cannot be evaluated at {told}: {error}") from None


def _law(name: str, given: dict) -> Callable[[float], float]:
    """A law of scipy.stats as a function of a unit exponential's value e: where exp(-e) is left."""
    from scipy import stats

    law = getattr(stats, name.removeprefix(_LAWS), None)
    if not isinstance(law, stats.rv_continuous):
        laws = [known for known, law in vars(stats).items() if isinstance(law, stats.rv_continuous)]
        raise UserError(unknown("law of scipy.stats", name.removeprefix(_LAWS), laws))
    frozen = {key: float(value) if isinstance(value, Fraction) else value for key, value in given.items()}
    try:
        of = law(**frozen)
    except TypeError as error:
        raise UserError(f"{name}: {error}") from None
    return lambda e: float(of.isf(math.exp(-min(e, 700.0))))


def _fitted(hint, value, place: str):
    """`value` as the annotation wants it; without one, numbers stay and lists become arrays."""
    if hint is None:
        return _array(value, place) if isinstance(value, list) else value
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    kinds = [typing.get_origin(kind) or kind for kind in (typing.get_args(hint) if union else (hint,))]
    number = is_number(value) or isinstance(value, Fraction)
    for kind in kinds:
        if kind is types.NoneType and value is None:
            return None
        if kind is bool and isinstance(value, bool):
            return value
        if kind is int and number and math.isfinite(value) and value == int(value):
            return int(value)
        if kind is Fraction and isinstance(value, int | Fraction) and number:
            return Fraction(value)
        if kind is float and number:
            return value if isinstance(value, Fraction) and Fraction in kinds else float(value)
        if kind is str and isinstance(value, str):
            return value
        if kind in (Sequence, Iterable, list, tuple) and isinstance(value, list | tuple | np.ndarray):
            return _sequence(hint, value, place)
        if kind is np.ndarray and isinstance(value, list | np.ndarray):
            return _array(value, place)
        if kind is Callable and callable(value):
            return value
    raise UserError(f"{place} wants {' or '.join(map(_spelled, kinds))}, got {_plain(value)}")


def _sequence(hint, value, place: str):
    """Entries of a sequence, each as its annotation wants it."""
    inner = typing.get_args(hint)[:1]
    return [_fitted(inner[0], entry, f"{place}[{i}]") if inner else entry for i, entry in enumerate(value)]


def _array(value, place: str):
    """Lists of numbers as arrays; ragged ones as lists of arrays."""
    if isinstance(value, np.ndarray):
        return value
    try:
        if any(isinstance(entry, str) for entry in value):
            raise ValueError
        found = np.array(value)
        return found if found.dtype.kind in "biuf" else np.array(value, dtype=float)
    except (TypeError, ValueError):
        pass
    if value and all(isinstance(entry, list) for entry in value):
        return [_array(entry, place) for entry in value]
    raise UserError(f"{place} wants a list of numbers, got {_plain(value)}")


def _spelled(kind) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        Fraction: "a fraction such as 2/3",
        bool: "true or false",
        str: "text",
        types.NoneType: "none",
        np.ndarray: "a list of numbers",
        Callable: "a formula with one argument left out",
    }
    return words.get(kind, "a list such as [1,2]")


# --- Results -----------------------------------------------------------------------------------------------------


def _plain(value):
    """A result in the types of JSON; fractions, infinities and functions as text, NaN as null."""
    match value:
        case bool() | np.bool_():
            return bool(value)
        case None | str() | int():
            return value
        case np.integer():
            return int(value)
        case float() | np.floating():
            number = float(value)
            return number if math.isfinite(number) else None if math.isnan(number) else str(number)
        case Fraction():
            return str(value)
        case np.ndarray():
            return _plain(value.tolist())
        case set() | frozenset():
            return [_plain(entry) for entry in sorted(value)]
        case Mapping():
            return {str(key): _plain(entry) for key, entry in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return _plain(value._asdict())
        case list() | tuple():
            return [_plain(entry) for entry in value]
    return getattr(value, "__name__", str(value))


def as_json(value) -> str:
    """A result for machines.

    Examples
    --------
    >>> print(as_json({"load": Fraction(1, 3), "times": np.array([1.5, np.inf, np.nan])}))
    {"load": "1/3", "times": [1.5, "inf", null]}
    """
    return json.dumps(_plain(value))


def as_text(value) -> str:
    """A result for people.

    Examples
    --------
    >>> print(as_text(Fraction(1, 3)))
    1/3 = 0.333333333333
    >>> print(as_text([{"x": 1, "load": Fraction(2, 3)}, {"x": 12, "load": Fraction(1, 2)}]))
     x  load
     1   2/3
    12   1/2
    """
    match value:
        case Fraction():
            return str(value) if value.denominator == 1 else f"{value} = {float(value):.12g}"
        case np.ndarray() if value.ndim:
            return np.array2string(value, max_line_width=110)
        case list() if value and all(isinstance(entry, dict) for entry in value):
            rows = [list(value[0]), *([_short(cell) for cell in entry.values()] for entry in value)]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            return "\n".join(
                "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
            )
        case list() if value and all(isinstance(entry, np.ndarray) for entry in value):
            return "\n\n".join(map(as_text, value))
        case Mapping():
            return _named(value)
        case tuple() if hasattr(value, "_asdict"):
            return _named(value._asdict())
    return _short(value)


def _named(value: Mapping) -> str:
    width = max(len(str(key)) for key in value) if value else 0
    return "\n".join(f"{key!s:{width}} = {_short(entry)}" for key, entry in value.items())


def _short(value) -> str:
    """A value on one line."""
    match value:
        case Fraction():
            return str(value)
        case tuple() if hasattr(value, "_asdict"):
            return ", ".join(f"{key} {_short(entry)}" for key, entry in value._asdict().items())
        case set() | frozenset():
            return f"{{{', '.join(_short(entry) for entry in sorted(value))}}}"
        case list() | tuple():
            return f"[{', '.join(map(_short, value))}]"
        case np.ndarray() | np.generic():
            return _short(value.tolist())
        case float():
            return f"{value:.12g}"
    return str(value)
