"""Copy what the paper preset made to the committed folder, with the provenance of every table."""

from __future__ import annotations

import shutil
from pathlib import Path

from gcexp.errors import UserError
from gcexp.report.figurefile import Figure

MADE, PUBLISHED = Path("reports/paper"), Path("reports/published")


def publish() -> str:
    """Copy reports/paper over reports/published; targets made earlier and not now are kept.

    Raises
    ------
    UserError
        If the paper preset has made nothing yet.
    """
    if not (MADE / "scorecard.json").is_file():
        raise UserError("nothing to publish: make the paper preset first (make reproduce PRESET=paper)")
    files = [path for path in MADE.rglob("*") if path.is_file()]
    for path in files:
        target = PUBLISHED / path.relative_to(MADE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return f"{len(files)} files in {PUBLISHED}; commit them"


def table_of(figure: Figure) -> Path:
    """Table of a figure: the one made here, else, of the paper preset, the published one.

    Raises
    ------
    UserError
        If there is neither.
    """
    published = PUBLISHED / "data" / Path(figure.table).name
    places = [Path(figure.table), *([published] if figure.preset == "paper" else [])]
    for place in places:
        if place.is_file():
            return place
    raise UserError(f"there is no table {places[0]}; make it first: snakemake {figure.target}")
