"""What does an option say? Its own values, the options that it builds on, and what it chooses of other groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, unknown
from gcexp.run.build import INPUTS, OF_THE_SCHEME
from gcexp.run.options import (
    GROUPS,
    TRACES,
    Folders,
    about_trace,
    code_behind,
    is_option,
    no_option,
    option_names,
    own_file,
    text_of,
    trace_behind,
)
from gcexp.run.yaml_values import mapping_in
from gcexp.schema import fitted, quoted

#: In a list of defaults: the values of the file itself, which lie above those before it.
SELF = "_self_"
#: First line of a scheme's file: its keys are those of a run.
GLOBAL = "# @package _global_\n"
_OVERRIDE = "override /"
_REMARK = re.compile(r"^(\w+):.*? # (.+)$", re.MULTILINE)  # what stands behind a key


@dataclass(frozen=True)
class Option:
    """What one option says, without the options that it builds on.

    Attributes
    ----------
    place
        The file that says it, for sentences about mistakes.
    values
        What it sets in a run, such as ``{"code": {"n": "${n}"}}``; not to be changed.
    layers
        Options of its group in the order in which their values lie above each other, `SELF` for its own.
    chosen
        What a scheme chooses of other groups.
    scheme
        What a code says of the scheme that has its name: ``exact``, ``wait`` and ``benchmark``.
    remarks
        The comments behind its keys.
    """

    place: Path
    values: dict[str, Any]
    layers: tuple[str, ...] = (SELF,)
    chosen: dict[str, str | None] = field(default_factory=dict)
    scheme: dict[str, Any] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)


def lineage(group: str, name: str, folders: Folders, above: tuple[str, ...] = ()) -> Iterator[Option]:
    """An option and those of its group that it builds on, the lowest layer first."""
    if name in above:
        raise UserError(f"{group}={above[0]} builds on itself: {' -> '.join([*above, name])}")
    option = option_of(group, name, folders)
    for layer in option.layers:
        if layer == SELF:
            yield option
        else:
            yield from lineage(group, layer, folders, (*above, name))


def option_of(group: str, name: str, folders: Folders) -> Option:
    """An option by its file, or by the code or the trace that stands for it."""
    option = _found(group, name, folders)
    if option is None:
        raise no_option(group, name)
    bases = [(group, layer) for layer in option.layers if layer != SELF]
    for other, wanted in [*bases, *option.chosen.items()]:
        if wanted is not None and not is_option(other, wanted, folders):
            raise UserError(f"{option.place}: {unknown(other, wanted, option_names(other))}")
    return option


def _found(group: str, name: str, folders: Folders) -> Option | None:
    file = own_file(group, name, folders)
    if file is not None:
        return _in_text(group, file, text_of(file))
    if group == "scheme":
        code = code_behind(name, folders)
        if code is not None:
            return _scheme_of_code(code, folders)
    if group == "delay":
        trace = trace_behind(name, folders)
        if trace is not None:
            return _replay_of(trace)
    return None


def _scheme_of_code(code: str, folders: Folders) -> Option:
    """The scheme that only passes a code on, with the waiting rule and the promise that the code's file names."""
    values: dict[str, Any] = {}
    for option in lineage("code", code, folders):
        values |= option.scheme
    chosen: dict[str, str | None] = {"code": code}
    if "wait" in values:
        chosen["wait"] = values.pop("wait")
    place = Path(str(own_file("code", code, folders)))
    return Option(place, values, chosen=chosen)


def _replay_of(trace: str) -> Option:
    """The delay model that replays a trace, priced as the index beside it says."""
    place = Path(trace)
    values = {"file": f"{TRACES}/{place.name}"}
    about = about_trace(trace)
    if "pricing" in about:
        values["pricing"] = about["pricing"]
    return Option(place, {"delay": values}, layers=("trace", SELF))


@cache
def _in_text(group: str, file: str, text: str) -> Option:
    """What the text of an option file says."""
    place = Path(file)
    own = dict(mapping_in(place, text))
    layers, chosen = _defaults(own.pop("defaults", []), place)
    scheme: dict[str, Any] = {}
    if group == "code":
        for key, kind in OF_THE_SCHEME.items():
            if key in own:
                scheme[key] = fitted(kind, own.pop(key), f"{place}: {key}")
    remarks: dict[str, str] = {}
    for key, remark in _REMARK.findall(text):
        if key in own and key != INPUTS:
            remarks[key] = remark
    values = own
    if not text.startswith(GLOBAL):
        values = {group: own}
    return Option(place, values, tuple(layers), chosen, scheme, remarks)


def _defaults(said: Any, place: Path) -> tuple[list[str], dict[str, str | None]]:
    """A list of defaults as layers of the option's group, and what is chosen of other groups."""
    layers: list[str] = []
    chosen: dict[str, str | None] = {}
    entries = said if isinstance(said, list) else [said]
    for entry in entries:
        if isinstance(entry, str):
            layers.append(entry)
        elif _is_choice(entry):
            ((key, name),) = entry.items()
            chosen[key.removeprefix(_OVERRIDE)] = name
        else:
            raise UserError(
                f"{place}: defaults: {quoted(entry)} is not understood (allowed: an option of this group, {SELF}, and "
                f"in a scheme '{_OVERRIDE}GROUP: OPTION' with GROUP among {', '.join(GROUPS)})"
            )
    if SELF not in layers:
        layers.append(SELF)
    return layers, chosen


def _is_choice(entry: Any) -> bool:
    """Whether an entry of a list of defaults is ``override /GROUP: OPTION``; null chooses none."""
    if not isinstance(entry, dict) or len(entry) != 1:
        return False
    ((key, name),) = entry.items()
    return str(key).removeprefix(_OVERRIDE) in GROUPS and isinstance(name, str | None)
