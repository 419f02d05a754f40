"""From a config to its objects, every argument checked against the signature."""

from __future__ import annotations

import hashlib
import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from gcexp.errors import ExtraError, ParameterError, UserError, lacking, no_python, unknown
from gcexp.schema import arguments, fits, fitted, quoted

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes.base import Code

#: What a group's ``_target_`` must be.
GROUPS_BUILT = {
    "code": "gcexp.codes.base.Code",
    "wait": "gcexp.schemes.waiting.WaitingRule",
    "placement": "gcexp.schemes.placement.Placement",
    "loads": "gcexp.schemes.loads.Loads",
    "delay": "gcexp.delays.base.DelayModel",
    "task": "gcexp.tasks.base.Task",
    "optimizer": "gcexp.tasks.base.Optimizer",
}


def build(config: dict, key: str) -> Any:
    """Instantiate ``config[key]`` by its ``_target_``, after its keys and values were checked against the signature.

    A value that has a ``_target_`` itself is built first: codes made of codes are spelled by nesting.
    """
    node = config.get(key)
    if node is None:
        return None
    if not isinstance(node, dict | list | str | int | float):
        return fitted(locate(GROUPS_BUILT[key], f"{key}._target_"), node, key)  # built by a person in Python
    if not isinstance(node, dict) or "_target_" not in node:
        raise UserError(f"{key} has no _target_ (the class to build), got {node!r}")
    return _built(node, key, locate(GROUPS_BUILT[key], f"{key}._target_") if key in GROUPS_BUILT else None)


def _built(node: Any, key: str, kind: type | None = None) -> Any:
    if isinstance(node, list):
        return [_built(value, f"{key}.{i}") for i, value in enumerate(node)]
    if not isinstance(node, dict) or "_target_" not in node:
        return node
    cls = locate(node["_target_"], f"{key}._target_")
    node = dict(node)
    if kind is not None:  # what an option file names for `gcexp.run.dependencies`
        fitted(str | list[str] | None, node.pop("inputs", None), f"{key}.inputs")
    if kind and isinstance(cls, type) and not fits(cls, kind):
        raise UserError(f"{key}._target_: {node['_target_']} is no {kind.__name__}")
    given = {k: _built(v, f"{key}.{k}") for k, v in node.items() if k not in ("_target_", "_partial_")}
    if kind is None and node.get("_partial_") is True:  # as Hydra has it: built later, here only checked
        arguments(cls, given, key, joint=".", typed=False)  # its annotations may be a stranger's
        return partial(cls, **given)
    arguments(cls, given, key, joint=".")
    try:
        built = cls(**given)  # as written: a whole number that stands for a float stays one
    except MemoryError as error:
        raise ParameterError(f"{key} does not fit into memory: {error}") from None
    return built if kind is None else fitted(kind, built, f"{key}._target_")


def dotted(target: object, place: str) -> str:
    """`target`, refused unless it can name something in a module."""
    if not isinstance(target, str) or not all(part.isidentifier() for part in f"{target}".split(".")):
        raise UserError(
            f"{place}: cannot import {quoted(target)} (wanted: a dotted name, package.module.Name)"
        )
    return target


def locate(target: str, place: str) -> Any:
    """Class or function of a dotted name."""
    module, _, name = dotted(target, place).rpartition(".")
    try:
        found = importlib.import_module(module)
    except SyntaxError as error:
        raise UserError(f"{place}: cannot import {target!r}: {no_python(error)}") from None
    except (ImportError, ValueError) as error:
        kind = ExtraError if lacking(error) else UserError
        raise kind(f"{place}: cannot import {target!r} ({lacking(error) or error})") from None
    if not hasattr(found, name):
        public = [n for n in dir(found) if not n.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module}', name, public)}")
    if not callable(getattr(found, name)):
        raise UserError(f"{place}: {target} is no class or function")
    return getattr(found, name)


def is_redrawn(config: dict) -> bool:
    """Whether an assignment in the code is random, so that each seed draws one."""
    return any(
        getattr(locate(target, "code._target_"), "redrawn", False)
        for target in named(config["code"], "_target_")
    )


def redrawn(node: Any, seed: int, *place: Any) -> Any:
    """The code's node with the run's seed in every random code; codes inside a code get seeds of their own."""
    if isinstance(node, list):
        return [redrawn(value, seed, *place, i) for i, value in enumerate(node)]
    if not isinstance(node, dict):
        return node
    inner = {k: redrawn(v, seed, *place, k) for k, v in node.items()}
    if "_target_" in node and getattr(locate(node["_target_"], "code._target_"), "redrawn", False):
        digest = hashlib.sha256(repr((seed, *place)).encode()).digest()
        inner["seed"] = int.from_bytes(digest[:4], "big") if place else seed
    return inner


def named(node: Any, *keys: str) -> list:
    """What stands under some keys anywhere in a node, its own first.

    >>> named({"parts": [{"_target_": "lab.Inner"}], "_target_": "lab.Outer"}, "_target_")
    ['lab.Outer', 'lab.Inner']
    """
    if isinstance(node, list):
        return [found for value in node for found in named(value, *keys)]
    if not isinstance(node, dict):
        return []
    own = [node[key] for key in keys if key in node]
    return own + [found for value in node.values() for found in named(value, *keys)]


def build_code(node: dict, seed: int | None = None) -> Code:
    """The code of a node; one whose assignment is random with this seed, if given, in the place of its own."""
    return build({"code": node if seed is None else redrawn(node, seed)}, "code")


def with_makers(node: Any) -> Any:
    """Every mapping with a ``_target_`` in a node replaced by what makes the code, called with a seed or without."""
    if isinstance(node, list):
        return [with_makers(value) for value in node]
    if not isinstance(node, dict):
        return node
    if "_target_" in node:
        return partial(build_code, node)
    return {key: with_makers(value) for key, value in node.items()}
