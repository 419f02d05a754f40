"""What a paper says, as functions of its tables: each claim answers with a verdict.

A claim is a function in the paper's ``claims.py`` (or in a module of its package ``claims``). It takes the table of the
figure that it is about, or nothing, and it names the statements of ``statements.csv`` that it answers::

    @claim("fig4_order", figure="fig4", assumed=True)
    def the_cyclic_scheme_is_ahead(table):
        return before(table, "cyclic", ["CGC", "Forget"], level=0.9)

The helpers below hold the sign test, the intervals and the rule for "undecided". A claim may also return a verdict for
each statement, as a dictionary by the statement's id. A claim may yield its answers one by one: whether an instance
holds (`all_instances`), verdicts (`every`), or pairs of a statement's id and one of these.
"""

from __future__ import annotations

import importlib
import itertools
import math
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gcexp.errors import Defect, UserError, require, require_known, unknown
from gcexp.figures.rows import sign_interval
from gcexp.schema import typed

if TYPE_CHECKING:
    from types import ModuleType

    import pandas as pd

REPRODUCED = "reproduced"
CONSISTENT = "consistent"
PARTLY = "partly"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
NOT_TESTABLE = "not testable here"
OUTCOMES = (REPRODUCED, CONSISTENT, PARTLY, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE)
_ROUNDING = 5e-9  # a table keeps nine digits: equality cannot be asked for more closely
#: Sign of each bound, and whether all numbers from low to high keep it; ends that belong to it are met to nine digits.
_BOUNDS: dict[str, tuple[str, Callable[[float, float, float], bool]]] = {
    "above": (">", lambda low, high, limit: low > limit),
    "at_least": (">=", lambda low, high, limit: low >= limit - _ROUNDING * abs(limit)),
    "at_most": ("<=", lambda low, high, limit: high <= limit + _ROUNDING * abs(limit)),
    "below": ("<", lambda low, high, limit: high < limit),
}

Function = TypeVar("Function", bound=Callable)
Side = str | Mapping[str, Any]


class Undecided(Exception):
    """The table cannot answer; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """What a claim found: one of `OUTCOMES` but the last, and the numbers that decided it, in words.

    `reason` says why it is not simply reproduced, or what to know where it is; see `because`.
    """

    outcome: str
    found: str = ""
    reason: str = field(default="", repr=False)


@dataclass(frozen=True)
class Claim:
    """What stands at a claim function, as its attribute ``claim``."""

    statements: tuple[str, ...]  # ids of those that it answers
    figures: tuple[str, ...] = ()  # of the paper, whose tables the function takes in this order
    assumed: bool = False  # parameters were assumed by us, or restored from a damaged text
    post_hoc: str = ""  # what was chosen after the numbers had been seen, and when
    reason: str = ""  # why it is not reproduced, where known
    calibrated: str = ""  # which inputs were calibrated to its statements, or copied from its own numbers


def claim(
    *statements: str,
    figure: str | Sequence[str] = (),
    assumed: bool = False,
    post_hoc: str = "",
    reason: str = "",
    calibrated: str = "",
) -> Callable[[Function], Function]:
    """Declare a function as a claim about some statements of its paper; see `Claim`.

    A claim whose inputs were `calibrated` finds at best that a statement is consistent, never that it is reproduced.

    Examples
    --------
    >>> @claim("even_squares")
    ... def squares_of_even_numbers_are_even():
    ...     for n in range(0, 20, 2):
    ...         yield n * n % 2 == 0
    >>> judge(squares_of_even_numbers_are_even, {})
    {'even_squares': Verdict(outcome='reproduced', found='10 of 10 instances')}
    """
    figures = tuple(figure)
    if isinstance(figure, str):
        figures = (figure,)

    def declared(function: Function) -> Function:
        about = Claim(statements, figures, assumed, post_hoc, reason, calibrated)
        function.claim = about  # type: ignore[attr-defined]
        return function

    return declared


def claims_of(package: str) -> list[Callable]:
    """The claim functions of a paper's package, in the order of its modules; none where it has no ``claims``."""
    found = []
    for module in _modules_of_claims(package):
        for one in vars(module).values():
            is_claim = isinstance(getattr(one, "claim", None), Claim)
            if is_claim and one.__module__ == module.__name__:
                found.append(one)
    return found


def _modules_of_claims(package: str) -> list[ModuleType]:
    """``claims`` of a paper's package, and the modules in it by their names."""
    try:
        root = importlib.import_module(f"{package}.claims")
    except ModuleNotFoundError as error:
        if error.name != f"{package}.claims":
            raise
        return []
    parts = pkgutil.iter_modules(getattr(root, "__path__", ()))
    names = sorted(part.name for part in parts)
    return [root, *(importlib.import_module(f"{root.__name__}.{name}") for name in names)]


def judge(function: Callable, tables: Mapping[str, pd.DataFrame]) -> dict[str, Verdict]:
    """The verdict of a claim on each statement that it answers, from the tables of the figures that it names.

    A function that answers with something else, or on a statement that it does not name, is a defect.
    """
    about: Claim = function.claim  # type: ignore[attr-defined]
    try:
        found = function(*(tables[name] for name in about.figures))
        if isinstance(found, Iterator):
            found = _concluded(list(found))
    except Undecided as why:
        found = Verdict(UNDECIDED, str(why))
    if isinstance(found, dict):
        verdicts = found
    else:
        verdicts = dict.fromkeys(about.statements, found)
    answers_all = set(verdicts) == set(about.statements)
    if not answers_all or not all(isinstance(verdict, Verdict) for verdict in verdicts.values()):
        raise Defect(
            f"claim {function.__name__} must give a verdict for {', '.join(about.statements)}, got {found!r}"
        )
    if about.calibrated:
        return {name: consistent_at_best(verdict) for name, verdict in verdicts.items()}
    return verdicts


def _concluded(answers: list) -> Any:
    """One verdict of all that a claim yielded, or one for each statement where it yielded pairs."""
    if answers and isinstance(answers[0], tuple):
        by_statement: dict[str, list] = {}
        for name, answer in answers:
            by_statement.setdefault(name, []).append(answer)
        return {name: _concluded(found) for name, found in by_statement.items()}
    if any(isinstance(one, Verdict) for one in answers):
        return every(answers)
    return all_instances(answers)


def consistent_at_best(verdict: Verdict) -> Verdict:
    """A verdict from inputs that were calibrated: what would be reproduced is consistent.

    >>> consistent_at_best(Verdict(REPRODUCED)).outcome, consistent_at_best(Verdict(UNDECIDED)).outcome
    ('consistent', 'undecided')
    """
    if verdict.outcome == REPRODUCED:
        return replace(verdict, outcome=CONSISTENT)
    return verdict


def because(verdict: Verdict, reason: str) -> Verdict:
    """The same verdict with the reason for which it is not reproduced, or with what to know where it is.

    The numbers in the reason are filled in by the claim from its table, so that they cannot differ from it.

    Examples
    --------
    >>> error = 0.41
    >>> because(within(error, below=0.1), f"The error is {error:.2f} at n = 20.").reason
    'The error is 0.41 at n = 20.'
    """
    return replace(verdict, reason=reason)


# Verdicts from numbers


def number(
    table: pd.DataFrame,
    column: str,
    where: Mapping[str, Any] | None = None,
    statistic: str | None = None,
    rows: int | None = 1,
) -> float:
    """A number of a table: the cell of the one row that has the values of `where`, each a value or a list of them.

    Several rows become one number by a `statistic`: mean, median, max or min. There must be as many as `rows` says,
    neither more nor fewer, and any number where it is None. Another number of rows, or a cell that is empty or not
    finite, leaves the claim undecided; a column or value that the table does not have, or text, is a mistake.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"scheme": ["a", "b", "b"], "load": [1, 2, 4]})
    >>> number(table, "load", {"scheme": "a"}), number(table, "load", {"scheme": "b"}, "max", rows=2)
    (1.0, 4.0)
    """
    where = where or {}
    keep = _chosen(table, where, column)
    cells = table[column][keep]
    if rows is not None and len(cells) != rows:
        raise Undecided(f"{len(cells)} rows have {_said(where)}, not {rows}")
    require(len(cells) == 1 or statistic is not None, f"{len(cells)} rows want a statistic")
    numbers = cells
    if cells.dtype.kind not in "iufb":
        numbers = cells.map(as_number)
        if any(one is None for one in numbers):
            raise UserError(f"column {column!r} holds text there, as {cells.iloc[0]!r}, not numbers")
    values = numbers.to_numpy(dtype=np.float64)
    missing = ~np.isfinite(values)
    if missing.any():
        raise Undecided(f"{column} is missing or not finite in {missing.sum()} rows")
    reduce = getattr(np, statistic or "mean")
    return float(reduce(values))


def text(table: pd.DataFrame, column: str, where: Mapping[str, Any]) -> str:
    """The cell of the one row that has some values, as text."""
    keep = _chosen(table, where, column)
    cells = table[column][keep]
    if len(cells) != 1:
        raise Undecided(f"{len(cells)} rows have {_said(where)}, not 1")
    return str(cells.iloc[0])


def selected(table: pd.DataFrame, where: Mapping[str, Any], *columns: str) -> pd.DataFrame:
    """Rows whose columns have the wanted values, at least one; a list of values admits each of them."""
    return table[_chosen(table, where, *columns)]


def _chosen(table: pd.DataFrame, where: Mapping[str, Any], *columns: str) -> np.ndarray:
    """Which rows `selected` takes; a table also has the other columns."""
    for column in (*where, *columns):
        if column not in table.columns:
            raise UserError(unknown("column", column, table.columns))
    keep = np.ones(len(table), dtype=bool)
    for column, wanted in where.items():
        has_it = np.zeros(len(table), dtype=bool)
        for value in _listed(wanted):
            has_it |= _equal(table[column], value)
        if not has_it.any():
            raise UserError(unknown(f"{column} in the table", wanted, table[column].drop_duplicates()))
        keep &= has_it
    if not keep.any():
        raise UserError(f"no row has {_said(where)}")
    return keep


def equals(found: float | str, expected: float | str, tolerance: float = 0.0) -> Verdict:
    """Whether a number is the expected one, within the tolerance (ends included); text is compared as text.

    Examples
    --------
    >>> equals(0.2501, 0.25, tolerance=1e-3).outcome, equals("cyclic", "naive").outcome
    ('reproduced', 'not reproduced')
    """
    if isinstance(expected, str) or isinstance(found, str):
        return _verdict(found == expected, f"{found}, expected {expected}")
    near = math.isfinite(expected) and abs(found - expected) <= tolerance + _ROUNDING * abs(expected)
    said = f"{found:.6g}, expected {expected:.6g}"
    if tolerance:
        said += f" ± {tolerance:g}"
    return _verdict(near, said)


def _admit(bounds: Mapping[str, float], low: float, high: float) -> bool:
    """Whether all numbers between two lie within bounds."""
    require(bool(bounds), f"no bound is given ({', '.join(_BOUNDS)})")
    for name in bounds:
        require_known("bound", name, _BOUNDS)
    for name, limit in bounds.items():
        _, keeps = _BOUNDS[name]
        if not keeps(low, high, limit):
            return False
    return True


def _bounds_said(bounds: Mapping[str, float]) -> str:
    """Bounds in signs, such as ``> 0 and <= 1``."""
    words = []
    for name, (sign, _) in _BOUNDS.items():
        if name in bounds:
            words.append(f"{sign} {bounds[name]:g}")
    return " and ".join(words)


def within(found: float, **bounds: float) -> Verdict:
    """Whether a number lies within bounds: ``above``, ``at_least``, ``at_most``, ``below``.

    Examples
    --------
    >>> within(0.3, above=0).outcome, within(0.3, at_least=0.1, below=0.3).outcome
    ('reproduced', 'not reproduced')
    """
    return _verdict(_admit(bounds, found, found), f"{found:.6g}, wanted {_bounds_said(bounds)}")


def less(left: float, right: float, *, or_equal: bool = False, resolution: float = 0.0) -> Verdict:
    """Whether one number is below another; sides that differ by less than `resolution` are a tie.

    Parameters
    ----------
    left, right : float
    or_equal : bool
        Equal numbers will do.
    resolution : float
        To how much the paper prints the two.

    Examples
    --------
    >>> less(1, 2).outcome, less(2, 1).outcome, less(1.2, 1.201, resolution=0.01).outcome
    ('reproduced', 'not reproduced', 'undecided')
    """
    if abs(left - right) < resolution:
        return Verdict(UNDECIDED, f"{left:.6g} and {right:.6g} differ by less than {resolution:g}")
    holds = left <= right if or_equal else left < right
    return _verdict(holds, f"{left:.6g} against {right:.6g}")


def below(
    table: pd.DataFrame,
    column: str,
    first: Any,
    then: Any,
    where: Mapping[str, Any] | None = None,
    *,
    by: str = "label",
    statistic: str | None = None,
    rows: int | None = 1,
    **compared: Any,
) -> Verdict:
    """Whether the number of each side of `first` is below that of each side of `then`.

    Parameters
    ----------
    table : DataFrame
    column : str
        Where the numbers stand.
    first, then : value or list of values
        Of the column `by`.
    where, statistic, rows
        Which rows else, and how several of them become one number: as for `number`.
    **compared
        ``or_equal`` and ``resolution`` of `less`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"label": ["a", "b", "c"], "load": [1, 2, 4]})
    >>> below(table, "load", "a", ["b", "c"])
    Verdict(outcome='reproduced', found='1 against 2; 1 against 4')
    """

    def numbers(sides: Any) -> list[float]:
        found = []
        for side in _listed(sides):
            of_side = {**(where or {}), by: side}
            found.append(number(table, column, of_side, statistic, rows))
        return found

    pairs = itertools.product(numbers(first), numbers(then))
    return every(less(left, right, **compared) for left, right in pairs)


def all_instances(holds: Iterable[Any]) -> Verdict:
    """Whether a statement holds in every instance that is tried.

    Raises
    ------
    Defect
        Without instances, which would make any statement true.

    Examples
    --------
    >>> all_instances(n < 3 for n in range(4))
    Verdict(outcome='not reproduced', found='3 of 4 instances')
    """
    tried = [bool(one) for one in holds]
    if not tried:
        raise Defect("there is no instance to try")
    return _verdict(all(tried), f"{sum(tried)} of {len(tried)} instances")


def every(*verdicts: Verdict | Iterable[Verdict]) -> Verdict:
    """Several verdicts as one: reproduced if all are, not reproduced if one is not, else undecided.

    Examples
    --------
    >>> every(within(1, above=0), within(1, above=2)).outcome
    'not reproduced'
    >>> every(within(value, above=0) for value in (1, 2)).outcome
    'reproduced'
    """
    each: list[Verdict] = []
    for given in verdicts:
        if isinstance(given, Verdict):
            each.append(given)
        else:
            each += given
    outcomes = {verdict.outcome for verdict in each}
    outcome = next(one for one in (NOT_REPRODUCED, UNDECIDED, REPRODUCED) if one in outcomes)
    found = _each_once(verdict.found for verdict in each)
    reasons = _each_once(verdict.reason for verdict in each)
    return Verdict(outcome, "; ".join(found), " ".join(reasons))


def _each_once(texts: Iterable[str]) -> list[str]:
    """The texts that say something, each where it first occurs."""
    return list(dict.fromkeys(text for text in texts if text))


# Verdicts from paired comparisons: ratios between two sides, seed by seed


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

    def measured(side: Side) -> dict[int, _Between]:
        rows = selected(table, _where(side), "seed", y)
        if level is None:
            return _values(rows, y, _name(side))
        return _passages(rows, y, level, falling, clock, _name(side))

    of_numerator = measured(numerator)
    of_denominator = measured(denominator)
    over = _name(numerator)
    under = _name(denominator)
    shared = sorted(of_numerator.keys() & of_denominator.keys())
    if len(shared) < seeds:
        raise Undecided(f"{over} and {under} share {len(shared)} seeds, fewer than {seeds}")
    top = _Between.of([of_numerator[seed] for seed in shared])
    bottom = _Between.of([of_denominator[seed] for seed in shared])
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
    found = f"{pair}: {middle} ({low:.4g} to {high:.4g}), wanted {_bounds_said(bounds)}"
    if _admit(bounds, low, high):
        return Verdict(REPRODUCED, found)
    # With the ends exchanged: whether some number between them lies within the bounds.
    if _admit(bounds, high, low):
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
    for one, other in itertools.product(_listed(first), _listed(then)):
        try:
            verdicts.append(ratio_within(table, other, one, above=1, **compared))
        except Undecided as why:
            verdicts.append(Verdict(UNDECIDED, str(why)))
    return every(verdicts)


@dataclass(frozen=True)
class _Between:
    """A number of which two ends are known, equal where it is known itself; or one for each seed, as arrays."""

    low: Any
    high: Any

    @classmethod
    def of(cls, numbers: Sequence[_Between]) -> _Between:
        """Several numbers as arrays."""
        return cls(np.array([one.low for one in numbers]), np.array([one.high for one in numbers]))


def _passages(
    rows: pd.DataFrame, y: str, level: float, falling: bool, clock: str, name: str
) -> dict[int, _Between]:
    """For each seed, between which times the level is first reached."""
    found = {}
    for seed, curve in rows.sort_values("iteration", kind="stable").groupby("seed"):
        at = curve["iteration"].to_numpy()
        time = curve[clock].to_numpy()
        score = curve[y].to_numpy()
        if not (np.isfinite(time).all() and np.isfinite(score.astype(np.float64)).all()):
            raise Undecided(f"a score or a time of {name} is missing or not finite")
        # Scores are taken at one distance, but for the last iteration, which may come earlier.
        steps = np.diff(at)
        uneven = len(steps) > 1 and (np.ptp(steps[:-1]) or steps[-1] > steps[0])
        if at[0] or uneven:
            raise Undecided(f"a curve of {name} has a hole")
        reached = score <= level if falling else score >= level
        if reached.any():
            first = float(time[reached.argmax()])
            found[int(seed)] = _Between(first, first)
        else:
            last = float(time[-1])
            found[int(seed)] = _Between(last, math.inf)
    return found


def _values(rows: pd.DataFrame, y: str, name: str) -> dict[int, _Between]:
    """For each seed the number in its one row."""
    if rows["seed"].duplicated().any():
        raise UserError(f"several rows of {name} have one seed; without a level each seed must have one row")
    values = rows[y].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise Undecided(f"{y} of {name} is missing or not finite")
    found = {}
    for seed, value in zip(rows["seed"], values, strict=True):
        found[int(seed)] = _Between(float(value), float(value))
    return found


# Cells and names


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
        value = typed(cell.strip(), fractions=True)
        if isinstance(value, bool | str):
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _verdict(holds: Any, found: str) -> Verdict:
    if holds:
        return Verdict(REPRODUCED, found)
    return Verdict(NOT_REPRODUCED, found)


def _equal(cells: pd.Series, value: object) -> np.ndarray:
    if cells.dtype.kind in "iuf" and not isinstance(value, bool):
        wanted = as_number(value)
        if wanted is not None:
            return np.isclose(cells.to_numpy(dtype=np.float64), wanted, rtol=_ROUNDING, atol=0)
    if cells.dtype.name != "str":
        cells = cells.astype(str)
    return np.asarray(cells.array == str(value), dtype=bool)


def _listed(value: Any) -> tuple:
    if isinstance(value, list | tuple):
        return tuple(value)
    return (value,)


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


def _said(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{column} = {value}" for column, value in where.items()) or "the whole table"
