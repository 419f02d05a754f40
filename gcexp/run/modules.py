"""Which modules and files are a person's own: neither the library's nor an installed package's."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path

from gcexp.run import paths

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


@cache
def plugins() -> tuple[str, ...]:
    """Packages with option files that installed distributions name under the entry point ``gcexp.plugins``."""
    return tuple(sorted(point.value for point in entry_points(group="gcexp.plugins")))


def is_edited(path: str) -> bool:
    """Whether a person may edit what stands at an absolute path: no library, nothing made here, not the system's.

    Modules of gcexp are not among them: they count by the rooms of `gcexp.run.dependencies`.
    """
    home, folder = os.path.expanduser("~"), path + os.sep
    made, foreign = _places(here := os.getcwd() + os.sep)
    if path.endswith(".pyc") or path == home or folder.startswith(made):
        return False
    if folder.startswith(_PACKAGE):
        return not path.endswith(".py") and not os.path.isdir(path)
    if installed := re.search(r"/(?:site|dist)-packages(?:/([^/]*)|$)", path):
        plugged = {"gcexp_papers", *(name.partition(".")[0] for name in plugins())}
        return (installed[1] or "").removesuffix(".py") in plugged
    hidden = re.match(rf"{re.escape(home)}/\.[^/]*/", folder)  # settings and caches
    return not folder.startswith(foreign) and (hidden is None or here.startswith(hidden[0]))


@cache  # a job asks for two thousand modules
def _places(here: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Folders, each with a separator behind it: those where jobs write, and those of the system and of Python."""
    library = sysconfig.get_paths()
    foreign = [*("/proc", "/sys", "/dev", "/etc", "/usr", "/run"), sys.prefix, sys.base_prefix]
    foreign = [f"{place}{os.sep}" for place in (*foreign, library["stdlib"], library["platstdlib"])]
    made = tuple(f"{here}{name}{os.sep}" for name in paths.MADE)
    return made, tuple(place for place in foreign if not here.startswith(place))


def is_own(path: str) -> bool:
    """Whether a module's file is a person's own: neither ours nor an installed library's, unless that is a plug-in."""
    return path.endswith(".py") and is_edited(path)


def own_modules() -> dict[str, str]:
    """Where every loaded module of a person's own is, by name."""
    modules = [*sys.modules.items()]
    files = {name: getattr(module, "__dict__", {}).get("__file__") for name, module in modules}
    found = {name: os.path.abspath(file) for name, file in files.items() if isinstance(file, str)}
    return {name: file for name, file in found.items() if is_own(file)}


def spec_of(module: str) -> ModuleSpec | None:
    """Where Python would find a module, found without importing its packages; None where it is not."""
    where, spec = None, None
    for i, _ in enumerate(parts := module.split(".")):
        try:
            spec = PathFinder.find_spec(".".join(parts[: i + 1]), where)
        except (ImportError, ValueError, KeyError):  # KeyError: inside a namespace package
            return None
        if spec is None or (spec.submodule_search_locations is None and i + 1 < len(parts)):
            return None
        where = spec.submodule_search_locations
    return spec


def source(module: str) -> Path | None:
    """Where the text of a module is; None where it has none or is not there."""
    origin = (spec.origin if (spec := spec_of(module)) else None) or ""
    return Path(origin) if origin.endswith(".py") else None
