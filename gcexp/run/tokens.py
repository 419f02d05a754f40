"""The path is the overrides: a part of a path as a token, and the token read back."""

from __future__ import annotations

import re
from typing import Any

from gcexp.errors import UserError
from gcexp.run.options import read_value

HOME = {"scheme": "code", "delay": "delay", "task": "task", "optimizer": "optimizer"}
SHARED = ("n", "s", "overhead", "late", "chunks")  # keys that the groups of a run share
_SPELLED = re.compile(r"[A-Za-z0-9._\-]+")


def token(group: str, option: str, values: dict[str, Any]) -> str:
    """Path element of an option and the values set on it; `overrides_of` is the inverse.

    A bare key lives in the group's home (``code`` for a scheme), a key with a leading dot is a shared one.

    Examples
    --------
    >>> token("scheme", "frc", {"n": 30, "code.d": 5})
    'frc+.n@30+d@5'
    >>> overrides_of("scheme", "frc+.n@30+d@5")
    ['scheme=frc', 'n=30', 'code.d=5']
    """
    parts = [option]
    for key in sorted(values):
        home, dot, rest = key.partition(".")
        short = f".{key}" if not dot else rest if home == HOME[group] and "." not in rest else key
        value = values[key]
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        read = read_value(f"{key}={text}") if _SPELLED.fullmatch(text) else None
        if not _SPELLED.fullmatch(text) or (type(read), read) != (type(value), value):
            raise UserError(
                f"{key}={text!r} cannot stand in a file name; write an option file in conf/{group} instead"
            )
        parts.append(f"{short}@{text}")
    return "+".join([parts[0], *sorted(parts[1:])])


def overrides_of(group: str, text: str) -> list[str]:
    """Hydra overrides of a token."""
    option, *rest = text.split("+")
    overrides = [f"{group}={option}"]
    for part in rest:
        key, _, value = part.partition("@")
        full = key[1:] if key.startswith(".") else key if "." in key else f"{HOME[group]}.{key}"
        overrides.append(f"{full}={value}")
    return overrides
