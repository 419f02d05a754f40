"""Regular graphs as adjacency matrices, for codes whose quality is the graph's expansion."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from gcexp.designs.finite_fields import field, is_prime_power
from gcexp.errors import ParameterError, require


def circulant(n: int, offsets: Sequence[int] | None) -> np.ndarray:
    """Cayley graph of the integers mod n: vertex v is joined to v + o and v - o for each of the distinct offsets."""
    if offsets is None:
        raise ParameterError(f"graph=circulant needs offsets, such as (1, 2), got n={n}, offsets=None")
    numbers = [int(o) for o in offsets]
    distinct = len(set(numbers)) == len(numbers)
    require(
        bool(numbers) and distinct and all(1 <= o <= n / 2 for o in numbers),
        f"a circulant graph on n={n} vertices needs distinct offsets between 1 and n/2, got {numbers}",
    )
    A = np.zeros((n, n), dtype=int)
    v = np.arange(n)
    for o in numbers:
        A[v, (v + o) % n] = A[v, (v - o) % n] = 1
    return A


def paley(n: int) -> np.ndarray:
    """Paley graph: the elements of GF(n), joined where their difference is a nonzero square; (n-1)/2-regular.

    All eigenvalues but the degree are (-1 +- sqrt(n)) / 2.
    """
    require(
        n % 4 == 1 and is_prime_power(n),
        f"a Paley graph needs a prime power n with n mod 4 = 1, such as 5, 9, 13, 17, 25, 29, got n={n}",
    )
    F = field(n)
    return np.isin(F.sub, F.powers(2)).astype(int)


def margulis(n: int) -> np.ndarray:
    """Margulis graph on pairs mod m, n = m^2: (x, y) to (x +- 2y, y), (x +- (2y+1), y) and likewise in y; 8-regular.

    A multigraph with loops: the matrix counts edges, a loop twice. All eigenvalues but 8 are at most 5 sqrt(2) = 7.07
    (Gabber, Galil), for every m.
    """
    m = isqrt(max(n, 0))
    require(m >= 2 and m * m == n, f"a Margulis graph needs a square n >= 4, got n={n}")
    x, y = np.divmod(np.arange(n), m)
    A = np.zeros((n, n), dtype=int)
    for u, v in ((x + 2 * y, y), (x + 2 * y + 1, y), (x, y + 2 * x), (x, y + 2 * x + 1)):
        A[np.arange(n), u % m * m + v % m] += 1
    return A + A.T


def random_regular(n: int, d: int, random: np.random.Generator) -> np.ndarray:
    """Random d-regular graph without loops and double edges, nearly uniform for large n (Steger, Wormald).

    Small graphs are not uniform: those with triangles come too often. At n = 6, d = 2 two triangles are 31 % of the
    draws, where 1 in 7 would be right, and at n = 16, d = 3 a graph has 1.76 triangles on average instead of 1.52.
    Means over draws of a small code inherit this: mean errors at n = 8 and 16 were within 1 % of those of uniform
    graphs.

    Examples
    --------
    >>> random_regular(6, 3, np.random.default_rng(0)).sum(0)
    array([3, 3, 3, 3, 3, 3])
    """
    import networkx as nx  # 0.2 s

    require(
        0 <= d < n and n * d % 2 == 0,
        f"a {d}-regular graph on {n} vertices needs 0 <= d < n and n d even, got n={n}, d={d}",
    )
    graph = nx.random_regular_graph(d, n, seed=int(random.integers(2**32)))
    return nx.to_numpy_array(graph, nodelist=range(n), dtype=int)


def second_eigenvalue(A: np.ndarray) -> float:
    """Second largest singular value of a matrix; of a regular graph, of its eigenvalues' absolute values."""
    return float(np.linalg.svd(A, compute_uv=False)[1])
