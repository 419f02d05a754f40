r"""Balanced incomplete block designs as incidence matrices: constructions, existence conditions and a list by size.

Here, workers are the points of a design and partitions are its blocks. The `incidence` matrix is k x n,
``incidence[i, j] = 1`` where worker j holds partition i; the encoding of a code is its transpose. A design with
parameters (n, k, l, r, lambda) has l ones in each column ("load"), r ones in each row ("redundancy"), and any two
columns share lambda rows ("intersection"): n l = k r and lambda (n - 1) = l (r - 1).

A design is named by its construction and the arguments of that, ``pg-2-3`` or ``pg(2, 3)``; names nest:
``stack-complement-bent-2-3`` is ``stack(complement(bent(2)), 3)``.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, product
from math import comb, gcd, isqrt
from typing import NamedTuple

import numpy as np

from gcexp.designs.finite_fields import field, is_prime, is_prime_power, prime_factors
from gcexp.errors import ParameterError, require, unknown

SEARCH_STEPS = 200_000  # of the search for difference sets, before it gives up
ENTRIES = 10**7  # of the largest incidence matrix that is built
UNGUIDED = 20  # largest n that it tries without a multiplier


@dataclass(frozen=True, eq=False)
class Design:
    """A 0/1 matrix (k, n) of partitions and workers, refused unless it is a design, with its parameters.

    Its load is the number of ones in a column, its redundancy that in a row, its intersection that of the rows which
    two columns share.
    """

    incidence: np.ndarray
    load: int = dataclasses.field(init=False)
    redundancy: int = dataclasses.field(init=False)
    intersection: int = dataclasses.field(init=False)

    def __post_init__(self):
        A = np.asarray(self.incidence)
        require(
            A.ndim == 2 and bool(np.isin(A, (0, 1)).all()),
            "an incidence matrix must be two-dimensional with entries 0 and 1",
        )
        object.__setattr__(self, "incidence", A.astype(np.uint8))
        gram = A.T.astype(float) @ A
        shared = gram[~np.eye(len(gram), dtype=bool)]
        if not len(shared):  # a single worker has nobody to share with
            shared = np.zeros(1)
        for name, ones in (("load", A.sum(0)), ("redundancy", A.sum(1)), ("intersection", shared)):
            least = int(ones.min())
            most = int(ones.max())
            require(least == most, f"a design has one {name}, got {least} to {most}")
            object.__setattr__(self, name, least)

    @property
    def params(self) -> tuple[int, int, int, int, int]:
        """(n, k, load, redundancy, intersection)."""
        k, n = np.shape(self.incidence)
        return n, k, self.load, self.redundancy, self.intersection


# --- Geometries --------------------------------------------------------------------------------------------------


def _directions(dim: int, q: int) -> np.ndarray:
    """Vectors of GF(q)^dim whose first nonzero entry is 1."""
    vectors = np.array(list(product(range(q), repeat=dim)))
    first = (vectors != 0).argmax(1)
    return vectors[vectors[np.arange(len(vectors)), first] == 1]


def _require_geometry(name: str, dim: int, q: int) -> None:
    """Refuse geometries that do not exist or are too large."""
    require(
        dim >= 2 and is_prime_power(q), f"{name} needs dim >= 2 and a prime power q, got dim={dim}, q={q}"
    )
    _require_size(f"{name}({dim}, {q})", q**dim, q**dim)  # about the number of points and of hyperplanes


def _require_size(name: str, n: int, k: int) -> None:
    """Refuse designs that are too large to be built."""
    require(
        n * k <= ENTRIES,
        f"{name} has {k} partitions on {n} workers, more than the {ENTRIES:.0e} entries that are supported",
    )


def pg(dim: int, q: int) -> Design:
    """Points and hyperplanes of the projective geometry PG(dim, q): symmetric; dim = 2 is a projective plane.

    Refused unless dim >= 2 and q is a prime power. Source: Beth, Jungnickel, Lenz: Design Theory, 1999, section I.2.
    """
    _require_geometry("pg", dim, q)
    points = _directions(dim + 1, q)
    return Design(field(q).dot(points, points) == 0)


def ag_dual(dim: int, q: int) -> Design:
    """Points and hyperplanes of the affine geometry AG(dim, q), the points as workers; dim = 2 is an affine plane.

    Refused unless dim >= 2 and q is a prime power. Source: Beth, Jungnickel, Lenz: Design Theory, 1999, section I.2.
    """
    _require_geometry("ag_dual", dim, q)
    points = np.array(list(product(range(q), repeat=dim)))
    levels = field(q).dot(_directions(dim, q), points)
    on_hyperplane = levels[:, None] == np.arange(q)[:, None]  # (directions, levels, points)
    return Design(on_hyperplane.reshape(-1, len(points)))


# --- Difference sets: the translates of one set, or of a few -----------------------------------------------------


def _translates(minus: np.ndarray, elements) -> np.ndarray:
    """Row g is one at x where x - g is one of the elements; ``minus[a, b]`` is a - b."""
    return np.isin(minus.T, list(elements))


def _cyclic_translates(n: int, elements) -> np.ndarray:
    """The translates of some elements of Z_n."""
    _require_size(f"a development in Z_{n}", n, n)
    return _translates((np.arange(n)[:, None] - np.arange(n)) % n, elements)


def paley(q: int) -> Design:
    """Translates of the nonzero squares of GF(q), q = 3 mod 4: a Hadamard design.

    Refused unless q >= 7 is a prime power and 3 modulo 4. Source: Paley: On orthogonal matrices, J. Math. Phys. 1933.
    """
    require(
        q >= 7 and q % 4 == 3 and is_prime_power(q), f"paley needs a prime power q = 3 mod 4, >= 7, got q={q}"
    )
    F = field(q)
    return Design(_translates(F.sub, F.powers(2)))


def paley2(q: int) -> Design:
    """Translates of the nonzero squares and of the nonsquares of GF(q), q = 1 mod 4: 2q partitions.

    Refused unless q is a prime power and 1 modulo 4. Source: Bose: On the construction of balanced incomplete block
    designs, Ann. Eugenics 1939 (method of differences).
    """
    require(q % 4 == 1 and is_prime_power(q), f"paley2 needs a prime power q = 1 mod 4, got q={q}")
    F = field(q)
    squares = F.powers(2)
    others = np.setdiff1d(np.arange(1, q), squares)
    return Design(np.concatenate([_translates(F.sub, squares), _translates(F.sub, others)]))


def bent(t: int) -> Design:
    """Translates in Z_2^(2t) of the ones of the bent function f(x, y) = x . y; t = 2 is the biplane (16, 6, 2).

    Refused unless 2 <= t <= 5. Source: Mann: Addition Theorems, 1965 (difference sets in elementary abelian 2-groups);
    Dillon, 1974 (bent functions).
    """
    require(2 <= t <= 5, f"bent needs 2 <= t <= 5, got t={t}")
    z = np.arange(4**t)
    both = (z >> t) & z & (2**t - 1)
    parity = np.bitwise_count(both) % 2
    return Design(_translates(z[:, None] ^ z, z[parity == 1]))


def quartic(p: int) -> Design:
    """Translates in Z_p of the fourth powers (p = 4x^2 + 1), with 0 (p = 4x^2 + 9), x odd, p > 5 prime.

    Refused unless p is such a prime. Source: Lehmer: On residue difference sets, Canad. J. Math. 1953.
    """
    with_zero = _is_odd_square((p - 9) / 4)
    require(
        p > 5 and is_prime(p) and (with_zero or _is_odd_square((p - 1) / 4)),
        f"quartic needs a prime p > 5 of the form 4x^2 + 1 or 4x^2 + 9, x odd, got p={p}",
    )
    first = 0 if with_zero else 1
    fourth_powers = {pow(x, 4, p) for x in range(first, p)}
    return Design(_cyclic_translates(p, fourth_powers))


def _is_odd_square(number: float) -> bool:
    return number >= 1 and number == int(number) and isqrt(int(number)) ** 2 == number and number % 2 == 1


def twin(p: int) -> Design:
    """Translates in Z_{p(p+2)} of the twin prime difference set: x = 0 mod p+2, or chi_p(x) chi_{p+2}(x) = 1.

    Refused unless p and p + 2 are prime. Source: Stanton, Sprott: A family of difference sets, Canad. J. Math. 1958.
    """
    require(is_prime(p) and is_prime(p + 2), f"twin needs p and p + 2 prime, got p={p}")
    n = p * (p + 2)

    def chi(x: np.ndarray, prime: int) -> np.ndarray:
        squares = np.unique(np.arange(1, prime) ** 2 % prime)
        sign = np.where(np.isin(x % prime, squares), 1, -1)
        return np.where(x % prime == 0, 0, sign)

    x = np.arange(n)
    is_element = (x % (p + 2) == 0) | (chi(x, p) * chi(x, p + 2) == 1)
    return Design(_cyclic_translates(n, x[is_element]))


def cyclic_ds(n: int, load: int, intersection: int) -> Design:
    """Translates in Z_n of a cyclic difference set, found by search.

    Let p be a prime that divides load - intersection and not n. Some translate of the set is then fixed by
    x -> p x (the multiplier theorem where p > intersection, else a conjecture): the search backtracks over unions
    of orbits. Without such a p it tries all sets, for n <= `UNGUIDED` only. Not found does not mean that
    there is none, unless the sentence says so.

    Refused if no such design can exist (`why_impossible`) or none is found. Source: Hall: A survey of difference sets,
    Proc. AMS 1956 (multiplier theorem).
    """
    reason = why_impossible(n, n, load, load, intersection)
    require(reason is None, f"cyclic_ds({n}, {load}, {intersection}): {reason}")
    elements = difference_set(n, load, intersection)
    require(elements is not None, f"no cyclic difference set ({n}, {load}, {intersection}) was found")
    return Design(_cyclic_translates(n, elements))


def difference_set(n: int, load: int, intersection: int) -> tuple[int, ...] | None:
    """A cyclic difference set, or None where the search finds none (see `cyclic_ds`)."""
    orbits = _orbits_of_multiplier(n, load, intersection)
    # An orbit's own differences, and those with each other orbit, are the same in every branch.
    differences = cache(lambda a, b: _differences(n, orbits[a], orbits[b]))
    steps = 0
    # Next orbit, those in the union, how many elements these have, and how often each difference occurs.
    stack: list[tuple[int, tuple[int, ...], int, np.ndarray]] = [(0, (), 0, np.zeros(n, dtype=int))]
    while stack:
        i, union, size, count = stack.pop()
        steps += 1
        if steps > SEARCH_STEPS:
            return None
        if size == load:
            if (count[1:] == intersection).all():
                return tuple(sorted(chain.from_iterable(orbits[a] for a in union)))
            continue
        if i == len(orbits):
            continue
        stack.append((i + 1, union, size, count))  # without orbit i: tried last
        larger = size + len(orbits[i])
        if larger <= load:
            count_with = count + differences(i, i)
            for a in union:
                count_with = count_with + differences(a, i) + differences(i, a)
            if (count_with[1:] <= intersection).all():
                stack.append((i + 1, (*union, i), larger, count_with))
    return None


def _orbits_of_multiplier(n: int, load: int, intersection: int) -> list[tuple[int, ...]]:
    """Sets of which a difference set is a union: orbits of a multiplier, or without one single elements.

    None for large n without a multiplier, where no search is tried.
    """
    multipliers = [p for p in prime_factors(load - intersection) if gcd(p, n) == 1]
    if multipliers:  # a proven one before a conjectured one, then the fewest orbits
        p = min(multipliers, key=lambda p: (p <= intersection, len(_orbits(n, p)), p))
        return _orbits(n, p)
    if n <= UNGUIDED:
        return [(x,) for x in range(n)]
    return []


def _orbits(n: int, p: int) -> list[tuple[int, ...]]:
    """Orbits of x -> p x on Z_n, by smallest element."""
    in_an_orbit, orbits = set(), []
    for x in range(n):
        if x in in_an_orbit:
            continue
        orbit = [x]
        y = x * p % n
        while y != x:
            orbit.append(y)
            y = y * p % n
        in_an_orbit.update(orbit)
        orbits.append(tuple(sorted(orbit)))
    return orbits


def _differences(n: int, a: tuple[int, ...], b: tuple[int, ...]) -> np.ndarray:
    """How often each nonzero number is x - y with x in a and y in b, (n,)."""
    count = np.bincount(((np.array(a)[:, None] - np.array(b)) % n).ravel(), minlength=n)
    count[0] = 0
    return count


# --- Triple systems, all subsets, and designs from designs -------------------------------------------------------


def _rows(n: int, blocks) -> np.ndarray:
    """Incidence matrix of blocks given as lists of points."""
    blocks = np.array(list(blocks))
    A = np.zeros((len(blocks), n), dtype=np.uint8)
    A[np.arange(len(blocks))[:, None], blocks] = 1
    return A


def sts(v: int) -> Design:
    """Steiner triple system on v points, by Bose (v = 3 mod 6) or Skolem (v = 1 mod 6).

    Refused unless v >= 7 is 1 or 3 modulo 6. Source: Bose, Ann. Eugenics 1939; Skolem: Some remarks on the triple
    systems of Steiner, Math. Scand. 1958.
    """
    require(v >= 7 and v % 6 in (1, 3), f"a Steiner triple system needs v = 1 or 3 mod 6, v >= 7, got v={v}")
    _require_size(f"sts({v})", v, v * (v - 1) // 6)
    t = v // 6
    Q = v // 3
    colours = range(3)
    if v % 6 == 3:
        triples = [(i, i + Q, i + 2 * Q) for i in range(Q)]

        def middle(i: int, j: int) -> int:
            return (i + j) * (t + 1) % Q
    else:
        triples = [(i, i + Q, i + 2 * Q) for i in range(t)]
        for i, c in product(range(t), colours):
            triples.append((3 * Q, i + t + Q * c, i + Q * ((c + 1) % 3)))

        def middle(i: int, j: int) -> int:
            z = (i + j) % Q
            half, is_odd = divmod(z, 2)
            return half + t * is_odd

    for (i, j), c in product(combinations(range(Q), 2), colours):
        triples.append((i + Q * c, j + Q * c, middle(i, j) + Q * ((c + 1) % 3)))
    return Design(_rows(v, triples))


def complete(n: int, r: int) -> Design:
    """All r-subsets of the n workers.

    Refused unless 1 <= r <= n and the matrix has at most `ENTRIES` entries.
    """
    require(1 <= r <= n, f"complete needs 1 <= r <= n, got n={n}, r={r}")
    _require_size(f"complete({n}, {r})", n, comb(n, r))
    return Design(_rows(n, combinations(range(n), r)))


def complement(design: Design) -> Design:
    """1 - A: every worker holds the partitions that it did not hold before."""
    require(
        design.redundancy < design.incidence.shape[1], f"the complement of a {design.params} design is empty"
    )
    return Design(1 - design.incidence)


def stack(design: Design, copies: int) -> Design:
    """`copies` vertical copies: more partitions on the same workers; every error stays as it is."""
    require(copies >= 1, f"stack needs copies >= 1, got {copies}")
    return Design(np.tile(design.incidence, (copies, 1)))


# --- Names -------------------------------------------------------------------------------------------------------

CONSTRUCTIONS: dict[str, Callable[..., Design]] = {
    "pg": pg,
    "ag_dual": ag_dual,
    "paley": paley,
    "paley2": paley2,
    "bent": bent,
    "quartic": quartic,
    "twin": twin,
    "cyclic_ds": cyclic_ds,
    "sts": sts,
    "complete": complete,
    "complement": complement,
    "stack": stack,
}


def named_design(name: str) -> Design:
    """Design of a name such as ``pg-2-3``, ``pg(2, 3)`` or ``stack(complement(bent(2)), 3)``.

    Refused for an unknown construction, a wrong number of arguments, and whatever the construction refuses.
    """
    words = [word for word in re.split(r"[-(),\s]+", str(name)) if word]

    def read() -> Design:
        head = words.pop(0) if words else ""
        if head not in CONSTRUCTIONS:
            raise ParameterError(unknown("design", head or name, CONSTRUCTIONS))
        parameters = list(inspect.signature(CONSTRUCTIONS[head]).parameters)
        arguments: list = []
        for parameter in parameters:
            if parameter == "design":
                arguments.append(read())
            else:
                number = words.pop(0) if words else ""
                require(number.isdecimal(), f"design {name!r}: {head} takes {', '.join(parameters)}")
                arguments.append(int(number))
        return CONSTRUCTIONS[head](*arguments)

    design = read()
    require(not words, f"design {name!r}: nothing takes {'-'.join(words)}")
    return design


class Found(NamedTuple):
    """Name and parameters of a design that the constructions reach."""

    design: str
    n: int
    k: int
    load: int
    redundancy: int
    intersection: int


def find_bibd(n: int, max_k: int, density_range: tuple[float, float] = (0.0, 1.0)) -> list[Found]:
    """Every (k, load, redundancy, intersection) on n workers that the constructions reach, with its simplest name.

    They are sorted by k, then load, have at most `max_k` partitions, and redundancy / n lies in `density_range`. One
    worker in every row (r = 1) and all in every row (r = n) are left out.
    """
    low, high = density_range
    simplest: dict[tuple, str] = {}
    base: dict[tuple, str] = {}
    for name in _candidates(n, max_k):
        with suppress(ParameterError):  # of a construction that needs another n
            design = named_design(name)
            if design.params[1] <= max_k:
                base.setdefault(design.params, name)
    for (_, k, l, r, shared), name in list(base.items()):
        if r < n - 1:
            of_complement = (n, k, k - l, n - r, k - 2 * l + shared)
            base.setdefault(of_complement, f"complement-{name}")
    smallest_k = min((k for _, k, *_ in base), default=1)
    for copies in range(1, max_k // smallest_k + 1):
        for (_, k, l, r, shared), name in base.items():
            if k * copies <= max_k and low <= r / n <= high and 1 < r < n:
                params = (n, k * copies, l * copies, r, shared * copies)
                simplest.setdefault(params, name if copies == 1 else f"stack-{name}-{copies}")
    return [Found(simplest[params], *params) for params in sorted(simplest)]


def _candidates(n: int, max_k: int) -> Iterator[str]:
    """Names of the constructions that give n workers if they exist, complements and stacks apart."""
    yield from _geometries(n)
    yield from (f"paley-{n}", f"paley2-{n}", f"quartic-{n}", f"sts-{n}")
    t = (n.bit_length() - 1) // 2
    if n == 4**t:
        yield f"bent-{t}"
    p = isqrt(n + 1) - 1
    if n == p * (p + 2):
        yield f"twin-{p}"
    yield from (f"complete-{n}-{r}" for r in range(2, n) if comb(n, r) <= max_k)
    if n <= max_k:
        for load in range(3, n // 2 + 1):
            shared, rest = divmod(load * (load - 1), n - 1)
            if rest or why_impossible(n, n, load, load, shared):
                continue
            if difference_set(n, load, shared):
                yield f"cyclic_ds-{n}-{load}-{shared}"


def _geometries(n: int) -> Iterator[str]:
    """Names of the projective and affine geometries with n points."""
    for q in range(2, isqrt(n) + 1):
        if is_prime_power(q):
            size, dim = 1 + q, 1  # points of PG(1, q)
            while size < n:
                dim += 1
                size += q**dim
                if size == n:
                    yield f"pg-{dim}-{q}"
                if q**dim == n:
                    yield f"ag_dual-{dim}-{q}"


# --- Existence ---------------------------------------------------------------------------------------------------


def hilbert_symbol(a: int, b: int, p: int | None) -> int:
    """Hilbert symbol (a, b)_p: 1 if x^2 = a y^2 + b z^2 has a nonzero solution in the p-adic numbers, else -1.

    a and b are not zero; p is a prime, or None for the real numbers (Serre: A Course in Arithmetic, chapter III,
    theorem 1).

    Examples
    --------
    >>> hilbert_symbol(-1, -1, None), hilbert_symbol(-1, -1, 2), hilbert_symbol(2, 3, 3)
    (-1, -1, -1)
    """
    if p is None:
        both_negative = a < 0 and b < 0
        return (-1) ** both_negative

    def split(number: int) -> tuple[int, int]:
        power = 0
        while number % p == 0:
            number = number // p
            power = power + 1
        return power, number

    alpha, u = split(a)
    beta, v = split(b)
    if p == 2:
        exponent = (u - 1) // 2 * ((v - 1) // 2) + alpha * ((v * v - 1) // 8) + beta * ((u * u - 1) // 8)
        return (-1) ** (exponent % 2)

    def legendre(number: int) -> int:
        is_square = pow(number % p, (p - 1) // 2, p) == 1
        return 1 if is_square else -1

    sign = (-1) ** (alpha * beta * ((p - 1) // 2) % 2)
    return sign * legendre(u) ** (beta % 2) * legendre(v) ** (alpha % 2)


def why_impossible(n: int, k: int, load: int, redundancy: int, intersection: int) -> str | None:
    """Message why no design has these parameters, or None if the necessary conditions hold.

    The conditions: n l = k r and lambda (n - 1) = l (r - 1); Fisher's k >= n; Bruck, Ryser and Chowla for k = n.
    With o = l - lambda these are: for n even, o is a square; for n odd, x^2 = o y^2 + (-1)^((n-1)/2) lambda z^2
    has a nonzero integer solution, that is, all its Hilbert symbols are 1. They are necessary only.

    Source: Bruck, Ryser, Canad. J. Math. 1949; Chowla, Ryser, Canad. J. Math. 1950; Fisher, Ann. Eugenics 1940.

    Examples
    --------
    >>> why_impossible(43, 43, 7, 7, 1)
    'by Bruck, Ryser and Chowla there is no symmetric design (43, 7, 1)'
    >>> why_impossible(111, 111, 11, 11, 1) is None  # and yet there is none
    True
    """
    l, r, shared = load, redundancy, intersection
    if not (1 < r < n and shared >= 1):
        return f"a design needs 1 < r < n and an intersection >= 1, got n={n}, r={r}, intersection={shared}"
    if n * l != k * r or shared * (n - 1) != l * (r - 1):
        return (
            "a design needs n l = k r and lambda (n - 1) = l (r - 1), "
            f"got n={n}, k={k}, l={l}, r={r}, lambda={shared}"
        )
    if k < n:
        return f"by Fisher's inequality a design needs k >= n, got n={n}, k={k}"
    if k == n:
        order = l - shared
        other = (-1) ** ((n - 1) // 2) * shared
        if n % 2 == 0:
            solvable = isqrt(order) ** 2 == order
        else:
            places = [None, *sorted({2, *prime_factors(order), *prime_factors(shared)})]
            solvable = all(hilbert_symbol(order, other, p) == 1 for p in places)
        if not solvable:
            return f"by Bruck, Ryser and Chowla there is no symmetric design ({n}, {l}, {shared})"
    return None
