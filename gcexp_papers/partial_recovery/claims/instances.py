"""What the claims share: parameters in turn, and rows of the table of counted statements."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb

import pandas as pd

from gcexp.analysis.claims import Verdict, equals, every, number


def pairs(up_to: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """(n, s) with s < n <= up_to."""
    return ((n, s) for n in range(least, up_to + 1) for s in range(n))


def sizes(up_to: int) -> Iterator[tuple[int, int]]:
    """(n, y) with 1 <= y <= n <= up_to."""
    return ((n, y) for n in range(1, up_to + 1) for y in range(1, n + 1))


def triples(up_to: int) -> Iterator[tuple[int, int, int]]:
    """(n, s, beta) with n - s <= beta <= n <= up_to."""
    return ((n, s, beta) for n, s in pairs(up_to) for beta in range(n - s, n + 1))


def fewest_copies(n: int, s: int, alpha: Fraction) -> int:
    """Fewest copies y >= 1 for which all y-subsets of workers leave the share alpha: C(s, y) of C(n, y) are lost."""
    return next(y for y in range(1, s + 2) if Fraction(comb(s, y), comb(n, y)) <= 1 - alpha)


def in_every_case(table: pd.DataFrame, *statements: str) -> Verdict:
    """Whether statements of the table `all_parameters` hold in all cases that were tried."""
    return every(
        equals(number(table, "hold", {"statement": one}), number(table, "cases", {"statement": one}))
        for one in statements
    )
