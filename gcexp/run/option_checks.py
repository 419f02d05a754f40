"""What can be wrong with overrides and option files? Each mistake becomes one sentence."""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, require, require_known, unknown
from gcexp.run.build import locate
from gcexp.run.option_files import GLOBAL, Option, lineage
from gcexp.run.options import GROUPS, Folders, option_names, search_path
from gcexp.schema import quoted

_DEVICES = ("auto", "cpu", "cuda", "mps")  # as in gcexp.tasks.devices, which loads torch


# --- Keys

#: What is said of a log when it is read, which a delay model does not do.
_OF_A_LOG = ("delay.columns", "delay.unit", "delay.decimal")


def require_key(config: dict[str, Any], key: str) -> None:
    """Refuse a key that no option has set, with the nearest one, or the options of its group that know it."""
    node: Any = config
    parts = key.split(".")
    for i, part in enumerate(parts):
        if not isinstance(node, dict):
            raise UserError(f"unknown key {key!r}: {'.'.join(parts[:i])} has no keys")
        if part not in node:
            raise UserError(_of_unknown_key(config, node, key, parts, i))
        node = node[part]


def _of_unknown_key(config: dict[str, Any], node: dict[str, Any], key: str, parts: list[str], i: int) -> str:
    """Sentence for a key whose part `i` is not in the node where it would be."""
    if key.startswith("+"):
        group = parts[0].removeprefix("+")
        return (
            f"unknown key {key!r}: keys that an option file does not list cannot be added with +; list {key[1:]} in a "
            f"file of your own, conf/{group}/NAME.yaml, and choose {group}=NAME"
        )
    if key in _OF_A_LOG:
        return (
            f"unknown key {key!r}: delay=trace replays a clean record; gcexp trace import LOG {parts[-1]}=... -o "
            "clean.csv makes one of any log, for delay.file=clean.csv"
        )
    if i == 0:
        return sentence_with_group(config, key) or unknown("key", key, {*node, *GROUPS})
    names = []
    for name in node:
        if name != "_target_":
            names.append(".".join([*parts[:i], name]))
    sentence = unknown("key", key, names)
    if i == 1 and "did you mean" not in sentence:
        elsewhere = _options_with(parts[0], parts[1])
        if elsewhere:
            sentence += f"; {parts[0]}={', '.join(elsewhere)} would know it"
    return sentence


def sentence_with_group(config: dict[str, Any], key: str) -> str | None:
    """Sentence for a key that stands behind the name of its group; None where no option has it."""
    chosen = []
    for group in GROUPS:
        option = config.get(group)
        if isinstance(option, dict) and key in option:
            chosen.append(f"{group}.{key}")
    if f"{key}s" in config:  # seed, where seeds is wanted
        chosen = [f"{key}s", *chosen]
    if chosen:
        return f"unknown key {key!r}; did you mean {' or '.join(map(repr, chosen))}?"
    near = []
    for group in GROUPS:
        if group == "scheme":  # whose keys are those of other groups
            continue
        known = _options_with(group, key)
        if known:
            near.append(f"{group}.{key} of {group}={', '.join(known)}")
    if not near:
        return None
    return f"unknown key {key!r}; did you mean {'; '.join(near)}?"


def sentence_of_no_override(word: str) -> str:
    """Sentence for a word that gives no key a value; it may be the name of an option."""
    sentence = f"an override is KEY=VALUE, got {word!r}"
    near = [f"{group}={word}" for group in GROUPS if word in option_names(group)]
    if near:
        sentence += f"; did you mean {' or '.join(near)}?"
    return sentence


def _options_with(group: str, key: str) -> list[str]:
    """Options of a group whose own file has a key."""
    if group not in GROUPS:
        return []
    folders = search_path()
    found = []
    for name in option_names(group):
        *_, own = lineage(group, name, folders)
        if key in own.values.get(group, {}):
            found.append(name)
    return found


def require_meaning(
    config: dict[str, Any], run: dict[str, Any], layers: dict[str, list[Option]], folders: Folders
) -> None:
    """Refuse a key that is none of a run's and that no value refers to: it would change nothing."""
    known = {*run, *GROUPS} - {"scheme"}
    strange = config.keys() - known
    if not strange:
        return
    referred_to = set(re.findall(r"\$\{(\w+)", str(config)))
    for key in sorted(strange - referred_to):
        place = Path(folders[0]) / "run.yaml"
        for option in itertools.chain.from_iterable(layers.values()):
            if key in option.values:
                place = option.place
        if key == "scheme":  # what a scheme's file says without that line
            raise UserError(f"{place}: its first line must be {GLOBAL.strip()!r}")
        raise UserError(f"{place}: {unknown('key', key, known)}")


# --- References


def value_of_reference(
    config: dict[str, Any], name: str, text: str, key: str, through: tuple[str, ...]
) -> Any:
    """The value that ``${name}`` in the text of a key stands for; `through`: references that led there."""
    found: Any = config
    if name in through:
        raise _unresolved_error(text, key, "a circle")
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            raise _unresolved_error(text, key, unknown("key", name, config))
        found = found[part]
    return found


def require_known_references(rest: str, text: str, key: str) -> None:
    """Refuse what begins like a reference in the rest of a text, its references taken out."""
    if "${" in rest:
        raise _unresolved_error(text, key, "allowed: ${key} or ${group.key}")


def _unresolved_error(text: str, key: str, problem: str) -> UserError:
    return UserError(f"{key[1:]}: {quoted(text)} cannot be resolved ({problem})")


# --- Devices of tasks


def is_device_of_a_task_without_one(config: dict[str, Any], key: str) -> bool:
    """Whether a key is the device of a task whose option file has no key for it."""
    task = config.get("task")
    return key == "task.device" and isinstance(task, dict) and "_target_" in task and "device" not in task


def with_device(task: dict[str, Any], name: object) -> dict[str, Any]:
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


# --- Codes in figure files


def require_equal_lengths(code: str, lists: dict[str, list]) -> None:
    """Refuse lists of different lengths beside a list of n."""
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise UserError(f"code {code}: where n is a list, every list has one value for each n, but {said}")
