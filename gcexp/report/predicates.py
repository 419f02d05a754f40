"""Whether a table bears a claim out: holds, does not hold, or undecided by this table.

A predicate is one frozen dataclass, whose fields are the keys that may be written, and one function ``(spec,
frame) -> Verdict`` under `predicate`. It raises `Undecided` where the table cannot answer: a number is
missing or not finite, rows are missing or too many, a run ends before the question is decided, or the seeds
are too few.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gcexp.errors import UserError, require, unknown
from gcexp.schema import typed

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, UNDECIDED = OUTCOMES = ("holds", "does not hold", "undecided")
_ROUNDING = 5e-9  # a table keeps nine digits: equality cannot be asked for more closely
_ODDS = 32  # to one against, on each side of an interval: five seeds that agree decide, four do not

Statistic = Literal["mean", "median", "max", "min"]
_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "max": np.max,
    "min": np.min,
}


class Undecided(Exception):
    """The table cannot answer; the message says why."""


class AbsentRows(UserError):
    """A claim is about a value that the table does not have."""


@dataclass(frozen=True)
class Verdict:
    """What a predicate found.

    Attributes
    ----------
    outcome : {"holds", "does not hold", "undecided"}
        Outcome.
    measured, expected, tolerance : object
        For the scorecard.
    why : str
        Why it is undecided.
    """

    outcome: str
    measured: object
    expected: object
    tolerance: object = None
    why: str = ""


_PREDICATES: dict[str, tuple[type, Callable]] = {}


def predicate(name: str, spec: type) -> Callable:
    """Register a function as the predicate `name`, written with the fields of `spec`."""

    def register(function: Callable) -> Callable:
        _PREDICATES[name] = (spec, function)
        return function

    return register


def known() -> dict[str, type]:
    """The predicates, each with the dataclass of its keys."""
    return {name: spec for name, (spec, _) in _PREDICATES.items()}


def judge(name: str, spec: object, frame: pd.DataFrame) -> Verdict:
    """Hold a table against one predicate.

    Raises
    ------
    UserError
        If the claim names a column, a label or a value that the table does not have.
    """
    try:
        return _PREDICATES[name][1](spec, frame)
    except Undecided as why:
        return Verdict(UNDECIDED, None, getattr(spec, "wanted", None), why=str(why))


_RELATIONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _meets(number: float, sign: str, limit: float) -> bool:
    slack = {">=": -_ROUNDING, "<=": _ROUNDING}.get(sign, 0) * abs(limit)
    return _RELATIONS[sign](number, limit + slack)


@dataclass(frozen=True, kw_only=True)
class _Bounded:
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None

    @property
    def bounds(self) -> list[tuple[str, float]]:
        """Relations and limits that are given."""
        given = ((">", self.above), (">=", self.at_least), ("<=", self.at_most), ("<", self.below))
        return [(sign, limit) for sign, limit in given if limit is not None]

    @property
    def wanted(self) -> str:
        """The bounds in words."""
        return ", ".join(f"{sign} {limit:g}" for sign, limit in self.bounds)

    def admits(self, number: float) -> bool:
        """Whether a number lies within the bounds; an end that belongs to them, within the table's nine digits."""
        return all(_meets(number, sign, limit) for sign, limit in self.bounds)

    def excludes(self, low: float, high: float) -> bool:
        """Whether no number between two lies within the bounds."""
        return any(not _meets(high if ">" in sign else low, sign, limit) for sign, limit in self.bounds)

    def __post_init__(self):
        require(bool(self.bounds), "no bound is given (allowed: above, at_least, at_most, below)")
        require(
            not (self.above is not None and self.at_least is not None)
            and not (self.at_most is not None and self.below is not None),
            "give one lower bound (above or at_least) and one upper bound (at_most or below)",
        )


# Paired comparisons: ratios between two sides, seed by seed

Side = str | dict


@dataclass(frozen=True, kw_only=True)
class _Paired(ABC):
    of: Literal["time_to", "value"] = "time_to"
    y: str = "test_accuracy"
    level: float | None = None
    falling: bool = False
    clock: Literal["simulated_time_s", "iteration"] = "simulated_time_s"
    seeds: int

    @property
    @abstractmethod
    def sides(self) -> tuple[Side, ...]:
        """What is compared."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return _labels(*self.sides)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the table must have."""
        clock = ("iteration", self.clock) if self.of == "time_to" else ()
        chosen = itertools.chain.from_iterable(map(_where, self.sides))
        return ("seed", *clock, self.y, *map(str, chosen))

    def __post_init__(self):
        fits = (self.level is None) == (self.of == "value")
        require(fits, "level is given with `of: time_to`, and only with it")
        require(not self.falling or self.of == "time_to", "falling is given with `of: time_to` only")
        require(self.seeds >= 5, f"seeds wants at least 5, the fewest that decide, got {self.seeds}")


@dataclass(frozen=True, kw_only=True)
class PairedRatio(_Paired, _Bounded):
    """Median over the shared seeds of numerator / denominator lies within the bounds.

    Decided by a distribution-free interval of the median: between the k-th smallest and the k-th largest
    ratio, with the largest k for which a median beyond an end would be as likely as 1/32 at most (the sign
    test; the two extremes at 5 to 8 seeds). *Holds* if the whole interval lies within the bounds, *does not
    hold* if all of it lies outside.

    Parameters
    ----------
    of : {"time_to", "value"}
        First passage: simulated time at the first evaluated iteration with ``y >= level``; or `y` in the one
        row of a seed.
    y : str
        Column.
    level : float
        For ``time_to``.
    falling : bool
        The score is a loss: ``time_to`` is the first ``y <= level``.
    clock : {"simulated_time_s", "iteration"}
        What ``time_to`` is read on.
    seeds : int
        Fewest shared seeds, at least 5.
    numerator, denominator : str or mapping
        A label, or columns with the value that the rows must have.
    above, at_least, at_most, below : float, optional
        Bounds, at least one.

    Notes
    -----
    A curve that never reaches the level counts with every time after its last one: a slower scheme whose run
    covers the winner's time is slower, a run cut off before says nothing. A curve with a missing score or a
    hole says nothing either.
    """

    numerator: Side
    denominator: Side

    @property
    def sides(self) -> tuple[Side, ...]:
        """What is compared."""
        return (self.numerator, self.denominator)

    def __post_init__(self):
        _Paired.__post_init__(self)
        _Bounded.__post_init__(self)
        require(self.numerator != self.denominator, f"numerator and denominator are both {self.numerator!r}")


@dataclass(frozen=True, kw_only=True)
class Ordering(_Paired):
    """Every side of `first` comes before every side of `then`: paired ratio then / first > 1, as in `PairedRatio`.

    *Holds* if it holds for every pair, *does not hold* if it does not for one.

    Parameters
    ----------
    of, y, level, falling, clock, seeds
        As in `PairedRatio`.
    first, then : str or mapping, or list of them
        Labels, or columns with the value that the rows must have.
    """

    first: Side | tuple[Side, ...]
    then: Side | tuple[Side, ...]

    wanted = "> 1"

    @property
    def pairs(self) -> list[tuple[Side, Side]]:
        """(first, then) for every pair."""
        return list(itertools.product(_listed(self.first), _listed(self.then)))

    @property
    def sides(self) -> tuple[Side, ...]:
        """What is compared."""
        return (*_listed(self.first), *_listed(self.then))

    def __post_init__(self):
        super().__post_init__()
        require(bool(self.pairs), "first and then want at least one label each")
        both = sorted(_name(side) for side in _listed(self.first) if side in _listed(self.then))
        require(not both, f"a label stands in both first and then: {', '.join(both)}")


def sign_interval(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Interval of a median from numbers that are known to lie between `low` and `high` each.

    Parameters
    ----------
    low, high : ndarray, shape (S,)
        Ends; equal where the number is known.

    Returns
    -------
    tuple of float
        k-th smallest of `low` and k-th largest of `high`, with the largest k for which ``P(Bin(S, 1/2) < k)
        <= 1/32``; without end in both directions below five numbers.

    Examples
    --------
    >>> five = np.array([1.2, 1.1, 1.4, 1.3, 1.25])
    >>> [float(end) for end in sign_interval(five, five)], sign_interval(five[:4], five[:4])
    ([1.1, 1.4], (-inf, inf))
    """
    k = _trimmed(len(low))
    return (float(np.sort(low)[k - 1]), float(np.sort(high)[-k])) if k else (-math.inf, math.inf)


@cache
def _trimmed(count: int) -> int:
    """Largest k with P(Bin(count, 1/2) < k) <= 1/32."""
    below, k = 1, 0  # sum of C(count, j) for j <= k
    while _ODDS * below <= 2**count:
        k += 1
        below += math.comb(count, k)
    return k


def _passages(rows: pd.DataFrame, spec: _Paired, name: str) -> dict[int, tuple[float, float]]:
    """For each seed, between which times the level is first reached: equal ends where it was."""
    _columns(rows, "seed", "iteration", spec.clock, spec.y)
    rows = rows.sort_values(["seed", "iteration"], kind="stable")
    seed, at, time, score = (rows[column].to_numpy() for column in ("seed", "iteration", spec.clock, spec.y))
    if not (np.isfinite(time).all() and np.isfinite(score.astype(np.float64)).all()):
        raise Undecided(f"a score or a time of {name} is missing or not finite")
    starts = np.flatnonzero(np.r_[True, seed[1:] != seed[:-1]])
    ends = np.r_[starts[1:], len(rows)] - 1
    inside = np.ones(len(rows), dtype=bool)
    inside[starts] = False
    steps = np.diff(at, prepend=at[0])
    # Scores are taken at one distance, but for the last iteration, which may come earlier.
    regular = inside.copy()
    regular[ends] = False
    even = steps[regular]
    short = steps[ends[ends > starts]]
    if at[starts].any() or len(even) and (even.min() != even.max() or short.max(initial=0) > even.max()):
        raise Undecided(f"a curve of {name} has a hole")
    reached = score <= spec.level if spec.falling else score >= spec.level
    order = np.where(reached, np.arange(len(rows)), len(rows))
    first = np.minimum.reduceat(order, starts)
    there = first <= ends
    low = time[np.where(there, first, ends)]
    high = np.where(there, low, math.inf)
    return {int(s): (float(a), float(b)) for s, a, b in zip(seed[starts], low, high, strict=True)}


def _values(rows: pd.DataFrame, spec: _Paired, name: str) -> dict[int, tuple[float, float]]:
    """For each seed the number in its one row."""
    _columns(rows, "seed", spec.y)
    if rows["seed"].duplicated().any():
        raise UserError(f"several rows of {name} have one seed; `of: value` wants one, chosen by a mapping")
    values = rows[spec.y].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise Undecided(f"{spec.y} of {name} is missing or not finite")
    return {int(seed): (float(v), float(v)) for seed, v in zip(rows["seed"], values, strict=True)}


_MEASURES = {"time_to": _passages, "value": _values}


_Ends = tuple[float, float]


def _medians(spec: _Paired, frame: pd.DataFrame, numerator: Side, denominator: Side) -> tuple[_Ends, _Ends]:
    """Between which numbers the median paired ratio over the shared seeds lies, and its interval."""
    over, under = _name(numerator), _name(denominator)
    top, bottom = (
        _MEASURES[spec.of](frame[_rows(frame, _where(side))], spec, name)
        for side, name in ((numerator, over), (denominator, under))
    )
    shared = sorted(top.keys() & bottom.keys())
    if len(shared) < spec.seeds:
        raise Undecided(f"{over} and {under} share {len(shared)} seeds, fewer than {spec.seeds}")
    (low_top, high_top), (low_bottom, high_bottom) = (
        np.array([found[seed] for seed in shared]).T for found in (top, bottom)
    )
    neither = np.isinf(high_top) & np.isinf(high_bottom)
    if neither.any():
        count = f"in {neither.sum()} of {len(shared)} seeds"
        raise Undecided(f"{count} neither {over} nor {under} reaches {spec.y} {spec.level:g}")
    if (low_bottom <= 0).any() or (low_top < 0).any():
        raise Undecided(f"{spec.of} of {over} or {under} is not positive, so that there is no ratio")
    low, high = low_top / high_bottom, high_top / low_bottom
    return (float(np.median(low)), float(np.median(high))), sign_interval(low, high)


def _ratios(spec: _Paired, frame: pd.DataFrame, numerator: Side, denominator: Side) -> dict[str, Any]:
    """Median paired ratio over the shared seeds, and its interval, for the scorecard."""
    middle, ends = _medians(spec, frame, numerator, denominator)
    median: float | str = middle[0] if middle[0] == middle[1] else f"{middle[0]:.4g} or more"
    return {"median": median, "low": ends[0], "high": ends[1]}


def measured_ratios(
    spec: PairedRatio | Ordering, frame: pd.DataFrame
) -> Iterator[tuple[str, _Bounded, float, float, float]]:
    """Pair, bounds, and low end, median and high end of each ratio that the table can answer."""
    if isinstance(spec, Ordering):
        pairs = [(then, first, _Bounded(above=1)) for first, then in spec.pairs]
    else:
        pairs = [(spec.numerator, spec.denominator, spec)]
    for over, under, bounds in pairs:
        try:
            middle, (low, high) = _medians(spec, frame, over, under)
        except (Undecided, AbsentRows):
            continue
        yield _pair(over, under), bounds, low, middle[0], high


def _pair(over: Side, under: Side) -> str:
    """Names of a ratio; what both have in common beside their labels is said once.

    Examples
    --------
    >>> (
    ...     _pair({"label": "wait for all", "panel": "AR"}, {"label": "ignore 1", "panel": "AR"}),
    ...     _pair("a, 1", "b, 1"),
    ... )
    ('wait for all / ignore 1, AR', 'a, 1 / b, 1')
    """
    other = _where(under)
    own = {key: value for key, value in _where(over).items() if key == "label" or other.get(key) != value}
    return f"{_name(own)} / {_name(under)}"


def _outcome(bounds: _Bounded, found: dict) -> str:
    low, high = found["low"], found["high"]
    if bounds.admits(low) and bounds.admits(high):
        return HOLDS
    return FAILS if bounds.excludes(low, high) else UNDECIDED


def _why(found: dict) -> str:
    return f"the interval of the median, {found['low']:.4g} to {found['high']:.4g}, does not decide"


@predicate("paired_ratio", PairedRatio)
def paired_ratio(spec: PairedRatio, frame: pd.DataFrame) -> Verdict:
    """Whether the median paired ratio lies within its bounds."""
    found = _ratios(spec, frame, spec.numerator, spec.denominator)
    outcome = _outcome(spec, found)
    return Verdict(outcome, found, spec.wanted, why=_why(found) if outcome == UNDECIDED else "")


@predicate("ordering", Ordering)
def ordering(spec: Ordering, frame: pd.DataFrame) -> Verdict:
    """Whether every median paired ratio then / first is above one."""
    measured: dict[str, dict | None] = {}
    why, outcomes = [], set()
    bounds = _Bounded(above=1)
    for first, then in spec.pairs:
        name = f"{_name(then)} / {_name(first)}"
        try:
            measured[name] = found = _ratios(spec, frame, then, first)
        except Undecided as reason:
            measured[name] = None
            outcomes.add(UNDECIDED)
            why.append(str(reason))
            continue
        outcomes.add(outcome := _outcome(bounds, found))
        if outcome == UNDECIDED:
            why.append(f"{name}: {_why(found)}")
    outcome = next(one for one in (FAILS, UNDECIDED, HOLDS) if one in outcomes)
    return Verdict(outcome, measured, spec.wanted, why="; ".join(dict.fromkeys(why)))


# Values: numbers in selected rows


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A number taken from the table.

    Parameters
    ----------
    where : mapping
        Column to value, or to a list of values: the rows.
    column : str
        Column.
    statistic : {"mean", "median", "max", "min"}, optional
        How several rows become one number.
    rows : int
        How many rows there must be, neither more nor fewer.
    """

    where: dict
    column: str
    statistic: Statistic | None = None
    rows: int = 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return _labels(self.where)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the table must have."""
        return (self.column, *map(str, self.where))

    def __post_init__(self):
        require(self.rows >= 1, f"rows wants at least 1, got {self.rows}")
        require(
            self.rows == 1 or self.statistic is not None,
            f"{self.rows} rows want a statistic ({', '.join(_STATISTICS)})",
        )


@dataclass(frozen=True, kw_only=True)
class Value(Selection):
    """A number is what it should be.

    Parameters
    ----------
    where, column, statistic, rows
        As in `Selection`.
    expected : float, bool or str
        Text is compared as text.
    tolerance : float
        Largest difference that still counts.
    """

    expected: float | bool | str
    tolerance: float = 0.0

    @property
    def wanted(self) -> object:
        """The expected value."""
        return self.expected

    def __post_init__(self):
        super().__post_init__()
        require(self.tolerance >= 0, f"tolerance wants at least 0, got {self.tolerance:g}")
        if isinstance(self.expected, str):
            plain = not self.tolerance and self.statistic is None
            require(plain, "text has no tolerance and no statistic")


@dataclass(frozen=True, kw_only=True)
class Within(Selection, _Bounded):
    """A number lies within bounds.

    Parameters
    ----------
    where, column, statistic, rows
        As in `Selection`.
    above, at_least, at_most, below : float, optional
        Bounds, at least one.
    """

    def __post_init__(self):
        Selection.__post_init__(self)
        _Bounded.__post_init__(self)


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Two numbers stand in a relation: ``left relation factor * right``.

    Parameters
    ----------
    left, right : Selection
        The numbers.
    relation : {"<", "<=", ">", ">="}
        Relation.
    factor : float
        What the right one is multiplied with.
    resolution : float
        To what the paper prints the two: sides that differ by less are a tie, which decides nothing.
    """

    left: Selection
    right: Selection
    relation: Literal["<", "<=", ">", ">="]
    factor: float = 1.0
    resolution: float = 0.0

    def __post_init__(self):
        require(self.resolution >= 0, f"resolution wants at least 0, got {self.resolution:g}")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return (*self.left.labels, *self.right.labels)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the table must have."""
        return (*self.left.columns, *self.right.columns)

    @property
    def wanted(self) -> str:
        """The relation in words."""
        return f"left {self.relation} {'' if self.factor == 1 else f'{self.factor:g} * '}right"


def _rows(frame: pd.DataFrame, where: dict) -> np.ndarray:
    """Which rows have the wanted values in their columns, boolean."""
    _columns(frame, *where)
    keep = np.ones(len(frame), dtype=bool)
    for column, wanted in where.items():
        one = np.zeros(len(frame), dtype=bool)
        for value in _listed(wanted):
            one |= _equal(frame[column], value)
        if not one.any():
            raise AbsentRows(unknown(f"{column} in the table", wanted, frame[column].drop_duplicates()))
        keep &= one
    return keep


def _selected(spec: Selection, frame: pd.DataFrame) -> pd.Series:
    """The cells of the column in the selected rows."""
    _columns(frame, spec.column)
    cells = frame[spec.column][_rows(frame, spec.where)]
    where = ", ".join(f"{column} = {value}" for column, value in spec.where.items()) or "the whole table"
    if cells.empty:
        raise UserError(f"no row has {where}")
    if len(cells) != spec.rows:
        raise Undecided(f"{len(cells)} rows have {where}, not {spec.rows}")
    return cells


def _number(spec: Selection, frame: pd.DataFrame) -> float:
    cells = _selected(spec, frame)
    numbers = cells if cells.dtype.kind in "iufb" else cells.map(as_number)
    if any(number is None for number in numbers):
        raise UserError(f"column {spec.column!r} holds text there, as {cells.iloc[0]!r}, not numbers")
    values = numbers.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise Undecided(f"{spec.column} is missing or not finite in {(~np.isfinite(values)).sum()} rows")
    return float(_STATISTICS[spec.statistic or "mean"](values))


@predicate("value", Value)
def value(spec: Value, frame: pd.DataFrame) -> Verdict:
    """Whether a number is the expected one, within the tolerance (ends included)."""
    if isinstance(spec.expected, str):
        measured = str(_selected(spec, frame).iloc[0])
        return Verdict(HOLDS if measured == spec.expected else FAILS, measured, spec.expected)
    measured, expected = _number(spec, frame), float(spec.expected)
    near = math.isfinite(expected) and abs(measured - expected) <= spec.tolerance + _ROUNDING * abs(expected)
    return Verdict(HOLDS if near else FAILS, measured, expected, spec.tolerance)


@predicate("within", Within)
def within(spec: Within, frame: pd.DataFrame) -> Verdict:
    """Whether a number lies within its bounds."""
    measured = _number(spec, frame)
    return Verdict(HOLDS if spec.admits(measured) else FAILS, measured, spec.wanted)


@predicate("compare", Compare)
def compare(spec: Compare, frame: pd.DataFrame) -> Verdict:
    """Whether two numbers stand in the relation."""
    left, right = _number(spec.left, frame), _number(spec.right, frame)
    if abs(left - spec.factor * right) < spec.resolution:
        said = f"{left:.6g} and {spec.factor * right:.6g} differ by less than {spec.resolution:g}: a tie"
        return Verdict(UNDECIDED, {"left": left, "right": right}, spec.wanted, why=said)
    holds = _RELATIONS[spec.relation](left, spec.factor * right)
    return Verdict(HOLDS if holds else FAILS, {"left": left, "right": right}, spec.wanted)


def rows_of(spec: Any) -> object:
    """The rows of an analysis that a predicate reads, and nothing else of it."""
    sides = (spec.left, spec.right) if isinstance(spec, Compare) else (spec,)
    return sorted(repr(side.where) if isinstance(side, Selection) else repr(side) for side in sides)


def as_number(cell: Any) -> float | None:
    """A cell as a number; text is one where `gcexp.schema.typed` reads a number or a fraction.

    Examples
    --------
    >>> as_number("3/8"), as_number("1e-3"), as_number("cyclic"), as_number(2)
    (0.375, 0.001, None, 2.0)
    """
    try:
        if not isinstance(cell, str):
            return float(cell)
        found = typed(cell.strip(), fractions=True)
        return None if isinstance(found, bool | str) else float(found)
    except (TypeError, ValueError, OverflowError):
        return None


def _equal(cells: pd.Series, value: object) -> np.ndarray:
    if cells.dtype.kind in "iuf" and not isinstance(value, bool):
        number = as_number(value)
        if number is not None:
            return np.isclose(cells.to_numpy(dtype=np.float64), number, rtol=_ROUNDING, atol=0)
    if cells.dtype.name != "str":
        cells = cells.astype(str)
    return np.asarray(cells.array == str(value), dtype=bool)


def _listed(value: object) -> tuple:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _where(side: Side) -> dict:
    return side if isinstance(side, dict) else {"label": side}


def _name(side: Side) -> str:
    return ", ".join(map(str, side.values())) if isinstance(side, dict) else side


def _labels(*sides: Side) -> tuple[str, ...]:
    return tuple(str(label) for side in sides for label in _listed(_where(side).get("label", ())))


def _columns(frame: pd.DataFrame, *columns: str) -> None:
    for column in columns:
        if column not in frame.columns:
            raise UserError(unknown("column", column, frame.columns))
