"""Texts of figure files in which ``{key}`` stands for a value of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gcexp.errors import UserError, unknown

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


def filled(template: Any, config: Mapping[str, Any], place: str) -> Any:
    """A text with the run's values in it; the value itself where the text is nothing but its key.

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
        For a key that the run does not have.

    Examples
    --------
    >>> filled("{code.d} of {n}", {"n": 12, "code": {"d": 3}}, "label")
    '3 of 12'
    >>> filled("{n}", {"n": 12}, "columns.workers")
    12
    """
    if not isinstance(template, str):
        return template
    alone = _PLACEHOLDER.fullmatch(template)
    if alone:
        return _value(alone[1], config, template, place)
    return _PLACEHOLDER.sub(lambda found: str(_value(found[1], config, template, place)), template)


def _value(key: str, config: Mapping[str, Any], template: str, place: str) -> Any:
    """The value under a key such as ``code.d``."""
    node: Any = config
    seen: list[str] = []
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            names = [".".join([*seen, name]) for name in node] if isinstance(node, Mapping) else []
            raise UserError(f"{place} {template!r}: {unknown('key', key, names)}")
        node = node[part]
        seen.append(part)
    return node
