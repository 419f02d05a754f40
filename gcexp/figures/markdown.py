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
    without_tags = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", without_tags)


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    r"""A pipe table in which every cell is escaped; columns in `right` are aligned to the right.

    >>> print(grid(["name", "load"], [["a|b", 3]], right=[1]), end="")
    | name | load |
    | --- | ---: |
    | a\|b | 3 |
    """
    rule = ["---"] * len(header)
    for column in right:
        rule[column] = "---:"
    lines = [_line(map(escape, header)), _line(rule)]
    for row in rows:
        lines.append(_line(map(escape, row)))
    return "".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
