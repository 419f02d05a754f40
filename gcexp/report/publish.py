"""Publish what the paper preset made: tables and pictures, with every claim judged anew."""

from __future__ import annotations

import gzip
import shutil

from gcexp.errors import UserError
from gcexp.files import written
from gcexp.report import audit
from gcexp.report.figurefile import figures
from gcexp.report.published import MADE, PUBLISHED, packed, published

#: Bytes of a CSV from about which code hosts show no table any more: larger ones are packed; pandas reads them as well.
MOST_SHOWN = 400_000


def publish() -> str:
    """Bring reports/published up to date with reports/paper and with the claims; say what was done.

    Tables of reports/paper are copied over the published ones, packed if they are large; what belongs to no figure
    goes. Then every figure is drawn from its published table, and every statement of the papers is judged.
    """
    from gcexp.report.jobs import make_drawing

    planned = figures("paper")
    for path in MADE.glob("data/*"):
        target = PUBLISHED / path.relative_to(MADE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        packed(target).unlink(missing_ok=True)
    for path in PUBLISHED.glob("data/*.csv"):
        if path.stat().st_size > MOST_SHOWN:
            with written(packed(path)) as temporary:  # equal tables as equal bytes
                temporary.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
            path.unlink()
    shown = [figure for figure in planned if published(figure.table).is_file()]
    if not shown:
        raise UserError("nothing to publish: make the paper preset first (make reproduce PRESET=paper)")
    wanted = {published(figure.table) for figure in planned}
    wanted |= {PUBLISHED / "data" / f"{figure.target}.provenance.json" for figure in planned}
    wanted |= {PUBLISHED / "statements" / f"{folder.name}.md" for folder in audit.papers().values()}
    for figure in shown:
        drawing = published(figure.drawings[0 if figure.is_table else 1])
        wanted.add(drawing)
        make_drawing(figure, published(figure.table), [drawing])
    for path in PUBLISHED.glob("*/*"):
        if path not in wanted:
            path.unlink()
    audit.publish()
    missing = sorted({figure.target for figure in planned} - {figure.target for figure in shown})
    lacking = f"; not made yet: {', '.join(missing)}" if missing else ""
    return f"{len(shown)} figures in {PUBLISHED}{lacking}; commit them"
