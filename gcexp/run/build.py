"""From a config to its objects, every argument checked against the signature."""

from __future__ import annotations

import hashlib
import importlib
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gcexp.errors import ExtraError, ParameterError, UserError, lacking, no_python, unknown
from gcexp.schema import arguments, fits, fitted, parameters_of, quoted

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes.base import Code

#: Keys of an option file that are no parameters of its class: of every one what its Python opens, and of a code what
#: is said of the scheme that has its name, each with its kind.
INPUTS = "inputs"
OF_THE_SCHEME = {"wait": str, "exact": bool, "decodes": bool, "benchmark": bool}
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
    kind = None
    if key in GROUPS_BUILT:
        kind = locate(GROUPS_BUILT[key], f"{key}._target_")
    is_built_in_python = not isinstance(node, dict | list | str | int | float)
    if kind is not None and is_built_in_python:
        return fitted(kind, node, key)
    if not isinstance(node, dict) or "_target_" not in node:
        raise UserError(f"{key} has no _target_ (the class to build), got {node!r}")
    if kind is None:
        return _build_value(node, key)
    return _build_as(kind, node, key)


def _build_as(kind: type, node: dict, key: str) -> Any:
    """The object of a group's option, refused unless it is of the group's kind."""
    cls = locate(node["_target_"], f"{key}._target_")
    if isinstance(cls, type) and not fits(cls, kind):
        raise UserError(f"{key}._target_: {node['_target_']} is no {kind.__name__}")
    _refuse_hidden_parameters(cls, node["_target_"], key)
    own = dict(node)
    inputs = own.pop(INPUTS, None)
    fitted(str | list[str] | None, inputs, f"{key}.{INPUTS}")
    made = fitted(kind, _construct(cls, _arguments_of(own, key), key), f"{key}._target_")
    if key == "code" and not hasattr(made, "owner"):
        raise UserError(
            f"{key}._target_: {node['_target_']}.__init__ does not call super().__init__(encoding, ...)"
        )
    return made


def _build_value(node: Any, key: str) -> Any:
    """A value of an option, with everything in it that has a ``_target_`` built."""
    if isinstance(node, list):
        return [_build_value(value, f"{key}.{i}") for i, value in enumerate(node)]
    if not isinstance(node, dict) or "_target_" not in node:
        return node
    cls = locate(node["_target_"], f"{key}._target_")
    given = _arguments_of(node, key)
    if node.get("_partial_") is True:  # as Hydra has it: built later, here only checked
        arguments(cls, given, key, joint=".", typed=False)  # its annotations may be a stranger's
        return partial(cls, **given)
    return _construct(cls, given, key)


def _arguments_of(node: dict, key: str) -> dict[str, Any]:
    """What stands beside a ``_target_``, built."""
    found = {}
    for name, value in node.items():
        if name not in ("_target_", "_partial_"):
            found[name] = _build_value(value, f"{key}.{name}")
    return found


def _construct(cls: Any, given: dict[str, Any], key: str) -> Any:
    arguments(cls, given, key, joint=".")
    try:
        return cls(**given)  # as written: a whole number that stands for a float stays one
    except MemoryError as error:
        raise ParameterError(f"{key} does not fit into memory: {error}") from None


def _refuse_hidden_parameters(cls: Any, target: str, key: str) -> None:
    """Refuse a class with a parameter that no option file can give, since the key means something else there."""
    hidden = (INPUTS, *OF_THE_SCHEME) if key == "code" else (INPUTS,)
    for name in hidden:
        if name in parameters_of(cls):
            raise UserError(
                f"{key}._target_: {target} has a parameter {name!r}, which never reaches it, since {name} in an option "
                "file is no key of the class; give the parameter another name"
            )


def require_dotted_name(target: object, place: str) -> str:
    """`target`, refused unless it can name something in a module."""
    if isinstance(target, str) and all(part.isidentifier() for part in target.split(".")):
        return target
    raise UserError(f"{place}: cannot import {quoted(target)} (wanted: a dotted name, package.module.Name)")


def locate(target: str, place: str) -> Any:
    """Class or function of a dotted name."""
    module_name, _, name = require_dotted_name(target, place).rpartition(".")
    module = _import_module(module_name, target, place)
    if not hasattr(module, name):
        public = [known for known in dir(module) if not known.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module_name}', name, public)}")
    found = getattr(module, name)
    if not callable(found):
        raise UserError(f"{place}: {target} is no class or function")
    return found


def _import_module(module: str, target: str, place: str) -> ModuleType:
    """The module of a dotted name; what prevents its import becomes a sentence."""
    try:
        return importlib.import_module(module)
    except SyntaxError as error:
        raise UserError(f"{place}: cannot import {target!r}: {no_python(error)}") from None
    except (ImportError, ValueError) as error:
        extra = lacking(error)
        if extra:
            raise ExtraError(f"{place}: cannot import {target!r} ({extra})") from None
        raise UserError(f"{place}: cannot import {target!r} ({error})") from None


def is_redrawn(config: dict) -> bool:
    """Whether an assignment in the code is random, so that each seed draws one."""
    return any(_draws_anew(target) for target in values_under(config["code"], "_target_"))


def _draws_anew(target: str) -> bool:
    """Whether the class of a code draws an assignment for each seed."""
    return getattr(locate(target, "code._target_"), "redrawn", False)


def with_seed(node: Any, seed: int, *place: Any) -> Any:
    """The code's node with the run's seed in every random code; codes inside a code get seeds of their own."""
    if isinstance(node, list):
        return [with_seed(value, seed, *place, i) for i, value in enumerate(node)]
    if not isinstance(node, dict):
        return node
    with_seeds = {key: with_seed(value, seed, *place, key) for key, value in node.items()}
    if "_target_" in node and _draws_anew(node["_target_"]):
        with_seeds["seed"] = _seed_at(seed, *place)
    return with_seeds


def _seed_at(seed: int, *place: Any) -> int:
    """The seed of a code at a place inside of another code; the outermost has the run's."""
    if not place:
        return seed
    digest = hashlib.sha256(repr((seed, *place)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def values_under(node: Any, *keys: str) -> list:
    """What stands under some keys anywhere in a node, its own first.

    >>> values_under({"parts": [{"_target_": "lab.Inner"}], "_target_": "lab.Outer"}, "_target_")
    ['lab.Outer', 'lab.Inner']
    """
    found: list = []
    if isinstance(node, dict):
        found += [node[key] for key in keys if key in node]
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            found += values_under(value, *keys)
    return found


def build_code(node: dict, seed: int | None = None) -> Code:
    """The code of a node; one whose assignment is random with this seed, if given, in the place of its own."""
    if seed is not None:
        node = with_seed(node, seed)
    return build({"code": node}, "code")


def with_makers(node: Any) -> Any:
    """Every mapping with a ``_target_`` in a node replaced by what makes the code, called with a seed or without."""
    if isinstance(node, list):
        return [with_makers(value) for value in node]
    if not isinstance(node, dict):
        return node
    if "_target_" in node:
        return partial(build_code, node)
    return {key: with_makers(value) for key, value in node.items()}
