"""Random bipartite regular code: every worker holds d partitions, every partition is on d workers."""

from __future__ import annotations

import numpy as np

from gcexp.codes.approximate import ApproximateCode
from gcexp.designs.graphs import second_eigenvalue
from gcexp.errors import require
from gcexp.schema import checked
from gcexp.seeding import rng


def random_biregular(n: int, d: int, random: np.random.Generator) -> np.ndarray:
    """Random 0/1 matrix (n, n) with d ones in every row and column.

    The configuration model: n d ends on either side, matched at random. Ends that repeat an edge are matched again,
    together with as many others, until no edge is double. For d > n/2: the complement of such a matrix.
    """
    require(0 <= d <= n, f"a biregular matrix needs 0 <= d <= n, got n={n}, d={d}")
    if 2 * d > n:
        return 1 - random_biregular(n, n - d, random)
    row = np.repeat(np.arange(n), d)
    column = random.permutation(np.repeat(np.arange(n), d))
    while True:
        _, first = np.unique(row * n + column, return_index=True)
        double = np.setdiff1d(np.arange(n * d), first)
        if not len(double):
            break
        others = random.choice(n * d, size=len(double), replace=False)
        dealt_again = np.union1d(double, others)
        column[dealt_again] = random.permutation(column[dealt_again])
    A = np.zeros((n, n), dtype=int)
    A[row, column] = 1
    return A


class RegularBipartiteCode(ApproximateCode):
    r"""Every worker averages d random partitions, and every partition is on d workers (s-regular random graph code).

    B = A / d for a random 0/1 matrix A with all row and column sums d. As for expander codes, but with any bipartite
    graph, not a symmetric matrix: for every set of s stragglers

        ||c - 1||^2 / k <= (sigma / d)^2 s / (n - s),     sigma the second largest singular value of A.

    Parameters
    ----------
    n, d : int
        Workers (= partitions) and load.
    decoder : {"one_step", "optimal"}
        Weights n / m on the m workers heard, or those of smallest ||c - 1||.
    seed : int
        Seed of the matrix.

    Raises
    ------
    ParameterError
        Unless 1 <= d <= n; for an unknown decoder.

    References
    ----------
    Raviv, Tamo, Tandon, Dimakis: Gradient coding from cyclic MDS codes and expander graphs, ICML 2018. Charles,
    Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017 (s-regular graphs).

    Examples
    --------
    >>> code = RegularBipartiteCode(n=10, d=3)
    >>> code.load, code.assignment.sum(0)
    (array([3, 3, 3, 3, 3, 3, 3, 3, 3, 3]), array([3, 3, 3, 3, 3, 3, 3, 3, 3, 3]))
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1"}
    error_bound = (
        "error at most (sigma / d)^2 s / (n - s) for any s stragglers, sigma the second singular value"
    )
    source = ("raviv2018", "charles2017")
    redrawn = True
    examples = (
        {"n": 8, "d": 3},
        {"n": 7, "d": 5, "decoder": "optimal", "seed": 1},
        {"n": 9, "d": 2, "decoder": "optimal"},
        {"n": 3, "d": 3},
    )

    @checked
    def __init__(self, n: int, d: int, decoder: str = "one_step", seed: int = 0):
        require(1 <= d <= n, f"a regular bipartite code needs 1 <= d <= n, got n={n}, d={d}")
        A = random_biregular(n, d, rng(seed, "assignment"))
        self.d, self.seed = d, seed
        self.eigenvalue = second_eigenvalue(A) if n > 1 else 0.0
        super().__init__(A / d, decoder, scale=n)
