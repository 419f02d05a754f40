"""Randomness: one independent stream per (seed, purpose, unit), never a global generator."""

from __future__ import annotations

import numpy as np

from gcexp.errors import require

#: The numbers are part of every published result: add, never renumber.
STREAMS = {
    "assignment": 0,
    "delays": 1,
    "data_order": 2,
    "initial_weights": 3,
    "monte_carlo": 4,
    "states": 5,
    "placement": 6,
    "transmission": 7,
    "data": 8,
    "batches": 9,
    "augmentation": 10,
    "rows": 11,
}


def rng(seed: int, purpose: str, *unit: int) -> np.random.Generator:
    """Generator of one purpose, the same whoever asks and whatever else is drawn.

    Parameters
    ----------
    seed : int
        Seed of the run, 0 or larger.
    purpose : str
        A key of `STREAMS`.
    *unit : int
        What the stream belongs to, for example a worker. Whoever uses a purpose gives it always as many units:
        a missing one and a 0 are the same stream.

    Examples
    --------
    >>> bool(rng(0, "delays", 3).random() == rng(0, "delays", 3).random())
    True
    >>> bool(rng(0, "delays", 3).random() == rng(0, "delays", 4).random())
    False
    """
    require(seed >= 0, f"a seed is an integer >= 0, got {seed}")
    return np.random.default_rng(np.random.SeedSequence([seed, STREAMS[purpose], *unit]))
