"""How the lines of a text are divided into cells: comments, header, separator; and that a log of words is not."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.contents import Content
from gcexp_adviser.logs.names import SYNONYMS, Names, listed, names_of
from gcexp_adviser.logs.recipes import HEADERS, LAUNCHER, WORDS, see

UNNAMED = "Unnamed: "  # begins the name of a column without one, as pandas writes it
MOST_COLUMNS = 2**15
_TRIED = 40  # first lines by which a separator is chosen
_TRIED_BYTES = 2**20
_PLURAL = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_BEGINS = 40  # letters of a line in a sentence
_WORD = re.compile(r"[A-Za-z_]{2,}")
_OF_SENTENCE = 4  # words from which on they are a sentence, and no name of a column


@dataclass(frozen=True)
class Layout:
    """A text that is divided into cells.

    Attributes
    ----------
    place : str
        How sentences begin: ``trace mine.csv``.
    data : bytes
        The text without comments.
    begin : int
        Where its rows begin, behind the header.
    header : list of str
        Names of the columns.
    named : bool
        Whether the header was in the file.
    """

    place: str
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


def layout_of(content: Content) -> Layout:
    """How a text is divided into cells.

    Raises
    ------
    DataError
        For lines that differ in their number of cells, and text that is no table.
    """
    place = content.place
    data, commented = _without_comments(content.lines)
    lines = _first_lines(data)
    if not lines:
        raise DataError(f"{place}: is empty")
    separator = _separator(lines)
    decisions = [*content.told, *content.cut]
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
    layout = Layout(place, data, begin, _distinct(header, place), separator, named, decisions)
    if named and _repeats_header(layout):
        raise DataError(_sentence_of_words(place))
    if len(header) == 1:
        _refuse_words(content.first_lines, place)
    return layout


@contextmanager
def words_are_refused(content: Content) -> Iterator[None]:
    """Where a text has no cells, raise the `DataError` for a log of words if it is one."""
    try:
        yield
    except DataError:
        _refuse_words(content.first_lines, content.place)
        raise


# --- a log of words ---------------------------------------------------------------------------------------------------


def _refuse_words(lines: list[str], place: str) -> None:
    """Raise `DataError` for a log of words by its first lines, with the recipe for it.

    Some word stands in half of its lines, or the first one is no header, but a sentence or a rule.
    """
    lines_of: Counter[str] = Counter()
    for line in lines:
        lines_of.update(set(_WORD.findall(line)))
    ((_, most),) = lines_of.most_common(1) or [("", 0)]
    if most > 1 and most >= len(lines) / 2:
        raise DataError(_sentence_of_words(place))
    (first, *_) = [*lines, ""]
    cells = re.split(r"[,;|\t]", first)
    words = max(len(cell.split()) for cell in cells)
    is_sentence = words >= _OF_SENTENCE or (len(cells) == 1 and (words > 1 or not re.search(r"\w", first)))
    if first and is_sentence and not names_of(cells).has(*SYNONYMS):
        raise DataError(_sentence_of_words(place))


def _sentence_of_words(place: str) -> str:
    """What to do about a log of words."""
    return (
        f"{place}: is a log of words, which pattern= with named groups reads; {see(WORDS)}, and {LAUNCHER!r}"
    )


def _repeats_header(layout: Layout) -> bool:
    """Whether a name stands in its column in the first row too, but for numbers in it, as in a log of words."""
    rows = _first_lines(layout.data[layout.begin : layout.begin + _TRIED_BYTES])
    for name, cell in zip(layout.header, _cells("".join(rows[:1]), layout.separator), strict=False):
        masked = re.sub(r"\d+", "0", name)
        if re.search(r"[A-Za-z]{2}", name) and masked == re.sub(r"\d+", "0", cell):
            return True
    return False


# --- comments, header, separator --------------------------------------------------------------------------------------


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
