"""The simulated clock: a scheme on some draws gives a timeline, all iterations and seeds at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from gcexp.errors import UserError, require
from gcexp.files import written
from gcexp.schemes.survivors import distinct

if TYPE_CHECKING:  # a job that only reads a timeline loads no codes
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme


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
        The decoded vector is sum_i coefficients[u, i] * g_i; a row of zeros skips the update.
    residual : ndarray (U,)
        Certificate of the decode.
    """

    seeds: np.ndarray
    steps: np.ndarray
    duration: np.ndarray
    pattern: np.ndarray
    patterns: np.ndarray
    coefficients: np.ndarray
    residual: np.ndarray

    @property
    def clock(self) -> np.ndarray:
        """Simulated time at the end of each iteration, (S, T)."""
        return np.cumsum(self.duration, axis=1)

    @property
    def ran(self) -> np.ndarray:
        """Which entries of the (S, T) arrays belong to the run, boolean."""
        return np.arange(self.duration.shape[1]) < self.steps[:, None]

    def until(self, horizon: float) -> Timeline:
        """Cut each seed after the iteration that reaches simulated time `horizon`."""
        require(horizon > 0, f"horizon is a simulated time > 0, got {horizon}")
        steps = np.minimum(self.steps, (self.clock < horizon).sum(1) + 1)
        T = int(steps.max())
        return replace(self, steps=steps, duration=self.duration[:, :T], pattern=self.pattern[:, :T])

    def save(self, path: Path, **more: np.ndarray) -> None:
        """Write all fields, and `more`, as one npz file."""
        with written(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **{f.name: getattr(self, f.name) for f in fields(self)}, **more)

    def _check(self) -> None:
        """Raise `ValueError` for arrays that are no timeline."""
        S, T = self.duration.shape
        U, k = len(self.patterns), self.coefficients.shape[1]
        shapes = {"seeds": (S,), "steps": (S,), "pattern": (S, T), "coefficients": (U, k), "residual": (U,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape or self.patterns.ndim != 2:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, not {shape}")
        for name in ("seeds", "steps", "pattern", "patterns"):
            if getattr(self, name).dtype.kind not in "iu":
                raise ValueError(f"{name} is of type {getattr(self, name).dtype}, not whole numbers")
        if not ((self.steps >= 1) & (self.steps <= T)).all():
            raise ValueError(f"steps are not between 1 and {T}")
        used = self.pattern[self.ran]
        if used.min() < 0 or used.max() >= U:
            raise ValueError(f"pattern names others than the {U} that are there")

    @classmethod
    def load(cls, path: Path) -> Timeline:
        """Read what `save` wrote."""
        try:
            with np.load(path) as stored:
                found = cls(**{f.name: stored[f.name] for f in fields(cls)})
                found._check()
                return found
        except FileNotFoundError:
            raise UserError(f"there is no timeline {path}; make it first") from None
        except (OSError, EOFError, KeyError, ValueError, IndexError, TypeError, BadZipFile) as error:
            raise UserError(
                f"{path} is not a timeline written by this version ({error}); delete it and run again"
            ) from None


def run_clock(scheme: Scheme, delay: DelayModel, seeds: Sequence[int], iterations: int) -> Timeline:
    """Draw the delays of some seeds and run the clock of one scheme: where every simulated time comes from.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> from gcexp.delays import ShiftedExponential
    >>> from gcexp.schemes import Fastest, Scheme
    >>> timeline = run_clock(
    ...     Scheme(Uncoded(n=4), Fastest(s=1)), ShiftedExponential(), seeds=(0, 1), iterations=5
    ... )
    >>> timeline.duration.shape
    (2, 5)
    """
    return simulate(scheme, delay.draw(tuple(seeds), iterations, scheme.code.n))


def simulate(scheme: Scheme, draws: Draws) -> Timeline:
    """Run the clock of one scheme on draws that are at hand.

    Each distinct pattern is decoded once.

    Parameters
    ----------
    scheme : Scheme
    draws : Draws
        (S, T, n) random parts; n must be the code's.

    Raises
    ------
    ParameterError
        If the draws are for another number of workers, or the waiting rule does not fit the code.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> from gcexp.delays import ShiftedExponential
    >>> from gcexp.schemes import Fastest, Scheme
    >>> draws = ShiftedExponential(shift=1.0).draw(seeds=(0, 1), iterations=5, n=4)
    >>> timeline = simulate(Scheme(CyclicRepetition(n=4, s=1), Fastest(s=1)), draws)
    >>> timeline.duration.shape, bool((timeline.coefficients == 1).all())
    ((2, 5), True)
    """
    code = scheme.code
    require(draws.shape[2] == code.n, f"draws are for {draws.shape[2]} workers, {code!r} has {code.n}")
    if scheme.placement is not None:
        draws = draws.seated(scheme.placement.seat(draws.is_slow, draws.seeds, Game(scheme, draws)))
    time, heard = scheme.wait.stop(code, partial(_arrive, scheme, draws))
    patterns, pattern = distinct(heard)
    decoding = code.decode(patterns)
    return Timeline(
        seeds=np.array(draws.seeds),
        steps=np.full(len(draws.seeds), draws.shape[1]),
        duration=time + scheme.overhead if scheme.overhead else time,
        pattern=pattern,
        patterns=patterns,
        coefficients=decoding.coefficients,
        residual=decoding.residual,
    )


def _arrive(scheme: Scheme, draws: Draws, r: int | None = None) -> np.ndarray:
    """Arrival (S, T, n) of every worker's r-th message, by default that of its last."""
    code = scheme.code
    sent = code.messages if r is None else np.minimum(r, code.messages)
    work = code.load if r is None else code.work(r)
    return draws.arrival(work / code.k, sent * code.length)


@dataclass(frozen=True)
class Game:
    """What a placement rule may try: one iteration with the seats it has chosen for it."""

    scheme: Scheme
    draws: Draws

    @property
    def shape(self) -> tuple[int, int, int]:
        """(S, T, n)."""
        return self.draws.shape

    def __call__(self, t: int, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arrival of each worker (S, n) and when the master stopped (S,), with seats (S, n) in iteration t."""
        draws = self.draws.at(t).seated(seats[:, None])
        time, _ = self.scheme.wait.stop(self.scheme.code, partial(_arrive, self.scheme, draws))
        arrived = np.empty(seats.shape)
        np.put_along_axis(arrived, seats.astype(np.intp), _arrive(self.scheme, draws)[:, 0], axis=1)
        return arrived, time[:, 0]


def joined(timelines: Iterable[Timeline]) -> Timeline:
    """One timeline of several that differ in their seeds, each with a code of its own."""
    parts = list(timelines)
    first = np.cumsum([0] + [len(p.patterns) for p in parts[:-1]])
    shifted = [replace(p, pattern=p.pattern + i) for p, i in zip(parts, first, strict=True)]
    return Timeline(
        **{f.name: np.concatenate([getattr(p, f.name) for p in shifted]) for f in fields(Timeline)}
    )
