"""Modules that a command loads when it uses them: they cost most of a short command's time, and few commands do.

``import scipy.sparse`` copies the names of numpy, which imports all parts of numpy, its Fortran wrapper included: this
takes 0.07 of the 0.33 CPU-s of ``gcexp show``. Here `importlib.util.LazyLoader` of the standard library makes each of
these parts a module that is read when something in it is asked for.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader

_LAZY = {
    *("numpy.char", "numpy.core", "numpy.ctypeslib", "numpy.f2py", "numpy.ma", "numpy.polynomial"),
    *("numpy.rec", "numpy.strings", "numpy.testing"),
}


class _Finder:
    """Finds the modules of `_LAZY` as Python does, and loads them later."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _LAZY else None
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def install() -> None:
    """From now on this process loads the parts of numpy that few commands need when they are used."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
