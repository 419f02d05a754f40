"""Tables in text: JSON, or lines of cells, of ``name=value``, or of what a regular expression finds in them."""

from __future__ import annotations

import codecs

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.cells import frame_of
from gcexp_adviser.logs.json_tables import of_json
from gcexp_adviser.logs.lines import (
    has_pairs,
    of_pairs,
    of_pattern,
    refuse_markup_and_objects,
    refuse_preamble,
    refuse_words,
    sentence_of_words,
)
from gcexp_adviser.logs.separators import layout_of
from gcexp_adviser.logs.tables import Table, of_rows

_HEAD = 2**16  # bytes by which it is seen what a text is
_BEGINS = 40  # letters of a line in a sentence


def of_text(data: bytes, place: str, pattern: str = "") -> Table:
    """The table in text, which a pattern reads or else its form says how to.

    Raises
    ------
    DataError
        For what is no text, and text that is no table; the sentence says what to type or names a recipe.
    """
    text, told = _in_utf8(data, place)
    if text.lstrip()[:1] in (b"{", b"[") and not pattern:
        table = of_json(text.decode(), place)
        if table is not None:
            return table
    text, cut = _whole_lines(text)
    told += cut
    head = text[:_HEAD].decode(errors="replace")
    if not pattern:
        refuse_markup_and_objects(head, place)
    if pattern:
        rows, taken = of_pattern(text.decode(), pattern, place)
    elif has_pairs(head):
        rows, taken = of_pairs(text.decode(), place)
    else:
        return _of_cells(text, head, place, told)
    return of_rows(rows, place, [*told, taken])


def _of_cells(data: bytes, head: str, place: str, told: list[str]) -> Table:
    """The table in lines of cells, whose first lines are the `head`."""
    try:
        layout = layout_of(data, place)
        if layout.named and layout.repeats_header:
            raise DataError(sentence_of_words(place))
        if len(layout.header) == 1:
            refuse_words(head, place)
            refuse_preamble(head, place)
        frame = frame_of(layout, place)
    except DataError:
        refuse_words(head, place)
        refuse_preamble(head, place)
        raise
    return Table(
        place=place,
        frame=frame,
        place_of=lambda row: f"line {layout.line_of(row)}",
        decisions=[*told, *layout.decisions],
        named=layout.named,
        semicolons=layout.separator == ";",
    )


def _in_utf8(data: bytes, place: str) -> tuple[bytes, list[str]]:
    """The text of a file in UTF-8, and what is told of its encoding; raise `DataError` for other bytes."""
    told = []
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            data = data.decode("utf-16").encode()
            told = ["took its text for UTF-16"]
        data = data.removeprefix(codecs.BOM_UTF8)
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: is no text in {error.encoding} (byte {error.start}); a table in another encoding is made UTF-8 "
            "by iconv -f latin1 -t utf-8 FILE > NEW"
        ) from None
    if b"\0" in data:
        raise DataError(
            f"{place}: is no text, for it holds zero bytes; a table in UTF-16 needs its byte order mark"
        )
    return data, told


def _whole_lines(data: bytes) -> tuple[bytes, list[str]]:
    """The text, its lines ending with newlines, without a last line that no newline ends, and what is told of that."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = data.rfind(b"\n") + 1
    last = data[end:]
    if not end or not last.strip() or last.startswith(b"#"):
        return data, []
    number = data.count(b"\n") + 1
    told = (
        f"left out line {number}, {quoted(last.decode(), _BEGINS)}: no newline ends it, so it may have "
        "been cut off; where it is whole, end the file with a newline"
    )
    return data[:end], [told]
