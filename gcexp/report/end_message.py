"""The last lines of a build: what was made, where to look, and which command to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gcexp.report.figure import Figure
from gcexp.run import paths

_MOST_TOLD = 6  # figures that are named one by one

_MOST = 6  # figures that are named one by one


def ending(preset: str, part: Sequence[Figure] | None = None) -> str:
    """At most ten lines for the end of a build; nothing is computed.

    Parameters
    ----------
    preset : str
        Name of the preset.
    part : sequence of Figure, optional
        The figures that were asked for; by default everything that the page shows.
    """
    page = Path(paths.PAGE.format(preset=preset))
    if part is None and page.is_file():
        return "\n".join([*_made(page, preset), "", *_next(preset)])
    drawn = [figure for figure in part or () if _picture(figure).is_file()]  # `--until` stops before
    lines = [f"{figure.target}: {_picture(figure)}" for figure in drawn[:_MOST]]
    if len(drawn) > _MOST:
        folders = sorted({str(_picture(figure).parent) for figure in drawn})
        lines.append(f"and {len(drawn) - _MOST} more in {' and '.join(folders)}")
    return "\n".join([*lines, "", f"Next: `snakemake` makes all figures and the page {page}."])


def _made(page: Path, preset: str) -> list[str]:
    drawn = [*page.parent.glob("figures/*.png"), *page.parent.glob("tables/*.md")]
    stand_in = ", with small stand-in data" if preset == "quick" else ""
    return [
        f"Made {len(drawn)} figures and tables ({preset} preset{stand_in}).",
        f"Open {page}: it leads to one page for each paper.",
    ]


def _next(preset: str) -> list[str]:
    chosen = "" if preset == "quick" else f" --config preset={preset}"
    if project():
        return [f"Next: `snakemake TARGET{chosen}` makes one figure; `gcexp list targets` names them."]
    return [
        "Next: `make verify` compares the tables with the published ones,",
        "      `make audit` judges the statements of the papers,",
        f"      `snakemake everything{chosen}` also makes our own studies.",
    ]


def _picture(figure: Figure) -> Path:
    """The file that a person opens: the PNG, or a table's Markdown."""
    return next(path for path in map(Path, figure.drawings) if path.suffix in (".png", ".md"))
