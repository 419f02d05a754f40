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
from gcexp_adviser.logs.lost_lines import lost_lines
from gcexp_adviser.logs.names import listed, typed
from gcexp_adviser.logs.parsed import Parsed

_ENOUGH = 10  # iterations from which on a pattern is no chance
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
    """Raise `DataError` where rows of workers were numbered, though lines are lost, so that they are not of one step.

    Files have as many rows as each other, unless a person said that the last ones may be missing; and a load that all
    workers share is nowhere in other rows of some.
    """
    counts = there.sum(axis=0)
    told = []
    if counts.min() < counts.max() and not log.may_end_early:
        usual = int(counts.max())
        short = np.flatnonzero(counts < usual)
        whose = _in_words(log.record.labels, short)
        unequal = f"{whose}: {listed(map(str, counts[short]))}, others up to {usual}"
        told.append(f"files have unequal numbers of rows ({unequal})")
        cure = "where the last rows are those that are missing: columns=iteration:none"
    lost = lost_lines(log.record.values["time"])
    if lost:
        shifts = listed(
            [f"worker {log.record.labels[line.worker]} from about row {line.row + 1} on" for line in lost]
        )
        told.append(f"times are like those of the others only behind a shift ({shifts})")
        cure = "where none is lost, number the rows in a column"
    if told:
        raise DataError(
            f"{log.place}: no column says the iteration, and {', and '.join(told)}: lines are lost, and which line is "
            f"missing cannot be known, so rows cannot be aligned; write the step into each line; {cure}"
        )


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
    """The fewest and the most workers of a step (R, N), where hardly any has all, and each lacks its part; else None.

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


def _in_words(labels: Sequence[str], workers: Sequence[int]) -> str:
    """Workers by name, as a sentence goes on."""
    names = [labels[worker] for worker in workers]
    return f"worker {names[0]}" if len(names) == 1 else f"workers {listed(names)}"
