"""From a config to its objects, every argument checked against the signature."""

from __future__ import annotations

import hashlib
import importlib
import itertools
from functools import partial
from typing import Any

from gcexp.errors import ExtraError, ParameterError, UserError, lacking, unknown
from gcexp.schema import arguments, fits, fitted, shown

#: More workers than in any experiment: matrices (n, n) beyond fill the memory without a word.
MOST_WORKERS = 10_000
#: What a group's ``_target_`` must be.
GROUPS_BUILT = {
    "code": "gcexp.codes.base.Code",
    "wait": "gcexp.schemes.waiting.WaitingRule",
    "placement": "gcexp.schemes.placement.Placement",
    "delay": "gcexp.delays.base.DelayModel",
    "task": "gcexp.tasks.base.Task",
    "optimizer": "gcexp.tasks.base.Optimizer",
}


def build(config: dict, key: str) -> Any:
    """Instantiate ``config[key]`` by its ``_target_`` after checking keys and types against the signature.

    A value that has a ``_target_`` itself is built first: codes made of codes are spelled by nesting.

    Raises
    ------
    UserError
        For a key the class does not take, a missing one, a wrong type, or a class of another kind: with the key and the
        nearest match.
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
            f"{place}: cannot import {shown(target)} (wanted: a dotted name, package.module.Name)"
        )
    return target


def locate(target: str, place: str) -> Any:
    """Class or function of a dotted name."""
    module, _, name = dotted(target, place).rpartition(".")
    try:
        found = importlib.import_module(module)
    except (ImportError, ValueError) as error:
        kind = ExtraError if lacking(error) else UserError
        raise kind(f"{place}: cannot import {target!r} ({lacking(error) or error})") from None
    if not hasattr(found, name):
        public = [n for n in dir(found) if not n.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module}', name, public)}")
    if not callable(getattr(found, name)):
        raise UserError(f"{place}: {target} is no class or function")
    return getattr(found, name)


def build_scheme(config: dict, seed: int | None = None):
    """Scheme of a composed run; `seed` replaces the code's own where the code is redrawn for every seed."""
    from gcexp.schemes import Scheme

    own = config["code"].get("n") if isinstance(config["code"], dict) else None  # else built in Python
    for key, n in (("n", config.get("n")), ("code.n", own)):
        if isinstance(n, int) and n > MOST_WORKERS:
            raise UserError(f"{key} is a number of workers up to {MOST_WORKERS}, got {shown(n)}")
    drawn = config if seed is None else config | {"code": redrawn(config["code"], seed)}
    try:
        code = build(drawn, "code")
    except ParameterError as error:
        raise ParameterError(f"{error} (code: {config['code']['_target_'].rpartition('.')[2]})") from None
    overhead = fitted(float, config.get("overhead", 0.0), "overhead")
    fitted(bool, config.get("exact", False), "exact")
    bound = fitted(bool, config.get("bound", False), "bound")
    scheme = Scheme(code, build(config, "wait"), overhead, build(config, "placement"))
    s = getattr(scheme.wait, "s", None)
    if s is not None and not 0 <= s < code.n:
        raise ParameterError(f"the waiting rule needs 1 <= q <= n (0 <= s < n), got s={s} with n={code.n}")
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
    return any(
        getattr(locate(target, "code._target_"), "redrawn", False) for target in targets_of(config["code"])
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


def targets_of(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first."""
    if isinstance(node, list):
        return list(itertools.chain.from_iterable(map(targets_of, node)))
    if not isinstance(node, dict):
        return []
    own = [node["_target_"]] if "_target_" in node else []
    return own + list(itertools.chain.from_iterable(targets_of(v) for v in node.values()))
