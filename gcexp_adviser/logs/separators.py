"""How the lines of a text are divided into cells: comments, header, separator."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, TextIOWrapper

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import Names, listed, names_of
from gcexp_adviser.logs.recipes import HEADERS, see

UNNAMED = "Unnamed: "  # begins the name of a column without one, as pandas writes it
MOST_COLUMNS = 2**15
_TRIED = 40  # first lines by which a separator is chosen
_TRIED_BYTES = 2**20
_PLURAL = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_BEGINS = 40  # letters of a line in a sentence


@dataclass(frozen=True)
class Layout:
    """A text that is divided into cells.

    Attributes
    ----------
    data : bytes
        The text without comments.
    begin : int
        Where its rows begin, behind the header.
    header : list of str
        Names of the columns.
    named : bool
        Whether the header was in the file.
    """

    data: bytes
    begin: int
    header: list[str]
    separator: str
    named: bool
    decisions: list[str]

    @cached_property
    def names(self) -> Names:
        """What the names of the columns say."""
        return names_of(self.header)

    @property
    def repeats_header(self) -> bool:
        """Whether a name stands in its column in the first row too, but for numbers in it, as in a log of words."""
        rows = _first_lines(self.data[self.begin : self.begin + _TRIED_BYTES])
        for name, cell in zip(self.header, _cells("".join(rows[:1]), self.separator), strict=False):
            masked = re.sub(r"\d+", "0", name)
            if re.search(r"[A-Za-z]{2}", name) and masked == re.sub(r"\d+", "0", cell):
                return True
        return False

    @property
    def blanks(self) -> bytes:
        """What a line may hold that pandas leaves out as empty."""
        return b" \t".replace(self.separator.encode(), b"")

    def line_of(self, row: int) -> int:
        """The number of the line, from 1, in which a row begins."""
        before = self.data.count(b"\n", 0, self.begin)
        if b'"' in self.data:
            return before + _numbers_of_lines(self)[row]
        at = self.begin
        while row >= 0:
            end = self.data.find(b"\n", at)
            row -= bool(self.data[at:end].strip(self.blanks))
            before += 1
            at = end + 1
        return before


def layout_of(data: bytes, place: str) -> Layout:
    """How a text is divided into cells.

    Raises
    ------
    DataError
        For lines that differ in their number of cells, and text that is no table.
    """
    data, commented = _without_comments(data)
    lines = _first_lines(data)
    if not lines:
        raise DataError(f"{place}: is empty")
    separator = _separator(lines)
    decisions = []
    if separator != ",":
        decisions.append(f"columns are divided by {_PLURAL[separator]}")
    if separator == " ":
        data = re.sub(rb"[ \t]+", b" ", data)
        data = re.sub(rb"^ | $", b"", data, flags=re.MULTILINE)
        lines = _first_lines(data)
    header = _cells(lines[0], separator)
    begin = data.index(lines[0].encode())
    if len(header) > MOST_COLUMNS:
        raise DataError(f"{place} has {len(header)} columns; more than {MOST_COLUMNS} are not read")
    named = _is_header(header) or _numbers_columns(header, _cells(lines[-1], separator))
    if named:
        begin += len(lines[0].encode()) + 1
        data, repeated = _without_repeated(data, begin, lines[0])
        decisions += repeated
    elif _fits(commented, separator, len(header)):
        header, named = _cells(commented, separator), True
        decisions.append("took the last comment before the rows for the header")
    else:
        header = [f"column{number}" for number in range(1, len(header) + 1)]
    return Layout(data, begin, _distinct(header, place), separator, named, decisions)


def _without_comments(data: bytes) -> tuple[bytes, str]:
    """The text with empty lines for comments, and the last comment before the first row; np.savetxt writes names so."""
    if b"#" not in data or not (data.startswith(b"#") or b"\n#" in data):
        return data, ""
    found = ""
    for line in data[:_TRIED_BYTES].decode(errors="replace").split("\n"):
        if line.startswith("#"):
            found = line.lstrip("# ")
        elif line.strip():
            break
    return re.sub(rb"^#.*$", b"", data, flags=re.MULTILINE), found


def _first_lines(data: bytes) -> list[str]:
    """The first lines that are not empty, two at least."""
    lines: list[str] = []
    at = 0
    while at < len(data) and (len(lines) < 2 or (len(lines) < _TRIED and at < _TRIED_BYTES)):
        end = data.find(b"\n", at)
        if end < 0:
            end = len(data)
        line = data[at:end].decode()
        if line.strip():
            lines.append(line)
        at = end + 1
    return lines


def _fits(commented: str, separator: str, width: int) -> bool:
    """Whether a comment may be the header of rows of so many cells."""
    return bool(commented) and len(_cells(commented, separator)) == width


def _distinct(header: list[str], place: str) -> list[str]:
    """The names of columns, of which empty ones get a name; raise `DataError` for a name that stands twice."""
    found = []
    for number, written in enumerate(header):
        found.append(written.strip() or f"{UNNAMED}{number}")
    ((name, count),) = Counter(found).most_common(1)
    if count > 1:
        told = f"{place} has {count} columns {quoted(name)}; it has {listed(header)}"
        raise DataError(f"{told}; where levels of columns were written, {see(HEADERS)}")
    return found


def _is_header(cells: list[str]) -> bool:
    """Whether a first line has names; one with decimals or a number twice is a row, even if words are in it.

    The header that pandas writes for the frame of an array has nothing above the index, then 0, 1, 2.

    >>> _is_header(["step", "rank0"]), _is_header(["job", "5.0"]), _is_header(["", "0", "1"])
    (True, False, True)
    """
    if len(cells) > 2 and cells == ["", *map(str, range(len(cells) - 1))]:
        return True
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    words = [cell for cell in cells if cell and not _NUMBER.fullmatch(cell)]
    if not words:
        return False
    has_decimals = any("." in number or "," in number for number in numbers)
    return len(set(numbers)) == len(numbers) and not has_decimals


def _numbers_columns(cells: list[str], row: list[str]) -> bool:
    """Whether a first line of three or more whole numbers counts the columns from 0 or 1, above rows with decimals.

    Five or more such numbers are no row of times either.

    >>> (
    ...     _numbers_columns(["1", "2", "3"], ["0.5", "0.25", "0.5"]),
    ...     _numbers_columns(["1", "2", "3"], ["1", "3", "4"]),
    ... )
    (True, False)
    """
    count = len(cells)
    if count < 3 or cells not in ([*map(str, range(count))], [*map(str, range(1, count + 1))]):
        return False
    return count >= 5 or all("." in cell or "," in cell for cell in row)


def _without_repeated(data: bytes, begin: int, header: str) -> tuple[bytes, list[str]]:
    """The text without further headers, as of a run that was started again, and what is told of these."""
    line = f"\n{header}\n".encode()
    count = data.count(line, begin - 1)
    if not count:
        return data, []
    lines = "1 further header" if count == 1 else f"{count} further headers"
    return data[:begin] + data[begin - 1 :].replace(line, b"\n\n")[1:], [f"left out {lines} between the rows"]


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
            line = " ".join(line.split())
        widths.append(len(_cells(line, separator)))
    return widths


def _decimal_commas_only(lines: list[str]) -> bool:
    """Whether the commas of the rows stand within numbers of cells that spaces divide: ``0 1 0,321``."""
    if "," in lines[0]:
        return False
    return all(" " in row.strip() for row in lines[1:] or lines)


def lines_of_cells(layout: Layout):
    """A reader of the rows, cell by cell, where some cells are quoted."""
    rows = BytesIO(layout.data)
    rows.seek(layout.begin)
    return csv.reader(TextIOWrapper(rows, "utf-8", newline=""), delimiter=layout.separator)


def is_row(cells: list[str]) -> bool:
    """Whether a line has cells that pandas does not leave out as empty."""
    return len(cells) > 1 or bool("".join(cells).strip())


def _numbers_of_lines(layout: Layout) -> list[int]:
    """The line in which each row ends, from 1, where some cells are quoted."""
    lines = lines_of_cells(layout)
    return [lines.line_num for cells in lines if is_row(cells)]
