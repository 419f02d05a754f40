"""Tables in text: lines of cells, of ``name=value``, or of what a regular expression finds in them."""

from __future__ import annotations

from gcexp.errors import DataError
from gcexp_adviser.logs.cells import frame_of
from gcexp_adviser.logs.lines import (
    has_pairs,
    of_pairs,
    of_pattern,
    refuse_markup_and_objects,
    refuse_words,
    sentence_of_words,
)
from gcexp_adviser.logs.separators import layout_of, whole_lines
from gcexp_adviser.logs.tables import Table, of_rows

_HEAD = 2**16  # bytes by which it is seen what a text is


def of_text(data: bytes, place: str, told: list[str], pattern: str = "") -> Table:
    """The table in text, which is UTF-8.

    Raises
    ------
    DataError
        For text that is no table; the sentence says what to type or names a recipe.
    """
    data, cut = whole_lines(data)
    told = [*told, *cut]
    head = data[:_HEAD].decode(errors="replace")
    if not pattern:
        refuse_markup_and_objects(head, place)
    if pattern:
        rows, taken = of_pattern(data.decode(), pattern, place)
    elif has_pairs(head):
        rows, taken = of_pairs(data.decode(), place)
    else:
        return _of_cells(data, head, place, told)
    return of_rows(rows, place, [*told, taken])


def _of_cells(data: bytes, head: str, place: str, told: list[str]) -> Table:
    """The table in lines of cells, whose first lines are the `head`."""
    try:
        layout = layout_of(data, place)
        if layout.named and layout.repeats_header:
            raise DataError(sentence_of_words(place))
        if len(layout.header) == 1:
            refuse_words(head, place)
        frame = frame_of(layout, place)
    except DataError:
        refuse_words(head, place)
        raise
    return Table(
        place=place,
        frame=frame,
        place_of=lambda row: f"line {layout.line_of(row)}",
        decisions=[*told, *layout.decisions],
        named=layout.named,
        semicolons=layout.separator == ";",
    )
