"""Randomness: one independent stream per (seed, purpose, unit), never a global generator."""

from __future__ import annotations

import hashlib

import numpy as np

from gcexp.errors import ParameterError, require, unknown

#: One number each. They are part of every published result: add, never renumber.
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
    "trace": 11,
    "rows": 12,
}


def rng(seed: int, purpose: str, *unit: int) -> np.random.Generator:
    """Generator of one purpose, the same whoever asks and whatever else is drawn.

    Parameters
    ----------
    seed : int
        Seed of the run, 0 or larger.
    purpose : str
        A key of `STREAMS`; or, in a package of your own, any name with a dot, such as ``"my_package.codes"``, whose
        stream follows from the name.
    *unit : int
        What the stream belongs to, for example a worker. Whoever uses a purpose gives it always as many units:
        a missing one and a 0 are the same stream.

    Examples
    --------
    >>> bool(rng(0, "delays", 3).random() == rng(0, "delays", 3).random())
    True
    >>> bool(rng(0, "delays", 3).random() == rng(0, "delays", 4).random())
    False
    >>> bool(rng(0, "mine.codes").random() == rng(0, "theirs.codes").random())
    False
    """
    require(seed >= 0, f"a seed is an integer >= 0, got {seed}")
    return np.random.default_rng(np.random.SeedSequence([seed, _stream(purpose), *unit]))


def _stream(purpose: str) -> int:
    """Number of a purpose; one from outside is larger than any number of ours or of a worker."""
    if purpose in STREAMS:
        return STREAMS[purpose]
    if "." not in purpose:
        sentence = unknown("purpose of randomness", purpose, STREAMS)
        raise ParameterError(f"{sentence}; a name of your own has a dot, as my_package.{purpose}")
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:4]) | 2**31
