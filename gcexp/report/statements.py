"""What a paper states, a row of its ``statements.csv`` each, and the committed outcomes of all papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from gcexp.errors import DataError
from gcexp.files import bundled, rows_of
from gcexp.run import paths

#: Where the committed outcomes stand.
COMMITTED = Path(paths.PUBLISHED) / "statements.csv"
CHECKABLE = ("yes", "partly", "no")
#: Why a statement cannot be tested here, in few words, and what they mean.
GROUNDS = {
    "by definition": "it is a definition, or true by how codes and figures are built",
    "text lost": "what it says is lost in our copy of the paper",
    "an input": "it is a setting or a number that a reproduction takes over",
    "about other work": "it is about other papers, or stands in them",
    "hardware": "it was measured on the authors' cluster",
    "not measurable": "it motivates, interprets or looks ahead, and names nothing that can be measured",
}


@dataclass(frozen=True)
class Statement:
    """One statement of a paper, a row of its ``statements.csv``."""

    id: str  # unique in its paper; claims name it
    where: str  # in the paper
    kind: str  # theorem, remark, number, figure, ...
    statement: str
    conditions: str  # under which it is said; which of it is lost in the text
    target: str  # figures that were expected to show it
    checkable: str  # yes, partly or no, and why; behind no one of `GROUNDS`, as in no (text lost): the number is lost
    main: str  # yes for the statements that the paper's page shows, at most 15

    @property
    def remark(self) -> str:
        """Why it can be checked in part only or not at all."""
        (word,) = [word for word in CHECKABLE if self.checkable.startswith(word)]
        text = self.checkable.removeprefix(word).lstrip(" :;,")
        if self.ground:
            text = text.removeprefix(f"({self.ground})").lstrip(" :;,")
            return f"{self.ground.capitalize()}. {text}"
        return text or self.conditions

    @property
    def ground(self) -> str:
        """Which of `GROUNDS` says why it cannot be tested; empty where it can, or where none is named."""
        return next((ground for ground in GROUNDS if self.checkable.startswith(f"no ({ground})")), "")


@dataclass(frozen=True)
class Outcome:
    """One statement of a paper with what was found: a row of the table of outcomes."""

    paper: str  # its folder
    id: str
    where: str
    statement: str
    target: str  # figures whose tables were judged
    outcome: str  # one of `gcexp.analysis.claims.OUTCOMES`
    main: str  # yes or empty, as the next two: shown on the paper's page
    assumed: str  # rests on parameters that were assumed or restored
    post_hoc: str  # a bar was set after the numbers were known; the reason says which
    evidence: str  # names of claim functions, and the figures whose printed numbers were compared
    reason: str  # why it is not simply reproduced, or what to know where it is

    @property
    def ground(self) -> str:
        """Which of `GROUNDS` says why it was not tested, as its reason begins; empty where it was."""
        from gcexp.analysis.claims import NOT_TESTABLE  # a plan judges nothing

        if self.outcome != NOT_TESTABLE:
            return ""
        ground = self.reason.partition(".")[0].lower()
        return ground if ground in GROUNDS else ""


#: Columns of the table of outcomes.
OUTCOME_COLUMNS = [field.name for field in fields(Outcome)]


def read_statements(path: Path) -> dict[str, Statement]:
    """The statements of a paper by id, in the order of the paper; none for a collection that is no paper."""
    found: dict[str, Statement] = {}
    columns = [field.name for field in fields(Statement)]
    for place, row in rows_of(path, columns):
        statement = Statement(**row)
        if not statement.id or statement.id in found:
            raise DataError(f"{place}: id {statement.id!r} is empty or stands twice")
        if not statement.checkable.startswith(CHECKABLE):
            raise DataError(f"{place}: checkable begins with yes, partly or no, got {statement.checkable!r}")
        if statement.main not in ("", "yes"):
            raise DataError(f"{place}: main is yes or empty, got {statement.main!r}")
        if statement.checkable.startswith("no") and not statement.ground:
            allowed = ", ".join(f"no ({ground})" for ground in GROUNDS)
            raise DataError(
                f"{place}: checkable is {allowed}, each with a reason, got {statement.checkable!r}"
            )
        found[statement.id] = statement
    return found


def committed_outcomes() -> list[Outcome]:
    """The committed outcomes of all papers; none where ``gcexp audit --write`` has not written them."""
    path = COMMITTED
    if not path.is_file() and bundled(COMMITTED).is_file():
        path = bundled(COMMITTED)
    return [Outcome(**row) for _, row in rows_of(path, OUTCOME_COLUMNS)]


def outcomes_in_words(outcomes: Iterable[Outcome]) -> str:
    """How many statements have each outcome, in words: of those that are reproduced, how many on assumed inputs."""
    from gcexp.analysis.claims import OUTCOMES, REPRODUCED  # a plan judges nothing

    outcomes = list(outcomes)
    counts = Counter(one.outcome for one in outcomes)
    assumed = sum(one.outcome == REPRODUCED and one.assumed == "yes" for one in outcomes)
    words = []
    for outcome in OUTCOMES:
        if counts[outcome]:
            words.append(f"{counts[outcome]} {outcome}")
            if outcome == REPRODUCED and assumed:
                words[-1] += f" ({assumed} of them on assumed inputs)"
    return ", ".join(words)


def grounds_in_words(outcomes: Iterable[Outcome]) -> str:
    """How many statements were not tested for which ground, the most frequent first; empty where all were."""
    counts = Counter(one.ground for one in outcomes if one.ground)
    return ", ".join(f"{count} {ground}" for ground, count in counts.most_common())


def counts_in_words(outcomes: Iterable[Outcome]) -> str:
    """How many statements have each outcome, and why some were not tested, in sentences."""
    outcomes = list(outcomes)
    text = f"Of {len(outcomes)} statements: {outcomes_in_words(outcomes)}."
    grounds = grounds_in_words(outcomes)
    if grounds:
        text += f" Why not testable: {grounds}."
    return text
