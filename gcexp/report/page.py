"""One static page: how many statements have evidence, then every figure with its claims folded under it."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from gcexp.errors import UserError
from gcexp.files import written
from gcexp.report.claims import show
from gcexp.report.predicates import FAILS, HOLDS, UNDECIDED
from gcexp.report.scorecard import (
    INPUTS,
    KINDS,
    OUTCOMES,
    STATEMENT_OUTCOMES,
    claim_counts,
    count_phrase,
    counted,
    judged_as,
    parts,
    said,
    summary,
)

_WIDTH = 1600  # pixels of a drawing on the page
_FOLDED = 25  # rows of a table that is folded
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
        Figures that are shown first, in this order.
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

    def place(self, name: str) -> tuple[int, str]:
        """Where a figure stands: headline figures first, in their order, then the others by name."""
        names = list(self.headline)
        return (names.index(name) if name in names else len(names), name)


@dataclass(frozen=True)
class Shown:
    """A figure on the page.

    Attributes
    ----------
    paper, name, title, source : str
        What and whose it is.
    alt : str
        What is seen, in words.
    about : tuple of (str, str)
        Data, parameters, seeds: name and value.
    files : mapping
        Name of a link (PDF, CSV, ...) to a path relative to the page.
    image : str
        Path of the drawing, empty for a table.
    table : tuple of tuple of str
        Head and rows of a table, empty for a drawing.
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
    about: tuple[tuple[str, str], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    image: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    claims: tuple[dict, ...] = ()
    schemes: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """``<paper>_<name>``."""
        return f"{self.paper}_{self.name}"

    @property
    def verdict(self) -> str:
        """How many claims hold, in words.

        Examples
        --------
        >>> Shown("a", "fig1", "", "", claims=({"outcome": "holds"}, {"outcome": "undecided"})).verdict
        '1 of 2 claims hold, 1 undecided'
        """
        count = Counter(claim["outcome"] for claim in self.claims)
        others = [count_phrase(count[outcome], outcome) for outcome in (FAILS, UNDECIDED) if count[outcome]]
        return ", ".join([f"{count[HOLDS]} of {len(self.claims)} claims hold", *others])

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


def embedded(path: Path) -> str:
    """A drawing as an address that holds it: 64 colours of at most `_WIDTH` pixels, a third of the file's size."""
    from PIL import Image

    with Image.open(path) as image:
        drawn = image.convert("RGB")
    if drawn.width > _WIDTH:
        drawn = drawn.resize((_WIDTH, round(drawn.height * _WIDTH / drawn.width)), Image.Resampling.LANCZOS)
    drawn = drawn.quantize(
        64, Image.Quantize.FASTOCTREE
    )  # a tenth of the time of the others, but white becomes 254
    drawn.putpalette([255 if value > 250 else value for value in drawn.getpalette() or ()])
    kept = io.BytesIO()
    drawn.save(kept, "PNG")
    return f"data:image/png;base64,{base64.b64encode(kept.getvalue()).decode()}"


def write_report(
    path: Path | str,
    preset: str,
    papers: dict[str, Paper],
    figures: list[Shown],
    scorecard: list[dict],
) -> None:
    """Write ``index.html``: one file with its drawings in it, no network; its script only hides what is filtered out.

    Parameters
    ----------
    path : path
        The page.
    preset : str
        Name of the preset.
    papers : mapping
        By name, in the order of the page; figures of others come last, under their own name.
    figures : list of Shown
    scorecard : list of dict
        All entries: statements and claims.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Everything written by people is escaped.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "show": show,
        "embedded": lambda image: embedded(Path(path).parent / image),
        "said": said,
        "judged": judged_as,
        "link": lambda link: quote(Path(link).as_posix(), safe="/.-_~+@"),
    }
    stated, claims = parts(scorecard)
    names = [*papers, *sorted({figure.paper for figure in figures} - set(papers))]
    known = {name: papers.get(name, Paper(name)) for name in names}
    by_paper = {
        name: sorted((f for f in figures if f.paper == name), key=lambda f: known[f.paper].place(f.name))
        for name in known
    }
    by_paper = {name: shown for name, shown in by_paper.items() if shown}
    text = environment.get_template("report.html.j2").render(
        preset=preset,
        papers=known,
        by_paper=by_paper,
        summary=summary(scorecard),
        counted=counted(scorecard),
        counts={kind: found for kind in KINDS if (found := claim_counts(claims, kind))},
        inputs=INPUTS,
        outcomes=OUTCOMES,
        every=list(dict.fromkeys((*OUTCOMES, *STATEMENT_OUTCOMES))),
        held=HOLDS,
        folded=_FOLDED,
        statements={name: [entry for entry in stated if entry["paper"] == name] for name in by_paper},
        schemes=sorted({scheme for figure in figures for scheme in figure.schemes}),
    )
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
