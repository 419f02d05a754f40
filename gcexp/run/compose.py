"""From overrides to the config of one run.

The only module that imports Hydra and OmegaConf. A composition by Hydra costs 0.1 s, so it is made once per *group
option* (what ``scheme=X`` sets, what ``delay=Y`` sets), and not at all where an option's file only gives values of its
group; OmegaConf puts the values in and resolves. Both the pieces and the finished run are kept on disk: a job whose run
was planned before imports neither.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, cast

from gcexp.errors import UserError, unknown
from gcexp.run.cache import remember, remembered
from gcexp.run.options import (
    GROUPS,
    conf_dir,
    extra_searchpath,
    kept,
    listed_searchpath,
    option_file,
    options,
    read_value,
    read_yaml,
    yaml_sentence,
)
from gcexp.run.reads import unrecorded
from gcexp.schema import quoted

_SCHEME_SIDE = ("scheme", "code", "wait", "placement", "loads")
_INDEPENDENT = ("delay", "task", "optimizer")
_RESOLVER = re.compile(r"\$\{[^}]*:")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")  # to a key, and nothing else in the text
_DEEPEST = 20  # references behind each other; a circle has no end


def compose(overrides: list[str]) -> dict:
    """Resolved config of one run from overrides such as ``scheme=frc code.d=5 delay=pareto n=30``.

    The same result as one full Hydra composition; a test compares them.

    Raises
    ------
    UserError
        For an unknown group option or key, with the nearest match, a key given twice, a value that cannot be read.
    """
    key = f"run {json.dumps(overrides)}"
    known = remembered(key, kept())
    if known is None:
        known = _composed(overrides)
        remember(key, known, kept())
    return known


def _composed(overrides: list[str]) -> dict:
    choices: dict[str, str] = {}
    values: dict[str, Any] = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise UserError(f"an override is KEY=VALUE, got {override!r}")
        if key in choices or key in values:
            first = next(other for other in overrides if other.startswith(f"{key}="))
            raise UserError(f"{key} is given twice, as {first} and {override}")
        if key in GROUPS:
            read_yaml(option_file(key, text))  # a mistake in it is told in our words
            choices[key] = text
        else:
            values[key] = read_value(override)
    return _resolved(_of_options(choices), values)


def _of_options(choices: dict[str, str]) -> dict:
    """What some options set, unresolved: composed one by one where they do not speak of each other."""
    base = _piece({})
    config = _piece({group: choices[group] for group in _SCHEME_SIDE if group in choices})
    for group in _INDEPENDENT:
        if group in choices:
            own = _piece({group: choices[group]})
            if own | {group: base[group]} != base or config[group] != base[group]:
                return _piece(choices)
            config[group] = own[group]
    return config


def _piece(choices: dict[str, str]) -> dict:
    """One composition, unresolved, from the cache where it was made before."""
    wanted = [f"{group}={option}" for group, option in choices.items()]
    key = f"piece {' '.join(wanted)}"
    known = remembered(key, kept())
    if known is None:
        alone = _read(choices)
        known = _hydra(wanted) if alone is None else _piece({}) | alone
        remember(key, known, kept())
    return known


def _read(choices: dict[str, str]) -> dict | None:
    """What options set whose files only give values of their own group; None where Hydra is needed to know."""
    if not choices or "scheme" in choices or {*GROUPS} & {*read_yaml(conf_dir() / "run.yaml")}:
        return None
    files = {group: option_file(group, option) for group, option in choices.items()}
    contents = {group: read_yaml(path) for group, path in files.items()}
    if any("defaults" in content or not content for content in contents.values()):
        return None
    with unrecorded():
        return None if any("@package" in path.read_text("utf-8") for path in files.values()) else contents


def _hydra(choices: list[str]) -> dict:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf
    from yaml import YAMLError

    extra = extra_searchpath()  # an override replaces the list in run.yaml, so it names both
    more = [f"hydra.searchpath=[{','.join([*listed_searchpath(), *extra])}]"] if extra else []
    try:
        with unrecorded(), initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = hydra_compose("run", overrides=[*choices, *more])
    except YAMLError as error:
        raise UserError(yaml_sentence(error)) from error
    except Exception as error:  # what an option file may hold is without end, and Hydra says what is wrong
        sentence = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{conf_dir().name}: {' '.join(choices) or 'run.yaml'} does not compose: {sentence}"
        ) from error
    return cast(dict, OmegaConf.to_container(config, resolve=False))


def _resolved(config: dict, values: dict[str, Any]) -> dict:
    """`values` put into a composed config, and every ``${key}`` replaced."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    for key in values:
        _require_key(config, key)
    if (found := _replaced(config, values)) is not None:
        return found
    try:
        merged = OmegaConf.create(config)
        for key, value in values.items():
            OmegaConf.update(merged, key, value, merge=True)
        _refuse_resolvers(OmegaConf.to_container(merged, resolve=False))
        return cast(dict, OmegaConf.to_container(merged, resolve=True, throw_on_missing=True))
    except (OmegaConfBaseException, RecursionError) as error:
        where = str(getattr(error, "full_key", None) or ", ".join(values))
        raw: Any = config | values
        for part in where.split("."):
            raw = raw.get(part, where) if isinstance(raw, dict) else where
        problem = str(error).partition("\n")[0] if isinstance(error, OmegaConfBaseException) else "a circle"
        raise UserError(f"{where}: {quoted(raw)} cannot be resolved ({problem})") from error


def _replaced(config: dict, values: dict[str, Any]) -> dict | None:
    """The same without OmegaConf, which is slow; None where a value needs it, or has a fault that it tells."""
    if any(isinstance(value, dict) for value in values.values()):  # would be merged
        return None
    found = copy.deepcopy(config)
    for key, value in values.items():
        *places, last = key.split(".")
        node = found
        for part in places:
            node = node[part]
        node[last] = copy.deepcopy(value)

    def plain(node: Any, depth: int = 0) -> Any:
        if isinstance(node, dict):
            return {key: plain(value, depth) for key, value in node.items()}
        if isinstance(node, list):
            return [plain(value, depth) for value in node]
        if not isinstance(node, str) or ("${" not in node and "???" not in node):
            return node
        if (reference := _REFERENCE.fullmatch(node)) is None or depth > _DEEPEST:
            raise LookupError(node)
        meant: Any = found
        for part in reference[1].split("."):
            if not isinstance(meant, dict):
                raise LookupError(node)
            meant = meant[part]
        return plain(meant, depth + 1)

    try:
        return {key: plain(value) for key, value in found.items()}
    except LookupError:
        return None


def _refuse_resolvers(node: Any) -> None:
    """A run is what its path says: nothing from the environment or from other places enters it."""
    if isinstance(node, str) and _RESOLVER.search(node):
        raise UserError(f"interpolation {node!r} is not understood (allowed: ${{key}} or ${{group.key}})")
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _refuse_resolvers(value)


def _require_key(config: dict, key: str) -> None:
    """Refuse a key that no option has set, with the nearest one, or the options of its group that know it."""
    node: Any = config
    parts = key.split(".")
    for i, part in enumerate(parts):
        if not isinstance(node, dict):
            raise UserError(f"unknown key {key!r}: {'.'.join(parts[:i])} has no keys")
        if part not in node:
            names = [".".join([*parts[:i], name]) for name in node if name != "_target_"]
            sentence = unknown("key", key, names if i else {*names, *GROUPS})
            if not i:
                sentence = _of_a_group(node, key) or sentence
            elif i == 1 and "did you mean" not in sentence and (elsewhere := _options_with(parts[0], part)):
                sentence += f"; {parts[0]}={', '.join(elsewhere)} would know it"
            raise UserError(sentence)
        node = node[part]


def _of_a_group(config: dict, key: str) -> str | None:
    """Sentence for a key that stands behind the name of its group; None where no option has it."""
    chosen = [group for group in GROUPS if isinstance(config.get(group), dict) and key in config[group]]
    if chosen:
        return f"unknown key {key!r}; did you mean {' or '.join(repr(f'{group}.{key}') for group in chosen)}?"
    known = {group: found for group in GROUPS if (found := _options_with(group, key))}
    told = [f"{group}.{key} of {group}={', '.join(found)}" for group, found in known.items()]
    return f"unknown key {key!r}; did you mean {'; '.join(told)}?" if told else None


def _options_with(group: str, key: str) -> list[str]:
    """Options of a group that have a key."""
    return [option for option in options(group) if key in read_yaml(option_file(group, option))]


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
