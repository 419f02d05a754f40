"""What a paper itself states: one row per statement of its ``statements.csv``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from gcexp.errors import DataError

COLUMNS = ("id", "where", "kind", "statement", "conditions", "target", "checkable", "main")
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


def read_statements(path: Path) -> dict[str, Statement]:
    """The statements of a paper by id, in the order of the paper; none for a collection that is no paper.

    Parameters
    ----------
    path : Path
        The CSV (`COLUMNS`), which need not exist.

    Raises
    ------
    DataError
        If the file is damaged: other columns, a cell too many, an id twice or empty, another word under ``checkable``
        or ``main``.
    """
    if not path.is_file():
        return {}
    found: dict[str, Statement] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise DataError(f"{path}: wants the columns {', '.join(COLUMNS)}, got {reader.fieldnames}")
        for row in reader:
            place = f"{path}: line {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{place}: wants {len(COLUMNS)} cells")
            statement = Statement(**row)
            if not statement.id or statement.id in found:
                raise DataError(f"{place}: id {statement.id!r} is empty or stands twice")
            if not statement.checkable.startswith(CHECKABLE):
                raise DataError(
                    f"{place}: checkable begins with yes, partly or no, got {statement.checkable!r}"
                )
            if statement.main not in ("", "yes"):
                raise DataError(f"{place}: main is yes or empty, got {statement.main!r}")
            found[statement.id] = statement
    return found
