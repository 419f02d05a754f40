"""Which code can run from a function or a class on? The modules it reaches, as hashes of their syntax trees.

Nothing is imported. Imports are followed where they stand, at the top of a module or inside a function, and a name that
a package's ``__init__`` only passes on leads to the module that defines it. Comments, docstrings and what is there for
type checkers alone are no part of a tree.

What one text says is kept on disk (`gcexp.run.cache`): to parse two hundred modules costs more than all else of a plan.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from gcexp.errors import EXTRAS, UserError, no_python
from gcexp.run.cache import remember, remembered
from gcexp.run.options import papers, plugins

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


Import = tuple[str, str | None]  # a module and a name in it; None: the module itself


@dataclass(frozen=True)
class Module:
    """What one module's text says.

    Attributes
    ----------
    name : str
    is_package : bool
        Whether it is a package's ``__init__``.
    text : str
    digest : str
        Hash of the tree, quickly made; another Python may give another one.
    defined : frozenset of str
        Names at the top, imports apart.
    imported : dict of Import
        What each name at the top stands for that an import binds.
    uses : list of Import
        All that it imports anywhere.
    """

    name: str
    is_package: bool
    text: str
    digest: str
    defined: frozenset[str]
    imported: dict[str, Import]
    uses: list[Import]


def source_hash(*targets: str) -> str:
    """Hash of all code that can run from `targets` on.

    Parameters
    ----------
    *targets : str
        Dotted names. A class or function stands for the whole module that defines it, and a module for itself; a
        function spelled ``module:function`` for itself and what it uses of its module.

    Raises
    ------
    UserError
        For a module that cannot be found.
    """
    return _source_hash(tuple(sorted(set(targets))))


@cache
def _source_hash(targets: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    modules: set[str] = set()
    for target in targets:
        name, colon, function = target.partition(":")
        if colon:
            part, wanted = _part(name, function)
            digest.update(f"{target} {part}\n".encode())
            modules |= _closure(wanted)
        elif (origin := definer(target)) is not None:
            modules |= _closure([origin])
        else:
            digest.update(f"{target} {_release(target)}\n".encode())
    for name in sorted(modules):
        digest.update(f"{name} {parsed(name).digest}\n".encode())
    return digest.hexdigest()[:12]


def reached(*targets: str) -> frozenset[str]:
    """Names of the modules that can run from `targets` on; of ``module:function`` not the module itself."""
    found: set[str] = set()
    for target in targets:
        name, colon, function = target.partition(":")
        starts = _part(name, function)[1] if colon else [definer(target)]
        found |= _closure([start for start in starts if start])
    return frozenset(found)


def definer(target: str) -> str | None:
    """The module that defines a dotted name, or that it is; None for a foreign library, which is not looked into."""
    module, _, name = target.rpartition(".")
    if not module or _spec(target):
        module, name = target, ""
    if not _spec(module):
        if is_there(module):
            return None  # a foreign library, here without the extra that brings it
        raise UserError(f"_target_ names module {module}, which cannot be found")
    return _resolved(module, name or None) if _is_followed(module) else None


def is_there(module: str) -> bool:
    """Whether a module can be found, or is one of a library that an extra of ours brings."""
    top = module.partition(".")[0]
    return _spec(module) is not None or any(top in packages for packages in EXTRAS.values())


def names_in(module: str) -> frozenset[str] | None:
    """Names at the top of a module; None where its text does not say them all, or is not looked into.

    Examples
    --------
    >>> "definer" in names_in("gcexp.run.source"), names_in("numpy")
    (True, None)
    """
    found = _parsed(module) if _is_followed(module) else None
    if found is None or "__getattr__" in found.defined or "*" in found.imported:
        return None
    return found.defined | frozenset(found.imported)


def class_value(target: str, name: str, beside: str) -> Any:
    """What a class, or one that it inherits from, sets `name` to: numbers, texts and lists as they are written.

    None where it sets nothing, or something that must run to be known. `beside` is the method that the value is about:
    a class that defines this anew does not inherit the value.

    Examples
    --------
    >>> class_value("gcexp.tasks.mlp.MultilayerPerceptron", "scores", "problem")
    ['test_accuracy', 'test_loss']
    >>> class_value("gcexp.tasks.mlp.MultilayerPerceptron", "score", "problem")
    """
    module, cls = definer(target), target.rpartition(".")[2]
    if module is None or cls not in parsed(module).defined:
        return None
    text = parsed(module).text
    said, bases = _kept(f"value {name} {beside} {cls}", text, lambda: _set_in(text, cls, name, beside))
    if said is not None:
        return said
    for base in bases:
        found = parsed(module).imported.get(base)
        inherited = ".".join(filter(None, found)) if found else f"{module}.{base}"
        if base != cls and (said := class_value(inherited, name, beside)) is not None:
            return said
    return None


def _set_in(text: str, cls: str, name: str, beside: str) -> list:
    """Literal of a name in the body of a class, and the plain names of the classes that it inherits it from."""
    node = _defined(_tree(text))[cls]
    if not isinstance(node, ast.ClassDef):
        return [None, []]
    said = None
    for line in node.body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value and name in _bound(line):
            with suppress(ValueError):
                value = ast.literal_eval(line.value)
                said = list(value) if isinstance(value, tuple) else value
    anew = any(isinstance(line, _FUNCTIONS) and line.name == beside for line in node.body)
    return [said, [] if anew else [base.id for base in node.bases if isinstance(base, ast.Name)]]


def parsed(module: str) -> Module:
    """A module's tree, read once per process."""
    found = _parsed(module)
    assert found is not None, module
    return found


@cache
def _parsed(module: str) -> Module | None:
    spec = _spec(module)
    if spec is None or not (spec.origin or "").endswith(".py"):
        return None
    try:
        return _module(module, spec.submodule_search_locations is not None, read(Path(spec.origin)))
    except SyntaxError as error:
        error.filename = spec.origin
        raise UserError(no_python(error)) from None


@cache
def _module(name: str, is_package: bool, text: str) -> Module:
    found = _kept(f"module {name} {is_package}", text, lambda: _said(name, is_package, text))
    imported = {bound: tuple(origin) for bound, origin in found["imported"].items()}
    return Module(
        *(name, is_package, text, found["digest"]),
        defined=frozenset(found["defined"]),
        imported=imported,
        uses=[tuple(origin) for origin in found["uses"]],
    )


def _said(name: str, is_package: bool, text: str) -> dict[str, Any]:
    tree = _tree(text)
    imports = [node for node in _statements(tree.body) if isinstance(node, ast.Import | ast.ImportFrom)]
    bound = itertools.chain.from_iterable(_imports(node, name, is_package) for node in imports)
    return {
        "digest": hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12],
        "defined": list(_defined(tree)),
        "imported": {bound: list(origin) for bound, origin in bound},
        # Only calls of import_module can be deeper than statements.
        "uses": _uses(name, is_package, ast.walk(tree) if "import_module" in text else _blocks(tree)),
    }


@cache
def _tree(text: str) -> ast.Module:
    return _running(ast.parse(text))


def _defined(tree: ast.Module) -> dict[str, ast.stmt]:
    """The statement that defines each name at the top."""
    return {bound: node for node in _statements(tree.body) for bound in _bound(node)}


def _kept(question: str, text: str, answer: Callable[[], Any]) -> Any:
    """What was found out about a text, by this process or an earlier one."""
    key = f"{question} {hashlib.sha256(text.encode()).hexdigest()}"
    found = remembered(key, _readings())
    if found is None:
        found = answer()
        remember(key, found, _readings())
    return found


@cache
def _readings() -> str:
    """Name of the file where they are kept: another Python, or another text of this module, reads otherwise."""
    return f"source-{hashlib.sha256(sys.version.encode() + Path(__file__).read_bytes()).hexdigest()[:16]}"


def source_files(top: str) -> dict[str, Path]:
    """Python files of a package, or the one of a module, by their path inside it; its ``__init__`` or itself first."""
    spec = _spec(top)
    if spec is None:
        raise UserError(f"there is no package {top}")
    folders = [Path(place) for place in spec.submodule_search_locations or []]
    found = {Path(spec.origin).name: Path(spec.origin)} if spec.origin else {}
    for folder in folders:
        found |= {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}
    return found


@cache
def text_hash(module: str) -> str:
    """Hash of a module's code as text, equal for every Python that spells it alike."""
    text = parsed(module).text
    return _kept("text", text, lambda: hashlib.sha256(ast.unparse(_tree(text)).encode()).hexdigest()[:12])


def read(path: Path) -> str:
    """Text of a source file."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _closure(modules: Iterable[str]) -> set[str]:
    found, waiting = set(), list(modules)
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += _neighbours(module)
    return found


@cache
def _neighbours(module: str) -> frozenset[str]:
    """Modules that a module imports anywhere."""
    return frozenset(_origins(parsed(module).uses))


def _origins(uses: Iterable[Import]) -> Iterator[str]:
    """The modules that imports lead to, foreign libraries apart."""
    for origin, name in uses:
        if _is_followed(origin) and (resolved := _resolved(origin, name)):
            yield resolved


def _uses(name: str, is_package: bool, nodes: Iterable[ast.AST]) -> list[list[str | None]]:
    """All that some nodes of a module import."""
    found: dict[Import, None] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= dict.fromkeys(origin for _, origin in _imports(node, name, is_package))
        elif isinstance(node, ast.Call) and _called(node.func) in (
            "import_module",
            "importlib.import_module",
        ):
            module = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if isinstance(module, str):
                found[module, None] = None
    return [list(origin) for origin in found]


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def _part(name: str, function: str) -> tuple[str, tuple[str, ...]]:
    """What a function uses of its own module, as a hash, and the modules that this part imports."""
    module = parsed(name)
    if function not in module.defined:
        raise UserError(f"{name} defines no {function}")
    question = f"part {function} {name} {module.is_package}"
    digest, uses = _kept(question, module.text, lambda: _part_of(module, function))
    return digest, tuple(sorted(set(_origins(tuple(origin) for origin in uses))))


def _part_of(module: Module, function: str) -> list:
    defined = _defined(_tree(module.text))
    nodes: dict[int, ast.stmt] = {}
    wanted: list[list[str | None]] = []
    waiting = [defined[function]]
    while waiting:
        node = waiting.pop()
        if id(node) in nodes:
            continue
        nodes[id(node)] = node
        wanted += _uses(module.name, module.is_package, ast.walk(node))
        for used in _names(node):
            if used in defined:
                waiting.append(defined[used])
            elif used in module.imported:
                wanted.append(list(module.imported[used]))
    parts = sorted(ast.dump(node) for node in nodes.values())
    return [hashlib.sha256("".join(parts).encode()).hexdigest()[:12], wanted]


def _names(node: ast.AST) -> Iterator[str]:
    """Names used, those in the annotations of functions apart: nobody evaluates them."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field == "returns" or (field == "annotation" and isinstance(node, ast.arg)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _names(child)


def _resolved(module: str, name: str | None) -> str | None:
    """The module that defines `name` of `module`: a package's ``__init__`` may only pass it on."""
    if name is None:
        return module if _parsed(module) else None
    if _spec(f"{module}.{name}") and _parsed(module) and parsed(module).is_package:
        if name not in parsed(module).defined and name not in parsed(module).imported:
            return f"{module}.{name}"
    found = _parsed(module)
    if found is None:
        return None
    if found.is_package and name not in found.defined and name in found.imported:
        origin, inner = found.imported[name]
        if (origin, inner) != (module, name) and _is_followed(origin):
            return _resolved(origin, inner)
        return f"{module}.{name}" if _spec(f"{module}.{name}") else None
    return module


def _imports(
    node: ast.Import | ast.ImportFrom, module: str, is_package: bool
) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Names that an import binds, and what they are."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], (alias.name, None)
        return
    base = node.module or ""
    if node.level:
        above = module.split(".")[: len(module.split(".")) - node.level + is_package]
        base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        yield alias.asname or alias.name, (base, None if alias.name == "*" else alias.name)


def _running(tree: ast.Module) -> ast.Module:
    """The tree without docstrings and without what only a type checker reads."""
    for node in _blocks(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]  # type: ignore[attr-defined]
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [child for child in body if not _is_for_types(child)]  # type: ignore[attr-defined]
    return tree


def _blocks(tree: ast.AST) -> Iterator[ast.AST]:
    """The tree and every statement, handler and case in it; expressions, most of a tree, are not looked into."""
    waiting = [tree]
    while waiting:
        yield (node := waiting.pop())
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(inside := getattr(node, field, None), list):
                waiting += inside


def _is_for_types(node: ast.AST) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Name | ast.Attribute):
        return False
    return ast.unparse(node.test).endswith("TYPE_CHECKING") and not node.orelse


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at the top of a module, also those under an if, a try or a with."""
    for node in body:
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [
        n.id for target in targets if target is not None for n in ast.walk(target) if isinstance(n, ast.Name)
    ]


@cache
def _spec(module: str):
    """Where a module is, found without importing its packages; None where it is not."""
    where, spec = None, None
    for i, _ in enumerate(parts := module.split(".")):
        try:
            spec = PathFinder.find_spec(".".join(parts[: i + 1]), where)
        except (ImportError, ValueError):
            return None
        if spec is None:
            return None
        where = spec.submodule_search_locations
        if where is None and i + 1 < len(parts):
            return None
    return spec


@cache
def _is_followed(module: str) -> bool:
    """Whether a module is ours, a plug-in's, or lies outside the installed libraries."""
    top = module.partition(".")[0]
    if top == "gcexp" or top in {
        name.partition(".")[0] for name in papers()
    }:  # papers of ours are installed, too
        return True
    if not top or top in sys.stdlib_module_names or (spec := _spec(top)) is None:
        return False
    places = [spec.origin, *(spec.submodule_search_locations or [])]
    installed = any({"site-packages", "dist-packages"} & set(Path(place).parts) for place in places if place)
    return not installed or _is_plug_in(top)


def _is_plug_in(top: str) -> bool:
    """Whether an installed package says, by an entry point, that it is a plug-in."""
    return any(name.partition(".")[0] == top for name in plugins())


def _distributions(top: str) -> list[str]:
    try:
        return [metadata.distribution(top).metadata["Name"]]
    except metadata.PackageNotFoundError:
        return metadata.packages_distributions().get(top, [])


def _release(target: str) -> str:
    """Name and version of a foreign library."""
    names = _distributions(target.partition(".")[0])
    return " ".join(f"{name}=={metadata.version(name)}" for name in sorted(names)) or "builtin"
