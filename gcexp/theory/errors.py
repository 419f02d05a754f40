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

from fractions import Fraction
from functools import cache
from math import ceil, comb, floor
from typing import NamedTuple

import numpy as np
from scipy import sparse

from gcexp.errors import ParameterError, require


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


def stragglers(n: int, s) -> np.ndarray:
    """Numbers of stragglers as an array; refused unless 0 <= s <= n.

    Examples
    --------
    >>> stragglers(7, [0, 7])
    array([0, 7])
    """
    s = np.asarray(s)
    if not ((s >= 0) & (s <= n)).all():
        raise ParameterError(f"the number of stragglers needs 0 <= s <= n = {n}, got {s.tolist()}")
    return s


# --- What no code can beat ---------------------------------------------------------------------------------------


def least_worst_error(n: int, d: int, s: int) -> Fraction:
    r"""What no code can beat at worst: L/n, L = max(floor(s/d), ceil(n C(n-d, s-d) / C(n, s))).

    It holds for n workers and n partitions, at most d partitions for each worker or on the mean, one linear message
    each, and any decoding.

    Parameters
    ----------
    n, d, s : int
        Workers, load and stragglers, 1 <= d <= n and 0 <= s <= n.

    Returns
    -------
    Fraction
        Of ||c - 1||^2 / n, over the worst set of s stragglers.

    References
    ----------
    Theorem 5 of docs/bounds.md.

    Examples
    --------
    >>> least_worst_error(10, 3, 3), least_worst_error(6, 3, 4)
    (Fraction(1, 10), Fraction(1, 3))
    """
    lost_on_the_mean = n * least_mean_error(n, d, s)
    return Fraction(max(s // d, ceil(lost_on_the_mean)), n)


def least_worst_error_of_largest_load(n: int, d: int, s: int) -> Fraction:
    r"""What no code can beat at worst where *each* worker holds at most d partitions: L/n, L the result of a recursion.

    Let x partitions be lost because of u stragglers, so that s - u more are left. On average a further partition has at
    most t = d (n-u) / (n-x) holders among the other N = n - u workers. Then L(x, u) is the larger of two numbers. The
    first is what s - u more stragglers, drawn at random, cost on average: x + ceil((n-x) g(t)) with
    g(t) = C(N-t, s-u-t) / C(N, s-u), interpolated linearly between whole t. The second is what the partition with the
    fewest further holders gives as the next lost one: the smallest L(x+1, u+j) for j = 0, ..., floor(t), if
    u + floor(t) <= s. L is L(0, 0).

    Parameters
    ----------
    n, d, s : int
        Workers, largest load and stragglers, 1 <= d <= n and 0 <= s <= n.

    Returns
    -------
    Fraction
        Of ||c - 1||^2 / n over the worst set of s stragglers; never below `least_worst_error`, which also holds where d
        is the mean load. For d = 2 and 3 <= n <= 12 it is (s - 1) / n (2 <= s < n), as tests try.

    References
    ----------
    Theorem 8 of docs/bounds.md.

    Examples
    --------
    >>> [str(least_worst_error_of_largest_load(12, 2, s)) for s in (2, 3, 4, 9)]
    ['1/12', '1/6', '1/4', '2/3']
    """
    require(1 <= d <= n, f"a load needs 1 <= d <= n, got n={n}, d={d}")
    stragglers(n, s)

    @cache
    def least_lost(x: int, u: int) -> int:
        if x == n:
            return n
        holders = Fraction(d * (n - u), n - x)
        fewest = floor(holders)
        at_random = x + ceil((n - x) * _chance_of_loss(n - u, s - u, holders))
        if u + fewest > s:
            return at_random
        return max(at_random, min(least_lost(x + 1, u + j) for j in range(fewest + 1)))

    return Fraction(least_lost(0, 0), n)


def _chance_of_loss(n: int, s: int, holders: Fraction) -> Fraction:
    """C(n-h, s-h) / C(n, s) for h = `holders`, interpolated between whole numbers: all h of n are among s."""
    whole = floor(holders)
    at_whole, at_next = (
        Fraction(comb(n - h, s - h), comb(n, s)) if h <= s else Fraction(0) for h in (whole, whole + 1)
    )
    return at_whole + (holders - whole) * (at_next - at_whole)


def least_mean_error(n: int, d: int, s: int) -> Fraction:
    r"""What no code can beat on the mean over all sets of s stragglers: C(n-d, s-d) / C(n, s), 0 for s < d.

    As for `least_worst_error`, but for any number of partitions with d holders on the mean. Fractional repetition
    attains it where d divides n.

    Parameters
    ----------
    n, d, s : int
        Workers, load and stragglers, 1 <= d <= n and 0 <= s <= n.

    Returns
    -------
    Fraction
        Of the mean ||c - 1||^2 / n.

    References
    ----------
    Theorem 6 of docs/bounds.md.

    Examples
    --------
    >>> least_mean_error(5, 2, 2)
    Fraction(1, 10)
    """
    require(1 <= d <= n, f"a load needs 1 <= d <= n, got n={n}, d={d}")
    stragglers(n, s)
    if s < d:
        return Fraction(0)
    return Fraction(comb(n - d, s - d), comb(n, s))


def least_mean_error_by_worker(d: float, p: float) -> float:
    r"""What no code can beat on the mean where each worker is late with probability p by itself: p^d.

    Parameters
    ----------
    d : float
        Mean number of holders of a partition, >= 0.
    p : float
        Probability with which each worker straggles, 0 <= p <= 1.

    References
    ----------
    Theorem 6 of docs/bounds.md.

    Examples
    --------
    >>> least_mean_error_by_worker(2, 0.5)
    0.25
    """
    require(d >= 0 and 0 <= p <= 1, f"the bound needs d >= 0 and 0 <= p <= 1, got d={d:g}, p={p:g}")
    return float(p**d)


# --- Unbiased codes, stragglers by worker -------------------------------------------------------------------------


def equal_gradients_error(p) -> float:
    r"""Least error of an unbiased code where all partitions have the same gradient: 1 / sum_w (1 - p_w) / p_w.

    The error is E[(sum_i (c_i - 1) / k)^2]. Worker w is heard with probability 1 - p_w, independently, and contributes
    r_w / (1 - p_w) to sum_i c_i, where the r_w sum to k. The error is then sum_w r_w^2 p_w / (1 - p_w) / k^2, which is
    least for r_w in proportion to (1 - p_w) / p_w.

    Parameters
    ----------
    p : array_like (n,)
        Probability with which each worker straggles, 0 < p < 1.

    References
    ----------
    The criterion of Song and Choi, arXiv 2510.22539, as its abstract states it; derived here.

    Examples
    --------
    >>> round(equal_gradients_error([0.2] * 10), 6)  # p / (1 - p) / n
    0.025
    """
    p = _probabilities(p)
    return float(1 / ((1 - p) / p).sum())


def unbiased_error(encoding, p) -> float:
    r"""Mean error ||c - 1||^2 / k of an unbiased code: sum_wi B_wi^2 p_w / (1 - p_w) / k.

    Worker w is heard with probability 1 - p_w, independently, and its message has the weight 1 / (1 - p_w).

    Parameters
    ----------
    encoding : array_like or sparse array (n, k)
        B, whose columns sum to 1.
    p : array_like (n,)
        Probability with which each worker straggles, 0 < p < 1.

    Examples
    --------
    >>> unbiased_error([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])
    0.5
    """
    p = _probabilities(p)
    B = sparse.csr_array(encoding)
    return float((p / (1 - p)) @ B.power(2).sum(1) / B.shape[1])


def _probabilities(p) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    require(
        p.ndim == 1 and bool(((p > 0) & (p < 1)).all()),
        f"each worker straggles with a probability 0 < p < 1, got {p.tolist()}",
    )
    return p


# --- Fractional repetition ---------------------------------------------------------------------------------------


def frc_error(n: int, redundancy: int, s):
    r"""Worst-case error of fractional repetition: floor(s/r) r/n (equation (6)); s may be any real number.

    Examples
    --------
    >>> frc_error(12, 3, [2, 3, 8, 12])
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    require(redundancy >= 1 and n % redundancy == 0, f"FRC needs r to divide n, got n={n}, r={redundancy}")
    return np.floor_divide(stragglers(n, s), redundancy) * redundancy / n


def frc_mean_error(n: int, redundancy: int, s: int) -> float:
    r"""Mean error of fractional repetition for s random stragglers: C(n-r, s-r) / C(n, s), 0 for s < r.

    Examples
    --------
    >>> round(frc_mean_error(12, 3, 5), 7)
    0.0454545
    """
    require(redundancy >= 1 and n % redundancy == 0, f"FRC needs r to divide n, got n={n}, r={redundancy}")
    stragglers(n, s)
    if s < redundancy:
        return 0.0
    return comb(n - redundancy, s - redundancy) / comb(n, s)


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
    m = n - stragglers(n, s)
    survivors = np.where(m > 0, m, 1)
    error = 1 - l * l * survivors / (k * (l + shared * (survivors - 1)))
    return np.where(m > 0, error, 1.0)


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
