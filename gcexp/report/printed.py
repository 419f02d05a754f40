"""Numbers that a paper prints, in ``<figure>.expected.csv`` beside the figure file: one row is one number.

``column`` names the column of the figure's table, ``expected`` the printed number (``3/8`` is allowed; text where the
column holds text), ``tolerance`` the largest difference, ``source`` the place in the paper. ``answers`` names the
statements that the number is evidence for, ``assumed`` is ``yes`` where parameters were assumed or restored,
``post_hoc`` says which tolerance was set after the numbers were known, ``fitted`` which inputs of the paper's
``fitted_inputs.csv`` were fitted to the number, so that it is consistent at best, and ``reason`` why a number differs.
``statistic`` and ``rows`` make one number of several rows. Every other column is a key: the row of the table is the one
whose column equals the cell; an empty cell puts no condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gcexp.analysis.claims import (
    UNDECIDED,
    Undecided,
    Verdict,
    as_number,
    consistent_at_best,
    equals,
    number,
    text,
)
from gcexp.errors import require, require_known
from gcexp.files import rows_of
from gcexp.report.statements import read_statements
from gcexp.schema import fill, typed

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("column", "expected", "tolerance", "source", "assumed", "answers", "reason")
OPTIONAL = ("statistic", "rows", "post_hoc", "fitted")


@dataclass(frozen=True)
class Printed:
    """One printed number; the fields are those of the file, `where` its other columns."""

    column: str
    expected: float | str
    tolerance: float = 0.0
    source: str = ""
    assumed: Literal["", "yes"] = ""
    answers: str = ""
    reason: str = ""
    statistic: str | None = None
    rows: int = 1
    post_hoc: str = ""
    fitted: tuple[str, ...] = ()
    where: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        require(self.tolerance >= 0, f"tolerance must be a number of at least 0, got {self.tolerance:g}")

    def judge(self, table: pd.DataFrame) -> Verdict:
        """Whether the table has this number."""
        verdict = self._compare(table)
        if self.fitted:
            return consistent_at_best(verdict)
        return verdict

    def _compare(self, table: pd.DataFrame) -> Verdict:
        """Whether the table has this number, whatever its inputs were fitted to."""
        try:
            if isinstance(self.expected, str):
                return equals(text(table, self.column, self.where), self.expected)
            found = number(table, self.column, self.where, self.statistic, self.rows)
            return equals(found, self.expected, self.tolerance)
        except Undecided as why:
            return Verdict(UNDECIDED, str(why))

    def __str__(self) -> str:
        name = f"{self.statistic} {self.column}" if self.statistic else self.column
        text = f"{name} is {self.expected}"
        if not self.where:
            return text
        keys = ", ".join(f"{key} = {value}" for key, value in self.where.items())
        return f"{text} where {keys}"


def read_printed_numbers(path: Path) -> list[Printed]:
    """The numbers of a file, each once; none if there is no such file."""
    found: dict[str, Printed] = {}
    for place, row in rows_of(path, REQUIRED, more=True):
        one = _printed_of(row, place)
        require(str(one) not in found, f"{place}: {one} stands twice")
        found[str(one)] = one
    return list(found.values())


def _printed_of(row: Mapping[str, str], place: str) -> Printed:
    """The number of one row of a file; `place` names the row in sentences."""
    cells = {name: cell.strip() for name, cell in row.items() if cell.strip()}
    given: dict[str, Any] = {}
    where: dict[str, str] = {}
    for name, cell in cells.items():
        if name in (*REQUIRED, *OPTIONAL):
            given[name] = cell
        else:
            where[name] = cell
    for name in ("tolerance", "rows"):
        if name in given:
            given[name] = typed(given[name], fractions=True)
    if "fitted" in given:
        given["fitted"] = tuple(given["fitted"].split())
    value = as_number(given.get("expected"))
    if value is not None:
        given["expected"] = value
    return fill(Printed, given | {"where": where}, place)


def check_statements(folder: Path) -> None:
    """Whether statements and printed numbers of a paper are right, and every number answers one that is there.

    Raises
    ------
    UserError
        For the first mistake, with the file and its line.
    """
    stated = read_statements(folder / "statements.csv")
    figures = [path.stem for path in sorted((folder / "figures").glob("*.yaml"))]
    for path in sorted((folder / "figures").glob("*.expected.csv")):
        require_known("figure", path.name.removesuffix(".expected.csv"), figures, str(path))
        for one in read_printed_numbers(path):
            for name in one.answers.split():
                require_known("statement", name, stated, str(path))
