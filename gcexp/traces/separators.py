"""How the lines of a text are divided into cells: comments, header, separator."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from io import StringIO

import numpy as np

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.names import listed

UNNAMED = "Unnamed: "  # begins the name of a column without one, as pandas writes it
_TRIED = 40  # first lines by which a separator is chosen
_SPELLED = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_RULE = re.compile(r"^[ \t|+:=-]*[-=]{2,}[ \t|+:=-]*$", re.MULTILINE)  # ----- under a header
_BEGINS = 40  # letters of a line in a sentence


@dataclass(frozen=True)
class Layout:
    """A text that is divided into cells.

    ``body`` holds the rows, without header and comments; its first line is line `first_line` of the file. Its lines
    all have `width` cells. `named` says whether the `header` was in the file.
    """

    body: str
    header: list[str]
    separator: str
    first_line: int
    named: bool
    decisions: list[str]

    @property
    def width(self) -> int:
        """Cells of a line."""
        return len(self.header)


def whole_lines(text: str) -> tuple[str, list[str]]:
    """The text, its lines ending with newlines, without a last line that no newline ends, and what is told of that."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    whole, newline, last = text.rpartition("\n")
    if not newline or not last.strip() or last.startswith("#"):
        return text, []
    number = whole.count("\n") + 2
    told = (
        f"left out line {number}, {quoted(last, _BEGINS)}: no newline ends it, so it may have been cut off; where it "
        "is whole, end the file with a newline"
    )
    return whole + newline, [told]


def layout_of(text: str, place: str) -> Layout:
    """How a text is divided into cells.

    Raises
    ------
    DataError
        For lines that differ in their number of cells, and text that is no table.
    """
    commented = ""
    if text.startswith("#") or "\n#" in text:
        commented = _last_comment(text)
        text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    if "--" in text[:4096] or "==" in text[:4096]:
        head = _RULE.sub("", text[:4096])
        text = head + text[4096:]
    lines = text.split("\n", _TRIED + text[:4096].count("\n\n") + 8)
    shown = [line for line in lines[:-1] if line.strip()][:_TRIED]
    if not shown and lines[-1].strip():
        shown = [lines[-1]]
    if not shown:
        raise DataError(f"{place}: is empty")
    separator = _separator(shown, place)
    decisions = []
    if separator == " ":
        text = re.sub(r"[ \t]+", " ", text)
        text = re.sub(r"^ | $", "", text, flags=re.MULTILINE)
        shown = [" ".join(line.split()) for line in shown]
    if separator != ",":
        decisions.append(f"columns are divided by {_plural(separator)}")
    at = text.index(shown[0])
    first = _cells(shown[0], separator)
    named = _is_header(first)
    if named:
        header = first
        end = at + len(shown[0])
        body, first_line = text[end + 1 :], text.count("\n", 0, end) + 2
        body, repeated = _without_repeated(body, shown[0])
        decisions += repeated
    else:
        body, first_line = text[at:], text.count("\n", 0, at) + 1
        header = _cells(commented, separator) if commented else []
        if header and len(header) == len(first):
            named = True
            decisions.append("took the last comment before the rows for the header")
        else:
            header = [f"column{number}" for number in range(1, len(first) + 1)]
    header, body, more = _matched(header, body, separator, first_line, place)
    seen = [name.strip() for name in header]
    for name in seen:
        count = seen.count(name)
        if count > 1 and name:
            raise DataError(f"{place} has {count} columns {quoted(name)}; it has {listed(seen)}")
    for number, name in enumerate(seen):
        seen[number] = name or f"{UNNAMED}{number}"
    return Layout(body, seen, separator, first_line, named, [*decisions, *more])


def _is_header(cells: list[str]) -> bool:
    """Whether a first line has names; one with decimals or a number twice is a row, even if words are in it."""
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    if len(numbers) == sum(bool(cell) for cell in cells):
        return False
    twice = len(set(numbers)) < len(numbers)
    with_decimals = any("." in number or "," in number for number in numbers)
    return not (twice or with_decimals)


def _without_repeated(body: str, header: str) -> tuple[str, list[str]]:
    """The rows without further headers, as of a run that was started again, and what is told of these."""
    count = f"\n{body}".count(f"\n{header}\n")
    if not count:
        return body, []
    body = f"\n{body}".replace(f"\n{header}\n", "\n\n").removeprefix("\n")
    lines = "1 further header" if count == 1 else f"{count} further headers"
    return body, [f"left out {lines} between the rows"]


def _plural(separator: str) -> str:
    name = _SPELLED[separator]
    return name if name.endswith("s") else f"{name}s"


def _last_comment(text: str) -> str:
    """The last comment before the first row, without its sign; np.savetxt writes the header so."""
    found = ""
    for line in text.splitlines():
        if line.startswith("#"):
            found = line.lstrip("# ")
        elif line.strip():
            break
    return found


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return [line]


def _separator(lines: list[str], place: str) -> str:
    """What divides the lines into cells: the sign that gives the header most of them, equally many as the rows."""
    found: dict[str, int] = {}
    for separator in (";", "\t", "|", ",", " "):
        divided = [" ".join(line.split()) if separator == " " else line for line in lines]
        widths = [len(_cells(line, separator)) for line in divided]
        rows = widths[1:] or widths
        regular = sum(width == rows[0] for width in rows) > 0.5 * len(rows)
        if widths[0] > 1 and regular and abs(rows[0] - widths[0]) <= 1:
            found[separator] = widths[0]
    if not found:
        return ","
    in_text = [separator for separator in found if separator != " "] or [" "]
    best = in_text[0]
    names = [cell for cell in _cells(lines[0], best) if not _NUMBER.fullmatch(cell)]
    if names:  # in a header a comma is no decimal sign
        best = max(in_text, key=lambda separator: found[separator])
    if best == "," and ";" not in found and _decimal_commas_only(lines):
        return " " if " " in found else ","
    return best


def _decimal_commas_only(lines: list[str]) -> bool:
    """Whether the commas of the rows stand within numbers of cells that spaces divide: ``0 1 0,321``."""
    rows = lines[1:] or lines
    return "," not in lines[0] and all(" " in row.strip() for row in rows)


def _matched(
    header: list[str], body: str, separator: str, first_line: int, place: str
) -> tuple[list[str], str, list[str]]:
    """Header and rows with the same number of cells; raise `DataError` for the first line with another one."""
    widths, lines = _widths(body, separator)
    if not len(widths):
        raise DataError(f"{place} has a header and no rows")
    decisions: list[str] = []
    width = len(header)
    one_more = width + 1
    if len(widths) and (widths == one_more).all() and width:
        starts = [_cells(line, separator) for line in body.split("\n", 3)[:3] if line.strip()]
        if all(cells[-1] == "" for cells in starts):
            header = [*header, ""]
        else:
            header = ["", *header]
            decisions.append(
                "the rows have one cell more than the header: the first one is taken for their name"
            )
        width = one_more
    wrong = np.flatnonzero(widths != width)
    if len(wrong):
        at = wrong[0]
        number = first_line + lines[at] - 1
        raise DataError(f"{place}: line {number} has {widths[at]} cells, the header {width}")
    return header, body, decisions


def _widths(body: str, separator: str) -> tuple[np.ndarray, np.ndarray]:
    """How many cells each row has, and the number of its line in the body, from 1."""
    if '"' not in body:
        signs = np.frombuffer(body.encode(), np.uint8)
        ends = np.flatnonzero(signs == 10)
        if not len(ends) or ends[-1] != len(signs) - 1:
            ends = np.append(ends, len(signs))
        starts = np.append(0, ends[:-1] + 1)
        filled = ends > starts
        separators = np.flatnonzero(signs == ord(separator))
        widths = np.searchsorted(separators, ends) - np.searchsorted(separators, starts) + 1
        return widths[filled], np.flatnonzero(filled) + 1
    found, numbers = [], []
    lines = csv.reader(StringIO(body), delimiter=separator)
    try:
        for cells in lines:
            if cells:
                found.append(len(cells))
                numbers.append(lines.line_num)
    except csv.Error:
        found.append(0)
        numbers.append(lines.line_num)
    return np.array(found, int), np.array(numbers, int)
