"""Where the table of a figure lies: made here, or published, packed where it is large."""

from __future__ import annotations

from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import bundled
from gcexp.report.figure import Figure
from gcexp.run import paths

MADE = Path(paths.REPORT.format(preset="paper"))
PUBLISHED = Path(paths.PUBLISHED)


def published_file(path: str | Path, folder: Path = PUBLISHED) -> Path:
    """Where a product of the paper preset is published: a large table packed, as ``.csv.gz``."""
    place = folder / Path(path).relative_to(MADE)
    if packed_file(place).is_file():
        return packed_file(place)
    return place


def packed_file(place: Path) -> Path:
    """The name of a table once it is packed."""
    return place.with_name(f"{place.name}.gz")


def table_of(figure: Figure) -> Path:
    """Table of a figure: the one made here, else, of the paper preset, the published one."""
    made = Path(figure.table)
    if made.is_file():
        return made
    published = published_table(figure.target) if figure.preset == "paper" else None
    if published is None:
        raise UserError(
            f"there is no table {made}; make it first: {command_that_makes(figure.target, figure.preset)}"
        )
    return published


def command_that_makes(target: str, preset: str) -> str:
    """What a person types to make a figure under a preset.

    >>> command_that_makes("mine_first", "quick"), command_that_makes("mine_first", "paper")
    ('snakemake mine_first', 'snakemake mine_first --config preset=paper')
    """
    if preset == "quick":  # which is made where no preset is named
        return f"snakemake {target}"
    return f"snakemake {target} --config preset={preset}"


def published_table(target: str, folder: Path = PUBLISHED) -> Path | None:
    """The published table of a target, packed or not, of this folder or else of the installation."""
    here = folder / "data" / f"{target}.csv"
    installed = PUBLISHED / "data" / f"{target}.csv"
    for place in (here, packed_file(here), bundled(installed), bundled(packed_file(installed))):
        if place.is_file():
            return place
    return None
