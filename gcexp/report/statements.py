"""What a paper states, a row of its ``statements.csv`` each, and the committed outcomes of all papers."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gcexp.errors import DataError
from gcexp.files import bundled
from gcexp.run import paths

#: Where the committed outcomes stand.
COMMITTED = Path(paths.PUBLISHED) / "statements.csv"
CHECKABLE = ("yes", "partly", "no")


@dataclass(frozen=True)
class Statement:
    """One statement of a paper.

    Attributes
    ----------
    id : str
        Name, unique in its paper; claims name it.
    where : str
        Place in the paper.
    kind : str
        theorem, remark, number, figure, ...
    statement, conditions : str
        What is said, and under which conditions; which of it is lost in the text.
    target : str
        Figures that were expected to show it.
    checkable : str
        ``yes``, ``partly`` or ``no``, and why.
    main : str
        ``yes`` for the statements that the paper's page shows, at most 15.
    """

    id: str
    where: str
    kind: str
    statement: str
    conditions: str
    target: str
    checkable: str
    main: str

    @property
    def remark(self) -> str:
        """Why it can be checked in part only or not at all."""
        word = next(word for word in CHECKABLE if self.checkable.startswith(word))
        return self.checkable.removeprefix(word).lstrip(" :;,") or self.conditions


@dataclass(frozen=True)
class Outcome:
    """One statement of a paper with what was found: a row of the table of outcomes.

    Attributes
    ----------
    paper, id, where, statement : str
        Folder of the paper, and the statement as ``statements.csv`` has it.
    target : str
        Figures whose tables were judged.
    outcome : str
        One of `gcexp.analysis.claims.OUTCOMES`.
    main, assumed, post_hoc : str
        ``yes`` or empty: shown on the paper's page; rests on parameters that were assumed or restored; something was
        chosen after the numbers had been seen.
    evidence : str
        Names of claim functions, and the figures whose printed numbers were compared.
    reason : str
        Why it is not simply reproduced.
    """

    paper: str
    id: str
    where: str
    statement: str
    target: str
    outcome: str
    main: str
    assumed: str
    post_hoc: str
    evidence: str
    reason: str


def columns_of(row: type) -> list[str]:
    """Columns of a file whose rows are `Statement` or `Outcome`."""
    return [field.name for field in fields(row)]


def read_statements(path: Path) -> dict[str, Statement]:
    """The statements of a paper by id, in the order of the paper; none for a collection that is no paper.

    Parameters
    ----------
    path : Path
        The CSV, which need not exist; its columns are the attributes of `Statement`.

    Raises
    ------
    DataError
        If the file is damaged: other columns, a cell too many, an id twice or empty, another word under ``checkable``
        or ``main``.
    """
    found: dict[str, Statement] = {}
    for place, row in rows_of(path, columns_of(Statement)):
        statement = Statement(**row)
        if not statement.id or statement.id in found:
            raise DataError(f"{place}: id {statement.id!r} is empty or stands twice")
        if not statement.checkable.startswith(CHECKABLE):
            raise DataError(f"{place}: checkable begins with yes, partly or no, got {statement.checkable!r}")
        if statement.main not in ("", "yes"):
            raise DataError(f"{place}: main is yes or empty, got {statement.main!r}")
        found[statement.id] = statement
    return found


def committed() -> list[Outcome]:
    """The committed outcomes of all papers; none where ``gcexp audit --write`` has not written them.

    Raises
    ------
    DataError
        If the file has other columns.
    """
    place = next((one for one in (COMMITTED, bundled(COMMITTED)) if one.is_file()), COMMITTED)
    return [Outcome(**row) for _, row in rows_of(place, columns_of(Outcome))]


def rows_of(path: Path, columns: Sequence[str], more: bool = False) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file with these columns, each behind its place; none if there is no such file.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Columns that it must have.
    more : bool
        Whether it may have others, and these in any order.

    Raises
    ------
    DataError
        For other columns, and a row with too many or too few cells.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        names = list(reader.fieldnames or ())
        if not ({*columns} <= {*names} if more else names == [*columns]):
            raise DataError(f"{path}: the columns must be {', '.join(columns)}, got {', '.join(names)}")
        for row in reader:
            place = f"{path}: line {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{place}: a row must have {len(names)} cells")
            yield place, row
