"""Every public function of `gcexp.theory` and of papers' ``theory.py`` by name, with arguments as a person types them.

A value is a number, a fraction ``2/3``, ``inf``, ``true``, ``false``, ``null``, text, or a list of these, ``[1, 2/3]``.
Functions of functions are called from Python.
"""

from __future__ import annotations

import importlib
import inspect
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
from gcexp.command.arguments import add_json, pairs
from gcexp.errors import UserError, unknown
from gcexp.run.options import paper_folders
from gcexp.run.yaml_values import read_value
from gcexp.schema import arguments, quoted, typed


def modules() -> list[tuple[str, ModuleType]]:
    """The modules of `gcexp.theory` by name, and ``theory.py`` of every paper that has one by the paper's name."""
    found = []
    for module in pkgutil.iter_modules(gcexp.theory.__path__):
        found.append((module.name, importlib.import_module(f"gcexp.theory.{module.name}")))
    for package, folder in paper_folders().items():
        if (folder / "theory.py").is_file():
            found.append((folder.name, importlib.import_module(f"{package}.theory")))
    return found


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
    described: dict[str, str] = {}
    for name, module in modules():  # of two modules with one name the first
        described.setdefault(name, first_line(module))
    by_module: dict[str, dict[str, str]] = {}
    for name, line in found.items():
        module_name, _, function = name.partition(".")
        by_module.setdefault(module_name, {})[function] = line
    lines = []
    for module_name, line_of in by_module.items():
        lines.append(f"{module_name}: {described[module_name]}")
        width = max(map(len, line_of))
        for function, line in line_of.items():
            lines.append(f"  {function:{width}}  {line}")
        lines.append("")
    lines.append("gcexp theory MODULE.NAME explains a function and its arguments.")
    return "\n".join(lines)


def first_line(documented: object) -> str:
    """What a docstring says first."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def evaluate(name: str, given: Iterable[str]):
    """Result of the function `name` for arguments such as ``n=15`` and ``alpha=2/3``."""
    function = _function(name)
    read = {key: parse(text) for key, text in pairs(given, f"{name}: ").items()}
    values = arguments(function, read, name, "argument")
    for key, value in values.items():
        if key not in function.__annotations__:
            values[key] = _array(value)
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
    if isinstance(value, str):
        return typed(value, fractions=True)
    return value


def _array(value):
    """Lists of numbers as arrays, ragged ones as lists of arrays."""
    if not isinstance(value, list):
        return value
    try:
        found = np.array(value)
        if found.dtype.kind in "biuf":
            return found
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        return [_array(entry) for entry in value]


def plain(value):
    """A result in the types of JSON; fractions and infinities as text, NaN as null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def format_value(value) -> str:
    """A result for people: fractions as decimals too, lists and mappings line by line."""
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} = {float(value):.12g}"
    found = plain(value)
    if isinstance(found, list | dict):
        return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110).rstrip()
    if isinstance(found, float):
        return f"{found:.12g}"
    return json.dumps(found).strip('"')


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="such as partial_recovery.lower_bound")
    parser.add_argument(
        "arguments", nargs="*", metavar="KEY=VALUE", help="n=15 alpha=2/3 lengths=[3,4] shape=inf"
    )
    add_json(parser)


def run(given) -> None:
    """Evaluate a closed form, or say what there is."""
    name = given.name
    listed = {}
    for one, function in functions().items():
        module, _, _ = one.partition(".")
        if name is None or name == module:
            listed[one] = first_line(function)
    if listed and not given.arguments:
        if given.json:
            print(json.dumps(listed, indent=1))
        else:
            print(as_lines(listed))
        return
    explained = _explanation(name)
    if explained and not given.arguments:
        print(explained)
        return
    value = evaluate(name, given.arguments)
    if given.json:
        print(json.dumps(plain(value)))
    else:
        print(format_value(value))


def _explanation(name: str) -> str | None:
    """How a function is called, and its docstring; None where it needs no argument.

    What has a default stands in brackets.
    """
    function = _function(name)
    words = []
    needs_any = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            needs_any = True
            words.append(f"{parameter.name}=")
        else:
            words.append(f"[{parameter.name}=]")
    if not needs_any:
        return None
    return f"gcexp theory {name} {' '.join(words)}\n\n{inspect.getdoc(function)}"
