"""How many operations does it take to solve a decoder's linear system? Counted while it is, modulo a prime."""

from __future__ import annotations

from collections.abc import Sequence

from gcexp.analysis.enumeration import PRIME
from gcexp.errors import require


def eliminate(matrix: Sequence[Sequence[int]], right: Sequence[int]) -> tuple[list[int], int]:
    """Solve a square system modulo `PRIME` by Gaussian elimination that leaves out what is zero already.

    Parameters
    ----------
    matrix : sequence of rows, N x N
        Whole numbers.
    right : sequence of N
        The right side.

    Returns
    -------
    tuple
        Solution, and how many additions, multiplications and divisions it took.

    Raises
    ------
    ParameterError
        If the matrix is singular modulo the prime.

    Examples
    --------
    >>> eliminate([[2, 0], [1, 1]], [4, 5])
    ([2, 3], 5)
    """
    size = len(matrix)
    rows = [[int(x) % PRIME for x in row] + [int(b) % PRIME] for row, b in zip(matrix, right, strict=True)]
    operations = 0
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), size)
        require(pivot < size, f"the matrix is singular in column {k}")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        inverse = pow(rows[k][k], -1, PRIME)
        above = [j for j in range(k + 1, size + 1) if rows[k][j]]
        for row in rows[k + 1 :]:
            if row[k]:
                factor = row[k] * inverse % PRIME
                for j in above:
                    row[j] = (row[j] - factor * rows[k][j]) % PRIME
                operations += 1 + 2 * len(above)
    found = [0] * size
    for k in reversed(range(size)):
        known = [j for j in range(k + 1, size) if rows[k][j]]
        rest = rows[k][size] - sum(rows[k][j] * found[j] for j in known)
        found[k] = rest * pow(rows[k][k], -1, PRIME) % PRIME
        operations += 1 + 2 * len(known)
    return found, operations


def interpolate(points: Sequence[int], values: Sequence[int]) -> tuple[list[int], int]:
    r"""Solve the Vandermonde system sum_k x_k a_i^k = b_i modulo `PRIME` as Björck and Pereyra do.

    Divided differences, unfolded.

    Parameters
    ----------
    points : sequence of N
        Distinct a_i.
    values : sequence of N
        The b_i.

    Returns
    -------
    tuple
        Solution, and how many additions, multiplications and divisions it took: 5 N (N-1) / 2.

    Examples
    --------
    >>> interpolate([1, 2, 3], [6, 17, 34])  # 1 + 2 a + 3 a^2
    ([1, 2, 3], 15)
    """
    size = len(points)
    x = [int(b) % PRIME for b in values]
    operations = 0
    for k in range(size - 1):
        for i in range(size - 1, k, -1):
            x[i] = (x[i] - x[i - 1]) * pow(int(points[i] - points[i - k - 1]), -1, PRIME) % PRIME
            operations += 3
    for k in range(size - 2, -1, -1):
        for i in range(k, size - 1):
            x[i] = (x[i] - points[k] * x[i + 1]) % PRIME
            operations += 2
    return x, operations
