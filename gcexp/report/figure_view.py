"""How a figure stands on the page: what is seen, what it was made of, where its files are."""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.files import bundled, read_json
from gcexp.report.page import FigureView, Paper, bibtex, words_under
from gcexp.run import options, paths
from gcexp.run.options import read_yaml
from gcexp.run.reads import unrecorded
from gcexp.schema import fill

if TYPE_CHECKING:
    from gcexp.report.figure import Figure

_MOST_LABELS = 12


def papers() -> dict[str, Paper]:
    """What ``paper.yaml`` says of every paper, by name, papers before collections of our own."""
    place = bundled("docs/references.bib")
    with unrecorded():  # what is cited counts, as the values do
        entries = place.read_text("utf-8") if place.is_file() else ""
    found = {}
    for folder in options.papers().values():
        given = read_yaml(path := folder / "paper.yaml")
        found[folder.name] = fill(
            Paper, given | {"bibtex": bibtex(entries, given.get("cite", ""))}, str(path)
        )
    return dict(sorted(found.items(), key=lambda item: (not item[1].authors, item[0])))


def tracked_papers() -> list[str]:
    """What the page says of the papers."""
    return [
        f"{name}={hashlib.sha256(repr(paper).encode()).hexdigest()[:16]}" for name, paper in papers().items()
    ]


def figure_view(figure: Figure, page: Path) -> FigureView:
    """A figure as the page in `page` shows it; its files lie in the folder of the page."""
    root = Path(paths.REPORT.format(preset=figure.preset))
    products = [Path(path).relative_to(root) for path in figure.products]
    files = {path.suffix.lstrip(".").upper(): path.as_posix() for path in products if path.suffix != ".json"}
    if (page.parent / f"{files['CSV']}.gz").is_file():  # published, and large
        files["CSV"] += ".gz"
    claims = next(path for path in products if path.parts[0] == "claims")
    provenance = Path(figure.table).relative_to(root).with_suffix(".provenance.json")
    folder = next(folder for folder in options.papers().values() if folder.name == figure.paper)
    config = folder / "figures" / f"{figure.name}.yaml"
    if config.is_relative_to(Path.cwd()):
        files["config"] = Path(os.path.relpath(config, page.parent.resolve())).as_posix()
    if (page.parent / provenance).is_file():
        files["provenance"] = provenance.as_posix()
    drawn = files.pop("PNG", "")
    table, words = ((), ()) if drawn else grid(page.parent / files["MD"])
    return FigureView(
        figure.paper,
        figure.name,
        figure.file.title,
        figure.file.source,
        alt=seen(figure) + ends(figure, page.parent / files["CSV"]),
        note=(words_under(page.parent / drawn) if drawn else "") or figure.note,
        about=tuple((name, value) for name, value in about(figure).items() if value),
        files=files,
        image=drawn,
        charts=charts(figure, page.parent / files["CSV"]),
        table=table,
        words=words,
        claims=tuple(read_json(page.parent / claims)),
        schemes=tuple(sorted({str(run.scheme).partition("+")[0] for run in figure.runs})),
    )


def charts(figure: Figure, table: Path) -> dict | None:
    """Its lines as charts that answer, None where it has others than lines."""
    from gcexp.figures.tables import read_table

    plot = figure.file.plot
    kinds = [part.get("kind") for part in (plot["parts"] if plot.get("kind") == "panels" else [plot])]
    if set(kinds) != {"lines"}:
        return None
    from gcexp.figures import interactive

    return interactive.charts(read_table(table), plot, figure.style)


def about(figure: Figure) -> dict[str, str]:
    """What a figure was made of, for a reader: a name and words each."""
    runs = figure.runs
    if not runs:
        return {key: _words(value) for key, value in figure.written.items()}
    common = {
        key: value for key, value in figure.file.common.items() if key not in ("label", "seeds", "task")
    }
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


def seen(figure: Figure) -> str:
    """What is seen, in words, for who does not see it."""
    plot = figure.file.plot
    kind = plot.get("kind", "lines")
    labels = figure.labels[:_MOST_LABELS]
    more = f" and {len(figure.labels) - len(labels)} more" if len(figure.labels) > len(labels) else ""
    names = f": {', '.join(labels)}{more}" if labels else ""
    if kind == "lines":
        x, y = plot.get("x", "simulated_time_s"), plot.get("y", "test_accuracy")
        return f"{figure.file.title}. Lines of {y.replace('_', ' ')} over {x.replace('_', ' ')}{names}"
    if kind == "panels":
        parts = [part.get("title") or part.get("y", "").replace("_", " ") for part in plot["parts"]]
        return f"{figure.file.title}. {len(parts)} panels ({'; '.join(filter(None, parts))}){names}"
    if kind == "bars":
        return f"{figure.file.title}. Bars{names}"
    return f"{figure.file.title}{names}"


def ends(figure: Figure, table: Path) -> str:
    """Order of the curves at their end, in words: medians over the seeds of the first score."""
    if figure.file.kind != "curves" or figure.passages:
        return ""
    from gcexp.figures.tables import read_table, scores_of

    frame = read_table(table)
    score = scores_of(frame)[0]
    last = frame.sort_values("iteration").groupby(["label", "run", "seed"], sort=False)[score].last()
    order = last.groupby("label", sort=False).median().sort_values(ascending=False, kind="stable")
    shown = [f"{label} {value:.3g}" for label, value in order.items()]
    return f". At the end, the highest {score.replace('_', ' ')} first: {', '.join(shown[:_MOST_LABELS])}"


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
