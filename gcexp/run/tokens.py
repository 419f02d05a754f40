"""The path is the overrides: a part of a path as a token, and the token read back."""

from __future__ import annotations

import re
from typing import Any

from gcexp.errors import UserError
from gcexp.run.options import read_value
from gcexp.schema import quoted

HOME = {"scheme": "code", "delay": "delay", "task": "task", "optimizer": "optimizer"}
SHARED = ("n", "s", "overhead", "late", "chunks")  # keys that the groups of a run share
_SPELLED = re.compile(r"[A-Za-z0-9._\-/]+")


def token(group: str, option: str, values: dict[str, Any]) -> str:
    """Path element of an option and the values set on it; `overrides_of` is the inverse.

    A bare key lives in the group's home (``code`` for a scheme), a key with a leading dot is a shared one. In a value
    ``@`` stands for a slash; a comma makes a list, behind its element where that is the only one.

    >>> token("scheme", "frc", {"n": 30, "code.d": 5})
    'frc+.n@30+d@5'
    >>> overrides_of("scheme", "frc+.n@30+d@5")
    ['scheme=frc', 'n=30', 'code.d=5']
    >>> token("delay", "trace", {"delay.file": "times/a.csv", "delay.workers": [7, 8]})
    'trace+file@times@a.csv+workers@7,8'
    >>> overrides_of("delay", "trace+file@times@a.csv+workers@7,")
    ['delay=trace', 'delay.file=times/a.csv', 'delay.workers=[7]']
    """
    parts = [option]
    for key in sorted(values):
        home, dot, rest = key.partition(".")
        short = f".{key}" if not dot else rest if home == HOME[group] and "." not in rest else key
        value = values[key]
        listed = isinstance(value, list)
        texts = [spelled(one) for one in (value if listed else [value])]
        text = ",".join(texts) + "," * (listed and len(texts) < 2)
        if not all(map(_SPELLED.fullmatch, texts)) or repr(read_value(f"{key}={_value(text)}")) != repr(
            value
        ):
            raise UserError(
                f"{key}={quoted(value)} cannot stand in a file name; write an option file in conf/{group} instead"
            )
        parts.append(f"{short}@{text.replace('/', '@')}")
    return "+".join([parts[0], *sorted(parts[1:])])


def overrides_of(group: str, text: str) -> list[str]:
    """Hydra overrides of a token."""
    option, *rest = text.split("+")
    overrides = [f"{group}={option}"]
    for part in rest:
        key, _, value = part.partition("@")
        full = key[1:] if key.startswith(".") else key if "." in key else f"{HOME[group]}.{key}"
        overrides.append(f"{full}={_value(value.replace('@', '/'))}")
    return overrides


def spelled(value: Any) -> str:
    """A plain value as it is typed.

    >>> spelled(None), spelled(True), spelled(1e-07)
    ('null', 'true', '1e-07')
    """
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _value(text: str) -> str:
    """A value as an override spells it."""
    return f"[{text.removesuffix(',')}]" if "," in text else text
