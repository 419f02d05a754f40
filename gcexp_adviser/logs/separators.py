"""How the lines of a text are divided into cells: comments, header, separator."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from io import StringIO

import numpy as np

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import is_unit, listed
from gcexp_adviser.logs.numbers import is_empty

UNNAMED = "Unnamed: "  # begins the name of a column without one, as pandas writes it
_TRIED = 40  # first lines by which a separator is chosen
_PLURAL = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
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
    shown = _first_lines(text)
    if not shown:
        raise DataError(f"{place}: is empty")
    separator = _separator(shown)
    decisions = []
    if separator != ",":
        decisions.append(f"columns are divided by {_PLURAL[separator]}")
    if separator == " ":
        text = re.sub(r"[ \t]+", " ", text)
        text = re.sub(r"^ | $", "", text, flags=re.MULTILINE)
        shown[0] = _with_single_spaces(shown[0])
    begin = text.index(shown[0])
    first = _cells(shown[0], separator)
    if _is_header(first):
        header, named = first, True
        begin += len(shown[0]) + 1
        units = _units_below(header, shown[1:2], separator)
        if units:
            header = _with_units(header, units)
            begin = text.index(shown[1], begin) + len(shown[1]) + 1
            decisions.append("took the row below the header for units")
        body, repeated = _without_repeated(text[begin:], shown[0])
        decisions += repeated
    else:
        header, named = _header_without_line(commented, separator, len(first))
        body = text[begin:]
        if named:
            decisions.append("took the last comment before the rows for the header")
    first_line = text.count("\n", 0, begin) + 1
    header, body, more = _matched(header, body, separator, first_line, place)
    return Layout(body, _distinct(header, place), separator, first_line, named, [*decisions, *more])


def _first_lines(text: str) -> list[str]:
    """The first lines that are not empty, whole ones where there are any."""
    lines = text.split("\n", _TRIED + text[:4096].count("\n\n") + 8)
    rest = lines.pop()
    filled = list(filter(str.strip, lines))
    if not filled and rest.strip():
        return [rest]
    return filled[:_TRIED]


def _header_without_line(commented: str, separator: str, width: int) -> tuple[list[str], bool]:
    """The header of rows without a line of names: the comment before them, if it fits, and whether it does."""
    if commented:
        header = _cells(commented, separator)
        if len(header) == width:
            return header, True
    numbered = []
    for number in range(1, width + 1):
        numbered.append(f"column{number}")
    return numbered, False


def _distinct(header: list[str], place: str) -> list[str]:
    """The names of columns, of which empty ones get a name; raise `DataError` for a name that stands twice."""
    found: list[str] = []
    for number, written in enumerate(header):
        name = written.strip() or f"{UNNAMED}{number}"
        if name in found:
            count = list(map(str.strip, header)).count(name)
            told = f"{place} has {count} columns {quoted(name)}; it has {listed(header)}"
            if any(map(str.isalpha, name)):
                told += (
                    '; where pandas wrote levels of columns, keep a part: python -c "import pandas as pd; '
                    f"pd.read_csv('FILE', header=[0, 1], index_col=0)[{name!r}].to_csv('part.csv')\""
                )
            raise DataError(told)
        found.append(name)
    return found


def _is_header(cells: list[str]) -> bool:
    """Whether a first line has names; one with decimals or a number twice is a row, even if words are in it."""
    if _counts_behind_index(cells):
        return True
    numbers = []
    words = 0
    for cell in cells:
        if _NUMBER.fullmatch(cell):
            numbers.append(cell)
        elif cell:
            words += 1
    if not words:
        return False
    written = " ".join(numbers)
    has_decimals = "." in written or "," in written
    return len(set(numbers)) == len(numbers) and not has_decimals


def _counts_behind_index(cells: list[str]) -> bool:
    """Whether a line is the header that pandas writes for the frame of an array: nothing above the index, then 0, 1, 2.

    >>> _counts_behind_index(["", "0", "1", "2"]), _counts_behind_index(["", "3", "5"])
    (True, False)
    """
    counted = list(map(str, range(len(cells) - 1)))
    return len(cells) > 2 and cells[0] == "" and cells[1:] == counted


def _units_below(header: list[str], lines: list[str], separator: str) -> list[str]:
    """The units in the line below a header, empty cells among them; nothing where that line is another one."""
    if not lines:
        return []
    cells = [cell.strip("[]() ") for cell in _cells(lines[0], separator)]
    if len(cells) != len(header) or any(map(_NUMBER.fullmatch, cells)):
        return []
    units = ["" if is_empty(cell) else cell for cell in cells]
    return units if any(is_unit(unit) for unit in units) else []


def _with_units(header: list[str], units: list[str]) -> list[str]:
    """Names of columns with their units, as ``step time (ms)``.

    >>> _with_units(["step", "time"], ["", "ms"])
    ['step', 'time (ms)']
    """
    return [f"{name} ({unit})" if unit else name for name, unit in zip(header, units, strict=True)]


def _without_repeated(body: str, header: str) -> tuple[str, list[str]]:
    """The rows without further headers, as of a run that was started again, and what is told of these."""
    count = f"\n{body}".count(f"\n{header}\n")
    if not count:
        return body, []
    body = f"\n{body}".replace(f"\n{header}\n", "\n\n").removeprefix("\n")
    lines = "1 further header" if count == 1 else f"{count} further headers"
    return body, [f"left out {lines} between the rows"]


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


def _separator(lines: list[str]) -> str:
    """What divides the lines into cells: the sign that gives the header most of them, equally many as the rows."""
    found: dict[str, int] = {}
    for separator in (";", "\t", "|", ",", " "):
        widths = _widths_of(lines, separator)
        usual = widths[1] if len(widths) > 1 else widths[0]
        regular = widths[1:].count(usual) > 0.5 * len(widths[1:]) or len(widths) == 1
        if widths[0] > 1 and regular and abs(usual - widths[0]) <= 1:
            found[separator] = widths[0]
    if not found:
        return ","
    has_spaces = found.pop(" ", 0)
    if not found:
        return " "
    best = next(iter(found))
    are_numbers = map(_NUMBER.fullmatch, _cells(lines[0], best))
    if not all(are_numbers):  # in a header a comma is no decimal sign
        best = max(found, key=found.__getitem__)
    if best == "," and ";" not in found and _decimal_commas_only(lines):
        return " " if has_spaces else ","
    return best


def _widths_of(lines: list[str], separator: str) -> list[int]:
    """How many cells some lines have."""
    widths = []
    for line in lines:
        if separator == " ":
            line = _with_single_spaces(line)
        widths.append(len(_cells(line, separator)))
    return widths


def _with_single_spaces(line: str) -> str:
    return " ".join(line.split())


def _decimal_commas_only(lines: list[str]) -> bool:
    """Whether the commas of the rows stand within numbers of cells that spaces divide: ``0 1 0,321``."""
    if "," in lines[0]:
        return False
    for row in lines[1:] or lines:
        if " " not in row.strip():
            return False
    return True


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
