"""The last lines of a build: what was made, where to look, and which command to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gcexp.report.figure import Figure
from gcexp.run import paths
from gcexp.run.options import project

_MOST_NAMED = 6  # figures that are named one by one


def ending(preset: str, part: Sequence[Figure] | None = None) -> str:
    """What a person reads at the end of a build, in at most ten lines: of some figures, or of all on the page."""
    page = Path(paths.PAGE.format(preset=preset))
    if part is None:
        return "\n".join(_of_all(preset, page))
    return "\n".join(_of_some(part, page))


def _of_some(figures: Sequence[Figure], page: Path) -> list[str]:
    """Where each figure lies."""
    made = []
    for figure in figures:
        for drawing in figure.drawings:
            if drawing.endswith((".png", ".md")) and Path(drawing).is_file():
                made.append(Path(drawing))
    lines = [f"{path.stem}: {path}" for path in made[:_MOST_NAMED]]
    if len(made) > _MOST_NAMED:
        lines.append(f"and {len(made) - _MOST_NAMED} more in {page.parent}")
    if len(figures) == 1:
        (figure,) = figures
        own_page = paths.FIGURE_PAGE.format(preset=figure.preset, target=figure.target)
        lines.append(f"Open {own_page}: what the figure shows, and on what it rests.")
    lines.append("Next: `snakemake` makes all figures and a page that shows them.")
    return lines


def _of_all(preset: str, page: Path) -> list[str]:
    """How many figures there are, where they are shown, and what to do with them."""
    drawings = [*page.parent.glob("figures/*.png"), *page.parent.glob("tables/*.md")]
    about_data = ""
    with_preset = f" --config preset={preset}"
    if preset == "quick":  # which is made where no preset is named
        about_data = "; small data stand in for the papers' data sets"
        with_preset = ""
    lines = [
        f"Made {len(drawings)} figures and tables in {page.parent} ({preset} preset{about_data}).",
        f"Open {page}: it leads to one page for each paper.",
    ]
    if project():
        lines.append(
            f"Next: `snakemake TARGET{with_preset}` makes one figure; `gcexp list targets` names them."
        )
    else:
        lines += [
            "Next: `make verify` compares the numbers with the published ones,",
            "`make audit` judges the statements of the papers,",
            f"`snakemake everything{with_preset}` also makes our own studies.",
        ]
    return lines
