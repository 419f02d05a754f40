"""One static page: all figures as small drawings, what does not hold, then every figure beside what the paper says."""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gcexp.errors import UserError
from gcexp.files import written
from gcexp.report.claims import DEFINITION, GRADES, show
from gcexp.report.predicates import FAILS, HOLDS, UNDECIDED
from gcexp.report.scorecard import (
    ASSUMED,
    COLUMNS,
    EVIDENCE,
    INPUTS,
    KINDS,
    NOT_CHECKABLE,
    OUTCOMES,
    STATEMENT_OUTCOMES,
    claim_counts,
    claim_name,
    column,
    count_phrase,
    judged_as,
    parts,
    said,
    summary,
    tally,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_WIDTH = 1600  # pixels of a drawing on the page
_THUMBNAIL = 320  # pixels of the one that leads to it
_FOLDED = 25  # rows of a table that is folded
_COMPARED = 8  # statements of the paper beside ours that are not
_TOLD = 3  # claims that are named beside a statement; the others stand below
_SHORT = {DEFINITION: f"by {DEFINITION}", HOLDS: "hold"}
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Paper:
    """What the page says of a paper: <paper>/paper.yaml.

    Attributes
    ----------
    title, authors, venue, url : str
        As on its first page; a collection of our own has a title only.
    cite : str
        Its key in docs/references.bib.
    headline : tuple of str
        Of the figures that have no number in the paper, those that are shown first, in this order.
    bibtex : str
        Its entry.
    """

    title: str
    authors: str = ""
    venue: str = ""
    url: str = ""
    cite: str = ""
    headline: tuple[str, ...] = ()
    bibtex: str = ""

    def __post_init__(self):
        if self.url and not re.match(r"https?://[^\s/]", self.url):  # a browser would run javascript:
            raise UserError(f"url begins with https:// or http:// and a host, got {self.url!r}")

    def place(self, figure: FigureView) -> tuple:
        """Where a figure stands: figures of the paper by their numbers, then tables, then headlines, then by name.

        Examples
        --------
        >>> paper = Paper("A", headline=("extra",))
        >>> sources = {"b": "Sec. 2", "extra": "", "t": "Table IV", "f10": "Fig. 10", "f2": "Fig. 2(a)"}
        >>> figures = [FigureView("a", name, "", source) for name, source in sources.items()]
        >>> [figure.name for figure in sorted(figures, key=paper.place)]
        ['f2', 'f10', 't', 'extra', 'b']
        """
        if found := _NUMBERED.match(figure.label):
            number = int(found[2]) if found[2].isdigit() else _roman(found[2])
            return (found[1] != "Fig.", number, found[3], figure.name)
        names = list(self.headline)
        return (2, names.index(figure.name) if figure.name in names else len(names), "", figure.name)


_NUMBERED = re.compile(r"(Fig\.|Table) (\d+|[IVX]+)\b(.*)")


def _roman(text: str) -> int:
    """A number below 40, as tables have them.

    Examples
    --------
    >>> [_roman(text) for text in ("IV", "VI", "XIX")]
    [4, 6, 19]
    """
    values = ["IVX".index(letter) for letter in text]
    values = [(1, 5, 10)[value] for value in values]
    return sum(-one if one < max(values[place:]) else one for place, one in enumerate(values))


@dataclass(frozen=True)
class FigureView:
    """A figure on the page.

    Attributes
    ----------
    paper, name, title, source : str
        What and whose it is.
    alt : str
        What is seen, in words.
    note : str
        What is said under the drawing.
    about : tuple of (str, str)
        Data, seeds, parameters: name and value.
    files : mapping
        Name of a link (PDF, CSV, ...) to a path relative to the page.
    image : str
        Path of the drawing, empty for a table.
    charts : mapping, optional
        Its lines as `gcexp.figures.interactive.charts`.
    table : tuple of tuple of str
        Head and rows of a table, empty for a drawing.
    words : tuple of int
        Its columns that are words, not numbers.
    claims : tuple of dict
        Entries of the scorecard.
    schemes : tuple of str
        For the filter.
    """

    paper: str
    name: str
    title: str
    source: str
    alt: str = ""
    note: str = ""
    about: tuple[tuple[str, str], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    image: str = ""
    charts: dict | None = None
    table: tuple[tuple[str, ...], ...] = ()
    words: tuple[int, ...] = ()
    claims: tuple[dict, ...] = ()
    schemes: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """``<paper>_<name>``."""
        return f"{self.paper}_{self.name}"

    @property
    def label(self) -> str:
        """What the paper calls it, empty for what does not stand in a paper.

        Examples
        --------
        >>> FigureView("a", "fig6a", "", "Fig. 6(a)").label
        'Fig. 6(a)'
        >>> FigureView("a", "ablation", "", "Fig. 4, panel 1 (ablation, not in the paper)").label
        ''
        """
        return self.source if _NUMBERED.match(self.source) and "not in the paper" not in self.source else ""

    @property
    def verdict(self) -> str:
        """How many claims hold, in words.

        Examples
        --------
        >>> FigureView("a", "fig1", "", "", claims=({"outcome": "holds"}, {"outcome": "undecided"})).verdict
        '1 of 2 claims hold, 1 undecided'
        """
        count = Counter(claim["outcome"] for claim in self.claims)
        others = [count_phrase(count[outcome], outcome) for outcome in (FAILS, UNDECIDED) if count[outcome]]
        return ", ".join([f"{count[HOLDS]} of {len(self.claims)} claims hold", *others])

    @property
    def graded(self) -> tuple[tuple[str, bool], ...]:
        """How many claims hold by each kind of evidence, and how many do not: words, and whether they hold.

        Examples
        --------
        >>> held = {"outcome": "holds", "grade": "built"}
        >>> FigureView("a", "fig1", "", "", claims=(held, held, {"outcome": "undecided", "grade": ""})).graded
        (('2 built', True), ('1 undecided', False))
        """
        held = Counter(claim["grade"] or HOLDS for claim in self.claims if claim["outcome"] == HOLDS)
        rest = Counter(claim["outcome"] for claim in self.claims if claim["outcome"] != HOLDS)
        grades = sorted(held, key=lambda grade: GRADES.index(grade) if grade in GRADES else len(GRADES))
        return (
            *((f"{held[grade]} {_SHORT.get(grade, grade)}", True) for grade in grades),
            *((count_phrase(rest[name], name), False) for name in (FAILS, UNDECIDED) if rest[name]),
        )

    @property
    def outcomes(self) -> str:
        """Outcomes of its claims, for the filter."""
        return " ".join(sorted({claim["outcome"].replace(" ", "-") for claim in self.claims}))


def bibtex(text: str, key: str) -> str:
    r"""Entry of a BibTeX file, empty where it has none.

    Examples
    --------
    >>> bibtex("@misc{a1,\n  title = {A}\n}\n\n@misc{b2,\n}", "a1")
    '@misc{a1,\n  title = {A}\n}'
    """
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.MULTILINE | re.DOTALL) if key else None
    return found[0] if found else ""


def embedded(path: Path, width: int = _WIDTH) -> str:
    """A drawing as an address that holds it, without the words above and below it, which the page has as text.

    It has 64 colours and at most `width` pixels: a third of the file's size.
    """
    from PIL import Image

    with Image.open(path) as image:
        top, bottom = map(int, image.info.get("Drawing", f"0 {image.height}").split())
        drawn = image.convert("RGB").crop((0, top, image.width, bottom))
    if drawn.width > width:
        drawn = drawn.resize((width, round(drawn.height * width / drawn.width)), Image.Resampling.LANCZOS)
    drawn = drawn.quantize(
        64, Image.Quantize.FASTOCTREE
    )  # a tenth of the time of the others, but white becomes 254
    drawn.putpalette([255 if value > 250 else value for value in drawn.getpalette() or ()])
    kept = io.BytesIO()
    drawn.save(kept, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(kept.getvalue()).decode()}"


def words_under(path: Path) -> str:
    """The note that stands under a drawing, empty where the file does not say it."""
    from PIL import Image

    with Image.open(path) as image:
        return str(image.info.get("Description", ""))


@dataclass(frozen=True)
class Stated:
    """A statement of the paper beside the claims that answer it in one figure, or in all.

    Attributes
    ----------
    entry : dict
        The statement's entry of the scorecard; None for claims that answer none.
    claims : list of (dict, str)
        Entries of the scorecard, each with the anchor at which the page shows it.
    """

    entry: dict | None
    claims: list[tuple[dict, str]]


def anchors(figures: list[FigureView]) -> dict[tuple[str, str], str]:
    """Where the page shows a claim, by paper and `claim_name`."""
    return {
        (figure.paper, claim_name(claim)): f"{figure.target}.{place}"
        for figure in figures
        for place, claim in enumerate(figure.claims, 1)
    }


def beside(figure: FigureView, stated: list[dict], at: dict[tuple[str, str], str]) -> list[Stated]:
    """Statements of the paper with the claims of a figure that answer them, in the paper's order."""
    mine = {claim_name(claim): claim for claim in figure.claims}
    found = []
    for entry in stated:
        if entry["paper"] == figure.paper and (names := [name for name in entry["claims"] if name in mine]):
            found.append(Stated(entry, [(mine[name], at[figure.paper, name]) for name in names]))
    return found


def failing(stated: list[dict], claims: list[dict], at: dict[tuple[str, str], str]) -> list[Stated]:
    """What does not hold: statements with the claims that speak against them, then claims that answer none of these.

    Statements that cannot be checked are none of it.
    """
    wrong = {(claim["paper"], claim_name(claim)): claim for claim in claims if claim["outcome"] != HOLDS}
    told: set[tuple[str, str]] = set()
    found = []
    for entry in stated:
        if entry["outcome"] not in (HOLDS, NOT_CHECKABLE):
            names = [(entry["paper"], name) for name in (*entry["claims"], *entry["contradicted_by"])]
            against = dict.fromkeys(name for name in names if name in wrong)
            told |= set(against)
            found.append(Stated(entry, [(wrong[name], at.get(name, "")) for name in against]))
    rest = [(claim, at.get(name, "")) for name, claim in wrong.items() if name not in told]
    return [*found, *([Stated(None, rest)] if rest else [])]


def counted_as(entry: dict) -> str:
    """Columns under which a statement is counted, as names of the page's filter.

    Examples
    --------
    >>> counted_as({"outcome": "holds", "grade": "built", "calibrated": "", "assumed": True})
    'with-evidence of-these-assumed'
    """
    name = column(entry)
    names = [name, *([ASSUMED] if name == EVIDENCE and entry["assumed"] else [])]
    return " ".join(slug(name) for name in names)


def _script(value: object) -> Markup:
    """Plain values as JSON that may stand in a script: nothing in it ends one."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def _library() -> Markup:
    from markupsafe import Markup

    from gcexp.figures.interactive import library

    return Markup(library())


def environment() -> Environment:
    """Templates of pages; everything written by people is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def slug(name: str) -> str:
    """Words as one name."""
    return name.replace(" ", "-")


def write_report(
    path: Path | str,
    preset: str,
    papers: dict[str, Paper],
    figures: list[FigureView],
    scorecard: list[dict],
) -> None:
    """Write ``index.html``: one file with its drawings in it, no network.

    Its script hides what is filtered out and draws lines that answer.

    Parameters
    ----------
    path : path
        The page.
    preset : str
        Name of the preset.
    papers : mapping
        By name, in the order of the page; figures of others come last, under their own name.
    figures : list of FigureView
    scorecard : list of dict
        All entries: statements and claims.
    """
    pages = environment()
    pages.filters |= {
        "show": show,
        "embedded": lambda image: embedded(Path(path).parent / image),
        "thumbnail": lambda image: embedded(Path(path).parent / image, _THUMBNAIL),
        "script": _script,
        "slug": slug,
        "counted_as": counted_as,
        "claim_name": claim_name,
        "said": said,
        "judged": judged_as,
        "link": lambda link: quote(Path(link).as_posix(), safe="/.-_~+@"),
    }
    stated, claims = parts(scorecard)
    names = [*papers, *sorted({figure.paper for figure in figures} - set(papers))]
    known = {name: papers.get(name, Paper(name)) for name in names}
    by_paper = {
        name: sorted((f for f in figures if f.paper == name), key=known[name].place) for name in known
    }
    by_paper = {name: shown for name, shown in by_paper.items() if shown}
    at = anchors(figures)
    text = pages.get_template("report.html.j2").render(
        preset=preset,
        papers=known,
        by_paper=by_paper,
        summary=summary(scorecard),
        counted=tally(scorecard),
        columns=COLUMNS,
        beside={figure.target: beside(figure, stated, at) for figure in figures},
        failing={
            name: failing(
                [e for e in stated if e["paper"] == name], [c for c in claims if c["paper"] == name], at
            )
            for name in by_paper
        },
        labels={figure.target: figure.label or figure.title for figure in figures},
        counts={kind: found for kind in KINDS if (found := claim_counts(claims, kind))},
        inputs=INPUTS,
        outcomes=OUTCOMES,
        every=list(dict.fromkeys((*OUTCOMES, *STATEMENT_OUTCOMES))),
        held=HOLDS,
        library=_library() if any(figure.charts for figure in figures) else "",
        settled=(HOLDS, NOT_CHECKABLE),
        folded=_FOLDED,
        compared=_COMPARED,
        told=_TOLD,
        statements={name: [entry for entry in stated if entry["paper"] == name] for name in by_paper},
        schemes=sorted({scheme for figure in figures for scheme in figure.schemes}),
    )
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
