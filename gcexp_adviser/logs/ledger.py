"""A ledger of physical sense: what numbers that are called times of workers may be instead.

Each check takes plain arrays and answers one question. Times (R, N) are those of iterations and workers, NaN where a
worker has no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from gcexp_adviser.logs.names import listed

_ENOUGH = 10  # rows from which on a pattern is no chance
_TILED = 0.9  # share of the rows that begin where the one before ended
_NO_PAUSE = 1e-3  # pause between two rows, as a share of a usual row, up to which they tile the run
_TOO_LONG = 1.01  # how many times as long as the run all steps together may take
_GROWS = 0.9  # share of the steps in which a counter grows
_NEAR_START = 3.0  # usual increments up to which a counter that begins anew is
_EVEN = 2.5  # ratio up to which increments of the first and of the second half are alike
_KEEPS_PACE = 1.0  # variance of clocks about each other, relative to that of their increments
_ALONE = 0.95  # share of the steps with one worker, from which on nobody waits
_AS_MANY = 0.95  # share of the steps with the same number of workers
_OTHERS = 0.2  # share of the steps from which on the workers are others than in the step before
_JOINED = 5  # first steps without a row from which on a worker joined later
_IN_STEP = 0.95  # share of a worker's rows at its own cadence
_UNEQUAL = 1.05  # ratio of usual sizes from which on workers have unequal data
_SERVERS = ("server", "master", "coordinator", "aggregator", "parameter_server", "chief", "driver")


@dataclass(frozen=True)
class Counter:
    """Times that were counted on: the durations between them, and which rows have one.

    Attributes
    ----------
    durations : array (R', N)
    rows : array of int (R',)
        Their rows among those that were given.
    resets : int
        How often a counter began anew.
    """

    durations: np.ndarray
    rows: np.ndarray
    resets: int


def tiles_the_run(starts: np.ndarray, ends: np.ndarray, workers: np.ndarray) -> bool:
    """Whether rows (L,), in the order of each worker, begin where the one before ended, so that they hold the waiting.

    >>> ends = np.arange(1.0, 13.0)
    >>> tiles_the_run(ends - 1, ends, np.zeros(12, int)), tiles_the_run(ends - 0.8, ends, np.zeros(12, int))
    (True, False)
    """
    order = np.lexsort((starts, workers))
    same = np.diff(workers[order]) == 0
    pauses = (starts[order][1:] - ends[order][:-1])[same]
    if len(pauses) < _ENOUGH:
        return False
    usual = float(np.median(ends - starts))
    return bool((np.abs(pauses) <= _NO_PAUSE * usual).mean() >= _TILED)


def longer_than_the_run(
    starts: np.ndarray, ends: np.ndarray, iterations: np.ndarray
) -> tuple[float, float] | None:
    """The sum of the longest times of all iterations and the wall time, where the sum is longer; else None.

    >>> starts, ends = np.array([0.0, 0.0, 1.0, 1.0]), np.array([2.0, 1.0, 3.0, 2.0])
    >>> longer_than_the_run(starts, ends, np.array([0, 0, 1, 1]))
    (4.0, 3.0)
    """
    if len(np.unique(iterations)) < 2:
        return None
    _, codes = np.unique(iterations, return_inverse=True)
    longest = np.zeros(codes.max() + 1)
    np.maximum.at(longest, codes, ends - starts)
    total = float(longest.sum())
    wall = float(np.max(ends) - np.min(starts))
    return (total, wall) if total > _TOO_LONG * wall else None


def counter_of(times: np.ndarray) -> Counter | None:
    """The durations between times that grow in nine of ten steps of each worker, and fall to near one increment.

    None for times that are durations.

    >>> found = counter_of(np.cumsum(np.ones((12, 2)), axis=0))
    >>> found.durations.shape, counter_of(np.random.default_rng(0).random((12, 2)))
    ((11, 2), None)
    """
    if len(times) < _ENOUGH or times.shape[1] < 1:
        return None
    with np.errstate(invalid="ignore"):
        steps = np.diff(times, axis=0)
        falls = steps < 0
        grows = steps > 0
    known = ~np.isnan(steps)
    counts = known.sum(axis=0)
    if counts.min() < _ENOUGH - 1 or (grows.sum(axis=0) < _GROWS * counts - 1).any():
        return None
    increments = np.where(grows, steps, np.nan)
    usual = np.nanmedian(increments, axis=0)
    after = np.where(falls, times[1:], 0.0)
    if (after > _NEAR_START * usual).any():
        return None
    if not _are_sums(times, increments, falls):
        return None
    rows = np.flatnonzero(~falls.any(axis=1))
    return Counter(steps[rows], rows + 1, int(falls.any(axis=1).sum()))


def _are_sums(times: np.ndarray, increments: np.ndarray, falls: np.ndarray) -> bool:
    """Whether increments of most workers are alike throughout, and the times have grown to several of them."""
    votes = []
    for worker in range(times.shape[1]):
        own = increments[:, worker]
        seen = own[~np.isnan(own)]
        half = len(seen) // 2
        early, late = float(np.median(seen[:half])), float(np.median(seen[half:]))
        is_even = max(early, late) <= _EVEN * min(early, late)
        highest = float(np.nanmax(times[:, worker]))
        votes.append(is_even and highest >= _NEAR_START * float(np.nanmin(times[:, worker])) and highest > 0)
    return 2 * sum(votes) > len(votes)


def keeps_pace(counters: np.ndarray, durations: np.ndarray) -> bool:
    """Whether counters (R, N) of several workers stay together, as clocks of a run do in which all wait for all.

    Their deviations from each other then are those of one step, and do not add up: with e the deviation of a worker
    from the mean of all, without its own mean, var(e) <= var(e[t] - e[t-1]).

    >>> draw = np.random.default_rng(0).exponential(size=(60, 4))
    >>> sums, clocks = np.cumsum(draw, axis=0), draw + np.cumsum(4 * np.ones((60, 1)), axis=0)
    >>> keeps_pace(sums, np.diff(sums, axis=0)), keeps_pace(clocks, np.diff(clocks, axis=0))
    (False, True)
    """
    if counters.shape[1] < 2:
        return False
    apart = counters - np.nanmean(counters, axis=1, keepdims=True)
    apart = apart - np.nanmean(apart, axis=0)
    changes = durations - np.nanmean(durations, axis=1, keepdims=True)
    rounding = (1e-6 * np.nanmean(durations)) ** 2
    return bool(np.nanvar(apart) <= _KEEPS_PACE * np.nanvar(changes) + rounding)


def one_worker_each(there: np.ndarray) -> bool:
    """Whether nearly every step (R, N) has one worker, as where each step is the update of one.

    >>> one_worker_each(np.eye(3, dtype=bool)[np.arange(12) % 3])
    True
    """
    counts = there.sum(axis=1)
    if there.shape[1] < 2 or len(there) < _ENOUGH or (counts == 1).mean() < _ALONE:
        return False
    return bool(there.mean(axis=0).max() < _ALONE)  # else the others hardly take part


def as_many_but_others(there: np.ndarray) -> int:
    """How many workers have a row in each step (R, N), where these are as many each time and not the same; else 0.

    >>> rng = np.random.default_rng(0)
    >>> as_many_but_others(rng.random((40, 6)).argsort(axis=1) < 3)
    3
    """
    counts = there.sum(axis=1)
    usual = int(np.median(counts))
    if len(there) < _ENOUGH or usual >= there.shape[1] or (counts == usual).mean() < _AS_MANY:
        return 0
    changes = (there[1:] != there[:-1]).any(axis=1)
    return usual if changes.mean() >= _OTHERS else 0


def join_later(there: np.ndarray) -> dict[int, int]:
    """The first step of each worker that has no row before, and nearly all behind.

    >>> join_later(np.arange(30)[:, None] >= [0, 12])
    {1: 12}
    """
    found = {}
    for worker in range(there.shape[1]):
        first = int(there[:, worker].argmax())
        if first >= _JOINED and there[first:, worker].mean() >= _IN_STEP:
            found[worker] = first
    return found


def cadences(there: np.ndarray) -> np.ndarray:
    """Every how many steps (R, N) each worker has a row; 1 for each worker that has them at no cadence.

    >>> cadences(np.arange(30)[:, None] % [1, 5] == 0).tolist()
    [1, 5]
    """
    found = np.ones(there.shape[1], np.int64)
    for worker in range(there.shape[1]):
        rows = np.flatnonzero(there[:, worker])
        if len(rows) < 3:
            continue
        stride = gcd(*np.diff(rows).tolist())
        expected = (rows[-1] - rows[0]) // stride + 1
        if stride > 1 and len(rows) >= _IN_STEP * expected and rows[-1] + stride >= len(there):
            found[worker] = stride
    return found


def unequal_sizes(sizes: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """How long each worker (N,) takes for an example, relative to the middle one, where sizes (R, N) differ; else None.

    >>> unequal_sizes(np.tile([1.0, 2.0, 1.0], (9, 1)), np.tile([3.0, 6.0, 3.0], (9, 1)))
    array([1., 1., 1.])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = np.nanmedian(np.where(sizes > 0, sizes, np.nan), axis=0)
        if not np.isfinite(usual).all() or usual.max() < _UNEQUAL * usual.min():
            return None
        each = np.nanmedian(times / sizes, axis=0)
    return each / np.median(each)


def compute_in_doubt(times: np.ndarray, compute: np.ndarray) -> str:
    """What speaks against compute times that have the unit of the times (both (R, N)); empty for nothing.

    >>> compute_in_doubt(np.full((9, 2), 300.0), np.full((9, 2), 0.2))[:44]
    'compute is 0.00067 times as long as the time'
    """
    ratio = float(np.nanmedian(compute / times))
    if not np.isfinite(ratio):
        return ""
    if not 0.01 <= ratio <= 1.005:
        return (
            f"compute is {ratio:.2g} times as long as the time, as where it has another unit or is in percent"
        )
    if np.nanmax(compute) > 100 or np.nanmedian(compute) < 5:
        return ""
    as_time = _dependence(times - compute, compute)
    as_percent = _dependence(times * (1 - compute / 100), times * compute / 100)
    if abs(as_time) > 6 and abs(as_percent) < 2.5:
        return "compute is at most 100 and may be in percent of the time"
    return ""


def _dependence(rest: np.ndarray, compute: np.ndarray) -> float:
    """How many standard errors the slope of the rest over the compute time is away from 0, within iterations."""
    known = ~np.isnan(rest) & ~np.isnan(compute)
    x = compute - np.nanmean(compute, axis=1, keepdims=True)
    y = rest - np.nanmean(rest, axis=1, keepdims=True)
    x, y = x[known], y[known]
    if len(x) < 3 or not x.any():
        return 0.0
    slope = (x * y).sum() / (x * x).sum()
    error = np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 2) / (x * x).sum())
    return float(slope / error) if error > 0 else 0.0


def server_among(labels: Sequence[str]) -> str:
    """The label that is a server's, where one of several workers is called so; empty for none.

    >>> server_among(["w0", "w1", "Server"]), server_among(["server0", "server1"])
    ('Server', '')
    """
    found = [
        label for label in labels if label.strip().lower().replace("-", "_").rstrip("_0123456789") in _SERVERS
    ]
    return found[0] if len(found) == 1 and len(labels) > 2 else ""


def shift_of(times: Sequence[np.ndarray]) -> str:
    """Where lines may be lost in series of unequal length, in words: where a shift restores the likeness to the others.

    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=60)
    >>> series = [np.exp(common + 0.1 * rng.normal(size=60)) for _ in range(4)]
    >>> series[2] = np.delete(series[2], 20)
    >>> shift_of(series)
    'row 21 of the shorter one'
    """
    longest = max(map(len, times))
    whole = [np.log(one) for one in times if len(one) == longest]
    short = [np.log(one) for one in times if len(one) < longest]
    if len(whole) < 2 or not short or longest < 2 * _ENOUGH:
        return ""
    common = np.mean(whole, axis=0)
    own = min(short, key=len)
    lost = longest - len(own)
    best, at = -1.0, 0
    for place in range(len(own) + 1):
        moved = np.delete(common, np.arange(place, place + lost))
        likeness = float(np.corrcoef(moved, own)[0, 1])
        if likeness > best:
            best, at = likeness, place
    plain = float(np.corrcoef(common[: len(own)], own)[0, 1])
    if best < 0.5 or best - plain < 0.1:
        return ""
    return f"row {at + 1} of the shorter one"


def in_words(labels: Sequence[str], workers: Sequence[int]) -> str:
    """Workers by name, as a sentence goes on."""
    names = [labels[worker] for worker in workers]
    return f"worker {names[0]}" if len(names) == 1 else f"workers {listed(names)}"
