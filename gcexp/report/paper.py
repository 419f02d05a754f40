"""What the page says of papers: their ``paper.yaml``, and in which order it shows their figures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gcexp.errors import require
from gcexp.files import bundled
from gcexp.report.statements import committed
from gcexp.run import options
from gcexp.run.dependencies import digest_of
from gcexp.run.options import read_yaml
from gcexp.schema import fill

_NUMBERED = re.compile(r"(Fig\.|Table) (\d+|[IVX]+)\b(.*)")


@dataclass(frozen=True)
class Paper:
    """What the page says of a paper: <paper>/paper.yaml.

    Attributes
    ----------
    title, authors, venue, url : str
        As on its first page.
    cite : str
        Its key in docs/references.bib.
    summary : str
        One sentence on what it proposes, for its card on the first page.
    picture : str
        Name of the figure on its card; by default the first one that is drawn.
    headline : tuple of str
        Of the figures that have no number in the paper, those that are shown first, in this order.
    study : bool
        Whether it is no paper but a collection of our own, which is shown after the papers.
    bibtex : str
        Its entry.
    """

    title: str
    authors: str = ""
    venue: str = ""
    url: str = ""
    cite: str = ""
    summary: str = ""
    picture: str = ""
    headline: tuple[str, ...] = ()
    study: bool = False
    bibtex: str = ""

    def __post_init__(self):
        fits = re.match(r"(https?://[^\s/]|\Z)", self.url)  # a browser would run javascript:
        require(bool(fits), f"url begins with https:// or http:// and a host, got {self.url!r}")

    def place(self, name: str, source: str) -> tuple:
        """Where a figure stands: figures of the paper by their numbers, then tables, then headlines, then by name.

        >>> paper = Paper("A", headline=("extra",))
        >>> sources = {"b": "Sec. 2", "extra": "", "t": "Table IV", "f10": "Fig. 10", "f2": "Fig. 2(a)"}
        >>> sorted(sources, key=lambda name: paper.place(name, sources[name]))
        ['f2', 'f10', 't', 'extra', 'b']
        """
        if found := _NUMBERED.match(source):
            place = int(found[2]) if found[2].isdigit() else _roman(found[2])
            return (found[1] != "Fig.", place, found[3], name)
        names = list(self.headline)
        return (2, names.index(name) if name in names else len(names), "", name)


def _roman(text: str) -> int:
    """A number below 40, as tables have them."""
    values = [(1, 5, 10)["IVX".index(letter)] for letter in text]
    return sum(-one if one < max(values[place:]) else one for place, one in enumerate(values))


def papers() -> dict[str, Paper]:
    """What ``paper.yaml`` says of every paper, by name, papers before collections of our own."""
    place = bundled("docs/references.bib")
    entries = place.read_text("utf-8") if place.is_file() else ""
    found = {}
    for folder in options.papers().values():
        given = read_yaml(path := folder / "paper.yaml")
        entry = {"bibtex": bibtex(entries, given.get("cite", ""))}
        found[folder.name] = fill(Paper, given | entry, str(path))
    return dict(sorted(found.items(), key=lambda item: (item[1].study, item[0])))


def papers_fingerprint() -> list[str]:
    """What the page says of the papers."""
    said = {**papers(), "statements": committed()}
    return [f"{name}={digest_of(repr(one))}" for name, one in said.items()]


def bibtex(text: str, key: str) -> str:
    """Entry of a BibTeX file, empty where it has none."""
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.MULTILINE | re.DOTALL) if key else None
    return found[0] if found else ""
