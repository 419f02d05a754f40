"""Recorded times as `gcexp fit` and `gcexp advise` take them: complete rows of the same workers, of one load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from gcexp.delays.trace_loads import Loads, loads_of
from gcexp.errors import DataError, UserError, require_known
from gcexp.traces.missing import LEFT_OUT, Absent, MissingRows, described, late_otherwise, ways
from gcexp.traces.record import TraceFile
from gcexp_adviser.diagnosis.barrier import barrier as barrier_test
from gcexp_adviser.diagnosis.barrier import stamped_after_waiting
from gcexp_adviser.diagnosis.phi import share_of_compute, share_of_loads
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.logs.reading import read
from gcexp_adviser.logs.taking_part import as_many_but_others, share_there
from gcexp_adviser.page import counted

#: How far the middle worker of a pause is above its usual time: in logarithms, and in median absolute deviations.
_PAUSE = np.log(10.0)
_SELDOM = 0.5  # share of the iterations with a row of a worker, below which missing rows are no exception
_DEVIATIONS = 8 * 1.4826


@dataclass(frozen=True)
class Recorded:
    """The times of a trace."""

    trace: TraceFile
    loads: Loads  # of all iterations of the trace
    every: np.ndarray = field(repr=False)  # (T0, n): times of the iterations at the own load
    x: np.ndarray = field(repr=False)  # (T, n): the same without iterations from which nothing can be learned
    rows: np.ndarray = field(repr=False)  # (T,): numbers of these iterations in the trace
    chunks: np.ndarray | None = field(repr=False)  # (T, n, M)
    phi: (
        Number | None
    )  # share of the time that does not grow with the load, at the own load, where it was measured
    phi_unknown: str  # why it was not
    notes: tuple[str, ...]  # what was left out, and what is doubtful
    source: str  # the file as it was named; empty for times in memory, which no command can replay
    absent: Absent  # what became of missing rows
    timeout: float | None  # the time of those that are late, where it was given
    missing: MissingRows | None  # which rows the trace lacks

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
    """A trace without gaps, and in which way its missing rows were taken; `how` is that in words, for a second way."""

    trace: TraceFile
    absent: Absent
    how: str = ""
    timeout: float | None = None


def ways_of(gaps: TraceFile, absent: Absent | None, timeout: float | None = None) -> list[Way]:
    """A trace without gaps in each of the ways in which its missing rows are taken, the main one first.

    Where nothing was said they are late, and the answers beside that are: late by another time, and left out with their
    iterations.
    """
    if absent is None:
        _refuse_sampled(gaps)
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


def _refuse_sampled(gaps: TraceFile) -> None:
    """Raise `UserError` where as many workers have a row in each iteration, and not the same ones: two answers fit."""
    if gaps.missing is None or not gaps.lacks_rows:
        return
    times = gaps.values["time"]
    asked = as_many_but_others(~gaps.missing)
    if not asked:
        _refuse_seldom(gaps.name, share_there(~gaps.missing))
        return
    waiting = float(np.nanmax(times, axis=1).mean())
    own = np.nanmedian(times / np.nanmedian(times, axis=1, keepdims=True), axis=0)
    slowest = int(own.argmax())
    raise UserError(
        f"{gaps.name}: {asked} of {times.shape[1]} workers have a row in each iteration, and not the same ones. Either "
        f"{asked} are sampled and asked in each: then waiting for those takes {waiting:.4g} on the mean, nobody is "
        f"missing, and worker {gaps.labels[slowest]} is the slowest, {own[slowest]:.3g} times as long as the middle of "
        f"its iterations. Or the fastest {asked} are kept: then those who are missing are stragglers: absent=late. "
        "The log cannot tell which"
    )


def _refuse_seldom(name: str, share: float) -> None:
    """Raise `UserError` where the share of iterations in which workers have a row is small."""
    if share < _SELDOM:
        raise UserError(
            f"{name}: workers have a row in {100 * share:.0f} % of the iterations between their first and their "
            "last one: they do not seem to wait for each other, as where each serves requests of its own, or other "
            "workers are asked in each iteration. Where all wait for all, and those without a row were late: "
            "absent=late; absent=skip takes the iterations in which all have a row"
        )


def recorded(source: object, absent: Absent = "refuse", barrier: str = "check", seed: int = 0) -> Recorded:
    """The times of a trace, whose missing rows are taken in one way; the parameters are those of `gcexp.fit`."""
    gaps = read(source)
    way, *_ = ways_of(gaps, absent)
    return recorded_without_gaps(gaps, way, barrier, seed)


def recorded_without_gaps(gaps: TraceFile, way: Way, barrier: str = "check", seed: int = 0) -> Recorded:
    """The times of a trace without gaps; it refuses what no answer can rest on.

    `gaps` is the same with its gaps, and `way` how these were taken; the other parameters are those of `gcexp.fit`.
    """
    trace, absent = way.trace, way.absent
    require_known("barrier", barrier, ("check", "no"))
    if not trace.flags.persistent and len(trace.values["time"]) > 1:
        raise DataError(
            f"{trace.name} has new workers in every row (persistent: false): nothing can be said of a worker"
        )
    notes = list(trace.decisions)
    if trace.left_out:
        notes.append(f"Left out because workers are missing: {counted(trace.left_out, 'iteration')}.")
    loads = loads_of(trace)
    every = trace.values["time"][loads.own_rows]
    if barrier == "check":
        notes += _doubts(trace, every)
    if loads.several:
        waiting = every.max(1).mean()
        notes.append(
            f"{loads.sentence} Waiting for all takes {waiting:.4g} at load {loads.own:g} on the mean."
        )
    phi, phi_unknown = _phi(trace, loads, seed)
    kept, left_out = _kept(every)
    notes += left_out

    numbers = loads.own_rows
    if absent == "skip" and gaps.missing is not None:
        numbers = np.flatnonzero(~gaps.missing.any(1))[numbers]
    chunks = None
    if trace.chunks is not None:
        chunks = trace.chunks[loads.own_rows][kept]
    return Recorded(
        trace=trace,
        loads=loads,
        every=every,
        x=every[kept],
        rows=numbers[kept],
        chunks=chunks,
        phi=phi,
        phi_unknown=phi_unknown,
        notes=tuple(notes),
        source=gaps.source,
        absent=absent,
        timeout=way.timeout,
        missing=described(gaps),
    )


def _doubts(trace: TraceFile, every: np.ndarray) -> list[str]:
    """What speaks for a stamp after the all-reduce; `UserError` where the times (T0, n) tell nothing of the workers."""
    compute = trace.values.get("compute")
    if compute is not None:
        waited = stamped_after_waiting(every, compute[loads_of(trace).own_rows])
        if waited:
            raise UserError(
                f"{trace.name}: {waited}. Take the compute times: columns=time:compute; where the times are right: "
                "barrier=no"
            )
    verdict, said = barrier_test(every)
    if verdict == "equalised":
        raise UserError(f"{trace.name}: {said}; if these are compute times, say barrier=no{_hint(trace)}")
    return [f"Doubtful: {said}.{_hint(trace)}"] if verdict else []


def _phi(trace: TraceFile, loads: Loads, seed: int) -> tuple[Number | None, str]:
    """The share of the time that does not grow with the load, or None and why it was not measured."""
    if loads.several:
        return share_of_loads(trace.values["time"], loads.of_rows, seed)
    if "compute" in trace.values:
        return share_of_compute(trace.values["time"], trace.values["compute"], seed)
    return None, "the trace has one load and no column compute"


def _kept(x: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Rows (T,) from which something can be learned, and what is told of the others."""
    row = np.median(np.log(x), axis=1)
    above = row - np.median(row)
    paused = above > max(_PAUSE, _DEVIATIONS * np.median(np.abs(above)))
    longest = x.max(1) * ~paused
    alone = np.zeros(len(x), bool)
    if len(x) > 2:
        alone = 2 * longest > longest.sum()
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
    return ~(paused | alone), told


def _hint(trace: TraceFile) -> str:
    """Where the column compute still tells the workers apart, say so."""
    compute = trace.values.get("compute")
    if compute is None or not (compute > 0).all():
        return ""
    apart = np.median(np.log(compute).std(axis=1, ddof=1)) > 0.03
    return "; the column compute differs between workers: take it as the time" if apart else ""
