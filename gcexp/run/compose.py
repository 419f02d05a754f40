"""From overrides to the config of one run.

Option files are put together as Hydra would: values of the run, then those of each group's option, then those of the
scheme; an option may build on others, and a scheme chooses options of other groups. ``${key}`` and ``${group.key}``
stand for other values. Neither Hydra nor OmegaConf takes part: see "Unusual decisions" in docs/design.md.

What can be wrong with overrides and option files is told in `gcexp.run.option_checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError, unknown
from gcexp.run import option_checks
from gcexp.run.option_files import SELF, Option, lineage
from gcexp.run.options import GROUPS, SHARED, Folders, option_names, search_path, text_of
from gcexp.run.yaml_values import mapping_in, read_value
from gcexp.schema import is_number, is_whole

if TYPE_CHECKING:  # hydra is imported only where values are swept
    from hydra.core.override_parser.types import Override

REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.\w+)*)\}")


# --- Composition


def compose(overrides: list[str], folders: Folders | None = None) -> dict[str, Any]:
    """Resolved config of one run from overrides such as ``scheme=frc code.d=5 delay=pareto n=30``.

    The same result as one full Hydra composition; a test compares them. A caller that composes many runs passes
    the `search_path`, so that it is looked up once.
    """
    choices, values = split_overrides(overrides)
    if folders is None:
        folders = search_path()
    return _compose(choices, values, folders)


def split_overrides(overrides: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The options that overrides choose, by group, and the values that they set, by key."""
    choices: dict[str, str] = {}
    values: dict[str, Any] = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not key or not equals:
            raise UserError(option_checks.sentence_of_no_override(override))
        if key in choices or key in values:
            first, *_ = [other for other in overrides if other.startswith(f"{key}=")]
            raise UserError(f"{key} is given twice, as {first} and {override}")
        if key in GROUPS:
            choices[key] = text
        else:
            values[key] = read_value(override)
    return choices, values


def _compose(choices: dict[str, str], values: dict[str, Any], folders: Folders) -> dict[str, Any]:
    """The config of the chosen options with values of single keys above them, references resolved."""
    config = _of_options(choices, folders)
    for key, value in values.items():
        if option_checks.is_device_of_a_task_without_one(config, key):
            config = config | {"task": option_checks.with_device(config["task"], value)}
            continue
        option_checks.require_key(config, key)
        config = merge(config, _nest(key, value))
    return resolve(config, config)


def _of_options(choices: dict[str, str], folders: Folders) -> dict[str, Any]:
    """What the chosen options set, one above the other in the order of run.yaml; unresolved."""
    run, layers = _layers(choices, folders)
    config: dict[str, Any] = {}
    for group, options_of_group in layers.items():
        if group == SELF:
            config = merge(config, run)
        for option in options_of_group:
            config = merge(config, option.values)
    option_checks.require_meaning(config, run, layers, folders)
    return config


def _layers(choices: dict[str, str], folders: Folders) -> tuple[dict[str, Any], dict[str, list[Option]]]:
    """What run.yaml sets, and in the order of its defaults the options of each group, the lowest layer first.

    An option of a group is the one that is given, else the scheme's, else that of run.yaml.
    """
    run, defaults = run_file(folders)
    chosen = defaults | choices
    of_scheme: list[Option] = []
    scheme = chosen.get("scheme")
    if scheme is not None:
        of_scheme = list(lineage("scheme", scheme, folders))
    for option in of_scheme:
        chosen |= option.chosen
    chosen |= choices
    layers: dict[str, list[Option]] = {}
    for group in defaults:
        name = chosen.get(group)
        if group == "scheme":
            layers[group] = of_scheme
        elif name is None:
            layers[group] = []
        else:
            layers[group] = list(lineage(group, name, folders))
    return run, layers


def run_file(folders: Folders) -> tuple[dict[str, Any], dict[str, str | None]]:
    """What run.yaml sets, and its list of defaults: the option of each group, `SELF` for its own values."""
    file = f"{folders[0]}/run.yaml"
    run = dict(mapping_in(file, text_of(file)))
    run.pop("hydra", None)
    defaults: dict[str, str | None] = {}
    for entry in run.pop("defaults", []):
        if entry == SELF:
            defaults[SELF] = None
        else:
            defaults |= entry
    defaults.setdefault(SELF, None)
    return run, defaults


def merge(below: Any, above: Any) -> Any:
    """Values with others above them: mappings key by key, of all else the upper one.

    A mapping by worker above one number of all workers leaves that to the others: ``{3: 2.0}`` above 1.0.
    """
    if is_number(below) and isinstance(above, dict) and above and all(is_whole(key) for key in above):
        return {"others": below} | above
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    found = dict(below)
    for key, value in above.items():
        found[key] = merge(below.get(key), value)
    return found


def _nest(key: str, value: Any) -> dict[str, Any]:
    """The mapping in which a dotted key has a value."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def resolve(node: Any, config: dict[str, Any], key: str = "", through: tuple[str, ...] = ()) -> Any:
    """A node of a config with what its references stand for; `through`: the references that led to it."""
    if isinstance(node, dict):
        return {name: resolve(value, config, f"{key}.{name}", through) for name, value in node.items()}
    if isinstance(node, list):
        return [resolve(value, config, key, through) for value in node]
    if not isinstance(node, str) or "${" not in node:
        return node

    def value_of(reference: re.Match) -> Any:
        found = option_checks.value_of_reference(config, reference[1], node, key, through)
        return resolve(found, config, key, (*through, reference[1]))

    whole = REFERENCE.fullmatch(node)
    if whole:
        return value_of(whole)
    option_checks.require_known_references(REFERENCE.sub("", node), node, key)
    return REFERENCE.sub(lambda reference: str(value_of(reference)), node)


# --- What keys mean


def meanings(overrides: list[str]) -> dict[str, str]:
    """What files of options say behind their keys, for every option that overrides choose and those it builds on."""
    choices, _ = split_overrides(overrides)
    _, layers = _layers(choices, search_path())
    found: dict[str, str] = {}
    for group, options_of_group in layers.items():
        if group == "scheme":  # whose keys are those of other groups
            continue
        for option in options_of_group:
            for key, remark in option.remarks.items():
                found[f"{group}.{key}"] = remark
    return found


# --- Codes in figure files, and several values


def composed_codes(node: Any, folders: Folders | None = None) -> Any:
    """Every mapping ``{code: OPTION, KEY: VALUE, ...}`` in arguments of an analysis replaced by what it composes to.

    ``n`` and other shared keys are those of a run; every other key is one of the code. Where ``n`` is a list, the
    mapping stands for one code per entry, and every other list has one value for each of them. (So an option that wants
    a list itself has a list of lists there.)
    """
    if folders is None:
        folders = search_path()
    if isinstance(node, list):
        return [composed_codes(value, folders) for value in node]
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("code"), str):
        return {key: composed_codes(value, folders) for key, value in node.items()}
    if isinstance(node.get("n"), list):
        return [composed_codes(one, folders) for one in _one_per_size(node)]
    values = {}
    for key, value in node.items():
        if key in SHARED:
            values[key] = value
        elif key != "code":
            values[f"code.{key}"] = value
    return _compose({"code": node["code"]}, values, folders)["code"]


def _one_per_size(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """For each entry of a mapping's lists, the mapping with this entry of every list."""
    lists = {}
    for key, value in node.items():
        if isinstance(value, list):
            lists[key] = value
    option_checks.require_equal_lengths(node["code"], lists)
    for values in zip(*lists.values(), strict=True):
        yield node | dict(zip(lists, values, strict=True))


def split_sweep(overrides: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Overrides that have one value, and the values of those that have several.

    >>> split_sweep(["scheme=glob(cyclic_p*)", "n=12", "s=range(1,4)"])
    (['n=12'], {'scheme': ['cyclic_partial'], 's': ['1', '2', '3']})
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    parsed = []
    for text in overrides:
        try:
            parsed.append(parser.parse_override(text))
        except HydraException as error:
            raise UserError(f"not an override: {text!r} ({' '.join(str(error).split())})") from None
    single: list[str] = []
    several: dict[str, list[str]] = {}
    for override, text in zip(parsed, overrides, strict=True):
        if override.is_sweep_override():
            several[override.key_or_group] = _swept_values(override, text)
        else:
            single.append(text)
    return single, several


def _swept_values(override: Override, text: str) -> list[str]:
    """The values that an override lists, or the options of a group that its glob matches."""
    from hydra.core.override_parser.types import Glob
    from hydra.errors import HydraException

    key = override.key_or_group
    glob = override.value()
    if isinstance(glob, Glob):
        if key not in GROUPS:
            raise UserError(f"{text}: glob chooses among the options of a group ({', '.join(GROUPS)})")
        matching = glob.filter(option_names(key))
        if not matching:
            raise UserError(f"{text}: {unknown(key, glob.include[0], option_names(key))}")
        return matching
    try:
        return list(override.sweep_string_iterator())
    except HydraException:
        raise UserError(f"{text} names no values that can be listed; take s=1,2,3 or s=range(1,4)") from None
