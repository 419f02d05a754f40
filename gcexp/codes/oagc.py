"""OAGC: approximate codes for workers that straggle with different probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from gcexp.codes.base import Code, arcs
from gcexp.errors import require, require_known
from gcexp.schema import checked

LAYOUTS = ("corner", "staircase")


class OAGC(Code):
    r"""Worker w straggles with probability p_w; it sends sum_i B_wi g_i, and its message gets the weight 1 / (1 - p_w).

    The columns of B sum to 1, so that the decoded gradient is unbiased: E[c_i] = sum_w B_wi = 1. Where all partitions
    have the same gradient, its squared error relative to k^2 is sum_w r_w^2 p_w / (1 - p_w) / k^2 for the row sums r of
    B. The row sums add up to k, and by Lagrange's multiplier the best of them are

        r_w = k o_w / sum_v o_v,   o_w = (1 - p_w) / p_w,

    with the error 1 / sum_w o_w (`gcexp.theory.errors.equal_gradients_error`), the least of all unbiased codes. Both
    layouts have these row and column sums. They differ in which worker holds which partition, and so in the error
    ||c - 1||^2 / k = sum_wi B_wi^2 p_w / (1 - p_w) / k (`gcexp.theory.errors.unbiased_error`):

    * ``corner`` fills B from its upper left corner, each entry as large as its row and its column allow (the north-west
      corner rule of transportation problems). No entry is negative, and at most n + k - 1 are not 0: loads are unequal
      and on average below 2.
    * ``staircase`` gives each worker d partitions, w, ..., w + d - 1 (mod n), and of all B with these sums takes the
      one with the smallest error. Entries may be negative, and are large where a few neighbours together should have a
      sum that is far from their number.

    The decoded gradient is unbiased where workers straggle independently with these probabilities, as at a deadline. It
    is not where the master waits for a fixed number of workers.

    With equal probabilities all r_w are 1: the corner layout sends each partition once, and the staircase layout is
    cyclic stochastic gradient coding.

    Parameters
    ----------
    n : int
        Workers (= partitions).
    p : float or sequence of float
        Probability with which each worker straggles, of all alike or one number for each.
    layout : {"corner", "staircase"}
    d : int
        Partitions of each worker in the staircase layout.

    Raises
    ------
    ParameterError
        Unless there are n probabilities with 0 < p < 1, and 2 <= d <= n for the staircase layout; for an unknown
        layout.

    References
    ----------
    Song, Choi: Approximate gradient coding for distributed learning with heterogeneous stragglers, arXiv 2510.22539.
    The paper's text was not at hand: unbiasedness and the method are those of its abstract; row sums and errors are
    derived here, and the two layouts are this library's reading of their names.

    Examples
    --------
    >>> code = OAGC(n=3, p=[0.25, 0.5, 0.5])
    >>> code.encoding.toarray().round(2)
    array([[1. , 0.8, 0. ],
           [0. , 0.2, 0.4],
           [0. , 0. , 0.6]])
    >>> code.decode([[1, 1, 1], [1, 0, 0]]).coefficients.round(3)
    array([[1.333, 1.467, 2.   ],
           [1.333, 1.067, 0.   ]])
    """

    formulas = {"k": "n", "messages": "1", "length": "1"}
    error_bound = (
        "unbiased; for equal gradients error 1 / sum (1 - p)/p where workers straggle with probabilities p"
    )
    decoding = "weight 1/(1 - p_w) on everyone heard; O(n)"
    limit = "none: the decoder solves nothing"
    source = ("song2025",)
    examples = (
        {"n": 6, "p": [0.1, 0.5, 0.2, 0.3, 0.3, 0.4]},
        {"n": 6, "p": [0.1, 0.5, 0.2, 0.3, 0.3, 0.4], "layout": "staircase"},
        {"n": 5, "p": 0.3, "layout": "staircase", "d": 3},
    )

    @checked
    def __init__(self, n: int, p: float | Sequence[float], layout: str = "corner", d: int = 2):
        require(n >= 1, f"oagc needs n >= 1, got n={n}")
        require_known("layout", layout, LAYOUTS)
        straggling = np.full(n, p) if np.ndim(p) == 0 else np.array(p, dtype=float)
        require(
            straggling.shape == (n,) and bool(((straggling > 0) & (straggling < 1)).all()),
            f"oagc needs a probability 0 < p < 1 for each of n={n} workers, got p={p}",
        )
        odds = (1 - straggling) / straggling
        row_sums = n * odds / odds.sum()
        if layout == "corner":
            B = _corner(row_sums)
        else:
            require(2 <= d <= n, f"oagc with layout=staircase needs 2 <= d <= n, got n={n}, d={d}")
            B = _staircase(row_sums, odds, d)
        super().__init__(B, promise="linear")
        self.p = p if np.ndim(p) == 0 else tuple(straggling.tolist())
        self.layout, self.d = layout, d
        self._scale = 1 / (1 - straggling)

    def weights(self, responses):
        return (responses > 0) * self._scale


def _corner(row_sums: np.ndarray) -> sparse.csr_array:
    """Rows laid one after the other over columns of sum 1: entry (w, i) is how much of column i row w covers."""
    n = len(row_sums)
    ends = np.cumsum(row_sums)
    ends[-1] = n  # without rounding
    borders = np.unique(np.concatenate([[0.0], ends, np.arange(1, n)]))
    pieces = np.diff(borders)
    is_piece = pieces > 1e-12 * n  # else a border of a row that rounding has parted from that of a column
    middle = (borders[:-1] + pieces / 2)[is_piece]
    rows = np.searchsorted(ends, middle)
    columns = np.floor(middle).astype(int)
    return sparse.csr_array((pieces[is_piece], (rows, columns)), shape=(n, n))


def _staircase(row_sums: np.ndarray, odds: np.ndarray, d: int) -> sparse.csr_array:
    """Entries x on arcs of d columns with the least sum of x^2 / odds, given row sums and columns that sum to 1.

    By Lagrange's multipliers x = odds (row multiplier + column multiplier). All rows together have the sum of all
    columns, so that the equation of the last column follows from the others and is left out.
    """
    n = len(row_sums)
    rows = np.repeat(np.arange(n), d)
    columns = arcs(n, d).ravel()
    entries = np.arange(n * d)
    ones = np.ones(n * d)
    in_row = sparse.csr_array((ones, (rows, entries)), shape=(n, n * d))
    in_column = sparse.csr_array((ones, (columns, entries)), shape=(n, n * d))
    sums = sparse.vstack([in_row, in_column[: n - 1]], format="csr")
    wanted = np.concatenate([row_sums, np.ones(n - 1)])
    cheapness = sparse.diags_array(odds[rows])
    multipliers = spsolve((sums @ cheapness @ sums.T).tocsc(), wanted)
    values = cheapness @ (sums.T @ multipliers)
    return sparse.csr_array((values, (rows, columns)), shape=(n, n))
