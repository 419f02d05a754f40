"""What does a module's text say? What a plan asks without importing anything."""

from __future__ import annotations

import ast
import importlib.util
import re
import symtable
import sys
from contextlib import suppress
from functools import cache
from typing import Any

from gcexp.errors import UserError, no_python
from gcexp.run.modules import is_own, source, spec_of


def outside(target: str) -> bool:
    """Whether a dotted name leads to a module of one's own: neither ours nor an installed library's."""
    top = target.partition(".")[0]
    if top in sys.stdlib_module_names or (spec := spec_of(top)) is None:
        return False
    folders = spec.submodule_search_locations or ()  # of a namespace without a module of its own
    return any(map(is_own, [spec.origin or "", *(f"{place}/__init__.py" for place in folders)]))


def names_in(module: str) -> frozenset[str] | None:
    """Names at the top of a module of ours or one's own; None where its text does not say them all."""
    if (text := _text(module)) is None or re.search(r"^\s*from .* import \*", text, re.MULTILINE):
        return None
    symbols = symtable.symtable(text, module, "exec").get_symbols()
    names = frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())
    return None if "__getattr__" in names else names


@cache
def class_value(target: str, name: str, beside: str) -> Any:
    """What a class, or one that it inherits from, sets `name` to: numbers, texts and lists as they are written.

    None where it sets nothing, or something that must run to be known. `beside` is the method that the value is about:
    a class that defines this anew does not inherit the value.
    """
    module, _, cls = target.rpartition(".")
    if (text := _text(module)) is None:
        return None
    tree = ast.parse(text)
    imported = _imported(tree, module)
    node = next(
        (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls), None
    )
    if node is None:  # a package may only pass it on
        return class_value(imported[cls], name, beside) if cls in imported else None
    for line in node.body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value:
            places = line.targets if isinstance(line, ast.Assign) else [line.target]
            if name in [place.id for place in places if isinstance(place, ast.Name)]:
                with suppress(ValueError):
                    found = ast.literal_eval(line.value)
                    return list(found) if isinstance(found, tuple) else found
    if any(isinstance(line, ast.FunctionDef) and line.name == beside for line in node.body):
        return None
    bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != cls]
    said = (class_value(imported.get(base, f"{module}.{base}"), name, beside) for base in bases)
    return next((value for value in said if value is not None), None)


def _imported(tree: ast.Module, module: str) -> dict[str, str]:
    """Names that imports of a module bind to something in another one, and its dotted name."""
    package = module if (file := source(module)) and file.name == "__init__.py" else module.rpartition(".")[0]
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # relative beyond the top
                origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                found |= {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in node.names}
    return found


@cache
def _text(module: str) -> str | None:
    """Text of a module of ours or of one's own; None of another."""
    file = source(module)
    if file is None or not (module.partition(".")[0] == "gcexp" or is_own(str(file))):
        return None
    try:
        text = file.read_text("utf-8")
        ast.parse(text)
    except SyntaxError as error:
        error.filename = str(file)
        raise UserError(no_python(error)) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8
        raise UserError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    return text
