"""An answer as it is shown: sentences first, then tables, then notes; as text, Markdown and HTML."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass, field
from html import escape as html_escape
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from gcexp.figures.markdown import escape, grid
from gcexp.files import write_text, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STYLE = (
    "body{max-width:60em;margin:2em auto;padding:0 1em;font-family:sans-serif}"
    "table{border-collapse:collapse}td,th{padding:.2em .6em;text-align:right}img{max-width:100%}"
)


@dataclass(frozen=True)
class Page:
    """What is told of a trace: sentences, more of them by their headings, then tables and notes."""

    title: str
    sentences: list[str]
    tables: dict[str, pd.DataFrame]
    notes: list[str] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        """For a terminal."""
        parts = []
        for heading, sentences in self.sections.items():
            parts.append("\n".join([f"{heading}:", *sentences, ""]))
        for heading, table in self.tables.items():
            shown = _cells(table)
            lines = shown.set_index(shown.columns[0]).rename_axis(None).to_string()
            parts.append(f"{heading}:\n{lines}\n")
        first = [*self.sentences, ""] if self.sentences else []
        return "\n".join([*first, *parts, *self.notes]).rstrip() + "\n"

    def markdown(self, picture: str = "", level: int = 1) -> str:
        """As a page, or a section of one."""
        parts = [f"{'#' * level} {escape(self.title)}", *map(escape, self.sentences)]
        for heading, sentences in self.sections.items():
            parts.append(f"{'#' * (level + 1)} {escape(heading)}")
            parts += map(escape, sentences)
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
        for heading, sentences in self.sections.items():
            parts.append(f"<p><b>{html_escape(heading)}</b></p>")
            parts += [f"<p>{html_escape(sentence)}</p>" for sentence in sentences]
        for heading, table in self.tables.items():
            parts.append(f"<p><b>{html_escape(heading)}</b></p>")
            parts.append(_cells(table).to_html(index=False))
        parts += [f"<li>{html_escape(note)}</li>" for note in self.notes]
        return "".join(parts)

    def whole_html(self, pictures: list[bytes]) -> str:
        """As one file that needs no other: the pictures, as PNG, are in it."""
        shown = "".join(
            f'<p><img alt="{html_escape(self.title)}" src="data:image/png;base64,{b64encode(one).decode()}"></p>'
            for one in pictures
        )
        title = html_escape(self.title)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
            f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n{self.html()}\n{shown}\n</body></html>\n"
        )


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """A table as text: numbers with four digits, nothing where there is none."""
    shown = table.map(_cell).where(table.notna(), "")
    return shown.rename(columns=lambda name: name.replace("_", " "))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(
    folder: Path, name: str, page: Page, text: str, facts: dict[str, Any], pictures: list[Figure]
) -> list[Path]:
    """Write ``name.json``, ``name.md``, ``name.png``, the first picture, and ``name.html``, which has all in it."""
    whole = folder / f"{name}.html"
    of_facts = folder / f"{name}.json"
    of_page = folder / f"{name}.md"
    of_picture = folder / f"{name}.png"
    write_text(of_facts, json.dumps(_plain(facts), indent=1) + "\n")
    write_text(of_page, text)
    images = [drawn(picture) for picture in pictures]
    with written(of_picture) as temporary:
        temporary.write_bytes(images[0])
    write_text(whole, page.whole_html(images))
    return [of_facts, of_page, of_picture, whole]


def drawn(picture: Figure) -> bytes:
    """A picture as PNG."""
    from gcexp.figures import save  # matplotlib is slow to import

    with TemporaryDirectory() as place:
        image = Path(place) / "picture.png"
        save(picture, [image])
        return image.read_bytes()


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
