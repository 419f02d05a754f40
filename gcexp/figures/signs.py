"""Minus signs: which hyphens of a text mean minus, on drawings and in tables."""

from __future__ import annotations

import re

_MINUS = re.compile(r"(?<= )-(?= )|(?<=\de)-(?=\d)|(?:^|(?<=[\s(=]))-(?=[\d.])")


def minus(text: object) -> str:
    """Text in which what means minus is a minus sign.

    >>> minus("n - s and 1e-3, two-message")
    'n − s and 1e−3, two-message'
    """
    return _MINUS.sub("−", str(text))
