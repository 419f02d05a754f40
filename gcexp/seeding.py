"""Randomness: one independent stream per (seed, purpose, unit), never a global generator."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.random.bit_generator import ISeedSequence

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
    "failures": 13,
    "rejoins": 14,
}


def rng(seed: int, purpose: str, *unit: int) -> np.random.Generator:
    """Generator of one purpose. It does not depend on what else is drawn.

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
    require(seed >= 0, f"a seed must be an integer >= 0, got {seed}")
    return np.random.default_rng(np.random.SeedSequence([seed, _stream(purpose), *unit]))


def rngs(seed: int, purpose: str, units: Sequence[int]) -> list[np.random.Generator]:
    """``[rng(seed, purpose, unit) for unit in units]``, the same bits for a tenth of the time.

    Examples
    --------
    >>> bool(rngs(0, "delays", range(5))[3].random() == rng(0, "delays", 3).random())
    True
    """
    if not (0 <= seed < 2**64 and len(units) and 0 <= min(units) <= max(units) < 2**32):
        return [rng(seed, purpose, unit) for unit in units]
    words = [seed & _WORD]
    if seed > _WORD:
        words.append(seed >> 32)
    words.append(_stream(purpose))
    if not isinstance(units, range):
        units = tuple(units)
    generators = []
    for state in _states(tuple(words), units):
        stream = np.random.PCG64(_Known(state))  # type: ignore[arg-type]
        generators.append(np.random.Generator(stream))
    return generators


class _Known(ISeedSequence):
    """What a `numpy.random.SeedSequence` would say, computed before."""

    def __init__(self, state: np.ndarray):
        self._state = state

    def generate_state(self, n_words, dtype=np.uint32):
        return self._state


_WORD = 2**32 - 1


def _constants(first: int, factor: int, count: int) -> np.ndarray:
    """Multiply `first` again and again, modulo 2^32: (count, 1)."""
    products = [first * pow(factor, i, 2**32) & _WORD for i in range(count)]
    return np.array(products, dtype=np.uint32)[:, None]


_IN = _constants(0x43B0D7E5, 0x931E8875, 17)
_OUT = _constants(0x8B51F9DD, 0x58F38DED, 9)
_LEFT = np.uint32(0xCA01F9DD)
_RIGHT = np.uint32(0x4973F715)


def _hashed(words: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Words (c or 1, U), each row with its own of the c + 1 constants and the one behind it."""
    hashed = (words ^ constants[:-1]) * constants[1:]
    hashed ^= hashed >> 16
    return hashed


@lru_cache(maxsize=16)  # many schemes ask for the same workers
def _states(words: tuple[int, ...], units: Sequence[int]) -> np.ndarray:
    """What `numpy.random.SeedSequence` generates for PCG64 from some 32-bit words and each unit, (U, 4) uint64.

    M. E. O'Neill's hash (2015, randutils), whose bits numpy promises to keep: a pool of four words, each mixed into the
    others.
    """
    pool = np.zeros((4, len(units)), np.uint32)
    pool[: len(words)] = np.array(words)[:, None]
    pool[len(words)] = units
    pool = _hashed(pool, _IN[:5])
    for i, others in enumerate(([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])):
        mixed: np.ndarray = _LEFT * pool[others] - _RIGHT * _hashed(pool[i], _IN[4 + 3 * i : 8 + 3 * i])
        pool[others] = mixed ^ (mixed >> 16)
    low, high = _hashed(np.concatenate([pool, pool]), _OUT).astype(np.uint64).reshape(4, 2, -1).swapaxes(0, 1)
    return np.ascontiguousarray((low | high << 32).T)


def _stream(purpose: str) -> int:
    """Number of a purpose; one from outside is larger than any number of ours or of a worker."""
    if purpose in STREAMS:
        return STREAMS[purpose]
    if "." not in purpose:
        sentence = unknown("purpose of randomness", purpose, STREAMS)
        raise ParameterError(f"{sentence}; a name of your own has a dot, as my_package.{purpose}")
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:4]) | 2**31
