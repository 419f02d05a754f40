"""Recorded times as `gcexp fit` and `gcexp advise` take them: complete rows of the same workers, of one load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from gcexp.advice.page import counted
from gcexp.advice.phi import share_of_compute, share_of_loads
from gcexp.advice.resampling import Number
from gcexp.delays.trace_file import Absent, TraceFile, trace_of
from gcexp.delays.trace_structure import barrier as barrier_test
from gcexp.errors import DataError, UserError, require_known

_PAUSE, _DEVIATIONS = np.log(10.0), 8 * 1.4826


@dataclass(frozen=True)
class Recorded:
    """The times of a trace."""

    trace: TraceFile
    every: np.ndarray = field(repr=False)  # (T0, n): times of the workers with their own share of the data
    x: np.ndarray = field(repr=False)  # (T, n): the same without iterations from which nothing can be learned
    chunks: np.ndarray | None = field(repr=False)  # (T, n, M)
    phi: Number | None  # share of the time that does not grow with the load, where it was measured
    phi_unknown: str  # why it was not
    notes: tuple[str, ...]  # what was left out, and what is doubtful
    source: str  # the file as it was named; empty for times in memory, which no command can replay

    def named(self, workers: Iterable[int]) -> list[str]:
        """What the workers of some columns are called."""
        return [self.trace.labels[w] for w in workers]

    @property
    def facts(self) -> dict[str, Any]:
        """What stands first in a file of results."""
        (T, n), digest = self.every.shape, sha256(np.ascontiguousarray(self.every)).hexdigest()
        known = {"trace": self.trace.name, "sha256": digest, "iterations": T, "workers": n}
        return known | {"unit": self.trace.flags.unit}


def recorded(source: object, absent: Absent = "refuse", barrier: str = "check", seed: int = 0) -> Recorded:
    """Read times and refuse what no answer can rest on; the parameters are those of `gcexp.fit`."""
    require_known("absent", absent, ("refuse", "skip"))
    require_known("barrier", barrier, ("check", "no"))
    trace = trace_of(source, absent)
    x, chunks = trace.values["time"], trace.chunks
    if not trace.flags.persistent and len(x) > 1:
        raise DataError(
            f"{trace.name} has new workers in every row (persistent: false): nothing can be said of a worker"
        )
    notes = []
    if trace.left_out:
        notes.append(f"Left out because workers are missing: {counted(trace.left_out, 'iteration')}.")
    verdict, said = barrier_test(x) if barrier == "check" else ("", "")
    if verdict == "equalised":
        raise UserError(f"{trace.name}: {said}; if these are compute times, say barrier=no{_hint(trace)}")
    if verdict:
        notes.append(f"Doubtful: {said}.{_hint(trace)}")
    loads = _loads(trace)
    phi, why = None, "the trace has one load and no column compute"
    if loads is not None:
        phi, why = share_of_loads(x, loads, seed)
        own = loads == loads.min()
        notes.append(f"Only the {own.sum()} iterations with load {loads.min():g} say how workers differ.")
        x, chunks = x[own], None if chunks is None else chunks[own]
    elif "compute" in trace.values:
        phi, why = share_of_compute(x, trace.values["compute"], seed)
    kept, paused = _kept(x)
    notes += paused
    chunks = None if chunks is None else chunks[kept]
    named = str(source) if isinstance(source, str | Path) else ""
    return Recorded(trace, x, x[kept], chunks, phi, why, tuple(notes), named)


def _kept(x: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Rows (T,) from which something can be learned, and what is told of the others."""
    row = np.median(np.log(x), axis=1)
    above = row - np.median(row)
    paused = above > max(_PAUSE, _DEVIATIONS * np.median(np.abs(above)))
    longest = x.max(1) * ~paused
    alone = 2 * longest > longest.sum() if len(x) > 2 else np.zeros(len(x), bool)
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


def _loads(trace: TraceFile) -> np.ndarray | None:
    """Load of each iteration, where there are several."""
    load = trace.values.get("load")
    if load is None or np.isnan(load).any() or np.ptp(load) == 0:
        return None
    mixed = np.flatnonzero(np.ptp(load, axis=1) > 0)
    if len(mixed):
        seen = " and ".join(f"{value:g}" for value in np.unique(load[mixed[0]])[:2])
        raise DataError(
            f"trace {trace.name}: iteration {mixed[0]} has loads {seen}; one load per iteration is supported"
        )
    return load[:, 0]
