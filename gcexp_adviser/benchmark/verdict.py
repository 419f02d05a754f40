"""Whether a code wins, loses or cannot win, and whether to code, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


WINS, LOSES, CANNOT = "wins", "loses", "cannot win"
REBALANCING, WAITING = "rebalancing", "waiting for all"
#: The reference where workers are new in every row, or where times follow the data.
ALONE = "waiting for all (rebalancing does not apply)"
TIE = 1e-9


def colour(ratio: float, bound: float, reference: float) -> str:
    """Whether a code wins against a reference, loses though another of its loads might win, or provably cannot win."""
    most = reference * (1 + TIE)
    if ratio <= most:
        return WINS
    if bound > most:
        return CANNOT
    return LOSES


@dataclass(frozen=True)
class Verdict:
    """Whether to code at one phi of one trace, and why."""

    case: str  # which phi, and which trace and value of late where there are several
    word: str  # whether to code
    scheme: str  # the code that wins; empty where none does
    reason: str

    def __str__(self) -> str:
        return f"{self.case}: {self.word}. {self.reason}"


def verdicts(table: pd.DataFrame) -> list[str]:
    """Whether to code, in a sentence for each trace, phi and value of `late` of a table of `benchmark`."""
    return [str(one) for one in judged(table)]


def judged(table: pd.DataFrame) -> list[Verdict]:
    """Whether to code, for each trace, phi and value of `late` of a table of `benchmark`.

    Codes that know the times beforehand are not considered.
    """
    found = []
    by = ["phi", "trace", "late", "chunks"]
    varied = [name for name in ("trace", "late", "chunks") if table[name].nunique(dropna=False) > 1]
    for case, rows in table.groupby(by, sort=False, dropna=False):
        compared = rows["colour"].notna() & rows["reference"].notna()
        codes = rows[compared & (rows["hindsight"] == False)]  # noqa: E712  # it may be empty
        if codes.empty:
            continue
        values = dict(zip(by, case, strict=True))
        place = [f"phi {values['phi']:g}"]
        for name in varied:
            if name != "chunks":
                place.append(values[name])
            elif not math.isnan(values[name]):
                place.append(f"{values[name]:g} pieces")
        found.append(_verdict(", ".join(place), codes))
    return found


def _verdict(case: str, codes: pd.DataFrame) -> Verdict:
    """Whether one of these codes, or any other of their loads and messages, is worth it."""
    winning = codes[codes["colour"] == WINS]
    if not winning.empty:
        return _verdict_for(case, _first(winning, "ratio"))
    fastest = _first(codes, "ratio")
    reference = _percent(fastest["reference"])
    faster = {
        REBALANCING: f"Rebalancing takes {reference} of the waiting time",
        WAITING: "Waiting for everybody is faster than rebalancing",
        ALONE: "Rebalancing does not apply here",
    }[fastest["against"]]
    undecided = codes[codes["colour"] == LOSES]
    if undecided.empty:
        loads = " or ".join(f"{load:.3g}" for load in sorted(set(codes["load"])))
        proven = f"{faster}; no exact code with load {loads} and the same messages can be faster."
        return Verdict(case, "do not code", "", proven)
    reason = f"{faster}; the fastest code takes {_percent(fastest['ratio'])}."
    least = _first(undecided, "bound")
    if not math.isnan(least["bound"]):
        at_best = f"with load {least['load']:.3g} could reach {_percent(least['bound'])} at best"
        reason = f"{reason} Another code {at_best}."
    return Verdict(case, "use none of these codes", "", reason)


def _verdict_for(case: str, best: pd.Series) -> Verdict:
    """The same where this code is the fastest of those that win."""
    word = "coding changes nothing"
    if best["ratio"] < best["reference"] * (1 - TIE):
        word = "code"
    beside = ""
    if best["against"] == REBALANCING:
        beside = f", rebalancing {_percent(best['reference'])}"
    reason = f"{best['scheme']} takes {_percent(best['ratio'])} of the waiting time{beside}."
    return Verdict(case, word, best["scheme"], reason)


def _first(codes: pd.DataFrame, column: str) -> pd.Series:
    """The row with the smallest value of a column; one that has none stands before all."""
    return codes.sort_values(column, na_position="first", kind="stable").iloc[0]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
