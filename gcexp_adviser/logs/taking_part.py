"""Who takes part in a log, and when: runs in which nobody waits, a server, workers that log or join late.

Which workers have a time in which iterations is a matrix ``there`` of bool (R, N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.lost_lines import that_go_on
from gcexp_adviser.logs.names import listed, typed, workers_in_words
from gcexp_adviser.logs.parsed import Parsed

_ENOUGH = 10  # iterations from which on a pattern is no chance
_ALONE = 0.95  # share of the steps with one worker, from which on nobody waits
_JOINED = 5  # first steps without a row from which on a worker joined later
_IN_STEP = 0.95  # share of a worker's rows at its own cadence
_LEFT_SINCE = 20  # iterations from which on those since all workers are there suffice
#: What serves others, and numbers that stand for all workers, as names of workers.
_SERVERS = frozenset(
    """
    server master coordinator aggregator parameter_server param_server ps chief driver scheduler evaluator
    """.split()
)
_AGGREGATES = frozenset("all mean avg average median max min total sum overall global std".split())


def at_common_steps(log: Parsed) -> TraceFile:
    """The record at the steps at which all workers log, and since all are there.

    Raises
    ------
    DataError
        For a run in which each step is the update of one worker; where one of the workers seems to be the server.
    """
    record = log.record
    there = ~np.isnan(record.values["time"])
    if one_worker_each(there):
        cure = "; where each worker counts its own: columns=iteration:none"
        if that_go_on(there[there.any(axis=1)].argmax(axis=1)):
            cure = ""  # numbered rows would not be of one iteration
        raise DataError(
            f"{log.place}: there is one worker in each iteration, so the run seems to be asynchronous: nobody waits "
            f"for anybody, and there is nothing to advise on{cure}"
        )
    others = servers_and_totals(record.labels)
    if others and log.worker and not log.every_row:
        cure = typed(f"{log.worker}:{'+'.join(others)}")
        raise DataError(
            f"{log.place}: {listed(others)} may be no worker, but a server, which waits for all others, or a number of "
            f"all workers, as their mean. Leave these rows out: without={cure}; where it is a worker: without=none"
        )
    if there.all() or not record.flags.persistent:
        return record
    every = cadences(there)
    common = np.flatnonzero(there[:, every > 1].all(axis=1))
    if every.max() > 1 and len(common) > 1:
        rare = np.flatnonzero(every > 1)
        told = (
            f"{workers_in_words(record.labels, rare)} logged every {every.max()} iterations, others more: kept "
            f"{len(common)} common iterations of {len(there)}"
        )
        return _with_rows(record, common, told, sampled=True)
    joined = join_later(there)
    if not joined:
        return record
    first = max(joined.values())
    told = f"{workers_in_words(record.labels, list(joined))} joined later, with iteration {first}"
    if len(there) - first >= _LEFT_SINCE:
        since = np.arange(first, len(there))
        return _without_those_gone(_with_rows(record, since, f"{told}: left out the iterations before"))
    return replace(record, decisions=(*record.decisions, f"{told}: before, they are missing"))


def refuse_other_counting(log: Parsed) -> None:
    """Raise `DataError` where some workers seem to count their iterations from another number than the others."""
    if not log.iteration or not log.worker or log.is_numbered:
        return
    others = that_count_otherwise(~np.isnan(log.record.values["time"]))
    if others:
        raise DataError(
            f"{log.place}: of {workers_in_words(log.record.labels, others)} the rows begin and end one iteration "
            "earlier or later than those of others, as where it is counted from 0 and from 1: to number the rows of "
            "each in their order: "
            f"columns=iteration:none; where the numbers are right: columns=iteration:{typed(log.iteration)}"
        )


def that_count_otherwise(there: np.ndarray) -> list[int]:
    """The fewer of the workers (R, N) that have all rows but the first, where others have all but the last; or none.

    >>> there = np.ones((30, 3), bool)
    >>> there[0, 1] = there[-1, [0, 2]] = False
    >>> that_count_otherwise(there), that_count_otherwise(np.ones((30, 3), bool))
    ([1], [])
    """
    if len(there) < _ENOUGH or (there[0] == there[-1]).any() or there[1:-1].mean(axis=0).min() < _IN_STEP:
        return []
    late = np.flatnonzero(~there[0])
    early = np.flatnonzero(~there[-1])
    return min(late, early, key=len).tolist()


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
    told = f"left out {workers_in_words(record.labels, np.flatnonzero(is_gone))}, which had gone before"
    return replace(
        record,
        workers=tuple(record.workers[worker] for worker in here),
        names=tuple(record.names[worker] for worker in here) if record.names else (),
        values={name: matrix[:, here] for name, matrix in record.values.items()},
        chunks=None if record.chunks is None else record.chunks[:, here],
        missing=missing if missing.any() else None,
        decisions=(*record.decisions, told),
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


def servers_and_totals(labels: Sequence[str]) -> list[str]:
    """The labels that are those of servers, or of numbers of all workers, among others that are of workers.

    >>> (
    ...     servers_and_totals(["w0", "w1", "ps0"]),
    ...     servers_and_totals(["0", "1", "all"]),
    ...     servers_and_totals(["ps0", "ps1"]),
    ... )
    (['ps0'], ['all'], [])
    """
    names = [label.strip().lower().replace("-", "_") for label in labels]
    serve = [name.rstrip("_0123456789") in _SERVERS for name in names]
    if len(labels) < 3 or 2 * sum(serve) > len(labels):
        serve = [False] * len(labels)
    return [
        label
        for label, name, serves in zip(labels, names, serve, strict=True)
        if serves or name in _AGGREGATES
    ]
