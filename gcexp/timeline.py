"""The simulated clock: a scheme on some draws gives a timeline, all iterations and seeds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from gcexp.errors import UserError, require
from gcexp.files import written
from gcexp.schemes.survivors import distinct_words, packed, unpacked

if TYPE_CHECKING:  # a job that only reads a timeline loads no codes
    from gcexp.codes import Code
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme


# Workers times iterations in memory at once: what stays near the cache, and with a placement, whose rules go from
# iteration to iteration for all seeds together, as many seeds as fit.
_CHUNK, _CHUNK_SEATED = 2**18, 2**23
_BITS = {"patterns": np.int8, "coefficients": bool}  # tables that mostly hold 0 and 1; their type in memory
_DECODED, _LEAST_DECODED = 2**17, 128  # workers times patterns, and patterns, decoded at once


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
        them are 0 or 1, so that they take an eighth.
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
        """Write all fields, and `more`, as one npz file; tables of 0 and 1 as bits, of so many columns."""
        stored = {f.name: getattr(self, f.name) for f in fields(self)} | more
        for name in _BITS:
            table = stored[name]
            if table.dtype.kind in "biu" and table.max(initial=0) <= 1:
                table = table if table.itemsize == 1 else table != 0
                stored |= {name: np.packbits(table, axis=1), f"{name}_columns": np.array(table.shape[1])}
        with written(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **stored)

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
    def load(cls, path: Path | str) -> Timeline:
        """Read what `save` wrote."""
        try:
            with np.load(path) as stored:
                arrays = {f.name: stored[f.name] for f in fields(cls)}
                for name, kind in _BITS.items():
                    if f"{name}_columns" in stored:
                        columns = int(stored[f"{name}_columns"])
                        arrays[name] = np.unpackbits(arrays[name], axis=1, count=columns).view(kind)
                found = cls(**arrays)
                found._check()
                return found
        except FileNotFoundError:
            raise UserError(f"there is no timeline {path}; make it first") from None
        except (OSError, EOFError, KeyError, ValueError, IndexError, TypeError, BadZipFile) as error:
            raise UserError(
                f"{path} is not a timeline written by this version ({error}); delete it and run again"
            ) from None


def run_clock(
    scheme: Scheme,
    delay: DelayModel,
    seeds: Sequence[int],
    iterations: int,
    chunk: int | None = None,
    tell: Callable[[int], object] | None = None,
) -> Timeline:
    """Draw the delays of some seeds and run the clock of one scheme: where every simulated time comes from.

    Draws, waiting and decoding go over some seeds, or over some iterations of a seed, at a time; streams go on from one
    chunk to the next, so that the timeline has the same bits for any `chunk`. What is kept of an iteration is its
    duration and a bit per message.

    Parameters
    ----------
    scheme : Scheme
    delay : DelayModel
    seeds : sequence of int
    iterations : int
    chunk : int, optional
        Workers times iterations that are in memory at once, about.
    tell : callable, optional
        Called with the number of iterations, of all seeds together, that were played since it was called last.

    Raises
    ------
    ParameterError
        If the waiting rule does not fit the code, no message is ever heard, or a time is not finite.

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
    played = _Played(scheme, tuple(seeds), iterations)
    n, placement = scheme.code.n, scheme.placement
    chunk = chunk or (_CHUNK_SEATED if placement is not None else _CHUNK)
    together = max(1, chunk // (n * iterations))
    begin, settle = getattr(delay, "start", None), getattr(placement, "start", None)
    if not callable(begin) or (placement is not None and settle is None):
        begin = settle = None  # all iterations in one piece
    step = max(1, chunk // n) if begin and together == 1 else iterations
    for first in range(0, len(seeds), together):
        some = tuple(seeds[first : first + together])
        draw = begin(some, n) if begin else partial(delay.draw, some, n=n)
        seat = settle(some, n) if settle else None
        for t in range(0, iterations, step):
            draws = draw(min(step, iterations - t))
            played.add(first, t, draws, seat)
            if tell:
                tell(len(some) * draws.shape[1])
    return played.timeline()


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
    played = _Played(scheme, draws.seeds, draws.shape[1])
    played.add(0, 0, draws)
    return played.timeline()


class _Played:
    """What is known of the iterations played so far: how long each took, and as bits who was heard."""

    def __init__(self, scheme: Scheme, seeds: tuple[int, ...], iterations: int):
        self.scheme, self.seeds = scheme, seeds
        self.most = max(1, int(scheme.code.messages.max(initial=1)))
        words = -(-scheme.code.n * self.most // 64)
        self.duration = np.empty((len(seeds), iterations))
        self.heard = np.empty((len(seeds), iterations, words), dtype=np.uint64)

    def add(self, s: int, t: int, draws: Draws, seat: Callable | None = None) -> None:
        """Play the draws of some seeds, from the s-th on, and some iterations, from t on.

        Rules that need more than these draws would go on from here: a state per seed that each call takes over from the
        one before, as a placement's `seat` does. Late workers that finish their old step first, or loads learned per
        worker, are such states (docs/design.md).
        """
        scheme, code = self.scheme, self.scheme.code
        require(draws.shape[2] == code.n, f"draws are for {draws.shape[2]} workers, {code!r} has {code.n}")
        if scheme.placement is not None:
            seat = seat or partial(scheme.placement.seat, seeds=draws.seeds)
            draws = draws.seated(seat(draws.is_slow, play=Game(scheme, draws)))
        time, heard = scheme.wait.stop(code, partial(_arrive, scheme, draws))
        here = slice(s, s + draws.shape[0]), slice(t, t + draws.shape[1])
        self.duration[here] = time + scheme.overhead if scheme.overhead else time
        rows = packed(heard.reshape(-1, code.n), self.most)
        self.heard[here] = rows.reshape(*time.shape, -1)

    def timeline(self) -> Timeline:
        """The timeline: each distinct pattern is decoded once."""
        code, wait = self.scheme.code, self.scheme.wait
        require(bool(self.heard.any()), f"{wait!r}: no message of {code!r} is ever heard")
        require(
            bool(np.isfinite(self.duration).all()),
            "an iteration takes a time that is not finite: see the delay",
        )
        words = self.heard.reshape(-1, self.heard.shape[2])
        first, which = distinct_words(words)
        patterns = unpacked(words[first], code.n, self.most)
        coefficients, residual = _decoded(code, patterns)
        return Timeline(
            seeds=np.array(self.seeds),
            steps=np.full(len(self.seeds), self.duration.shape[1]),
            duration=self.duration,
            pattern=which.reshape(self.duration.shape),
            patterns=patterns,
            coefficients=coefficients,
            residual=residual,
        )


def _decoded(code: Code, patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (U, k), as truth values where all are 0 or 1, and residuals (U,): some patterns at a time."""
    coefficients, residual = np.empty((len(patterns), code.k), dtype=bool), np.empty(len(patterns))
    step = max(_LEAST_DECODED, _DECODED // max(code.n, code.k))
    for u in range(0, len(patterns), step):
        decoding = code.decode(patterns[u : u + step], partial=True)
        c = decoding.coefficients
        if coefficients.dtype == bool and not decoding.binary:
            coefficients = coefficients.astype(np.float64)
        coefficients[u : u + step] = c != 0 if coefficients.dtype == bool else c
        residual[u : u + step] = decoding.residual
    return coefficients, residual


def _arrive(scheme: Scheme, draws: Draws, r: int | None = None) -> np.ndarray:
    """Arrival (S, T, n) of every worker's r-th message, by default that of its last."""
    code = scheme.code
    sent = code.messages if r is None else np.minimum(r, code.messages)
    if getattr(draws, "data_bound", False):
        computed = code.computed(int(code.messages.max(initial=0)) if r is None else r)
        return draws.arrival_of(computed, sent)  # type: ignore[attr-defined]  # draws that are data-bound have it
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

    @property
    def past(self) -> np.ndarray | None:
        """Times of the workers before the run, (S, P, n), where they are known."""
        return self.draws.past

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
