"""Who takes part in a log, and when: lost lines, runs in which nobody waits, a server, workers that log or join late.

Which workers have a time in which iterations is a matrix ``there`` of bool (R, N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.names import listed, typed
from gcexp_adviser.logs.parsed import Parsed

_ENOUGH = 10  # iterations from which on a pattern is no chance
#: Likeness of a worker to the others behind a shift, how much more it is than without, and places that are tried.
_LIKE, _LEAST_GAIN, _MOST_PLACES = 0.6, 0.3, 60
_ALONE = 0.95  # share of the steps with one worker, from which on nobody waits
_AS_MANY = 0.95  # share of the steps with the same number of workers
_OTHERS = 0.2  # share of the steps from which on the workers are others than in the step before
_HALF = 0.5  # share of the steps that is no exception
_ALL_THERE = 0.05  # share of the steps with all workers, up to which nobody seems to wait for all
_LACKING = 0.1  # share of the rows, of which fewer may be lost where all wait for all
_EVEN = 0.25  # how many gaps a worker has at least, relative to the mean, where nobody is faster
_JOINED = 5  # first steps without a row from which on a worker joined later
_IN_STEP = 0.95  # share of a worker's rows at its own cadence
_LEFT_SINCE = 20  # iterations from which on those since all workers are there suffice
_SERVERS = ("server", "master", "coordinator", "aggregator", "parameter_server", "chief", "driver")


def at_common_steps(log: Parsed) -> TraceFile:
    """The record at the steps at which all workers log, and since all are there.

    Raises
    ------
    DataError
        Where lines are lost, so that rows cannot be aligned; for a run in which each step is the update of one worker;
        where one of the workers seems to be the server.
    """
    record = log.record
    there = ~np.isnan(record.values["time"])
    if log.is_numbered:
        _refuse_unaligned(log, there)
    if one_worker_each(there):
        raise DataError(
            f"{log.place}: there is one worker in each iteration, so the run seems to be asynchronous: nobody waits "
            "for anybody, and there is nothing to advise on; where each worker counts its own: columns=iteration:none"
        )
    server = server_among(record.labels)
    if server and log.worker and not log.every_row:
        raise DataError(
            f"{log.place}: {server} may be no worker: a server waits for all others. Leave its rows out: without="
            f"{typed(f'{log.worker}:{server}')}; where it is a worker: without=none"
        )
    if there.all() or not record.flags.persistent:
        return record
    every = cadences(there)
    common = np.flatnonzero(there[:, every > 1].all(axis=1))
    if every.max() > 1 and len(common) > 1:
        rare = _in_words(record.labels, np.flatnonzero(every > 1))
        told = (
            f"{rare} logged every {every.max()} iterations, others more: kept {len(common)} common iterations of "
            f"{len(there)}"
        )
        return _with_rows(record, common, told, sampled=True)
    joined = join_later(there)
    if not joined:
        return record
    first = max(joined.values())
    told = f"{_in_words(record.labels, list(joined))} joined later, with iteration {first}"
    if len(there) - first >= _LEFT_SINCE:
        since = np.arange(first, len(there))
        return _without_those_gone(_with_rows(record, since, f"{told}: left out the iterations before"))
    return replace(record, decisions=(*record.decisions, f"{told}: before, they are missing"))


def _with_rows(record: TraceFile, rows: np.ndarray, told: str, sampled: bool = False) -> TraceFile:
    """The record with some of its iterations alone, and why."""
    missing = np.isnan(record.values["time"][rows])
    return replace(
        record,
        values={name: matrix[rows] for name, matrix in record.values.items()},
        chunks=None if record.chunks is None else record.chunks[rows],
        missing=missing if missing.any() else None,
        flags=replace(record.flags, sampled=True) if sampled else record.flags,
        decisions=(*record.decisions, told),
    )


def _without_those_gone(record: TraceFile) -> TraceFile:
    """The record without workers that have no row in it, as where they had left before others joined."""
    is_gone = np.isnan(record.values["time"]).all(axis=0)
    if not is_gone.any():
        return record
    here = np.flatnonzero(~is_gone)
    missing = np.isnan(record.values["time"][:, here])
    told = f"left out {_in_words(record.labels, np.flatnonzero(is_gone))}, which had gone before"
    return replace(
        record,
        workers=tuple(record.workers[worker] for worker in here),
        names=tuple(record.names[worker] for worker in here) if record.names else (),
        values={name: matrix[:, here] for name, matrix in record.values.items()},
        chunks=None if record.chunks is None else record.chunks[:, here],
        missing=missing if missing.any() else None,
        decisions=(*record.decisions, told),
    )


def _refuse_unaligned(log: Parsed, there: np.ndarray) -> None:
    """Raise `DataError` where rows of files were numbered, though the files have not the same number of them."""
    counts = there.sum(axis=0)
    if counts.min() == counts.max():
        _refuse_shifted(log)
        return
    usual = int(counts.max())
    short = np.flatnonzero(counts < usual)
    whose = _in_words(log.record.labels, short)
    told = (
        f"{log.place}: no column says the iteration, and files have unequal numbers of rows ({whose}: "
        f"{listed(map(str, counts[short]))}, others up to {usual}): lines are lost, and which line is missing cannot "
        "be known, so rows cannot be aligned"
    )
    at = shift_of([column[~np.isnan(column)] for column in log.record.values["time"].T])
    if at:
        told += f"; a shift from {at} on makes its times like those of the others"
    raise DataError(
        f"{told}; write the step into each line; where the last rows are those that are missing: columns=iteration:none"
    )


def _refuse_shifted(log: Parsed) -> None:
    """Raise `DataError` where files have as many rows, and one has lost a line before its end all the same."""
    times = log.record.values["time"]
    if np.isnan(times).any():
        return
    shifted = shifted_worker(times)
    if shifted is None:
        return
    worker, row = shifted
    raise DataError(
        f"{log.place}: no column says the iteration, and a shift from about row {row + 1} of worker "
        f"{log.record.labels[worker]} on makes its times like those of the others, so a line of it seems to be lost; "
        "write the step into each line; where no line is lost: columns=iteration:none"
    )


def shifted_worker(times: np.ndarray) -> tuple[int, int] | None:
    """The worker whose times (T, n) are like the others' only behind a shift by one row, and the row where it begins.

    The correlation of its logarithms with the mean of the others' is at least 0.6 with a shift, and at least 0.3 more
    than without; so only a load that all workers share shows a lost line.

    >>> rng = np.random.default_rng(0)
    >>> times = np.exp(rng.normal(size=(61, 1)) + 0.3 * rng.normal(size=(61, 4)))
    >>> shifted_worker(times[:60])
    >>> times[20:60, 2] = times[21:61, 2]
    >>> shifted_worker(times[:60])
    (2, 20)
    """
    rows, workers = times.shape
    if workers < 3 or rows < 4 * _ENOUGH:  # of fewer rows some fit by chance
        return None
    logs = np.log(times)
    places = np.unique(np.linspace(0, rows - _ENOUGH, _MOST_PLACES).astype(int))
    is_before = np.arange(rows - 1) < places[:, None]
    found = None
    most = _LEAST_GAIN
    for worker in range(workers):
        common = np.delete(logs, worker, axis=1).mean(axis=1)
        own = logs[:-1, worker]
        plain = float(np.corrcoef(common[:-1], own)[0, 1])
        moved = np.where(is_before, common[:-1], common[1:])
        likeness = _correlations(moved, own)
        best = int(np.nanargmax(likeness))
        if likeness[best] >= _LIKE and likeness[best] - plain >= most:
            most = likeness[best] - plain
            found = worker, int(places[best])
    return found


def _correlations(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The correlation of each row (P, T) with another series (T,)."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    other = other - other.mean()
    return rows @ other / np.sqrt((rows**2).sum(axis=1) * (other**2).sum())


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

    They are others from one step to the next, or one hardly takes part beside those that nearly always do.

    >>> rng = np.random.default_rng(0)
    >>> as_many_but_others(rng.random((40, 6)).argsort(axis=1) < 3)
    3
    """
    counts = there.sum(axis=1)
    usual = int(np.median(counts))
    if len(there) < _ENOUGH or usual >= there.shape[1] or (counts == usual).mean() < _AS_MANY:
        return 0
    visits = comes_and_goes(there) & (there.mean(axis=0) < _HALF)
    return usual if changes(there) >= _OTHERS or visits.any() else 0


def never_all(there: np.ndarray) -> tuple[int, int] | None:
    """The fewest and the most workers of a step (R, N), where hardly any step has all, and each lacks its part; else None.

    Where all wait for all, some steps have all workers, fewer than a tenth of the rows are lost, or some workers have
    far fewer gaps than others, since they are fast.

    >>> rng = np.random.default_rng(0)
    >>> order = rng.random((40, 6)).argsort(axis=1).argsort(axis=1)
    >>> never_all(order < rng.integers(3, 6, (40, 1))), never_all(order < rng.integers(3, 7, (40, 1)))
    ((3, 5), None)
    """
    counts = there.sum(axis=1)
    lacking = 1 - there.mean(axis=0)
    if len(there) < _ENOUGH or (counts == there.shape[1]).mean() > _ALL_THERE or lacking.mean() < _LACKING:
        return None
    if lacking.min() < _EVEN * lacking.mean() or changes(there) < _HALF:
        return None
    return int(counts.min()), int(counts.max())


def changes(there: np.ndarray) -> float:
    """In what share of the steps (R, N) the workers are others than in the step before.

    >>> changes(np.array([[1, 0], [1, 0], [0, 1]], bool))
    0.5
    """
    return float((there[1:] != there[:-1]).any(axis=1).mean())


def comes_and_goes(there: np.ndarray) -> np.ndarray:
    """Which workers (N,) have rows (R, N) here and there, rather than nearly all from some iteration to another one.

    A worker that joins or leaves has them up to an end of the log, or for at least ten iterations.

    >>> rows = np.arange(30)[:, None]
    >>> comes_and_goes((rows >= [0, 12, 11, 4]) & (rows <= [29, 29, 12, 13])).tolist()
    [False, False, True, False]
    """
    first, last = _ends(there)
    length = last - first + 1
    goes_on = there.sum(axis=0) >= _IN_STEP * length
    is_stretch = (first == 0) | (last == len(there) - 1) | (length >= _ENOUGH)
    return ~(goes_on & is_stretch)


def share_there(there: np.ndarray) -> float:
    """In what share of the steps (R, N) workers have a row, from the first row of each to its last one.

    >>> share_there(np.array([[1, 0], [0, 0], [0, 1], [1, 1]], bool))
    0.6666666666666666
    """
    first, last = _ends(there)
    return float(there.sum() / (last - first + 1).sum())


def _ends(there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last step (R, N) of each worker."""
    return there.argmax(axis=0), len(there) - 1 - there[::-1].argmax(axis=0)


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


def _in_words(labels: Sequence[str], workers: Sequence[int]) -> str:
    """Workers by name, as a sentence goes on."""
    names = [labels[worker] for worker in workers]
    return f"worker {names[0]}" if len(names) == 1 else f"workers {listed(names)}"
