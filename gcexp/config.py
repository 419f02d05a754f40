"""Configuration: compose one run from the option files in conf/, check it, build its objects, name it by a token.

The only module that imports Hydra. One composition costs 45 ms, so a run is composed once per *group option* (what
``scheme=X`` sets, what ``delay=Y`` sets), kept on disk, and merged as plain dicts; jobs then import no Hydra at all.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import re
import types
import typing
from collections.abc import Callable, Iterable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import yaml

from gcexp.errors import ParameterError, UserError, unknown
from gcexp.files import written

#: Groups whose options answer one question each, and the group in which a token's bare keys live.
GROUPS = ("scheme", "code", "wait", "placement", "delay", "task", "optimizer")
HOME = {"scheme": "code", "delay": "delay", "task": "task", "optimizer": "optimizer"}
#: Bump a stage when its results change for equal configs: a hand-kept trigger, guarded by golden tests.
VERSIONS = {"prepare": 1, "timeline": 2, "trajectory": 1, "verify": 1}

_INDEPENDENT = ("delay", "task", "optimizer")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_INTERPOLATION = re.compile(r"\$\{([\w.]+)\}")
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
    dirs = [conf_dir()]
    for entry in [*_listed_searchpath(), *_extra_searchpath()]:
        kind, _, place = str(entry).rpartition("://")
        if kind == "pkg":
            try:
                spec = importlib.util.find_spec(place)
            except ModuleNotFoundError:
                spec = None
            places = list(spec.submodule_search_locations or []) if spec else []
        else:
            places = [place]
        if not places or not Path(places[0]).is_dir():
            raise UserError(
                f"hydra.searchpath names {entry}, which is not a folder (allowed: file://DIR, pkg://PACKAGE)"
            )
        dirs.append(Path(places[0]).resolve())
    return dirs


def _listed_searchpath() -> list[str]:
    return (read_yaml(conf_dir() / "run.yaml").get("hydra") or {}).get("searchpath") or []


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
        loaded = yaml.load(path.read_text("utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise UserError(
            f"{path}:{line} not valid YAML ({getattr(error, 'problem', None) or error})"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(loaded or {}, dict):
        raise UserError(f"{path}: expected keys and values, got a {type(loaded).__name__}")
    return loaded or {}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as Hydra reads it: 1e-3 is a number, and a key given twice is a mistake."""

    def construct_mapping(self, node, deep=False):
        seen = []
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                problem = f"key {key!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.append(key)
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
            values[key] = _value(override, value)
    for group, option in choices.items():
        option_file(group, option)
    config = _merged(choices)
    for key, value in values.items():
        _set(config, key, value)
    return _resolved(config)


def _value(override: str, text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader) if text else None
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or error
        raise UserError(f"{override!r} has a value that is not valid YAML ({problem})") from None


def _merged(choices: dict[str, str]) -> dict:
    scheme_side = tuple(f"{g}={choices[g]}" for g in ("scheme", "code", "wait", "placement") if g in choices)
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
        stored = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):  # absent or damaged: only slow
        stored = {}
    return stored if isinstance(stored, dict) else {}


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
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job.

    A run that was built before, with the same values and sources, is not built again.
    """

    def built(config: dict) -> None:
        build_scheme(config)
        build(config, "delay")
        build(config, "optimizer")

    keys = ("code", "wait", "placement", "overhead", "exact", "bound", "delay", "optimizer")
    _once((tracked(config, keys, "timeline"), built, config) for config in configs)


def check_call(function: str, arguments: dict, key: str) -> None:
    """Check the arguments of a named function, once for the same arguments and source."""

    def checked(_) -> None:
        check_arguments(locate(function, f"{key}.function"), arguments, key)

    _once([([function, source_hash(function), *_flat(arguments, key)], checked, None)])


def _once(checks: Iterable[tuple[list[str], Callable, Any]]) -> None:
    """Run each check whose description did not pass before."""
    stored = _store()
    known = set(stored.setdefault("checked", []))
    before = len(known)
    for description, run, argument in checks:
        digest = hashlib.sha256(repr(description).encode()).hexdigest()[:16]
        if digest not in known:
            run(argument)
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

    extra = _extra_searchpath()  # an override replaces the list in run.yaml, so it names both
    more = [f"hydra.searchpath=[{','.join([*_listed_searchpath(), *extra])}]"] if extra else []
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
    """Replace ``${key}`` by the value of a key of the run."""

    def walk(node, inside=()):
        if isinstance(node, dict):
            return {k: walk(v, inside) for k, v in node.items()}
        if isinstance(node, list):
            return [walk(v, inside) for v in node]
        if not isinstance(node, str) or "${" not in node:
            return node
        if found := _INTERPOLATION.fullmatch(node):
            return named(found[1], inside)
        text = _INTERPOLATION.sub(lambda found: str(named(found[1], inside)), node)
        if "${" in text:
            raise UserError(f"interpolation {node!r} is not understood (allowed: ${{key}} or ${{group.key}})")
        return text

    def named(key, inside):
        if key in inside:
            raise UserError(f"interpolation ${{{key}}} refers to itself")
        value: Any = config
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise UserError(f"interpolation ${{{key}}} names no key of the run")
            value = value[part]
        return walk(value, (*inside, key))

    return walk(config)


# --- Building objects --------------------------------------------------------------------------------------------


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


# --- What decides a result ---------------------------------------------------------------------------------------


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
        read = _value(key, text) if _SPELLED.fullmatch(text) else None
        if not _SPELLED.fullmatch(text) or (type(read), read) != (type(value), value):
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
