"""What does a module's text say? What a plan asks without importing anything."""

from __future__ import annotations

import ast
import importlib.util
import re
import symtable
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from gcexp.errors import UserError, no_python
from gcexp.run.modules import LIBRARY, is_own, source, spec_of


def leads_to_own_module(target: str) -> bool:
    """Whether a dotted name leads to a module of one's own: neither ours nor an installed library's."""
    top = target.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    spec = spec_of(top)
    if spec is None:
        return False
    files = [spec.origin or ""]
    for folder in spec.submodule_search_locations or ():  # of a namespace without a module of its own
        files.append(f"{folder}/__init__.py")
    return any(is_own(file) for file in files)


def names_in(module: str) -> frozenset[str] | None:
    """Names at the top of a module of ours or one's own; None where its text does not say them all."""
    text = _text(module)
    if text is None or re.search(r"^\s*from .* import \*", text, re.MULTILINE):
        return None
    names = set[str]()
    for symbol in symtable.symtable(text, module, "exec").get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            names.add(symbol.get_name())
    if "__getattr__" in names:
        return None
    return frozenset(names)


@cache
def class_value(target: str, name: str, beside: str) -> Any:
    """What a class, or one that it inherits from, sets `name` to: numbers, texts and lists as they are written.

    None where it sets nothing, or something that must run to be known. `beside` is the method that the value is about:
    a class that defines this anew does not inherit the value.
    """
    module, _, class_name = target.rpartition(".")
    parsed = _parse(module)
    if parsed is None:
        return None
    tree, imported = parsed
    definition = _class_definition(tree, class_name)
    if definition is None:
        if class_name in imported:  # a package may only pass it on
            return class_value(imported[class_name], name, beside)
        return None
    own = _values_set(definition, name)
    if own:
        return own[0]
    if _defines(definition, beside):
        return None
    for base in definition.bases:
        if isinstance(base, ast.Name) and base.id != class_name:
            inherited = class_value(imported.get(base.id, f"{module}.{base.id}"), name, beside)
            if inherited is not None:
                return inherited
    return None


@cache
def _parse(module: str) -> tuple[ast.Module, dict[str, str]] | None:
    """What a module says, and where what it imports is defined; None as of `_text`."""
    text = _text(module)
    if text is None:
        return None
    tree = syntax_tree(text)
    return tree, _imports(tree, module)


def _class_definition(tree: ast.Module, name: str) -> ast.ClassDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    return None


def _values_set(definition: ast.ClassDef, name: str) -> list:
    """What the body of a class sets a name to, where it is written out; a tuple as a list."""
    found = []
    for line in definition.body:
        if not isinstance(line, ast.Assign | ast.AnnAssign) or line.value is None:
            continue
        if name not in _assigned_names(line):
            continue
        with suppress(ValueError):
            value = ast.literal_eval(line.value)
            found.append(list(value) if isinstance(value, tuple) else value)
    return found


def _assigned_names(line: ast.Assign | ast.AnnAssign) -> list[str]:
    places = line.targets if isinstance(line, ast.Assign) else [line.target]
    return [place.id for place in places if isinstance(place, ast.Name)]


def _defines(definition: ast.ClassDef, method: str) -> bool:
    """Whether the body of a class defines a method."""
    for line in definition.body:
        if isinstance(line, ast.FunctionDef) and line.name == method:
            return True
    return False


def _imports(tree: ast.Module, module: str) -> dict[str, str]:
    """Names that imports of a module bind to something in another one, and its dotted name."""
    file = source(module)
    is_package = file is not None and file.name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    found: dict[str, str] = {}
    for node in import_statements(tree):
        if isinstance(node, ast.Import):
            continue
        with suppress(ImportError):  # relative beyond the top
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                found[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return found


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    r"""All that a module imports, also inside of functions; expressions, which hold no statement, are left out.

    >>> text = "import os\nif os.name:\n    def late():\n        from pathlib import Path\n"
    >>> [statement.lineno for statement in import_statements(syntax_tree(text))]
    [1, 4]
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.expr):
            yield from import_statements(node)


@cache  # a plan asks for the same modules by several names
def syntax_tree(text: str) -> ast.Module:
    """What Python reads in a text; only to be looked at."""
    return ast.parse(text)


@cache
def _text(module: str) -> str | None:
    """Text of a module of ours or of one's own; None of another."""
    file = source(module)
    if file is None:
        return None
    is_ours = module.partition(".")[0] in LIBRARY
    if not is_ours and not is_own(str(file)):
        return None
    try:
        text = file.read_text("utf-8")
        syntax_tree(text)
    except SyntaxError as error:
        error.filename = str(file)
        raise UserError(no_python(error)) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8
        problem = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {file}: {problem}") from None
    return text
