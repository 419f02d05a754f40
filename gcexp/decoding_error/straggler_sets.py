"""Sets of workers: who is heard when s of n straggle, as boolean arrays (U, n)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from gcexp.errors import require
from gcexp.seeding import rng

_BATCH = 20_000


def all_sets(n: int, s: int) -> Iterator[np.ndarray]:
    """Who is heard for every set of s stragglers, in batches (U, n).

    Examples
    --------
    >>> [batch.astype(int).tolist() for batch in all_sets(3, 1)]
    [[[0, 1, 1], [1, 0, 1], [1, 1, 0]]]
    """
    stragglers = combinations(range(n), s)
    while True:
        batch = list(islice(stragglers, _BATCH))
        if not batch:
            return
        silent = np.array(batch, dtype=int).reshape(len(batch), s)
        responses = np.ones((len(batch), n), dtype=bool)
        responses[np.arange(len(batch))[:, None], silent] = False
        yield responses


def random_sets(n: int, s: int, trials: int = 2000, seed: int = 0) -> np.ndarray:
    """Who is heard for uniformly random sets of s stragglers, (trials, n): one list for all codes with n workers."""
    require(
        0 <= s <= n and trials >= 1, f"random sets need 0 <= s <= n, trials >= 1, got {n=}, {s=}, {trials=}"
    )
    responses = np.tile(np.arange(n) >= s, (trials, 1))
    return rng(seed, "monte_carlo", n, s).permuted(responses, axis=1)


def drawn_by_worker(n: int, p, trials: int = 2000, seed: int = 0) -> np.ndarray:
    """Who is heard where worker w straggles with probability p_w, independently, (trials, n).

    Parameters
    ----------
    p : float or sequence of float
        Of all workers alike, or one number for each.

    Examples
    --------
    >>> drawn_by_worker(3, [0, 0.5, 1], trials=2000).mean(0).round(1)
    array([1. , 0.5, 0. ])
    """
    straggling = np.full(n, p) if np.ndim(p) == 0 else np.array(p, dtype=float)
    require(
        straggling.shape == (n,) and bool(((straggling >= 0) & (straggling <= 1)).all()),
        f"p must be a probability from 0 to 1, or one for each of n={n} workers, got {p}",
    )
    require(trials >= 1, f"random sets need trials >= 1, got {trials}")
    return rng(seed, "monte_carlo", n).random((trials, n)) >= straggling


def recorded(times: np.ndarray, s: int) -> np.ndarray:
    """Who is heard where the s slowest workers of each recorded iteration straggle, (iterations, n) like `times`.

    Of workers that took equally long, those with the lower numbers are heard.

    Examples
    --------
    >>> recorded(np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), s=1).astype(int)
    array([[0, 1, 1],
           [1, 1, 0]])
    """
    n = times.shape[1]
    fastest = np.argsort(times, axis=1, kind="stable")[:, : n - s]
    responses = np.zeros(times.shape, dtype=bool)
    np.put_along_axis(responses, fastest, True, axis=1)
    return responses


def runs(n: int, s: int) -> np.ndarray:
    """Who is heard where s consecutive workers straggle, from every start, (n, n).

    Examples
    --------
    >>> runs(3, 2).astype(int)
    array([[0, 0, 1],
           [1, 0, 0],
           [0, 1, 0]])
    """
    return (np.arange(n) - np.arange(n)[:, None]) % n >= s


def without(n: int, stragglers) -> np.ndarray:
    """Who is heard without these stragglers, which must be different workers, (1, n)."""
    silent = list(stragglers)
    inside = all(isinstance(w, (int, np.integer)) and 0 <= w < n for w in silent)
    require(
        inside and len(set(silent)) == len(silent),
        f"stragglers must be different workers 0, ..., n - 1 = {n - 1}, got {silent}",
    )
    responses = np.ones((1, n), dtype=bool)
    responses[0, silent] = False
    return responses
