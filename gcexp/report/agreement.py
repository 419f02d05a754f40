"""Do fresh tables say what the published ones say? Behind ``gcexp verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError, require_known
from gcexp.report.columns import SAVED
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
#: Columns that say which row is meant.
_NAMED = ("label", "what", "id", "method", "n", "s", "seed", "iteration")
EQUAL, WITHIN, DIFFERS, NOT = "equal", "within tolerance", "differs", "not comparable"


@dataclass(frozen=True)
class Agreement:
    """How a fresh table and the published one compare; `about` tells the largest deviation, or why they cannot be
    compared.
    """

    target: str
    preset: str
    outcome: str
    about: str = ""


def compare_with_published(targets: Sequence[str] = (), preset: str | None = None) -> list[Agreement]:
    """Hold fresh tables against the published ones: those of some figures, or of all; of one preset, or of both."""
    presets = PRESETS if preset is None else (preset,)
    known = target_files()
    for name in presets:
        require_known("preset", name, PRESETS)
    for target in targets:
        require_known("figure", target, known)
    fresh = [
        figure(target, name)
        for target in targets or known
        for name in presets
        if Path(paths.TABLE.format(preset=name, target=target)).is_file()
    ]
    if lacking := set(targets) - {one.target for one in fresh}:
        raise UserError(f"there is no fresh table of {min(lacking)}; make it first: snakemake {min(lacking)}")
    if not fresh:
        folders = " or ".join(paths.REPORT.format(preset=name) for name in presets)
        raise UserError(f"there is no fresh table in {folders}; make some first: make reproduce")
    return [_of_table(one) for one in fresh]


def _of_table(fresh: Figure) -> Agreement:
    from gcexp.figures.tables import read_table
    from gcexp.run.provenance import check_unchanged

    published = published_table(fresh.target)
    said = NOT, "nothing is published"
    if published is not None:
        check_unchanged(fresh.table)
        paper = figure(fresh.target, "paper")
        said = agreement(fresh, read_table(fresh.table), paper, read_table(published))
    return Agreement(fresh.target, fresh.preset, *said)


def agreement(fresh: Figure, table: pd.DataFrame, paper: Figure, published: pd.DataFrame) -> tuple[str, str]:
    """Outcome of comparing a fresh table with the published one, always of the paper preset, and words about it.

    Of another preset only what both make is compared: an analysis with the same arguments; of runs with the same
    options the rows of seeds and iterations that both tables have.
    """
    about = ""
    if fresh.preset != "paper" and not fresh.runs and fresh.arguments != paper.arguments:
        return NOT, f"{fresh.preset} has other arguments"
    if fresh.preset != "paper" and {run.id for run in fresh.runs} != {run.id for run in paper.runs}:
        mine, theirs = ({(r.label, _options(r.id)): r.length for r in one.runs} for one in (fresh, paper))
        running = "iteration" in table  # else a row sums up all iterations of a run
        shared = {run for run in mine.keys() & theirs.keys() if running or mine[run] == theirs[run]}
        rows, columns = len(published), [name for name in table if name not in (*SAVED, "run")]
        table, published = _of_runs(table, shared), _of_runs(published, shared)
        there = table.index.intersection(published.index)
        if not len(there):
            return NOT, f"{fresh.preset} has other runs"
        table, published = (
            one[one.index.isin(there)].reset_index(drop=True)[columns] for one in (table, published)
        )
        about = f"{len(published)} of {rows} rows"
    outcome, said = compared(table, published, fresh.file.tolerances)
    return outcome, ": ".join(filter(None, [about, said]))


def _options(run: str) -> str:
    """The id of a run without its length and its seeds, which stand last."""
    return run.rsplit("/", 2)[0]


def _of_runs(table: pd.DataFrame, runs: Set[tuple[str, str]]) -> pd.DataFrame:
    """Rows of some runs, named by run, seed and iteration, in one order.

    More seeds or iterations change no earlier draw: a row of a seed and an iteration is the same in every preset.
    """
    keys = [table["label"], table["run"].map(_options)]
    mine = [pair in runs for pair in zip(*keys, strict=True)]
    by = [*keys, *(table[name] for name in ("seed", "iteration") if name in table)]
    return table.set_index(by)[mine].sort_index(kind="stable")


def compared(
    fresh: pd.DataFrame, published: pd.DataFrame, tolerances: Mapping[str, Any] | None = None
) -> tuple[str, str]:
    """Outcome of comparing two tables cell by cell, and words about it; their rows stand in the same order.

    `tolerances` gives for a column the share of the published number by which it may differ, before `TOLERANCES`.
    """
    if list(fresh) != list(published):
        new, gone = sorted(set(fresh) - set(published)), sorted(set(published) - set(fresh))
        told = [f"{kind} {', '.join(names)}" for kind, names in (("new", new), ("missing", gone)) if names]
        return DIFFERS, f"columns: {'; '.join(told) or 'in another order'}"
    if len(fresh) != len(published):
        return DIFFERS, f"{len(fresh)} rows, {len(published)} were published"
    rules = [
        *((name, TOLERANCES[-1][1], float(share)) for name, share in (tolerances or {}).items()),
        *TOLERANCES,
    ]
    allowed = {
        name: next(
            (absolute, relative) for pattern, absolute, relative in rules if fnmatch(str(name), pattern)
        )
        for name in fresh
    }
    shares = np.array([_deviation(fresh[name], published[name], *allowed[name]) for name in fresh])
    if not shares.any():
        return EQUAL, ""
    column, row = np.unravel_index(shares.argmax(), shares.shape)
    wrong, name = (shares > 1).any(0), list(fresh)[column]
    there, here = published[name].iloc[row], fresh[name].iloc[row]
    if not wrong.any():
        absolute, relative = allowed[name]
        return WITHIN, (
            f"largest deviation {abs(here - there):.3g} in {name} "
            f"({there:.6g} was published, {absolute + relative * abs(there):.3g} is allowed)"
        )
    told = f"{name} is {_shown(here)} at {_place(fresh, row, name)}, {_shown(there)} was published"
    return DIFFERS, f"{told}; {wrong.sum()} of {len(fresh)} rows differ"


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
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def format_agreement(found: Sequence[Agreement]) -> str:
    """One line per fresh table, and how many there are of each outcome."""
    wide = max(len(one.target) for one in found)
    lines = [
        f"{one.target:{wide}}  {one.preset:5}  {one.outcome}{f': {one.about}' if one.about else ''}"
        for one in found
    ]
    counts = Counter(one.outcome for one in found)
    said = [f"{counts[outcome]} {outcome}" for outcome in (EQUAL, WITHIN, DIFFERS, NOT) if counts[outcome]]
    return "\n".join([*lines, "", ", ".join(said)])
