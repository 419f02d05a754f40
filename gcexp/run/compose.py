"""From overrides to the config of one run.

The only module that imports Hydra. One composition costs 45 ms, so a run is composed once per *group option* (what
``scheme=X`` sets, what ``delay=Y`` sets), kept on disk, and merged as plain dicts; jobs then import no Hydra at all.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gcexp.errors import UserError, unknown
from gcexp.files import written
from gcexp.run.options import (
    GROUPS,
    _extra_searchpath,
    _listed_searchpath,
    _Loader,
    conf_dir,
    option_file,
    search_dirs,
)

_INDEPENDENT = ("delay", "task", "optimizer")
_INTERPOLATION = re.compile(r"\$\{([\w.]+)\}")


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


def swept(overrides: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Overrides that have one value, and the values of those that have several.

    Examples
    --------
    >>> swept(["scheme=cgc,frc", "n=12", "s=range(1,4)"])
    (['n=12'], {'scheme': ['cgc', 'frc'], 's': ['1', '2', '3']})
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        raise UserError(f"not an override: {' '.join(str(error).split())}") from None
    single, several = [], {}
    for override, text in zip(parsed, overrides, strict=True):
        if override.is_sweep_override():
            several[override.key_or_group] = list(override.sweep_string_iterator())
        else:
            single.append(text)
    return single, several
