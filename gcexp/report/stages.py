"""The stages of a report: table, drawing, claims, page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.files import read_json, written
from gcexp.run.dependencies import targets
from gcexp.run.kept import installed, kept
from gcexp.run.provenance import check_unchanged, packages, recorded
from gcexp.run.reads import unrecorded

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.figure import Figure


def make_table(figure: Figure, output: Path) -> None:
    """The tidy CSV of a figure; its provenance names the largest errors that replays found for each run and seed."""
    from gcexp.figures.tables import write_table
    from gcexp.report.table import assemble

    about: dict[str, object] = {"figure": figure.target, "preset": figure.preset}
    if figure.file.analysis:
        about |= {"analysis": figure.file.analysis | figure.arguments}
    used = packages(targets([about, *(run.config for run in figure.runs)]))
    with recorded(output, about, inputs=figure.inputs, packages=used) as facts:
        table, replays = assemble(figure)
        facts["replays"] = replays
        write_table(table, output)


def make_drawing(figure: Figure, table: Path, outputs: list[Path]) -> None:
    """Draw a table, or write it as Markdown and LaTeX where the figure is a table.

    A drawing that was made before of the same table in the same way is not made again; one with a function of
    somebody's is.
    """
    from gcexp.figures import draw, save
    from gcexp.figures.tables import read_table
    from gcexp.report.judged import strip

    check_unchanged(table)

    def under_curves() -> pd.DataFrame | None:
        return (
            strip(figure.file.claims, figure.file.plot, read_table(table))
            if figure.file.kind == "curves"
            else None
        )

    def make() -> None:
        frame, under = read_table(table), under_curves()
        said = figure.heading, figure.footnote, figure.style, figure.label, figure.look.inches
        drawn = draw(frame, figure.file.plot, *said, under)
        save(drawn, outputs, figure.style)

    if targets(figure.file.plot) or not table.is_file():  # which reading it will tell
        return make()
    with unrecorded():
        under = under_curves()  # its numbers count, not how predicates come by them
        key = [
            figure.tracked_plot,
            under if under is None else under.to_dict("list"),
            hashlib.sha256(table.read_bytes()).hexdigest(),
        ]
        kept(outputs, [*key, installed("matplotlib", "numpy", "pandas")], make)


def check_claims(figure: Figure, table: Path, output: Path) -> list[dict]:
    """Hold the table against the paper's statements."""
    from gcexp.figures.tables import read_table
    from gcexp.report.claims import check

    check_unchanged(table)
    reduced = figure.preset != "paper"
    entries = check(figure.file.claims, read_table(table), figure.paper, figure.name, figure.seeds, reduced)
    with written(output) as temporary:
        temporary.write_text(json.dumps(entries, indent=1) + "\n")
    return entries


def write_page(preset: str, figures: Iterable[Figure], scorecard: Path, output: Path) -> None:
    """The static page of figures and claims, which lie in the folder of the page."""
    from gcexp.report.figure_view import figure_view, papers
    from gcexp.report.page import write_report

    entries = _entries(scorecard)  # first: what was asked for by name, before what the page needs besides
    write_report(output, preset, papers(), [figure_view(figure, output) for figure in figures], entries)


def _entries(path: Path) -> list[dict]:
    """Claims, and statements, that an earlier job wrote."""
    found = read_json(path)
    if not isinstance(found, list) or not all(
        isinstance(e, dict) and {"paper", "outcome"} <= set(e) for e in found
    ):
        raise UserError(f"{path} is no list of claims; delete it and make it again")
    return found
