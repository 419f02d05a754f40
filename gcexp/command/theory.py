"""Every public function of `gcexp.theory` and of papers' ``theory.py`` by name, with arguments as a person types them.

A value is a number, a fraction ``2/3``, ``inf``, ``true``, ``false``, ``null``, text, or a list of these, ``[1, 2/3]``.
Functions of functions are called from Python.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import yaml

import gcexp.theory
from gcexp.command.arguments import as_json, pairs
from gcexp.errors import UserError, unknown
from gcexp.run.options import papers
from gcexp.run.yaml_values import read_value
from gcexp.schema import arguments, quoted, typed


def modules() -> list[tuple[str, ModuleType]]:
    """The modules of `gcexp.theory` by name, and ``theory.py`` of every paper that has one by the paper's name."""
    ours = [(one.name, f"gcexp.theory.{one.name}") for one in pkgutil.iter_modules(gcexp.theory.__path__)]
    added = [(at.name, f"{name}.theory") for name, at in papers().items() if (at / "theory.py").is_file()]
    return [(name, importlib.import_module(module)) for name, module in ours + added]


def functions() -> dict[str, Callable]:
    """Public functions of the theory modules, as ``module.function``."""
    found = {}
    for module, imported in modules():
        for name, function in vars(imported).items():
            own = getattr(function, "__module__", "") == imported.__name__
            if inspect.isfunction(function) and own and not name.startswith("_"):
                found[f"{module}.{name}"] = function
    return dict(sorted(found.items()))


def as_lines(found: Mapping[str, str]) -> str:
    """A listing by module, one line for each function."""
    described, lines = {name: first_line(module) for name, module in reversed(modules())}, list[str]()
    for module, group in itertools.groupby(found.items(), key=lambda item: item[0].partition(".")[0]):
        named = {name.partition(".")[2]: line for name, line in group}
        width = max(map(len, named))
        lines += [f"{module}: {described[module]}"]
        lines += [f"  {name:{width}}  {line}" for name, line in named.items()] + [""]
    return "\n".join([*lines, "gcexp theory MODULE.NAME explains a function and its arguments."])


def first_line(documented: object) -> str:
    """What a docstring says first."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def evaluate(name: str, given: Iterable[str]):
    """Result of the function `name` for arguments such as ``n=15`` and ``alpha=2/3``."""
    function = _function(name)
    read = {key: parse(text) for key, text in pairs(given, f"{name}: ").items()}
    values = arguments(function, read, name, "argument")
    annotated = function.__annotations__
    values = {key: value if key in annotated else _array(value) for key, value in values.items()}
    try:
        return function(**values)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        told = ", ".join(f"{key}={quoted(plain(value))}" for key, value in values.items())
        raise UserError(f"{name} cannot be evaluated at {told}: {error}") from None


def _function(name: str) -> Callable:
    found = functions()
    if name not in found:
        raise UserError(unknown("formula", name, found))
    return found[name]


def parse(text: str):
    """A value as typed, of a list each entry, where a ratio is a fraction; what is nothing else is text."""
    value: Any = text
    if text.startswith("["):
        with suppress(UserError):  # no list after all
            value = read_value(f"list={text}")
    return _with_fractions(value)


def _with_fractions(value: Any):
    if isinstance(value, list):
        return [_with_fractions(entry) for entry in value]
    return typed(value, fractions=True) if isinstance(value, str) else value


def _array(value):
    """Lists of numbers as arrays, ragged ones as lists of arrays."""
    if not isinstance(value, list):
        return value
    try:
        found = np.array(value)
        return found if found.dtype.kind in "biuf" else np.array(value, dtype=float)
    except (TypeError, ValueError):
        return [_array(entry) for entry in value]


def plain(value):
    """A result in the types of JSON; fractions and infinities as text, NaN as null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def format_value(value) -> str:
    """A result for people: fractions as decimals too, lists and mappings line by line."""
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} = {float(value):.12g}"
    found = plain(value)
    if isinstance(found, list | dict):
        return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110).rstrip()
    return f"{found:.12g}" if isinstance(found, float) else json.dumps(found).strip('"')


def add(parser) -> None:
    """Arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="such as partial_recovery.lower_bound")
    parser.add_argument(
        "arguments", nargs="*", metavar="KEY=VALUE", help="n=15 alpha=2/3 lengths=[3,4] shape=inf"
    )
    as_json(parser)


def run(given) -> None:
    """Evaluate a closed form, or say what there is."""
    name = given.name
    listed = {one: first_line(of) for one, of in functions().items() if name in (None, one.partition(".")[0])}
    if listed and not given.arguments:
        print(json.dumps(listed, indent=1) if given.json else as_lines(listed))
        return
    function = _function(name)
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if needed and not given.arguments:  # explain it: what has a default stands in brackets
        usage = " ".join(f"{p.name}=" if p in needed else f"[{p.name}=]" for p in parameters)
        print(f"gcexp theory {name} {usage}\n\n{inspect.getdoc(function)}")
    else:
        value = evaluate(name, given.arguments)
        print(json.dumps(plain(value)) if given.json else format_value(value))
