"""One static page with every figure and, under it, what the paper says about it and whether that holds."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from gcexp.files import written
from gcexp.report.claims import show
from gcexp.report.scorecard import (
    HOLDS,
    INPUTS,
    KINDS,
    OUTCOMES,
    STATEMENT_OUTCOMES,
    claim_counts,
    parts,
    statement_counts,
    summary,
)

_TEMPLATES = Path(__file__).parent / "templates"


def write_report(path: Path | str, preset: str, figures: list[dict], scorecard: list[dict]) -> None:
    """Write ``index.html``: scorecard on top, then the figures by paper; no script, no network.

    Parameters
    ----------
    path : path
        The page.
    preset : str
        Name of the preset.
    figures : list of dict
        ``target, title, source, png, pdf, csv, claims`` each: files relative to the page, claims as
        entries of the scorecard. ``paper`` may be given; else the target begins with it.
    scorecard : list of dict
        All entries: statements and claims.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Everything written by people is escaped.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"show": show, "link": lambda link: quote(Path(link).as_posix(), safe="/.-_~+@")}
    stated, claims = parts(scorecard)
    text = environment.get_template("report.html.j2").render(
        preset=preset,
        papers=_by_paper(figures, dict.fromkeys(entry["paper"] for entry in scorecard)),
        summary=summary(scorecard),
        stated=statement_counts(stated),
        statement_outcomes=STATEMENT_OUTCOMES,
        counts={kind: found for kind in KINDS if (found := claim_counts(claims, kind))},
        inputs=INPUTS,
        outcomes=OUTCOMES,
        held=HOLDS,
        statements=_of_paper(stated),
        missed=[entry for entry in claims if entry["outcome"] != HOLDS],
    )
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _of_paper(stated: list[dict]) -> dict[str, list[dict]]:
    """Statements by paper."""
    grouped: dict[str, list[dict]] = {}
    for entry in stated:
        grouped.setdefault(entry["paper"], []).append(entry)
    return grouped


def _by_paper(figures: list[dict], papers: dict) -> dict[str, list[dict]]:
    """Figures by paper, both in the order given."""
    grouped: dict[str, list[dict]] = {}
    for figure in figures:
        fits = [paper for paper in papers if figure["target"].startswith(f"{paper}_")]
        grouped.setdefault(figure.get("paper") or max(fits, key=len, default="other"), []).append(figure)
    return grouped
