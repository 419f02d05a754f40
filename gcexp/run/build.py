"""From a config to its objects, every argument checked against the signature."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import itertools
import types
import typing
from typing import Any

from gcexp.errors import ParameterError, UserError, unknown


def build(config: dict, key: str) -> Any:
    """Instantiate ``config[key]`` by its ``_target_`` after checking keys and types against the signature.

    A value that has a ``_target_`` itself is built first: codes made of codes are spelled by nesting.

    Raises
    ------
    UserError
        For a key the class does not take, a missing one, or a wrong type: with the key and the nearest match.
    """
    node = config.get(key)
    if node is None:
        return None
    if not isinstance(node, dict) or "_target_" not in node:
        raise UserError(f"{key} has no _target_ (the class to build), got {node!r}")
    return _built(node, key)


def _built(node: Any, key: str) -> Any:
    if isinstance(node, list):
        return [_built(value, f"{key}.{i}") for i, value in enumerate(node)]
    if not isinstance(node, dict) or "_target_" not in node:
        return node
    cls = locate(node["_target_"], key)
    given = {k: _built(v, f"{key}.{k}") for k, v in node.items() if k != "_target_"}
    check_arguments(cls, given, key)
    return cls(**given)


def locate(target: str, key: str) -> type:
    """Class of a dotted name."""
    module, _, name = str(target).rpartition(".")
    try:
        found = importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise UserError(f"{key}._target_: cannot import {target!r} ({error})") from None
    if not hasattr(found, name):
        public = [n for n in dir(found) if not n.startswith("_")]
        raise UserError(f"{key}._target_: {unknown(f'name in {module}', name, public)}")
    if not callable(getattr(found, name)):
        raise UserError(f"{key}._target_: {target} is no class or function")
    return getattr(found, name)


def check_arguments(cls: Any, given: dict, where: str) -> None:
    """Check names and types of keyword arguments against the signature of `cls`."""
    parameters = inspect.signature(cls).parameters
    hints = typing.get_type_hints(cls.__init__ if isinstance(cls, type) else cls)
    for name, value in given.items():
        if name not in parameters:
            raise UserError(f"{where}: " + unknown("key", name, parameters))
        if name in hints and not _fits(value, hints[name]):
            wanted = (
                getattr(hints[name], "__name__", None) if isinstance(hints[name], type) else str(hints[name])
            )
            raise UserError(f"{where}.{name} must be {wanted}, got {value!r}")
    missing = [
        n for n, p in parameters.items() if p.default is p.empty and n not in given and p.kind not in (2, 4)
    ]
    if missing:
        raise UserError(f"{where} lacks {', '.join(missing)} (keys given: {', '.join(given) or 'none'})")


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, h) for h in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if origin is not None:
        if origin is tuple:
            origin = (tuple, list)
        return isinstance(value, origin)
    if hint is type(None) or hint is None:
        return value is None
    if not isinstance(hint, type):
        return True
    if isinstance(value, bool) and hint is not bool:
        return False
    return isinstance(value, hint) or (hint is float and isinstance(value, int))


def build_scheme(config: dict, seed: int | None = None):
    """Scheme of a composed run; `seed` replaces the code's own where the code is redrawn for every seed."""
    from gcexp.schemes import Scheme

    drawn = config if seed is None else config | {"code": _redrawn(config["code"], seed)}
    try:
        code = build(drawn, "code")
    except ParameterError as error:
        raise ParameterError(f"{error} (code: {config['code']['_target_'].rpartition('.')[2]})") from None
    overhead = config.get("overhead", 0.0)
    exact, bound = config.get("exact", False), config.get("bound", False)
    for key, hint, value in (("overhead", float, overhead), ("exact", bool, exact), ("bound", bool, bound)):
        if not _fits(value, hint):
            raise UserError(f"{key} must be {hint.__name__}, got {value!r}")
    scheme = Scheme(code, build(config, "wait"), overhead, build(config, "placement"))
    if bound != getattr(scheme.wait, "durations_only", False):
        raise UserError(f"the scheme declares bound: {str(bound).lower()}, which {scheme.wait!r} is not")
    return scheme


def refuse_bound(config: dict) -> None:
    """Refuse to train with a scheme that declares itself a bound of durations."""
    if config["bound"]:
        raise UserError(
            "the scheme declares bound: true, durations without a decode, so no task can be trained with it "
            "(allowed: gcexp timeline, figures of kind timings)"
        )


def is_redrawn(config: dict) -> bool:
    """Whether an assignment in the code is random, so that each seed draws one."""
    return any(getattr(locate(target, "code"), "redrawn", False) for target in _targets(config["code"]))


def _redrawn(node: Any, seed: int, *place: Any) -> Any:
    """The code's node with the run's seed in every random code; codes inside a code get seeds of their own."""
    if isinstance(node, list):
        return [_redrawn(value, seed, *place, i) for i, value in enumerate(node)]
    if not isinstance(node, dict):
        return node
    inner = {k: _redrawn(v, seed, *place, k) for k, v in node.items()}
    if "_target_" in node and getattr(locate(node["_target_"], "code"), "redrawn", False):
        digest = hashlib.sha256(repr((seed, *place)).encode()).digest()
        inner["seed"] = int.from_bytes(digest[:4], "big") if place else seed
    return inner


def _targets(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first."""
    if isinstance(node, list):
        return list(itertools.chain.from_iterable(map(_targets, node)))
    if not isinstance(node, dict):
        return []
    own = [node["_target_"]] if "_target_" in node else []
    return own + list(itertools.chain.from_iterable(_targets(v) for v in node.values()))
