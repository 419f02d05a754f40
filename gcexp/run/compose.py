"""From overrides to the config of one run.

Option files are put together as Hydra would: values of the run, then those of each group's option, then those of the
scheme; an option may build on others, and a scheme chooses options of other groups. ``${key}`` and ``${group.key}``
stand for other values. Neither Hydra nor OmegaConf takes part: see "Six unusual decisions" in docs/design.md.
"""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, require, require_known, unknown
from gcexp.run.build import locate
from gcexp.run.options import (
    GROUPS,
    SHARED,
    conf_dir,
    folders_of_options,
    option_file,
    options,
    read_value,
    read_yaml,
    search_dirs,
)
from gcexp.run.records import unrecorded
from gcexp.schema import fitted, quoted

_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.\w+)*)\}")
_GLOBAL = "# @package _global_\n"
_REMARK = re.compile(r"^(\w+):.*? # (.+)$", re.MULTILINE)  # what stands behind a key
_DEVICES = ("auto", "cpu", "cuda", "mps")  # as in gcexp.tasks.devices, which loads torch


def compose(overrides: list[str]) -> dict:
    """Resolved config of one run from overrides such as ``scheme=frc code.d=5 delay=pareto n=30``.

    The same result as one full Hydra composition; a test compares them.
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
    config = _of_options(tuple(choices.items()), *search_dirs())
    for key, value in values.items():
        task = config.get("task")
        if key == "task.device" and isinstance(task, dict) and "_target_" in task and "device" not in task:
            config = config | {"task": _with_device(task, value)}
            continue
        _require_key(config, key)
        for part in reversed(key.split(".")):
            value = {part: value}
        config = _merged(config, value)
    return _resolved(config, config)


@cache  # a plan asks for few choices of options thousands of times
def _of_options(choices: tuple[tuple[str, str], ...], conf: Path, *_more: Path) -> dict:
    """What some options set, unresolved and not to be changed."""
    run, listed, chosen = _chosen(choices, conf)
    config: dict[str, Any] = {}
    for entry in listed:
        if entry == "_self_":
            config = _merged(config, run)
        elif (option := chosen[group := next(iter(entry))]) is not None:
            config = _merged(config, _content(group, option)[0])
    _require_meaning(config, {group: option for group, option in chosen.items() if option is not None})
    return config


def _chosen(choices: tuple[tuple[str, str], ...], conf: Path) -> tuple[dict, list, dict[str, str | None]]:
    """What run.yaml says, its list of defaults, and the option of each group: given, of the scheme, or listed."""
    place = conf / "run.yaml"
    run = read_yaml(place)
    run.pop("hydra", None)
    listed = _listed(run, "", place)
    chosen = {group: option for entry in listed if isinstance(entry, dict) for group, option in entry.items()}
    if scheme := dict(choices).get("scheme", chosen.get("scheme")):
        chosen |= _content("scheme", scheme)[1]
    return run, listed, chosen | dict(choices)


def meanings(overrides: list[str]) -> dict[str, str]:
    """What files of options say behind their keys, for every option that overrides choose and those it builds on."""
    choices = tuple(
        (group, option) for group, _, option in (word.partition("=") for word in overrides) if group in GROUPS
    )
    chosen = _chosen(choices, conf_dir())[2]
    return {
        f"{group}.{key}": text
        for group in GROUPS
        if group != "scheme" and (option := chosen.get(group)) is not None
        for key, text in _remarks(group, option).items()
    }


def _remarks(group: str, option: str) -> dict[str, str]:
    """The comment behind each key of an option, also of options of its group that it builds on."""
    place, found = option_file(group, option), dict[str, str]()
    for entry in _listed(read_yaml(place), group, place):
        if isinstance(entry, str) and entry != "_self_":
            found |= _remarks(group, entry)
    found |= dict(_REMARK.findall(place.read_text("utf-8")))
    found.pop("inputs", None)  # no key of the option
    return found


def look_again() -> None:
    """See options that were edited since: for a process that lives long, as a notebook does."""
    folders_of_options.cache_clear()
    _of_options.cache_clear()


def _listed(content: dict, own: str, place: Path) -> list:
    """Take the list of defaults out of what a file of the group `own` says; ``_self_`` stands for its own values."""
    listed = content.pop("defaults", [])
    for entry in listed if isinstance(listed, list) else [listed]:
        if entry == "_self_":
            continue
        ((key, option),) = entry.items() if isinstance(entry, dict) and len(entry) == 1 else [(own, entry)]
        group = str(key).removeprefix("override /")
        if group not in GROUPS or not isinstance(option, str | None):
            raise UserError(
                f"{place}: defaults: {quoted(entry)} is not understood (allowed: an option of this group, _self_, and "
                f"in a scheme 'override /GROUP: OPTION' with GROUP among {', '.join(GROUPS)})"
            )
        if option is not None and option not in options(group):
            raise UserError(f"{place}: defaults: {unknown(group, option, options(group))}")
    return listed if "_self_" in listed else [*listed, "_self_"]


def _content(group: str, option: str, above: tuple[str, ...] = ()) -> tuple[dict, dict[str, str | None]]:
    """What the file of an option sets in a run, over the options of its group that it builds on; and what a scheme
    chooses of other groups.
    """
    if option in above:
        raise UserError(f"{group}={above[0]} builds on itself: {' -> '.join([*above, option])}")
    place = option_file(group, option)
    own, found, chosen = read_yaml(place), dict[str, Any](), dict[str, str | None]()
    _take_inputs(own, place)
    with unrecorded():
        is_global = place.read_text("utf-8").startswith(_GLOBAL)
    for entry in _listed(own, group, place):
        if entry == "_self_":
            found = _merged(found, own if is_global else {group: own})
        elif isinstance(entry, str):
            more, others = _content(group, entry, (*above, option))
            found, chosen = _merged(found, more), others | chosen
        else:
            chosen |= {key.removeprefix("override /"): chosen_option for key, chosen_option in entry.items()}
    return found, chosen


def _take_inputs(content: dict, place: Path) -> list[str]:
    """Take out of an option's values what it says of files that its Python opens."""
    inputs = fitted(str | list[str], content.pop("inputs", []), f"{place}: inputs")
    return [inputs] if isinstance(inputs, str) else inputs


def declared_inputs(overrides: list[str]) -> list[str]:
    """Files, folders and patterns that the option files of a run name under ``inputs:``, as they are written there.

    An option's own Python may open files that no reader of gcexp sees. Its option file names them, also by a reference
    such as ``${delay.file}``, so that a change of them makes the results again. Relative ones begin in the working
    folder.

    >>> declared_inputs(["scheme=cgc"])
    []
    """
    config = compose(overrides)
    choices = tuple(
        (group, option) for group, _, option in (word.partition("=") for word in overrides) if group in GROUPS
    )
    named: list[str] = []
    for group, option in _chosen(choices, conf_dir())[2].items():
        if option is not None:
            named += _inputs_of(group, option)
    return [str(_resolved(name, config, "inputs")) for name in dict.fromkeys(named)]


def _inputs_of(group: str, option: str) -> list[str]:
    """What an option and those of its group that it builds on say under ``inputs:``."""
    place = option_file(group, option)
    content = read_yaml(place)
    named: list[str] = []
    for entry in _listed(content, group, place):
        if isinstance(entry, str) and entry != "_self_":
            named += _inputs_of(group, entry)
    return named + _take_inputs(content, place)


def _merged(below: Any, above: Any) -> Any:
    """Values with others above them: mappings key by key, of all else the upper one."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: _merged(below.get(key), value) for key, value in above.items()}


def _resolved(node: Any, config: dict, key: str = "", through: tuple[str, ...] = ()) -> Any:
    """A node of a config with what its references stand for; `through`: the references that led to it."""
    if isinstance(node, dict):
        return {name: _resolved(value, config, f"{key}.{name}", through) for name, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, config, key, through) for value in node]
    if not isinstance(node, str) or "${" not in node:
        return node

    def value(reference: re.Match) -> Any:
        found: Any = config
        for part in reference[1].split("."):
            if reference[0] in through or not isinstance(found, dict) or part not in found:
                problem = "a circle" if reference[0] in through else unknown("key", reference[1], config)
                raise UserError(f"{key[1:]}: {quoted(node)} cannot be resolved ({problem})")
            found = found[part]
        return _resolved(found, config, key, (*through, reference[0]))

    if whole := _REFERENCE.fullmatch(node):
        return value(whole)
    if "${" in _REFERENCE.sub("", node):
        raise UserError(f"{key[1:]}: {quoted(node)} cannot be resolved (allowed: ${{key}} or ${{group.key}})")
    return _REFERENCE.sub(lambda reference: str(value(reference)), node)


def _require_meaning(found: dict, choices: dict[str, str]) -> None:
    """Refuse a key that is none of a run's and that no value refers to: it would change nothing."""
    known = {*read_yaml(conf_dir() / "run.yaml"), *GROUPS} - {"defaults", "hydra", "scheme"}
    referred = {name.partition(".")[0] for name in _REFERENCE.findall(str(found))}
    for key in found.keys() - known - referred:
        files = [option_file(group, option) for group, option in choices.items()]
        place = next((file for file in files if key in read_yaml(file)), conf_dir() / "run.yaml")
        if key == "scheme":  # what a scheme's file says without that line
            raise UserError(
                f"{option_file('scheme', choices[key])}: its first line must be {_GLOBAL.strip()!r}"
            )
        raise UserError(f"{place}: {unknown('key', key, known)}")


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
    if key == "inputs":  # said of an option, and no key of its class
        return []
    return [option for option in options(group) if key in read_yaml(option_file(group, option))]


def _with_device(task: dict, name: object) -> dict:
    """The options of a task whose file has no key for the device that it shall be trained on.

    A class without an option ``device`` computes in numpy: it takes ``auto`` and ``cpu``, which change nothing.
    """
    require_known("task.device", name, _DEVICES)
    of = locate(task["_target_"], "task._target_")
    if "device" in inspect.signature(of).parameters:
        return {**task, "device": name}
    numpy_only = f"{of.__name__} computes in numpy on the processor; use auto or cpu"
    require(name in ("auto", "cpu"), f"task.device={name}: {numpy_only}")
    return task


def composed_codes(node: Any) -> Any:
    """Every mapping ``{code: OPTION, KEY: VALUE, ...}`` in arguments of an analysis replaced by what it composes to.

    ``n`` and other shared keys are those of a run; every other key is one of the code. Where ``n`` is a list, the
    mapping stands for one code per entry, and every other list has one value for each of them. (So an option that wants
    a list itself has a list of lists there.)
    """
    if isinstance(node, list):
        return [composed_codes(value) for value in node]
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("code"), str):
        return {key: composed_codes(value) for key, value in node.items()}
    if node["code"] not in options("code"):
        raise UserError(unknown("code", node["code"], options("code")))
    if isinstance(node.get("n"), list):
        lists = {key: value for key, value in node.items() if isinstance(value, list)}
        if len({*map(len, lists.values())}) > 1:
            lengths = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
            raise UserError(
                f"code {node['code']}: where n is a list, every list has one value for each n, but {lengths}"
            )
        each = zip(*lists.values(), strict=True)
        return [composed_codes(node | dict(zip(lists, values, strict=True))) for values in each]
    given = {key if key in SHARED else f"code.{key}": value for key, value in node.items() if key != "code"}
    return compose([f"code={node['code']}", *(f"{key}={json.dumps(value)}" for key, value in given.items())])[
        "code"
    ]


def swept(overrides: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Overrides that have one value, and the values of those that have several.

    >>> swept(["scheme=glob(cyclic_p*)", "n=12", "s=range(1,4)"])
    (['n=12'], {'scheme': ['cyclic_partial'], 's': ['1', '2', '3']})
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
