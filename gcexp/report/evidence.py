"""What the page says beside a figure: on which published table outcomes rest, and when its curves reach their level.

Where the curves of this run and the published ones come in another order, the page shows both.
"""

from __future__ import annotations

import itertools
import math
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.figures.rows import coverage_in_words
from gcexp.figures.tables import read_table, scores_of
from gcexp.files import read_json, used
from gcexp.report.comparison import add_identifying_columns, medians_of_runs
from gcexp.report.figurefile import named_figures
from gcexp.report.published import published_table
from gcexp.run.provenance import provenance_file
from gcexp.words import joined

if TYPE_CHECKING:
    from gcexp.report.figure import Figure


@dataclass(frozen=True)
class FirstPassage:
    """When the curve of one scheme first reaches the level of its figure.

    Attributes
    ----------
    keys : tuple of str
        Values of what tells it apart from other curves with its label, such as the panel.
    label : str
    median, low, high : float
        Simulated time, and the interval of its median by the sign test; infinite where the level is not reached, or
        where there are fewer than five seeds.
    reached, seeds : int
        How many seeds reach the level, and how many there are.
    """

    keys: tuple[str, ...]
    label: str
    median: float
    low: float
    high: float
    reached: int
    seeds: int

    @property
    def cells(self) -> list[str]:
        """What a reader sees of it."""
        median = "not reached"
        if math.isfinite(self.median):
            median = f"{self.median:.4g}"
        interval = "–"
        if math.isfinite(self.high) and self.low > 0:
            interval = f"{self.low:.4g} to {self.high:.4g}"
        return [self.label, *self.keys, median, interval, f"{self.reached} of {self.seeds}"]


@dataclass(frozen=True)
class FirstPassages:
    """The first passages of a figure of curves: its level and score, names of the keys, and a row per scheme."""

    level: float
    score: str
    keys: tuple[str, ...]
    rows: tuple[FirstPassage, ...]
    more_seeds: tuple[str, ...] = ()  # labels of curves that have seeds which others lack

    @property
    def about_seeds(self) -> str:
        """Which seeds the medians are over, and what their intervals cover, in sentences."""
        seeds = max((row.seeds for row in self.rows), default=0)
        if seeds <= 1:
            return ""
        text = f"Medians over {seeds} seeds."
        if self.more_seeds:
            text = (
                f"Medians over the {seeds} seeds that all curves have, so that they are compared on equal draws. The "
                f"picture takes all seeds of {joined(self.more_seeds)}, and may tell another time of them."
            )
        covered = coverage_in_words([seeds])
        if covered:
            text += f" Their intervals, by the sign test, cover {covered}."
        return text

    @property
    def header(self) -> list[str]:
        """What stands over the columns."""
        return ["label", *self.keys, "median time", "interval of the median", "seeds that reach it"]

    @property
    def body(self) -> list[list[str]]:
        """The rows as text, in the order of the figure's runs."""
        return [row.cells for row in self.rows]


def first_passages(figure: Figure, table: Path) -> FirstPassages | None:
    """When the curves of a figure reach its level, from its table.

    It is None for a figure without curves or level, or whose table is not there, or whose runs have no seed in common.
    """
    level = figure.file.level
    has_curves = figure.file.kind == "curves" and not figure.file.passages
    if not has_curves or level is None or not table.is_file():
        return None
    frame = read_table(table)
    seeds_of_runs = [set(rows["seed"]) for _, rows in frame.groupby(["label", "run"])]
    shared = set.intersection(*seeds_of_runs)
    if not shared:
        return None
    more_seeds = []
    for label, rows_of_label in frame.groupby("label", sort=False):
        if set(rows_of_label["seed"]) > shared:
            more_seeds.append(str(label))
    found = add_identifying_columns(medians_of_runs(figure, frame), figure)
    columns = list(found.columns)
    keys = tuple(columns[2 : columns.index("seeds")])  # between label and run, and the medians
    rows = []
    for row in found.to_dict("records"):
        texts = []
        for key in keys:
            texts.append("" if row[key] is None else str(row[key]))
        rows.append(
            FirstPassage(
                keys=tuple(texts),
                label=row["label"],
                median=row[f"time_to_{level:g}"],
                low=row["low"],
                high=row["high"],
                reached=int(row["seeds_reached"]),
                seeds=int(row["seeds"]),
            )
        )
    return FirstPassages(level, scores_of(frame)[0], keys, tuple(rows), tuple(more_seeds))


def published_first_passages(target: str) -> FirstPassages | None:
    """When the curves of a target reach their level in the published table; None where there is none.

    Published tables are those of the paper preset.
    """
    table = published_table(target)
    if table is None:
        return None
    used(table)
    (figure,) = named_figures([target], "paper")
    return first_passages(figure, table)


def other_order(here: Iterable[FirstPassage], published: Iterable[FirstPassage]) -> list[str]:
    """Pairs of schemes, in words, whose order by time to the level is another one here than in the published table.

    Only pairs that the published table decides count: the interval of one lies below that of the other.

    Examples
    --------
    >>> fast = FirstPassage((), "Forget-19", 1.0, 0.8, 1.2, 5, 5)
    >>> slow = FirstPassage((), "CGC", 2.0, 1.8, 2.2, 5, 5)
    >>> other_order([fast, slow], [fast, slow])
    []
    >>> other_order([FirstPassage((), "Forget-19", 3.0, 2.5, 3.5, 5, 5), slow], [fast, slow])
    ['Forget-19 comes after CGC, in the published table before it']
    """
    row_of = {(row.keys, row.label): row for row in here}
    sentences = []
    for first, then in itertools.permutations(published, 2):
        decided = first.keys == then.keys and first.high < then.low
        first_here = row_of.get((first.keys, first.label))
        then_here = row_of.get((then.keys, then.label))
        if not decided or first_here is None or then_here is None:
            continue
        if first_here.median > then_here.median:
            where = ""
            if any(first.keys):
                where = f" ({', '.join(first.keys)})"
            sentences.append(
                f"{first.label} comes after {then.label}{where}, in the published table before it"
            )
    return sentences


def published_source(target: str) -> str:
    """Where the published table of a target is from, in words: preset, and commit with its date where git knows it.

    It is empty where nothing is published, and names the preset alone where no provenance lies beside the table.
    """
    table = published_table(target)
    if table is None:
        return ""
    provenance = provenance_file(table)
    if not provenance.is_file():
        return "paper preset"
    used(provenance)
    commit = str(read_json(provenance).get("commit") or "")
    if not commit:
        return "paper preset"
    date = _date_of(commit)
    if not date:
        return f"paper preset, commit {commit[:10]}"
    return f"paper preset, {date}, commit {commit[:10]}"


@cache
def _date_of(commit: str) -> str:
    """The date of a commit, empty where this is no clone that has it."""
    command = ["git", "show", "--no-patch", "--format=%cs", commit]
    try:
        found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    except OSError:
        return ""
    if found.returncode != 0:
        return ""
    return found.stdout.strip()
