"""What of a run is in memory at once: draws are made and played some seeds, or some iterations of a seed, at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gcexp.delays.base import DelayExtras
from gcexp.extras import extras
from gcexp.schemes.placement import PlacementExtras
from gcexp.schemes.scheme import require_workers

if TYPE_CHECKING:
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme

# Workers times iterations in memory at once: what stays near the cache, and with a placement, whose rules go from
# iteration to iteration for all seeds together, as many seeds as fit.
CHUNK = 2**18
CHUNK_SEATED = 2**23


class DrawnChunk(NamedTuple):
    """Draws of some seeds in some of their iterations.

    Attributes
    ----------
    first_seed, first_iteration : int
        Where the chunk begins: place of its first seed among the seeds of the run, and its first iteration.
    draws : Draws
    seat : callable, optional
        What seats the workers of these seeds, chunk by chunk (`PlacementExtras.start`). None where the placement rule
        seats all iterations together, and where there is none.
    """

    first_seed: int
    first_iteration: int
    draws: Draws
    seat: Callable | None


class PlayedChunk(NamedTuple):
    """What the clock says of a chunk.

    Attributes
    ----------
    first_seed, first_iteration : int
        As of the `DrawnChunk`.
    duration : ndarray (S, T)
        Length of each iteration.
    responses : ndarray (S, T, n)
        Messages of each worker that the master decodes with, as the scheme's `decoder` counts them. Of a code over time
        (S, T, lag + 1, n): those for the iteration itself, for the one before, and so on.
    """

    first_seed: int
    first_iteration: int
    duration: np.ndarray
    responses: np.ndarray

    @property
    def place(self) -> tuple[slice, slice]:
        """Where the chunk stands in arrays (seeds, iterations) of the whole run."""
        S, T = self.duration.shape
        of_seeds = slice(self.first_seed, self.first_seed + S)
        of_iterations = slice(self.first_iteration, self.first_iteration + T)
        return of_seeds, of_iterations


def drawn_chunks(
    scheme: Scheme, delay: DelayModel, seeds: tuple[int, ...], iterations: int, chunk: int | None
) -> Iterator[DrawnChunk]:
    """Draw a run chunk by chunk, each of about `chunk` workers times iterations."""
    n = scheme.code.n
    placement = scheme.placement
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
    for first_seed in range(0, len(seeds), seeds_at_once):
        seeds_of_chunk = seeds[first_seed : first_seed + seeds_at_once]
        seat = None
        if start_draws is None:
            draw: Callable[[int], Draws] = partial(delay.draw, seeds_of_chunk, n=n)
        else:
            draw = start_draws(seeds_of_chunk, n)
            if start_seats is not None:
                seat = start_seats(seeds_of_chunk, n)
        for t in range(0, iterations, step):
            with np.errstate(over="ignore", invalid="ignore"):  # who plays them refuses what is not finite
                draws = draw(min(step, iterations - t))
            yield DrawnChunk(first_seed, t, draws, seat)


def chunks_of(scheme: Scheme, draws: Draws) -> Iterator[DrawnChunk]:
    """Draws that are there already, some iterations of all seeds at a time.

    They are one chunk where the placement rule has to see all iterations together.
    """
    S, T, n = draws.shape
    placement = extras(PlacementExtras, scheme.placement)
    same_in_every_chunk = placement.stays and not placement.hindsight
    if scheme.placement is not None and not same_in_every_chunk:
        yield DrawnChunk(0, 0, draws, None)
        return
    step = max(1, CHUNK // (S * n))
    if step >= T:
        yield DrawnChunk(0, 0, draws, None)
        return
    for t in range(0, T, step):
        yield DrawnChunk(0, t, draws.between(t, t + step), None)
