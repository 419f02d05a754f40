"""An answer as it is shown: sentences first, then tables, then notes; as text, Markdown and HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from gcexp.figures.markdown import escape, grid
from gcexp_adviser.page.environment import environment

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_TITLE, _HEADING = "# ", "## "
_NOTES = "Notes"  # the heading of what stands below the tables, where no heading is needed


@dataclass(frozen=True)
class Page:
    """What is told of a trace: sentences, more of them by their headings, then tables and notes."""

    title: str
    sentences: list[str]
    tables: dict[str, pd.DataFrame]
    notes: list[str] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, paragraphs: Iterable[str], tables: dict[str, pd.DataFrame]) -> Page:
        """A page from the paragraphs of its template, with a title, headings and ``## Notes``, and from its tables.

        >>> page = Page.of(["# Advice", "First.", "## What to set", "Nothing.", "## Notes", "Of 3 rows."], {})
        >>> page.title, page.sentences, page.sections, page.notes
        ('Advice', ['First.'], {'What to set': ['Nothing.']}, ['Of 3 rows.'])
        """
        title = ""
        sentences: list[str] = []
        sections: dict[str, list[str]] = {}
        told = sentences
        for paragraph in paragraphs:
            if paragraph.startswith(_TITLE):
                title = paragraph.removeprefix(_TITLE)
            elif paragraph.startswith(_HEADING):
                told = sections.setdefault(paragraph.removeprefix(_HEADING), [])
            else:
                told.append(paragraph)
        notes = sections.pop(_NOTES, [])
        return cls(
            title, sentences, tables, notes, {heading: told for heading, told in sections.items() if told}
        )

    def text(self) -> str:
        """For a terminal."""
        tables = {heading: _aligned(table) for heading, table in self.tables.items()}
        return _template("page.txt.j2").render(page=self, tables=tables).rstrip() + "\n"

    def markdown(self, picture: str = "", level: int = 1) -> str:
        """As a page, or a section of one."""
        tables = {heading: _grid(table) for heading, table in self.tables.items()}
        markdown = _template("page.md.j2")
        return (
            markdown.render(page=self, tables=tables, picture=picture, level=level, escape=escape).rstrip()
            + "\n"
        )

    def html(self) -> str:
        """For a notebook."""
        return _template("sections.html.j2").render(page=self, tables=self._html_tables)

    def whole_html(self, pictures: list[bytes]) -> str:
        """As one file that needs no other: the pictures, as PNG, are in it."""
        images = [b64encode(one).decode() for one in pictures]
        return _template("page.html.j2").render(page=self, tables=self._html_tables, images=images)

    @property
    def _html_tables(self) -> dict[str, str]:
        return {heading: _cells(table).to_html(index=False) for heading, table in self.tables.items()}


def _template(name: str) -> Template:
    return _templates().get_template(f"page/templates/{name}")


@cache
def _templates() -> Environment:
    from jinja2 import select_autoescape  # slow to import

    return environment(autoescape=select_autoescape(["html.j2"]))


def _aligned(table: pd.DataFrame) -> str:
    """A table as aligned text."""
    shown = _cells(table)
    return shown.set_index(shown.columns[0]).rename_axis(None).to_string()


def _grid(table: pd.DataFrame) -> str:
    """A table in Markdown."""
    shown = _cells(table)
    return grid(list(shown), shown.to_numpy(), right=range(1, shown.shape[1])).rstrip()


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """A table as text: numbers with four digits, nothing where there is none."""
    shown = table.map(_cell).where(table.notna(), "")
    return shown.rename(columns=lambda name: name.replace("_", " "))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
