"""An answer as it is shown: sentences first, then tables, then notes; as text, Markdown and HTML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape as html_escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gcexp.figures.markdown import escape, grid
from gcexp.files import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Page:
    """What is told of a trace: the answer, tables by their headings, and what the answer rests on."""

    title: str
    sentences: list[str]
    tables: dict[str, pd.DataFrame]
    notes: list[str]

    def text(self) -> str:
        """For a terminal."""
        parts = []
        for heading, table in self.tables.items():
            shown = _cells(table)
            lines = shown.set_index(shown.columns[0]).rename_axis(None).to_string()
            parts.append(f"{heading}:\n{lines}\n")
        return "\n".join([*self.sentences, "", *parts, *self.notes]).rstrip() + "\n"

    def markdown(self, picture: str = "", level: int = 1) -> str:
        """As a page, or a section of one."""
        parts = [f"{'#' * level} {escape(self.title)}", *map(escape, self.sentences)]
        if picture:
            parts.append(f"![{escape(self.title)}]({picture})")
        for heading, table in self.tables.items():
            shown = _cells(table)
            parts.append(f"{'#' * (level + 1)} {escape(heading)}")
            parts.append(grid(list(shown), shown.to_numpy(), right=range(1, shown.shape[1])).rstrip())
        parts.append("\n".join(f"* {escape(note)}" for note in self.notes))
        return "\n\n".join(filter(None, parts)) + "\n"

    def html(self) -> str:
        """For a notebook."""
        parts = [f"<p>{html_escape(sentence)}</p>" for sentence in self.sentences]
        for heading, table in self.tables.items():
            parts.append(f"<p><b>{html_escape(heading)}</b></p>")
            parts.append(_cells(table).to_html(index=False))
        parts += [f"<li>{html_escape(note)}</li>" for note in self.notes]
        return "".join(parts)


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """A table as text: numbers with four digits, nothing where there is none."""
    shown = table.map(_cell).where(table.notna(), "")
    return shown.rename(columns=lambda name: name.replace("_", " "))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(folder: Path, name: str, page: str, facts: dict[str, Any], picture: Figure) -> list[Path]:
    """Write ``name.json``, ``name.md`` and ``name.png`` under a folder."""
    from gcexp.figures import save  # matplotlib is slow to import

    of_facts, of_page, of_picture = (folder / f"{name}.{suffix}" for suffix in ("json", "md", "png"))
    write_text(of_facts, json.dumps(_plain(facts), indent=1) + "\n")
    write_text(of_page, page)
    save(picture, [of_picture])
    return [of_facts, of_page, of_picture]


def _plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy become numbers, and what is no number becomes null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def percent(ratio: float, digits: int = 0) -> str:
    """A ratio in per cent."""
    return f"{100 * ratio:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """A number of things: 1 worker, 2 stretches."""
    if number == 1:
        return f"{number} {noun}"
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{plural}"
