r"""Errors of plain-sum gradient codes: closed forms and bounds as functions of the number s of stragglers.

Everywhere err(s) is the *normalised squared error*: the smallest (1/k) ||c - 1||^2 that weights on the n - s survivors
allow, maximal over the straggler sets unless a mean is named. err(n) = 1, and err does not decrease.

A code is given by its parameters ``(n, k, load, redundancy, intersection)``: workers, partitions, partitions per
worker, workers per partition, partitions shared by two workers. ``s`` may be a number or an array; the answer has its
shape.

References
----------
Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231. Formulas that its text leaves open were derived
again; each function says which statement it is.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from gcexp.errors import require


class Parameters(NamedTuple):
    """A code of constant load and constant intersection; load and intersection may be means (Soft BIBD)."""

    n: int
    k: int
    load: float
    redundancy: float
    intersection: float

    @property
    def gamma(self) -> float:
        """(load - intersection) / (load redundancy): the one number on which a design's error curve depends."""
        return (self.load - self.intersection) / (self.load * self.redundancy)

    def __matmul__(self, other: Parameters) -> Parameters:
        """Of the Kronecker product; intersection: of workers that differ in both places."""
        return Parameters(
            n=self.n * other.n,
            k=self.k * other.k,
            load=self.load * other.load,
            redundancy=self.redundancy * other.redundancy,
            intersection=self.intersection * other.intersection,
        )


def _stragglers(n: int, s) -> np.ndarray:
    s = np.asarray(s)
    require(
        bool(((s >= 0) & (s <= n)).all()),
        f"the number of stragglers needs 0 <= s <= n = {n}, got {s.tolist()}",
    )
    return s


# --- Fractional repetition ---------------------------------------------------------------------------------------


def frc_error(n: int, redundancy: int, s):
    r"""Worst-case error of fractional repetition: floor(s/r) r/n (equation (6)); s may be any real number.

    Examples
    --------
    >>> frc_error(12, 3, [2, 3, 8, 12])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    require(redundancy >= 1 and n % redundancy == 0, f"FRC needs r to divide n, got n={n}, r={redundancy}")
    return np.floor_divide(_stragglers(n, s), redundancy) * redundancy / n


def frc_mean_error(n: int, redundancy: int, s: int) -> float:
    r"""Mean error of fractional repetition for s random stragglers: C(n-r, s-r) / C(n, s), 0 for s < r.

    Examples
    --------
    >>> round(frc_mean_error(12, 3, 5), 7)
    0.0454545
    """
    require(redundancy >= 1 and n % redundancy == 0, f"FRC needs r to divide n, got n={n}, r={redundancy}")
    _stragglers(n, s)
    return comb(n - redundancy, s - redundancy) / comb(n, s) if s >= redundancy else 0.0


def frc_product_error(n1: int, r1: int, n2: int, r2: int, s):
    r"""Worst-case error of FRC x FRC: that of one FRC with n = n1 n2 and r = r1 r2 (Theorem 3).

    Examples
    --------
    >>> frc_product_error(4, 2, 6, 3, [5, 6, 12])
    array([0.  , 0.25, 0.5 ])
    """
    return frc_error(n1 * n2, r1 * r2, s)


# --- Block designs -----------------------------------------------------------------------------------------------


def bibd_weight(load: float, intersection: float, survivors):
    r"""Optimal weight of each of m >= 1 survivors of a block design: l / (l + lambda (m-1)) (Lemma 3).

    Examples
    --------
    >>> bibd_weight(3, 1, [1, 5])
    array([1.        , 0.42857143])
    """
    m = np.asarray(survivors)
    require(
        bool((m >= 1).all()) and 0 <= intersection <= load and 0 < load < np.inf,
        f"weights need m >= 1 survivors and 0 <= lambda <= l, l > 0, got m={m.tolist()}, l={load}, "
        f"lambda={intersection}",
    )
    return load / (load + intersection * (m - 1))


def bibd_error(code, s):
    r"""Error of a block design for *every* set of s stragglers: 1 - l^2 m / (k (l + lambda (m-1))), m = n - s.

    Equation (7). Also of any code with constant load l and constant pairwise intersection lambda < l (Lemma 5).
    With the mean load and intersection of a Soft BIBD this is Theorem 2: it bounds the mean, over the draws of the
    code, of the error at one *fixed* straggler set (and is that mean for the constant weights of Lemma 3). It does
    not bound the mean of the worst error.

    Parameters
    ----------
    code : (n, k, load, redundancy, intersection)
    s : int or array_like of int

    Examples
    --------
    >>> bibd_error((16, 16, 6, 6, 2), [0, 4, 8, 12, 16]).round(4)
    array([0.    , 0.0357, 0.1   , 0.25  , 1.    ])
    """
    n, k, l, _, shared = code
    m = n - _stragglers(n, s)
    there = np.where(m > 0, m, 1)
    return np.where(m > 0, 1 - l * l * there / (k * (l + shared * (there - 1))), 1.0)


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


def _fraction_bound(gamma: float, n: int, s):
    """X / (1 + x) with x = gamma s / (n - s), without dividing by zero at s = n."""
    s = _stragglers(n, s)
    return np.where(s < n, gamma * s / (gamma * s + n - s + (s == n)), 1.0)


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


# --- Codes made of codes -----------------------------------------------------------------------------------------


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
    return errors[_stragglers((len(errors) - 1) * copies, s) // copies]


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
    whole, rest = np.divmod(_stragglers(n1 * n2, s), r1 * n2)
    return r1 / n1 * (whole + bibd_error(design, rest // r1) * (whole < n1 // r1))


def product_gram(a, b, survivors, tight: bool = False):
    r"""Upper bound on 1^T A_F^T A_F 1 for any m survivors of a product of two designs (Lemma 10).

    m Q(m), Q(m) = l1 l2 + lambda1 lambda2 (m-1) + (l1-lambda1) lambda2 (n2-1) + lambda1 (l2-lambda2) (n1-1):
    two workers with equal j1 share l1 lambda2 partitions, with equal j2 lambda1 l2, else lambda1 lambda2, and a
    worker has at most n2 - 1 and n1 - 1 such partners. Tight: m survivors have at most c(n2) ordered pairs with equal
    j1 and c(n1) with equal j2, where c(z) = a z (z-1) + b (b-1), a = floor(m/z), b = m - a z.

    Examples
    --------
    >>> pair = (3, 3, 2, 2, 1)
    >>> product_gram(pair, pair, [9, 4]), product_gram(pair, pair, 4, tight=True)
    (array([144,  44]), 40)
    """
    n1, _, l1, _, c1 = a
    n2, _, l2, _, c2 = b
    m = np.asarray(survivors)

    def pairs(z: int):
        if not tight:
            return m * (z - 1)
        full, rest = np.divmod(m, z)
        return full * z * (z - 1) + rest * (rest - 1)

    gram = m * (l1 * l2 + c1 * c2 * (m - 1)) + (l1 - c1) * c2 * pairs(n2) + c1 * (l2 - c2) * pairs(n1)
    return gram if gram.ndim else gram.item()


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
    m = n - _stragglers(n, s)
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
    e1, e2 = np.asarray(errors1)[:, None], np.asarray(errors2)
    n1, n2 = len(e1) - 1, len(e2) - 1
    left = np.outer(n1 - np.arange(n1 + 1), n2 - np.arange(n2 + 1))
    best = np.zeros(n1 * n2 + 1)  # by the number of survivors of the product set
    np.maximum.at(best, left, e1 + e2 - e1 * e2)
    best = np.maximum.accumulate(best[::-1])  # at least n - s survivors
    return best[_stragglers(n1 * n2, s)]


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


# --- Soft BIBD: which (rho, mu) exist ----------------------------------------------------------------------------


def soft_smallest_mu(n: int, rho):
    r"""Smallest mu = lambda/k of a Soft BIBD with density rho = l/k, exact: t (2x - t - 1) / (n (n-1)).

    x = n rho, t = floor(x). All mu from here to rho exist: (E W, E W (W-1)) of a row weight W ranges over the convex
    hull of (w, w (w-1)), w = 0, ..., n, whose lower edge joins neighbouring weights. A design's own mu is the smallest.

    Examples
    --------
    >>> soft_smallest_mu(20, [0.375, 0.4]).round(6)
    array([0.128947, 0.147368])
    """
    rho = _density(n, rho)
    x = n * rho
    t = np.floor(x)
    return t * (2 * x - t - 1) / (n * (n - 1))


def _density(n: int, rho) -> np.ndarray:
    rho = np.asarray(rho, dtype=float)
    inside = n >= 2 and bool(((rho >= 0) & (rho <= 1)).all())
    require(inside, f"a Soft BIBD needs n >= 2 and densities 0 <= rho <= 1, got n={n}, rho={rho.tolist()}")
    return rho
