"""Publish what the paper preset made: tables and drawings with their provenance, all claims judged anew."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from gcexp.errors import UserError
from gcexp.figures import markdown
from gcexp.files import written
from gcexp.report import artifact
from gcexp.report import scorecard as cards
from gcexp.report.figure import Figure
from gcexp.report.figure_view import papers
from gcexp.report.figurefile import figures, statements
from gcexp.report.published import MADE, PUBLISHED, packed, published
from gcexp.run import options, paths

#: Bytes of a CSV from about which code hosts show no table any more: larger ones are packed; pandas reads them as well.
MOST_SHOWN = 400_000


def publish() -> str:
    """Bring reports/published up to date with reports/paper and with the claims.

    A table that reports/paper has is copied over the published one, packed if it is large; any other stays, and what
    is no product of a figure goes. Then every figure is drawn and every claim judged from the published tables, and the
    claims, the scorecard, the page, the counts in README.md and the papers' own, and docs/artifact.md are written from
    that. So an edit of a claim or of a drawing repeats no run.

    Returns
    -------
    str
        What was done, for the terminal.

    Raises
    ------
    UserError
        If there is no table, neither made nor published.
    """
    from gcexp.report.stages import check_claims, make_drawing, write_page

    planned = figures("paper")
    for path in (path for path in MADE.rglob("*") if path.is_file() and path.parent != MADE):
        target = PUBLISHED / path.relative_to(MADE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        packed(target).unlink(missing_ok=True)
    for path in PUBLISHED.glob("data/*.csv"):
        if path.stat().st_size > MOST_SHOWN:
            _pack(path)
    known = {figure.target for figure in planned}
    wanted = {published(path) for figure in planned for path in figure.products}
    wanted |= {PUBLISHED / "data" / f"{target}.provenance.json" for target in known}
    for path in sorted(PUBLISHED.glob("*/*")):
        if path not in wanted:
            path.unlink()
    shown = [figure for figure in planned if published(figure.table).is_file()]
    if not shown:
        raise UserError("nothing to publish: make the paper preset first (make reproduce PRESET=paper)")
    claims = []
    for figure in shown:
        make_drawing(figure, published(figure.table), [published(path) for path in figure.drawings])
        claims += check_claims(figure, published(figure.table), published(figure.claims))
    claims.sort(key=lambda entry: (entry["paper"], entry["target"]))
    entries = cards.answered(claims, {figure.paper: statements(figure.paper) for figure in shown}) + claims
    cards.write_json(entries, PUBLISHED / "scorecard.json")
    cards.write_markdown(entries, PUBLISHED / "scorecard.md")
    write_page("paper", shown, PUBLISHED / "scorecard.json", PUBLISHED / "index.html")
    refresh(entries)
    reviewed(entries, shown)
    missing = sorted(known - {figure.target for figure in shown})
    lacking = f"; not made yet: {', '.join(missing)}" if missing else ""
    return f"{len(shown)} figures in {PUBLISHED}{lacking}; commit them"


def _pack(path: Path) -> None:
    """Put ``.csv.gz`` in the place of a table: the same bytes of the same table, whenever it is packed."""
    with written(packed(path)) as temporary:
        temporary.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.unlink()


def refresh(entries: list[dict]) -> None:
    """Write the counts into README.md and every statement with its outcome into its paper's, between their markers.

    Links to tables become those of the files that are there, packed or not.
    """
    pages = {
        folder.name: folder / "README.md"
        for folder in options.papers().values()
        if folder.is_relative_to(Path.cwd())
    }
    for path in (Path("README.md"), *pages.values()):
        if path.is_file():
            _write(path, _TABLE.sub(_link, path.read_text(encoding="utf-8")))
    stated, _ = cards.parts(entries)
    fill(Path("README.md"), "statements", cards.statement_grid(entries))
    for paper in dict.fromkeys(entry["paper"] for entry in stated):
        mine = [entry for entry in stated if entry["paper"] == paper]
        if paper in pages:
            text = cards.statement_grid(entries, paper) + "\n" + statement_page(mine)
            fill(pages[paper], "statements", text)


def reviewed(entries: list[dict], shown: list[Figure]) -> None:
    """Write what artifact reviewers need into docs/artifact.md, with what each target costs where that was kept."""
    kept = PUBLISHED / "costs.json"
    known = artifact.read(kept) if kept.is_file() else {}
    costs = {}
    for figure in shown:
        found, before = artifact.cost(figure, published(figure.table)), known.get(figure.target)
        measured = found is not None and not found.computed
        costs[figure.target] = found if measured or before is None or before.computed else before
    with written(kept) as temporary:
        temporary.write_text(artifact.as_json(costs), encoding="utf-8")
    titles = {name: paper.title for name, paper in papers().items()}
    fill(Path("docs/artifact.md"), "artifact", artifact.page(entries, costs, titles))


def statement_page(stated: list[dict]) -> str:
    """What of one paper does not simply hold, with its reason, and the rest with its evidence."""
    text = ""
    kept = [entry for entry in stated if entry["outcome"] == cards.HOLDS]
    other = [entry for entry in stated if entry["outcome"] != cards.HOLDS]
    text += cards.statement_list(other) + "\n" if other else ""
    text += "Statements that hold:\n\n" if kept else ""
    rows = (
        [entry["id"], entry["source"], entry["statement"], cards.judged_as(entry), ", ".join(_targets(entry))]
        for entry in kept
    )
    return text + (markdown.grid(["id", "source", "statement", "evidence", "shown in"], rows) if kept else "")


def _targets(entry: dict) -> Iterable[str]:
    return dict.fromkeys(claim.partition(":")[0] for claim in entry["claims"])


def fill(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end of name -->`` in a file that has the two."""
    if not path.is_file():
        return
    old = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    _write(path, re.sub(pattern, lambda found: f"{found[1]}{text}{found[2]}", old, flags=re.DOTALL))


_TABLE = re.compile(rf"(?<={paths.PUBLISHED}/)data/([\w.-]+?\.csv)(\.gz)?(?=\))")


def _link(found: re.Match) -> str:
    place = PUBLISHED / "data" / found[1]
    return f"data/{packed(place).name if packed(place).is_file() else found[1]}"


def _write(path: Path, text: str) -> None:
    if text != path.read_text(encoding="utf-8"):
        with written(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
