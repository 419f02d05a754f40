"""How long is a run? Its iterations, its horizon and its seeds, as a person names them and as file names spell them."""

from __future__ import annotations

import re
from typing import Any

from gcexp.errors import UserError
from gcexp.schema import is_number, is_whole, quoted

# Of one run: a slip of the finger ends in a sentence, not in a full memory.
MOST_SEEDS, MOST_ITERATIONS = 100_000, 10**9
_LARGEST_SEED = 2**32 - 1


def check_horizon(horizon: Any) -> float | None:
    """A horizon that is a simulated time, or None."""
    if horizon is None:
        return None
    if not is_number(horizon) or not 0 < horizon < float("inf"):
        raise UserError(f"horizon must be a simulated time > 0 or null, got {horizon!r}")
    return horizon


def check_count(key: str, value: Any, most: int = MOST_ITERATIONS) -> int:
    """An integer of at least 1."""
    if not is_whole(value) or value < 1:
        raise UserError(f"{key} must be an integer >= 1, got {value!r}")
    if value > most:
        raise UserError(f"{key} must be at most {most}, got {quoted(value)}")
    return value


def seed_list(seeds: object) -> tuple[int, ...]:
    """Seeds as a person names them, everywhere alike: how many, the first and the last, or a list without gaps.

    >>> seed_list(3), seed_list("2-4"), seed_list("3-3"), seed_list([3])
    ((0, 1, 2), (2, 3, 4), (3,), (3,))
    """
    if is_whole(seeds) and seeds >= 1:
        return tuple(range(check_count("seeds", seeds, MOST_SEEDS)))
    if isinstance(seeds, list | tuple | range):
        return _seeds_between(*_ends_of_list(seeds))
    text = str(seeds)[:40] if isinstance(seeds, int | str) else ""
    span = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)
    if span is not None:
        first = int(span[1])
        last = int(span[2])
        if first <= last:
            return _seeds_between(first, last)
    sentence = f"seeds must be a number of seeds >= 1 or a range such as 0-4, got {quoted(seeds)}"
    if re.fullmatch("[0-9]{1,10}", text):
        sentence += f"; seed {text} alone is {text}-{text}"
    raise UserError(sentence)


def _ends_of_list(seeds: list | tuple | range) -> tuple[int, int]:
    """The first and the last of seeds that are listed, which must be consecutive."""
    some = list(seeds[: MOST_SEEDS + 1])
    if not _are_consecutive(some):
        raise UserError(f"seeds must be consecutive whole numbers where they are listed, got {quoted(seeds)}")
    if some[0] < 0:
        raise UserError(f"seeds must be whole numbers >= 0, got {quoted(seeds)}")
    return some[0], seeds[-1]


def _are_consecutive(seeds: list) -> bool:
    """Whether a list holds whole numbers, each one more than the number before it."""
    if not seeds or not all(is_whole(seed) for seed in seeds):
        return False
    first = seeds[0]
    return seeds == list(range(first, first + len(seeds)))


def _seeds_between(first: int, last: int) -> tuple[int, ...]:
    """The seeds of a range, refused where they are too large or too many."""
    if last > _LARGEST_SEED:
        raise UserError(f"seeds go up to {_LARGEST_SEED}, got '{first}-{last}'")
    if last - first >= MOST_SEEDS:
        raise UserError(f"seeds {first}-{last} are {last - first + 1} seeds (allowed: up to {MOST_SEEDS})")
    return tuple(range(first, last + 1))


def seed_range(seeds: object) -> str:
    """Name of some seeds in file names: the first and the last, or the only one.

    >>> seed_range(3), seed_range("3-3")
    ('0-2', '3')
    """
    found = seed_list(seeds)
    if len(found) == 1:
        return str(found[0])
    return f"{found[0]}-{found[-1]}"


def spell_seeds(name: str) -> str:
    """What a person types for the seeds of a file name, where a number alone is one seed and not how many.

    >>> spell_seeds("0-2"), spell_seeds("3")
    ('0-2', '3-3')
    """
    if "-" in name:
        return name
    return f"{name}-{name}"


def spell_number(number: float) -> str:
    """Shortest text that is read back as the same number.

    >>> spell_number(2.0), spell_number(0.8)
    ('2', '0.8')
    """
    return repr(float(number)).removesuffix(".0")
