"""Which modules are a person's own: neither the library's nor an installed package's."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]*)")
#: Folders of the system. A project may still lie below one of them.
_SYSTEM = ("/etc", "/usr", "/run")


@cache
def plugins() -> tuple[str, ...]:
    """Packages with option files that installed distributions name under the entry point ``gcexp.plugins``."""
    return tuple(sorted(point.value for point in entry_points(group="gcexp.plugins")))


def is_own(path: str) -> bool:
    """Whether the module at an absolute path is one that a person edits.

    Modules of gcexp are not among them: they count by the rooms of `gcexp.run.dependencies`. Of installed packages only
    the papers that come with gcexp and plug-ins are.
    """
    return _is_own_seen_from(os.getcwd(), path)


@cache  # a training asks for all of its three thousand modules whenever it keeps its state
def _is_own_seen_from(here: str, path: str) -> bool:
    """Whether a module is one that a person edits; its path may be relative to the working folder `here`."""
    path = os.path.abspath(path)
    if not path.endswith(".py") or path.startswith(_PACKAGE):
        return False
    installed = _INSTALLED.search(path)
    if installed:
        plugged = {"gcexp_papers", *(name.partition(".")[0] for name in plugins())}
        return installed[1].removesuffix(".py") in plugged
    return not path.startswith(_foreign_folders(here + os.sep))


@cache
def _foreign_folders(here: str) -> tuple[str, ...]:
    """Folders of the system and of Python, with a separator behind them, but none that holds the working folder."""
    library = sysconfig.get_paths()
    folders = [*_SYSTEM, sys.prefix, sys.base_prefix, library["stdlib"], library["platstdlib"]]
    with_separator = [folder + os.sep for folder in folders]
    return tuple(folder for folder in with_separator if not here.startswith(folder))


def own_modules() -> dict[str, str]:
    """Where every loaded module of a person's own is, by name."""
    found = {}
    here = os.getcwd()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")  # of some modules getattr would import more
        if isinstance(file, str) and _is_own_seen_from(here, file):
            found[name] = os.path.abspath(file)
    return found


def spec_of(module: str) -> ModuleSpec | None:
    """Where Python would find a module, found without importing its packages; None where it is not."""
    return _spec_of(module, {})


def _spec_of(module: str, packages: dict[str, ModuleSpec | None]) -> ModuleSpec | None:
    """The same, where `packages` are those that have been looked for before; those of this module join them."""
    package, _, _ = module.rpartition(".")
    folders = None  # for a module without a package: those of sys.path
    if package:
        if package not in packages:
            packages[package] = _spec_of(package, packages)
        package_spec = packages[package]
        if package_spec is None or package_spec.submodule_search_locations is None:
            return None
        folders = package_spec.submodule_search_locations
    try:
        return PathFinder.find_spec(module, folders)
    except (ImportError, ValueError, KeyError):  # KeyError: inside a namespace package
        return None


def sources(modules: Iterable[str]) -> dict[str, Path | None]:
    """Where the text of each module is, by its name; None where it has none or is not there.

    Each package is looked for once, whatever many modules it has.
    """
    packages: dict[str, ModuleSpec | None] = {}
    found: dict[str, Path | None] = {}
    for module in modules:
        spec = _spec_of(module, packages)
        found[module] = None
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            found[module] = Path(spec.origin)
    return found


def source(module: str) -> Path | None:
    """The same of one module."""
    return sources([module])[module]
