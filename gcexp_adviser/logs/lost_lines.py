"""Do rows that were numbered belong together? Lost lines, by the load that all workers of an iteration share.

Where all workers take longer in some iterations, as for long sequences, their times rise and fall together. A worker
whose log has lost a line does so one row early from there on. Which row of a worker is like which row of the others is
a path of lags, and the likeliest one is found by dynamic programming, as in hidden Markov models (A. Viterbi, "Error
bounds for convolutional codes", IEEE Transactions on Information Theory 13, 1967).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from gcexp.errors import DataError
from gcexp_adviser.logs.names import listed, workers_in_words
from gcexp_adviser.logs.parsed import Parsed

_MOST_LAG = 4  # rows
_LAGS = np.arange(-_MOST_LAG, _MOST_LAG + 1)
_MOST_ROWS = 10_000  # of longer logs the begin and the end
_MOST_WORKERS = 64  # at a time
#: Logarithms of likelihoods: how much a change of the lag must bring, as it is first sought and then; how much a row
#: may bring at most, so that no outlier decides; how much a worker's path must bring in all.
_CHANGES, _MOST_OF_ROW, _LEAST_GAIN = (6.0, 6.0, 10.0, 10.0), 3.0, 20.0
_FIRST_LIKENESS, _LEAST_LIKENESS, _MOST_LIKENESS = 0.6, 0.6, 0.9  # correlations
_LEAST_ROWS = 10  # with a lag
_MIXED = 0.2  # share of lines behind one of another worker, from which on their order says the time
_MOST_BEHIND = 2  # lines by which a worker may be behind others, since it writes later


class LostLine(NamedTuple):
    """A worker, and the row from about which on a shift makes its times like those of the others."""

    worker: int
    row: int


class _Paths(NamedTuple):
    """The lag of each row and worker (T, n), by how much they are likelier than none (n,), and than one throughout."""

    lags: np.ndarray
    gain: np.ndarray
    above_one_lag: np.ndarray

    @property
    def begins(self) -> np.ndarray:
        """Whether a lag begins or ends within the rows (n,), rather than being one throughout."""
        return self.above_one_lag >= _CHANGES[-1]


def refuse_unaligned(log: Parsed) -> None:
    """Raise `DataError` where rows of workers were numbered, though lines are lost, so that they are not of one step.

    Workers have as many rows as each other, unless a person said that the last ones may be missing, and these are
    nowhere else by the order of the lines; and a load that all workers share is nowhere in other rows of some.
    """
    if not log.is_numbered:
        return
    times, labels = log.record.values["time"], log.record.labels
    counts = np.count_nonzero(~np.isnan(times), axis=0)
    told = []
    reason = "lines are lost"
    if counts.min() < counts.max() and not (log.may_end_early and not log.go_on):
        short = np.flatnonzero(counts < counts.max())
        of_whom = "workers" if log.may_end_early else "files"
        told.append(
            f"{of_whom} have unequal numbers of rows ({workers_in_words(labels, short)}: "
            f"{listed(map(str, counts[short]))}, others up to {counts.max()})"
        )
        cure = "; where the last rows are those that are missing: columns=iteration:none"
        if log.go_on:
            told.append("others than their last ones are missing")
            reason = "lines are lost, or not all workers take part in each step"
            cure = ""
    shifts = [f"worker {labels[line.worker]} from about row {line.row + 1} on" for line in lost_lines(times)]
    if shifts:
        told.append(f"times are like those of the others only behind a shift ({listed(shifts)})")
        cure = "; where none is lost, number the rows in a column"
    if told:
        raise DataError(
            f"{log.place}: no column says the iteration, and {', and '.join(told)}: {reason}, and which line is "
            f"missing cannot be known, so rows cannot be aligned; write the step into each line{cure}"
        )


def that_go_on(workers: np.ndarray) -> tuple[int, ...]:
    """Workers that have fewer lines (L,) than others, of which more are missing before their last one than behind it.

    Where each worker's lines stand together, their order says nothing.

    >>> that_go_on(np.tile([0, 1, 1], 20)), that_go_on(np.repeat([0, 1], [20, 40]))
    ((0,), ())
    >>> that_go_on(np.append(np.tile([0, 1], 20), np.ones(20, int)))
    ()
    """
    codes, labels = pd.factorize(workers)
    is_mixed = np.count_nonzero(np.diff(codes)) > _MIXED * len(codes)
    if len(labels) < 2 or not is_mixed:
        return ()
    numbers = pd.Series(codes).groupby(codes).cumcount().to_numpy() + 1
    counts = np.bincount(codes)
    most_before = np.maximum.accumulate(numbers)
    last = pd.Series(np.arange(len(codes))).groupby(codes).last().to_numpy()
    missing_before = most_before[last] - counts
    missing = counts.max() - counts
    return tuple(labels[missing_before > np.maximum(_MOST_BEHIND, missing / 2)].tolist())


def lost_lines(times: np.ndarray) -> list[LostLine]:
    """The workers whose times (R, N) are like the others' only behind a shift, in the order of where it begins.

    Only a load that all workers share shows it: without one, and for lines close to the last one, nothing is found. Of
    2640 logs in order none was refused (no load or one of deviation 0.05 to 0.8, drifts, blocks, periods, outliers, 2
    to 16 workers, 40 to 400 rows). Of 220 in which the load goes from one worker to the next, 12 were.

    >>> rng = np.random.default_rng(0)
    >>> times = np.exp(rng.normal(size=(61, 1)) + 0.3 * rng.normal(size=(61, 4)))
    >>> lost_lines(times[:60])
    []
    >>> times[20:60, 2] = times[21:61, 2]
    >>> [line.worker for line in lost_lines(times[:60])]
    [2]
    """
    rows, workers = times.shape
    if workers < 2 or rows < 2 * _LEAST_ROWS:
        return []
    scores = _scores(times)
    numbers = np.arange(len(scores))
    if len(scores) > _MOST_ROWS:
        numbers = np.append(numbers[: _MOST_ROWS // 2], numbers[-_MOST_ROWS // 2 :])
        scores = scores[numbers]
    common = _mean(scores, axis=1)
    first = int(np.nansum(scores * common[:, None], axis=0).argmax())  # the one that is most like all
    others = np.repeat(scores[:, [first]], workers, axis=1)
    likeness = np.full(workers, _FIRST_LIKENESS)
    for place, change in enumerate(_CHANGES):
        paths = _likeliest(scores, others, likeness, change)
        if not paths.lags.any() or (place == 0 and _goes_round(paths)):
            return []
        placed = _placed(scores, paths.lags)
        others = _mean_of_others(placed)
        likeness = _likeness(placed, others)
    is_alike = likeness >= _LEAST_LIKENESS
    is_sure = is_alike & (paths.gain >= _LEAST_GAIN) & ((paths.lags != 0).sum(axis=0) >= _LEAST_ROWS)
    is_whole = is_alike & ~paths.lags.any(axis=0)
    if is_whole.mean() <= 0.5:  # which ones are in order is not known, and only a lag that begins tells
        is_sure &= paths.begins
    if not is_sure.any():
        return []
    return [LostLine(worker, int(numbers[row])) for worker, row in _begins(paths.lags, is_alike, first)]


def _goes_round(paths: _Paths) -> bool:
    """Whether work seems to go round, or from one worker to the next, so that most lags have no begin."""
    has_no_begin = (paths.gain >= _LEAST_GAIN) & ~paths.begins
    begins = (paths.gain >= _LEAST_GAIN) & paths.begins
    return bool(has_no_begin.sum() > max(1, begins.sum()))


def _scores(times: np.ndarray) -> np.ndarray:
    """How a time (R, N) differs from the one before, as normal scores (R - 1, N): no drift, unit or outlier counts."""
    growth = np.diff(np.log(times), axis=0)
    count = np.count_nonzero(~np.isnan(growth), axis=0)
    ranks = pd.DataFrame(growth).rank().to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = ndtri((ranks - 0.5) / count)
        return scores / np.sqrt(_mean(scores**2, axis=0))


def _mean(numbers: np.ndarray, axis: int) -> np.ndarray:
    """The mean of the numbers that are there; 0 of none."""
    count = np.count_nonzero(~np.isnan(numbers), axis=axis)
    return np.nansum(numbers, axis=axis) / np.maximum(count, 1)


def _likeliest(scores: np.ndarray, others: np.ndarray, likeness: np.ndarray, change: float) -> _Paths:
    """The likeliest lags of all workers, where `others` (T, n) is what each one's scores (T, n) are compared with."""
    parts = []
    for begin in range(0, scores.shape[1], _MOST_WORKERS):
        some = slice(begin, begin + _MOST_WORKERS)
        gains = _gains(scores[:, some], others[:, some], likeness[some])
        lags, gain = _best_paths(gains, change)
        parts.append((lags, gain, gain - gains.sum(axis=0).max(axis=1)))
    lags, gain, above_one_lag = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return _Paths(lags, gain, above_one_lag)


def _gains(scores: np.ndarray, others: np.ndarray, likeness: np.ndarray) -> np.ndarray:
    """By how much each lag makes each score (T, n) likelier than none does: (T, n, lags)."""
    spread = 2 * (1 - likeness**2)
    misfits = np.empty((*scores.shape, len(_LAGS)))
    for place, lag in enumerate(_LAGS):
        misfits[..., place] = (scores - likeness * _moved(others, lag)) ** 2 / spread
    misfits = np.minimum(misfits, _MOST_OF_ROW)
    return np.nan_to_num(misfits[..., [_MOST_LAG]] - misfits)


def _moved(others: np.ndarray, lag: int) -> np.ndarray:
    """Each column's entry (T, n) so many rows later; NaN beyond the ends."""
    moved = np.roll(others, -lag, axis=0)
    if lag > 0:
        moved[-lag:] = np.nan
    elif lag < 0:
        moved[:-lag] = np.nan
    return moved


def _best_paths(gains: np.ndarray, change: float) -> tuple[np.ndarray, np.ndarray]:
    """The lags (T, n) that gain most in all (T, n, lags), where a change has a price, and what they gain (n,)."""
    rows, workers, _ = gains.shape
    each = np.arange(workers)
    total = np.full(gains.shape[1:], -change)
    total[:, _MOST_LAG] = 0
    stays = np.empty(gains.shape, bool)
    best = np.empty((rows, workers), np.intp)
    for row in range(rows):
        best[row] = total.argmax(axis=1)
        otherwise = total[each, best[row], None] - change
        stays[row] = total >= otherwise
        total = np.maximum(total, otherwise) + gains[row]
    place = total.argmax(axis=1)
    gain = total[each, place]
    places = np.empty((rows, workers), np.intp)
    for row in reversed(range(rows)):
        places[row] = place
        place = np.where(stays[row, each, place], place, best[row])
    return _LAGS[places], gain


def _placed(scores: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """The scores (T, n) at the rows of which they are by their lags; NaN where there is none."""
    placed = np.full(scores.shape, np.nan)
    rows, workers = np.indices(scores.shape)
    rows = rows + lags
    inside = (rows >= 0) & (rows < len(scores))
    placed[rows[inside], workers[inside]] = scores[inside]
    return placed


def _mean_of_others(placed: np.ndarray) -> np.ndarray:
    """The mean of all other workers (T, n), of mean square 1."""
    there = ~np.isnan(placed)
    total = np.nansum(placed, axis=1, keepdims=True) - np.nan_to_num(placed)
    count = there.sum(axis=1, keepdims=True) - there
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean / np.sqrt(_mean(mean**2, axis=0))


def _likeness(placed: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The correlation of each worker with the others (n,), within bounds."""
    return np.clip(_mean(placed * others, axis=0), 0.1, _MOST_LIKENESS)


def _begins(lags: np.ndarray, is_shifted: np.ndarray, first: int) -> list[tuple[int, int]]:
    """The workers that have lost a line, and in which row (T, n), where lags are those to the rows of the first worker.

    A worker that has lost one is ahead from there on. Where many fall behind at once, the first worker has.
    """
    before = np.vstack([np.zeros(lags.shape[1], int), lags[:-1]])
    ahead, behind = lags > before, lags < before
    found = []
    fell = []
    for worker in np.flatnonzero(is_shifted):
        if ahead[:, worker].any():
            found.append((int(worker), int(ahead[:, worker].argmax())))
        if behind[:, worker].any():
            fell.append(int(behind[:, worker].argmax()))
    if fell:
        found.append((first, int(np.median(fell))))
    return sorted(found, key=lambda line: line[1])
