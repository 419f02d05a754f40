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
        made = [picture for figure in part if (picture := _picture(figure)).is_file()]
        named = [f"{path.stem}: {path}" for path in made[:_MOST_NAMED]]
        more = [f"and {len(made) - len(named)} more in {page.parent}"] if len(made) > len(named) else []
        return "\n".join([*named, *more, "Next: `snakemake` makes all figures and a page that shows them."])
    drawings = [*page.parent.glob("figures/*.png"), *page.parent.glob("tables/*.md")]
    stand_in = "; small data stand in for the papers' data sets" if preset == "quick" else ""
    return "\n".join(
        [
            f"Made {len(drawings)} figures and tables in {page.parent} ({preset} preset{stand_in}).",
            f"Open {page}: it leads to one page for each paper.",
            *_next("" if preset == "quick" else f" --config preset={preset}"),
        ]
    )


def _next(chosen: str) -> list[str]:
    if project():
        return [f"Next: `snakemake TARGET{chosen}` makes one figure; `gcexp list targets` names them."]
    return [
        "Next: `make verify` compares the numbers with the published ones,",
        "`make audit` judges the statements of the papers,",
        f"`snakemake everything{chosen}` also makes our own studies.",
    ]


def _picture(figure: Figure) -> Path:
    """The file that a person opens: the PNG, or a table's Markdown."""
    return next(path for path in map(Path, figure.drawings) if path.suffix in (".png", ".md"))
