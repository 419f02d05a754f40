"""Which numbers divide the number of workers, for sentences about codes in groups."""

from __future__ import annotations

_MOST_TOLD = 16


def divisors(n: int, less: int = 0) -> str:
    """The divisors of n as a sentence lists them, each smaller by `less`; the first ones where there are many.

    >>> divisors(12), divisors(12, less=1)
    ('1, 2, 3, 4, 6, 12', '0, 1, 2, 3, 5, 11')
    """
    numbers = [str(size - less) for size in range(1, n + 1) if n % size == 0]
    more = ", ..." if len(numbers) > _MOST_TOLD else ""
    return ", ".join(numbers[:_MOST_TOLD]) + more
