"""The jobs of a figure: its table, and its drawing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.run.dependencies import dotted_names
from gcexp.run.provenance import check_unchanged, packages, write_provenance

if TYPE_CHECKING:
    from gcexp.report.figure import Figure


def make_table(figure: Figure, output: Path) -> None:
    """The tidy CSV of a figure; its provenance names the largest errors that replays found for each run and seed."""
    from gcexp.figures.tables import write_table
    from gcexp.report.table import assemble

    about: dict[str, object] = {"figure": figure.target, "preset": figure.preset}
    if figure.file.analysis:
        about |= {"analysis": figure.file.analysis | figure.arguments}
    classes = dotted_names([about, *(run.config for run in figure.runs)])
    with write_provenance(output, about, inputs=figure.inputs, packages=packages(classes)) as facts:
        table, replays = assemble(figure)
        facts["replays"] = replays
        write_table(table, output)


def make_drawing(figure: Figure, table: Path, outputs: list[Path]) -> None:
    """Draw a table, or write it as Markdown and LaTeX where the figure is a table."""
    from gcexp.figures import draw, save
    from gcexp.figures.tables import read_table

    check_unchanged(table)
    drawn = draw(
        read_table(table),
        figure.file.plot,
        title=figure.heading,
        note=figure.footnote,
        style=figure.style,
        label=figure.label,
        width=figure.render.width,
    )
    save(drawn, outputs, figure.style)
