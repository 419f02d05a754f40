"""Which modules and data files of the library can run where something is named? Told by what modules say.

From a dotted name the way leads to the module that defines it, and on to all that this module imports: at its top or in
a function, by a statement or by a string that names a module. A package passes names on: whoever imports one of them
depends on the module that defines it, and not on the package's other modules, although Python loads them too. What else
the package's ``__init__`` says counts wherever one of its modules does.

A person's own modules lead on as ours do; they count by the record of the job that loads them (`gcexp.run.records`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from gcexp.run.contents import code_of, content_hash, short_hash
from gcexp.run.imports import bound_names, computes_imports, imported_names, strings_with, words_in_strings
from gcexp.run.module_text import leads_to_own_module
from gcexp.run.modules import LIBRARY, library_modules, source, spec_of


@dataclass(frozen=True)
class Closure:
    """What some names lead to.

    Attributes
    ----------
    modules : frozenset of str
        Modules of the library.
    packages : frozenset of str
        Packages of which only the modules in them are used, and what else their ``__init__`` says.
    left_out : frozenset of str
        Modules at which the way ended, because the caller leaves them out.
    """

    modules: frozenset[str]
    packages: frozenset[str]
    left_out: frozenset[str]

    def __or__(self, other: Closure) -> Closure:
        """What this one or the other one holds."""
        return Closure(
            self.modules | other.modules,
            self.packages | other.packages,
            self.left_out | other.left_out,
        )

    @property
    def lines(self) -> list[str]:
        """Every module, package and data file with a hash of what it holds."""
        lines = [f"{module}={_content_of_module(module)}" for module in self.modules]
        for package in self.packages - self.modules:
            rest = own_words_of(package)
            if rest:
                lines.append(f"{package}={short_hash(rest.encode())}")
        files = set[str]()
        for module in self.modules:
            files.update(data_beside(module))
        lines += [f"{file}={content_hash(_place_of_data(file))}" for file in files]
        return sorted(lines)


@cache
def closure_of(names: frozenset[str], left_out: frozenset[str]) -> Closure:
    """What some dotted names of the library lead to.

    Parameters
    ----------
    names : frozenset of str
        Of modules, classes, functions.
    left_out : frozenset of str
        Modules that are not among what is found and do not lead on.
    """
    modules = set[str]()
    packages = set[str]()
    ends = set[str]()
    seen = set[str]()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        module, passed_on = _origin(name)
        if module is None:
            waiting += passed_on
            continue
        if module in modules:
            continue
        if module in left_out:
            ends.add(module)
            continue
        modules.add(module)
        for package in _packages_around(module):
            if package not in packages:
                packages.add(package)
                waiting += _outside_names(package)
        waiting += _names_in(module)
    return Closure(frozenset(modules), frozenset(packages), frozenset(ends))


def _origin(name: str) -> tuple[str | None, tuple[str, ...]]:
    """The module of the library that a dotted name stands in, or the names for which a package passes it on."""
    known = library_modules()
    module, rest = name, ""
    while module not in known:
        module, dot, last = module.rpartition(".")
        if not dot:
            return None, ()
        rest = f"{last}.{rest}"
    if rest and _is_package(module):
        first, _, more = rest.partition(".")
        origins = _passed_on(module).get(first)
        if origins:
            return None, tuple(f"{origin}.{more}".rstrip(".") for origin in origins)
    return module, ()


def _is_package(module: str) -> bool:
    return library_modules()[module].name == "__init__.py"


def _packages_around(module: str) -> list[str]:
    """The packages in which a module lies, but not the outermost one, which every job loads and which computes nothing.

    What its ``__init__`` offers, it loads when somebody asks for it.
    """
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(2, len(parts))]


@cache
def _code(module: str) -> str:
    return code_of(library_modules()[module])


@cache
def _content_of_module(module: str) -> str:
    return short_hash(_code(module).encode("utf-8", "surrogateescape"))


@cache
def _passed_on(package: str) -> dict[str, list[str]]:
    """Names that the ``__init__`` of a package imports, and where from."""
    found: dict[str, list[str]] = {}
    for name, origin in bound_names(_code(package), package, is_package=True):
        if name and origin.partition(".")[0] in LIBRARY:
            found.setdefault(name, []).append(origin)
    return found


@cache
def _outside_names(package: str) -> tuple[str, ...]:
    """What the ``__init__`` of a package imports from elsewhere in the library."""
    names = imported_names(_code(package), package, is_package=True)
    return tuple(name for name in names if not f"{name}.".startswith(f"{package}."))


_LIST_OF_NAMES = re.compile(r"^__all__ = [\[(][^\])]*[\])]", re.MULTILINE)


@cache
def own_words_of(package: str) -> str:
    """What the ``__init__`` of a package says beside the names that it passes on."""
    inside = re.escape(package)
    passing_on = re.compile(rf"^from (?:{inside}\b|\.)[\w.]* import (?:\([^)]*\)|.*)", re.MULTILINE)
    rest = passing_on.sub("", _LIST_OF_NAMES.sub("", _code(package)))
    return "\n".join(line for line in rest.split("\n") if line)


@cache
def _names_in(module: str) -> tuple[str, ...]:
    """Dotted names of the library that a module of it imports, or that its strings name."""
    code = _code(module)
    names = imported_names(code, module, _is_package(module))
    return tuple(dict.fromkeys([*names, *_named_by_strings(code)]))


def _named_by_strings(code: str) -> list[str]:
    """Names of the library in the strings of a module; of a name that is put together, all that it may become.

    Those are the modules that other strings name, or where no string does, every module of the package.
    """
    found = []
    for name, more in strings_with(code, LIBRARY):
        if not more:
            module, _ = _origin(name)
            if module not in LIBRARY:  # a name of the library as such, or one that nothing has
                found.append(name)
            continue
        inside = [f"{name}.{word}" for word in words_in_strings(code)]
        named = [one for one in inside if one in library_modules()]
        found += named or [one for one in library_modules() if one.startswith(f"{name}.")]
    return found


# --- Data files


@cache
def data_beside(module: str) -> list[str]:
    """Data files that a module may open: those in its folder whose ending, or whose subfolder, its code names.

    The outermost package has none: there a wheel keeps what lies beside the package in a clone, and what counts by its
    values or by records.
    """
    package = module if _is_package(module) else module.rpartition(".")[0]
    code = _code(module)
    return [file for file, sign in _data_of(package) if re.search(rf"{re.escape(sign)}\b", code)]


@cache
def _data_of(package: str) -> list[tuple[str, str]]:
    """Data files of a package, each with what a module says that opens it."""
    if "." not in package:
        return []
    folder = library_modules()[package].parent
    found = []
    for entry in sorted(folder.iterdir()):
        name = f"{package.replace('.', '/')}/{entry.name}"
        if entry.name.startswith((".", "__pycache__")) or f"{package}.{entry.name}" in library_modules():
            continue
        if entry.is_dir():
            found.append((name, entry.name))
        elif entry.suffix not in (".py", ".pyi", ".typed"):
            found.append((name, entry.suffix or entry.name))
    return found


def _place_of_data(file: str) -> str:
    top, _, rest = file.partition("/")
    return str(library_modules()[top].parent / rest)


# --- What a person's own modules lead to


def names_in_library(names: Iterable[str]) -> tuple[frozenset[str], bool]:
    """The library's names among some dotted names, and those to which the others lead through a person's own modules.

    And whether one of these modules imports what no string names, so that it may lead to anything.
    """
    ours = set[str]()
    is_computed = False
    seen = set[str]()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.partition(".")[0] in LIBRARY:
            ours.add(name)
            continue
        module = _own_module(name)
        if module is not None:
            further, computes = _said_by_own(module)
            waiting += further
            is_computed = is_computed or computes
    return frozenset(ours), is_computed


@cache
def _own_module(name: str) -> str | None:
    """The module of one's own in which a dotted name stands, or the package without a module; None for others."""
    if not name or not _is_own_top(name.partition(".")[0]):
        return None
    module = name
    while spec_of(module) is None:
        module = module.rpartition(".")[0]
    return module


@cache  # every module of a person's own imports the same few libraries
def _is_own_top(name: str) -> bool:
    return leads_to_own_module(name)


@cache  # where its imports are edited, its record tells
def _said_by_own(module: str) -> tuple[list[str], bool]:
    """Names that a module of one's own leads to, and whether it imports what no string names."""
    package = module.rpartition(".")[0]  # loaded before it
    path = source(module)
    if path is None:
        return [package], False
    code = code_of(path)
    names = imported_names(code, module, path.name == "__init__.py")
    return [package, *names, *_named_by_strings(code)], computes_imports(code)
