"""Do fresh tables say what the published ones say? Behind ``gcexp verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError, require_known
from gcexp.report.columns import SAVED
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, figure
from gcexp.report.published import command_that_makes, published_table
from gcexp.report.targets import target_files
from gcexp.run import paths

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Tolerance:
    """What a number may differ by from the published one: absolutely, and as a share of it."""

    absolute: float
    relative: float


#: By a pattern of columns, of which the first one that fits counts. Tables have nine digits; a training in single
#: precision adds in another order on another processor.
TOLERANCES = {
    "*accuracy": Tolerance(0.005, 0.0),
    "*auc": Tolerance(0.002, 0.0),
    "*loss": Tolerance(0.0, 0.02),
    "*": Tolerance(1e-9, 1e-6),
}
#: Columns that say which row is meant.
_ROW_COLUMNS = ("label", "what", "id", "method", "n", "s", "seed", "iteration")
EQUAL, WITHIN, DIFFERS, NOT = "equal", "within tolerance", "differs", "not comparable"


@dataclass(frozen=True)
class TableComparison:
    """What comparing two tables gives: one of the four outcomes, and the largest deviation or the reason in words."""

    outcome: str
    about: str = ""


@dataclass(frozen=True)
class Agreement:
    """How the fresh table of a figure and the published one compare, with the fields of `TableComparison`."""

    target: str
    preset: str
    outcome: str
    about: str = ""


def compare_with_published(targets: Sequence[str] = (), preset: str | None = None) -> list[Agreement]:
    """Hold fresh tables against the published ones: those of some figures, or of all; of one preset, or of both."""
    presets = PRESETS if preset is None else (preset,)
    for name in presets:
        require_known("preset", name, PRESETS)
    known = target_files()
    for target in targets:
        require_known("figure", target, known)
    fresh_figures = _fresh_figures(targets or known, presets)
    missing = set(targets) - {fresh.target for fresh in fresh_figures}
    if missing:
        first = min(missing)
        command = command_that_makes(first, presets[0])
        raise UserError(f"there is no fresh table of {first}; make it first: {command}")
    if not fresh_figures:
        folders = " or ".join(paths.REPORT.format(preset=name) for name in presets)
        raise UserError(f"there is no fresh table in {folders}; make some first: make reproduce")
    return [_agreement_of(fresh) for fresh in fresh_figures]


def _fresh_figures(targets: Iterable[str], presets: Sequence[str]) -> list[Figure]:
    """The figures that have a table here."""
    found = []
    for target in targets:
        for preset in presets:
            if Path(paths.TABLE.format(preset=preset, target=target)).is_file():
                found.append(figure(target, preset))
    return found


def _agreement_of(fresh: Figure) -> Agreement:
    """How the fresh table of a figure and the published one compare."""
    from gcexp.figures.tables import read_table
    from gcexp.run.provenance import check_unchanged

    published = published_table(fresh.target)
    if published is None:
        return Agreement(fresh.target, fresh.preset, NOT, "nothing is published")
    check_unchanged(fresh.table)
    paper = figure(fresh.target, "paper")
    found = compare_presets(fresh, read_table(fresh.table), paper, read_table(published))
    return Agreement(fresh.target, fresh.preset, found.outcome, found.about)


def compare_presets(
    fresh: Figure, table: pd.DataFrame, paper: Figure, published: pd.DataFrame
) -> TableComparison:
    """Compare the fresh table of a figure with the published one, which is always of the paper preset.

    Of another preset only what both make is compared: an analysis with the same arguments; of runs with the same
    options the rows of seeds and iterations that both tables have.
    """
    tolerances = fresh.file.tolerances
    if fresh.preset == "paper":
        return compare_tables(table, published, tolerances)
    if not fresh.runs and fresh.arguments != paper.arguments:
        return TableComparison(NOT, f"{fresh.preset} has other arguments")
    fresh_ids = {run.id for run in fresh.runs}
    paper_ids = {run.id for run in paper.runs}
    if fresh_ids == paper_ids:
        return compare_tables(table, published, tolerances)
    shared = _shared_runs(fresh, paper, running="iteration" in table)
    fresh_rows = _rows_of_runs(table, shared)
    published_rows = _rows_of_runs(published, shared)
    in_both = fresh_rows.index.intersection(published_rows.index)
    if in_both.empty:
        return TableComparison(NOT, f"{fresh.preset} has other runs")
    # The id of a run names its length and seeds, and savings are relative to means over all seeds.
    columns = [name for name in table if name not in (*SAVED, "run")]
    fresh_rows = fresh_rows[fresh_rows.index.isin(in_both)].reset_index(drop=True)
    published_rows = published_rows[published_rows.index.isin(in_both)].reset_index(drop=True)
    found = compare_tables(fresh_rows[columns], published_rows[columns], tolerances)
    about = f"{len(published_rows)} of {len(published)} rows"
    if found.about:
        about += f": {found.about}"
    return TableComparison(found.outcome, about)


def _shared_runs(fresh: Figure, paper: Figure, *, running: bool) -> set[tuple[str, str]]:
    """Label and options of the runs that two presets of a figure have in common.

    They must be equally long as well, unless the table is `running` and has rows for single iterations: any other row
    sums up all iterations of a run.
    """
    fresh_lengths = {(run.label, _options(run.id)): run.length for run in fresh.runs}
    paper_lengths = {(run.label, _options(run.id)): run.length for run in paper.runs}
    shared = fresh_lengths.keys() & paper_lengths.keys()
    if running:
        return shared
    equally_long = set()
    for run in shared:
        if fresh_lengths[run] == paper_lengths[run]:
            equally_long.add(run)
    return equally_long


def _options(run: str) -> str:
    """The id of a run without its length and its seeds, which stand last."""
    return run.rsplit("/", 2)[0]


def _rows_of_runs(table: pd.DataFrame, runs: Set[tuple[str, str]]) -> pd.DataFrame:
    """Rows of some runs, named by run, seed and iteration, in one order.

    More seeds or iterations change no earlier draw: a row of a seed and an iteration is the same in every preset.
    """
    labels = table["label"]
    options = table["run"].map(_options)
    is_asked = [run in runs for run in zip(labels, options, strict=True)]
    index = [labels, options]
    for name in ("seed", "iteration"):
        if name in table:
            index.append(table[name])
    return table.set_index(index)[is_asked].sort_index(kind="stable")


def compare_tables(
    fresh: pd.DataFrame, published: pd.DataFrame, tolerances: Mapping[str, Any] | None = None
) -> TableComparison:
    """Compare two tables cell by cell, whose rows stand in the same order.

    `tolerances` gives for a column the share of the published number by which it may differ, before `TOLERANCES`.
    """
    if list(fresh) != list(published):
        return TableComparison(DIFFERS, f"columns: {_other_columns(fresh, published)}")
    if len(fresh) != len(published):
        return TableComparison(DIFFERS, f"{len(fresh)} rows, {len(published)} were published")
    names = list(fresh)
    allowed = [_tolerance(str(name), tolerances or {}) for name in names]
    deviations = []
    for name, tolerance in zip(names, allowed, strict=True):
        deviations.append(_deviation(fresh[name], published[name], tolerance))
    shares = np.array(deviations)
    if not shares.any():
        return TableComparison(EQUAL)
    column, row = np.unravel_index(shares.argmax(), shares.shape)
    name = names[column]
    here = fresh[name].iloc[row]
    there = published[name].iloc[row]
    wrong_rows = (shares > 1).any(0)
    if wrong_rows.any():
        first = f"{name} is {_cell_in_words(here)} at {_place(fresh, row, name)}, {_cell_in_words(there)} was published"
        return TableComparison(DIFFERS, f"{first}; {wrong_rows.sum()} of {len(fresh)} rows differ")
    most = allowed[column].absolute + allowed[column].relative * abs(there)
    largest = f"largest deviation {abs(here - there):.3g} in {name}"
    return TableComparison(WITHIN, f"{largest} ({there:.6g} was published, {most:.3g} is allowed)")


def _other_columns(fresh: pd.DataFrame, published: pd.DataFrame) -> str:
    """In which columns two tables differ."""
    differences = []
    new = sorted(set(fresh) - set(published))
    if new:
        differences.append(f"new {', '.join(new)}")
    missing = sorted(set(published) - set(fresh))
    if missing:
        differences.append(f"missing {', '.join(missing)}")
    return "; ".join(differences) or "in another order"


def _tolerance(name: str, shares: Mapping[str, Any]) -> Tolerance:
    """What the numbers of a column may differ by: what a figure file says, before `TOLERANCES`."""
    for pattern, share in shares.items():
        if fnmatch(name, pattern):
            return Tolerance(TOLERANCES["*"].absolute, float(share))
    for pattern, tolerance in TOLERANCES.items():
        if fnmatch(name, pattern):
            return tolerance
    raise AssertionError(f"no tolerance fits the column {name}")


def _deviation(fresh: pd.Series, published: pd.Series, tolerance: Tolerance) -> np.ndarray:
    """Deviation of each cell as a share of what is allowed: 0 where both are equal, infinite where texts differ."""
    if fresh.dtype.kind in "fiu" and published.dtype.kind in "fiu":
        here = fresh.to_numpy(float)
        there = published.to_numpy(float)
        same = (here == there) | (np.isnan(here) & np.isnan(there))
        with np.errstate(invalid="ignore"):
            allowed = tolerance.absolute + tolerance.relative * np.abs(there)
            share = np.abs(here - there) / allowed
        share[np.isnan(share)] = np.inf  # a number on one side alone, or an infinite one
        return np.where(same, 0.0, share)
    same = fresh.astype(str).to_numpy() == published.astype(str).to_numpy()
    empty = fresh.isna().to_numpy() & published.isna().to_numpy()
    return np.where(same | empty, 0.0, np.inf)


def _place(table: pd.DataFrame, row: int, name: str) -> str:
    """Which row of a table is meant."""
    words = []
    for key in _ROW_COLUMNS:
        if key in table and key != name:
            words.append(f"{key} {table[key].iloc[row]}")
    return ", ".join(words) or f"row {row + 1}"


def _cell_in_words(value: Any) -> str:
    """A cell as a sentence writes it."""
    if isinstance(value, float):
        return f"{value:.9g}"
    return repr(value)


def format_agreement(found: Sequence[Agreement]) -> str:
    """One line per fresh table, and how many there are of each outcome."""
    width = max(len(one.target) for one in found)
    lines = []
    for one in found:
        line = f"{one.target:{width}}  {one.preset:5}  {one.outcome}"
        lines.append(f"{line}: {one.about}" if one.about else line)
    counts = Counter(one.outcome for one in found)
    totals = []
    for outcome in (EQUAL, WITHIN, DIFFERS, NOT):
        if counts[outcome]:
            totals.append(f"{counts[outcome]} {outcome}")
    lines += ["", ", ".join(totals)]
    return "\n".join(lines)
