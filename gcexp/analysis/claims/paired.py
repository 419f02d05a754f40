"""Verdicts from paired comparisons: ratios between two sides of a table, seed by seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.claims.cells import chosen, listed
from gcexp.analysis.claims.verdicts import (
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Undecided,
    Verdict,
    admit,
    bounds_said,
    every,
)
from gcexp.errors import UserError, require
from gcexp.figures.rows import sign_interval

if TYPE_CHECKING:
    import pandas as pd

Side = str | Mapping[str, Any]


def ratio_within(
    table: pd.DataFrame,
    numerator: Side,
    denominator: Side,
    *,
    level: float | None = None,
    y: str = "test_accuracy",
    falling: bool = False,
    clock: str = "simulated_time_s",
    seeds: int = 5,
    **bounds: float,
) -> Verdict:
    """Whether the median over the shared seeds of numerator / denominator lies within bounds.

    Decided by the distribution-free interval of the median, `sign_interval`: *reproduced* if the whole interval lies
    within the bounds, *not reproduced* if all of it lies outside, else *undecided*.

    Parameters
    ----------
    table : DataFrame
    numerator, denominator : str or mapping
        A label, or columns with the value that the rows must have.
    level : float, optional
        What is compared is the first passage: the time on `clock` at the first evaluated iteration with ``y >= level``
        (``y <= level`` where the score is `falling`). Without a level it is `y` in the one row of a seed.
    y, falling, clock
        See `level`.
    seeds : int
        Fewest shared seeds, at least 5.
    **bounds
        ``above``, ``at_least``, ``at_most``, ``below``.

    Notes
    -----
    A curve that never reaches the level counts with every time after its last one: a slower scheme whose run covers
    the winner's time is slower, a run that was cut off before says nothing. Neither does a curve with a missing score.
    """
    require(seeds >= 5, f"seeds must be at least 5, the fewest that decide, got {seeds}")
    of_numerator = _measured(table, numerator, level, y, falling, clock)
    of_denominator = _measured(table, denominator, level, y, falling, clock)
    over = _name(numerator)
    under = _name(denominator)
    shared = np.intersect1d(of_numerator.seeds, of_denominator.seeds, assume_unique=True)
    if len(shared) < seeds:
        raise Undecided(f"{over} and {under} share {len(shared)} seeds, fewer than {seeds}")
    top = of_numerator.of(shared)
    bottom = of_denominator.of(shared)
    neither = np.isinf(top.high) & np.isinf(bottom.high)
    if neither.any():
        raise Undecided(
            f"in {neither.sum()} of {len(shared)} seeds neither {over} nor {under} reaches {y} {level:g}"
        )
    if (bottom.low <= 0).any() or (top.low < 0).any():
        raise Undecided(f"{y} of {over} or {under} is not positive, so that there is no ratio")
    return _judged(_pair(numerator, denominator), top.low / bottom.high, top.high / bottom.low, bounds)


def _judged(
    pair: str, low_ratios: np.ndarray, high_ratios: np.ndarray, bounds: Mapping[str, float]
) -> Verdict:
    """The verdict on ratios, one per seed, each between two ends; `pair` names what is compared."""
    low, high = sign_interval(low_ratios, high_ratios)
    median = np.median(low_ratios)
    middle = f"{median:.4g}"
    if median != np.median(high_ratios):
        middle += " or more"
    found = f"{pair}: {middle} ({low:.4g} to {high:.4g}), wanted {bounds_said(bounds)}"
    if admit(bounds, low, high):
        return Verdict(REPRODUCED, found)
    # With the ends exchanged: whether some number between them lies within the bounds.
    if admit(bounds, high, low):
        return Verdict(UNDECIDED, found)
    return Verdict(NOT_REPRODUCED, found)


def before(
    table: pd.DataFrame, first: Side | Sequence[Side], then: Side | Sequence[Side], **compared: Any
) -> Verdict:
    """Whether every side of `first` comes before every side of `then`: the median ratio then / first is above one.

    Parameters
    ----------
    table : DataFrame
    first, then : str or mapping, or a list of them
        Labels, or columns with the value that the rows must have.
    **compared
        ``level``, ``y``, ``falling``, ``clock`` and ``seeds`` of `ratio_within`.
    """
    verdicts = []
    for one, other in itertools.product(listed(first), listed(then)):
        try:
            verdicts.append(ratio_within(table, other, one, above=1, **compared))
        except Undecided as why:
            verdicts.append(Verdict(UNDECIDED, str(why)))
    return every(verdicts)


@dataclass(frozen=True)
class _Measured:
    """A number for each of some rising seeds, of which two ends are known, equal where it is known itself."""

    seeds: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def of(self, seeds: np.ndarray) -> _Measured:
        """The numbers of some of the seeds."""
        place = np.searchsorted(self.seeds, seeds)
        return _Measured(seeds, self.low[place], self.high[place])


def _measured(
    table: pd.DataFrame, side: Side, level: float | None, y: str, falling: bool, clock: str
) -> _Measured:
    """For each seed of a side the number in its one row, or between which times it first reaches a level."""
    name = _name(side)
    if level is None:
        seeds, values = _columns(table, side, "seed", y)
        return _values(seeds, values, y, name)
    seeds, iterations, times, scores = _columns(table, side, "seed", "iteration", clock, y)
    in_order = np.lexsort((iterations, seeds))
    each, first_row = np.unique(seeds[in_order], return_index=True)
    ends = []
    for rows in np.split(in_order, first_row[1:]):
        ends.append(_passage(iterations[rows], times[rows], scores[rows], level, falling, name))
    low, high = np.array(ends).T
    return _Measured(each, low, high)


def _columns(table: pd.DataFrame, side: Side, *columns: str) -> list[np.ndarray]:
    """Columns of the rows of a side, without the rows that belong to no seed."""
    keep = chosen(table, _where(side), *columns)
    found = [table[column].to_numpy()[keep] for column in columns]
    seeds = found[columns.index("seed")]
    has_seed = seeds == seeds  # a missing number differs from itself
    return [values[has_seed] for values in found]


def _passage(
    iterations: np.ndarray, times: np.ndarray, scores: np.ndarray, level: float, falling: bool, name: str
) -> tuple[float, float]:
    """Between which times a curve first reaches a level."""
    if not (np.isfinite(times).all() and np.isfinite(scores.astype(np.float64)).all()):
        raise Undecided(f"a score or a time of {name} is missing or not finite")
    # Scores are taken at one distance, but for the last iteration, which may come earlier.
    steps = np.diff(iterations)
    uneven = len(steps) > 1 and (np.ptp(steps[:-1]) or steps[-1] > steps[0])
    if iterations[0] or uneven:
        raise Undecided(f"a curve of {name} has a hole")
    reached = scores <= level if falling else scores >= level
    if reached.any():
        first = float(times[reached.argmax()])
        return first, first
    last = float(times[-1])
    return last, math.inf


def _values(seeds: np.ndarray, values: np.ndarray, y: str, name: str) -> _Measured:
    """For each seed the number in its one row."""
    each, row = np.unique(seeds, return_index=True)
    if len(each) < len(seeds):
        raise UserError(f"several rows of {name} have one seed; without a level each seed must have one row")
    numbers = values[row].astype(np.float64)
    if not np.isfinite(numbers).all():
        raise Undecided(f"{y} of {name} is missing or not finite")
    return _Measured(each, numbers, numbers)


def _where(side: Side) -> Mapping[str, Any]:
    if isinstance(side, Mapping):
        return side
    return {"label": side}


def _name(side: Side) -> str:
    if isinstance(side, Mapping):
        return ", ".join(map(str, side.values()))
    return side


def _pair(over: Side, under: Side) -> str:
    """Names of a ratio; what both have in common beside their labels is said once."""
    of_under = _where(under)
    own = {}
    for key, value in _where(over).items():
        if key == "label" or of_under.get(key) != value:
            own[key] = value
    return f"{_name(own)} / {_name(under)}"
