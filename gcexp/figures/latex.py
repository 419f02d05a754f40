r"""LaTeX tables from pandas' Styler: shrunk to the line where they are wide, continued on the next page where long."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from gcexp.figures.signs import minus

LINES = 36  # rows beyond which a table goes on on the next page
_PROSE = 30  # letters beyond which cells are wrapped
_SHARE = 0.6  # of a line for all columns whose cells are wrapped

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "_": r"\_\allowbreak{}",
    "[": "{[}",  # no argument of the line break before it
    "*": "{*}",
    **{sign: "\\" + sign for sign in "&%$#{}"},
}
#: Signs that pdfLaTeX's own fonts have in formulas only.
_MATH = {
    **{sign: sign for sign in "<>|"},
    **{"≤": r"\le", "≥": r"\ge", "≠": r"\ne", "±": r"\pm", "−": "-", "×": r"\times", "·": r"\cdot"},
    **{"⌈": r"\lceil", "⌉": r"\rceil", "⌊": r"\lfloor", "⌋": r"\rfloor", "‖": r"\Vert", "√": r"\surd"},
    **{"→": r"\to", "∞": r"\infty"},
}


def escape(text: object) -> str:
    r"""Text as plain pdfLaTeX sets it: signs and Greek letters as formulas, a hyphen that means minus as minus.

    >>> print(escape("50 % of n - s, μₛ"))
    50 \% of n \ensuremath{-} s, \ensuremath{\mu}\ensuremath{_{s}}
    """
    return "".join(map(_sign, minus(text)))


@cache
def _sign(sign: str) -> str:
    """One sign of a text."""
    if sign in _LATEX:
        return _LATEX[sign]
    if sign.isascii() and sign not in _MATH:
        return sign
    formula = _formula(sign)
    if not formula:
        return sign
    return rf"\ensuremath{{{formula}}}"


def _formula(sign: str) -> str:
    """A sign that only formulas have, as they write it: lowered, raised, Greek or mathematical; empty for any other."""
    how, _, plain = unicodedata.decomposition(sign).partition(" ")
    if how == "<sub>":
        return f"_{{{chr(int(plain, 16))}}}"
    if how == "<super>":
        return f"^{{{chr(int(plain, 16))}}}"
    name = unicodedata.name(sign, "")
    if name.startswith("GREEK") and " LETTER " in name:
        letter = name.rpartition(" ")[2].lower().replace("lamda", "lambda")
        return "\\" + (letter if " SMALL " in name else letter.capitalize())
    return _MATH.get(sign, "")


def grid(
    header: Sequence[str],
    body: Sequence[Sequence[str]],
    right: Iterable[int] = (),
    title: str = "",
    note: str = "",
    label: str = "",
) -> str:
    r"""A table with its caption and note: `table` with `adjustbox`, or `longtable` where it is long.

    Columns in `right` are aligned to the right, those of long texts are wrapped; ``\ref`` names `label`.
    """
    import pandas as pd

    long = len(body) > LINES
    cells = [list(map(escape, row)) for row in body]
    frame = pd.DataFrame(cells, columns=list(map(escape, header)))
    text = frame.style.hide(axis="index").to_latex(
        column_format=_columns(body, len(header), set(right)),
        hrules=True,
        caption=escape(title) if title else None,
        label=label if title and label else None,
        environment="longtable" if long else "table",
        position_float=None if long else "centering",
    )
    text = text.replace("\\begin{tabular}", "\\begin{adjustbox}{max width=\\linewidth}\n\\begin{tabular}")
    text = text.replace("\\end{tabular}", "\\end{tabular}\n\\end{adjustbox}")
    below = ""
    if note:
        below = f"\n\\smallskip\n{{\\footnotesize {escape(note)}\\par}}\n"
    if long:
        text = f"\\begingroup\n\\footnotesize\n{text}{below}\\endgroup\n"
    else:
        text = text.replace("\\end{table}", below + "\\end{table}")
    return f"% \\usepackage{{adjustbox, array, booktabs, longtable}}\n{text}"


def _columns(body: Sequence[Sequence[str]], count: int, right: set[int]) -> str:
    """How the columns are aligned: numbers to the right, long texts wrapped in equal shares of a line."""
    prose = []
    for column in range(count):
        if column not in right and _longest(body, column) > _PROSE:
            prose.append(column)
    share = _SHARE / max(len(prose), 1)
    wrapped = rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}"
    formats = []
    for column in range(count):
        if column in right:
            formats.append("r")
        elif column in prose:
            formats.append(wrapped)
        else:
            formats.append("l")
    return "".join(formats)


def _longest(body: Sequence[Sequence[str]], column: int) -> int:
    """Letters of the longest cell in a column."""
    return max((len(row[column]) for row in body), default=0)
