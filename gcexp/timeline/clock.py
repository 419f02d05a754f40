"""The clock itself: every simulated time comes from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import ParameterError, require
from gcexp.extras import extras
from gcexp.schemes.loads import LoadsExtras
from gcexp.timeline.chunks import DrawnChunk, PlayedChunk, chunks_of, drawn_chunks
from gcexp.timeline.collect import collect_timeline
from gcexp.timeline.game import Game
from gcexp.timeline.median import in_times_of, median_time, with_limits_as_times
from gcexp.timeline.play import Played, first_state, play
from gcexp.timeline.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme


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
    return collect_timeline(scheme, seeds, iterations, played_chunks(scheme, chunks, tell))


def simulate(scheme: Scheme, draws: Draws, endless: bool = False) -> Timeline:
    """Run the clock of one scheme on given draws (S, T, n) for the workers of its code; decode each pattern once.

    With `endless` an iteration may have no end, because workers never arrive (`Draws.without`): it lasts forever, and
    nobody is heard in it.

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
    scheme = with_limits_as_times(scheme, lambda: draws)
    iterations = draws.shape[1]
    chunks = chunks_of(scheme, draws)
    return collect_timeline(scheme, draws.seeds, iterations, played_chunks(scheme, chunks, endless=endless))


def durations(scheme: Scheme, draws: Draws) -> np.ndarray:
    """How long iterations take, (S, T), where workers may never arrive: infinity where an iteration has no end.

    The same as the durations of `simulate` with `endless`, for callers who do not ask what is decoded.

    Examples
    --------
    >>> from gcexp.codes import FractionalRepetition
    >>> from gcexp.delays import Draws
    >>> from gcexp.schemes import Decodable, Scheme
    >>> draws = Draws((0,), (1, 1, 4), compute=1.0).without(
    ...     np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
    ... )
    >>> durations(Scheme(FractionalRepetition(n=4, d=2), Decodable()), draws).ravel()
    array([0.5, 0.5, inf])
    """
    scheme = with_limits_as_times(scheme, lambda: draws)
    found = np.empty(draws.shape[:2])
    for chunk in played_chunks(scheme, chunks_of(scheme, draws), endless=True):
        found[chunk.place] = chunk.duration
    return found


def played_chunks(
    scheme: Scheme,
    chunks: Iterable[DrawnChunk],
    tell: Callable[[int], object] | None = None,
    endless: bool = False,
) -> Iterator[PlayedChunk]:
    """Run the clock chunk by chunk.

    When the workers are free again, and what the waiting rule has learned, is handed on to the next chunk of the same
    seeds. `tell` is called as of `run_clock`, and `endless` is that of `simulate`.
    """
    code, placement = scheme.code, scheme.placement
    somebody_was_heard, state = False, None
    for first_seed, first_iteration, draws, seat in chunks:
        workers = draws.shape[2]
        require(workers == code.n, f"the draws have {workers} workers, but {code!r} has {code.n}")
        with np.errstate(over="ignore", invalid="ignore"):  # times that are not finite are refused below
            if state is None or first_iteration == 0:
                state = first_state(scheme, draws)
            seats, seated_draws = None, draws
            if placement is not None:
                seat = seat or partial(placement.seat, seeds=draws.seeds)
                seats = seat(draws.is_slow, play=Game(scheme, draws, state))
                seated_draws = draws.seated(seats)
            played = play(scheme, seated_draws, seats, state)
            del seated_draws  # before the next draws
        state = played.state
        if endless:
            played = _with_endless(played)
        else:
            _require_all_heard_and_finite(scheme, played)
        somebody_was_heard = somebody_was_heard or bool(played.responses.any())
        duration = played.stop
        if scheme.overhead:
            duration = duration + scheme.overhead
        yield PlayedChunk(first_seed, first_iteration, duration, played.responses)
        if tell:
            tell(duration.size)
    if not somebody_was_heard and not endless:
        usual = ""
        if not draws.counts:
            usual = f"; a worker with its own share takes {median_time(draws):.4g} (median)"
        raise ParameterError(f"{scheme.wait!r}: no message of {code!r} is ever heard{usual}")


def _with_endless(played: Played) -> Played:
    """What was played, where an iteration whose end is no finite time lasts forever and hears nobody."""
    ends = np.isfinite(played.stop)
    if ends.all():
        return played
    responses = played.responses.copy()
    responses[~ends] = 0
    return played._replace(stop=np.where(ends, played.stop, np.inf), responses=responses)


def _require_all_heard_and_finite(scheme: Scheme, played: Played) -> None:
    """Refuse times that are not finite, and a worker that is not heard where nobody else has its samples."""
    loads = extras(LoadsExtras, scheme.loads)
    require(
        not loads.exact or bool((played.responses == scheme.code.messages).all()),
        f"{scheme.loads!r} gives every sample to one worker only, so the master must wait for "
        "all: use wait=decodable",
    )
    require(
        bool(np.isfinite(played.stop).all()),
        "an iteration takes a time that is not finite; check the parameters of the delay model",
    )
