"""The last lines of a build: figures made, what holds of the claims behind them, what to open."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gcexp.files import read_json
from gcexp.report.figure import Figure
from gcexp.report.predicates import OUTCOMES
from gcexp.report.scorecard import COLUMNS, parts, tally
from gcexp.run import paths
from gcexp.run.options import project


def ending(preset: str, part: Sequence[Figure] | None = None) -> str:
    """The closing table of a build, from the files that it made; nothing is computed.

    Parameters
    ----------
    preset : str
        Name of the preset.
    part : sequence of Figure, optional
        The figures that were asked for; by default everything, which the page shows.

    Returns
    -------
    str
        Figures and statements per paper, or the claims of each figure; last what to open.
    """
    page = Path(paths.PAGE.format(preset=preset))
    if part is None and page.is_file():
        scorecard = json.loads(Path(paths.SCORECARD[0].format(preset=preset)).read_text("utf-8"))
        return "\n".join([*_aligned(_of_papers(scorecard)), "", f"open {page}"])
    judged = [figure for figure in part or () if Path(figure.claims).is_file()]  # `--until` stops before
    lines = _aligned([["claims", *OUTCOMES, "file"], *map(_of_figure, judged)]) if judged else []
    which = "the project's own" if project() else "all"
    return "\n".join([*lines, "", f"{which} figures on one page, {page}: plain `snakemake`"])


def _of_papers(scorecard: list[dict]) -> list[list]:
    count, (_, claims) = tally(scorecard), parts(scorecard)
    shown = [place for place, number in enumerate(count.total[1:], 1) if number]
    figures = Counter(paper for paper, _ in {(claim["paper"], claim["target"]) for claim in claims})
    rows = [
        [paper, figures[paper], *(count.rows[paper][place] if paper in count.rows else "" for place in shown)]
        for paper in sorted(figures)
    ]
    header = ["statements", "figures", *(COLUMNS[place - 1] for place in shown)]
    return [header, *rows, ["all", sum(figures.values()), *(count.total[place] for place in shown)]]


def _of_figure(figure: Figure) -> list:
    count = Counter(claim["outcome"] for claim in read_json(figure.claims))
    return [figure.target, *(count[outcome] for outcome in OUTCOMES), figure.drawings[0]]


def _aligned(rows: list[list]) -> list[str]:
    r"""Rows of text in columns, numbers to the right.

    Examples
    --------
    >>> print("\n".join(_aligned([["claims", "holds"], ["fig1", 3]])))
    claims  holds
    fig1        3
    """
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    numbers = [isinstance(cell, int) for cell in rows[-1]]
    lines = (
        [
            f"{text:>{width}}" if number else f"{text:{width}}"
            for text, width, number in zip(row, widths, numbers, strict=True)
        ]
        for row in texts
    )
    return ["  ".join(line).rstrip() for line in lines]
