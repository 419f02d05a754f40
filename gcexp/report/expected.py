"""Expected numbers of a figure: conf/figure/<paper>/<target>.expected.csv, one claim per row.

``column`` names the column of the table, ``expected`` the number (``3/8`` is allowed; text where the column
holds text), ``tolerance`` the largest absolute difference, ``kind``, ``source``, ``inputs``, ``answers``
(ids, separated by spaces) and ``reason`` are those of a claim, ``statistic`` and ``rows`` those of
`gcexp.report.predicates.Selection`. Every other column is a key: the row of the table is the one whose column
equals the cell; an empty cell puts no condition.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from gcexp.errors import UserError
from gcexp.report.predicates import as_number

REQUIRED = ("column", "expected", "tolerance", "kind", "source", "inputs", "answers", "reason")
OPTIONAL = ("statistic", "rows")


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
            claim = _claim({name: cell.strip() for name, cell in row.items()}, place)
            if claim["id"] in claims:
                raise UserError(f"{place}: states {claim['id']!r} a second time")
            claims[claim["id"]] = claim
        return list(claims.values())


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
    return about | ({"reason": row["reason"]} if row["reason"] else {}) | {"value": value}
