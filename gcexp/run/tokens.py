"""Elements of a run's path: the option of a part with the values set on it, written so that they can be read back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gcexp.errors import UserError
from gcexp.run.options import SHARED
from gcexp.run.parts import PARTS
from gcexp.run.yaml_values import read_value
from gcexp.schema import quoted

#: The group in which a token's bare keys live, by the part that the token is of.
HOME = {part: "code" if part == "scheme" else part for part in PARTS}
#: Groups whose keys belong to the scheme of a run.
_OF_SCHEME = ("code", "wait", "placement", "loads")
_WRITTEN = re.compile(r"[A-Za-z0-9._\-/]+")


def part_of(key: str) -> str:
    """The part of a run to which a key belongs: keys that the groups share are the scheme's.

    >>> part_of("code.beta"), part_of("n"), part_of("delay.file")
    ('scheme', 'scheme', 'delay')
    """
    group = key.partition(".")[0]
    if group in _OF_SCHEME or key in SHARED:
        return "scheme"
    return group


def token(part: str, option: str, values: dict[str, Any]) -> str:
    """Path element of an option and the values set on it; `overrides_of` is the inverse.

    A bare key lives in the part's home (``code`` for a scheme), a key with a leading dot is a shared one. In a value
    ``@`` stands for a slash; a comma makes a list, behind its element where that is the only one.

    >>> token("delay", "trace", {"delay.file": "times/a.csv", "delay.workers": [7, 8], "n": 2})
    'trace+.n@2+file@times@a.csv+workers@7,8'
    """
    elements = []
    for key, value in values.items():
        elements.append(f"{_short_key(part, key)}@{_write_value(part, key, value)}")
    return "+".join([option, *sorted(elements)])


def _short_key(part: str, key: str) -> str:
    """A key as it stands in a token."""
    home, dot, rest = key.partition(".")
    if not dot:
        return f".{key}"
    if home == HOME[part] and "." not in rest:
        return rest
    return key


def _write_value(part: str, key: str, value: Any) -> str:
    """A value as it stands in a token, refused where it could not be read back."""
    if isinstance(value, list):
        texts = [spell(element) for element in value]
        text = ",".join(texts)
        if len(texts) < 2:
            text += ","
    else:
        text = spell(value)
        texts = [text]
    has_plain_signs = all(_WRITTEN.fullmatch(one) for one in texts)
    if not has_plain_signs or repr(read_value(f"{key}={_as_override(text)}")) != repr(value):
        raise UserError(
            f"{key}={quoted(value)} cannot stand in a file name; write an option file in conf/{part} instead"
        )
    return text.replace("/", "@")


def overrides_of(part: str, text: str) -> list[str]:
    """Hydra overrides of a token: the option, then the values set on it.

    >>> overrides_of("scheme", "cyclic_partial+.n@30+beta@15")
    ['scheme=cyclic_partial', 'n=30', 'code.beta=15']
    """
    option, *elements = text.split("+")
    overrides = [f"{part}={option}"]
    for element in elements:
        short, _, value = element.partition("@")
        overrides.append(f"{_full_key(part, short)}={_as_override(value.replace('@', '/'))}")
    return overrides


def _full_key(part: str, short: str) -> str:
    """The key that stands in a token."""
    if short.startswith("."):
        return short[1:]
    if "." in short:
        return short
    return f"{HOME[part]}.{short}"


def tokens_of(overrides: Iterable[str]) -> dict[str, str]:
    """The tokens of some overrides by part; a part whose option is not named has none.

    >>> tokens_of(["scheme=frc", "n=6", "code.d=2", "delay=pareto", "iterations=9"])
    {'scheme': 'frc+.n@6+d@2', 'delay': 'pareto'}
    """
    options: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for override in overrides:
        key, _, text = override.partition("=")
        if key in PARTS:
            options[key] = text
        elif part_of(key) in PARTS:
            values[part_of(key)][key] = read_value(override)
    tokens = {}
    for part in PARTS:
        if part in options:
            tokens[part] = token(part, options[part], values[part])
    return tokens


def spell(value: Any) -> str:
    """A plain value as it is typed."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _as_override(text: str) -> str:
    """A value as an override spells it."""
    if "," in text:
        return f"[{text.removesuffix(',')}]"
    return text
