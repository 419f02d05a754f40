"""Small finite fields GF(q), q a prime power, as addition and multiplication tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from gcexp.errors import require

LARGEST = 512  # the tables have q^2 entries


def prime_factors(number: int) -> list[int]:
    """Distinct primes that divide a number, rising.

    Examples
    --------
    >>> prime_factors(360), prime_factors(1)
    ([2, 3, 5], [])
    """
    factors, p = [], 2
    while p * p <= number:
        if number % p == 0:
            factors.append(p)
            while number % p == 0:
                number //= p
        p += 1
    if number > 1:
        factors.append(number)
    return factors


def is_prime(number: int) -> bool:
    """Whether a number is prime."""
    return number > 1 and prime_factors(number) == [number]


def is_prime_power(number: int) -> bool:
    """Whether a number is a power (at least the first) of one prime."""
    return number > 1 and len(prime_factors(number)) == 1


@dataclass(frozen=True, eq=False)
class Field:
    """A finite field on the numbers 0, ..., q-1: number sum_i a_i p^i is the polynomial sum_i a_i x^i over Z_p.

    Attributes
    ----------
    q : int
        Order.
    add, sub, mul : ndarray (q, q)
        Tables of a + b, a - b and a b; 0 and 1 are the neutral elements.
    """

    q: int
    add: np.ndarray
    sub: np.ndarray
    mul: np.ndarray

    def dot(self, a, b) -> np.ndarray:
        """Inner products of the rows of a (A, m) with those of b (B, m), (A, B)."""
        a = np.asarray(a)
        b = np.asarray(b)
        total = np.zeros((len(a), len(b)), dtype=int)
        for u, v in zip(a.T, b.T, strict=True):
            total = self.add[total, self.mul[u[:, None], v]]
        return total

    def powers(self, e: int) -> np.ndarray:
        """The distinct e-th powers of the nonzero elements, rising."""
        base = np.arange(1, self.q)
        powers = np.ones(self.q - 1, dtype=int)
        for _ in range(e):
            powers = self.mul[powers, base]
        return np.unique(powers)


@cache
def field(q: int) -> Field:
    """The field with q elements.

    Z_p[x] modulo the first polynomial x^m - a(x), in the order of the numbers of a, that leaves no zero divisor.

    Refused unless q is a prime power p^m of at most `LARGEST`. Source: Lidl, Niederreiter: Finite Fields, chapter 1.
    """
    require(is_prime_power(q), f"a finite field needs a prime power q, got q={q}")
    require(q <= LARGEST, f"finite fields are stored as tables, which supports q <= {LARGEST}, got q={q}")
    p = prime_factors(q)[0]
    m = next(m for m in range(1, q) if p**m == q)
    place = p ** np.arange(m)
    digits = np.arange(q)[:, None] // place % p
    for tail in digits:
        power, product = digits, 0  # power: every element times x^i
        for i in range(m):
            product = product + power[:, None] * digits[:, i, None]
            power = (np.pad(power, ((0, 0), (1, 0)))[:, :m] + power[:, -1:] * tail) % p
        mul = product % p @ place
        if mul[1:, 1:].all():
            add = (digits[:, None] + digits) % p @ place
            sub = (digits[:, None] - digits) % p @ place
            return Field(q, add, sub, mul)
    raise AssertionError(f"no irreducible polynomial of degree {m} over Z_{p}")
