"""``gcexp error``: how bad stragglers are for a code, from the shell."""

from __future__ import annotations

import json
from typing import Any

from gcexp.command.arguments import as_json, overrides
from gcexp.command.theory import plain
from gcexp.decoding_error.error import KINDS
from gcexp.errors import UserError
from gcexp.experiments import error
from gcexp.run.build import GROUPS_BUILT, build, dotted, named
from gcexp.run.compose import compose
from gcexp.schema import is_whole, typed

_NUMBERS = ("trials", "seed", "steps", "max_sets", "max_searched")
_MOST = 100_000  # numbers of a range
OWN = ("s", "kind", "decoding", "stragglers", *_NUMBERS)


def errors(given: list[str]) -> dict:
    """Errors of a composed code, ready for JSON.

    What `OWN` names are arguments of `gcexp.error`; everything else is an override, so that ``code.s=3`` is the s a
    code is built for, and ``code.seed=1`` the seed of its assignment.
    """
    own = [one for one in given if "=" in one and one.partition("=")[0] in OWN]
    mine: dict[str, str] = dict(one.split("=", 1) for one in own)
    kind = mine.setdefault("kind", "set" if "stragglers" in mine else "worst")
    read = dict.fromkeys(_NUMBERS, _number) | {"s": _numbers, "stragglers": _numbers}
    options: dict[str, Any] = {
        key: read[key](key, text) if key in read else text for key, text in mine.items()
    }
    if "stragglers" in mine and kind != "set":
        raise UserError(f"stragglers are for kind=set, got kind={kind} (kinds: {', '.join(KINDS)})")
    config = compose([one for one in given if one not in own])
    for group in GROUPS_BUILT:  # only the code is built, but what cannot be meant is refused
        for target in named(config.get(group), "_target_"):
            dotted(target, f"{group}._target_")
    code = build(config, "code")
    found = error(code=code, progress=True, **options)
    if kind == "worst":
        found["exact"] = found["lower"] == found["upper"]
    return {
        "code": repr(code),
        "workers": code.n,
        "partitions": code.k,
        "kind": kind,
        "decoding": options.get("decoding", "optimal"),
        "errors": plain(found.to_dict("records")),
    }


def _numbers(key: str, text: str) -> list[int]:
    """Whole numbers, written ``4``, ``0..8``, ``[0, 4, 8]`` or ``0,4,8``."""
    first, dots, last = text.partition("..")
    if dots:
        ends = _number(key, first), _number(key, last)
        if ends[1] - ends[0] >= _MOST:
            raise UserError(f"{key}={text} are {ends[1] - ends[0] + 1} numbers (allowed: up to {_MOST})")
        return list(range(ends[0], ends[1] + 1))
    return [_number(key, one) for one in text.strip("[]").split(",") if one.strip()]


def _number(key: str, text: str) -> int:
    found = typed(text.strip())
    if not is_whole(found):
        allowed = " (allowed: 4, 0..8, [0,4,8])" if key in ("s", "stragglers") else ""
        raise UserError(f"{key} must be whole numbers, got {text!r}{allowed}")
    return found


def format_errors(found: dict) -> str:
    """A line for each s."""
    lines = [f"{found['code']}: {found['kind']} stragglers, {found['decoding']} decoding"]
    for one in found["errors"]:
        if found["kind"] == "random":
            spread = "" if one["stderr"] is None else f" ± {one['stderr']:.2g}"  # one set tells nothing of it
            value = f"mean {one['mean']:.6g}{spread}, largest of {one['trials']}: {one['largest']:.6g}"
        elif found["kind"] == "set":
            value = f"{one['error']:.6g} without {one['stragglers']}"
        elif one["exact"]:
            value = f"{one['lower']:.6g} ({one['how']})"
        else:
            value = f"between {one['lower']:.6g} and {float(one['upper']):.6g}"
        lines.append(f"s = {one['s']:3}  {value}")
    return "\n".join(lines)


def add(parser) -> None:
    """Arguments of the command."""
    overrides(parser)
    as_json(parser)


def run(arguments) -> None:
    """Errors of a code."""
    found = errors(arguments.overrides)
    print(json.dumps(found, indent=1) if arguments.json else format_errors(found))
