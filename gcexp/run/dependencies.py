"""What a result depends on: the values of its options and the syntax tree of the modules they name."""

from __future__ import annotations

import ast
import hashlib
import itertools
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from gcexp.errors import UserError
from gcexp.run.build import _targets

#: Bump a stage when its results change for equal configs: a hand-kept trigger, guarded by golden tests.
VERSIONS = {"prepare": 1, "timeline": 2, "trajectory": 1, "verify": 1}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def tracked(config: dict, keys: tuple[str, ...], stage: str) -> list[str]:
    """Short flat list of the values, sources and version on which a job's result depends."""
    flat = [f"version={VERSIONS[stage]}"]
    if stage in ("trajectory", "verify"):  # their prepared data are an ancient input
        flat.append(f"prepare={VERSIONS['prepare']}")
    for key in keys:
        flat += _flat(config.get(key), key)
        flat += [f"{key}.source={source_hash(target)}" for target in _targets(config.get(key))]
    return flat


def _flat(node: Any, prefix: str) -> list[str]:
    if isinstance(node, dict):
        return list(itertools.chain.from_iterable(_flat(v, f"{prefix}.{k}") for k, v in node.items()))
    return [f"{prefix}={node}"]


def source_hash(target: str) -> str:
    """Hash of the syntax trees of the module that defines `target` and of those beside it that it imports.

    Docstrings and comments are no part of it, nor is ``base``, whose changes are a matter of the stage's version.
    Nothing is imported.
    """
    return _module_hash(target.rpartition(".")[0])


@cache
def _module_hash(module: str) -> str:
    origin = _origin(module)
    if origin is None:
        return "builtin"
    tree = ast.parse(origin.read_text())
    package = module.rpartition(".")[0]
    beside = set()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(node, ast.ImportFrom) and node.module and package:
            absolute = node.module if not node.level else f"{package}.{node.module}"
            if absolute.rpartition(".")[0] == package and absolute != f"{package}.base":
                beside.add(absolute)
    parts = [ast.dump(tree), *(_module_hash(name) for name in sorted(beside))]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def _origin(module: str) -> Path | None:
    """File of a module, found without importing its packages."""
    where, spec = None, None
    for i, _ in enumerate(parts := module.split(".")):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), where)
        if spec is None:
            raise UserError(f"_target_ names module {module}, which cannot be found")
        where = spec.submodule_search_locations
    return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
