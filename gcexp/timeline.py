"""The simulated clock: a scheme and random draws give a timeline, for all iterations and seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gcexp.delays.base import DelayExtras
from gcexp.errors import DecodingError, ParameterError, require
from gcexp.extras import extras
from gcexp.files import written
from gcexp.schema import quoted
from gcexp.schemes.late import PIECES, free_after, pieces
from gcexp.schemes.limits import with_times
from gcexp.schemes.loads import LoadsExtras
from gcexp.schemes.placement import PlacementExtras
from gcexp.schemes.scheme import require_workers
from gcexp.schemes.survivors import distinct_words, packed, unpacked
from gcexp.schemes.waiting import Lead, WaitingExtras
from gcexp.seeding import rng

if TYPE_CHECKING:  # a job that only reads a timeline loads no codes
    from gcexp.codes import Code
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme


# Workers times iterations in memory at once: what stays near the cache, and with a placement, whose rules go from
# iteration to iteration for all seeds together, as many seeds as fit.
CHUNK, CHUNK_SEATED = 2**18, 2**23
# Workers times patterns decoded at once, patterns all the same, but for so many workers that they fill the memory.
_DECODED, _LEAST_DECODED, _MOST_DECODED = 2**17, 128, 2**21
# Iterations whose draws tell how long a worker usually takes, and most draws for it, where times do not repeat.
_TRIED, _MOST_TRIED = 1000, 2**20
# Patterns that are certified although the code promises what they give, and the stream that draws them.
SAMPLE, CERTIFIED = 64, "timeline.certified"

#: First seed and first iteration of some draws, and what seats their workers, where it is not the placement itself.
Piece = tuple[int, int, "Draws", Callable | None]


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


def run_clock(
    scheme: Scheme,
    delay: DelayModel,
    seeds: Sequence[int],
    iterations: int,
    chunk: int | None = None,
    tell: Callable[[int], object] | None = None,
) -> Timeline:
    """Draw the delays of some seeds and run the clock of one scheme. Every simulated time comes from here.

    Draws, waiting and decoding go over some seeds, or over some iterations of a seed, at a time: about `chunk` workers
    times iterations are in memory at once. Streams go on from one chunk to the next, so that the timeline has the same
    bits for any `chunk`. What is kept of an iteration is its duration and a bit per message. `tell` is called with the
    number of iterations, of all seeds together, that were played since it was called last.

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
    seeds = tuple(seeds)
    scheme = in_times_of(scheme, delay)
    chunks = drawn_chunks(scheme, delay, seeds, iterations, chunk)
    return _timeline(scheme, seeds, iterations, played_chunks(scheme, chunks, tell))


def simulate(scheme: Scheme, draws: Draws) -> Timeline:
    """Run the clock of one scheme on given draws (S, T, n) for the workers of its code; decode each pattern once.

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
    S, T, n = draws.shape
    scheme = _with_times(scheme, lambda: draws)
    placement = extras(PlacementExtras, scheme.placement)
    same_in_every_chunk = placement.stays and not placement.hindsight
    step = T
    if scheme.placement is None or same_in_every_chunk:
        step = max(1, CHUNK // (S * n))

    def pieces() -> Iterator[Piece]:
        for t in range(0, T, step):
            some = draws if step >= T else draws.between(t, t + step)
            yield 0, t, some, None

    return _timeline(scheme, draws.seeds, T, played_chunks(scheme, pieces()))


def in_times_of(scheme: Scheme, delay: DelayModel) -> Scheme:
    """The scheme with the limits of its waiting rule as times of a delay model; some may be multiples of its median.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> from gcexp.delays import Trace
    >>> from gcexp.schemes import Deadline, Scheme
    >>> in_times_of(Scheme(Uncoded(10), Deadline("2x")), Trace("data/traces/pai-job1.csv")).wait
    Deadline(time=876.0, early=False)
    """
    return _with_times(scheme, lambda: _tried(delay, scheme.code.n))


def usual_time(delay: DelayModel, n: int) -> float:
    """`median_time` of a delay model, the same for all seeds and schemes of a run.

    It is taken over all iterations after which the times repeat, as those of a trace do, and else over 1000 iterations
    of seed 0.
    """
    return median_time(_tried(delay, n))


def _tried(delay: DelayModel, n: int) -> Draws:
    """The draws that tell how long one of n workers usually takes."""
    require_workers(delay, n)
    period = extras(DelayExtras, delay).period
    if callable(period):
        iterations = period()
    else:
        iterations = max(1, min(_TRIED, _MOST_TRIED // n))
    return delay.draw((0,), iterations, n)


def _with_times(scheme: Scheme, draws: Callable[[], Draws]) -> Scheme:
    """The scheme with all limits as times; `draws` are asked for where a limit is a multiple of their median."""
    wait = with_times(scheme.wait, lambda: median_time(draws()))
    return scheme if wait is scheme.wait else replace(scheme, wait=wait)


def median_time(draws: Draws) -> float:
    """Median time of a worker with its own share of the data, as in an uncoded run, over all iterations and workers.

    Raises
    ------
    ParameterError
        Where arrivals are counts of epochs, and where the median is no time above 0: then nothing is a multiple of it.

    Examples
    --------
    >>> from gcexp.delays import Trace
    >>> median_time(Trace("data/traces/pai-job1.csv").draw((0,), 300, 10))
    438.0
    """
    from gcexp.codes import Uncoded
    from gcexp.schemes import Fastest, Scheme

    require(not draws.counts, "delay=epochs counts epochs, so workers have no median time: give a number")
    n = draws.shape[2]
    found = float(np.median(_arrive(Scheme(Uncoded(n), Fastest(q=n)), draws)))
    require(
        0 < found < np.inf, f"the median time of a worker is {found} here, of which nothing is a multiple"
    )
    return found


def drawn_chunks(
    scheme: Scheme, delay: DelayModel, seeds: tuple[int, ...], iterations: int, chunk: int | None
) -> Iterator[Piece]:
    """Draws of some seeds, or of some iterations of a seed, at a time, as `played_chunks` asks for them."""
    n, placement = scheme.code.n, scheme.placement
    require_workers(delay, n)
    if chunk is None:
        chunk = CHUNK if placement is None else CHUNK_SEATED
    seeds_at_once = max(1, chunk // (n * iterations))
    start_draws = extras(DelayExtras, delay).start
    start_seats = extras(PlacementExtras, placement).start
    seated_whole = placement is not None and start_seats is None
    if seated_whole or not callable(start_draws):
        start_draws = None  # then all iterations are drawn in one piece
    step = iterations
    if start_draws is not None and seeds_at_once == 1:
        step = max(1, chunk // n)
    for first in range(0, len(seeds), seeds_at_once):
        some = seeds[first : first + seeds_at_once]
        seat = None
        if start_draws is None:
            draw: Callable[[int], Draws] = partial(delay.draw, some, n=n)
        else:
            draw = start_draws(some, n)
            if start_seats is not None:
                seat = start_seats(some, n)
        for t in range(0, iterations, step):
            with np.errstate(over="ignore", invalid="ignore"):  # who plays them refuses what is not finite
                draws = draw(min(step, iterations - t))
            yield first, t, draws, seat


def played_chunks(
    scheme: Scheme,
    pieces: Iterable[Piece],
    tell: Callable[[int], object] | None = None,
) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Run the clock piece by piece: yields durations (S, T) and responses (S, T, n) behind seed s and iteration t.

    Responses of a code over time are (S, T, lag + 1, n): those for the iteration itself, for the one before, and so on.

    A piece has its first seed and iteration, draws, and where it is not the rule itself what says whom the master takes
    for slow. When the workers are free again, and what the waiting rule has learned, is handed on to the next piece of
    the same seeds.
    """
    code = scheme.code
    placement, loads = scheme.placement, extras(LoadsExtras, scheme.loads)
    somebody_was_heard, carried = False, None
    for s, t, draws, seat in pieces:
        require(
            draws.shape[2] == code.n, f"the draws have {draws.shape[2]} workers, but {code!r} has {code.n}"
        )
        with np.errstate(over="ignore", invalid="ignore"):  # times that are not finite are refused below
            if carried is None or t == 0:
                carried = _begun(scheme, draws)
            seats, placed = None, draws
            if placement is not None:
                seat = seat or partial(placement.seat, seeds=draws.seeds)
                seats = seat(draws.is_slow, play=Game(scheme, draws, carried))
                placed = draws.seated(seats)
            time, responses, _, carried = _play(scheme, placed, seats, carried)
            del placed  # before the next draws
        require(
            not loads.exact or bool((responses == code.messages).all()),
            f"{scheme.loads!r} gives every sample to one worker only, so the master must wait for "
            "all: use wait=decodable",
        )
        require(
            bool(np.isfinite(time).all()),
            "an iteration takes a time that is not finite; check the parameters of the delay model",
        )
        somebody_was_heard = somebody_was_heard or bool(responses.any())
        if scheme.overhead:
            time = time + scheme.overhead
        yield s, t, time, responses
        if tell:
            tell(time.size)
    if not somebody_was_heard:
        usual = (
            "" if draws.counts else f"; a worker with its own share takes {median_time(draws):.4g} (median)"
        )
        raise ParameterError(f"{scheme.wait!r}: no message of {code!r} is ever heard{usual}")


def _timeline(
    scheme: Scheme,
    seeds: tuple[int, ...],
    iterations: int,
    chunks: Iterable[tuple[int, int, np.ndarray, np.ndarray]],
) -> Timeline:
    """The timeline of chunks that were played: of an iteration its duration and a bit for each message are kept.

    Each distinct pattern is decoded once.
    """
    code = scheme.decoder
    most = max(1, int(code.messages.max(initial=1)))
    duration = np.empty((len(seeds), iterations))
    steps, completed = np.full(len(seeds), iterations), None
    if scheme.lag:
        whole, completed = _over_time(scheme, len(seeds), iterations, chunks)
        steps = (completed < iterations).cumprod(axis=1).sum(axis=1)
        chunks = [whole]
    words = np.empty((len(seeds), iterations, -(-code.n * most // 64)), dtype=np.uint64)
    for s, t, time, responses in chunks:
        here = slice(s, s + time.shape[0]), slice(t, t + time.shape[1])
        duration[here] = time
        words[here] = packed(responses.reshape(-1, code.n), most).reshape(*time.shape, -1)
    words = words.reshape(-1, words.shape[2])
    first, which = distinct_words(words)
    patterns = unpacked(words[first], code.n, most)  # as the decoder counts messages
    if not scheme.decodes:
        coefficients, residual = np.zeros((len(patterns), code.k), bool), np.full(len(patterns), np.nan)
    else:
        coefficients, residual = decoded(
            code, patterns, lambda known: rng(seeds[0], CERTIFIED).permutation(known)[:SAMPLE]
        )
    return Timeline(
        seeds=np.array(seeds),
        steps=steps,
        duration=duration,
        pattern=which.reshape(duration.shape),
        patterns=scheme.counted(patterns),
        coefficients=coefficients,
        residual=residual,
        messages=None if code is scheme.code else patterns,
        completed=completed,
    )


def _over_time(
    scheme: Scheme,
    seeds: int,
    iterations: int,
    chunks: Iterable[tuple[int, int, np.ndarray, np.ndarray]],
) -> tuple[tuple[int, int, np.ndarray, np.ndarray], np.ndarray]:
    """All chunks of a code over time as one, with the messages that each gradient was decoded from, and `completed`.

    A gradient is decoded once its messages meet all quorums, or `lag` iterations later from what there is by then. The
    iterations that are not decoded before the run ends, and those behind them, which are no part of the run, are given
    the messages of the first one.
    """
    code, lag = scheme.code, scheme.lag
    require(
        iterations > lag,
        f"{scheme.wait!r} decodes a gradient up to {lag} iterations later: iterations must be at least {lag + 1}, got "
        f"{iterations}",
    )
    duration = np.empty((seeds, iterations))
    heard = np.empty((seeds, iterations, lag + 1, code.n), dtype=np.int16)
    for s, t, time, responses in chunks:
        here = slice(s, s + time.shape[0]), slice(t, t + time.shape[1])
        duration[here], heard[here] = time, responses
    counts = np.zeros((seeds, iterations, code.n), dtype=np.int16)
    completed = np.full((seeds, iterations), iterations)
    for age in range(lag + 1):
        own = slice(0, iterations - age)  # iterations whose messages may come so much later
        waits = completed[:, own] == iterations
        sent = counts[:, own] + waits[..., None] * heard[:, age:, age]
        counts[:, own] = np.minimum(sent, code.messages)  # what comes twice counts once
        decodable = code.met(counts[:, own].reshape(-1, code.n)).reshape(waits.shape)
        now = waits & (decodable | (age == lag))
        completed[:, own] = np.where(now, np.arange(age, iterations), completed[:, own])
    never = (completed == iterations).cumsum(axis=1) > 0
    counts[never] = np.broadcast_to(counts[:, :1], counts.shape)[never]
    return (0, 0, duration, counts), completed


def decoded(
    code: Code, patterns: np.ndarray, sample: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (U, k), as truth values where all are 0 or 1, and residuals (U,), NaN where nothing was decoded.

    What the code's promise says is trusted, but for those that `sample` chooses of their numbers; they and the others
    are decoded, some at a time.
    """
    known, told = code.trusted(patterns)
    residual = np.full(len(patterns), np.nan)
    if known.all():
        coefficients = told
    else:
        coefficients = np.empty((len(patterns), code.k), dtype=bool)
        coefficients[known] = told
    rest = np.sort(np.concatenate([np.flatnonzero(~known), sample(np.flatnonzero(known))]))
    size = max(code.n, code.k)
    step = max(1, min(max(_LEAST_DECODED, _DECODED // size), _MOST_DECODED // size))
    for first in range(0, len(rest), step):
        u = rest[first : first + step]
        decoding = code.decode(patterns[u], partial=True)
        c, residual[u] = decoding.coefficients, decoding.residual
        broken = known[u] & (c != coefficients[u]).any(1)
        if broken.any():
            workers = quoted(np.flatnonzero(patterns[u[broken.argmax()]]).tolist())
            raise DecodingError(f"{code!r} does not decode what it promises from workers {workers}", code)
        if coefficients.dtype == bool and not decoding.binary:
            coefficients = coefficients.astype(np.float64)
        if coefficients.dtype == bool:
            c = c != 0
        coefficients[u] = c
    return coefficients, residual


@dataclass(frozen=True)
class _Carried:
    """What lasts from one iteration to the next."""

    #: (S, n), when each worker, by its number and not by its seat, is free, from the start of the next iteration on.
    free: np.ndarray
    memory: Any  #: what a waiting rule with a method `begin` has learned
    #: Relative loads of the next draws, where they are not the code's.
    loads: Callable[[Draws], np.ndarray] | None


def _begun(scheme: Scheme, draws: Draws) -> _Carried:
    """The state before the first iteration."""
    require(
        scheme.late == "stop" or not draws.renewed,
        f"{draws.renewed} has new workers in every row (persistent: false): late={scheme.late} and learned placement "
        "mean nothing there",
    )
    if scheme.bound and (draws.data_bound or draws.counts):
        name = "work_floor" if scheme.loads else f"wait={type(scheme.wait).__name__.lower()}"
        why = "restarts are priced, and counts of epochs bound no time"
        if draws.data_bound:
            why = "times follow the data (data_bound), so loads bound nothing; use data_bound's own bound"
        raise ParameterError(f"{name}: {why}")
    require(
        not scheme.bound or scheme.loads is None or draws.linear,
        "scheme=work_floor needs times F + rho C that are linear in the load, so neither "
        "micro-batches nor load_model=sum",
    )
    require(
        scheme.loads is None or not draws.data_bound,
        "uneven loads belong to workers and data_bound times to partitions: choose one of the two",
    )
    S, _, n = draws.shape
    before = draws.before()
    begin = extras(WaitingExtras, scheme.wait).begin
    memory = loads = None
    if begin is not None:
        lead = None if before is None else Lead(scheme.code, partial(_arrive, scheme, before))
        memory = begin(lead)
    if scheme.loads is not None:
        known = None if before is None else before.parts()
        loads = scheme.loads.start(n, known)
    return _Carried(np.zeros((S, n)), memory, loads)


def _play(
    scheme: Scheme, draws: Draws, seats: np.ndarray | None, carried: _Carried
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, _Carried]:
    """Run placed draws: stops (S, T), responses (S, T, n), when all workers were done, and the state that lasts.

    All iterations at once where none depends on another. Else one by one: ``late`` workers begin when they are free,
    and a rule with a memory is given what it kept. The third answer (S, T, n), by seat, is the arrival of the last
    message, just behind the stop where the work was cut short; None where iterations do not depend on each other.
    """
    rule = extras(WaitingExtras, scheme.wait)
    rho = carried.loads(draws) if carried.loads else None
    late = "stop" if rule.halts else scheme.late
    if late == "stop" and rule.begin is None:
        time, responses = scheme.wait.stop(scheme.code, partial(_arrive, scheme, draws, rho=rho))
        return time, responses, None, carried
    S, T, n = draws.shape
    counted = (scheme.decoder.n,) if rule.ages is None else (scheme.lag + 1, n)
    time, responses = np.empty((S, T)), np.empty((S, T, *counted), np.int16)
    done = None if seats is None else np.empty((S, T, n))
    turns = _InTurn(scheme, draws, rho, late, carried)
    every_seed = np.arange(S)[:, None]
    for t in range(T):
        workers = slice(None) if seats is None else (every_seed, seats[:, t])
        stop, heard, last, free = turns.play(t, workers)
        time[:, t], responses[:, t] = stop, heard
        if done is not None:
            finished = (free == last) | (late == "stop")
            done[:, t] = np.where(finished, last, np.nextafter(stop[:, None], np.inf))
    return time, responses, done, turns.carried()


class _InTurn:
    """Iterations that are played one after another, because each depends on those before it.

    From one to the next it remembers `free`, when each worker can start again, and `memory`, what a waiting rule with
    a memory has learned. Of the given draws it remembers the arrivals that rules ask for again and again.
    """

    def __init__(self, scheme: Scheme, draws: Draws, rho: np.ndarray | None, late: str, carried: _Carried):
        self.free, self.memory = carried.free.copy(), carried.memory
        self._loads = carried.loads
        self._scheme, self._draws, self._late = scheme, draws, late
        rule = extras(WaitingExtras, scheme.wait)
        self._learns = rule.begin is not None
        self._order, self._ages = rule.order, rule.ages
        self._messages = _Messages(scheme, draws, rho)
        self._borders = _borders(scheme, draws, rho) if late == "chunk" else None

    def play(self, t: int, workers: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Iteration t with some worker in each seat; `workers` chooses them from arrays (S, n).

        From its start on: when the master stops (S,), the messages that it decodes with (S, n), of a code over time
        (S, lag + 1, n), and by seat when each worker's last message arrives if nobody stops it, and when it can start
        again, (S, n) both.
        """
        begin = np.maximum(self.free[workers], 0.0)
        arrive: Callable = _Arrivals(self._messages, t, begin)
        if self._order is not None:
            ranks = self._order(self._scheme.code, self.memory)
            at = arrivals_in_order(self._scheme, self._draws.between(t, t + 1), ranks)
            at += begin[:, None, self._scheme.code.owner]
            arrive = partial(_at, at)
        code, wait = self._scheme.decoder, cast(Any, self._scheme.wait)  # a rule of one of two kinds
        before = self.memory
        if self._learns:
            stop, heard, self.memory = wait.stop(code, arrive, self.memory)
        else:
            stop, heard = wait.stop(code, arrive)
        if self._ages is not None:
            heard = self._by_age(heard[:, 0], self._ages(code, before))[:, None]
        last = begin + self._messages.last[:, t]
        borders = None if self._borders is None else begin + self._borders[t]
        free = free_after(self._late, begin, stop[:, 0], last, borders)
        self.free[workers] = free - (stop + self._scheme.overhead)
        return stop[:, 0], heard[:, 0], last, free

    def _by_age(self, heard: np.ndarray, ages: np.ndarray) -> np.ndarray:
        """Responses (S, n) of an iteration by how many iterations ago that is to which they belong, (S, lag + 1, n)."""
        rule, lag = self._scheme.wait, self._scheme.lag
        require(
            bool((ages >= 0).all() and (ages <= lag).all()),
            f"{rule!r}: ages are 0, 1, ..., up to its lag {lag}",
        )
        found = np.zeros((len(heard), lag + 1, heard.shape[1]), dtype=heard.dtype)
        every = np.broadcast_to(ages, heard.shape)[:, None]
        np.put_along_axis(found, every, heard[:, None], axis=1)
        return found

    def carried(self) -> _Carried:
        """What lasts beyond these draws."""
        return _Carried(self.free, self.memory, self._loads)


class _Messages:
    """When the messages of all iterations arrive, counted from the start of each worker's own work."""

    def __init__(self, scheme: Scheme, draws: Draws, rho: np.ndarray | None):
        self.most = int(scheme.code.messages.max(initial=0))
        self._arrive = partial(_arrive, scheme, draws, rho=rho)
        self.last = self._arrive()  # (S, T, n)

    @cached_property
    def earlier(self) -> np.ndarray:
        """All messages but the last, (T, R - 1, S, n); computed once a rule asks for one."""
        return np.stack([self._arrive(r).swapaxes(0, 1) for r in range(1, self.most)], axis=1)


class _Arrivals:
    """Arrivals (S, 1, n) of one iteration, from its start on: what a waiting rule calls, with a number of messages."""

    def __init__(self, messages: _Messages, t: int, begin: np.ndarray):
        self._messages, self._t, self._begin = messages, t, begin
        self._earlier: np.ndarray | None = None

    def __call__(self, r: int | None = None) -> np.ndarray:
        if r is None or r >= self._messages.most:
            return self._messages.last[:, self._t : self._t + 1] + self._begin[:, None]
        if self._earlier is None:
            self._earlier = self._messages.earlier[self._t] + self._begin
            self._earlier.flags.writeable = False
        return self._earlier[r - 1][:, None]


def arrivals_in_order(scheme: Scheme, draws: Draws, ranks: np.ndarray) -> np.ndarray:
    """Arrival (S, 1, M) of every message in one iteration, counted from the start of each worker's own work.

    `ranks` are the places of messages in their workers' orders, (S, M) or (M,): see `WaitingExtras.order`.
    """
    code, S = scheme.code, draws.shape[0]
    require(
        not draws.data_bound,
        f"{scheme.wait!r} orders messages, but the times depend on the data (data_bound): use another wait",
    )
    ranks = np.broadcast_to(ranks, (S, len(code.owner)))
    places = np.sort(ranks * code.n + code.owner, axis=1)
    require(
        bool((places == np.sort(code.rank * code.n + code.owner)).all()),
        f"{scheme.wait!r} gives no order of the messages of {code!r}: each worker's places are 0, 1, ... up to the "
        "number of its messages",
    )
    at = np.empty(ranks.shape)
    for r, work in enumerate(code.work_in_orders(ranks)):
        sent = np.minimum(r + 1, code.messages)
        of_workers = draws.arrival((work / code.k)[:, None], sent * code.length)[:, 0]
        seed, message = np.nonzero(ranks == r)
        at[seed, message] = of_workers[seed, code.owner[message]]
    return at[:, None]


def _at(at: np.ndarray, r: int | None = None) -> np.ndarray:
    """Arrivals of senders of one message each, whatever number of messages a rule asks for."""
    return at


def _borders(scheme: Scheme, draws: Draws, rho: np.ndarray | None) -> np.ndarray:
    """Ends of the pieces of every load but the last, (T, C - 1, S, n), from the worker's start on; inf behind it."""
    require(
        not draws.data_bound,
        "late=chunk divides a worker's time by its load, but the times depend on the data "
        "(data_bound): use late=stop, finish or every",
    )
    rho = draws.shape[2] * scheme.code.load / scheme.code.k if rho is None else rho
    count = pieces(rho, scheme.chunks or draws.micro_batches or PIECES)
    S, T, n = draws.shape
    found = np.full((T, int(count.max()) - 1, S, n), np.inf)
    for j in range(1, int(count.max())):
        share = np.minimum(j / count, 1.0) * rho / n
        found[:, j - 1] = np.where(j < count, draws.arrival(share, 0.0), np.inf).swapaxes(0, 1)
    return found


def _arrive(
    scheme: Scheme, draws: Draws, r: int | None = None, rho: np.ndarray | None = None, sending: bool = True
) -> np.ndarray:
    """Arrival (S, T, n) of every worker's r-th message, by default that of its last.

    With relative loads `rho` a worker sends one message, and who has nothing to do is there at once. Without `sending`
    when the message is computed.
    """
    code = scheme.code
    sent = (code.messages if r is None else np.minimum(r, code.messages)) * sending
    if rho is not None:
        return np.where(rho > 0, draws.arrival(rho / code.n, sent * code.length), 0.0)
    if draws.data_bound:
        computed = code.computed(int(code.messages.max(initial=0)) if r is None else r)
        return draws.arrival_of(computed, sent)
    work = code.load if r is None else code.work(r)
    return draws.arrival(work / code.k, sent * code.length)


class Game:
    """What a placement rule may observe: one iteration after another, with the places that it has chosen."""

    def __init__(self, scheme: Scheme, draws: Draws, carried: _Carried | None = None):
        self._scheme, self._draws, self._carried = scheme, draws, carried or _begun(scheme, draws)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(S, T, n)."""
        return self._draws.shape

    @property
    def past(self) -> np.ndarray | None:
        """Times of the workers before the run, (S, P, n), where they are known."""
        return self._draws.past

    @property
    def fingerprint(self) -> str:
        """A key that is the same for equal codes, waiting rules and times."""
        code = self._scheme.code
        times = [
            np.ascontiguousarray(_arrive(self._scheme, self._draws, r + 1))
            for r in range(int(code.messages.max()))
        ]
        said = repr((code, self._scheme.wait)).encode()
        return hashlib.sha256(b"".join([said, *(at.tobytes() for at in times)])).hexdigest()

    def in_hindsight(self, seats: np.ndarray) -> np.ndarray:
        """Mean duration (S,) of all these iterations with the same seats (n,) in each, where workers stop at once."""
        scheme = replace(self._scheme, late="stop", placement=None)
        draws = self._draws.seated(np.broadcast_to(seats, self.shape))
        return _play(scheme, draws, None, _begun(scheme, draws))[0].mean(1)

    def __call__(self, t: int, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arrival of each worker (S, n) and when the master stopped (S,), with seats (S, n) in iteration t.

        What was cut short for good, because a late worker takes the newest model, arrives just behind the stop.
        """
        scheme, draws = self._scheme, self._draws.between(t, t + 1).seated(seats[:, None])
        time, _, done, self._carried = _play(scheme, draws, seats[:, None], self._carried)
        if done is None:
            done = _arrive(scheme, draws)
        arrived = np.empty(seats.shape)
        np.put_along_axis(arrived, seats.astype(np.intp), done[:, 0], axis=1)
        return arrived, time[:, 0]


@dataclass(frozen=True)
class Iteration:
    """What happened in one iteration, worker by worker in the order of their places."""

    computed: np.ndarray  #: (R, n), when each worker's r-th message was; one with fewer repeats its last
    arrived: np.ndarray  #: (R, n), when it reached the master
    stop: float  #: when the master stopped
    #: (n,), messages that it decoded with; where the rule orders them (M,), which they are
    responses: np.ndarray


def first_iteration(scheme: Scheme, draws: Draws) -> Iteration:
    """What happens in the first iteration of the first seed; all limits of the scheme are times (`in_times_of`)."""
    carried = _begun(scheme, draws)
    if scheme.placement is not None:
        draws = draws.seated(scheme.placement.seat(draws.is_slow, draws.seeds, Game(scheme, draws, carried)))
    rho = carried.loads(draws) if carried.loads else None
    time, responses, _, _ = _play(scheme, draws, None, carried)
    if scheme.lag:
        responses = responses[:, :, 0]  # all that an iteration without others before it has
    numbers = range(1, int(scheme.code.messages.max(initial=1)) + 1)
    computed = np.array([_arrive(scheme, draws, r, rho, sending=False)[0, 0] for r in numbers])
    arrived = np.array([_arrive(scheme, draws, r, rho, sending=True)[0, 0] for r in numbers])
    return Iteration(computed, arrived, float(time[0, 0]), responses[0, 0])


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
