"""A ledger of physical sense: what a record that was read may be instead, check by check in their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.counters import refuse_ends_that_keep_pace, with_durations
from gcexp_adviser.logs.lost_lines import refuse_unaligned
from gcexp_adviser.logs.names import SECONDS, typed
from gcexp_adviser.logs.parsed import Parsed
from gcexp_adviser.logs.phases import remark_on_waiting
from gcexp_adviser.logs.taking_part import at_common_steps, refuse_other_counting
from gcexp_adviser.logs.waiting import remark_on_queue

_MANY_EQUAL = 16  # equal times from which on they are no chance
_CONSTANT = 10  # iterations from which on numbers of workers that never change are no chance
_UNEQUAL = 1.05  # ratio of usual sizes from which on workers have unequal data
_STEEP = 1.2  # by how much the rest of a time hardly grows where its computing takes 1 longer
_WHOLES = (1, 100)  # that shares of the time are parts of
_BY_CHANCE = 5.0  # standard errors of usual sizes up to which they differ by chance, as those of texts
_FAR = 300.0  # ratio of workers' usual times from which on their units may differ


def judged(log: Parsed) -> TraceFile:
    """The record of a log, where its times can be what they seem; what they may mean beside that is told.

    Raises
    ------
    DataError
        For times that are a setting, lost lines, runs without waiting, times that hold the waiting for others, a server
        among the workers, moments in place of times, and compute times of another unit.
    """
    _refuse_equal(log)
    _refuse_settings(log)
    refuse_unaligned(log)
    refuse_other_counting(log)
    record = at_common_steps(log)
    refuse_ends_that_keep_pace(record, log)
    record, remark = with_durations(log, record)
    remarks = [
        remark,
        remark_on_waiting(log),
        remark_on_queue(record.values["time"], log),
        other_scale(record.values["time"], record.labels),
        _unequal_data(record, log.sizes),
    ]
    _refuse_doubtful_compute(record, log)
    return replace(record, decisions=(*record.decisions, *filter(None, remarks)))


def _refuse_equal(log: Parsed) -> None:
    """Raise `DataError` where all times of several workers are one number, unless their unit was named."""
    times = log.record.values["time"]
    few = min(times.shape) < 2 or times.size < _MANY_EQUAL
    if log.are_durations or few or np.nanmin(times) < np.nanmax(times):
        return
    raise DataError(
        f"{log.place}: all {times.size} times are equal, {times.flat[0]:g}: they seem to be no times but a setting or "
        f"a count; where another column is the time: columns=time:NAME; where they are times: {log.escape}"
    )


def _refuse_settings(log: Parsed) -> None:
    """Raise `DataError` where a column that is not called a time has one number for each worker, in all iterations."""
    times = log.record.values["time"]
    rows_of_workers = (~np.isnan(times)).sum(axis=0)
    if log.are_durations or log.is_called_time or times.shape[1] < 2 or rows_of_workers.min() < _CONSTANT:
        return
    if (np.nanmin(times, axis=0) < np.nanmax(times, axis=0)).any():
        return
    raise DataError(
        f"{log.place}: {log.time} is the same for a worker in every iteration: it seems to be no time but a setting or "
        f"a count; where another column is the time: columns=time:NAME; where it is one: {log.escape}"
    )


def other_scale(times: np.ndarray, labels: tuple[str, ...]) -> str:
    """A sentence about the worker whose usual time is so far from the others' that its unit may differ; empty for none.

    >>> other_scale(np.array([[300.0, 0.3, 0.3]]), ("a", "b", "c"))
    'worker a takes 1e+03 times as long as the others: where its times have another unit, make them the same'
    """
    usual = np.nanmedian(times, axis=0)
    if len(usual) < 2:
        return ""
    typical = np.sort(usual)[(len(usual) - 1) // 2]
    ratios = usual / typical
    farthest = int(np.abs(np.log(ratios)).argmax())
    if 1 / _FAR < ratios[farthest] < _FAR:
        return ""
    return (
        f"worker {labels[farthest]} takes {ratios[farthest]:.3g} times as long as the others: where its times have "
        "another unit, make them the same"
    )


# --- unequal data -----------------------------------------------------------------------------------------------------


def _unequal_data(record: TraceFile, sizes: dict[str, np.ndarray]) -> str:
    """A sentence where workers have unequal amounts of data; empty for none."""
    times = record.values["time"]
    for column, amounts in sizes.items():
        each = unequal_sizes(amounts, times) if amounts.shape == times.shape else None
        if each is None:
            continue
        slowest = int(each.argmax())
        return (
            f"{column} differs by worker: unequal data may be why some take longer, not slow workers. Per unit of "
            f"{column} worker {record.labels[slowest]} takes longest, {each[slowest]:.3g} times as long as the middle"
        )
    return ""


def unequal_sizes(sizes: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """How long each worker (N,) takes for an example, relative to the middle one, where sizes (R, N) differ; else None.

    >>> unequal_sizes(np.tile([1.0, 2.0, 1.0], (9, 1)), np.tile([3.0, 6.0, 3.0], (9, 1)))
    array([1., 1., 1.])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        known = np.where(sizes > 0, sizes, np.nan)
        known = known[~np.isnan(known).all(axis=1)]
        if np.isnan(known).all(axis=0).any():
            return None
        relative = known / np.nanmedian(known, axis=1, keepdims=True)
        usual = np.nanmedian(relative, axis=0)
        if usual.max() < _UNEQUAL * usual.min():
            return None
        spread = np.nanmedian(np.abs(relative - usual), axis=0)
        errors = 1.9 * spread / np.sqrt((~np.isnan(relative)).sum(axis=0))  # of medians
        if usual.max() - usual.min() < _BY_CHANCE * errors.max():
            return None
        each = np.nanmedian(times / sizes, axis=0)
    return each / np.median(each)


# --- compute times ----------------------------------------------------------------------------------------------------


def _refuse_doubtful_compute(record: TraceFile, log: Parsed) -> None:
    """Raise `DataError` where compute times are infinite, or seem to have another unit than the times, or percent."""
    if log.percent:
        raise DataError(
            f"{log.place}: {log.percent} seems to be the compute time in percent: where it is its share of the time: "
            f"columns=compute:{typed(log.percent)}; else leave it out: columns=compute:none"
        )
    if "compute" not in record.values:
        return
    infinite = np.argwhere(np.isinf(record.values["compute"]))
    if len(infinite):
        row, worker = infinite[0]
        raise DataError(
            f"{log.place}: compute of worker {record.labels[worker]} in row {row} is inf, wanted is a time"
        )
    times, compute = record.values["time"], record.values["compute"]
    doubt = unlike_compute(times, compute)
    if not doubt and not log.is_share:
        doubt = like_share(times, compute, log.compute_unit)
    if doubt:
        raise DataError(
            f"{log.place}: {doubt}: write its unit into its name, as compute_s or compute_ms, or leave it out: "
            "columns=compute:none"
        )


def unlike_compute(times: np.ndarray, compute: np.ndarray) -> str:
    """What speaks against compute times that have the unit of the times (both (R, N)); empty for nothing.

    >>> unlike_compute(np.full((9, 2), 300.0), np.full((9, 2), 0.2))[:44]
    'compute is 0.00067 times as long as the time'
    """
    ratio = float(np.nanmedian(compute / times))
    if not np.isfinite(ratio) or 0.01 <= ratio <= 1.005:
        return ""
    return f"compute is {ratio:.2g} times as long as the time, as where it has another unit or is in percent"


def like_share(times: np.ndarray, compute: np.ndarray, unit: str = "") -> str:
    """What speaks for compute times (R, N) that are shares of the times, or percents of them; empty for nothing.

    They are seconds where the `unit` is known in which they were written, and shares where they were none. The rest of
    a time has nothing to do with its computing where that was taken for what it is. Compute times below a second are
    asked about only where the rest would grow by more than they do: of 4900 made right logs none is, and of made shares
    three in four where the rest has nothing to do with computing. Shares that have nothing to do with the time are not
    told from times.

    >>> compute = 0.2 * np.random.default_rng(0).gamma(50, 0.02, (40, 4))
    >>> times = compute + 0.1
    >>> [like_share(scale * times, compute / (times if scale > 1 else 1))[:20] for scale in (1, 9)]
    ['', 'compute is at most 1']
    """
    written = compute / SECONDS[unit] if unit else compute
    for whole in _WHOLES:
        if np.nanmax(written) > whole or np.nanmedian(written) < 0.05 * whole:
            continue
        as_time, slope = _dependence(times - compute, compute)
        as_share, _ = _dependence(times * (1 - written / whole), times * written / whole)
        if whole == 1 and slope < _STEEP:
            continue
        if abs(as_time) > 4 and abs(as_share) < max(2.5, as_time / 6):
            share = "in percent" if whole == 100 else "the share"
            return f"compute is at most {whole} and may be {share} of the time"
    return ""


def _dependence(rest: np.ndarray, compute: np.ndarray) -> tuple[float, float]:
    """How many standard errors the slope of the rest over the compute time is away from 0, and the slope.

    Both are within iterations.
    """
    known = ~np.isnan(rest) & ~np.isnan(compute)
    rows = known.any(axis=1)
    rest, compute, known = rest[rows], compute[rows], known[rows]
    x = compute - np.nanmean(compute, axis=1, keepdims=True)
    y = rest - np.nanmean(rest, axis=1, keepdims=True)
    x, y = x[known], y[known]
    if len(x) < 3 or not x.any():
        return 0.0, 0.0
    slope = (x * y).sum() / (x * x).sum()
    error = np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 2) / (x * x).sum())
    return float(slope / error) if error > 0 else 0.0, float(slope)
