"""Whether a code wins, loses or cannot win, and whether to code, in sentences."""

from __future__ import annotations

import math
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


def verdicts(table: pd.DataFrame) -> list[str]:
    """Whether to code, in a sentence for each trace, phi and value of `late` of a table of `benchmark`.

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
        found.append(f"{', '.join(place)}: {_verdict(codes)}")
    return found


def _verdict(codes: pd.DataFrame) -> str:
    """Whether one of these codes, or any other of their loads and messages, is worth it."""
    winning = codes[codes["colour"] == WINS]
    if not winning.empty:
        return _verdict_for(_first(winning, "ratio"))
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
        return f"do not code. {faster}; no exact code with load {loads} and the same messages can be faster."
    told = f"use none of these codes. {faster}; the fastest code takes {_percent(fastest['ratio'])}."
    least = _first(undecided, "bound")
    if math.isnan(least["bound"]):
        return told
    could = f"Another code with load {least['load']:.3g} could reach {_percent(least['bound'])} at best."
    return f"{told} {could}"


def _verdict_for(best: pd.Series) -> str:
    """The same where this code is the fastest of those that win."""
    advice = "coding changes nothing"
    if best["ratio"] < best["reference"] * (1 - TIE):
        advice = "code"
    beside = ""
    if best["against"] == REBALANCING:
        beside = f", rebalancing {_percent(best['reference'])}"
    return f"{advice}. {best['scheme']} takes {_percent(best['ratio'])} of the waiting time{beside}."


def _first(codes: pd.DataFrame, column: str) -> pd.Series:
    """The row with the smallest value of a column; one that has none stands before all."""
    return codes.sort_values(column, na_position="first", kind="stable").iloc[0]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
