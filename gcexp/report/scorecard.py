"""How many of a paper's own statements have evidence: all claims of a preset in one list, as JSON and as Markdown.

The list begins with one entry per statement of every paper that has a figure (`STATEMENT_FIELDS`); the
checked claims (`gcexp.report.claims.FIELDS`) follow. A statement is judged part by part:

* a part *holds* if every claim that answers it does, and every companion that would contradict it;
* it *fails* if one of those fails whose inputs are the paper's, or if all that fail are assumed and none that holds is
  the paper's; else, and where a claim is undecided or missing, it is *undecided*.

A statement holds if all parts do and *in part* if some do; a part that is true by definition makes nothing "in part".
Where the parts are readings of one text, some that hold and some that do not leave it undecided.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gcexp.errors import DataError
from gcexp.figures import markdown
from gcexp.files import written
from gcexp.report.claims import DEFINITION, FIELDS, GRADES, INPUTS, KINDS, ONE_RUN, show
from gcexp.report.predicates import FAILS, HOLDS, OUTCOMES, UNDECIDED
from gcexp.report.statements import Statement

IN_PART, NOT_HERE, TIE, NOT_CHECKABLE = (
    *("holds in part", "not under our assumptions"),
    *("tie or undecided", "not checkable"),
)
STATEMENT_OUTCOMES = (HOLDS, IN_PART, NOT_HERE, FAILS, TIE, NOT_CHECKABLE)
STATEMENT_FIELDS = (
    *("paper", "id", "source", "statement", "conditions", "outcome", "grade", "assumed", "calibrated"),
    *("parts", "contradicted_by", "claims", "reason"),
)
#: How statements are counted. The second is among the first; each statement is in one of the others.
EVIDENCE, ASSUMED, BY_DEFINITION, CALIBRATED = (
    "with evidence",
    "of these assumed",
    "by definition",
    "calibrated",
)
COLUMNS = (
    *(EVIDENCE, ASSUMED, BY_DEFINITION, ONE_RUN, CALIBRATED),
    *("in part", NOT_HERE, FAILS, TIE, NOT_CHECKABLE),
)


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
        `STATEMENT_FIELDS`; ``claims`` names the claims that answer it as ``target: id``, ``parts`` says the outcome of
        each named part, ``contradicted_by`` names the companions whose failure makes a part fail.
    """
    found = []
    for paper in sorted({claim["paper"] for claim in claims}):
        mine = [claim for claim in claims if claim["paper"] == paper]
        for statement in stated.get(paper, {}).values():
            names = set(statement.answerable)
            answers = [claim for claim in mine if names & set(claim["answers"])]
            against = [claim for claim in mine if names & set(claim["contradicts"] or ())]
            judged = {part: _of_part(statement.id, part, answers, against) for part in statement.named}
            outcome, grade, reason = _whole(statement, judged)
            flags = dict.fromkeys(claim["calibrated"] for claim in answers if claim["calibrated"])
            found.append(
                {
                    "paper": paper,
                    "id": statement.id,
                    "source": statement.where,
                    "statement": statement.statement,
                    "conditions": statement.conditions,
                    "outcome": outcome,
                    "grade": grade,
                    "assumed": any(claim["inputs"] == "assumed" for claim in answers),
                    "calibrated": "; ".join(flags),
                    "parts": {part: one.outcome for part, one in judged.items() if part},
                    "contradicted_by": [claim_name(claim) for claim in against if claim["outcome"] != HOLDS],
                    "claims": [claim_name(claim) for claim in answers],
                    "reason": reason,
                }
            )
    return found


def claim_name(claim: dict) -> str:
    """What a statement calls a claim that answers it: ``target: id``."""
    return f"{claim['target']}: {claim['id']}"


@dataclass(frozen=True)
class _Part:
    """A part of a statement: `FAILS` by a claim whose inputs are the paper's, `NOT_HERE` by assumed ones alone."""

    outcome: str
    grade: str = ""
    reason: str = ""
    answered: bool = True


def _of_part(statement: str, part: str, answers: list[dict], against: list[dict]) -> _Part:
    names = {statement, f"{statement}/{part}"}
    mine = [claim for claim in answers if names & set(claim["answers"])]
    judged = [*mine, *(claim for claim in against if names & set(claim["contradicts"] or ()))]
    if not mine and all(claim["outcome"] == HOLDS for claim in judged):
        return _Part(UNDECIDED, reason="no claim answers it", answered=False)
    failed = [claim for claim in judged if claim["outcome"] == FAILS]
    open_ = [claim for claim in judged if claim["outcome"] == UNDECIDED]
    grade = min((claim["grade"] or ONE_RUN for claim in mine), key=GRADES.index, default="")
    why = "; ".join(dict.fromkeys(claim["reason"] for claim in failed or open_))
    if any(claim["inputs"] == "paper" for claim in failed):
        return _Part(FAILS, grade, why)
    if failed:
        shown = any(claim["outcome"] == HOLDS and claim["inputs"] == "paper" for claim in mine)
        return _Part(UNDECIDED if shown else NOT_HERE, grade, why)
    return _Part(UNDECIDED if open_ else HOLDS, grade, why)


def _whole(statement: Statement, judged: Mapping[str, _Part]) -> tuple[str, str, str]:
    """Outcome and grade of a statement from its parts, and why it does not simply hold."""
    parts = judged.values()
    if not any(part.answered for part in parts):
        checkable = statement.verdict == "yes"
        return NOT_CHECKABLE, "", "no claim names it" if checkable else statement.remark
    held = [part for part in parts if part.outcome == HOLDS]
    shown = [part for part in held if part.grade != DEFINITION]
    grade = max((part.grade for part in shown or held), key=GRADES.index, default="")
    if len(held) == len(judged):
        return HOLDS, grade, ""
    missed = [
        f"{name}: {part.reason}" if name else part.reason
        for name, part in judged.items()
        if part.outcome != HOLDS
    ]
    others = {part.outcome for part in parts} - {HOLDS}
    failed = next((one for one in (FAILS, NOT_HERE) if one in others), TIE)
    outcome = failed if not shown else TIE if statement.ambiguous else IN_PART
    return outcome, grade, "; ".join(missed)


def column(entry: Mapping) -> str:
    """Under which of `COLUMNS` a statement is counted.

    Examples
    --------
    >>> column({"outcome": "holds", "grade": "built", "calibrated": ""})
    'with evidence'
    >>> column({"outcome": "holds in part", "grade": "built", "calibrated": ""})
    'in part'
    """
    if entry["outcome"] != HOLDS:
        return "in part" if entry["outcome"] == IN_PART else entry["outcome"]
    if entry["calibrated"]:
        return CALIBRATED
    return {DEFINITION: BY_DEFINITION, ONE_RUN: ONE_RUN}.get(entry["grade"], EVIDENCE)


def judged_as(entry: Mapping) -> str:
    """Outcome, grade and flags of a statement in words.

    Examples
    --------
    >>> judged_as({"outcome": "holds", "grade": "definition", "assumed": True, "calibrated": ""})
    'holds by definition (assumed)'
    """
    grade = f" by {DEFINITION}" if entry["grade"] == DEFINITION else f", {entry['grade']}"
    said = entry["outcome"] + (grade if entry["outcome"] in (HOLDS, IN_PART) else "")
    assumed = entry["assumed"] and entry["outcome"] != NOT_HERE
    flags = [*(["assumed"] if assumed else []), *([CALIBRATED] if entry["calibrated"] else [])]
    return said + (f" ({', '.join(flags)})" if flags else "")


@dataclass(frozen=True)
class Tally:
    """Statements counted per paper: the one table that README, scorecard, page and artifact page show.

    Attributes
    ----------
    header : tuple of str
        ``paper, statements`` and `COLUMNS`.
    rows : dict of str to list of int
        By paper.
    total : list of int
        Of all papers.
    sentence : str
        On how many checks what has evidence rests.
    """

    header: tuple[str, ...]
    rows: dict[str, list[int]]
    total: list[int]
    sentence: str


def tally(scorecard: list[dict]) -> Tally:
    """The statements of a scorecard, counted.

    Two claims are one check where predicate and rows are equal, or where they read the same rows of an analysis.
    """
    stated, claims = parts(scorecard)
    rows = {}
    for paper in dict.fromkeys(entry["paper"] for entry in stated):
        mine = [entry for entry in stated if entry["paper"] == paper]
        count = Counter(map(column, mine))
        count[ASSUMED] = sum(entry["assumed"] and column(entry) == EVIDENCE for entry in mine)
        rows[paper] = [len(mine), *(count[name] for name in COLUMNS)]
    supported = {(e["paper"], name) for e in stated if column(e) == EVIDENCE for name in e["claims"]}
    checks = {
        (claim["paper"], claim["target"], claim["check"])
        for claim in claims
        if (claim["paper"], claim_name(claim)) in supported
    }
    total = [sum(column) for column in zip(*rows.values(), strict=True)] or [0] * (1 + len(COLUMNS))
    number = total[1 + COLUMNS.index(EVIDENCE)]
    said = f"{_count(number, 'statement')} {EVIDENCE} {'rests' if number == 1 else 'rest'} on "
    return Tally(
        ("paper", "statements", *COLUMNS), rows, total, f"{said}{_count(len(checks), 'distinct check')}."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def claim_counts(entries: Iterable[dict], kind: str) -> dict[str, dict[str, dict[str, int]]]:
    """Claims of one kind per paper, outcome and inputs.

    Examples
    --------
    >>> claim_counts([{"paper": "a", "kind": "number", "outcome": "holds", "inputs": "paper"}], "number")[
    ...     "a"
    ... ]["holds"]
    {'paper': 1, 'assumed': 0}
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


def count_phrase(count: int, outcome: str) -> str:
    """How many have an outcome, in words.

    Examples
    --------
    >>> count_phrase(1, "does not hold"), count_phrase(2, "does not hold"), count_phrase(2, "undecided")
    ('1 does not hold', '2 do not hold', '2 undecided')
    """
    return f"{count} {'do not hold' if outcome == FAILS and count != 1 else outcome}"


def said(row: Sequence[int]) -> str:
    """A row of `Tally` in words.

    Examples
    --------
    >>> said([10, 6, 2, 1, 0, 0, 1, 0, 2, 0, 0])
    '6 of 10 statements with evidence (2 of these assumed); 1 by definition, 1 in part, 2 do not hold'
    """
    count = dict(zip(COLUMNS, row[1:], strict=True))
    assumed = f" ({count[ASSUMED]} {ASSUMED})" if count[ASSUMED] else ""
    others = [count_phrase(n, name) for name, n in count.items() if n and name not in (EVIDENCE, ASSUMED)]
    return f"{count[EVIDENCE]} of {_count(row[0], 'statement')} {EVIDENCE}{assumed}" + (
        f"; {', '.join(others)}" if others else ""
    )


def summary(scorecard: list[dict]) -> str:
    """All counts in two sentences.

    Examples
    --------
    >>> summary([])
    'No claim is made.'
    >>> summary([{"paper": "mine", "target": "mine_a", "id": "a", "kind": "companion", "outcome": "holds"}])
    '1 of 1 companions hold.'
    """
    stated, claims = parts(scorecard)
    if not scorecard:
        return "No claim is made."
    count = tally(scorecard)
    sentences = (
        [f"Of {_count(len(count.rows), 'paper')} {said(count.total)}.", count.sentence] if stated else []
    )
    kept = {kind: [c["outcome"] == HOLDS for c in claims if c["kind"] == kind] for kind in KINDS[1:]}
    rest = [f"{sum(held)} of {len(held)} {kind}s" for kind, held in kept.items() if held]
    beside = "Beside them " if stated else ""
    return " ".join([*sentences, *([f"{beside}{' and '.join(rest)} hold."] if rest else [])])


def write_json(scorecard: list[dict], path: Path | str) -> None:
    """Write entries as one JSON list, a line for each."""
    lines = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in scorecard]
    with written(path) as temporary:
        temporary.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8", newline="\n")


def write_markdown(scorecard: list[dict], path: Path | str) -> None:
    """Write counts per paper, then the statements, then every claim."""
    with written(path) as temporary:
        temporary.write_text(to_markdown(scorecard), encoding="utf-8", newline="\n")


_ABOUT = """What the papers themselves state comes first, then numbers (printed in a paper or restored from
its formulas), then companions (ours).

* *built*: the code or scheme was built, run and compared; *enumerated*: all small instances, by another way than the
  library's formula; *formula*: two independent derivations agree; *one run*: fewer than 5 seeds, or one evaluation;
  *definition*: true by how the object is made, shown and never counted as evidence.
* A part of a statement has the strongest grade of its claims, a statement the weakest of its parts that hold.
* *assumed*: a claim that answers has parameters, tolerances or levels that the paper does not give.
* *calibrated*: a level, tolerance or constant was chosen after the numbers had been seen; on the date shown.
* *not under our assumptions*: what fails does so under parameters that the paper does not give.
* *tie or undecided*: the interval does not decide, or the sides differ by less than is printed."""


def to_markdown(scorecard: list[dict]) -> str:
    """The scorecard in Markdown."""
    stated, claims = parts(scorecard)
    text = f"# Scorecard\n\n{_ABOUT}\n\n"
    text += statement_grid(scorecard) if stated else ""
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


def statement_grid(scorecard: list[dict], paper: str = "") -> str:
    """Statements counted per paper, or those of one, as a Markdown table with the number of checks below it."""
    count = tally([entry for entry in scorecard if paper in ("", entry["paper"])])
    lines = [[name, *row] for name, row in count.rows.items()]
    if len(lines) > 1:
        lines.append(["all", *count.total])
    return f"{markdown.grid(count.header, lines, right=range(1, len(count.header)))}\n{count.sentence}\n"


def statement_list(stated: list[dict]) -> str:
    """Every statement with its outcome, as a Markdown table."""
    rows = [
        [
            *(entry["id"], entry["source"], entry["statement"], judged_as(entry)),
            ", ".join(f"{part}: {outcome}" for part, outcome in entry["parts"].items()),
            ", ".join(entry["claims"]),
            "; ".join(filter(None, (entry["reason"], _more(entry)))),
        ]
        for entry in stated
    ]
    return markdown.grid(["id", "source", "statement", "outcome", "parts", "claims", "reason"], rows)


def _more(entry: dict) -> str:
    """What was chosen when, and which companions stand against a statement."""
    against = ", ".join(entry["contradicted_by"])
    chosen = f"chosen after seeing, {entry['calibrated']}" if entry["calibrated"] else ""
    return "; ".join(filter(None, (chosen, f"contradicted by {against}" if against else "")))


_SHOWN = [name for name in FIELDS if name not in ("paper", "kind", "check")]


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
    lists = ("answers", "contradicts")
    return [" ".join(entry[name] or ()) if name in lists else show(entry[name]) for name in _SHOWN]


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == set(FIELDS)
        and entry["kind"] in KINDS
        and entry["outcome"] in OUTCOMES
        and entry["inputs"] in INPUTS
    )
