"""Codes in the arguments of an analysis: named by their options, composed as for a run, built where they are used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError, unknown
from gcexp.run.build import build, redrawn
from gcexp.run.compose import compose
from gcexp.run.options import options
from gcexp.run.tokens import SHARED

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes.base import Code


@dataclass(frozen=True)
class MakesCode:
    """What an analysis is given for a code: called, it builds one.

    Attributes
    ----------
    node : dict
        ``_target_`` and arguments.

    Examples
    --------
    >>> make = MakesCode(composed_codes({"code": "fractional_repetition", "n": 6, "d": 2}))
    >>> make().k, make(seed=3).k
    (6, 6)
    """

    node: dict

    def __call__(self, seed: int | None = None) -> Code:
        """The code; one whose assignment is random with this seed in the place of its own."""
        return build({"code": self.node if seed is None else redrawn(self.node, seed)}, "code")


def composed_codes(node: Any) -> Any:
    """Every mapping ``{code: OPTION, KEY: VALUE, ...}`` in a node replaced by what the option composes to.

    ``n`` and other shared keys are those of a run; every other key is one of the code.

    Raises
    ------
    UserError
        For an unknown option or key.
    """
    if isinstance(node, list):
        return [composed_codes(value) for value in node]
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("code"), str):
        return {key: composed_codes(value) for key, value in node.items()}
    if node["code"] not in options("code"):
        raise UserError(unknown("code", node["code"], options("code")))
    given = {key if key in SHARED else f"code.{key}": value for key, value in node.items() if key != "code"}
    texts = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    return compose([f"code={node['code']}", *texts])["code"]


def with_makers(node: Any) -> Any:
    """Every mapping with a ``_target_`` in a node replaced by what makes the code."""
    if isinstance(node, list):
        return [with_makers(value) for value in node]
    if not isinstance(node, dict):
        return node
    if "_target_" in node:
        return MakesCode(node)
    return {key: with_makers(value) for key, value in node.items()}
