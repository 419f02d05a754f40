"""Small parameters in turn: what the table of counted statements and the claims try."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb

from .theory import cyclic_load


def pairs(up_to: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """(n, s) with s < n and least <= n <= up_to."""
    for n in range(least, up_to + 1):
        for s in range(n):
            yield n, s


def sizes(up_to: int) -> Iterator[tuple[int, int]]:
    """(n, y) with 1 <= y <= n <= up_to."""
    for n in range(1, up_to + 1):
        for y in range(1, n + 1):
            yield n, y


def triples(up_to: int, least: int = 1) -> Iterator[tuple[int, int, int]]:
    """(n, s, beta) with n - s <= beta <= n and least <= n <= up_to."""
    for n, s in pairs(up_to, least):
        for beta in range(n - s, n + 1):
            yield n, s, beta


def cyclic_cases(up_to: int, messages: int, least: int = 1) -> Iterator[tuple[int, int, int, int]]:
    """(n, s, beta, p) of Theorem 5 (one message: p divides beta) or of Theorem 7 (two: it does not, and arcs fit)."""
    for n, s, beta in triples(up_to, least):
        p = cyclic_load(n, s, beta)
        divides = beta % p == 0
        arcs_fit = p * -(-beta // p) <= n
        if (messages == 1 and divides) or (messages == 2 and not divides and arcs_fit):
            yield n, s, beta, p


def fewest_copies(n: int, s: int, alpha: Fraction) -> int:
    """Fewest copies y >= 1 for which all y-subsets of workers leave the share alpha: C(s, y) of C(n, y) are lost."""
    return next(y for y in range(1, s + 2) if Fraction(comb(s, y), comb(n, y)) <= 1 - alpha)
