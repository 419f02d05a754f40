"""Texts that a person writes: those with ``{key}`` for a value of a run, and what no text can hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from gcexp.errors import UserError, unknown

#: Control characters that a text may hold: YAML breaks long texts into lines.
_ALLOWED_CONTROLS = "\n\t"
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


def fill_in(template: Any, config: Mapping[str, Any], place: str) -> Any:
    """A text with the run's values in it; the number itself where the text is nothing but its key.

    Parameters
    ----------
    template : any
        What the figure file says. What is no text stays as it is.
    config : mapping
        The run's composed options, or the arguments of an analysis.
    place : str
        Where the text was written, for the sentence.

    Raises
    ------
    UserError
        For a key that the run does not have, or that stands for a whole option and no value.

    Examples
    --------
    >>> fill_in("{code.d} of {n}", {"n": 12, "code": {"d": 3}}, "label")
    '3 of 12'
    >>> fill_in("{n}", {"n": 12}, "columns.workers")
    12
    """
    if not isinstance(template, str):
        return template
    alone = _PLACEHOLDER.fullmatch(template)
    if alone is None:
        return _PLACEHOLDER.sub(lambda found: str(_value(found[1], config, template, place)), template)
    value = _value(alone[1], config, template, place)
    if isinstance(value, list):  # which one cell of a table cannot hold
        return str(value)
    return value


def _value(key: str, config: Mapping[str, Any], template: str, place: str) -> Any:
    """The value under a key such as ``code.d``."""
    node: Any = config
    parents: list[str] = []
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            raise UserError(f"{place} {template!r}: {unknown('key', key, _keys(parents, node))}")
        node = node[part]
        parents.append(part)
    if isinstance(node, Mapping):
        named = ", ".join(_keys(parents, node)) or "none"
        raise UserError(f"{place} {template!r}: {key!r} is a whole option; name one of its keys ({named})")
    return node


def _keys(parents: list[str], node: Any) -> list[str]:
    """The keys below a node, each with the keys that lead to it; none below a value."""
    if not isinstance(node, Mapping):
        return []
    return [".".join([*parents, str(name)]) for name in node]


def check_texts(node: Any, place: str = "") -> None:
    """Whether every text in what a YAML file holds can be shown: without control characters but line ends and tabs."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            check_texts(key, place)
            check_texts(value, f"{place}.{key}" if place else str(key))
    elif isinstance(node, list):
        for value in node:
            check_texts(value, place)
    elif isinstance(node, str):
        for sign in node:
            if unicodedata.category(sign) == "Cc" and sign not in _ALLOWED_CONTROLS:
                raise UserError(f"{place}: a text holds no control characters, got {node!r}")
