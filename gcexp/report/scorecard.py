"""All claims of a preset in one list: as JSON for programs, as Markdown for readers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gcexp.errors import DataError
from gcexp.figures import markdown
from gcexp.files import written
from gcexp.report.claims import INPUTS, show

FIELDS = (
    *("paper", "target", "id", "source", "statement", "outcome", "inputs"),
    *("measured", "expected", "tolerance", "reason"),
)
OUTCOMES = ("reproduced", "not reproduced")


def collect(claim_files: Iterable[Path | str]) -> list[dict]:
    """The entries of all claim files, by paper and target; a target's claims stay in their order.

    Parameters
    ----------
    claim_files : iterable of paths
        JSON lists as `gcexp.report.claims.check` gives them.

    Raises
    ------
    DataError
        If a file is missing or holds something else.
    """
    entries = []
    for path in sorted(map(str, claim_files)):
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"cannot read the claims {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise DataError(f"the claims {path} are not JSON: {error}") from error
        if not isinstance(found, list) or any(not _is_entry(entry) for entry in found):
            raise DataError(f"{path} is not a list of checked claims (fields: {', '.join(FIELDS)})")
        entries += found
    return sorted(entries, key=lambda entry: (entry["paper"], entry["target"]))


def counts(entries: Iterable[dict]) -> dict[str, dict[str, dict[str, int]]]:
    """Claims per paper, outcome and inputs.

    Examples
    --------
    >>> counts([{"paper": "a", "outcome": "reproduced", "inputs": "paper"}])["a"]["reproduced"]
    {'paper': 1, 'assumed': 0, 'calibrated': 0}
    """
    table: dict = {}
    for entry in entries:
        empty = {outcome: dict.fromkeys(INPUTS, 0) for outcome in OUTCOMES}
        table.setdefault(entry["paper"], empty)[entry["outcome"]][entry["inputs"]] += 1
    return table


def write_json(entries: list[dict], path: Path | str) -> None:
    """Write entries as one JSON list."""
    text = json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_markdown(entries: list[dict], path: Path | str) -> None:
    """Write counts per paper, then every claim."""
    with written(path) as temporary:
        temporary.write_text(to_markdown(entries), encoding="utf-8", newline="\n")


def to_markdown(entries: list[dict]) -> str:
    """The scorecard in Markdown."""
    table = counts(entries)
    kept = sum(sum(by["reproduced"].values()) for by in table.values())
    text = f"# Scorecard\n\n{kept} of {len(entries)} claims are reproduced. Inputs say where a claim's parameters come"
    text += " from: the paper, an assumption, or a calibration.\n\n"
    header = ["paper", "claims", *(f"{outcome} ({inputs})" for outcome in OUTCOMES for inputs in INPUTS)]
    numbers = {paper: [by[outcome][i] for outcome in OUTCOMES for i in INPUTS] for paper, by in table.items()}
    lines = [[paper, sum(row), *row] for paper, row in numbers.items()]
    if len(lines) > 1:
        lines.append(["all", *(sum(column) for column in list(zip(*lines, strict=True))[1:])])
    text += markdown.grid(header, lines, right=range(1, len(header)))
    for paper in table:
        mine = [entry for entry in entries if entry["paper"] == paper]
        text += f"\n## {markdown.escape(paper)}\n\n" + markdown.grid(FIELDS[1:], map(_row, mine))
    return text


def _row(entry: dict) -> list[str]:
    return [show(entry[name]) for name in FIELDS[1:]]


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == set(FIELDS)
        and entry["outcome"] in OUTCOMES
        and entry["inputs"] in INPUTS
    )
