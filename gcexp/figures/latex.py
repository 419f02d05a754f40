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
    if sign in _LATEX or sign.isascii() and sign not in _MATH:
        return _LATEX.get(sign, sign)
    how, _, plain = unicodedata.decomposition(sign).partition(" ")
    name = unicodedata.name(sign, "")
    if how in ("<sub>", "<super>"):
        found = f"{'_' if how == '<sub>' else '^'}{{{chr(int(plain, 16))}}}"
    elif name.startswith("GREEK") and " LETTER " in name:
        letter = name.rpartition(" ")[2].lower().replace("lamda", "lambda")
        found = "\\" + (letter if " SMALL " in name else letter.capitalize())
    else:
        found = _MATH.get(sign, "")
    return rf"\ensuremath{{{found}}}" if found else sign


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

    right, long = set(right), len(body) > LINES
    cells = pd.DataFrame([[*map(escape, row)] for row in body], columns=[*map(escape, header)])
    caption = escape(title) if title else None
    text = (
        cells.style.hide(axis="index")
        .to_latex(
            column_format=_columns(body, len(header), right),
            hrules=True,
            caption=caption,
            label=label if title and label else None,
            environment="longtable" if long else "table",
            position_float=None if long else "centering",
        )
        .replace("\\begin{tabular}", "\\begin{adjustbox}{max width=\\linewidth}\n\\begin{tabular}")
        .replace("\\end{tabular}", "\\end{tabular}\n\\end{adjustbox}")
    )
    if note:
        below = f"\n\\smallskip\n{{\\footnotesize {escape(note)}\\par}}\n"
        text = text + below if long else text.replace("\\end{table}", below + "\\end{table}")
    if long:
        text = f"\\begingroup\n\\footnotesize\n{text}\\endgroup\n"
    return f"% \\usepackage{{adjustbox, array, booktabs, longtable}}\n{text}"


def _columns(body: Sequence[Sequence[str]], count: int, right: set[int]) -> str:
    """How the columns are aligned: numbers to the right, long texts wrapped in equal shares of a line."""
    longest = [max((len(row[place]) for row in body), default=0) for place in range(count)]
    prose = [place for place in range(count) if longest[place] > _PROSE and place not in right]
    wrapped = rf">{{\raggedright\arraybackslash}}p{{{_SHARE / max(len(prose), 1):.2f}\linewidth}}"
    return "".join("r" if place in right else wrapped if place in prose else "l" for place in range(count))
