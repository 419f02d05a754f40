"""The last lines of a build: what was made, where to look, and which command to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gcexp.report.figure import Figure
from gcexp.run import paths
from gcexp.run.options import project

_MOST_NAMED = 6  # figures that are named one by one


def ending(preset: str, part: Sequence[Figure] | None = None) -> str:
    """What a person reads at the end of a build, in at most ten lines: of some figures, or of all, which the page
    shows.
    """
    page = Path(paths.PAGE.format(preset=preset))
    if part is not None:
        pictures = (
            Path(path) for figure in part for path in figure.drawings if path.endswith((".png", ".md"))
        )
        made = [picture for picture in pictures if picture.is_file()]
        named = [f"{path.stem}: {path}" for path in made[:_MOST_NAMED]]
        more = [f"and {len(made) - len(named)} more in {page.parent}"] if len(made) > len(named) else []
        return "\n".join([*named, *more, "Next: `snakemake` makes all figures and a page that shows them."])
    drawings = [*page.parent.glob("figures/*.png"), *page.parent.glob("tables/*.md")]
    stand_in = "; small data stand in for the papers' data sets" if preset == "quick" else ""
    chosen = "" if preset == "quick" else f" --config preset={preset}"
    told = [
        f"Made {len(drawings)} figures and tables in {page.parent} ({preset} preset{stand_in}).",
        f"Open {page}: it leads to one page for each paper.",
    ]
    if project():
        told.append(f"Next: `snakemake TARGET{chosen}` makes one figure; `gcexp list targets` names them.")
    else:
        told += [
            "Next: `make verify` compares the numbers with the published ones,",
            "`make audit` judges the statements of the papers,",
            f"`snakemake everything{chosen}` also makes our own studies.",
        ]
    return "\n".join(told)
