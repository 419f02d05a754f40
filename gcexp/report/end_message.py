"""The last lines of a build: what was made, where to look, and which command may come next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gcexp.report.figure import Figure
from gcexp.run import paths

_MOST_TOLD = 6  # figures that are named one by one


def ending(preset: str, part: Sequence[Figure] | None = None) -> str:
    """What a person reads at the end of a build, in at most ten lines; nothing is computed.

    Parameters
    ----------
    preset : str
        Name of the preset.
    part : sequence of Figure, optional
        The figures that were asked for; by default everything, which the page shows.
    """
    page = Path(paths.PAGE.format(preset=preset))
    if part is not None:
        made = [figure for figure in part if Path(figure.drawings[0]).is_file()]
        told = [f"{figure.target}: {figure.drawings[0]}" for figure in made[:_MOST_TOLD]]
        more = [f"and {len(made) - len(told)} more in {page.parent}"] if len(made) > len(told) else []
        return "\n".join([*told, *more, "Next: `snakemake` makes all figures and a page that shows them."])
    drawings = [*page.parent.glob("figures/*.pdf"), *page.parent.glob("tables/*.md")]
    return "\n".join(
        [
            f"Made {len(drawings)} figures and tables in {page.parent}.",
            f"Open {page} to look at them.",
            "Next: `make verify` compares the numbers with the published ones,",
            "`make audit` judges the statements of the papers.",
        ]
    )
