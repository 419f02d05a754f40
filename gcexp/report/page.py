"""A small site of static files: a card for each paper, and a page for each with its figures in the paper's order.

Nothing is drawn: the page shows what lies beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from gcexp.figures.plots import TablePlot, parse
from gcexp.figures.tables import read_table
from gcexp.figures.typeset import Cells, cells
from gcexp.files import write_text
from gcexp.report.evidence import (
    FirstPassages,
    first_passages,
    other_order,
    published_first_passages,
    published_source,
)
from gcexp.report.paper import Paper, read_papers
from gcexp.report.published import PUBLISHED
from gcexp.report.statements import Outcome, committed_outcomes, counts_in_words, outcomes_in_words
from gcexp.report.targets import target_files
from gcexp.run import paths

if TYPE_CHECKING:
    from jinja2 import Environment

    from gcexp.report.figure import Figure


@dataclass(frozen=True)
class FigureView:
    """A figure as a page shows it.

    Attributes
    ----------
    figure : Figure
    about : dict of str to str
        What it was made of, in words, by a name.
    files : dict of str to str
        Links, relative to the page, by their names.
    table_file : str
        The link to the numbers, as CSV; empty where they do not lie beside the page.
    image : str
        The link to the drawing; empty for a table.
    table : Cells, optional
        A figure that is a table, as text; None for a drawing.
    statements : list of Outcome
        Those that the figure is evidence for, judged on the published table.
    source : str
        Where the published table is from.
    passages : Passages, optional
        When curves reach their level.
    other_order : list of str
        Sentences on curves that reach it in another order than in the published table.
    published_passages : Passages, optional
        The published ones, where the order is another one.
    published_image : str
        The link to the published drawing, where the order is another one and there is a drawing.
    """

    figure: Figure
    about: dict[str, str]
    files: dict[str, str]
    table_file: str
    image: str
    table: Cells | None
    statements: list[Outcome]
    source: str
    passages: FirstPassages | None
    other_order: list[str]
    published_passages: FirstPassages | None
    published_image: str


@dataclass(frozen=True)
class PaperView:
    """A paper, or a collection of our own, as the site shows it.

    Attributes
    ----------
    name : str
        Its folder.
    paper : Paper
    own : list of FigureView
        The figures and tables that stand in the paper, in its order.
    studies : list of FigureView
        Ours about it.
    main : list of Statement
        Its main statements, those that came out as the paper says first.
    counted : str
        How many of these have each outcome, in words.
    counted_all : str
        The same of all its statements, and why some were not tested.
    source : str
        When the published tables were made.
    picture : str
        The link to the drawing on its card.
    picture_table : str
        The link to the numbers of that drawing.
    """

    name: str
    paper: Paper
    own: list[FigureView]
    studies: list[FigureView]
    main: list[StatementView]
    counted: str
    counted_all: str
    source: str
    picture: str
    picture_table: str


@dataclass(frozen=True)
class StatementView:
    """A main statement of a paper, and the figures of the page that it was judged on."""

    outcome: Outcome
    figures: list[FigureView]


def write_pages(preset: str, figures: Iterable[Figure], output: Path) -> list[Path]:
    """Write ``index.html`` as `output` and, beside it, one page for each paper; return their paths.

    All links are relative, and no network is needed. Those of the figures are shown whose drawings lie in the folder.
    """
    views = paper_views(figures, output)
    templates = _templates()
    texts = {output: templates.get_template("index.html.j2").render(preset=preset, papers=views)}
    for view in views:
        text = templates.get_template("paper.html.j2").render(preset=preset, view=view, index=output.name)
        texts[output.with_name(f"{view.name}.html")] = text
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def write_figure_page(figure: Figure, output: Path) -> None:
    """Write a page with one figure that was drawn, and with the statements that it is evidence for."""
    paper = read_papers([figure.paper])[figure.paper]
    stated = [outcome for outcome in committed_outcomes() if outcome.paper == figure.paper]
    template = _templates().get_template("figure.html.j2")
    shown = figure_view(figure, output, stated)
    write_text(output, template.render(preset=figure.preset, paper=paper, figure=shown))


def _templates() -> Environment:
    """The templates of the pages, in which a value that is not there is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["link"] = lambda link: quote(Path(link).as_posix(), safe="/.-_~+@")
    return templates


def paper_views(figures: Iterable[Figure], output: Path) -> list[PaperView]:
    """The papers of some figures, as the site shows them, papers before collections of our own.

    A paper of which no figure is drawn is left out.
    """
    stated = committed_outcomes()
    figures = list(figures)
    views = []
    for name, paper in read_papers({figure.paper for figure in figures}).items():
        own_figures = [figure for figure in figures if figure.paper == name]
        own_statements = [outcome for outcome in stated if outcome.paper == name]
        view = _paper_view(name, paper, own_figures, own_statements, output)
        if view.own or view.studies:
            views.append(view)
    return views


def _paper_view(
    name: str, paper: Paper, figures: Iterable[Figure], statements: list[Outcome], output: Path
) -> PaperView:
    """A paper as the site shows it, with its figures and statements."""
    own: list[FigureView] = []
    studies: list[FigureView] = []
    for figure in sorted(figures, key=lambda one: paper.place(one.name, one.file.source)):
        view = figure_view(figure, output, statements)
        if view is None:
            continue
        if paper.study or figure.file.study:
            studies.append(view)
        else:
            own.append(view)
    shown = [*own, *studies]
    drawn = {view.figure.name: view for view in shown if view.image}
    on_card = drawn.get(paper.picture) or next(iter(drawn.values()), None)
    main = [outcome for outcome in statements if outcome.main]
    return PaperView(
        name=name,
        paper=paper,
        own=own,
        studies=studies,
        main=_statement_views(main, shown),
        counted=outcomes_in_words(main),
        counted_all=counts_in_words(statements),
        source=_dates(view.source for view in shown),
        picture=on_card.image if on_card else "",
        picture_table=on_card.table_file if on_card else "",
    )


def _statement_views(main: Iterable[Outcome], shown: Iterable[FigureView]) -> list[StatementView]:
    """Main statements in the order of their outcomes, those without assumed inputs first."""
    from gcexp.analysis.claims import OUTCOMES

    view_of = {view.figure.target: view for view in shown}
    ordered = sorted(main, key=lambda one: (OUTCOMES.index(one.outcome), one.assumed))
    found = []
    for outcome in ordered:
        figures = [view_of[target] for target in outcome.target.split() if target in view_of]
        found.append(StatementView(outcome, figures))
    return found


def _dates(sources: Iterable[str]) -> str:
    """Dates between which the published tables of some figures were made, as far as they are known."""
    dates: set[str] = set()
    for source in sources:
        for part in source.split(", "):
            if part.startswith("20"):
                dates.add(part)
    if not dates:
        return ""
    first = min(dates)
    last = max(dates)
    if first == last:
        return first
    return f"{first} to {last}; each figure names its commit"


def figure_view(figure: Figure, page: Path, stated: Iterable[Outcome]) -> FigureView | None:
    """A figure as the page in `page` shows it; None where its drawing does not lie in the folder of the page."""
    files = _files_of(figure, page)
    shown = files.pop("PNG", None) or files.pop("MD", None)
    if shown is None:
        return None
    table_file = page.parent / _table_of(figure, page)
    here = first_passages(figure, table_file)
    published = None
    reversed_pairs: list[str] = []
    if here is not None and figure.preset != "paper":
        published = published_first_passages(figure.target)
    if here is not None and published is not None:
        reversed_pairs = other_order(here.rows, published.rows)
    statements = [outcome for outcome in stated if figure.target in outcome.target.split()]
    return FigureView(
        figure=figure,
        about=about(figure),
        files=files,
        table_file=files.get("CSV") or files.get("CSV.GZ", ""),
        image="" if figure.is_table else shown,
        table=_cells_of(figure, table_file),
        statements=statements,
        source=published_source(figure.target),
        passages=here,
        other_order=reversed_pairs,
        published_passages=published if reversed_pairs else None,
        published_image=_published_image(figure, page) if reversed_pairs else "",
    )


def _cells_of(figure: Figure, file: Path) -> Cells | None:
    """A figure that is a table, as text; None for any other figure."""
    plot = parse(figure.file.plot)
    if not isinstance(plot, TablePlot):
        return None
    return cells(read_table(file), plot)


def _published_image(figure: Figure, page: Path) -> str:
    """A link from a page in this folder to the published drawing of a figure; empty where there is none."""
    drawing = PUBLISHED / "figures" / f"{figure.target}.png"
    if not drawing.is_file() or not page.resolve().is_relative_to(Path.cwd()):
        return ""
    return Path(os.path.relpath(drawing.resolve(), page.parent.resolve())).as_posix()


def _files_of(figure: Figure, page: Path) -> dict[str, str]:
    """What lies beside the page of a figure: the links by their names."""
    root = Path(paths.REPORT.format(preset=figure.preset))
    table = Path(figure.table).relative_to(root)
    products = [Path(path).relative_to(root) for path in figure.drawings]
    products += [table, table.with_suffix(".csv.gz")]
    files = {}
    for path in products:
        if (page.parent / path).is_file():
            files[path.name.partition(".")[2].upper()] = path.as_posix()
    config = target_files()[figure.target]
    if config.is_relative_to(Path.cwd()):
        files["figure file"] = Path(os.path.relpath(config, page.parent.resolve())).as_posix()
    provenance = table.with_suffix(".provenance.json")
    if (page.parent / provenance).is_file():
        files["provenance"] = provenance.as_posix()
    return files


def _table_of(figure: Figure, page: Path) -> Path:
    """The table beside the page, packed or not."""
    root = Path(paths.REPORT.format(preset=figure.preset))
    table = Path(figure.table).relative_to(root)
    packed = table.with_suffix(".csv.gz")
    if (page.parent / packed).is_file():
        return packed
    return table


def about(figure: Figure) -> dict[str, str]:
    """What a figure was made of, for a reader: a name and words each, where there is something to say."""
    found = {}
    if figure.runs:
        schemes = [str(run.option("scheme")) for run in figure.runs]
        seeds = [run.seed_range for run in figure.runs]
        found["data"] = ", ".join(figure.datasets)
        found["schemes"] = ", ".join(dict.fromkeys(schemes))
        found["seeds"] = ", ".join(dict.fromkeys(seeds))
        for key, value in (figure.file.common | figure.file.quick).items():
            if key not in ("label", "seeds", "task"):
                found[key] = _in_words(value)
    else:
        for key, value in figure.raw_arguments.items():
            found[key] = _in_words(value)
    return {name: words for name, words in found.items() if words}


def _in_words(value: object, inside: Literal["", "mapping", "list"] = "") -> str:
    """A value of a figure file as a reader writes it; `inside` a mapping or a list, in brackets where needed.

    >>> _in_words({"wide": [0.0, 0.5, 101], "code": {"code": "cyclic", "m": 2}})
    'wide: 0, 0.5, 101; code: (code: cyclic; m: 2)'
    >>> _in_words([[1, 2], [3, None]]), _in_words(True)
    ('(1, 2), (3, none)', 'yes')
    """
    if isinstance(value, Mapping):
        text = "; ".join(f"{key}: {_in_words(part, 'mapping')}" for key, part in value.items())
        return f"({text})" if inside else text
    if isinstance(value, list | tuple):
        text = ", ".join(_in_words(part, "list") for part in value)
        return f"({text})" if inside == "list" else text
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
