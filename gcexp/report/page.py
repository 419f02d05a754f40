"""A small site of static files: a card for each paper, and a page for each with its figures in the paper's order.

Nothing is drawn: the page shows what lies beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gcexp.figures.plots import TablePlot, parse
from gcexp.figures.tables import read_table
from gcexp.figures.typeset import cells
from gcexp.files import write_text
from gcexp.report.evidence import other_order, passages, published_passages, published_source
from gcexp.report.figurefile import target_files
from gcexp.report.paper import Paper, papers
from gcexp.report.published import PUBLISHED
from gcexp.report.statements import Outcome, committed, counted
from gcexp.run import paths

if TYPE_CHECKING:
    from gcexp.report.figure import Figure


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
        texts[output.with_name(f"{view['name']}.html")] = text
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def paper_views(figures: Iterable[Figure], output: Path) -> list[dict[str, Any]]:
    """The papers of some figures, papers before collections of our own, as the templates show them.

    ``own`` are the figures and tables that stand in a paper, in its order, ``studies`` ours about it, ``main`` its main
    statements and ``counted`` their outcomes in words, ``picture`` the drawing on its card.
    """
    stated = committed()
    figures = list(figures)
    found = []
    for name, paper in papers({figure.paper for figure in figures}).items():
        mine = [outcome for outcome in stated if outcome.paper == name]
        own, studies = _parted(paper, [figure for figure in figures if figure.paper == name], output, mine)
        drawn = {view["figure"].name: view["image"] for view in (*own, *studies) if view["image"]}
        main = [outcome for outcome in mine if outcome.main]
        if own or studies:
            found.append(
                {
                    "name": name,
                    "paper": paper,
                    "own": own,
                    "studies": studies,
                    "main": main,
                    "counted": counted(main),
                    "source": _sources(view["source"] for view in (*own, *studies)),
                    "picture": drawn.get(paper.picture, next(iter(drawn.values()), "")),
                }
            )
    return found


def _parted(
    paper: Paper, figures: Iterable[Figure], output: Path, stated: Iterable[Outcome]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The figures and tables that stand in a paper, and ours about it, both in the paper's order."""
    own: list[dict[str, Any]] = []
    studies: list[dict[str, Any]] = []
    for figure in sorted(figures, key=lambda one: paper.place(one.name, one.file.source)):
        view = figure_view(figure, output, stated)
        if view is None:
            continue
        part = studies if paper.study or figure.file.study else own
        part.append(view)
    return own, studies


def _sources(found: Iterable[str]) -> str:
    """Dates between which the published tables of some figures were made, as far as they are known."""
    dates: set[str] = set()
    for source in found:
        dates.update(part for part in source.split(", ") if part[:2] == "20")
    if not dates:
        return ""
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}; each figure names its commit"


def figure_view(figure: Figure, page: Path, stated: Iterable[Outcome]) -> dict[str, Any] | None:
    """A figure as the page in `page` shows it; None where its drawing does not lie in the folder of the page.

    ``files`` are links, relative to the page, by their names; ``image`` is a drawing, ``table`` head and rows of a
    table, whose columns ``words`` hold no numbers; ``statements`` are those that the figure is evidence for, judged on
    the published table, whose origin is ``source``. ``passages`` say when curves reach their level; where this run has
    them in another order than the published table, ``other_order`` says so, and the published ones stand beside.
    """
    files = _files_of(figure, page)
    shown = files.pop("PNG", None) or files.pop("MD", None)
    if shown is None:
        return None
    plot = parse(figure.file.plot)
    table: list[list[str]] = []
    words: list[int] = []
    if isinstance(plot, TablePlot):
        header, body, right = cells(read_table(page.parent / _table_of(figure, page)), plot)
        table = [header, *body]
        words = [place for place in range(len(header)) if place not in right]
    here = passages(figure, page.parent / _table_of(figure, page))
    published = published_passages(figure.target) if here and figure.preset != "paper" else None
    reversed_pairs = other_order(here.rows, published.rows) if here and published else []
    return {
        "figure": figure,
        "source": published_source(figure.target),
        "passages": here,
        "other_order": reversed_pairs,
        "published_passages": published if reversed_pairs else None,
        "published_image": _published_image(figure, page) if reversed_pairs else "",
        "about": {name: value for name, value in about(figure).items() if value},
        "files": files,
        "image": "" if figure.is_table else shown,
        "table": table,
        "words": words,
        "statements": [outcome for outcome in stated if figure.target in outcome.target.split()],
    }


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
    return packed if (page.parent / packed).is_file() else table


def about(figure: Figure) -> dict[str, str]:
    """What a figure was made of, for a reader: a name and words each."""
    runs = figure.runs
    if not runs:
        return {key: _words(value) for key, value in figure.raw_arguments.items()}
    common = figure.file.common | figure.file.quick
    common = {key: value for key, value in common.items() if key not in ("label", "seeds", "task")}
    return {
        "data": ", ".join(figure.datasets),
        "schemes": ", ".join(dict.fromkeys(str(run.option("scheme")) for run in runs)),
        "seeds": ", ".join(dict.fromkeys(run.seed_range for run in runs)),
        **{key: _words(value) for key, value in common.items()},
    }


def _words(value: object, inside: str = "") -> str:
    """A value of a figure file as a reader writes it; `inside` a mapping or a list, in brackets where needed.

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
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
