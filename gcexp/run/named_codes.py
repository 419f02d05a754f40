"""Codes in the arguments of an analysis: named by their options, composed as for a run; `gcexp.run.build` builds
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gcexp.errors import UserError, unknown
from gcexp.run.compose import compose
from gcexp.run.options import options
from gcexp.run.tokens import SHARED


def composed_codes(node: Any) -> Any:
    """Every mapping ``{code: OPTION, KEY: VALUE, ...}`` in a node replaced by what the option composes to.

    ``n`` and other shared keys are those of a run; every other key is one of the code. Where ``n`` is a list, the
    mapping stands for one code per entry, and a list of them replaces it: another key that is a list has one value for
    each of them, in the same order, and what is no list is the same in all. (So an option that wants a list itself has
    a list of lists there.)

    Raises
    ------
    UserError
        For an unknown option or key, or lists of different lengths.

    Examples
    --------
    >>> for code in composed_codes({"code": "clustered", "n": [10, 20], "d": [2, 4], "clusters": 2}):
    ...     print(code["n"], code["d"], code["clusters"])
    10 2 2
    20 4 2
    """
    if isinstance(node, list):
        return [composed_codes(value) for value in node]
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("code"), str):
        return {key: composed_codes(value) for key, value in node.items()}
    if node["code"] not in options("code"):
        raise UserError(unknown("code", node["code"], options("code")))
    if isinstance(node.get("n"), list):
        return [composed_codes(one) for one in _one_by_one(node)]
    given = {key if key in SHARED else f"code.{key}": value for key, value in node.items() if key != "code"}
    texts = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    return compose([f"code={node['code']}", *texts])["code"]


def _one_by_one(node: dict) -> Iterator[dict]:
    """The mapping once per position of its lists."""
    lists = {key: value for key, value in node.items() if isinstance(value, list)}
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
        raise UserError(
            f"code {node['code']}: where n is a list, every list has one value for each n, but {lengths}"
        )
    for values in zip(*lists.values(), strict=True):
        yield node | dict(zip(lists, values, strict=True))
