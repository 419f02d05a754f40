"""From overrides to the config of one run.

The only module that imports Hydra and OmegaConf, and neither where files are as those of conf/ are: an option gives
values of its group, a scheme chooses options and sets some of their values, and ``${key}`` stands alone. Such files are
put together here, in .1 ms; for all others Hydra composes, in 0.1 s, and OmegaConf resolves. What is composed is kept
on disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from gcexp.errors import UserError, unknown
from gcexp.run.options import (
    GROUPS,
    conf_dir,
    extra_searchpath,
    generation,
    listed_searchpath,
    option_file,
    options,
    read_value,
    read_yaml,
    yaml_sentence,
)
from gcexp.run.records import unrecorded
from gcexp.schema import quoted

_RESOLVER = re.compile(r"\$\{[^}]*:")
_REFERRED = re.compile(r"\$\{(\w+)")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")


def compose(overrides: list[str]) -> dict:
    """Resolved config of one run from overrides such as ``scheme=frc code.d=5 delay=pareto n=30``.

    The same result as one full Hydra composition; a test compares them.

    Raises
    ------
    UserError
        For an unknown group option or key, with the nearest match, a key given twice, a value that cannot be read.
    """
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
            choices[key] = text
        else:
            values[key] = read_value(override)
    return _resolved(_of_options(tuple(choices.items()), generation()), values)


@cache  # a plan asks for few choices of options thousands of times
def _of_options(chosen: tuple[tuple[str, str], ...], _generation: object) -> dict:
    """What some options set, unresolved and not to be changed."""
    choices = dict(chosen)
    for group, option in choices.items():
        read_yaml(option_file(group, option))  # a mistake in it is told in our words
    try:
        found = _read(choices)
    except _MoreThanValues:
        found = _hydra([f"{group}={option}" for group, option in chosen])
    _require_meaning(found, choices)
    return found


def _require_meaning(found: dict, choices: dict[str, str]) -> None:
    """Refuse a key that is none of a run's and that no value refers to: it would change nothing."""
    known = {*read_yaml(conf_dir() / "run.yaml"), *GROUPS} - {"defaults", "hydra", "scheme"}
    for key in found.keys() - known - {*_REFERRED.findall(str(found))}:
        files = [option_file(group, option) for group, option in choices.items()]
        place = next((file for file in files if key in read_yaml(file)), conf_dir() / "run.yaml")
        if key == "scheme":  # where Hydra puts what a file says that names no package
            raise UserError(
                f"{option_file('scheme', choices[key])}: its first line must be '# @package _global_'"
            )
        raise UserError(f"{place}: {unknown('key', key, known)}")


class _MoreThanValues(Exception):
    """A file says more than values and which options it builds on: Hydra knows what that means."""


def _read(choices: dict[str, str]) -> dict:
    """What some options set, from the files alone."""
    config, own = read_yaml(conf_dir() / "run.yaml").copy(), dict[str, Any]()
    config.pop("hydra", None)
    first, *listed = config.pop("defaults", None) or [None]
    chosen = _chosen(listed, "", GROUPS)
    if first != "_self_" or not {*choices} <= {*chosen} or {*GROUPS} & {*config}:
        raise _MoreThanValues
    if option := choices.get("scheme") or chosen.get("scheme"):
        own = _content("scheme", option, "# @package _global_\n")
        chosen |= _chosen(own.pop("defaults", []), "override /", [*chosen])
    for group, option in (chosen | choices).items():
        if option is not None and group != "scheme":
            config[group] = _values(group, option)
    return _merged(config, own)


def _chosen(defaults: Any, spelled: str, groups: Iterable[str]) -> dict[str, str | None]:
    """Options that a list of defaults chooses, each in an entry such as ``override /code: uncoded``.

    Examples
    --------
    >>> _chosen([{"override /code": "uncoded"}, {"override /wait": "fastest"}], "override /", GROUPS)
    {'code': 'uncoded', 'wait': 'fastest'}
    """
    allowed = {f"{spelled}{group}": group for group in groups}
    found: dict[str, str | None] = {}
    for entry in defaults if isinstance(defaults, list) else [defaults]:
        key, option = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", "")
        if key not in allowed or allowed[key] in found or not isinstance(option, str | None):
            raise _MoreThanValues
        found[allowed[key]] = option
    return found


def _values(group: str, option: str) -> dict:
    """Values that an option sets, over those of the options of its group that it builds on."""
    own, found = _content(group, option), dict[str, Any]()
    for name in own.pop("defaults", []):
        below = _content(group, name)
        if "defaults" in below:
            raise _MoreThanValues
        found = _merged(found, below)
    return _merged(found, own)


def _content(group: str, option: str, header: str = "") -> dict:
    """What the file of an option says, whose only header is this one."""
    if option not in options(group):
        raise _MoreThanValues
    content = read_yaml(path := option_file(group, option))
    with unrecorded():
        text = path.read_text("utf-8")
    listed = isinstance(content.get("defaults", []), list)
    if not listed or not content or not text.startswith(header):
        raise _MoreThanValues
    if "@package" in text.removeprefix(header) or "???" in text:
        raise _MoreThanValues
    return content.copy()


def _merged(below: Any, above: Any) -> Any:
    """Values with others above them: mappings key by key, of all else the upper one."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: _merged(below.get(key), value) for key, value in above.items()}


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
    for key in values:
        _require_key(config, key)
    if (found := _filled(config, values)) is not None:
        return found
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

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


def _filled(config: dict, values: dict[str, Any]) -> dict | None:
    """The same without OmegaConf, which is slow; None where a value needs it, or has a fault that it tells."""
    for key, value in values.items():
        for part in reversed(key.split(".")):
            value = {part: value}
        config = _merged(config, value)

    def filled(node: Any, through: tuple[str, ...] = ()) -> Any:
        if isinstance(node, dict):
            return {key: filled(value, through) for key, value in node.items()}
        if isinstance(node, list):
            return [filled(value, through) for value in node]
        if not isinstance(node, str) or ("${" not in node and node != "???"):
            return node
        named, value = _REFERENCE.fullmatch(node), config
        if named is None or node in through:
            raise LookupError(node)
        for part in named[1].split("."):
            value = value[part]
        return filled(value, (*through, node))

    try:
        return filled(config)
    except (LookupError, TypeError):
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
                sentence = of_a_group(node, key) or sentence
            elif i == 1 and "did you mean" not in sentence and (elsewhere := _options_with(parts[0], part)):
                sentence += f"; {parts[0]}={', '.join(elsewhere)} would know it"
            raise UserError(sentence)
        node = node[part]


def of_a_group(config: dict, key: str) -> str | None:
    """Sentence for a key that stands behind the name of its group; None where no option has it."""
    chosen = [group for group in GROUPS if isinstance(config.get(group), dict) and key in config[group]]
    if chosen:
        return f"unknown key {key!r}; did you mean {' or '.join(repr(f'{group}.{key}') for group in chosen)}?"
    below = [group for group in GROUPS if group != "scheme"]  # whose keys stand beside it
    known = {group: found for group in below if (found := _options_with(group, key))}
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
    >>> swept(["scheme=glob(cyclic_p*)"])
    ([], {'scheme': ['cyclic_partial']})
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Glob
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        raise UserError(f"not an override: {' '.join(str(error).split())}") from None
    single, several = [], {}
    for override, text in zip(parsed, overrides, strict=True):
        key = override.key_or_group
        if not override.is_sweep_override():
            single.append(text)
        elif isinstance(glob := override.value(), Glob):
            if key not in GROUPS:
                raise UserError(f"{text}: glob chooses among the options of a group ({', '.join(GROUPS)})")
            several[key] = glob.filter(options(key))
            if not several[key]:
                raise UserError(f"{text}: {unknown(key, glob.include[0], options(key))}")
        else:
            try:
                several[key] = list(override.sweep_string_iterator())
            except HydraException:
                raise UserError(
                    f"{text} names no values that can be listed; take s=1,2,3 or s=range(1,4)"
                ) from None
    return single, several
