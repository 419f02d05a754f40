"""Numbers that are called times and are none: counters that go on from iteration to iteration.

Times (R, N) are those of iterations and workers, NaN where a worker has no row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.clean import OF_ARRAY, OF_FRAME
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.moments import refuse_moments
from gcexp_adviser.logs.names import typed, workers_in_words
from gcexp_adviser.logs.parsed import Parsed
from gcexp_adviser.logs.recipes import DIFFERENCES, ENDS, see

_ENOUGH = 10  # rows from which on a pattern is no chance
_GROWS = 0.9  # share of the steps in which a counter grows
_NEAR_START = 3.0  # usual increments up to which a counter that begins anew usually is
_AT_MOST_AT_START = 10.0  # and up to which it always is: the step behind the start may be a slow one
_EPOCHS = 3  # epochs from which on it is no chance that times fall to one increment each time
_SHORTEST_EPOCH = 3  # rows that epochs have at least
#: Scatter of increments up to which times are sums or moments, relative to what durations have that grow to the length
#: of an epoch; there that of increments is .9 at least.
_AS_GROWN = 0.6
#: Scatter of an epoch's late increments, relative to its early ones, up to which times are sums or moments.
_AS_EARLY = 1.3
_REGULAR = 0.8  # share of the epochs that have as many rows as the middle one; a restart may make others
_RISING_BY_CHANCE = 0.6  # share of the steps in which durations rise at most
_MANY_ROWS = 20  # rows from which on the times of one worker alone look like a counter by no chance
_LIKE_DURATIONS = 5.0  # ratio up to which a worker's increments are as long as the times of other workers
_PACED = 20  # iterations from which on ends that keep pace are no chance
_EVEN = 2.5  # ratio up to which the steps of the first and of the second half are alike
_KEEPS_PACE = 1.0  # variance of clocks about each other, relative to that of their increments
_RISING = 0.5  # share of the steps in which the times of a worker rise that may be a counter
_FINE = 1e-3  # scatter that counts as none
_NEARLY_ALL = 0.95  # share of the steps in which times rise that are sums on any level
_PAIRS = 40  # pairs of increments from which on their correlation tells sums from durations
#: Correlation of an increment with the next one: -1/2 where noise lies on durations that rise, above 1/2 where batches
#: are in the order of their lengths, about 0 between the single durations of a sum.
_UNRELATED = (-0.25, 0.3)
#: Distance of increments from their medians, in these: less than what a schedule has, and more than lengths in order.
_LIKE_SCATTER = (0.01, 0.45)
_LEVEL = 1.7  # ratio up to which usual increments are alike throughout, on any level


def refuse_ends_that_keep_pace(record: TraceFile, log: Parsed) -> None:
    """Raise `DataError` where times go from a worker's end to its next one, in a run in which all wait for all."""
    times = record.values["time"]
    if not log.is_end_to_end or record.chunks is not None or len(times) < _PACED:
        return
    ends = np.where(np.isnan(times), np.nan, np.nancumsum(times, axis=0))
    if keeps_pace(ends, times):
        raise DataError(
            f"{log.place}: the ends of all workers keep pace, as where all wait for the slowest one: what lies between "
            "two ends of a worker holds that waiting, and says nothing of the worker. Where all clocks agree, "
            f"{see(ENDS)}"
        )


def with_durations(log: Parsed, record: TraceFile) -> tuple[TraceFile, str]:
    """The record with durations, where its times are counters that go on from iteration to iteration; and a remark.

    Parameters
    ----------
    log : Parsed
        From which the record was made. Where a unit was named, times are durations, whatever they look like.
    record : TraceFile

    Raises
    ------
    DataError
        For moments, whose differences hold the waiting for others or cannot be known.
    """
    if log.are_durations:
        return record, ""
    record = _differences_of_counters(record, log)
    times = record.values["time"]
    return record, refuse_moments(times, log.place, partial(_cure, log, times), log.escape)


def _cure(log: Parsed, times: np.ndarray) -> str:
    """What to do where times (R, N) turn out to be moments."""
    if len(times) >= _PACED and keeps_pace(times[1:], np.diff(times, axis=0)):
        return see(ENDS)
    if not log.time:
        return f"take the differences of its rows first: {_differences_of_rows(log.place)}"
    if log.is_in_memory:
        return (
            f"for the time since the worker's previous row: columns={{'end': {log.time!r}}}; where another column is "
            "the time: columns={'time': 'NAME'}"
        )
    return (
        f"for the time since the worker's previous row: columns=end:{typed(log.time)}; where another column is the "
        "time: columns=time:NAME"
    )


def _differences_of_rows(place: str) -> str:
    """What makes differences of the rows of a matrix."""
    if place == OF_ARRAY:
        return "numpy.diff(array, axis=0)"
    if place == OF_FRAME:
        return "frame.diff().iloc[1:]"
    return see(DIFFERENCES)


# --- counters ---------------------------------------------------------------------------------------------------------


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


def _differences_of_counters(record: TraceFile, log: Parsed) -> TraceFile:
    """The record with durations, where its times are counters."""
    if record.chunks is not None or not record.flags.persistent:
        return record
    times = record.values["time"]
    counter = counter_of(times)
    if counter is None:
        _refuse_sums_of_epochs(times, log)
        _refuse_counters_of_some(times, record.labels, log)
        return record
    seen = f"the times of every worker grow from iteration to iteration, up to {np.nanmax(times):.6g}"
    if keeps_pace(times[counter.rows], counter.durations):
        raise DataError(
            f"{log.place}: {seen}, and those of all workers keep pace: they seem to count from the start of the run, "
            f"and differences hold the waiting for others; {_cure(log, times)}; where they are durations, name their "
            f"unit: {log.escape}"
        )
    if counter.resets:
        seen += f", and begin anew {counter.resets} times" if counter.resets > 1 else ", and begin anew once"
    told = (
        f"{seen}: took them for counters, and the differences of rows for times; where they are durations, name their "
        f"unit: {log.escape}"
    )
    values = {name: matrix[counter.rows] for name, matrix in record.values.items()}
    values["time"] = counter.durations
    missing = np.isnan(counter.durations)
    return replace(
        record,
        values=values,
        missing=missing if missing.any() else None,
        decisions=(*record.decisions, told),
    )


def _refuse_sums_of_epochs(times: np.ndarray, log: Parsed) -> None:
    """Raise `DataError` where times (R, N) seem to count from the start of each epoch, behind a set-up."""
    length = _epoch_of_all(times)
    if not length or not _rise_by_durations(times, length):
        return
    raise DataError(
        f"{log.place}: the times of every worker grow for {length} iterations and fall then, and those differ by about "
        f"as much each time: they seem to count from the start of an epoch, in which the first iteration holds a "
        f"set-up: take the differences of rows first, {see(DIFFERENCES)}, without the first row of each epoch; where "
        f"they are durations, name their unit: {log.escape}"
    )


def _refuse_counters_of_some(times: np.ndarray, labels: tuple[str, ...], log: Parsed) -> None:
    """Raise `DataError` where the times of some workers are counters, and those of others (R, N) durations."""
    found = counters_among(times)
    if not len(found):
        return
    raise DataError(
        f"{log.place}: the times of {workers_in_words(labels, found)} grow from iteration to iteration as a counter "
        f"does, up to {np.nanmax(times[:, found]):.6g}, by about what the other workers take: take the differences of "
        f"these rows first, {see(DIFFERENCES)}; where they are durations, name their unit: {log.escape}"
    )


def counters_among(times: np.ndarray) -> np.ndarray:
    """Workers whose times alone are counters, and whose increments are as long as the times of the others (R, N).

    >>> draw = np.random.default_rng(0).gamma(50, 0.02, (30, 4))
    >>> draw[:, 2] = draw[:, 2].cumsum()
    >>> counters_among(draw), counters_among(draw[:, 2:3])
    (array([2]), array([], dtype=int64))
    """
    rows, workers = times.shape
    if rows < _MANY_ROWS:
        return np.array([], np.int64)
    is_counter = np.zeros(workers, bool)
    increments = np.full(workers, np.nan)
    grows = (times[1:] > times[:-1]).mean(axis=0)
    for worker in np.flatnonzero(grows > _RISING):
        counter = counter_of(times[:, [worker]])
        if counter is not None:
            is_counter[worker] = True
            increments[worker] = np.nanmedian(counter.durations)
    if not is_counter.any() or is_counter.all() or np.median(grows[~is_counter]) > _RISING_BY_CHANCE:
        return np.array([], np.int64)
    ratios = increments / np.nanmedian(times[:, ~is_counter])
    return np.flatnonzero((ratios < _LIKE_DURATIONS) & (ratios > 1 / _LIKE_DURATIONS))


def counter_of(times: np.ndarray) -> Counter | None:
    """The durations between times that grow in nine of ten steps of each worker, and fall to near one increment.

    They may fall more often where they do so with each epoch. None for times that are durations.

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
    if counts.min() < _ENOUGH - 1:
        return None
    increments = np.where(grows, steps, np.nan)
    mostly_grow = bool((grows.sum(axis=0) >= _GROWS * counts - 1).all())
    count_on = mostly_grow and _falls_to_the_start(times, increments, falls) and _are_sums(times, increments)
    if not falls.any() and _rise_by_durations(times, len(times)):
        count_on = True  # from any level, as behind a set-up, or of a worker that joined
    if not count_on and not _begin_anew_by_epochs(times):
        return None
    rows = np.flatnonzero(~falls.any(axis=1))
    if not len(rows):
        return None
    return Counter(steps[rows], rows + 1, int(falls.any(axis=1).sum()))


def _begin_anew_by_epochs(times: np.ndarray) -> bool:
    """Whether times (R, N) of all workers are sums that begin anew with each epoch of as many rows.

    They grow within an epoch and fall to near one increment. Durations do so too where an epoch has its batches in the
    order of their lengths, but then they scatter the more the longer they are. The increments of sums are single
    durations, which scatter as the first times of epochs do, and throughout alike.

    >>> draw = np.random.default_rng(0).gamma(50, 0.02, (12, 5))
    >>> sums, sorted_batches = draw.cumsum(axis=1), draw * np.arange(1, 6)
    >>> [_begin_anew_by_epochs(times.reshape(-1, 1)) for times in (draw, sums, sorted_batches)]
    [False, True, False]
    """
    found = []
    for column in times.T:
        scatter = _scatter_in_epochs(column[~np.isnan(column)])
        if scatter is None:
            return False
        found.append(scatter)
    grown, early, late = (float(np.median(np.concatenate(parts))) for parts in zip(*found, strict=True))
    return (early + late) / 2 <= _AS_GROWN * grown + _FINE or late <= _AS_EARLY * early


def _scatter_in_epochs(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """How far early and late increments of epochs are from their medians, behind what grown first times would be.

    All are in usual increments. None for times (R,) of a worker that do not fall to near one increment at regular
    distances, or grow by uneven steps.
    """
    steps = np.diff(times)
    starts = np.flatnonzero(steps <= 0) + 1
    if len(starts) < _EPOCHS:
        return None
    lengths = np.diff(starts)
    length = int(np.median(lengths))
    if length < _SHORTEST_EPOCH or (lengths == length).mean() < _REGULAR:
        return None
    usual = float(np.median(steps[steps > 0]))
    firsts = times[starts] / usual
    if firsts.max() > _AT_MOST_AT_START or np.median(firsts) > _NEAR_START:
        return None
    rows = np.arange(starts[0], len(times))
    places = rows - starts[np.searchsorted(starts, rows, side="right") - 1]
    increments = steps[rows[places > 0] - 1] / usual
    known, codes = np.unique(places[places > 0], return_inverse=True)
    of_place = np.array([np.median(increments[codes == place]) for place in range(len(known))])
    if of_place.max() > _EVEN * of_place.min():
        return None
    scatter = np.abs(increments - of_place[codes])
    is_early = codes < len(known) / 2
    return length * np.abs(firsts - np.median(firsts)), scatter[is_early], scatter[~is_early]


def _falls_to_the_start(times: np.ndarray, increments: np.ndarray, falls: np.ndarray) -> bool:
    """Whether times that fall are those of counters that begin anew: near one increment, in the median over all falls.

    >>> sums = np.cumsum(np.ones((24, 2)), axis=0)
    >>> sums[12:] -= sums[11]
    >>> steps = np.diff(sums, axis=0)
    >>> [_falls_to_the_start(high + sums, np.where(steps > 0, steps, np.nan), steps < 0) for high in (0, 20)]
    [True, False]
    """
    if not falls.any():
        return True
    usual = np.nanmedian(increments, axis=0)
    increments_since_start = (times[1:] / usual)[falls]
    if increments_since_start.max() > _AT_MOST_AT_START:
        return False
    return bool(np.median(increments_since_start) <= _NEAR_START)


def _are_sums(times: np.ndarray, increments: np.ndarray) -> bool:
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


def _epoch_of_all(times: np.ndarray) -> int:
    """In how many rows the times (R, N) of all workers begin anew, regularly and together; 0 where they do not."""
    with np.errstate(invalid="ignore"):
        falls = (np.diff(times, axis=0) <= 0).mean(axis=1) > _RISING
    starts = np.flatnonzero(falls) + 1
    if len(starts) < _EPOCHS:
        return 0
    lengths = np.diff(starts)
    length = int(np.median(lengths))
    is_regular = (lengths == length).all() and starts[0] <= length
    return length if is_regular and length > _SHORTEST_EPOCH else 0


def _rise_by_durations(times: np.ndarray, length: int) -> bool:
    """Whether times (R, N) rise in nearly all steps of an epoch of `length` rows, by increments like single durations.

    The level does not matter: hardly any durations rise so often. Where some do, their noise makes a long increment
    follow a short one; where batches are in the order of their lengths, increments change slowly, or scatter more. Of
    2000 made logs with drifts up to 40 % and a scatter from 1 to 20 % none is taken for sums, and of 1500 with batches
    in the order of their lengths none that was not before.

    >>> draw = np.random.default_rng(0).gamma(50, 0.02, (60, 3))
    >>> [
    ...     _rise_by_durations(times, 60)
    ...     for times in (99 + draw.cumsum(0), 9 * np.arange(60)[:, None] + draw, draw)
    ... ]
    [True, False, False]
    """
    epochs = _in_epochs(times, length)
    steps = np.diff(epochs, axis=1)
    known = ~np.isnan(steps)
    with np.errstate(invalid="ignore"):
        rises = (steps > 0).sum(axis=(0, 1))
    counts = known.sum(axis=(0, 1))
    if counts.min() < _ENOUGH or (rises < _NEARLY_ALL * counts).any():
        return False
    usual = np.nanmedian(steps, axis=(0, 1))
    if np.median(usual / np.nanmin(times, axis=0)) < _FINE:
        return False  # a clock of days, of which moments.py asks
    if length < len(times):
        of_place = np.nanmedian(steps, axis=0)
        apart = (steps - of_place) / usual
        uneven = of_place.max(axis=0) / of_place.min(axis=0)
    else:
        half = steps.shape[1] // 2
        halves = np.stack([np.nanmedian(part, axis=(0, 1)) for part in (steps[:, :half], steps[:, half:])])
        apart = (steps - usual) / usual
        uneven = halves.max(axis=0) / halves.min(axis=0)
    scatter = float(np.nanmedian(np.abs(apart)))
    if not (_LIKE_SCATTER[0] <= scatter <= _LIKE_SCATTER[1]) or np.median(uneven) > _LEVEL:
        return False
    apart = np.clip(apart, -2.0, 2.0)
    apart = apart - np.nanmean(apart, axis=(0, 1))
    products = apart[:, 1:] * apart[:, :-1]
    pairs = np.count_nonzero(~np.isnan(products))
    if pairs < _PAIRS:
        return False
    correlation = float(np.nanmean(products) / np.nanmean(apart * apart))
    lowest, highest = _UNRELATED
    return bool(lowest + 1 / np.sqrt(pairs) < correlation < highest)


def _in_epochs(times: np.ndarray, length: int) -> np.ndarray:
    """Whole epochs (E, length, N) of times (R, N), the first of which may begin behind the first row.

    >>> _in_epochs(np.array([[2.0], [1.0], [2.0], [1.0], [2.0]]), 2).tolist()
    [[[1.0], [2.0]], [[1.0], [2.0]]]
    """
    first = 0
    if length < len(times):
        with np.errstate(invalid="ignore"):
            first = int(((np.diff(times, axis=0) <= 0).mean(axis=1) > _RISING).argmax() + 1) % length
    whole = (len(times) - first) // length
    return times[first : first + whole * length].reshape(whole, length, times.shape[1])


def keeps_pace(counters: np.ndarray, durations: np.ndarray) -> bool:
    """Whether counters (R, N) of several workers stay together, as clocks of a run do in which all wait for all.

    Their deviations from each other then are those of one step, and do not add up: with e the deviation of a worker
    from the mean of all, without its own mean, var(e) <= var(e[t] - e[t-1]). There the own mean is left out as well,
    which is 0 for a slow worker that keeps pace.

    >>> draw = np.random.default_rng(0).exponential(size=(60, 4))
    >>> sums, clocks = np.cumsum(draw, axis=0), draw + np.cumsum(4 * np.ones((60, 1)), axis=0)
    >>> keeps_pace(sums, np.diff(sums, axis=0)), keeps_pace(clocks, np.diff(clocks, axis=0))
    (False, True)
    """
    counters, durations = _with_others(counters), _with_others(durations)
    if not len(counters) or not len(durations):
        return False
    apart = counters - np.nanmean(counters, axis=1, keepdims=True)
    apart = apart - np.nanmean(apart, axis=0)
    changes = durations - np.nanmean(durations, axis=1, keepdims=True)
    changes = changes - np.nanmean(changes, axis=0)
    rounding = (1e-6 * np.nanmean(durations)) ** 2
    return bool(np.nanvar(apart) <= _KEEPS_PACE * np.nanvar(changes) + rounding)


def _with_others(times: np.ndarray) -> np.ndarray:
    """The rows in which several workers have a time, of workers that have one there."""
    rows = times[(~np.isnan(times)).sum(axis=1) > 1]
    return rows[:, ~np.isnan(rows).all(axis=0)]
