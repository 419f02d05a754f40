"""Publish what the paper preset made: tables and pictures, with every claim judged anew."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import written_folder
from gcexp.report import audit
from gcexp.report.figure import Figure
from gcexp.report.figurefile import figures
from gcexp.report.published import MADE, PUBLISHED, packed_file, published_file

#: Bytes of a CSV from about which code hosts show no table any more: larger ones are packed; pandas reads them as well.
MOST_SHOWN = 400_000


def publish() -> str:
    """Bring reports/published up to date with reports/paper and with the claims; say what was done.

    Tables of reports/paper stand in for the published ones, packed if they are large; what belongs to no figure
    goes. Then every figure is drawn from its published table, and every statement of the papers is judged. All this is
    made beside the published folder, which is replaced at the end: a mistake, or a full disk, leaves it as it was.
    """
    planned = figures("paper")
    with written_folder(PUBLISHED) as fresh:
        if PUBLISHED.is_dir():
            shutil.copytree(PUBLISHED, fresh, dirs_exist_ok=True)
        _take_tables(fresh)
        shown = []
        for figure in planned:
            if published_file(figure.table, fresh).is_file():
                shown.append(figure)
        if not shown:
            raise UserError("nothing to publish: make the paper preset first (make reproduce PRESET=paper)")
        drawings = _draw(shown, fresh)
        _remove_others(fresh, planned, drawings)
        judgements = audit.judge_all(published=fresh)
        audit.write_outcomes(judgements, fresh)
    audit.fill_readmes(judgements)
    missing = sorted(figure.target for figure in planned if figure not in shown)
    not_made = ""
    if missing:
        not_made = f"; not made yet: {', '.join(missing)}"
    return f"{len(shown)} figures in {PUBLISHED}{not_made}; commit them"


def _take_tables(folder: Path) -> None:
    """Copy what the paper preset made over what was published, packed where it is large."""
    for path in MADE.glob("data/*"):
        target = folder / path.relative_to(MADE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        packed_file(target).unlink(missing_ok=True)
    for path in folder.glob("data/*.csv"):
        if path.stat().st_size > MOST_SHOWN:
            content = gzip.compress(path.read_bytes(), 9, mtime=0)  # equal tables as equal bytes
            packed_file(path).write_bytes(content)
            path.unlink()


def _draw(shown: Iterable[Figure], folder: Path) -> list[Path]:
    """Draw each figure from its published table, and return the files."""
    from gcexp.report.jobs import make_drawing

    drawings = []
    for figure in shown:
        if figure.is_table:
            shown_on_page, _ = figure.drawings  # Markdown, and LaTeX
        else:
            _, shown_on_page = figure.drawings  # PDF, and PNG
        drawing = published_file(shown_on_page, folder)
        make_drawing(figure, published_file(figure.table, folder), [drawing])
        drawings.append(drawing)
    return drawings


def _remove_others(folder: Path, planned: Iterable[Figure], drawings: Iterable[Path]) -> None:
    """Remove what belongs to no figure and no paper."""
    wanted = {*drawings}
    for figure in planned:
        wanted.add(published_file(figure.table, folder))
        wanted.add(folder / "data" / f"{figure.target}.provenance.json")
    for paper in audit.papers().values():
        wanted.add(audit.page_of(paper, folder))
    for path in folder.glob("*/*"):
        if path not in wanted:
            path.unlink()
