"""What the claims share: the least load by another way, and rows of the table of counted statements."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pandas as pd

from gcexp.analysis.claims import Verdict, equals, every, number


def fewest_copies(n: int, s: int, alpha: Fraction) -> int:
    """Fewest copies y >= 1 for which all y-subsets of workers leave the share alpha: C(s, y) of C(n, y) are lost."""
    return next(y for y in range(1, s + 2) if Fraction(comb(s, y), comb(n, y)) <= 1 - alpha)


def in_every_case(table: pd.DataFrame, *statements: str) -> Verdict:
    """Whether statements of the table `all_parameters` hold in all cases that were tried."""
    return every(
        equals(number(table, "hold", {"statement": one}), number(table, "cases", {"statement": one}))
        for one in statements
    )
