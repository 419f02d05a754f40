r"""Errors of block designs, of their sums and of their products, and which Soft BIBDs Theorem 1 grants.

Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231. Notation is that of `gcexp.theory.errors`:
err(s) is the normalised squared error for s stragglers, a code is given by ``(n, k, load, redundancy, intersection)``,
and ``s`` may be a number or an array.
"""

from __future__ import annotations

import numpy as np

from gcexp.errors import require
from gcexp.theory.errors import Parameters, bibd_error, frc_error, product_gram, soft_smallest_mu, stragglers


def _fraction_bound(gamma: float, n: int, s):
    """X / (1 + x) with x = gamma s / (n - s), without dividing by zero at s = n."""
    s = stragglers(n, s)
    return np.where(s < n, gamma * s / (gamma * s + n - s + (s == n)), 1.0)


# --- Codes made of codes -----------------------------------------------------------------------------------------


def frc_product_error(n1: int, r1: int, n2: int, r2: int, s):
    r"""Worst-case error of FRC x FRC: that of one FRC with n = n1 n2 and r = r1 r2 (Theorem 3).

    Examples
    --------
    >>> frc_product_error(4, 2, 6, 3, [5, 6, 12])
    array([0.  , 0.25, 0.5 ])
    """
    return frc_error(n1 * n2, r1 * r2, s)


def design_error(n: int, redundancy: int, s):
    r"""Error of every block design with n workers and redundancy r: x / (1 + x), x = gamma s / (n - s).

    gamma = (n - r) / (r (n - 1)). The same as `bibd_error`: k, l, lambda and stacking do not matter.

    Examples
    --------
    >>> design_error(16, 6, [4, 8]).round(4)
    array([0.0357, 0.1   ])
    """
    require(
        1 <= redundancy <= n and n >= 2, f"a design needs 1 <= r <= n and n >= 2, got n={n}, r={redundancy}"
    )
    gamma = (n - redundancy) / (redundancy * (n - 1))
    return _fraction_bound(gamma, n, s)


def bibd_curvature(code, survivors):
    r"""Second derivative of `bibd_error` in the number m of survivors (Lemma 9): 2 l^2 lambda (l-lambda) / (k D^3).

    D = l - lambda + lambda m. It is not negative, so the errors are a convex sequence.

    Examples
    --------
    >>> float(bibd_curvature((7, 7, 3, 3, 1), 1))
    0.19047619047619047
    """
    _, k, l, _, shared = code
    D = l - shared + shared * np.asarray(survivors)
    return 2 * l * l * shared * (l - shared) / (k * D**3)


def copies_error(errors, copies: int, s):
    r"""Worst-case error with `copies` of every worker: err(floor(s / copies)) (Lemma 7).

    Copies of the *partitions* change no normalised error (Lemma 6).

    Parameters
    ----------
    errors : array_like (n + 1,)
        Worst-case errors of the code for 0, ..., n stragglers.

    Examples
    --------
    >>> copies_error([0, 0.5, 1], 2, [1, 2, 3, 4])
    array([0. , 0.5, 0.5, 1. ])
    """
    errors = np.asarray(errors)
    return errors[stragglers((len(errors) - 1) * copies, s) // copies]


def direct_sum_errors(errors, partitions) -> np.ndarray:
    r"""Worst-case errors of a block-diagonal code for 0, 1, ... stragglers, from those of its blocks (Lemma 8).

    k err(s) = max sum_b k_b err_b(s_b) over all splits s = sum_b s_b.

    Parameters
    ----------
    errors : sequence of array_like (n_b + 1,)
    partitions : sequence of int
        k_b of each block.

    Returns
    -------
    ndarray (sum of the n_b + 1,)

    Examples
    --------
    >>> direct_sum_errors([[0, 0, 1], [0, 0.5, 1]], [2, 2])
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    require(len(partitions) >= 1, f"a direct sum has one block or more, got partitions={partitions}")
    total = np.zeros(1)
    for one, k in zip(errors, partitions, strict=True):
        sums = total[:, None] + k * np.asarray(one, dtype=float)
        last = sums.shape[0] + sums.shape[1] - 2
        total = np.array([np.fliplr(sums).diagonal(sums.shape[1] - 1 - s).max() for s in range(last + 1)])
    return total / sum(partitions)


def frc_bibd_error(n1: int, r1: int, design, s):
    r"""Worst-case error of FRC x block design, exact (Theorem 4).

    With q = floor(s / (r1 n2)) and s' = s - q r1 n2: (r1/n1) (q + err_2(floor(s'/r1))), the second term 0 at s = n.

    Parameters
    ----------
    n1, r1 : int
        Workers and redundancy of the FRC.
    design : (n, k, load, redundancy, intersection)

    Examples
    --------
    >>> frc_bibd_error(4, 2, (3, 3, 2, 2, 1), [2, 4, 6, 12]).round(5)
    array([0.05556, 0.16667, 0.5    , 1.     ])
    """
    n2 = design[0]
    require(r1 >= 1 and n1 % r1 == 0, f"FRC needs r to divide n, got n={n1}, r={r1}")
    whole, rest = np.divmod(stragglers(n1 * n2, s), r1 * n2)
    return r1 / n1 * (whole + bibd_error(design, rest // r1) * (whole < n1 // r1))


def product_constant_weight(a, b, survivors):
    r"""Weight l1 l2 / Q(m) on each of m >= 1 survivors, with which the error is at most `product_upper_bound`.

    Examples
    --------
    >>> float(product_constant_weight((3, 3, 2, 2, 1), (3, 3, 2, 2, 1), 9))
    0.25
    """
    m = np.asarray(survivors)
    return a[2] * b[2] * m / product_gram(a, b, m)


def product_upper_bound(a, b, s, tight: bool = False):
    r"""Upper bound on the worst-case error of a product of two designs: 1 - (l1 l2)^2 m / (k1 k2 Q(m)) (Theorem 5).

    For two independent Soft BIBDs the same expression bounds the mean error at one fixed straggler set (Theorem 7).

    Parameters
    ----------
    a, b : (n, k, load, redundancy, intersection)
    s : int or array_like of int
    tight : bool
        With the tight form of `product_gram`.

    Examples
    --------
    >>> plane2, plane3 = (7, 7, 3, 3, 1), (13, 13, 4, 4, 1)
    >>> product_upper_bound(plane2, plane3, [7, 45, 90]).round(5)
    array([0.02976, 0.26474, 0.9707 ])
    >>> product_upper_bound(plane2, plane3, [7, 45, 90], tight=True).round(5)
    array([0.02262, 0.24484, 0.86813])
    """
    n, k, l, _, _ = Parameters(*a) @ Parameters(*b)
    m = n - stragglers(n, s)
    there = np.where(m > 0, m, 1)
    return np.where(m > 0, 1 - (l * there) ** 2 / (k * product_gram(a, b, there, tight)), 1.0)


def product_lower_bound(errors1, errors2, s):
    r"""Lower bound on the worst-case error of a product: max of e1 + e2 - e1 e2 over product sets (Theorem 6).

    e_i = err_i(s_i), over 0 <= s_i <= n_i with (n1 - s1)(n2 - s2) >= n1 n2 - s: survivors inside F1 x F2 are no better
    than all of F1 x F2, whose error this is (Remark 2, any codes).

    Parameters
    ----------
    errors1, errors2 : array_like (n_i + 1,)
        Worst-case errors of the factors for 0, ..., n_i stragglers.
    s : int or array_like of int

    Examples
    --------
    >>> plane2, plane3 = (7, 7, 3, 3, 1), (13, 13, 4, 4, 1)
    >>> e1, e2 = bibd_error(plane2, range(8)), bibd_error(plane3, range(14))
    >>> product_lower_bound(e1, e2, [7, 45, 90]).round(5)
    array([0.01538, 0.15604, 0.86813])
    """
    e1 = np.asarray(errors1)[:, None]
    e2 = np.asarray(errors2)
    n1 = len(e1) - 1
    n2 = len(e2) - 1
    left = np.outer(n1 - np.arange(n1 + 1), n2 - np.arange(n2 + 1))
    best = np.zeros(n1 * n2 + 1)  # by the number of survivors of the product set
    np.maximum.at(best, left, e1 + e2 - e1 * e2)
    best = np.maximum.accumulate(best[::-1])  # at least n - s survivors
    return best[stragglers(n1 * n2, s)]


def spectral_bound(n: int, k: int, redundancy: float, sigma2_squared: float, s):
    r"""Upper bound on the worst-case error of any code with constant load and redundancy r: x / (1 + x).

    x = sigma_2^2 n s / (k r^2 (n - s)), sigma_2 the second singular value of the k x n assignment. It equals
    `bibd_error` for a design, where sigma_2^2 = l - lambda. (Not in the paper.)

    Examples
    --------
    >>> spectral_bound(16, 16, 6, 4, [4, 8]).round(4)
    array([0.0357, 0.1   ])
    """
    require(
        k >= 1 and redundancy > 0 and 0 <= sigma2_squared < np.inf,
        f"the spectral bound needs k >= 1, r > 0, sigma2^2 >= 0, got k={k}, r={redundancy}, sigma2^2={sigma2_squared}",
    )
    return _fraction_bound(sigma2_squared * n / (k * redundancy**2), n, s)


def product_spectral_bound(a, b, s):
    r"""`spectral_bound` of a product of two designs, where gamma is the larger of the factors' gammas.

    sigma_2^2 = max((l1 - lambda1) l2 r2, l1 r1 (l2 - lambda2)): a product is never worse than its worse factor at the
    same fraction of stragglers, and as bad where s is a multiple of the other factor's workers.

    Examples
    --------
    >>> product_spectral_bound((7, 7, 3, 3, 1), (13, 13, 4, 4, 1), [7, 45, 90]).round(5)
    array([0.01818, 0.17857, 0.95238])
    """
    return _fraction_bound(max(Parameters(*a).gamma, Parameters(*b).gamma), a[0] * b[0], s)


def soft_paper_smallest_mu(n: int, rho):
    r"""Smallest mu that Theorem 1 grants: min over w = 1, ..., n-1 of max(rho (w-1)/(n-1), rho - w (1-rho)/(n-1)).

    Inequalities (25), (26), region (17): the union of the triangles spanned by the weights 0, w, n. Sufficient only:
    equal to `soft_smallest_mu` where n rho is an integer, else larger.

    Examples
    --------
    >>> (
    ...     round(float(soft_paper_smallest_mu(20, 0.375)) / 0.375, 5),
    ...     round(float(soft_smallest_mu(20, 0.375)) / 0.375, 5),
    ... )
    (0.36842, 0.34386)
    """
    soft_smallest_mu(n, rho)  # refuses what is no density
    rho = np.asarray(rho, dtype=float)[..., None]
    w = np.arange(1, n)
    return np.maximum(rho * (w - 1) / (n - 1), rho - w * (1 - rho) / (n - 1)).min(-1)
