"""Numbers that a paper prints, in ``<figure>.expected.csv`` beside the figure file: one row is one number.

``column`` names the column of the figure's table, ``expected`` the printed number (``3/8`` is allowed; text where the
column holds text), ``tolerance`` the largest difference, ``source`` the place in the paper. ``answers`` names the
statements that the number is evidence for, ``assumed`` is ``yes`` where parameters were assumed or restored,
``post_hoc`` says what was chosen after the numbers had been seen, and ``reason`` why a number differs. ``statistic``
and ``rows`` make one number of several rows. Every other column is a key: the row of the table is the one whose column
equals the cell; an empty cell puts no condition.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.analysis.claims import UNDECIDED, Undecided, Verdict, as_number, equals, number, text
from gcexp.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("column", "expected", "tolerance", "source", "assumed", "answers", "reason")
OPTIONAL = ("statistic", "rows", "post_hoc")


@dataclass(frozen=True)
class Printed:
    """One printed number; the fields are those of the file."""

    where: dict[str, str]
    column: str
    expected: float | str
    tolerance: float
    source: str
    assumed: bool
    answers: tuple[str, ...]
    reason: str
    statistic: str | None = None
    rows: int = 1
    post_hoc: str = ""

    def judge(self, table: pd.DataFrame) -> Verdict:
        """Whether the table has this number."""
        try:
            if isinstance(self.expected, str):
                return equals(text(table, self.column, self.where), self.expected)
            found = number(table, self.column, self.where, self.statistic, self.rows)
            return equals(found, self.expected, self.tolerance)
        except Undecided as why:
            return Verdict(UNDECIDED, str(why))

    def __str__(self) -> str:
        keys = ", ".join(f"{key} = {value}" for key, value in self.where.items())
        named = " ".join(filter(None, (self.statistic, self.column)))
        return f"{named} is {self.expected}" + (f" where {keys}" if keys else "")


def file_of(figure_file: Path) -> Path:
    """File of the printed numbers beside a figure file, whether or not it exists."""
    return figure_file.with_suffix(".expected.csv")


def printed(path: Path) -> list[Printed]:
    """The numbers of a file; none if there is no such file.

    Raises
    ------
    UserError
        For missing columns, a cell too many or too few, an empty ``column`` or ``expected``, a tolerance that is no
        number, a count of rows that is no whole number and a number that stands twice: one sentence with the line.
    """
    if not path.is_file():
        return []
    found: dict[str, Printed] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        names = reader.fieldnames or []
        if lacking := [name for name in REQUIRED if name not in names]:
            raise UserError(
                f"{path.name}: lacks the columns {', '.join(lacking)} (given: {', '.join(names)})"
            )
        for row in reader:
            place = f"{path.name}: line {reader.line_num}"
            if None in row or None in row.values():
                raise UserError(f"{place}: a row must have {len(names)} cells")
            one = _printed({name: cell.strip() for name, cell in row.items()}, place)
            if str(one) in found:
                raise UserError(f"{place}: {one} stands twice")
            found[str(one)] = one
    return list(found.values())


def _printed(row: dict[str, str], place: str) -> Printed:
    for name in ("column", "expected"):
        if not row[name]:
            raise UserError(f"{place}: {name} is empty")
    if row["assumed"] not in ("", "yes"):
        raise UserError(f"{place}: assumed is yes or empty, got {row['assumed']!r}")
    tolerance, rows, expected = (
        as_number(row["tolerance"] or 0),
        row.get("rows") or "1",
        as_number(row["expected"]),
    )
    if tolerance is None or tolerance < 0:
        raise UserError(f"{place}: tolerance must be a number of at least 0, got {row['tolerance']!r}")
    if not rows.isdecimal():
        raise UserError(f"{place}: rows must be a whole number, got {rows!r}")
    return Printed(
        where={key: value for key, value in row.items() if key not in (*REQUIRED, *OPTIONAL) and value},
        column=row["column"],
        expected=row["expected"] if expected is None else expected,
        tolerance=tolerance,
        source=row["source"],
        assumed=row["assumed"] == "yes",
        answers=tuple(row["answers"].split()),
        reason=row["reason"],
        statistic=row.get("statistic") or None,
        rows=int(rows),
        post_hoc=row.get("post_hoc") or "",
    )
