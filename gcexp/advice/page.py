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

import pandas as pd

from gcexp import __version__
from gcexp.figures.markdown import escape, grid
from gcexp.files import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Page:
    """What is told of a trace.

    Attributes
    ----------
    title : str
    sentences : list of str
        The answer.
    tables : dict of str to DataFrame
        By their headings; all cells are text.
    notes : list of str
        What the answer rests on, and what is taken for granted.
    """

    title: str
    sentences: list[str]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For a terminal."""
        parts = [f"{heading}:\n{_aligned(table)}\n" for heading, table in self.tables.items()]
        return "\n".join([*self.sentences, "", *parts, *self.notes]).rstrip() + "\n"

    def markdown(self, picture: str = "", level: int = 1) -> str:
        """As a page, or a section of one."""
        parts = [f"{'#' * level} {escape(self.title)}", *map(escape, self.sentences)]
        if picture:
            parts.append(f"![{escape(self.title)}]({picture})")
        for heading, table in self.tables.items():
            shown = grid(list(table), table.to_numpy(), right=range(1, table.shape[1]))
            parts += [f"{'#' * (level + 1)} {escape(heading)}", shown.rstrip()]
        parts.append("\n".join(f"* {escape(note)}" for note in self.notes))
        return "\n\n".join(filter(None, parts)) + "\n"

    def html(self) -> str:
        """For a notebook."""
        parts = [f"<p>{html_escape(sentence)}</p>" for sentence in self.sentences]
        for heading, table in self.tables.items():
            parts.append(f"<p><b>{html_escape(heading)}</b></p>{table.to_html(index=False)}")
        parts += [f"<li>{html_escape(note)}</li>" for note in self.notes]
        return "".join(parts)


def _aligned(table: pd.DataFrame) -> str:
    """A table as lines of text: the first and the last column from the left, the others from the right."""
    first, last = table.columns[[0, -1]]
    columns = []
    for name in table:
        cells = pd.Series([name, *table[name]]).astype(str)
        columns.append(cells.str.pad(cells.str.len().max(), "right" if name in (first, last) else "left"))
    lines = pd.concat(columns, axis=1).agg("  ".join, axis=1)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def write(
    folder: Path, name: str, page: str, facts: dict[str, Any], drawing: Callable[[], Figure]
) -> list[Path]:
    """Write ``name.json``, ``name.md`` and ``name.png`` under a folder."""
    from gcexp.figures import save

    told, shown, drawn = (folder / f"{name}.{suffix}" for suffix in ("json", "md", "png"))
    for path, text in ((shown, page), (told, json.dumps(_plain(facts), indent=1) + "\n")):
        with written(path) as temporary:
            temporary.write_text(text, "utf-8")
    save(drawing(), [drawn])
    return [told, shown, drawn]


def versions() -> dict[str, str]:
    """Of what an answer was made with."""
    import numpy
    import scipy

    libraries = {"numpy": numpy.__version__, "scipy": scipy.__version__}
    return {"gcexp": __version__, **libraries, "python": platform.python_version()}


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


def listed(names: Sequence[object]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed([3]), listed(["a", "b", "c"])
    ('3', 'a, b and c')
    """
    words = list(map(str, names))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "worker"), counted(2, "stretch")
    ('1 worker', '2 stretches')
    """
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun if number == 1 else noun + plural}"
