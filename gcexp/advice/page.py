"""An answer as it is shown: sentences first, then tables, then notes; as text, Markdown and HTML."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape as html_escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp import __version__
from gcexp.figures.markdown import escape, grid
from gcexp.files import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """A table with its heading; all cells are text."""

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Page:
    """What is told of a trace.

    Attributes
    ----------
    title : str
    sentences : list of str
        The answer.
    tables : list of Table
    notes : list of str
        What the answer rests on, and what is taken for granted.
    """

    title: str
    sentences: list[str]
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For a terminal."""
        lines = [*self.sentences, ""]
        for table in self.tables:
            cells = [list(table.header), *map(list, table.rows)]
            widths = [max(len(row[place]) for row in cells) for place in range(len(table.header))]
            lines.append(f"{table.heading}:")
            for row in cells:
                padded = (
                    cell.ljust(width) if place in (0, len(row) - 1) else cell.rjust(width)
                    for place, (cell, width) in enumerate(zip(row, widths, strict=True))
                )
                lines.append("  " + "  ".join(padded).rstrip())
            lines.append("")
        return "\n".join([*lines, *self.notes]).rstrip() + "\n"

    def markdown(self, picture: str = "", level: int = 1) -> str:
        """As a page, or a section of one."""
        parts = [f"{'#' * level} {escape(self.title)}", *map(escape, self.sentences)]
        if picture:
            parts.append(f"![{escape(self.title)}]({picture})")
        for table in self.tables:
            shown = grid(table.header, table.rows, right=range(1, len(table.header)))
            parts += [f"{'#' * (level + 1)} {escape(table.heading)}", shown.rstrip()]
        if self.notes:
            parts.append("\n".join(f"* {escape(note)}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """For a notebook."""
        parts = [f"<p>{html_escape(sentence)}</p>" for sentence in self.sentences]
        for table in self.tables:
            head = "".join(f"<th>{html_escape(cell)}</th>" for cell in table.header)
            rows = "".join(
                f"<tr>{''.join(f'<td>{html_escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
            )
            parts.append(f"<p><b>{html_escape(table.heading)}</b></p><table><tr>{head}</tr>{rows}</table>")
        notes = "".join(f"<li>{html_escape(note)}</li>" for note in self.notes)
        return "".join(parts) + (f"<ul>{notes}</ul>" if notes else "")


def write(
    folder: Path, name: str, page: Page, facts: dict[str, Any], drawing: Callable[[], Figure]
) -> list[Path]:
    """Write ``name.json``, ``name.md`` and ``name.png`` under a folder."""
    from gcexp.figures import save

    shown, told, drawn = (folder / f"{name}.{suffix}" for suffix in ("md", "json", "png"))
    with written(shown) as temporary:
        temporary.write_text(page.markdown(drawn.name), "utf-8")
    with written(told) as temporary:
        temporary.write_text(json.dumps(_plain(facts), indent=1) + "\n", "utf-8")
    save(drawing(), [drawn])
    return [told, shown, drawn]


def versions() -> dict[str, str]:
    """Of what an answer was made with."""
    import numpy
    import scipy

    return {
        "gcexp": __version__,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy become numbers, and what is no number becomes null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not isfinite(value) else value


def percent(ratio: float, digits: int = 0) -> str:
    """A ratio in per cent.

    Examples
    --------
    >>> percent(0.404), percent(0.9813, 1)
    ('40 %', '98.1 %')
    """
    return f"{100 * ratio:.{digits}f} %"


def listed(names: Sequence[object], joint: str = "and") -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed([3]), listed(["a", "b", "c"])
    ('3', 'a, b and c')
    """
    words = list(map(str, names))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"
