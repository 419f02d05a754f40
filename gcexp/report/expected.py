"""Claims that stand elsewhere than in the figure file: expected numbers, and checks that an analysis declares.

Expected numbers are <target>.expected.csv beside the figure file, one claim per row.

``column`` names the column of the table, ``expected`` the number (``3/8`` is allowed; text where the column
holds text), ``tolerance`` the largest absolute difference, ``kind``, ``source``, ``inputs``, ``answers``
(ids, separated by spaces) and ``reason`` are those of a claim, as are, if there are such columns, ``grade`` and
``calibrated`` (``2026-11-22: tolerance``); ``statistic`` and ``rows`` are those of
`gcexp.report.predicates.Selection`. ``own``, beside a number that was found independently, is ours: a companion that
holds to 1e-3 of its size. Every other column is a key: the row of the table is the one whose column
equals the cell; an empty cell puts no condition.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gcexp.errors import UserError
from gcexp.report.predicates import as_number
from gcexp.report.statements import Statement

REQUIRED = ("column", "expected", "tolerance", "kind", "source", "inputs", "answers", "reason")
OPTIONAL = ("statistic", "rows", "grade", "calibrated", "own")


def path_of(figure_file: Path) -> Path:
    """File of the expected numbers beside a figure file, whether or not it exists."""
    return figure_file.with_suffix(".expected.csv")


def expected_claims(path: Path) -> list[dict]:
    """The rows of a file as claims with the predicate `value`; none if there is no such file.

    Parameters
    ----------
    path : Path
        The CSV.

    Raises
    ------
    UserError
        For missing columns, a cell too many or too few, an empty ``column`` or ``expected``, a tolerance that
        is no number or a count of rows that is no whole number: one sentence with the line.
    """
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        names = reader.fieldnames or []
        if lacking := [name for name in REQUIRED if name not in names]:
            raise UserError(
                f"{path.name}: lacks the columns {', '.join(lacking)} (given: {', '.join(names)})"
            )
        if len(set(names)) < len(names):
            raise UserError(f"{path.name}: a column stands twice")
        claims: dict[str, dict] = {}
        for row in reader:
            place = f"{path.name}: line {reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{place}: wants {len(names)} cells")
            for claim in _claims({name: cell.strip() for name, cell in row.items()}, place):
                if claim["id"] in claims:
                    raise UserError(f"{place}: states {claim['id']!r} a second time")
                claims[claim["id"]] = claim
        return list(claims.values())


def claims_of_checks(declared: Iterable[Mapping[str, Any]], stated: Mapping[str, Statement]) -> list[dict]:
    """Checks of an analysis as claims: each holds in all of its instances.

    Parameters
    ----------
    declared : iterable of mapping
        As `gcexp.analysis.checks.Check` has them.
    stated : mapping
        The paper's statements by id: the first one answered gives the source where a check gives none.

    Examples
    --------
    >>> check = {
    ...     "id": "a",
    ...     "what": "n is even",
    ...     "over": "n < 4",
    ...     "grade": "built",
    ...     "inputs": "paper",
    ...     "source": "I",
    ... }
    >>> (claim,) = claims_of_checks([check | {"kind": "companion", "answers": None}], {})
    >>> claim["id"], claim["statement"], claim["value"]["expected"]
    ('share: id = a', 'n is even; n < 4', 1)
    """
    claims = []
    for one in declared:
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in one.items() if v or k == "contradicts"}
        about = {k: v for k, v in given.items() if k not in ("id", "what", "over", "small") and v is not None}
        if one["kind"] != "companion":
            about.setdefault("answers", [one["id"]])
        first = next(iter(about.get("answers") or about.get("contradicts") or ()), "").partition("/")[0]
        about["source"] = one["source"] or (stated[first].where if first in stated else "ours")
        value = {"where": {"id": one["id"]}, "column": "share", "expected": 1}
        said = {"id": f"share: id = {one['id']}", "statement": f"{one['what']}; {one['over']}"}
        claims.append(said | about | {"value": value})
    return claims


def _claims(row: dict[str, str], place: str) -> Iterator[dict]:
    """The claim of a row, and the one about our own number where it has one."""
    claim = _claim(row, place)
    yield claim
    if cell := row.get("own"):
        if (own := as_number(cell)) is None:
            raise UserError(f"{place}: own wants a number, got {cell!r}")
        value = claim["value"] | {"expected": own, "tolerance": abs(own) / 1000}
        about = {
            "id": f"own {claim['id']}",
            "kind": "companion",
            "source": f"{claim['source']}: our own number",
        }
        said = {"statement": claim["statement"].replace(f"is {row['expected']}", f"is, of our own, {cell}")}
        yield claim | about | said | {"answers": [], "value": value}


def _claim(row: dict[str, str], place: str) -> dict:
    where = {k: v for k, v in row.items() if k not in (*REQUIRED, *OPTIONAL) and v}
    for name in ("column", "expected"):
        if not row[name]:
            raise UserError(f"{place}: {name} is empty")
    expected = as_number(row["expected"])
    value: dict[str, Any] = {"where": where, "column": row["column"]}
    value |= {"expected": row["expected"] if expected is None else expected}
    if row["tolerance"]:
        if (tolerance := as_number(row["tolerance"])) is None:
            raise UserError(f"{place}: tolerance wants a number, got {row['tolerance']!r}")
        value["tolerance"] = tolerance
    statistic, rows = row.get("statistic"), row.get("rows") or "1"
    if not rows.isdecimal():
        raise UserError(f"{place}: rows wants a whole number, got {rows!r}")
    value |= {"rows": int(rows)} | ({"statistic": statistic} if statistic else {})
    keys = ", ".join(f"{k} = {v}" for k, v in row.items() if k in where)
    named = " ".join(filter(None, (statistic, row["column"])))
    about: dict[str, Any] = {
        "id": f"{named}: {keys}" if keys else named,
        "kind": row["kind"],
        "source": row["source"],
    }
    about["statement"] = f"{named} is {row['expected']}" + (f" where {keys}" if keys else "")
    about |= {"inputs": row["inputs"], "answers": row["answers"].split()}
    about |= {key: row[key] for key in ("reason", "grade") if row.get(key)}
    if flag := row.get("calibrated"):
        date, _, what = flag.partition(": ")
        about["calibrated"] = {"date": date, "what": what}
    return about | {"value": value}
