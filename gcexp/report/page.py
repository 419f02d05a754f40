"""A small site of static files: a card for each paper, and a page for each with its figures in the paper's order.

Nothing is drawn: the page shows what lies beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gcexp.analysis.claims import OUTCOMES
from gcexp.figures.plots import TablePlot, parse
from gcexp.figures.tables import read_table
from gcexp.figures.typeset import cells
from gcexp.files import write_text
from gcexp.report.figurefile import target_files
from gcexp.report.paper import papers
from gcexp.report.statements import Outcome, committed
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
    stated, figures, found = committed(), list(figures), []
    for name, paper in papers().items():
        own = [figure for figure in figures if figure.paper == name]
        ordered = sorted(own, key=lambda one: paper.place(one.name, one.file.source))
        mine = [one for one in stated if one.paper == name]
        parted: dict[bool, list[dict]] = {False: [], True: []}
        for one in ordered:
            if view := figure_view(one, output, mine):
                parted[paper.study or one.file.study].append(view)
        views = [*parted[False], *parted[True]]
        drawn = {view["figure"].name: view["image"] for view in views if view["image"]}
        main = [one for one in mine if one.main]
        counts = Counter(one.outcome for one in main)
        if views:
            found.append(
                {
                    "name": name,
                    "paper": paper,
                    "own": parted[False],
                    "studies": parted[True],
                    "main": main,
                    "counted": ", ".join(f"{counts[one]} {one}" for one in OUTCOMES if counts[one]),
                    "picture": drawn.get(paper.picture, next(iter(drawn.values()), "")),
                }
            )
    return found


def figure_view(figure: Figure, page: Path, stated: Iterable[Outcome]) -> dict[str, Any] | None:
    """A figure as the page in `page` shows it; None where its drawing does not lie in the folder of the page.

    ``files`` are links, relative to the page, by their names; ``image`` is a drawing, ``table`` head and rows of a
    table, whose columns ``words`` hold no numbers; ``statements`` are those that the figure is evidence for.
    """
    root = Path(paths.REPORT.format(preset=figure.preset))
    products = [Path(path).relative_to(root) for path in (*figure.drawings, figure.table)]
    products.append(products[-1].with_suffix(".csv.gz"))
    found = [path for path in products if (page.parent / path).is_file()]
    files = {path.name.partition(".")[2].upper(): path.as_posix() for path in found}
    shown = next((files.pop(kind) for kind in ("PNG", "MD") if kind in files), None)
    if shown is None:
        return None
    config = target_files()[figure.target]
    if config.is_relative_to(Path.cwd()):
        files["figure file"] = Path(os.path.relpath(config, page.parent.resolve())).as_posix()
    provenance = Path(figure.table).relative_to(root).with_suffix(".provenance.json")
    if (page.parent / provenance).is_file():
        files["provenance"] = provenance.as_posix()
    table, words, plot = [], [], parse(figure.file.plot)
    if isinstance(plot, TablePlot):
        header, body, right = cells(read_table(page.parent / found[-1]), plot)
        table, words = [header, *body], [place for place in range(len(header)) if place not in right]
    return {
        "figure": figure,
        "about": {name: value for name, value in about(figure).items() if value},
        "files": files,
        "image": "" if figure.is_table else shown,
        "table": table,
        "words": words,
        "statements": [one for one in stated if figure.target in one.target.split()],
    }


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
        "seeds": ", ".join(dict.fromkeys(run.seeds for run in runs)),
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
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
