"""Where the table of a figure lies: made here, or published, packed where it is large."""

from __future__ import annotations

from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import bundled
from gcexp.report.figure import Figure
from gcexp.run import paths

MADE, PUBLISHED = Path(paths.REPORT.format(preset="paper")), Path(paths.PUBLISHED)


def published(path: str | Path, folder: Path = PUBLISHED) -> Path:
    """Where a product of the paper preset is published: a large table packed, as ``.csv.gz``."""
    place = folder / Path(path).relative_to(MADE)
    return packed(place) if packed(place).is_file() else place


def packed(place: Path) -> Path:
    """The name of a table once it is packed."""
    return place.with_name(f"{place.name}.gz")


def table_of(figure: Figure) -> Path:
    """Table of a figure: the one made here, else, of the paper preset, the published one."""
    made = Path(figure.table)
    published = published_table(figure.target) if figure.preset == "paper" else None
    found = made if made.is_file() else published
    if found is None:
        raise UserError(f"there is no table {made}; make it first: snakemake {figure.target}")
    return found


def published_table(target: str, folder: Path = PUBLISHED) -> Path | None:
    """The published table of a target, packed or not, of this folder or else of the installation."""
    inside = Path("data") / f"{target}.csv"
    here, installed = folder / inside, PUBLISHED / inside
    places = (here, packed(here), bundled(installed), bundled(packed(installed)))
    return next((place for place in places if place.is_file()), None)
