"""Do fresh tables say what the published ones say? Behind ``gcexp verify``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError, unknown
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, figure, target_files
from gcexp.report.published import published_table
from gcexp.run import paths

if TYPE_CHECKING:
    import pandas as pd

#: What a number may differ by, absolutely and relatively to the published one: the first pattern that fits its column.
#: Tables have nine digits; a training in single precision adds in another order on another processor.
TOLERANCES = (
    ("*accuracy", 0.005, 0.0),
    ("*auc", 0.002, 0.0),
    ("*loss", 0.0, 0.02),
    ("*", 1e-9, 1e-6),
)
_NAMED = (
    "label",
    "what",
    "id",
    "method",
    "n",
    "s",
    "seed",
    "iteration",
)  # columns that say which row is meant
_OF_OTHER_RUNS = ("saved_time_s", "saved_share")
EQUAL, WITHIN, DIFFERS, NOT = "equal", "within tolerance", "differs", "not comparable"


@dataclass(frozen=True)
class Agreement:
    """How a fresh table and the published one compare.

    Attributes
    ----------
    target, preset : str
    outcome : {"equal", "within tolerance", "differs", "not comparable"}
    about : str
        The largest deviation, where they differ, or why they cannot be compared.
    """

    target: str
    preset: str
    outcome: str
    about: str = ""


def verify(targets: Sequence[str] = (), preset: str | None = None) -> list[Agreement]:
    """Hold fresh tables against the published ones.

    Parameters
    ----------
    targets : sequence of str
        Figures; by default all that have a fresh table.
    preset : str, optional
        Only tables of this one.

    Returns
    -------
    list of Agreement
        One for each fresh table.

    Raises
    ------
    UserError
        For an unknown target or preset, and where nothing fresh is there.
    """
    if preset not in (None, *PRESETS):
        raise UserError(unknown("preset", preset, PRESETS))
    known = target_files()
    for target in targets:
        if target not in known:
            raise UserError(unknown("figure", target, known))
    presets = PRESETS if preset is None else (preset,)
    fresh = [figure(target, name) for target in targets or known for name in presets if _made(target, name)]
    if lacking := set(targets) - {one.target for one in fresh}:
        raise UserError(f"there is no fresh table of {min(lacking)}; make it first: snakemake {min(lacking)}")
    if not fresh:
        folders = " or ".join(paths.REPORT.format(preset=name) for name in presets)
        raise UserError(f"there is no fresh table in {folders}; make some first: make reproduce")
    return [_of_table(one) for one in fresh]


def _made(target: str, preset: str) -> bool:
    return Path(paths.TABLE.format(preset=preset, target=target)).is_file()


def _of_table(fresh: Figure) -> Agreement:
    from gcexp.figures.tables import read_table
    from gcexp.run.provenance import check_unchanged

    published = published_table(fresh)
    if published is None:
        return Agreement(fresh.target, fresh.preset, NOT, "nothing is published")
    check_unchanged(fresh.table)
    return agreement(fresh, read_table(fresh.table), figure(fresh.target, "paper"), read_table(published))


def agreement(fresh: Figure, table: pd.DataFrame, paper: Figure, published: pd.DataFrame) -> Agreement:
    """Compare a fresh table with the published one, which is always of the paper preset.

    Of another preset only what both make is compared: an analysis with the same arguments, runs with the same options,
    iterations and seeds.
    """
    part = ""
    if fresh.preset != "paper" and not fresh.runs and fresh.arguments != paper.arguments:
        return Agreement(fresh.target, fresh.preset, NOT, f"{fresh.preset} has other arguments")
    if fresh.preset != "paper" and fresh.runs:
        shared = _runs(fresh) & _runs(paper)
        if not shared:
            return Agreement(fresh.target, fresh.preset, NOT, f"{fresh.preset} has other runs")
        if shared != _runs(fresh) or shared != _runs(paper):
            part = f"{len(shared)} of {len(_runs(paper))} runs: "
            table, published = _of_runs(table, shared), _of_runs(published, shared)
            common = [name for name in table if name in published and name not in _OF_OTHER_RUNS]
            table, published = table[common], published[common]
    outcome, about = compared(table, published, fresh.file.tolerances)
    return Agreement(fresh.target, fresh.preset, outcome, part + about if about else part.rstrip(": "))


def _runs(one: Figure) -> set[tuple[str, str]]:
    return {(run.label, run.id) for run in one.runs}


def _of_runs(table: pd.DataFrame, shared: set[tuple[str, str]]) -> pd.DataFrame:
    """Rows of some runs, in one order."""
    mine = [pair in shared for pair in zip(table["label"], table["run"], strict=True)]
    return table[mine].sort_values(["label", "run"], kind="stable", ignore_index=True)


def compared(
    fresh: pd.DataFrame, published: pd.DataFrame, tolerances: Mapping[str, Any] | None = None
) -> tuple[str, str]:
    """Compare two tables cell by cell.

    Parameters
    ----------
    fresh, published : DataFrame
        Their rows in the same order.
    tolerances : mapping, optional
        Column to the share of the published number by which it may differ, before those of `TOLERANCES`.

    Returns
    -------
    outcome, about : str
        As in `Agreement`.

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"label": ["CGC", "FRC"], "time_s": [1.0, 2.0]})
    >>> compared(one, one)
    ('equal', '')
    >>> compared(one.assign(time_s=[1.0, 2.000001]), one)
    ('within tolerance', 'largest deviation 1e-06 in time_s (2 was published, 2e-06 is allowed)')
    >>> compared(one.assign(time_s=[1.0, 3.0]), one)
    ('differs', 'time_s is 3 at label FRC, 2 was published; 1 of 2 rows differ')
    """
    if list(fresh) != list(published):
        new, gone = sorted(set(fresh) - set(published)), sorted(set(published) - set(fresh))
        told = [f"{kind} {', '.join(names)}" for kind, names in (("new", new), ("missing", gone)) if names]
        return DIFFERS, f"columns: {'; '.join(told) or 'in another order'}"
    if len(fresh) != len(published):
        return DIFFERS, f"{len(fresh)} rows, {len(published)} were published"
    worst = (0.0, "", 0)  # the deviation as a share of what is allowed, its column, its row
    wrong = np.zeros(len(fresh), dtype=bool)
    for name in fresh:
        share = _deviation(fresh[name], published[name], *_tolerance(str(name), tolerances or {}))
        wrong |= share > 1
        if len(share) and share.max() > worst[0]:
            worst = (float(share.max()), str(name), int(share.argmax()))
    share, name, row = worst
    if share == 0:
        return EQUAL, ""
    there, here = published[name].iloc[row], fresh[name].iloc[row]
    if not wrong.any():
        absolute, relative = _tolerance(name, tolerances or {})
        return WITHIN, (
            f"largest deviation {abs(here - there):.3g} in {name} "
            f"({there:.6g} was published, {absolute + relative * abs(there):.3g} is allowed)"
        )
    told = f"{name} is {_shown(here)} at {_place(fresh, row, name)}, {_shown(there)} was published"
    return DIFFERS, f"{told}; {wrong.sum()} of {len(fresh)} rows differ"


def _tolerance(name: str, tolerances: Mapping[str, Any]) -> tuple[float, float]:
    if name in tolerances:
        return TOLERANCES[-1][1], float(tolerances[name])
    return next((absolute, relative) for pattern, absolute, relative in TOLERANCES if fnmatch(name, pattern))


def _deviation(fresh: pd.Series, published: pd.Series, absolute: float, relative: float) -> np.ndarray:
    """Deviation of each cell as a share of what is allowed: 0 where both are equal, infinite where texts differ."""
    if fresh.dtype.kind in "fiu" and published.dtype.kind in "fiu":
        here, there = fresh.to_numpy(float), published.to_numpy(float)
        same = (here == there) | (np.isnan(here) & np.isnan(there))
        with np.errstate(invalid="ignore"):
            share = np.abs(here - there) / (absolute + relative * np.abs(there))
        share[np.isnan(share)] = np.inf  # a number on one side alone, or an infinite one
        return np.where(same, 0.0, share)
    empty = fresh.isna().to_numpy() & published.isna().to_numpy()
    return np.where((fresh.astype(str).to_numpy() == published.astype(str).to_numpy()) | empty, 0.0, np.inf)


def _place(table: pd.DataFrame, row: int, name: str) -> str:
    named = [f"{key} {table[key].iloc[row]}" for key in _NAMED if key in table and key != name]
    return ", ".join(named) or f"row {row + 1}"


def _shown(value: Any) -> str:
    return (
        f"{value:.9g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)
    )


def as_text(found: Sequence[Agreement]) -> str:
    """One line per fresh table, and how many there are of each outcome."""
    wide = max(len(one.target) for one in found)
    lines = [
        f"{one.target:{wide}}  {one.preset:5}  {one.outcome}{f': {one.about}' if one.about else ''}"
        for one in found
    ]
    counts = {
        outcome: sum(one.outcome == outcome for one in found) for outcome in (EQUAL, WITHIN, DIFFERS, NOT)
    }
    return "\n".join(
        [*lines, "", ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)]
    )
