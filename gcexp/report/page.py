"""A small site of static files: a card for each paper, and a page for each with its figures in the paper's order.

Nothing is drawn: the page shows what lies beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gcexp.analysis.claims import OUTCOMES
from gcexp.figures.plots import TablePlot, parse
from gcexp.figures.tables import read_table
from gcexp.figures.typeset import cells
from gcexp.files import write_text
from gcexp.report.paper import Paper, papers
from gcexp.report.statements import Outcome, committed
from gcexp.run import options, paths

if TYPE_CHECKING:
    from gcexp.report.figure import Figure


@dataclass(frozen=True)
class FigureView:
    """A figure on the page of its paper; links are relative to the page."""

    figure: Figure
    about: Mapping[str, str]  # data, seeds, parameters
    files: Mapping[str, str]  # name of a link (PDF, CSV, ...) to a path
    image: str = ""  # of a drawing
    table: Sequence[Sequence[str]] = ()  # head and rows of a table
    words: Sequence[int] = ()  # its columns that are words, not numbers
    statements: tuple[Outcome, ...] = ()  # that it is evidence for


@dataclass(frozen=True)
class PaperView:
    """A paper on the page: figures and tables that stand in it, in its order, and our studies about it."""

    name: str
    paper: Paper
    own: tuple[FigureView, ...]
    studies: tuple[FigureView, ...]
    main: tuple[Outcome, ...] = ()  # its main statements

    @property
    def picture(self) -> str:
        """The drawing on its card, empty where nothing is drawn."""
        drawn = {view.figure.name: view.image for view in (*self.own, *self.studies) if view.image}
        return drawn.get(self.paper.picture, next(iter(drawn.values()), ""))

    @property
    def counted(self) -> str:
        """The outcomes of its main statements, in words; empty where nothing was judged."""
        counts = Counter(one.outcome for one in self.main)
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])


def write_pages(preset: str, figures: Iterable[Figure], output: Path) -> list[Path]:
    """Write ``index.html`` as `output` and, beside it, one page for each paper; return their paths.

    All links are relative, and no network is needed. Those of the figures are shown whose drawings lie in the folder.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    shown = paper_views(figures, output)
    form = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, **form)
    pages.filters["link"] = lambda link: quote(Path(link).as_posix(), safe="/.-_~+@")
    texts = {output: pages.get_template("index.html.j2").render(preset=preset, papers=shown)}
    for view in shown:
        text = pages.get_template("paper.html.j2").render(preset=preset, view=view, index=output.name)
        texts[output.with_name(f"{view.name}.html")] = text
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def paper_views(figures: Iterable[Figure], output: Path) -> list[PaperView]:
    """The papers of some figures, papers before collections of our own."""
    stated = committed()
    grouped: dict[str, list[Figure]] = {}
    for figure in figures:
        grouped.setdefault(figure.paper, []).append(figure)
    found = []
    for name, paper in papers().items():
        ordered = sorted(grouped.get(name, []), key=lambda one: paper.place(one.name, one.file.source))
        mine = [one for one in stated if one.paper == name]
        views = [view for one in ordered if (view := figure_view(one, output, mine))]
        study = {view.figure.name for view in views if paper.study or view.figure.file.study}
        own = tuple(view for view in views if view.figure.name not in study)
        studies = tuple(view for view in views if view.figure.name in study)
        if views:
            found.append(PaperView(name, paper, own, studies, tuple(one for one in mine if one.main)))
    return found


def figure_view(figure: Figure, page: Path, stated: Iterable[Outcome]) -> FigureView | None:
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
    table, words, plot = [], [], parse(figure.file.plot)
    if isinstance(plot, TablePlot):
        header, body, right = cells(read_table(page.parent / found[-1]), plot)
        table, words = [header, *body], [place for place in range(len(header)) if place not in right]
    return FigureView(
        figure,
        {name: value for name, value in about(figure).items() if value},
        files,
        image="" if figure.is_table else shown,
        table=table,
        words=words,
        statements=tuple(one for one in stated if figure.target in one.target.split()),
    )


def about(figure: Figure) -> dict[str, str]:
    """What a figure was made of, for a reader: a name and words each."""
    runs = figure.runs
    if not runs:
        return {key: _words(value) for key, value in figure.raw_arguments.items()}
    common = figure.file.common | (figure.file.quick if figure.preset == "quick" else {})
    common = {key: value for key, value in common.items() if key not in ("label", "seeds", "task")}
    return {
        "data": ", ".join(figure.datasets),
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
