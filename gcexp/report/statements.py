"""What a paper itself states: one row per statement of its statements.csv."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gcexp.errors import DataError

COLUMNS = ("id", "where", "kind", "statement", "conditions", "target", "checkable", "parts")
CHECKABLE = ("yes", "partly", "no")


@dataclass(frozen=True)
class Statement:
    """One statement of a paper.

    Attributes
    ----------
    id : str
        Name, unique in its paper; a claim gives it under ``answers``.
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
    parts : str
        Names of its separate assertions or printed cells, separated by spaces; empty where it is one. A claim answers
        ``id``, which is every part, or ``id/part``. Where ``or`` stands between them they are readings of a text that
        can be understood in several ways. The column may be missing.
    """

    id: str
    where: str
    kind: str
    statement: str
    conditions: str
    target: str
    checkable: str
    parts: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """Names of its parts; one without a name where it is one."""
        return tuple(name for name in self.parts.split() if name != "or") or ("",)

    @property
    def ambiguous(self) -> bool:
        """Whether its parts are readings, of which the paper means one."""
        return "or" in self.parts.split()

    @property
    def answerable(self) -> list[str]:
        """What a claim may name: the statement, and each of its parts."""
        return [self.id, *(f"{self.id}/{part}" for part in self.named if part)]

    @property
    def verdict(self) -> str:
        """``yes``, ``partly`` or ``no``."""
        return next((word for word in CHECKABLE if self.checkable.startswith(word)), "")

    @property
    def remark(self) -> str:
        """Why it can be checked in part only or not at all."""
        return self.checkable.removeprefix(self.verdict).lstrip(" :;,") or self.conditions


def read_statements(path: Path) -> dict[str, Statement]:
    """The statements of a paper by id, in the order of the paper; none for a collection that is no paper.

    Parameters
    ----------
    path : Path
        The CSV (`COLUMNS`), which need not exist.

    Raises
    ------
    DataError
        If the file is damaged: other columns, a cell too many, an id twice or empty, another word under ``checkable``.
    """
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else {}


@cache
def _read(path: Path, _changed: int) -> dict[str, Statement]:
    found: dict[str, Statement] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        if tuple(reader.fieldnames or ()) not in (COLUMNS, COLUMNS[:-1]):
            raise DataError(f"{path}: wants the columns {', '.join(COLUMNS)}, got {reader.fieldnames}")
        for row in reader:
            place = f"{path}: line {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{place}: wants {len(reader.fieldnames or ())} cells")
            statement = Statement(**row)
            if not statement.id or statement.id in found:
                raise DataError(f"{place}: id {statement.id!r} is empty or stands twice")
            if len(set(statement.named)) < len(statement.named):
                raise DataError(f"{place}: a part of {statement.id} stands twice")
            if not statement.verdict:
                raise DataError(
                    f"{place}: checkable begins with yes, partly or no, got {statement.checkable!r}"
                )
            found[statement.id] = statement
    return found
