"""How many of a paper's own statements hold: all claims of a preset in one list, as JSON and as Markdown.

The list begins with one entry per statement of every paper that has a figure (`STATEMENT_FIELDS`); the
checked claims (`gcexp.report.claims.FIELDS`) follow. A statement *holds* if every claim that answers it does;
if one of those rests on constants that were chosen so that it does, the statement is *calibrated* and not
counted among those that hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from gcexp.errors import DataError
from gcexp.figures import markdown
from gcexp.files import written
from gcexp.report.claims import FIELDS, INPUTS, KINDS, show
from gcexp.report.predicates import FAILS, HOLDS, OUTCOMES, UNDECIDED
from gcexp.report.statements import Statement

CALIBRATED, NOT_CHECKABLE, UNANSWERED = "calibrated", "not checkable", "unanswered"
STATEMENT_OUTCOMES = (HOLDS, FAILS, UNDECIDED, CALIBRATED, NOT_CHECKABLE, UNANSWERED)
STATEMENT_FIELDS = ("paper", "id", "source", "statement", "conditions", "outcome", "claims", "reason")


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


def answered(claims: list[dict], stated: Mapping[str, Mapping[str, Statement]]) -> list[dict]:
    """One entry per statement of every paper among the claims, in the paper's order.

    Parameters
    ----------
    claims : list of dict
        Checked claims.
    stated : mapping
        Paper to its statements by id, as `gcexp.report.statements.read_statements` gives them.

    Returns
    -------
    list of dict
        `STATEMENT_FIELDS`; ``claims`` names the claims that answer it as ``target: id``.
    """
    found = []
    for paper in sorted({claim["paper"] for claim in claims}):
        mine = [claim for claim in claims if claim["paper"] == paper]
        for statement in stated.get(paper, {}).values():
            answers = [claim for claim in mine if statement.id in claim["answers"]]
            outcome, reason = _outcome(statement, answers)
            found.append(
                {
                    "paper": paper,
                    "id": statement.id,
                    "source": statement.where,
                    "statement": statement.statement,
                    "conditions": statement.conditions,
                    "outcome": outcome,
                    "claims": [f"{claim['target']}: {claim['id']}" for claim in answers],
                    "reason": reason,
                }
            )
    return found


def _outcome(statement: Statement, answers: list[dict]) -> tuple[str, str]:
    """Outcome of a statement, and why it does not simply hold."""
    if not answers:
        checkable = statement.verdict == "yes"
        return (UNANSWERED, "no claim names it") if checkable else (NOT_CHECKABLE, statement.remark)
    for outcome in (FAILS, UNDECIDED):
        if missed := [claim for claim in answers if claim["outcome"] == outcome]:
            return outcome, "; ".join(dict.fromkeys(claim["reason"] for claim in missed))
    if any(claim["inputs"] == "calibrated" for claim in answers):
        return CALIBRATED, "the constants were chosen so that it holds"
    return HOLDS, ""


def statement_counts(entries: Iterable[dict]) -> dict[str, dict[str, int]]:
    """Statements per paper and outcome.

    Examples
    --------
    >>> statement_counts([{"paper": "a", "outcome": "holds"}])["a"]["holds"]
    1
    """
    table: dict = {}
    for entry in entries:
        table.setdefault(entry["paper"], dict.fromkeys(STATEMENT_OUTCOMES, 0))[entry["outcome"]] += 1
    return table


def claim_counts(entries: Iterable[dict], kind: str) -> dict[str, dict[str, dict[str, int]]]:
    """Claims of one kind per paper, outcome and inputs.

    Examples
    --------
    >>> claim_counts([{"paper": "a", "kind": "number", "outcome": "holds", "inputs": "paper"}], "number")[
    ...     "a"
    ... ]["holds"]
    {'paper': 1, 'assumed': 0, 'calibrated': 0}
    """
    table: dict = {}
    for entry in entries:
        if entry["kind"] == kind:
            empty = {outcome: dict.fromkeys(INPUTS, 0) for outcome in OUTCOMES}
            table.setdefault(entry["paper"], empty)[entry["outcome"]][entry["inputs"]] += 1
    return table


def parts(scorecard: list[dict]) -> tuple[list[dict], list[dict]]:
    """The statements and the claims of a scorecard."""
    stated = [entry for entry in scorecard if tuple(entry) == STATEMENT_FIELDS]
    return stated, [entry for entry in scorecard if tuple(entry) != STATEMENT_FIELDS]


def counted(count: int, outcome: str) -> str:
    """How many have an outcome, in words.

    Examples
    --------
    >>> counted(1, "does not hold"), counted(2, "does not hold"), counted(2, "undecided")
    ('1 does not hold', '2 do not hold', '2 undecided')
    """
    return f"{count} {'do not hold' if outcome == FAILS and count != 1 else outcome}"


def said(by: Mapping[str, int]) -> str:
    """Outcomes of statements in words.

    Examples
    --------
    >>> said({"holds": 7, "does not hold": 2, "undecided": 0, "calibrated": 1})
    '7 of 10 statements hold; 2 do not hold, 1 calibrated'
    """
    others = [counted(count, outcome) for outcome, count in by.items() if count and outcome != HOLDS]
    return f"{by[HOLDS]} of {sum(by.values())} statements hold" + ("; " + ", ".join(others) if others else "")


def summary(scorecard: list[dict]) -> str:
    """All counts in two sentences.

    Examples
    --------
    >>> summary([])
    'No claim is made.'
    """
    stated, claims = parts(scorecard)
    if not scorecard:
        return "No claim is made."
    counts = statement_counts(stated)
    total = {outcome: sum(by[outcome] for by in counts.values()) for outcome in STATEMENT_OUTCOMES}
    papers = "1 paper" if len(counts) == 1 else f"{len(counts)} papers"
    sentences = [f"Of {papers} {said(total)}."] if counts else []
    kept = {kind: [c["outcome"] == HOLDS for c in claims if c["kind"] == kind] for kind in KINDS[1:]}
    rest = [f"{sum(held)} of {len(held)} {kind}s" for kind, held in kept.items() if held]
    return " ".join([*sentences, *([f"Beside them {' and '.join(rest)} hold."] if rest else [])])


def write_json(scorecard: list[dict], path: Path | str) -> None:
    """Write entries as one JSON list."""
    text = json.dumps(scorecard, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_markdown(scorecard: list[dict], path: Path | str) -> None:
    """Write counts per paper, then the statements, then every claim."""
    with written(path) as temporary:
        temporary.write_text(to_markdown(scorecard), encoding="utf-8", newline="\n")


_ABOUT = """What the papers themselves state comes first, then numbers (printed in a paper or restored from
its formulas), then companions (ours). Inputs say where a claim's parameters come from: the paper, an
assumption, or a calibration. A statement holds if every claim that answers it does; *calibrated*: the
constants were chosen so that it
does; *undecided*: not at this many seeds."""


def to_markdown(scorecard: list[dict]) -> str:
    """The scorecard in Markdown."""
    stated, claims = parts(scorecard)
    text = f"# Scorecard\n\n{_ABOUT}\n\n"
    text += statement_grid(stated) if stated else ""
    for kind in KINDS:
        text += _claim_grid(claims, kind)
    for paper in dict.fromkeys(entry["paper"] for entry in scorecard):
        text += f"\n## {markdown.escape(paper)}\n"
        if mine := [entry for entry in stated if entry["paper"] == paper]:
            text += "\n### Statements\n\n" + statement_list(mine)
        for kind in KINDS:
            rows = [_row(entry) for entry in claims if (entry["paper"], entry["kind"]) == (paper, kind)]
            if rows:
                text += f"\n### Claims: {kind}s\n\n" + markdown.grid(_SHOWN, rows)
    return text


def statement_grid(stated: list[dict]) -> str:
    """Statements counted per paper, as a Markdown table."""
    lines = [[paper, sum(by.values()), *by.values()] for paper, by in statement_counts(stated).items()]
    header = ["paper", "statements", *STATEMENT_OUTCOMES]
    return markdown.grid(header, _with_sum(lines), right=range(1, len(header)))


def statement_list(stated: list[dict]) -> str:
    """Every statement with its outcome, as a Markdown table."""
    header = ["id", "source", "statement", "outcome", "claims", "reason"]
    rows = [
        [*(entry[name] for name in header[:4]), ", ".join(entry["claims"]), entry["reason"]]
        for entry in stated
    ]
    return markdown.grid(header, rows)


_SHOWN = [name for name in FIELDS if name not in ("paper", "kind")]


def _claim_grid(claims: list[dict], kind: str) -> str:
    table = claim_counts(claims, kind)
    header = [
        f"claims: {kind}s",
        "all",
        *(f"{outcome} ({inputs})" for outcome in OUTCOMES for inputs in INPUTS),
    ]
    lines = []
    for paper, by in table.items():
        row = [by[outcome][i] for outcome in OUTCOMES for i in INPUTS]
        lines.append([paper, sum(row), *row])
    return "\n" + markdown.grid(header, _with_sum(lines), right=range(1, len(header))) if lines else ""


def _with_sum(lines: list[list]) -> list[list]:
    if len(lines) > 1:
        lines = [*lines, ["all", *(sum(column) for column in list(zip(*lines, strict=True))[1:])]]
    return lines


def _row(entry: dict) -> list[str]:
    return [" ".join(entry[name]) if name == "answers" else show(entry[name]) for name in _SHOWN]


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == set(FIELDS)
        and entry["kind"] in KINDS
        and entry["outcome"] in OUTCOMES
        and entry["inputs"] in INPUTS
    )
