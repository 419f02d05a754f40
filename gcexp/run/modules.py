"""Modules of the library and of a person's own: which they are, and where."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path

#: Packages of the library, which lie beside each other; the papers are as a person's own.
LIBRARY = ("gcexp", "gcexp_adviser")
_FOLDER = Path(__file__).parents[2]
_PACKAGES = tuple(f"{_FOLDER / name}{os.sep}" for name in LIBRARY)
_INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]*)")
#: Folders of the system. A project may still lie below one of them.
_SYSTEM = ("/etc", "/usr", "/run")


@cache
def library_modules() -> dict[str, Path]:
    """Where every module of the library is, by name."""
    found = {}
    for package in LIBRARY:
        for path in sorted((_FOLDER / package).rglob("*.py")):
            parts = path.relative_to(_FOLDER).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found[".".join(parts)] = path
    return found


@cache
def plugins() -> tuple[str, ...]:
    """Packages with option files that installed distributions name under the entry point ``gcexp.plugins``."""
    return tuple(sorted(point.value for point in entry_points(group="gcexp.plugins")))


def is_own(path: str) -> bool:
    """Whether the module at an absolute path is one that a person edits.

    Modules of the library are not among them: `gcexp.run.closure` finds those that count. Of installed packages only
    the papers that come with gcexp and plug-ins are.
    """
    return _is_own_outside(_foreign_folders(os.getcwd() + os.sep), os.path.abspath(path))


@cache  # a training asks for all of its three thousand modules whenever it keeps its state
def _is_own_outside(foreign: tuple[str, ...], path: str) -> bool:
    """The same, where the folders of others are known."""
    if not path.endswith(".py") or path.startswith(_PACKAGES):
        return False
    installed = _INSTALLED.search(path)
    if installed:
        plugged = {"gcexp_papers", *(name.partition(".")[0] for name in plugins())}
        return installed[1].removesuffix(".py") in plugged
    return not path.startswith(foreign)


@cache
def _foreign_folders(here: str) -> tuple[str, ...]:
    """Folders of the system and of Python, with a separator behind them, but none that holds the working folder."""
    library = sysconfig.get_paths()
    folders = [*_SYSTEM, sys.prefix, sys.base_prefix, library["stdlib"], library["platstdlib"]]
    with_separator = [folder + os.sep for folder in folders]
    return tuple(folder for folder in with_separator if not here.startswith(folder))


def own_modules() -> dict[str, str]:
    """Where every loaded module of a person's own is, by name."""
    names = []
    files = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")  # of some modules getattr would import more
        if isinstance(file, str):
            names.append(name)
            files.append(file)
    return dict(_own_among(os.getcwd(), tuple(names), tuple(files)))


@lru_cache(maxsize=1)  # a job asks after each of its points, between which few import anything
def _own_among(here: str, names: tuple[str, ...], files: tuple[str, ...]) -> dict[str, str]:
    """Those of some loaded modules that are a person's own, as they are seen from a folder."""
    found = {}
    foreign = _foreign_folders(here + os.sep)
    for name, file in zip(names, files, strict=True):
        path = os.path.abspath(file)
        if _is_own_outside(foreign, path):
            found[name] = path
    return found


def spec_of(module: str) -> ModuleSpec | None:
    """Where Python would find a module, found without importing its packages; None where it is not."""
    return _spec_of(module, {})


def _spec_of(module: str, known: dict[str, ModuleSpec | None]) -> ModuleSpec | None:
    """The same, where `known` are the modules that have been looked for before; this one and its packages join them."""
    if module in known:
        return known[module]
    known[module] = None
    package, _, _ = module.rpartition(".")
    folders = None  # for a module without a package: those of sys.path
    if package:
        package_spec = _spec_of(package, known)
        if package_spec is None or package_spec.submodule_search_locations is None:
            return None
        folders = package_spec.submodule_search_locations
    with suppress(ImportError, ValueError, KeyError):  # KeyError: inside a namespace package
        known[module] = PathFinder.find_spec(module, folders)
    return known[module]


def sources(modules: Iterable[str]) -> dict[str, Path | None]:
    """Where the text of each module is, by its name; None where it has none or is not there.

    Each of them and of their packages is looked for once.
    """
    known: dict[str, ModuleSpec | None] = {}
    found: dict[str, Path | None] = {}
    for module in modules:
        spec = _spec_of(module, known)
        found[module] = None
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            found[module] = Path(spec.origin)
    return found


def source(module: str) -> Path | None:
    """The same of one module."""
    return sources([module])[module]
