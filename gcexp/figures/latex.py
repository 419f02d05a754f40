r"""LaTeX tables that fit the page: what is wide is wrapped or set smaller, what is long goes on on the next page.

How wide a text is set is estimated from above, so that no TeX is needed to write a table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from gcexp.figures.signs import minus

LINE = 345.0  # points of a line of the class article
INCH = 72.27  # points
LINES = 36  # lines beyond which a table goes on on the next page
#: Sizes: how wide letters are to those at 10 pt, and points at either side of a column, \\tabcolsep.
_SIZES = {"": (1.0, 6), "\\small": (0.925, 6), "\\footnotesize": (0.85, 3), "\\scriptsize": (0.8, 2)}
_PROSE = 120.0  # points, beyond which a cell may have several lines

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
    **{
        "<": "<",
        ">": ">",
        "|": "|",
        "≤": r"\le",
        "≥": r"\ge",
        "≠": r"\ne",
        "±": r"\pm",
        "−": "-",
        "×": r"\times",
    },
    **{"⌈": r"\lceil", "⌉": r"\rceil", "⌊": r"\lfloor", "⌋": r"\rfloor", "‖": r"\Vert", "√": r"\surd"},
    **{"→": r"\to", "∞": r"\infty", "·": r"\cdot"},
}
#: Points of letters in Computer Modern at 10 pt, rounded up; of any other 7.8.
_POINTS = {
    **dict.fromkeys("ijl.,:;'![]|·", 2.8),
    **dict.fromkeys("f -_", 3.4),
    **dict.fromkeys("rst()I", 4.0),
    **dict.fromkeys("ce", 4.5),
    **dict.fromkeys("agovz0123456789/*?–", 5.3),
    **dict.fromkeys("bdhknpquxy", 5.6),
    **dict.fromkeys("mw", 8.4),
    **dict.fromkeys("MW", 10.3),
    "%": 8.4,
}


def escape(text: object) -> str:
    r"""Text as plain pdfLaTeX sets it: signs and Greek letters as formulas, a hyphen that means minus as minus.

    Examples
    --------
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


def points(text: str) -> float:
    """Width of a text in Computer Modern at 10 pt, at most.

    Examples
    --------
    >>> points("mw"), points("0.25")
    (16.8, 18.7)
    """
    return round(sum(_POINTS.get(letter, 7.8) for letter in text), 1)


def wrapped(text: str, width: float) -> list[str]:
    """Lines of at most `width` points; a piece that does not fit alone stands alone.

    Examples
    --------
    >>> wrapped("mean iteration_time", 60)
    ['mean', 'iteration_', 'time']
    """
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and points((lines[-1] + piece).rstrip()) > width:
            lines.append(piece)
        else:
            lines[-1] += piece
    return [line.rstrip() for line in lines]


#: What stands between places where a line may end: spaces and low lines.
_PIECE = re.compile(r"[^\s_]+_*\s*|_+\s*")


def _word(text: str) -> float:
    """Points of the longest piece of a text."""
    return max((points(piece.rstrip()) for piece in _PIECE.findall(text)), default=0.0)


def _layout(
    header: Sequence[str], body: Sequence[Sequence[str]], line: float
) -> tuple[str, list[float], list[bool]]:
    """Command of the size, points of each column as measured at 10 pt, and whether its cells are wrapped.

    The largest size at which numbers and short texts stand on one line and longer ones have a third of a line; what is
    then left is shared by the roots of what the columns could use, so that the longest texts have most of it.
    """
    columns = [[row[place] for row in body] for place in range(len(header))]
    cells = [max(map(points, column), default=0.0) for column in columns]
    words = [max(map(_word, (name, *column))) for name, column in zip(header, columns, strict=True)]
    wish = [max(points(name), cell) for name, cell in zip(header, cells, strict=True)]
    need = [max(word, min(cell, _PROSE)) for word, cell in zip(words, cells, strict=True)]
    rooms = {size: (line - 2 * gap * len(header)) / scale for size, (scale, gap) in _SIZES.items()}
    size = next((size for size, room in rooms.items() if sum(need) <= room), "")
    if not size and sum(need) > rooms[size]:  # short texts are wrapped, too; what then is too wide stays so
        size, need = [*rooms][-1], words
    room = rooms[size]

    def given(level: float) -> list[float]:
        return [max(least, min(most, level * most**0.5)) for least, most in zip(need, wish, strict=True)]

    level = max((0.1 * tenths for tenths in range(400) if sum(given(0.1 * tenths)) <= room), default=0.0)
    widths = given(level)
    return size, widths, [width < cell for width, cell in zip(widths, cells, strict=True)]


def grid(
    header: Sequence[str],
    body: Sequence[Sequence[str]],
    right: Iterable[int] = (),
    title: str = "",
    note: str = "",
    label: str = "",
    line: float = LINE,
) -> str:
    r"""A table for the class article: `threeparttable` with the note under it, or `longtable` where it is long.

    Parameters
    ----------
    header : sequence of str
        Column heads, wrapped to the width of their columns.
    body : sequence of sequences of str
        Cells, the same number in every row.
    right : iterable of int
        Columns aligned to the right.
    title, note : str
        The caption, and the text under the table.
    label : str
        What ``\ref`` names; it stands with the caption.
    line : float
        Points of a line.

    Examples
    --------
    >>> print(grid(["n", "what"], [["4", "a_b"]], [0], "Loads", "assumed", "tab:loads"), end="")
    % \usepackage{booktabs, threeparttable}
    \begin{table}
    \centering
    \begin{threeparttable}
    \caption{Loads}
    \label{tab:loads}
    \begin{tabular}{rl}
    \toprule
    n & what \\
    \midrule
    4 & a\_\allowbreak{}b \\
    \bottomrule
    \end{tabular}
    \begin{tablenotes}
    \footnotesize
    \raggedright
    \item assumed
    \end{tablenotes}
    \end{threeparttable}
    \end{table}
    """
    right = set(right)
    header, body = [*map(minus, header)], [[*map(minus, row)] for row in body]
    size, widths, several = _layout(header, body, line)
    scale, gap = _SIZES[size]
    layout = "".join(
        _column(width * scale / line if wrap else None, place in right)
        for place, (width, wrap) in enumerate(zip(widths, several, strict=True))
    )
    heads = [
        _head(name, width, place in right)
        for place, (name, width) in enumerate(zip(header, widths, strict=True))
    ]
    high = [max(len(wrapped(*pair)) for pair in zip(row, widths, strict=True)) for row in body]
    head = [r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    rows = [" & ".join(map(escape, row)) + r" \\" for row in body]
    caption = [rf"\caption{{{escape(title)}}}", *([rf"\label{{{label}}}"] if label else [])] if title else []
    notes = [r"\footnotesize", r"\raggedright", rf"\item {escape(note)}"] if note else []
    look = [size, rf"\setlength{{\tabcolsep}}{{{gap}pt}}"] if size else []
    set_as = _long if sum(high) > LINES else _floating
    packages, lines = set_as(layout, head, rows, caption, notes, look)
    packages = [*(["array"] if any(several) else []), "booktabs", *packages]
    return "\n".join([rf"% \usepackage{{{', '.join(packages)}}}", *lines]) + "\n"


_Lines = list[str]


def _floating(
    layout: str, head: _Lines, rows: _Lines, caption: _Lines, notes: _Lines, look: _Lines
) -> tuple[_Lines, _Lines]:
    """Packages and lines of a table that stands on one page."""
    tabular = [*caption, rf"\begin{{tabular}}{{{layout}}}", *head, *rows, r"\bottomrule", r"\end{tabular}"]
    inside = _within("threeparttable", [*tabular, *(_within("tablenotes", notes) if notes else [])])
    return ["threeparttable"], _within("table", [r"\centering", *look, *inside])


def _long(
    layout: str, head: _Lines, rows: _Lines, caption: _Lines, notes: _Lines, look: _Lines
) -> tuple[_Lines, _Lines]:
    """Packages and lines of a table of several pages."""
    first = [*caption[:-1], caption[-1] + r" \\"] if caption else []
    more = rf"\multicolumn{{{head[1].count('&') + 1}}}{{r}}{{continued on the next page}} \\"
    foot = [r"\midrule", more, r"\endfoot", r"\bottomrule"]
    foot += [*([r"\insertTableNotes"] if notes else []), r"\endlastfoot"]
    table = [rf"\begin{{longtable}}{{{layout}}}", *first, *head, r"\endfirsthead", *head, r"\endhead"]
    table += [*foot, *rows, r"\end{longtable}"]
    if notes:
        table = _within("ThreePartTable", [*_within("TableNotes", notes), *table])
    return ["longtable", *(["threeparttablex"] if notes else [])], [
        r"\begingroup",
        *look,
        *table,
        r"\endgroup",
    ]


def _within(name: str, lines: _Lines) -> _Lines:
    return [rf"\begin{{{name}}}", *lines, rf"\end{{{name}}}"]


def _column(share: float | None, right: bool) -> str:
    """A column as wide as its cells, or of a share of the line in which they are wrapped."""
    if share is None:
        return "r" if right else "l"
    return rf">{{\ragged{'left' if right else 'right'}\arraybackslash}}p{{{share:.4f}\linewidth}}"


def _head(name: str, width: float, right: bool) -> str:
    """A column's head on as many lines as it needs, the last one level with its neighbours'."""
    lines = wrapped(name, width)
    text = r"\\".join(map(escape, lines))
    if len(lines) == 1:
        return text
    return rf"\begin{{tabular}}[b]{{@{{}}{'r' if right else 'l'}@{{}}}}{text}\end{{tabular}}"
