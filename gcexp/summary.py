"""Statistics of a run of any length, in memory that does not grow with the number of iterations."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gcexp.schemes.survivors import distinct, distinct_words, packed, unpacked
from gcexp.seeding import rng
from gcexp.timeline import in_times_of, run_clock
from gcexp.timeline.chunks import drawn_chunks
from gcexp.timeline.clock import played_chunks
from gcexp.timeline.decoding import CERTIFIED, SAMPLE, decode_patterns

if TYPE_CHECKING:
    from gcexp.delays import DelayModel
    from gcexp.schemes import Scheme
    from gcexp.timeline import Timeline
    from gcexp.timeline.chunks import PlayedChunk

#: Share of the iterations above which a warning says that a rule mostly hears nobody.
SILENT_MOSTLY = 0.5
_LEAF = 2**13  # values that are added at once
KNOWN = 2**24  # bytes of patterns whose decodes are remembered


@dataclass(frozen=True)
class Summary:
    """Statistics of the iterations of S seeds.

    Attributes
    ----------
    seeds, steps : ndarray (S,)
        As of a `Timeline`.
    duration : ndarray (S,)
        Mean length of an iteration in simulated time.
    running : ndarray (S, M)
        The same over the first iterations, as many as each of M marks says; NaN where a seed ended before.
    recovered, least : ndarray (S,)
        Share of the partitions with coefficient one, its mean and the smallest; NaN where nothing is decoded.
    error : ndarray (S,)
        Mean decoding error ||c - 1||^2 / k; NaN where nothing is decoded.
    silent : ndarray (S,)
        Share of the iterations in which nobody is heard whose message counts: all coefficients are 0, or where nothing
        is decoded no message has come by the stop.
    """

    seeds: np.ndarray
    steps: np.ndarray
    duration: np.ndarray
    running: np.ndarray
    recovered: np.ndarray
    least: np.ndarray
    error: np.ndarray
    silent: np.ndarray


def summary_of(timeline: Timeline, decodes: bool, marks: Sequence[int] = ()) -> Summary:
    """Statistics of a given timeline, whose scheme decodes or is timed only."""
    of_patterns = _recovery(timeline.coefficients, timeline.patterns, decodes)
    S = len(timeline.seeds)
    duration = np.empty(S)
    recovered = np.empty(S)
    least = np.empty(S)
    error = np.empty(S)
    silent = np.empty(S)
    running = np.full((S, len(marks)), np.nan)
    for i, steps in enumerate(timeline.steps):
        time = timeline.duration[i, :steps]
        pattern = timeline.pattern[i, :steps]
        shares = of_patterns.share[pattern]
        duration[i] = time.mean()
        recovered[i] = shares.mean()
        least[i] = shares.min()
        error[i] = of_patterns.error[pattern].mean()
        silent[i] = of_patterns.silent[pattern].mean()
        for j, mark in enumerate(marks):
            if mark <= steps:
                running[i, j] = time[:mark].mean()
    return Summary(timeline.seeds, timeline.steps, duration, running, recovered, least, error, silent)


class _Recovery(NamedTuple):
    """What is recovered from each of U patterns: (U,) each, the first two NaN where nothing is decoded."""

    share: np.ndarray  #: of the partitions, with coefficient one
    error: np.ndarray  #: ||c - 1||^2 / k
    silent: np.ndarray  #: whether nobody is heard whose message counts


def _recovery(coefficients: np.ndarray, patterns: np.ndarray, decodes: bool = True) -> _Recovery:
    """What is recovered from patterns (U, n) with these coefficients (U, k)."""
    if not decodes:
        unknown = np.full(len(patterns), np.nan)
        return _Recovery(unknown, unknown, ~patterns.any(1))
    c = coefficients.astype(float)
    return _Recovery(
        share=(c == 1).mean(1),
        error=((c - 1) ** 2).mean(1),
        silent=~coefficients.any(1),
    )


def silent_share(timeline: Timeline, decodes: bool) -> float:
    """`Summary.silent` of a timeline, over the iterations of all seeds."""
    of_patterns = _recovery(timeline.coefficients, timeline.patterns, decodes)
    pattern_of_each_iteration = timeline.pattern[timeline.ran]
    return float(of_patterns.silent[pattern_of_each_iteration].mean())


def silence(name: str, share: float, usual: str) -> str:
    """The warning of a scheme that hears nobody in most iterations; `usual` is the median time of a worker.

    Examples
    --------
    >>> silence("deadline", 0.97, "471").partition(",")[0]
    'deadline: nobody whose message counts is heard in 97% of the iterations'
    """
    return (
        f"{name}: nobody whose message counts is heard in {share:.0%} of the iterations, so its times say nothing; a "
        f"worker with its own share takes {usual} (median), and a limit is in the same unit or a multiple of that, as "
        "in 1.5x"
    )


def summarise(
    scheme: Scheme,
    delay: DelayModel,
    seeds: Sequence[int],
    iterations: int,
    marks: Sequence[int] = (),
    chunk: int | None = None,
    tell: Callable[[int], object] | None = None,
) -> Summary:
    """Run the clock and keep statistics only. They equal those of `run_clock`'s timeline to the last bit.

    A sample of 64 iterations whose coefficients are a promise is decoded at the end. `marks` are numbers of first
    iterations over which `Summary.running` is the mean; all else is as of `gcexp.timeline.run_clock`.

    A code over time keeps its timeline, since gradients are decoded in later iterations.
    """
    seeds = tuple(seeds)
    if scheme.lag:
        return summary_of(run_clock(scheme, delay, seeds, iterations, chunk, tell), scheme.decodes, marks)
    scheme = in_times_of(scheme, delay)
    summary = _SummaryInTurn(scheme, seeds, iterations, marks)
    chunks = drawn_chunks(scheme, delay, seeds, iterations, chunk)
    for chunk_played in played_chunks(scheme, chunks, tell):
        summary.add(chunk_played)
    return summary.result()


def joined(summaries: Iterable[Summary]) -> Summary:
    """Join summaries of different seeds, each with a code of its own."""
    parts = list(summaries)
    joint = {}
    for field in fields(Summary):
        joint[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
    return Summary(**joint)


class RunningMean:
    """Mean of values that arrive in pieces, equal to `numpy.mean` of all of them to the last bit.

    numpy adds pairwise: the sum of a contiguous array is that of its first half, in whole eights, plus that of the
    rest. So the values that belong together are known beforehand, and a short rest is all that waits.
    """

    def __init__(self, count: int):
        self.count, self.value = count, np.nan
        self._sum: Generator[int, np.ndarray, float] | None = _pairwise(count)
        self._wanted = next(self._sum)  # values that are added next
        self._rest = np.empty(0)  # fewer than these, which wait

    def add(self, values: np.ndarray) -> None:
        """Add the next values; those behind the last are ignored."""
        if self._sum is None:
            return
        values = np.concatenate([self._rest, values])
        at = 0
        while len(values) - at >= self._wanted:
            piece = values[at : at + self._wanted]
            at += self._wanted
            try:
                self._wanted = self._sum.send(piece)
            except StopIteration as end:
                self.value, self._sum = end.value / self.count, None
                return
        self._rest = values[at:]


def _pairwise(count: int) -> Generator[int, np.ndarray, float]:
    """Sum of `count` values, asked for some at a time."""
    if count <= _LEAF:
        return np.add.reduce((yield count))
    half = count // 2
    half -= half % 8
    first = yield from _pairwise(half)
    return first + (yield from _pairwise(count - half))


class _SeedMeans:
    """Means over the iterations of one seed, and the smallest recovered share."""

    def __init__(self, iterations: int, marks: Sequence[int]):
        self.duration = RunningMean(iterations)
        self.share = RunningMean(iterations)
        self.error = RunningMean(iterations)
        self.silent = RunningMean(iterations)
        self.running = [RunningMean(mark) for mark in marks]
        self.least = np.inf

    def add(self, time: np.ndarray, shares: np.ndarray, errors: np.ndarray, silent: np.ndarray) -> None:
        """Add the next iterations, (T,) each."""
        for mean in (self.duration, *self.running):
            mean.add(time)
        self.share.add(shares)
        self.error.add(errors)
        self.silent.add(silent)
        self.least = np.minimum(self.least, shares.min())


class _SummaryInTurn:
    """The summary of chunks that are added one after the other.

    Keeps means over all iterations, and a sample of the patterns that were not decoded.
    """

    def __init__(self, scheme: Scheme, seeds: tuple[int, ...], iterations: int, marks: Sequence[int]):
        self.scheme = scheme
        self.seeds = seeds
        self.iterations = iterations
        self.marks = marks
        self._code = scheme.decoder
        self._most = max(1, int(self._code.messages.max(initial=1)))
        self._of_seed = [_SeedMeans(iterations, marks) for _ in seeds]
        self._remembered: dict[bytes, tuple[float, float, float]] = {}
        self._draw = rng(seeds[0], CERTIFIED)
        self._drawn = np.empty(0)
        self._sample = list[np.ndarray]()

    def add(self, chunk: PlayedChunk) -> None:
        """Add what the clock says of some iterations."""
        durations = chunk.duration
        responses = chunk.responses
        recovery = self._recovery_of(responses.reshape(-1, responses.shape[2]))
        shares, errors, silent = recovery.T.reshape(3, *durations.shape)
        for i, time in enumerate(durations):
            self._of_seed[chunk.first_seed + i].add(time, shares[i], errors[i], silent[i])

    def _recovery_of(self, rows: np.ndarray) -> np.ndarray:
        """Of responses (R, n) the share recovered, the error, and whether nobody was heard, (R, 3), as `_Recovery`."""
        code = self._code
        recovery = np.empty((len(rows), 3))
        if not self.scheme.decodes:
            recovery[:, :2] = np.nan
            recovery[:, 2] = ~rows.any(1)
            return recovery
        promised, coefficients = code.trusted(rows)
        self._sample_promised(rows, promised)
        share = np.count_nonzero(coefficients, axis=1) / code.k  # coefficients are 0 or 1
        recovery[promised, 0] = share
        recovery[promised, 1] = 1 - share
        recovery[promised, 2] = share == 0
        if not promised.all():
            words = packed(rows[~promised], self._most)
            first, pattern = distinct_words(words)
            recovery[~promised] = self._decoded_recovery(words[first])[pattern]
        return recovery

    def _decoded_recovery(self, words: np.ndarray) -> np.ndarray:
        """The same of distinct packed patterns (U, W), each decoded once as long as it is remembered."""
        code = self._code
        keys = [word.tobytes() for word in words]
        if (len(self._remembered) + len(keys)) * words[0].nbytes > KNOWN:
            self._remembered = {}
        new = [i for i, key in enumerate(keys) if key not in self._remembered]
        if new:
            patterns = unpacked(words[new], code.n, self._most)
            coefficients, _ = decode_patterns(code, patterns, sample=lambda promised: promised[:0])
            recovery = _recovery(coefficients, patterns)
            for i, *of_pattern in zip(new, *recovery, strict=True):
                self._remembered[keys[i]] = tuple(of_pattern)
        return np.array([self._remembered[key] for key in keys])

    def _sample_promised(self, rows: np.ndarray, promised: np.ndarray) -> None:
        """Each iteration draws a number; of those with a promise the patterns with the smallest numbers are kept."""
        drawn = self._draw.random(len(rows))
        most = self._drawn.max() if len(self._drawn) == SAMPLE else np.inf
        candidates = np.flatnonzero(promised & (drawn < most))
        if len(candidates):
            drawn = np.concatenate([self._drawn, drawn[candidates]])
            sample = [*self._sample, *rows[candidates]]
            smallest = np.argsort(drawn, kind="stable")[:SAMPLE]
            self._drawn = drawn[smallest]
            self._sample = [sample[i] for i in smallest]

    def result(self) -> Summary:
        """The statistics of all chunks."""
        if self._sample:
            patterns, _ = distinct(np.array(self._sample))
            decode_patterns(self._code, patterns, sample=lambda promised: promised)
        S = len(self.seeds)
        running = np.empty((S, len(self.marks)))
        for i, one in enumerate(self._of_seed):
            running[i] = [mean.value for mean in one.running]
        return Summary(
            np.array(self.seeds),
            np.full(S, self.iterations),
            duration=np.array([one.duration.value for one in self._of_seed]),
            running=running,
            recovered=np.array([one.share.value for one in self._of_seed]),
            least=np.array([one.least for one in self._of_seed]),
            error=np.array([one.error.value for one in self._of_seed]),
            silent=np.array([one.silent.value for one in self._of_seed]),
        )
