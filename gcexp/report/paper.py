"""What the page says of papers: their ``paper.yaml``, and in which order it shows their figures."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from gcexp.errors import UserError, require, require_known, unknown
from gcexp.files import bundled
from gcexp.report.placeholders import check_texts
from gcexp.report.statements import committed_outcomes
from gcexp.run import options
from gcexp.run.dependencies import digest_of
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fill

_BIBLIOGRAPHY = "docs/references.bib"
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
    order : int
        Where it stands among the papers: those with smaller numbers come first, then names decide.
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
    order: int = 0
    study: bool = False
    bibtex: str = ""

    def __post_init__(self):
        require(bool(self.title.strip()), "title is the paper's own, got an empty one")
        fits = re.fullmatch(r"(https?://[^\s/]\S*)?", self.url)  # a browser would run javascript:
        require(bool(fits), f"url begins with https:// or http:// and a host, got {self.url!r}")

    def place(self, name: str, source: str) -> tuple:
        """Where a figure stands: figures of the paper by their numbers, then tables, then headlines, then by name.

        >>> paper = Paper("A", headline=("extra",))
        >>> sources = {"b": "Sec. 2", "extra": "", "t": "Table IV", "f10": "Fig. 10", "f2": "Fig. 2(a)"}
        >>> sorted(sources, key=lambda name: paper.place(name, sources[name]))
        ['f2', 'f10', 't', 'extra', 'b']
        """
        found = _NUMBERED.match(source)
        if found is not None:
            kind, number, rest = found.groups()
            place = int(number) if number.isdigit() else _roman(number)
            return (kind != "Fig.", place, rest, name)
        names = list(self.headline)
        place = names.index(name) if name in names else len(names)
        return (2, place, "", name)


def _roman(text: str) -> int:
    """A number below 40, as tables have them."""
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in text]
    total = 0
    for place, value in enumerate(values):
        if value < max(values[place:]):  # as the I of IV
            total -= value
        else:
            total += value
    return total


def read_papers(names: Collection[str] | None = None) -> dict[str, Paper]:
    """What ``paper.yaml`` says of every paper, or of some, by name: in their order, collections of our own last."""
    found = {}
    for folder in options.paper_folders().values():
        if names is None or folder.name in names:
            found[folder.name] = read_paper(folder)
    return dict(sorted(found.items(), key=lambda item: (item[1].study, item[1].order, item[0])))


def read_paper(folder: Path) -> Paper:
    """What ``paper.yaml`` in the folder of a paper says of it.

    Raises
    ------
    UserError
        For a key that is not known, a value that does not fit, and a paper that the bibliography does not have.
    """
    path = folder / "paper.yaml"
    given = read_yaml(path)
    try:
        check_texts(given)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if "bibtex" in given:
        raise UserError(f"{path}: bibtex is not written here: cite names its entry in {_BIBLIOGRAPHY}")
    paper = fill(Paper, given, str(path))
    entries = _bibliography()
    if not paper.cite or not entries:
        return paper
    entry = bibtex(entries, paper.cite)
    if not entry:
        raise UserError(f"{path}: cite: {unknown('entry', paper.cite, _keys_of_entries(entries))}")
    return replace(paper, bibtex=entry)


def check_paper(folder: Path) -> None:
    """Whether what a paper says of itself is right, and names figures that it has."""
    path = folder / "paper.yaml"
    paper = read_paper(folder)
    figures = [file.stem for file in (folder / "figures").glob("*.yaml")]
    if paper.picture:
        require_known("figure", paper.picture, figures, f"{path}: picture")
    for name in paper.headline:
        require_known("figure", name, figures, f"{path}: headline")


def papers_fingerprint(names: Collection[str]) -> list[str]:
    """Lines that change when the page says something else of some papers."""
    lines = [f"{name}={digest_of(repr(paper))}" for name, paper in read_papers(names).items()]
    outcomes = [outcome for outcome in committed_outcomes() if outcome.paper in names]
    return [*lines, f"statements={digest_of(repr(outcomes))}"]


def _bibliography() -> str:
    """The entries of docs/references.bib; none where it did not come with the package."""
    path = bundled(_BIBLIOGRAPHY)
    if not path.is_file():
        return ""
    return path.read_text("utf-8")


def _keys_of_entries(text: str) -> list[str]:
    """Keys of the entries of a BibTeX file."""
    return re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE)


def bibtex(text: str, key: str) -> str:
    """Entry of a BibTeX file, empty where it has none."""
    if not key:
        return ""
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return ""
    return found[0]
