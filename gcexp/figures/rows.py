"""Rows of a table: those of a line, bar or panel, and what they say of seeds, means, medians and first passages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import UserError, require, require_known, unknown
from gcexp.words import joined

if TYPE_CHECKING:
    import pandas as pd

LEAST_SEEDS = 5  # below these a median has no interval
_ODDS = (
    32  # to one against, on each side of an interval: the range of five seeds covers 93.75 %, of four 87.5 %
)


def require_columns(frame: pd.DataFrame, *columns: str | None) -> None:
    """Raise unless the table has these columns, and a row."""
    for column in columns:
        if column is not None:
            require_known("column", column, frame.columns)
    require(not frame.empty, "the table has no rows; there is nothing to draw")


def choose_rows(frame: pd.DataFrame, where: Mapping[str, object]) -> pd.DataFrame:
    """Rows in which every column of `where` has the given value, or one of the given values; there must be some."""
    require_columns(frame, *where)
    for column, wanted in where.items():
        values = wanted if isinstance(wanted, list | tuple) else [wanted]
        keep = frame[column].isin(values)
        if not keep.any():
            raise UserError(f"where: {unknown(column, wanted, frame[column].drop_duplicates())}")
        frame = frame[keep]
    return frame


def numbers(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A column as float64, which must hold no text."""
    require_columns(frame, column)
    try:
        return frame[column].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"column {column!r} holds text, where a plot needs numbers") from None


def parts(frame: pd.DataFrame, column: str | None) -> Iterator[tuple[object, pd.DataFrame]]:
    """The values of a column in order of appearance, each with its rows; no column: everything."""
    if column is None:
        yield "", frame
    else:
        yield from frame.groupby(column, sort=False)


def parts_by_name(frame: pd.DataFrame, column: str | None) -> dict[str, pd.DataFrame]:
    """The rows of each value of a column by the value's text, in order of appearance; no column: all under no name."""
    return {str(value): part for value, part in parts(frame, column)}


def seeds(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each seed, everything in a table without seeds."""
    if "seed" not in frame.columns:
        return [frame]
    return [rows for _, rows in parts(frame, "seed")]


def names(frame: pd.DataFrame, column: str) -> list[str]:
    """The values of a column as text, in order of appearance."""
    return [str(value) for value in frame[column].drop_duplicates()]


def seed_sentence(frame: pd.DataFrame, by: str, middle: str, spread: str) -> str:
    """What is drawn over how many seeds, in a sentence; empty for a table without seeds.

    It tells the usual number, then those that have another one: 5 seeds (10 of cyclic and brc).
    """
    if "seed" not in frame.columns:
        return ""
    counts = frame.groupby(by, sort=False)["seed"].nunique()
    if set(counts) == {1}:
        return "One seed."
    usual = max(counts, key=list(counts).count)
    others = []
    for count, names_with_it in counts.groupby(counts, sort=False):
        if count != usual:
            others.append(f"{count} of {joined(names_with_it.index)}")
    seeds_in_words = "1 seed" if usual == 1 else f"{usual} seeds"
    exceptions = f" ({'; '.join(others)})" if others else ""
    return f"{middle} over {seeds_in_words}{exceptions}{spread}."


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds (first axis), and half the width of its 95 % interval by Student's t; NaN for a single seed."""
    from scipy.special import stdtrit  # slow to import

    n = len(values)
    mean = values.mean(0)
    if n < 2:
        return mean, np.full(values.shape[1:], np.nan)
    half = stdtrit(n - 1, 0.975) * values.std(0, ddof=1) / np.sqrt(n)
    return mean, half


def sign_interval(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Interval of a median from numbers that are known to lie between `low` and `high` (S,) each.

    It is the k-th smallest of `low` and the k-th largest of `high`, with the largest k for which P(Bin(S, 1/2) < k)
    <= 1/32; without end in both directions below five numbers.

    >>> five = np.array([1.2, 1.1, 1.4, 1.3, 1.25])
    >>> [float(end) for end in sign_interval(five, five)], sign_interval(five[:4], five[:4])
    ([1.1, 1.4], (-inf, inf))
    """
    k, _ = _order_of_ends(len(low))
    if k == 0:
        return -math.inf, math.inf
    return float(np.sort(low)[k - 1]), float(np.sort(high)[-k])


def _order_of_ends(seeds: int) -> tuple[int, int]:
    """The k of `sign_interval`, and how many of the 2^S signs of S seeds have fewer than k of one kind."""
    k = 0
    fewer = 0  # sum of C(S, j) for j < k
    while _ODDS * (fewer + math.comb(seeds, k)) <= 2**seeds:
        fewer += math.comb(seeds, k)
        k += 1
    return k, fewer


def coverage(seeds: int) -> float:
    """How often `sign_interval` of so many seeds holds the median of the law that they are drawn from, at least.

    It is 1 - 2 P(Bin(S, 1/2) < k). That of five seeds is their range, and covers less than 95 %.

    >>> coverage(5), coverage(10)
    (0.9375, 0.978515625)
    """
    _, fewer = _order_of_ends(seeds)
    return 1 - 2 * fewer / 2**seeds


def coverage_in_words(counts: Iterable[int]) -> str:
    """What intervals of medians over so many seeds cover; of counts that have none nothing is said.

    >>> coverage_in_words([5, 5]), coverage_in_words([10, 5, 3]), coverage_in_words([3])
    ('93.75 %', '93.75 to 97.85 %', '')
    """
    covered = [100 * coverage(count) for count in counts if count >= LEAST_SEEDS]
    if not covered:
        return ""
    texts = [f"{percent:.4g}" for percent in (min(covered), max(covered))]
    return f"{' to '.join(dict.fromkeys(texts))} %"


def paired_ratio(times: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    """Median over the seeds of times / reference (S,), seed by seed, and the ends of its interval by the sign test.

    An infinite time was not reached: its ratio is infinite, or 0 where the reference was not reached. Where neither
    was, the ratio may be any number, and the median is NaN if it depends on it.

    >>> two, one = np.array([2.0, 2.2, 2.4, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 1.0, 2.0])
    >>> paired_ratio(two, one)
    (2.0, 1.2, 2.2)
    >>> paired_ratio(np.array([2.0, np.inf, 6.0]), np.array([1.0, np.inf, 2.0]))
    (nan, -inf, inf)
    """
    with np.errstate(invalid="ignore"):
        ratios = times / reference
    unknown_ratio = np.isinf(times) & np.isinf(reference)
    low = np.where(unknown_ratio, 0.0, ratios)
    high = np.where(unknown_ratio, math.inf, ratios)
    median = float(np.median(low))
    if median != np.median(high):
        median = math.nan
    return median, *sign_interval(low, high)


def time_to(rows: pd.DataFrame, y: str, level: float, falling: bool = False) -> float:
    """First passage: simulated time of the first evaluated iteration with ``y >= level``; infinite if there is none.

    Of a score that falls, as a loss does, the first one with ``y <= level``.
    """
    rows = rows.sort_values("iteration", kind="stable")
    times = rows["simulated_time_s"].to_numpy()
    return first_reached(times, rows[y].to_numpy(), level, falling)


def first_reached(x: np.ndarray, y: np.ndarray, level: float, falling: bool) -> float:
    """The first x at which y is at a level or above it, or below it if y is falling; infinite if there is none."""
    reached = y <= level if falling else y >= level
    if not reached.any():
        return math.inf
    return float(x[reached.argmax()])
