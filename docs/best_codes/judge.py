"""Build a code from its row in the table of best codes, and judge it in exact fractions. Nothing of gcexp is used here.

A construction is one of

    circulant 0 1 3               worker w holds the partitions w, w+1 and w+3 (mod n)
    union 3x(0,1) 5x(0,1)         circulant codes side by side, here on three and on five workers
    rows 7 b d ...                one row for each worker: a hexadecimal number, whose bit i stands for partition i
    rows 1,0,-2 0,1,1 ...         or whole numbers separated by commas, one for each partition
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, comb, floor

Matrix = list[list[int]]
KINDS = ("plain", "any", "uneven")


def matrix_of(construction: str, n: int) -> Matrix:
    """The encoding matrix, a row for each of n workers."""
    word, _, rest = construction.partition(" ")
    if word == "circulant":
        return _circulant(n, [int(offset) for offset in rest.split()])
    if word == "union":
        return _union(rest, n)
    if word == "rows":
        return [_row(text, n) for text in rest.split()]
    raise ValueError(f"a construction begins with circulant, union or rows, got {construction!r}")


def _circulant(n: int, offsets: list[int]) -> Matrix:
    rows = []
    for worker in range(n):
        row = [0] * n
        for offset in offsets:
            row[(worker + offset) % n] = 1
        rows.append(row)
    return rows


def _union(text: str, n: int) -> Matrix:
    rows: Matrix = []
    for part in text.split():
        size, offsets = re.fullmatch(r"(\d+)x\(([\d,]+)\)", part).groups()
        before = len(rows)
        after = n - before - int(size)
        for row in _circulant(int(size), [int(offset) for offset in offsets.split(",")]):
            rows.append([0] * before + row + [0] * after)
    return rows


def _row(text: str, n: int) -> list[int]:
    if "," in text:
        return [int(number) for number in text.split(",")]
    bits = int(text, 16)
    return [bits >> i & 1 for i in range(n)]


def errors(B: Matrix, s: int) -> Iterator[Fraction]:
    """The smallest ||c - 1||^2 / n of each set of s stragglers.

    With the Gram matrix G and the row sums v of the heard rows it is (n - v' x) / n for any x with G x = v: c is the
    projection of the all-ones vector onto the rows.
    """
    n = len(B)
    gram = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in B] for one in B]
    sums = [sum(row) for row in B]
    for heard in combinations(range(n), n - s):
        system = [[Fraction(gram[i][j]) for j in heard] + [Fraction(sums[i])] for i in heard]
        yield (n - _projection(system)) / Fraction(n)


def _projection(system: list[list[Fraction]]) -> Fraction:
    """Compute v' x with G x = v from the rows of (G | v), by elimination on the diagonal: G is positive semidefinite.

    Each step takes v_i^2 / G_ii of what is left; where G_ii is 0, the whole row is.
    """
    total = Fraction(0)
    size = len(system)
    for i in range(size):
        pivot = system[i][i]
        if pivot == 0:
            continue
        total += system[i][-1] ** 2 / pivot
        for j in range(i + 1, size):
            factor = system[j][i] / pivot
            if factor:
                for column in range(i + 1, size + 1):
                    system[j][column] -= factor * system[i][column]
    return total


def worst_and_mean(B: Matrix, s: int) -> tuple[Fraction, Fraction]:
    """Largest and mean error over all sets of s stragglers."""
    all_errors = list(errors(B, s))
    return max(all_errors), sum(all_errors) / Fraction(len(all_errors))


def bound(n: int, d: int, s: int, kind: str) -> Fraction:
    """What no code can beat at worst: Theorem 5 of docs/bounds.md, and unless loads are uneven Theorem 8 as well."""
    lost = max(s // d, ceil(n * chance_of_loss(n, s, Fraction(d))))
    if kind != "uneven":
        lost = max(lost, least_lost(n, d, s))
    return Fraction(lost, n)


@cache
def least_lost(n: int, d: int, s: int, lost: int = 0, used: int = 0) -> int:
    """Partitions that s stragglers can make lost at least, `used` of whom have made some lost already: Theorem 8."""
    if lost == n:
        return n
    holders = Fraction(d * (n - used), n - lost)
    at_random = lost + ceil((n - lost) * chance_of_loss(n - used, s - used, holders))
    if used + floor(holders) > s:
        return at_random
    next_ones = [least_lost(n, d, s, lost + 1, used + more) for more in range(floor(holders) + 1)]
    return max(at_random, min(next_ones))


def chance_of_loss(n: int, s: int, holders: Fraction) -> Fraction:
    """How likely all holders of a partition are among s of n workers; between whole numbers on a straight line."""
    whole = floor(holders)
    chances = []
    for h in (whole, whole + 1):
        chances.append(Fraction(comb(n - h, s - h), comb(n, s)) if h <= s else Fraction(0))
    return chances[0] + (holders - whole) * (chances[1] - chances[0])


def mistake(B: Matrix, n: int, d: int, kind: str) -> str | None:
    """Why a matrix is no code of this kind, or None."""
    if len(B) != n or any(len(row) != n for row in B):
        return f"the matrix must have {n} rows of {n} entries"
    loads = [sum(entry != 0 for entry in row) for row in B]
    if kind == "uneven" and sum(loads) > n * d:
        return f"the mean load must be at most {d}, got {sum(loads)} entries in {n} rows"
    if kind != "uneven" and max(loads) > d:
        return f"each load must be at most {d}, got {max(loads)}"
    if kind != "any" and any(entry not in (0, 1) for row in B for entry in row):
        return "the entries must be 0 or 1"
    return None
