"""Recorded times as `gcexp fit` and `gcexp advise` take them: rows of the same workers, of one load.

Missing rows have an assumed time in what is priced (`Recorded.x`) and none in what is learned of the workers
(`Recorded.logged`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from gcexp.delays.trace_loads import Loads, loads_of
from gcexp.errors import DataError, UserError, require_known
from gcexp.traces.missing import (
    LEFT_OUT,
    SAMPLED,
    Absent,
    MissingRows,
    check_absent,
    described,
    late_otherwise,
    ways,
)
from gcexp.traces.record import TraceFile
from gcexp_adviser.diagnosis.barrier import doubts
from gcexp_adviser.diagnosis.level_changes import Levels, levels_of
from gcexp_adviser.diagnosis.logged import longest, median
from gcexp_adviser.diagnosis.phi import share_of_compute, share_of_loads
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.diagnosis.sampled import may_be_sampled, refuse_sampled
from gcexp_adviser.logs.reading import read
from gcexp_adviser.page import counted

#: How far the middle worker of a pause is above its usual time: in logarithms, and in median absolute deviations.
_PAUSE = np.log(10.0)
_DEVIATIONS = 8 * 1.4826
_LEAST_NUMBERED = 4  # workers from which on a number that lacks is no chance
_LEAST_TO_LEARN = 4  # iterations of which one half is learned from, and the other judges


@dataclass(frozen=True)
class Recorded:
    """The times of a trace.

    Attributes
    ----------
    record : TraceFile
        As it was read, with its gaps.
    trace : TraceFile
        The same without gaps, unless workers are sampled.
    loads : Loads
        Of all iterations of the trace.
    every : ndarray (T0, n)
        Times of the iterations at the own load.
    x : ndarray (T, n)
        The same without iterations from which nothing can be learned.
    logged : ndarray (T, n)
        The same, and NaN where rows are missing.
    rows : ndarray (T,)
        Numbers of these iterations in the trace.
    chunks : ndarray (T, n, M), optional
        Times of chunks, NaN likewise.
    notes : tuple of str
        What was left out, and what is doubtful.
    absent : {"refuse", "late", "skip", "sampled"}
        What became of missing rows.
    timeout : float, optional
        The time of those that are late, where it was given.
    seed : int
        Of resampling.
    """

    record: TraceFile
    trace: TraceFile
    loads: Loads
    every: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    logged: np.ndarray = field(repr=False)
    rows: np.ndarray = field(repr=False)
    chunks: np.ndarray | None = field(repr=False)
    notes: tuple[str, ...]
    absent: Absent
    timeout: float | None
    seed: int

    @cached_property
    def missing(self) -> MissingRows | None:
        """Which rows the record lacks; None where it lacks none, and where workers are sampled."""
        return None if self.absent == SAMPLED else described(self.record)

    @cached_property
    def levels(self) -> Levels:
        """Changes of level and spells of single workers; a sampled worker that was not asked for long has not gone."""
        found = levels_of(np.log(self.logged))
        return replace(found, gone={}) if self.absent == SAMPLED else found

    @property
    def phi(self) -> Number | None:
        """Share of the time that does not grow with the load, at the own load, where it can be measured."""
        return self._phi[0]

    @property
    def phi_unknown(self) -> str:
        """Why it cannot; empty where it can."""
        return self._phi[1]

    @cached_property
    def _phi(self) -> tuple[Number | None, str]:
        """The measured share, or None and why there is none."""
        if self.loads.several:
            return share_of_loads(self.trace.logged, self.loads.of_rows, self.seed)
        if "compute" in self.trace.values:
            return share_of_compute(self.trace.logged, self.trace.values["compute"], self.seed)
        return None, "the trace has one load and no column compute"

    @property
    def too_little(self) -> str:
        """Why no remedy can be learned on one half of the times and judged on the other; empty where one can."""
        return too_little_of(self.trace.name, self.x)

    def named(self, workers: Iterable[int]) -> list[str]:
        """What the workers of some columns are called."""
        return [self.trace.labels[w] for w in workers]

    def iteration(self, row: int) -> int:
        """Number in the trace of a row of `x`."""
        return int(self.rows[row])

    @property
    def mean_of_missing(self) -> float:
        """Mean time that missing rows are taken to have had, at the own load; NaN where none is missing there."""
        own = self.loads.own_rows
        if self.trace.missing is None or not self.trace.missing[own].any():
            return float("nan")
        return float(self.trace.values["time"][own][self.trace.missing[own]].mean())

    @property
    def facts(self) -> dict[str, Any]:
        """What stands first in a file of results."""
        T, n = self.every.shape
        return {
            "trace": self.trace.name,
            "sha256": sha256(np.ascontiguousarray(self.every)).hexdigest(),
            "iterations": T,
            "workers": n,
            "own_load": self.loads.own,
            "iterations_by_load": {f"{load:g}": count for load, count in self.loads.counts.items()},
            "unit": self.trace.flags.unit,
        }

    @property
    def named_phi(self) -> str:
        """What phi is called: with the own load, where the trace has several."""
        return f"phi at load {self.loads.own:g}" if self.loads.several else "phi"


@dataclass(frozen=True)
class Way:
    """A record without gaps, and in which way its missing rows were taken; `how` is that in words, for a second way."""

    trace: TraceFile
    absent: Absent
    how: str = ""
    timeout: float | None = None


def ways_of(gaps: TraceFile, absent: Absent | None, timeout: float | None = None) -> list[Way]:
    """A trace without gaps in each of the ways in which its missing rows are taken, the main one first.

    Where nothing was said they are late, and the answers beside that are: late by another time, and left out with their
    iterations. Where workers are sampled, the gaps stay: nobody was asked there.
    """
    if absent == SAMPLED:
        check_absent(absent, timeout)
        return [Way(gaps, absent)]
    if absent is None:
        refuse_sampled(gaps)
    traces = ways(gaps, absent, timeout)
    if absent is not None:
        return [Way(traces[absent], absent, timeout=timeout)]
    if "late" not in traces:
        return [Way(traces["whole"], "refuse")]
    found = [Way(traces["late"], "late", timeout=timeout)]
    otherwise = late_otherwise(gaps, timeout)
    if otherwise is not None:
        how, trace = otherwise
        found.append(Way(trace, "late", how, timeout))
    if "skip" in traces:
        found.append(Way(traces["skip"], "skip", LEFT_OUT))
    return found


def ways_to_advise(gaps: TraceFile, absent: Absent | None = None) -> list[list[str]]:
    """Words behind a file with which gcexp advise answers: one way, several where it would ask which, or none."""
    if absent is None and may_be_sampled(gaps):
        return [[f"absent={SAMPLED}"], ["absent=late"]]
    try:
        way, *_ = ways_of(gaps, absent)
        times = recorded_in(gaps, way)
    except UserError:
        return []
    if times.too_little:
        return []
    return [[] if absent is None else [f"absent={absent}"]]


def recorded(source: object, absent: Absent = "refuse", barrier: str = "check", seed: int = 0) -> Recorded:
    """The times of a trace, whose missing rows are taken in one way; the parameters are those of `gcexp.fit`."""
    record = read(source)
    way, *_ = ways_of(record, absent)
    return recorded_in(record, way, barrier, seed)


def recorded_in(record: TraceFile, way: Way, barrier: str = "check", seed: int = 0) -> Recorded:
    """The times of a record whose missing rows are taken in one way; it refuses what no answer can rest on.

    The other parameters are those of `gcexp.fit`.
    """
    require_known("barrier", barrier, ("check", "no"))
    trace = way.trace
    if not trace.flags.persistent and len(trace.values["time"]) > 1:
        raise DataError(
            f"{trace.name} has new workers in every row (persistent: false): nothing can be said of a worker"
        )
    loads = loads_of(trace)
    rows = loads.own_rows
    every = trace.values["time"][rows]
    logged = trace.logged[rows]
    notes = [*trace.decisions, *_who_takes_part(trace, way.absent)]
    if trace.left_out:
        notes.append(f"Left out because workers are missing: {counted(trace.left_out, 'iteration')}.")
    if barrier == "check":
        notes += doubts(trace, logged, rows)
    if loads.several:
        waiting = longest(every).mean()
        notes.append(
            f"{loads.sentence} Waiting for all takes {waiting:.4g} at load {loads.own:g} on the mean."
        )
    kept, left_out = _kept(every, logged)
    notes += left_out
    _require_a_row_of_each(trace, logged[kept], loads)

    numbers = rows
    if way.absent == "skip" and record.missing is not None:
        numbers = np.flatnonzero(~record.missing.any(1))[rows]
    chunks = None
    if trace.chunks is not None:
        there = ~np.isnan(logged[kept])[..., None]
        chunks = np.where(there, trace.chunks[rows][kept], np.nan)
    return Recorded(
        record=record,
        trace=trace,
        loads=loads,
        every=every,
        x=every[kept],
        logged=logged[kept],
        rows=numbers[kept],
        chunks=chunks,
        notes=tuple(notes),
        absent=way.absent,
        timeout=way.timeout,
        seed=seed,
    )


def doubts_of(trace: TraceFile, barrier: str = "check") -> list[str]:
    """What makes a trace without gaps doubtful, where its rows are replayed as they are.

    `recorded_in` asks the same; of workers that are new in every row nothing is asked.

    Raises
    ------
    UserError
        Where times were stamped after a barrier, unless `barrier` is "no".
    """
    require_known("barrier", barrier, ("check", "no"))
    if not trace.flags.persistent:
        return []
    rows = loads_of(trace).own_rows
    logged = trace.logged[rows]
    found = []
    if barrier == "check":
        found += doubts(trace, logged, rows)
    too_little = too_little_of(trace.name, logged)
    if too_little:
        found.append(f"Doubtful: {too_little}.")
    return found


def too_little_of(name: str, times: np.ndarray) -> str:
    """Why no remedy can be learned on one half of times (T, n) and judged on the other; empty where one can."""
    rows, workers = times.shape
    if workers < 2:
        return f"{name} has one worker: there is nothing to code and nobody to wait for"
    if rows < _LEAST_TO_LEARN:
        return (
            f"{name} has {counted(rows, 'iteration')}: too few to learn from one half and judge on the other"
        )
    return ""


def _require_a_row_of_each(trace: TraceFile, logged: np.ndarray, loads: Loads) -> None:
    """Raise `DataError` for a worker without a row in times (T, n), of which nothing can be said."""
    silent = np.flatnonzero(np.isnan(logged).all(axis=0))
    if len(silent):
        worker = trace.labels[silent[0]]
        at_load = f" at the run's own load {loads.own:g}" if loads.several else ""
        raise DataError(
            f"{trace.name}: worker {worker} has no row{at_load} in iterations that count, so that nothing can be said "
            "of it; leave its other rows out of the log"
        )


def _who_takes_part(trace: TraceFile, absent: Absent) -> Iterator[str]:
    """How many workers were asked where they are sampled, and whether one that takes part may have no row."""
    if absent == SAMPLED and trace.missing is not None:
        asked = np.count_nonzero(~trace.missing, axis=1)
        usual = f"{asked.min()}" if asked.min() == asked.max() else f"{asked.min()} to {asked.max()}"
        waiting = longest(trace.values["time"]).mean()
        yield (
            f"{usual} of {len(trace.workers)} workers were asked in each iteration (absent=sampled), and nobody is "
            f"missing: waiting for those who were asked takes {waiting:.4g} on the mean, and remedies are for them."
        )
    silent = _number_without_rows(trace)
    if silent is not None:
        yield (
            f"Workers are numbered {trace.workers[0]} to {trace.workers[-1]}, and {silent} has no row at all: if it "
            "takes part, it is missing in every iteration, which the log cannot tell."
        )


def _number_without_rows(trace: TraceFile) -> int | None:
    """The one number that lacks among those of at least four workers that count from 0 or 1."""
    if trace.names or len(trace.workers) < _LEAST_NUMBERED or trace.workers[0] > 1:
        return None
    between = trace.workers[-1] - trace.workers[0] + 1
    if between != len(trace.workers) + 1:
        return None
    (silent,) = set(range(trace.workers[0], trace.workers[-1])) - set(trace.workers)
    return silent


def _kept(x: np.ndarray, logged: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Rows (T,) of times (T, n) from which something can be learned, and what is told of the others."""
    there = ~np.isnan(logged).all(axis=1)
    row = median(np.log(logged), axis=1)
    above = row - np.median(row[there])
    paused = there & (above > max(_PAUSE, _DEVIATIONS * np.median(np.abs(above[there]))))
    took = np.where(paused | ~there, 0.0, longest(x))
    alone = np.zeros(len(x), bool)
    if len(x) > 2:
        alone = 2 * took > took.sum()
    told = []
    if paused.any():
        told.append(
            f"Left out: {counted(int(paused.sum()), 'iteration')} in which the whole cluster paused: half of the "
            "workers took more than ten times as long as usual."
        )
    if alone.any():
        told.append(
            "Left out: an iteration that took longer than all others together: one event does not tell how often it "
            "comes."
        )
    if not there.all():
        told.append(f"Left out: {counted(int((~there).sum()), 'iteration')} in which no worker has a row.")
    return ~(paused | alone) & there, told
