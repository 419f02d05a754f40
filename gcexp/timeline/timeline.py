"""A timeline: what the clock says of a run, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from gcexp.errors import require
from gcexp.files import written


@dataclass(frozen=True)
class Timeline:
    """What happened in S seeds of at most T iterations.

    Attributes
    ----------
    seeds : ndarray (S,)
    steps : ndarray (S,)
        Iterations run by each seed; later entries of the rows below are not part of the run.
    duration : ndarray (S, T)
        Length of each iteration in simulated time.
    pattern : ndarray (S, T)
        Row of `patterns` and `coefficients` that the iteration decoded with.
    patterns : ndarray (U, n)
        Distinct patterns: messages used of each worker.
    coefficients : ndarray (U, k)
        The decoded vector is sum_i coefficients[u, i] * g_i; a row of zeros skips the update. Truth values where all of
        them are 0 or 1, so that they take an eighth. All are 0 where the scheme decodes nothing.
    residual : ndarray (U,)
        Certificate of the decode; NaN where the coefficients are what the code promises and no decode was asked for.
    messages : ndarray (U, M), optional
        Which messages those are, 0 or 1 each, where the waiting rule orders them; else the first of each worker.
    completed : ndarray (S, T), optional
        Of a code over time the iteration at whose end the gradient of each one is decoded, T where the run ends before;
        else each is decoded at its own end.

    Notes
    -----
    A code over time (`WaitingExtras.ages`) decodes the gradient of iteration t up to `lag` iterations later. The
    gradients of lag + 1 iterations are under way together, so they belong to lag + 1 models that are trained in turn:
    iteration t to model t mod (lag + 1), whose gradient before is decoded by then, as Krishnan et al. (arXiv
    2211.13802) describe it. No gradient is stale, and each model learns what it would learn alone. So a curve shows the
    score after u updates of one model at the time when u gradients are decoded, `finished`. That time is counted per
    model: for lag + 1 models every scheme, with a lag or without, needs lag + 1 times as long. A seed ends with the
    last iteration that is decoded together with all before it; durations of the iterations behind it are kept.
    """

    seeds: np.ndarray
    steps: np.ndarray
    duration: np.ndarray
    pattern: np.ndarray
    patterns: np.ndarray
    coefficients: np.ndarray
    residual: np.ndarray
    messages: np.ndarray | None = None
    completed: np.ndarray | None = None

    @property
    def decoded_from(self) -> np.ndarray:
        """What each pattern was decoded from, as the scheme's `decoder` counts it."""
        return self.patterns if self.messages is None else self.messages

    @property
    def used(self) -> np.ndarray:
        """Share of the gradient that each pattern uses, (sum c)^2 / (k sum c^2), and 0 where c = 0: (U,)."""
        c = self.coefficients.astype(float)
        square = (c**2).sum(axis=1)
        return np.divide(c.sum(axis=1) ** 2, c.shape[1] * square, out=np.zeros(len(c)), where=square > 0)

    @property
    def clock(self) -> np.ndarray:
        """Simulated time at the end of each iteration, (S, T)."""
        return np.cumsum(self.duration, axis=1)

    @property
    def finished(self) -> np.ndarray:
        """Simulated time at which the gradient of each iteration, and of all before it, is decoded, (S, T)."""
        clock = self.clock
        if self.completed is None:
            return clock
        never = np.full((len(clock), 1), np.inf)
        decoded_at = np.take_along_axis(np.concatenate([clock, never], axis=1), self.completed, axis=1)
        return np.maximum.accumulate(decoded_at, axis=1)

    @property
    def ran(self) -> np.ndarray:
        """Which entries of the (S, T) arrays belong to the run, boolean."""
        return np.arange(self.duration.shape[1]) < self.steps[:, None]

    def until(self, horizon: float) -> Timeline:
        """Cut each seed after the iteration that reaches simulated time `horizon`."""
        require(horizon > 0, f"horizon must be a simulated time > 0, got {horizon}")
        steps = np.minimum(self.steps, (self.finished < horizon).sum(1) + 1)
        T = int(steps.max())
        if self.completed is None:
            return replace(self, steps=steps, duration=self.duration[:, :T], pattern=self.pattern[:, :T])
        return replace(self, steps=steps)  # later iterations may complete earlier ones

    def save(self, path: Path) -> None:
        """Write all fields as one npz file for `numpy.load`.

        Tables that hold only 0 and 1 are stored as bits: ``numpy.unpackbits(table, axis=1, count=columns)`` reads them,
        with the number of columns stored beside them (``coefficients_columns``, ``patterns_columns``).
        """
        stored = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("messages", "completed"):
            if stored[name] is None:
                del stored[name]
        for name in ("patterns", "coefficients", "messages"):
            if name not in stored:
                continue
            table = stored[name]
            only_0_and_1 = table.dtype.kind in "biu" and table.max(initial=0) <= 1
            if only_0_and_1:
                bits = table if table.itemsize == 1 else table != 0
                stored[name] = np.packbits(bits, axis=1)
                stored[f"{name}_columns"] = np.array(table.shape[1])
        with written(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **stored)


def joined(timelines: Iterable[Timeline]) -> Timeline:
    """Join timelines of different seeds, each with a code of its own."""
    parts, patterns_before = [], 0
    for timeline in timelines:
        parts.append(replace(timeline, pattern=timeline.pattern + patterns_before))
        patterns_before += len(timeline.patterns)
    joint = {}
    for field in fields(Timeline):
        values = [getattr(part, field.name) for part in parts]
        joint[field.name] = None if values[0] is None else np.concatenate(values)
    return Timeline(**joint)
