"""The last lines of a build: figures made, statements that hold or do not, the page to open."""

from __future__ import annotations

import json
from pathlib import Path

from gcexp.report.scorecard import STATEMENT_OUTCOMES, parts, statement_counts
from gcexp.run import paths


def ending(preset: str) -> str:
    """The closing table of a preset, from what lies in its folder; nothing is computed."""
    folder = Path(paths.PAGE.format(preset=preset)).parent
    made = sum(1 for _ in folder.glob("figures/*.pdf")) + sum(1 for _ in folder.glob("tables/*.md"))
    lines = [f"figures and tables  {made} in {folder}"]
    try:
        scorecard = json.loads(Path(paths.SCORECARD[0].format(preset=preset)).read_text("utf-8"))
        counts = statement_counts(parts(scorecard)[0])
    except (OSError, ValueError, LookupError, TypeError):  # only a part was asked for
        counts = {}
    if counts:
        shown = [outcome for outcome in STATEMENT_OUTCOMES if any(by[outcome] for by in counts.values())]
        names = max(len(name) for name in [*counts, "statements"])
        lines += ["", "  ".join([f"{'statements':{names}}", *shown])]
        for paper, by in counts.items():
            lines.append("  ".join([f"{paper:{names}}", *(f"{by[o]:>{len(o)}}" for o in shown)]))
    page = folder / "index.html"
    return "\n".join(
        [*lines, "", f"open {page}" if page.is_file() else f"{page} is made by plain `snakemake`"]
    )
