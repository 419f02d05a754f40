"""Codes in the arguments of an analysis: named by their options, composed as for a run; `gcexp.run.build` builds
them.
"""

from __future__ import annotations

import json
from typing import Any

from gcexp.errors import UserError, unknown
from gcexp.run.compose import compose
from gcexp.run.options import options
from gcexp.run.tokens import SHARED


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
