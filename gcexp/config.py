"""Configuration: compose one run from the option files in conf/, check it, build its objects, name it by a token.

The only module that imports Hydra. One composition costs 45 ms, so a run is composed once per *group option* (what
``scheme=X`` sets, what ``delay=Y`` sets), kept on disk, and merged as plain dicts; jobs then import no Hydra at all.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib
import inspect
import itertools
import json
import os
import re
import types
import typing
from collections.abc import Iterable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import yaml

from gcexp.errors import ParameterError, UserError, unknown
from gcexp.files import written

#: Groups whose options answer one question each, and the group in which a token's bare keys live.
GROUPS = ("scheme", "code", "wait", "delay", "task", "optimizer")
HOME = {"scheme": "code", "delay": "delay", "task": "task", "optimizer": "optimizer"}
#: Bump a stage when its results change for equal configs: a hand-kept trigger, guarded by golden tests.
VERSIONS = {"prepare": 1, "timeline": 1, "trajectory": 1, "verify": 1}

_INDEPENDENT = ("delay", "task", "optimizer")
_SPELLED = re.compile(r"[A-Za-z0-9._\-]+")


# --- Where the options are ---------------------------------------------------------------------------------------


def conf_dir() -> Path:
    """Folder with run.yaml: $GCEXP_CONF, ./conf, or the one beside the package."""
    for folder in (os.environ.get("GCEXP_CONF"), "conf", Path(__file__).parent.parent / "conf"):
        if folder and (Path(folder) / "run.yaml").is_file():
            return Path(folder).resolve()
    raise UserError(
        "no conf/run.yaml here: run gcexp in the project's folder or set GCEXP_CONF to its conf folder"
    )


def search_dirs() -> list[Path]:
    """conf/ and the folders that ``hydra.searchpath`` in run.yaml or $GCEXP_SEARCHPATH adds to it."""
    primary = conf_dir()
    listed = (read_yaml(primary / "run.yaml").get("hydra") or {}).get("searchpath") or []
    dirs = [primary]
    for entry in [*listed, *_extra_searchpath()]:
        kind, _, place = str(entry).rpartition("://")
        if kind == "pkg":
            spec = importlib.util.find_spec(place)
            places = list(spec.submodule_search_locations or []) if spec else []
        else:
            places = [place]
        if not places or not Path(places[0]).is_dir():
            raise UserError(
                f"hydra.searchpath names {entry}, which is not a folder (allowed: file://DIR, pkg://PACKAGE)"
            )
        dirs.append(Path(places[0]).resolve())
    return dirs


def _extra_searchpath() -> list[str]:
    return [
        f"file://{Path(p).resolve()}" for p in os.environ.get("GCEXP_SEARCHPATH", "").split(os.pathsep) if p
    ]


def option_file(group: str, option: str) -> Path:
    """File of one option, the last folder of the search path first found."""
    for folder in search_dirs():
        if (path := folder / group / f"{option}.yaml").is_file():
            return path
    raise UserError(unknown(group, option, options(group)))


def options(group: str) -> list[str]:
    """Names of a group's options, also those from outside the project."""
    return sorted({p.stem for folder in search_dirs() for p in (folder / group).glob("*.yaml")})


def read_yaml(path: Path) -> dict:
    """A YAML file as a dict; a syntax error becomes a sentence with the line."""
    try:
        loaded = yaml.load(path.read_text(), Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise UserError(
            f"{path}:{line} not valid YAML ({getattr(error, 'problem', None) or error})"
        ) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not isinstance(loaded or {}, dict):
        raise UserError(f"{path}: expected keys and values, got a {type(loaded).__name__}")
    return loaded or {}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as Hydra reads it: 1e-3 is a number, and a key given twice is a mistake."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(k, deep=deep) for k, _ in node.value]
        twice = [k for i, k in enumerate(keys) if k in keys[:i]]
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {twice[0]!r} stands twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)$|^[-+]?(\d[\d_]*\.[\d_]*|\.\d+)$|^[-+]?\.inf$|^\.nan$"
    ),
    list("-+0123456789."),
)


# --- Composition -------------------------------------------------------------------------------------------------


def compose(overrides: list[str]) -> dict:
    """Resolved config of one run from Hydra overrides such as ``scheme=frc code.d=5 delay=pareto n=30``.

    Group choices are composed by Hydra, values are set afterwards, interpolations resolved last: the same result as
    one full Hydra composition (a test compares them).

    Raises
    ------
    UserError
        For an unknown group option or key, with the nearest match.
    """
    choices, values = {}, {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key:
            raise UserError(f"an override is KEY=VALUE, got {override!r}")
        if key in GROUPS:
            choices[key] = value
        else:
            values[key] = yaml.load(value, Loader=_Loader) if value else None
    for group, option in choices.items():
        option_file(group, option)
    config = _merged(choices)
    for key, value in values.items():
        _set(config, key, value)
    return _resolved(config)


def _merged(choices: dict[str, str]) -> dict:
    scheme_side = tuple(f"{g}={choices[g]}" for g in ("scheme", "code", "wait") if g in choices)
    config = _piece(scheme_side)
    for group in _INDEPENDENT:
        if group in choices:
            config[group] = _piece((f"{group}={choices[group]}",))[group]
    return config


def _piece(choices: tuple[str, ...]) -> dict:
    """One Hydra composition, unresolved, from memory or disk."""
    key = " ".join(choices)
    stored = _store()
    if key not in stored:
        stored[key] = _hydra(choices)
        _save(stored)
    return copy.deepcopy(stored[key])


def _store() -> dict:
    """What was composed and checked before, kept on disk as long as no option file changes."""
    return _stored(_store_file())


@cache
def _stored(file: Path) -> dict:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):  # absent or damaged: only slow
        return {}


def _store_file() -> Path:
    return _store_file_of(conf_dir(), os.environ.get("GCEXP_SEARCHPATH"))


@cache  # a job does not outlive an edit of its options
def _store_file_of(*_where) -> Path:
    return Path(".cache").absolute() / f"gcexp-compose-{conf_fingerprint()}.json"


def _save(stored: dict) -> None:
    try:
        with written(_store_file()) as temporary:
            temporary.write_text(json.dumps(stored))
    except UserError:  # a read-only folder: compose again next time
        pass


def check(configs: Iterable[dict]) -> None:
    """Build scheme and delay model of some composed runs once, so that a mistake is told before the first job.

    A run that was built before, with the same values and sources, is not built again.
    """
    stored = _store()
    known = set(stored.setdefault("checked", []))
    before = len(known)
    for config in configs:
        keys = ("code", "wait", "overhead", "delay")
        digest = hashlib.sha256(repr(tracked(config, keys, "timeline")).encode()).hexdigest()[:16]
        if digest not in known:
            build_scheme(config)
            build(config, "delay")
            known.add(digest)
    if len(known) > before:
        stored["checked"] = sorted(known)
        _save(stored)


def _hydra(choices: tuple[str, ...]) -> dict:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    extra = _extra_searchpath()
    more = [f"hydra.searchpath=[{','.join(extra)}]"] if extra else []
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = hydra_compose("run", overrides=[*choices, *more])
    except (HydraException, OmegaConfBaseException) as error:
        sentence = " ".join(str(error).split())
        raise UserError(
            f"{conf_dir().name}: {' '.join(choices) or 'run.yaml'} does not compose: {sentence}"
        ) from None
    return OmegaConf.to_container(config, resolve=False)


def conf_fingerprint() -> str:
    """Hash of every option file (figures and presets excepted) and of this module."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for folder in search_dirs():
        for path in sorted(folder.rglob("*.yaml")):
            inside = path.relative_to(folder)
            if inside.parts[0] not in ("figure", "preset"):
                digest.update(str(inside).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _set(config: dict, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    node, seen = config, []
    for part in [*parents, last]:
        if not isinstance(node, dict) or part not in node:
            where = ".".join(seen)
            names = [".".join([*seen, k]) for k in node if k != "_target_"] if isinstance(node, dict) else []
            raise UserError(
                unknown("key", key, names) if names else f"unknown key {key!r}: {where} has no keys"
            )
        seen.append(part)
        if part is not last or len(seen) <= len(parents):
            node = node[part]
    node[last] = value


def _resolved(config: dict) -> dict:
    """Replace ``${key}`` by the value of a top-level key."""

    def walk(node):
        if isinstance(node, dict):
            return {k: walk(v) for k, v in node.items()}
        if isinstance(node, list):
            return [walk(v) for v in node]
        if isinstance(node, str) and (found := re.fullmatch(r"\$\{([\w.]+)\}", node)):
            value: Any = config
            for part in found[1].split("."):
                if not isinstance(value, dict) or part not in value:
                    raise UserError(f"interpolation {node} names no key of the run")
                value = value[part]
            return walk(value)
        return node

    return walk(config)


# --- Building objects --------------------------------------------------------------------------------------------


def build(config: dict, key: str, **more: Any) -> Any:
    """Instantiate ``config[key]`` by its ``_target_`` after checking keys and types against the signature.

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
    cls = locate(node["_target_"], key)
    given = {k: v for k, v in node.items() if k != "_target_"} | more
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

    redraw = seed is not None and is_redrawn(config)
    try:
        code = build(config, "code", **({"seed": seed} if redraw else {}))
    except ParameterError as error:
        raise ParameterError(f"{error} (code: {config['code']['_target_'].rpartition('.')[2]})") from None
    return Scheme(code, build(config, "wait"), config.get("overhead", 0.0))


def is_redrawn(config: dict) -> bool:
    """Whether the code's assignment is random, so that each seed draws one."""
    return bool(getattr(locate(config["code"]["_target_"], "code"), "redrawn", False))


# --- What decides a result ---------------------------------------------------------------------------------------


def tracked(config: dict, keys: tuple[str, ...], stage: str) -> list[str]:
    """Short flat list of the values, sources and version on which a job's result depends."""
    flat = [f"version={VERSIONS[stage]}"]
    for key in keys:
        flat += _flat(config.get(key), key)
        if isinstance(config.get(key), dict) and (target := config[key].get("_target_")):
            flat.append(f"{key}.source={source_hash(target)}")
    return flat


def _flat(node: Any, prefix: str) -> list[str]:
    if isinstance(node, dict):
        return list(itertools.chain.from_iterable(_flat(v, f"{prefix}.{k}") for k, v in node.items()))
    return [f"{prefix}={node}"]


_hashes: dict[str, str] = {}


def source_hash(target: str) -> str:
    """Hash of the syntax tree of the module that defines `target`, docstrings and comments apart, without importing."""
    module = target.rpartition(".")[0]
    if module not in _hashes:
        _hashes[module] = _tree_hash(module)
    return _hashes[module]


def _tree_hash(module: str) -> str:
    where, spec = None, None
    for i, _ in enumerate(parts := module.split(".")):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), where)
        if spec is None:
            raise UserError(f"_target_ names module {module}, which cannot be found")
        where = spec.submodule_search_locations
    if not spec.origin or not Path(spec.origin).is_file():
        return "builtin"
    tree = ast.parse(Path(spec.origin).read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value.value = ""  # a docstring
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


# --- Tokens: the path is the overrides ---------------------------------------------------------------------------


def token(group: str, option: str, values: dict[str, Any]) -> str:
    """Path element of an option and the values set on it; `overrides_of` is the inverse.

    A bare key lives in the group's home (``code`` for a scheme), a key with a leading dot is a shared one.

    Examples
    --------
    >>> token("scheme", "frc", {"n": 30, "code.d": 5})
    'frc+.n@30+d@5'
    >>> overrides_of("scheme", "frc+.n@30+d@5")
    ['scheme=frc', 'n=30', 'code.d=5']
    """
    parts = [option]
    for key in sorted(values):
        home, dot, rest = key.partition(".")
        short = f".{key}" if not dot else rest if home == HOME[group] and "." not in rest else key
        value = values[key]
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        if not _SPELLED.fullmatch(text):
            raise UserError(
                f"{key}={text!r} cannot stand in a file name; write an option file in conf/{group} instead"
            )
        parts.append(f"{short}@{text}")
    return "+".join([parts[0], *sorted(parts[1:])])


def overrides_of(group: str, text: str) -> list[str]:
    """Hydra overrides of a token."""
    option, *rest = text.split("+")
    overrides = [f"{group}={option}"]
    for part in rest:
        key, _, value = part.partition("@")
        full = key[1:] if key.startswith(".") else key if "." in key else f"{HOME[group]}.{key}"
        overrides.append(f"{full}={value}")
    return overrides
