"""What the page says of papers and figures, from their files; nothing is drawn and no table of numbers is read."""

from __future__ import annotations

import csv
import hashlib
import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import DataError, UserError
from gcexp.files import bundled
from gcexp.run import options, paths
from gcexp.run.options import read_yaml
from gcexp.run.records import unrecorded
from gcexp.schema import fill

if TYPE_CHECKING:
    from gcexp.report.figure import Figure

STATEMENTS = f"{paths.PUBLISHED}/statements.csv"
COLUMNS = (
    *("paper", "id", "where", "statement", "target", "outcome"),
    *("main", "assumed", "post_hoc", "evidence", "reason"),
)
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
        if self.url and not re.match(r"https?://[^\s/]", self.url):  # a browser would run javascript:
            raise UserError(f"url begins with https:// or http:// and a host, got {self.url!r}")

    def place(self, name: str, source: str) -> tuple:
        """Where a figure stands: figures of the paper by their numbers, then tables, then headlines, then by name.

        Examples
        --------
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
    """A number below 40, as tables have them.

    Examples
    --------
    >>> [_roman(text) for text in ("IV", "VI", "XIX")]
    [4, 6, 19]
    """
    values = [(1, 5, 10)["IVX".index(letter)] for letter in text]
    return sum(-one if one < max(values[place:]) else one for place, one in enumerate(values))


def papers() -> dict[str, Paper]:
    """What ``paper.yaml`` says of every paper, by name, papers before collections of our own."""
    place = bundled("docs/references.bib")
    with unrecorded():  # what is cited counts, as the values do
        entries = place.read_text("utf-8") if place.is_file() else ""
    found = {}
    for folder in options.papers().values():
        given = read_yaml(path := folder / "paper.yaml")
        entry = {"bibtex": bibtex(entries, given.get("cite", ""))}
        found[folder.name] = fill(Paper, given | entry, str(path))
    return dict(sorted(found.items(), key=lambda item: (item[1].study, item[0])))


def tracked_papers() -> list[str]:
    """What the page says of the papers."""
    said = {**papers(), "statements": statements()}
    return [f"{name}={hashlib.sha256(repr(one).encode()).hexdigest()[:16]}" for name, one in said.items()]


def bibtex(text: str, key: str) -> str:
    r"""Entry of a BibTeX file, empty where it has none.

    Examples
    --------
    >>> bibtex("@misc{a1,\n  title = {A}\n}\n\n@misc{b2,\n}", "a1")
    '@misc{a1,\n  title = {A}\n}'
    """
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.MULTILINE | re.DOTALL) if key else None
    return found[0] if found else ""


def statements() -> list[dict[str, str]]:
    """The statements of all papers with their outcomes, as ``make audit`` wrote them; none before that.

    Raises
    ------
    DataError
        If the file has other columns.
    """
    path = next((path for path in (Path(STATEMENTS), bundled(STATEMENTS)) if path.is_file()), None)
    if path is None:
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    if found and not set(COLUMNS) <= set(found[0]):
        raise DataError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(found[0])}")
    return found


@dataclass(frozen=True)
class FigureView:
    """A figure on the page.

    Attributes
    ----------
    target, title : str
        Name and heading.
    own : bool
        Whether it stands in the paper; else it is a study of ours.
    shows : str
        One sentence on what is seen, empty where its file says none.
    note : str
        What is assumed.
    about : mapping
        Data, seeds, parameters: name and value.
    files : mapping
        Name of a link (PDF, CSV, ...) to a path relative to the page.
    command : str
        What makes it.
    image : str
        Path of the drawing, empty for a table.
    table : tuple of tuple of str
        Head and rows of a table, empty for a drawing.
    words : tuple of int
        Its columns that are words, not numbers.
    statements : tuple of mapping
        Statements of the paper that it is evidence for.
    """

    target: str
    title: str
    own: bool
    shows: str
    note: str
    about: Mapping[str, str]
    files: Mapping[str, str]
    command: str
    image: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    words: tuple[int, ...] = ()
    statements: tuple[Mapping[str, str], ...] = ()


def figure_view(
    figure: Figure, paper: Paper, page: Path, stated: Sequence[Mapping[str, str]] = ()
) -> FigureView | None:
    """A figure as the page in `page` shows it; None where its drawing does not lie in the folder of the page."""
    root = Path(paths.REPORT.format(preset=figure.preset))
    products = [Path(path).relative_to(root) for path in (*figure.drawings, figure.table)]
    products.append(products[-1].with_suffix(".csv.gz"))
    found = [path for path in products if (page.parent / path).is_file()]
    files = {path.name.partition(".")[2].upper(): path.as_posix() for path in found}
    shown = next((files.pop(kind) for kind in ("PNG", "MD") if kind in files), None)
    if shown is None:
        return None
    folder = next(folder for folder in options.papers().values() if folder.name == figure.paper)
    config = folder / "figures" / f"{figure.name}.yaml"
    if config.is_relative_to(Path.cwd()):
        files["figure file"] = Path(os.path.relpath(config, page.parent.resolve())).as_posix()
    provenance = Path(figure.table).relative_to(root).with_suffix(".provenance.json")
    if (page.parent / provenance).is_file():
        files["provenance"] = provenance.as_posix()
    table, words = grid(page.parent / shown) if figure.is_table else ((), ())
    preset = "" if figure.preset == "quick" else f" --config preset={figure.preset}"
    return FigureView(
        figure.target,
        figure.file.title,
        not (figure.file.study or paper.study),
        figure.file.shows,
        figure.note,
        {name: value for name, value in about(figure).items() if value},
        files,
        f"snakemake {figure.target}{preset}",
        "" if figure.is_table else shown,
        table,
        words,
        tuple(one for one in stated if figure.target in one["target"].split()),
    )


def about(figure: Figure) -> dict[str, str]:
    """What a figure was made of, for a reader: a name and words each."""
    runs = figure.runs
    if not runs:
        return {key: _words(value) for key, value in figure.written.items()}
    common = figure.file.common | (figure.file.quick if figure.preset == "quick" else {})
    common = {key: value for key, value in common.items() if key not in ("label", "seeds", "task")}
    return {
        "data": ", ".join(sorted({run.config["task"]["dataset"] for run in runs if run.task})),
        "schemes": ", ".join(dict.fromkeys(str(run.scheme).partition("+")[0] for run in runs)),
        "seeds": ", ".join(dict.fromkeys(run.seeds for run in runs)),
        **{key: _words(value) for key, value in common.items()},
    }


def _words(value: object, inside: str = "") -> str:
    """A value of a figure file as a reader writes it; `inside` a mapping or a list, in brackets where needed.

    Examples
    --------
    >>> _words({"wide": [0.0, 0.5, 101], "code": {"code": "cyclic", "m": 2}})
    'wide: 0, 0.5, 101; code: (code: cyclic; m: 2)'
    >>> _words([[1, 2], [3, None]]), _words(True)
    ('(1, 2), (3, none)', 'yes')
    """
    if isinstance(value, Mapping):
        text = "; ".join(f"{key}: {_words(part, 'mapping')}" for key, part in value.items())
        return f"({text})" if inside else text
    if isinstance(value, list | tuple):
        text = ", ".join(_words(part, "list") for part in value)
        return f"({text})" if inside == "list" else text
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def grid(path: Path) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    r"""Head and rows of the Markdown table that a figure was typeset as, and which columns are words.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "a.md"
    >>> _ = place.write_text("| a | b |\n| --- | ---: |\n| 1 \\| 2 | x &lt; 1 |\n")
    >>> grid(place)
    ((('a', 'b'), ('1 | 2', 'x < 1')), (0,))
    """
    lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line.strip()[1:-1]) for line in lines]
    words = tuple(place for place, rule in enumerate(cells.pop(1)) if not rule.strip().endswith(":"))
    return tuple(
        tuple(html.unescape(re.sub(r"\\(.)", r"\1", cell.strip())) for cell in row) for row in cells
    ), words
