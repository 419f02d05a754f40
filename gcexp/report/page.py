"""A small site of static files: a card for each paper, and a page for each with its figures in the paper's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gcexp.files import written
from gcexp.report.figure_view import FigureView, Paper, figure_view, papers, statements

if TYPE_CHECKING:
    from jinja2 import Environment

    from gcexp.report.figure import Figure

OUTCOMES = ("reproduced", "partly", "not reproduced", "undecided", "not testable here")
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class PaperView:
    """A paper on the page.

    Attributes
    ----------
    name : str
        Its folder.
    paper : Paper
        What its ``paper.yaml`` says.
    figures : tuple of FigureView
        Its figures and tables, in the paper's order, then our studies about it.
    main : tuple of mapping
        Its main statements with their outcomes.
    """

    name: str
    paper: Paper
    figures: tuple[FigureView, ...]
    main: tuple[dict[str, str], ...] = ()

    @property
    def own(self) -> tuple[FigureView, ...]:
        """Figures and tables that stand in the paper."""
        return tuple(figure for figure in self.figures if figure.own)

    @property
    def studies(self) -> tuple[FigureView, ...]:
        """Figures of ours."""
        return tuple(figure for figure in self.figures if not figure.own)

    @property
    def picture(self) -> str:
        """The drawing on its card, empty where nothing is drawn."""
        drawn = {figure.target: figure.image for figure in self.figures if figure.image}
        first = next(iter(drawn.values()), "")
        return drawn.get(f"{self.name}_{self.paper.picture}", first)

    @property
    def contents(self) -> str:
        """How many figures there are, in words.

        Examples
        --------
        >>> PaperView("a", Paper("A"), ()).contents
        'no figures'
        """
        counts = {"figures and tables": len(self.own), "studies of our own": len(self.studies)}
        parts = [f"{what}: {count}" for what, count in counts.items() if count]
        return ", ".join(parts) or "no figures"

    @property
    def counted(self) -> str:
        """The outcomes of its main statements, in words; empty where nothing was judged."""
        counts = Counter(one["outcome"] for one in self.main)
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])


def write_pages(preset: str, figures: Iterable[Figure], output: Path) -> list[Path]:
    """Write ``index.html`` and, beside it, one page for each paper; all links are relative, and no network is needed.

    Parameters
    ----------
    preset : str
        Name of the preset.
    figures : iterable of Figure
        Those that are shown, if their drawings lie in the folder of the page.
    output : Path
        The first page.

    Returns
    -------
    list of Path
        The files that were written.
    """
    shown = paper_views(figures, output)
    pages = environment()
    texts = {output: pages.get_template("index.html.j2").render(preset=preset, papers=shown)}
    for view in shown:
        text = pages.get_template("paper.html.j2").render(preset=preset, view=view, index=output.name)
        texts[output.with_name(f"{view.name}.html")] = text
    for path, text in texts.items():
        with written(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    return list(texts)


def paper_views(figures: Iterable[Figure], output: Path) -> list[PaperView]:
    """The papers of some figures, papers before collections of our own."""
    stated, known = statements(), papers()
    grouped: dict[str, list[Figure]] = {}
    for figure in figures:
        grouped.setdefault(figure.paper, []).append(figure)
    found = []
    for name, paper in known.items():
        ordered = sorted(grouped.get(name, []), key=lambda one: paper.place(one.name, one.file.source))
        mine = [one for one in stated if one["paper"] == name]
        views = [view for one in ordered if (view := figure_view(one, paper, output, mine))]
        main = tuple(one for one in mine if one["main"] == "yes")
        if views:
            found.append(PaperView(name, paper, tuple(views), main))
    return found


def environment() -> Environment:
    """Templates of pages; everything written by people is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["link"] = lambda link: quote(Path(link).as_posix(), safe="/.-_~+@")
    return made
