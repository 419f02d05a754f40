"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def joined(names: Iterable[object], most: int | None = None) -> str:
    """Names as a sentence lists them; of more than `most` the first ones, and how many more there are.

    >>> joined([1]), joined(["a", "b", "c"]), joined(range(12), most=4)
    ('1', 'a, b and c', '0, 1, 2, 3 and 8 more')
    """
    words = list(map(str, names))
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    *first, last = words
    if not first:
        return last
    return f"{', '.join(first)} and {last}"
