"""Markdown tables in which nothing that a person wrote becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\`*_\[\]|$~#])")


def escape(text: object) -> str:
    r"""One line of text that Markdown shows as it is.

    >>> print(escape("a|b *c*, x < 1"))
    a\|b \*c\*, x &lt; 1
    """
    line = " ".join(str(text).split())
    return _MARKUP.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    r"""A pipe table in which every cell is escaped; columns in `right` are aligned to the right.

    >>> print(grid(["name", "load"], [["a|b", 3]], right=[1]), end="")
    | name | load |
    | --- | ---: |
    | a\|b | 3 |
    """
    right = set(right)
    rule = ["---:" if place in right else "---" for place in range(len(header))]
    lines = [map(escape, header), rule, *(map(escape, row) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
