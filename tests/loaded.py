"""Tells at the end of a process which of our modules it has loaded, and which files it has opened, in told.json.

A test writes this file as sitecustomize.py into a folder of PYTHONPATH. Packages that only pass names on load a module
when its name is asked for: what a process loads then, it uses.
"""

import ast
import atexit
import json
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

OURS = ("gcexp", "gcexp_adviser")
OPENED = set()
#: What a package says in place of the imports of its own modules.
ASKED = """
import importlib, sys, types

class _Package(types.ModuleType):
    def __setattr__(self, name, value):  # of a module whose name is that of its function, too
        if name not in _PLACES:
            super().__setattr__(name, value)

sys.modules[__name__].__class__ = _Package

def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(name)
    module, name = _PLACES[name]
    return getattr(importlib.import_module(module), name)
"""


class Passing(SourceFileLoader):
    """Loads a package without the modules whose names it passes on."""

    def get_code(self, name):
        tree = ast.parse(self.get_data(self.path))
        if any(isinstance(node, ast.FunctionDef) for node in tree.body):
            return compile(tree, self.path, "exec")
        places = {}
        kept = []
        for node in tree.body:
            inside = isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{name}.")
            if inside:
                places |= {one.asname or one.name: (node.module, one.name) for one in node.names}
            elif "globals()" not in ast.unparse(node):  # better sentences for wrong arguments
                kept.append(ast.unparse(node))
        return compile("\n".join([*kept, f"_PLACES = {places!r}", ASKED]), self.path, "exec")


class Finder:
    """Finds our packages, and lets `Passing` load them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in OURS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations:
            spec.loader = Passing(name, spec.origin)
        return spec


def _hear(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        OPENED.add(os.path.abspath(arguments[0]))


def _tell():
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] in OURS)
    with open("told.json", "w") as told:
        json.dump([loaded, sorted(OPENED)], told)


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, Finder)
    sys.addaudithook(_hear)
    atexit.register(_tell)
