"""Whether a paper's statements about a figure hold in the figure's table.

A claim is a mapping with ``id, source, statement, inputs``, perhaps a ``reason``, and exactly one predicate. A new
predicate is one frozen dataclass, whose fields are the keys that may be written, and one function
``(spec, frame) -> Verdict`` under `predicate`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gcexp.errors import UserError, require, unknown
from gcexp.schema import fill, is_number

if TYPE_CHECKING:
    import pandas as pd

INPUTS = ("paper", "assumed", "calibrated")
_COMMON = ("id", "source", "statement", "inputs")
_ROUNDING = 5e-9  # a table keeps nine digits: equality cannot be asked for more closely

Statistic = Literal["mean", "median", "max", "min"]
_STATISTICS = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}


@dataclass(frozen=True)
class Verdict:
    """What a predicate found.

    Attributes
    ----------
    holds : bool
        Whether the statement holds.
    measured, expected, tolerance : object
        For the scorecard.
    undecided : str
        Why the table cannot answer at all; such a claim is not reproduced, whatever reason is known for a failure.
    """

    holds: bool
    measured: object
    expected: object
    tolerance: object = None
    undecided: str = ""


_PREDICATES: dict[str, tuple[type, Callable]] = {}


def predicate(name: str, spec: type) -> Callable:
    """Register a function as the predicate `name`, written with the fields of `spec`."""

    def register(function: Callable) -> Callable:
        _PREDICATES[name] = (spec, function)
        return function

    return register


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
    def expected(self) -> str:
        """The bounds in words."""
        return ", ".join(f"{sign} {limit:g}" for sign, limit in self.bounds)

    def admits(self, number: float) -> bool:
        """Whether a number lies within the bounds; an end that belongs to them, within the table's nine digits."""
        slack = {">=": _ROUNDING, "<=": -_ROUNDING}
        return all(
            _RELATIONS[sign](number, limit - slack.get(sign, 0) * abs(limit)) for sign, limit in self.bounds
        )

    def __post_init__(self):
        require(bool(self.bounds), "no bound is given (allowed: above, at_least, at_most, below)")
        require(
            not (self.above is not None and self.at_least is not None)
            and not (self.at_most is not None and self.below is not None),
            "give one lower bound (above or at_least) and one upper bound (at_most or below)",
        )


# Paired comparisons: ratios between two labels, seed by seed


@dataclass(frozen=True, kw_only=True)
class _Paired:
    of: Literal["time_to", "value"] = "time_to"
    y: str = "test_accuracy"
    level: float | None = None
    falling: bool = False
    seeds: int = 1

    def __post_init__(self):
        fits = (self.level is None) == (self.of == "value")
        require(fits, "level is given with `of: time_to`, and only with it")
        require(not self.falling or self.of == "time_to", "falling is given with `of: time_to` only")
        require(self.seeds >= 1, f"seeds wants at least 1, got {self.seeds}")


@dataclass(frozen=True, kw_only=True)
class PairedRatio(_Paired, _Bounded):
    """Median over the shared seeds of numerator / denominator lies within the bounds.

    Parameters
    ----------
    of : {"time_to", "value"}
        Simulated time at the first evaluated iteration with ``y >= level``, or `y` in the seed's last row.
    y : str
        Column.
    level : float
        For ``time_to``.
    falling : bool
        The score is a loss: ``time_to`` is the first ``y <= level``.
    seeds : int
        Fewest shared seeds.
    numerator, denominator : str
        Labels.
    above, at_least, at_most, below : float, optional
        Bounds, at least one.
    """

    numerator: str
    denominator: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return self.numerator, self.denominator

    def __post_init__(self):
        _Paired.__post_init__(self)
        _Bounded.__post_init__(self)
        require(self.numerator != self.denominator, f"numerator and denominator are both {self.numerator!r}")


@dataclass(frozen=True, kw_only=True)
class Ordering(_Paired):
    """Every label of `first` comes before every label of `then`: median paired ratio then / first > 1.

    Parameters
    ----------
    of, y, level, falling, seeds
        As in `PairedRatio`.
    first, then : str or list of str
        Labels.
    """

    first: str | tuple[str, ...]
    then: str | tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(first, then) for every pair."""
        return list(itertools.product(_listed(self.first), _listed(self.then)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return (*_listed(self.first), *_listed(self.then))

    def __post_init__(self):
        super().__post_init__()
        require(bool(self.pairs), "first and then want at least one label each")
        both = set(_listed(self.first)) & set(_listed(self.then))
        require(not both, f"a label stands in both first and then: {', '.join(sorted(both))}")


_RELATIONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def time_to(rows: pd.DataFrame, y: str, level: float, falling: bool = False) -> float:
    """Simulated time of the first evaluated iteration with ``y >= level``; infinite if there is none.

    Of a score that falls, as a loss does, the first one with ``y <= level``.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"iteration": [0, 1, 2], "simulated_time_s": [0, 0.5, 1], "a": [0.1, 0.8, 0.9]})
    >>> float(time_to(rows, "a", 0.8)), time_to(rows, "a", 0.95)
    (0.5, inf)
    >>> float(time_to(rows.assign(a=1 - rows["a"]), "a", 0.15, falling=True))
    1.0
    """
    rows = rows.sort_values("iteration", kind="stable")
    score = rows[y].to_numpy()
    reached = score <= level if falling else score >= level
    return rows["simulated_time_s"].to_numpy()[reached.argmax()] if reached.any() else math.inf


def _last(rows: pd.DataFrame, y: str, level: None, falling: bool) -> float:
    if "iteration" in rows.columns:
        rows = rows.sort_values("iteration", kind="stable")
    elif len(rows) > 1:
        raise UserError(f"{len(rows)} rows of one label and seed; `of: value` wants one")
    return float(rows[y].iloc[-1])


_MEASURES = {
    "time_to": (time_to, ("label", "seed", "iteration", "simulated_time_s")),
    "value": (_last, ("label", "seed")),
}


def _ratio(spec: _Paired, frame: pd.DataFrame, numerator: str, denominator: str) -> tuple[float, str]:
    """Median paired ratio, and why it is undecided."""
    measure, needs = _MEASURES[spec.of]
    _known(frame, *needs, spec.y)
    _in_table(frame, numerator, denominator)
    above, under = (
        {seed: measure(rows, spec.y, spec.level, spec.falling) for seed, rows in part.groupby("seed")}
        for part in (frame[frame["label"] == numerator], frame[frame["label"] == denominator])
    )
    shared = sorted(above.keys() & under.keys())
    if len(shared) < spec.seeds:
        return math.nan, f"{numerator} and {denominator} share {len(shared)} seeds, fewer than {spec.seeds}"
    top, bottom = (np.array([found[seed] for seed in shared], dtype=np.float64) for found in (above, under))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = top / bottom
    count = f"in {np.isnan(ratios).sum()} of {len(shared)} seeds"
    if spec.of == "time_to" and (np.isinf(top) & np.isinf(bottom)).any():
        return math.nan, f"{count} neither {numerator} nor {denominator} reaches {spec.y} {spec.level:g}"
    if np.isnan(ratios).any():  # 0 / 0, or a missing number
        return math.nan, f"{count} {spec.of} of {numerator} and {denominator} has no ratio"
    return float(np.median(ratios)), ""


@predicate("paired_ratio", PairedRatio)
def paired_ratio(spec: PairedRatio, frame: pd.DataFrame) -> Verdict:
    """Whether the median paired ratio lies within its bounds."""
    ratio, undecided = _ratio(spec, frame, spec.numerator, spec.denominator)
    holds = not undecided and spec.admits(ratio)
    return Verdict(holds, None if undecided else ratio, spec.expected, undecided=undecided)


@predicate("ordering", Ordering)
def ordering(spec: Ordering, frame: pd.DataFrame) -> Verdict:
    """Whether every median paired ratio then / first is above one."""
    found = {f"{then} / {first}": _ratio(spec, frame, then, first) for first, then in spec.pairs}
    measured = {pair: None if undecided else ratio for pair, (ratio, undecided) in found.items()}
    undecided = "; ".join(dict.fromkeys(why for _, why in found.values() if why))
    holds = not undecided and all(ratio > 1 for ratio in measured.values())
    return Verdict(holds, measured, "> 1", undecided=undecided)


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
        How several rows become one number; without it there must be exactly one row.
    """

    where: dict
    column: str
    statistic: Statistic | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        given = self.where.get("label", ())
        return tuple(str(label) for label in _listed(given))


@dataclass(frozen=True, kw_only=True)
class Value(Selection):
    """A number is what it should be.

    Parameters
    ----------
    where, column, statistic
        As in `Selection`.
    expected : float, bool or str
        Text is compared as text.
    tolerance : float
        Largest difference that still counts.
    relative : bool
        Whether the tolerance is a fraction of `expected`.
    sd : float
        Standard deviation of one row, such as a seed: the mean of S rows may be 3 sd / sqrt(S) further away.
    """

    expected: float | bool | str
    tolerance: float = 0.0
    relative: bool = False
    sd: float = 0.0

    def __post_init__(self):
        for name in ("tolerance", "sd"):
            require(getattr(self, name) >= 0, f"{name} wants at least 0, got {getattr(self, name):g}")
        require(not self.relative or self.expected != 0, "a relative tolerance around 0 admits nothing but 0")
        require(not self.sd or not self.relative, "sd is added to a tolerance that is not relative")
        require(not self.sd or self.statistic == "mean", "sd is given with `statistic: mean` only")
        if isinstance(self.expected, str):
            plain = not self.tolerance and not self.sd and self.statistic is None
            require(plain, "text has no tolerance and no statistic")


@dataclass(frozen=True, kw_only=True)
class Within(Selection, _Bounded):
    """A number lies within bounds.

    Parameters
    ----------
    where, column, statistic
        As in `Selection`.
    above, at_least, at_most, below : float, optional
        Bounds, at least one.
    """


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
    """

    left: Selection
    right: Selection
    relation: Literal["<", "<=", ">", ">="]
    factor: float = 1.0

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must exist."""
        return (*self.left.labels, *self.right.labels)


def _selected(spec: Selection, frame: pd.DataFrame) -> pd.Series:
    """The cells of the column in the selected rows."""
    _known(frame, spec.column, *spec.where)
    keep = np.ones(len(frame), dtype=bool)
    for column, wanted in spec.where.items():
        one = np.zeros(len(frame), dtype=bool)
        for value in _listed(wanted):
            one |= _equal(frame[column], value)
        if not one.any():
            raise UserError(unknown(f"{column} in the table", wanted, frame[column].drop_duplicates()))
        keep &= one
    cells = frame.loc[keep, spec.column]
    where = ", ".join(f"{column} = {value}" for column, value in spec.where.items()) or "the whole table"
    if cells.empty:
        raise UserError(f"no row has {where}")
    if len(cells) > 1 and spec.statistic is None:
        raise UserError(f"{len(cells)} rows have {where}; say which statistic ({', '.join(_STATISTICS)})")
    return cells


def _number(spec: Selection, frame: pd.DataFrame) -> float:
    cells = _selected(spec, frame)
    try:
        values = cells.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"column {spec.column!r} holds text there, as {cells.iloc[0]!r}, not numbers"
        ) from None
    # A missing cell makes the statistic missing, and then nothing holds.
    return float(_STATISTICS[spec.statistic or "mean"](values))


def _equal(cells: pd.Series, value: object) -> np.ndarray:
    if is_number(value) and cells.dtype.kind in "iuf":
        return np.isclose(cells.to_numpy(dtype=np.float64), value, rtol=_ROUNDING, atol=0)
    return (cells.astype(str) == str(value)).to_numpy(dtype=bool)


@predicate("value", Value)
def value(spec: Value, frame: pd.DataFrame) -> Verdict:
    """Whether a number is the expected one, within the tolerance (ends included)."""
    if isinstance(spec.expected, str):
        measured = str(_selected(spec, frame).iloc[0])
        return Verdict(measured == spec.expected, measured, spec.expected)
    measured, expected = _number(spec, frame), float(spec.expected)
    tolerance = spec.tolerance + 3 * spec.sd / math.sqrt(len(_selected(spec, frame)))
    allowed = tolerance * (abs(expected) if spec.relative else 1)
    near = math.isfinite(expected) and abs(measured - expected) <= allowed + _ROUNDING * abs(expected)
    holds = measured == expected or near
    tolerance = f"{100 * tolerance:g} %" if spec.relative else tolerance
    return Verdict(bool(holds), measured, expected, tolerance)


@predicate("within", Within)
def within(spec: Within, frame: pd.DataFrame) -> Verdict:
    """Whether a number lies within its bounds."""
    measured = _number(spec, frame)
    return Verdict(spec.admits(measured), measured, spec.expected)


@predicate("compare", Compare)
def compare(spec: Compare, frame: pd.DataFrame) -> Verdict:
    """Whether two numbers stand in the relation."""
    left, right = _number(spec.left, frame), _number(spec.right, frame)
    expected = f"left {spec.relation} {'' if spec.factor == 1 else f'{spec.factor:g} * '}right"
    holds = _RELATIONS[spec.relation](left, spec.factor * right)
    return Verdict(holds, {"left": left, "right": right}, expected)


# Claims


def validate(claims: list[dict], labels: Iterable[str] | None = None, where: str = "claims") -> None:
    """Check what is written, before any job runs.

    Parameters
    ----------
    claims : list of dict
        From a figure file.
    labels : iterable of str, optional
        The figure's labels; None where only the table will tell.
    where : str
        Where the claims were written, for the sentence.

    Raises
    ------
    UserError
        For the first mistake, with the claim and the key.

    Examples
    --------
    >>> claim = {"id": "load", "source": "Table 1", "statement": "the load is 4", "inputs": "paper"}
    >>> validate([claim | {"value": {"where": {"n": 12}, "column": "load", "expected": 4}}])
    >>> validate([claim | {"valeu": {}}])
    Traceback (most recent call last):
    gcexp.errors.UserError: claims: 'load': unknown predicate 'valeu'; did you mean 'value'? (allowed: ...)
    """
    _parsed(claims, None if labels is None else [str(label) for label in labels], where)


def check(claims: list[dict], frame: pd.DataFrame, paper: str, target: str) -> list[dict]:
    """Hold a table against the claims.

    Parameters
    ----------
    claims : list of dict
        From a figure file.
    frame : DataFrame
        The figure's table.
    paper, target : str
        For the entries.

    Returns
    -------
    list of dict
        One entry of the scorecard per claim, in their order, fit for JSON.
    """
    entries = []
    for claim, name, spec in _parsed(claims, None, "claims"):
        try:
            verdict = _PREDICATES[name][1](spec, frame)
        except UserError as error:
            raise UserError(f"claims: {claim['id']!r}: {error}") from None
        measured, expected, tolerance = map(_plain, (verdict.measured, verdict.expected, verdict.tolerance))
        if verdict.holds:
            reason = ""
        elif verdict.undecided:
            reason = f"undecided: {verdict.undecided}"
        else:
            found = f"measured {show(measured)}, expected {_wanted(expected, tolerance)}"
            reason = claim.get("reason") or found
        entries.append(
            {
                "paper": paper,
                "target": target,
                "id": claim["id"],
                "source": claim["source"],
                "statement": claim["statement"],
                "outcome": "reproduced" if verdict.holds else "not reproduced",
                "inputs": claim["inputs"],
                "measured": measured,
                "expected": expected,
                "tolerance": tolerance,
                "reason": reason,
            }
        )
    return entries


def show(value: object) -> str:
    """A measured or expected value in words.

    Examples
    --------
    >>> show(1.23456789), show({"a / b": 1.5, "a / c": "inf"}), show(None)
    ('1.23457', 'a / b: 1.5, a / c: inf', '–')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {show(part)}" for name, part in value.items())
    if value is None:
        return "–"
    return f"{value:.6g}" if is_number(value) else str(value)


def _wanted(expected: object, tolerance: object) -> str:
    return show(expected) + (f" ± {show(tolerance)}" if tolerance else "")


def _parsed(claims: list[dict], labels: list[str] | None, where: str) -> list[tuple[dict, str, object]]:
    """Each claim with the name of its predicate and the filled dataclass."""
    if not isinstance(claims, list | tuple):
        raise UserError(f"{where}: wants a list of claims, got {claims!r}")
    seen, found = set(), []
    for number, claim in enumerate(claims, 1):
        place = f"{where}: number {number}"
        if not isinstance(claim, Mapping):
            raise UserError(f"{place}: wants keys and values, got {claim!r}")
        if isinstance(claim.get("id"), str):
            place = f"{where}: {claim['id']!r}"
        for name in _COMMON:
            if not isinstance(claim.get(name), str) or not claim[name].strip():
                raise UserError(f"{place}: {name!r} is missing or no text")
        if not isinstance(claim.get("reason", ""), str):
            raise UserError(f"{place}: reason wants text, got {claim['reason']!r}")
        if claim["inputs"] not in INPUTS:
            raise UserError(f"{place}: {unknown('inputs', claim['inputs'], INPUTS)}")
        if claim["id"] in seen:
            raise UserError(f"{place}: stands twice; an id is unique in its figure")
        seen.add(claim["id"])
        names = [name for name in claim if name not in (*_COMMON, "reason")]
        for name in names:
            if name not in _PREDICATES:
                raise UserError(f"{place}: {unknown('predicate', name, _PREDICATES)}")
        if len(names) != 1:
            given = ", ".join(names) or "none"
            raise UserError(f"{place}: wants exactly one of {', '.join(_PREDICATES)}, got {given}")
        spec = fill(_PREDICATES[names[0]][0], claim[names[0]], f"{place}: {names[0]}")
        for label in getattr(spec, "labels", ()):
            if labels is not None and label not in labels:
                raise UserError(f"{place}: {names[0]}: {unknown('label', label, labels)}")
        found.append((claim, names[0], spec))
    return found


def _plain(value: object) -> object:
    """Fit for JSON, which knows no infinity: nine digits, or the word."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def _listed(value: object) -> tuple:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _known(frame: pd.DataFrame, *columns: str) -> None:
    for column in columns:
        if column not in frame.columns:
            raise UserError(unknown("column", column, frame.columns))


def _in_table(frame: pd.DataFrame, *labels: str) -> None:
    there = frame["label"].drop_duplicates()
    for label in labels:
        if label not in set(there):
            raise UserError(unknown("label", label, there))
