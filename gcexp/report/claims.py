"""What is claimed about a figure, and whether its table supports it.

A claim is a mapping with ``id, kind, source, statement, inputs`` and exactly one predicate of
`gcexp.report.predicates`. It may also have

* ``answers``: what of the paper it answers, ``id`` of a statement or ``id/part``, see `gcexp.report.statements`;
* ``grade``: what kind of evidence it is, one of `GRADES`;
* ``contradicts``: of a companion, what of the paper fails with it;
* ``calibrated: {date, what}``: a level, tolerance or constant was chosen after the numbers had been seen;
* ``rests_on``: the functions and classes, as ``module:object``, that make it fail when they are broken;
* ``reason``: why it does not hold, where known.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gcexp.errors import UserError, unknown
from gcexp.report import predicates
from gcexp.report.predicates import HOLDS, UNDECIDED
from gcexp.schema import fill, is_number

if TYPE_CHECKING:
    import pandas as pd

#: The paper says it; printed in the paper or restored from its formulas; ours.
KINDS = ("statement", "number", "companion")
INPUTS = ("paper", "assumed")
#: Built and compared; all small instances by another way than the library's formula; two independent derivations agree;
#: fewer than `FEWEST` seeds, or one evaluation; true by how the object is made. The strongest first.
BUILT, ENUMERATED, FORMULA, ONE_RUN, DEFINITION = GRADES = (
    *("built", "enumerated", "formula", "one run", "definition"),
)
FEWEST = 5
FIELDS = (
    *("paper", "target", "id", "kind", "answers", "contradicts", "source", "statement", "outcome", "inputs"),
    *("grade", "seeds", "calibrated", "measured", "expected", "tolerance", "reason", "check"),
)
TEXTS = ("id", "kind", "source", "statement", "inputs")
_OTHERS = ("answers", "contradicts", "grade", "calibrated", "rests_on", "reason")


@dataclass(frozen=True)
class Calibrated:
    """When and what was chosen after the numbers had been seen.

    Attributes
    ----------
    date : str
        Of the first commit with the value.
    what : str
        The level, tolerance, threshold or constants.
    """

    date: str
    what: str


def validate(
    claims: list[dict],
    labels: Iterable[str] | None = None,
    where: str = "claims",
    stated: Collection[str] | None = None,
    columns: Collection[str] | None = None,
    graded: bool = False,
) -> None:
    """Check what is written, before any job runs.

    Parameters
    ----------
    claims : list of dict
        From a figure file and its expected numbers.
    labels : iterable of str, optional
        The figure's labels; None where only the table will tell.
    where : str
        Where the claims were written, for the sentence.
    stated : iterable of str, optional
        Ids of the paper's statements, among which are those under ``answers``; None: not looked up.
    columns : iterable of str, optional
        Columns of the figure's table; None where only the table will tell.
    graded : bool
        Whether a claim that answers must say its grade: about an analysis it must, of runs their seeds tell.

    Raises
    ------
    UserError
        For the first mistake, with the claim and the key.

    Examples
    --------
    >>> claim = {
    ...     "id": "load",
    ...     "kind": "number",
    ...     "source": "Table 1",
    ...     "statement": "the load is 4",
    ...     "inputs": "paper",
    ... }
    >>> validate([claim | {"value": {"where": {"n": 12}, "column": "load", "expected": 4}}])
    >>> validate([claim | {"valeu": {}}])
    Traceback (most recent call last):
    gcexp.errors.UserError: claims: 'load': unknown predicate 'valeu'; did you mean 'value'? (allowed: ...)
    """
    found = _parsed(
        claims, None if labels is None else [str(label) for label in labels], where, stated, columns
    )
    for claim, *_ in found if graded else ():
        if claim.get("answers") and "grade" not in claim:
            raise UserError(f"{where}: {claim['id']!r}: grade is missing (allowed: {', '.join(GRADES)})")


def check(
    claims: list[dict],
    frame: pd.DataFrame,
    paper: str,
    target: str,
    seeds: int | None = None,
    reduced: bool = False,
) -> list[dict]:
    """Hold a table against the claims.

    Parameters
    ----------
    claims : list of dict
        From a figure file and its expected numbers.
    frame : DataFrame
        The figure's table.
    paper, target : str
        For the entries.
    seeds : int, optional
        Of the figure's runs, the fewest; None without runs. A claim about runs that gives no grade is *built* from
        `FEWEST` seeds on, else *one run*.
    reduced : bool
        The table is of a preset that sweeps less: a claim about values that it lacks is undecided and no mistake.

    Returns
    -------
    list of dict
        One entry (`FIELDS`) of the scorecard per claim, in their order, fit for JSON.
    """
    entries = []
    for claim, name, spec in _parsed(claims, None, "claims", None):
        try:
            verdict = predicates.judge(name, spec, frame)
        except UserError as error:
            if not (reduced and isinstance(error, predicates.AbsentRows)):
                raise UserError(f"claims: {claim['id']!r}: {error}") from None
            why = f"this preset makes fewer rows: {error}"
            verdict = predicates.Verdict(UNDECIDED, None, getattr(spec, "wanted", None), why=why)
        measured, expected, tolerance = map(_plain, (verdict.measured, verdict.expected, verdict.tolerance))
        if verdict.outcome == HOLDS:
            reason = ""
        elif verdict.outcome == UNDECIDED:
            reason = verdict.why
        else:
            found = f"measured {show(measured)}, expected {_wanted(expected, tolerance)}"
            reason = claim.get("reason") or found
        found = {
            "paper": paper,
            "target": target,
            "id": claim["id"],
            "kind": claim["kind"],
            "answers": list(claim.get("answers", ())),
            "contradicts": list(claim["contradicts"]) if "contradicts" in claim else None,
            "source": claim["source"],
            "statement": claim["statement"],
            "outcome": verdict.outcome,
            "inputs": claim["inputs"],
            "grade": claim.get("grade") or _grade(seeds),
            "seeds": seeds,
            "calibrated": "{date}: {what}".format(**claim["calibrated"]) if "calibrated" in claim else "",
            "measured": measured,
            "expected": expected,
            "tolerance": tolerance,
            "reason": reason,
            "check": _told_by(name, spec, seeds is None),
        }
        entries.append(found)
    return entries


def _grade(seeds: int | None) -> str:
    """The grade of a claim that gives none; empty for one about an analysis, which must say it where it answers."""
    return "" if seeds is None else BUILT if seeds >= FEWEST else ONE_RUN


def _told_by(name: str, spec: object, analysis: bool) -> str:
    """What two claims have in common that are one check: the same predicate and rows, or rows of an analysis."""
    shown = repr(predicates.rows_of(spec) if analysis else (name, spec))
    return hashlib.sha256(shown.encode()).hexdigest()[:8]


def show(value: object) -> str:
    """A measured or expected value in words.

    Examples
    --------
    >>> show(1.23456789), show({"a / b": 1.5, "a / c": "inf"}), show(None)
    ('1.23457', 'a / b: 1.5, a / c: inf', '–')
    >>> show({"a / b": {"median": 1.5, "low": 1.25, "high": 2.0}})
    'a / b: 1.5 (1.25 to 2)'
    """
    if isinstance(value, Mapping):
        if set(value) == {"median", "low", "high"}:
            return f"{show(value['median'])} ({show(value['low'])} to {show(value['high'])})"
        return ", ".join(f"{name}: {show(part)}" for name, part in value.items())
    if value is None:
        return "–"
    return f"{value:.6g}" if is_number(value) else str(value)


def _wanted(expected: object, tolerance: object) -> str:
    return show(expected) + (f" ± {show(tolerance)}" if tolerance else "")


def _parsed(
    claims: list[dict],
    labels: list[str] | None,
    where: str,
    stated: Collection[str] | None,
    columns: Collection[str] | None = None,
) -> list[tuple[dict, str, object]]:
    """Each claim with the name of its predicate and the filled dataclass."""
    if not isinstance(claims, list | tuple):
        raise UserError(f"{where}: wants a list of claims, got {claims!r}")
    specs = predicates.known()
    seen, found = set(), []
    for number, claim in enumerate(claims, 1):
        place = f"{where}: number {number}"
        if not isinstance(claim, Mapping):
            raise UserError(f"{place}: wants keys and values, got {claim!r}")
        if isinstance(claim.get("id"), str):
            place = f"{where}: {claim['id']!r}"
        _check_about(claim, place, stated)
        if claim["id"] in seen:
            raise UserError(f"{place}: stands twice; an id is unique in its figure")
        seen.add(claim["id"])
        names = [name for name in claim if name not in (*TEXTS, *_OTHERS)]
        for name in names:
            if name not in specs:
                raise UserError(f"{place}: {unknown('predicate', name, specs)}")
        if len(names) != 1:
            given = ", ".join(names) or "none"
            raise UserError(f"{place}: wants exactly one of {', '.join(specs)}, got {given}")
        spec = fill(specs[names[0]], claim[names[0]], f"{place}: {names[0]}")
        for label in getattr(spec, "labels", ()):
            if labels is not None and label not in labels:
                raise UserError(f"{place}: {names[0]}: {unknown('label', label, labels)}")
        for column in getattr(spec, "columns", ()):
            if columns is not None and column not in columns:
                raise UserError(f"{place}: {names[0]}: {unknown('column', column, columns)}")
        found.append((claim, names[0], spec))
    return found


def _check_about(claim: Mapping, place: str, stated: Collection[str] | None) -> None:
    """Check everything but the predicate."""
    for name in TEXTS:
        if not isinstance(claim.get(name), str) or not claim[name].strip():
            raise UserError(f"{place}: {name!r} is missing or no text")
    if not isinstance(claim.get("reason", ""), str):
        raise UserError(f"{place}: reason wants text, got {claim['reason']!r}")
    if claim["inputs"] not in INPUTS:
        raise UserError(f"{place}: {unknown('inputs', claim['inputs'], INPUTS)}")
    kind, answers = claim["kind"], claim.get("answers", ())
    if kind not in KINDS:
        raise UserError(f"{place}: {unknown('kind', kind, KINDS)}")
    for key in ("answers", "contradicts", "rests_on"):
        given = claim.get(key, ())
        if not isinstance(given, list | tuple) or any(not isinstance(one, str) for one in given):
            wanted = "objects, module:object" if key == "rests_on" else "statements' ids"
            raise UserError(f"{place}: {key} wants a list of {wanted}, got {given!r}")
        if len(set(given)) < len(given):
            raise UserError(
                f"{place}: {key} names {'an object' if key == 'rests_on' else 'a statement'} twice"
            )
        for one in given if key != "rests_on" else ():
            if stated is not None and one not in stated:
                raise UserError(f"{place}: {key}: {unknown('statement', one, stated)}")
    if "grade" in claim and claim["grade"] not in GRADES:
        raise UserError(f"{place}: {unknown('grade', claim['grade'], GRADES)}")
    if "calibrated" in claim:
        date = fill(Calibrated, claim["calibrated"], f"{place}: calibrated").date
        try:
            datetime.date.fromisoformat(date)
        except ValueError:
            raise UserError(f"{place}: calibrated: date wants YYYY-MM-DD, got {date!r}") from None
    if "contradicts" in claim and kind != "companion":
        raise UserError(f"{place}: contradicts is a key of companions; a {kind} answers")
    if kind == "statement" and not answers:
        raise UserError(f"{place}: a claim of kind statement names under answers what the paper states")
    if kind == "companion" and answers:
        raise UserError(f"{place}: a companion is ours and answers no statement of the paper")


def _plain(value: object) -> object:
    """Fit for JSON, which knows no infinity: nine digits, or the word."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value
