"""Recorded times as `gcexp fit` and `gcexp advise` take them: complete rows of the same workers, of one load."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from gcexp.advice.mechanisms import Number, share_of_compute, share_of_loads
from gcexp.advice.page import counted
from gcexp.delays.trace_file import Absent, TraceFile, barrier_said, trace_of
from gcexp.errors import DataError, UserError, require, require_known

_PAUSE, _DEVIATIONS = np.log(10.0), 8 * 1.4826


@dataclass(frozen=True)
class Recorded:
    """The times of a trace.

    Attributes
    ----------
    trace : TraceFile
    x : ndarray (T, n)
        Times of the workers with their own share of the data.
    chunks : ndarray (T, n, M), optional
    phi : Number, optional
        Share of the time that does not grow with the load, where it was measured.
    phi_unknown : str
        Why it was not.
    notes : tuple of str
        What was left out, and what is doubtful.
    source : str
        The file as it was named, or the name of the trace; what is in memory cannot be replayed by a command.
    is_file : bool
    """

    trace: TraceFile
    x: np.ndarray = field(repr=False)
    chunks: np.ndarray | None = field(repr=False)
    phi: Number | None
    phi_unknown: str
    notes: tuple[str, ...]
    source: str
    is_file: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """What the workers are called."""
        return self.trace.labels

    @property
    def unit(self) -> str:
        """Of the times, with a blank before it; empty where it is not known or has no short name."""
        unit = self.trace.flags.unit
        return f" {unit}" if 0 < len(unit) <= 3 else ""

    @property
    def digest(self) -> str:
        """Of the times."""
        return sha256(np.ascontiguousarray(self.x)).hexdigest()

    def facts(self) -> dict[str, Any]:
        """What stands first in a file of results."""
        (T, n), digest = self.x.shape, self.digest
        known = {"trace": self.trace.name, "sha256": digest, "iterations": T, "workers": n}
        return known | {"unit": self.trace.flags.unit}

    def usual(self) -> tuple[np.ndarray, int]:
        """Rows without pauses of the whole cluster, in which half of the workers are ten times as slow as usual."""
        row = np.median(np.log(self.x), axis=1)
        middle = np.median(row)
        kept = row - middle <= max(_PAUSE, _DEVIATIONS * np.median(np.abs(row - middle)))
        return self.x[kept], int((~kept).sum())


def recorded(source: object, absent: Absent = "refuse", barrier: str = "check", seed: int = 0) -> Recorded:
    """Read times and refuse what no answer can rest on.

    Parameters
    ----------
    source : path, name of a bundled trace, DataFrame, array, TraceFile or Recorded
    absent : {"refuse", "skip"}
        Whether iterations with missing workers are refused or left out.
    barrier : {"check", "no"}
        ``no``: the times are known to be those of the workers themselves.
    seed : int
        Of resampling.

    Raises
    ------
    UserError
        For a broken trace, workers that are new in every row, and times that were stamped after a barrier.
    """
    require_known("absent", absent, ("refuse", "skip"))
    require_known("barrier", barrier, ("check", "no"))
    if isinstance(source, Recorded):
        return source
    trace = trace_of(source, absent)
    x = trace.values["time"]
    if not trace.flags.persistent and len(x) > 1:
        raise DataError(
            f"{trace.name} has new workers in every row (persistent: false): nothing can be said of a worker"
        )
    notes = []
    if trace.left_out:
        notes.append(f"Left out because workers are missing: {counted(trace.left_out, 'iteration')}.")
    verdict, said = barrier_said(x) if barrier == "check" else ("", "")
    if verdict == "equalised":
        raise UserError(f"{trace.name}: {said}; if these are compute times, say barrier=no{_hint(trace)}")
    if verdict:
        notes.append(f"Doubtful: {said}.{_hint(trace)}")
    loads, chunks = _loads(trace), trace.chunks
    phi, why = None, "the trace has one load and no column compute"
    if loads is not None:
        phi, why = share_of_loads(x, loads, seed)
        own = loads == loads.min()
        notes.append(f"Only the {own.sum()} iterations with load {loads.min():g} say how workers differ.")
        x, chunks = x[own], None if chunks is None else chunks[own]
    elif "compute" in trace.values:
        phi, why = share_of_compute(x, trace.values["compute"], seed)
    is_file = isinstance(source, str | Path)
    return Recorded(trace, x, chunks, phi, why, tuple(notes), str(source) if is_file else trace.name, is_file)


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


def share(value: Any) -> tuple[float, ...]:
    """The share phi, or its range, as a person gives it: a number, ``low,high`` or a pair.

    Examples
    --------
    >>> share("0.5"), share("0,1"), share((0.2, 0.4))
    ((0.5,), (0.0, 1.0), (0.2, 0.4))
    """
    try:
        found = np.array(value.split(",") if isinstance(value, str) else value, float).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    fits = len(found) in (1, 2) and (np.diff(found) > 0).all() and ((found >= 0) & (found <= 1)).all()
    shown = value if isinstance(value, str) else repr(value)
    require(bool(fits), f"phi is a share in [0, 1] or a range low,high, got {shown}")
    return tuple(found.tolist())
