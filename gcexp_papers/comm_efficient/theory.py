"""Communication-efficient gradient coding: what is feasible, and how long an iteration takes on average.

Ye, Abbe: Communication-computation efficient gradient coding, ICML 2018. Every worker needs T1 = t1 + Exp(lambda1) for
each of its d partitions (one draw for all of them) and T2 = t2 + Exp(lambda2) for a whole gradient, of which it sends
the m-th part: X = d T1 + T2 / m. An iteration ends with the (n-s)-th of n independent workers (section 5).
Decoding is not priced. Rates may be infinite: no randomness.
"""

from __future__ import annotations

from math import expm1, inf, isinf, log1p
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from gcexp.errors import ParameterError, require
from gcexp.theory.order_statistics import reciprocals

#: Gauss-Legendre quadrature of a panel.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def feasible(n: int, d: int, s: int, m: int, k: int | None = None) -> bool:
    """Whether a linear code exists: d / k >= (s + m) / n (Definition 1, Theorem 1).

    Parameters
    ----------
    n, d, s, m : int
        Workers, load, stragglers, and the factor by which messages are shorter.
    k : int, optional
        Partitions; default n, where the condition is d >= s + m.

    Examples
    --------
    >>> feasible(5, d=3, s=1, m=2), feasible(5, d=3, s=2, m=2), feasible(10, d=3, s=1, m=5, k=5)
    (True, False, True)
    """
    require(n >= 1 and s >= 0 and m >= 1, f"feasible needs n >= 1, s >= 0, m >= 1, got n={n}, s={s}, m={m}")
    k = n if k is None else k
    return 1 <= d <= k and d * n >= (s + m) * k


def shortest_message(n: int, d: int, s: int, k: int | None = None) -> float:
    """Least length of a message, in gradients: 1 / (d n / k - s), for s <= d n / k - 1 (Theorem 1).

    Examples
    --------
    >>> shortest_message(5, d=3, s=1)
    0.5
    """
    k = n if k is None else k
    require(feasible(n, d, s, 1, k), f"no code has s <= d n / k - 1 with n={n}, k={k}, d={d}, s={s}")
    return k / (d * n - s * k)


def worker_cdf(x, d: int, m: int, t1: float, lambda1: float, t2: float, lambda2: float) -> np.ndarray:
    r"""P(d T1 + T2 / m <= x): 1 - (r1 e^{-r2 y} - r2 e^{-r1 y}) / (r1 - r2), 1 - e^{-r y} (1 + r y) if r1 = r2 = r.

    Here y = x - d t1 - t2 / m >= 0, r1 = lambda1 / d and r2 = m lambda2.

    Parameters
    ----------
    x : array_like
        Times.
    d, m : int
        Load and blocks.
    t1, lambda1, t2, lambda2 : float
        Shifts and rates of computation and transmission; a rate may be infinite.

    Examples
    --------
    >>> worker_cdf([7.0, 8.4, 20.0], d=4, m=3, t1=1.6, lambda1=0.8, t2=6, lambda2=0.1).round(4)
    array([0.    , 0.    , 0.7668])
    """
    least, r1, r2 = _rates(d, m, t1, lambda1, t2, lambda2)
    y = np.asarray(x, dtype=float) - least
    return np.where(y >= 0, 1 - _survival(np.maximum(y, 0), r1, r2), 0.0)


def expected_time(
    n: int, d: int, m: int, t1: float, lambda1: float, t2: float, lambda2: float, s: int | None = None
) -> float:
    r"""Mean iteration time, d t1 + t2 / m + int_0^inf sum_{i < n-s} C(n,i) F^i (1-F)^{n-i} dy.

    The sum is the regularised incomplete beta function I_{1-F}(s+1, n-s); the integral is taken by Gauss-Legendre
    quadrature on panels that grow with y, twice as many until two answers agree to 1e-9: among n workers the integrand
    falls within 1/sqrt(n) of its middle. Table 3 has such means.

    Parameters
    ----------
    n, d, m : int
        Workers, load and blocks.
    t1, lambda1, t2, lambda2 : float
        As in `worker_cdf`.
    s : int, optional
        Stragglers; default d - m, the most and the fastest.

    Raises
    ------
    ParameterError
        Unless 1 <= m <= d <= n, 0 <= s <= d - m, times are >= 0 and rates > 0; for more workers than can be resolved.

    Examples
    --------
    >>> round(expected_time(n=8, d=4, m=3, t1=1.6, lambda1=0.8, t2=6, lambda2=0.1), 4)
    21.3697
    """
    require(1 <= m <= d <= n, f"expected time needs 1 <= m <= d <= n, got n={n}, d={d}, m={m}")
    s = d - m if s is None else s
    require(0 <= s <= d - m, f"expected time needs 0 <= s <= d - m, got d={d}, m={m}, s={s}")
    least, r1, r2 = _rates(d, m, t1, lambda1, t2, lambda2)
    slow = min(r1, r2)
    if isinf(slow):
        return least

    def integral(panels: int) -> float:
        edges = np.concatenate([[0], np.geomspace(1e-7, 100, panels)]) / slow
        half = np.diff(edges)[:, None] / 2
        y = edges[:-1, None] + half * (1 + _NODES)
        return float((betainc(s + 1, n - s, _survival(y, r1, r2)) * _WEIGHTS * half).sum())

    coarse = integral(200)
    for halving in range(1, 9):
        fine = integral(200 * 2**halving)
        if abs(fine - coarse) <= 1e-9 * fine:
            return least + coarse
        coarse = fine
    raise ParameterError(f"the mean time of n={n} workers is too sharp for quadrature; take fewer workers")


def expected_times(n: int, t1: float, lambda1: float, t2: float, lambda2: float) -> np.ndarray:
    """Mean iteration time for all m <= d, s = d - m: entry [m-1, d-1], NaN below the diagonal (n, n); Table 3.

    Examples
    --------
    >>> expected_times(n=8, t1=1.6, lambda1=0.8, t2=6.0, lambda2=0.1)[:2, :3].round(4)
    array([[36.1138, 29.2288, 27.3351],
           [    nan, 23.1036, 21.3994]])
    """
    times = np.full((n, n), np.nan)
    for m, d in zip(*np.triu_indices(n), strict=True):
        times[m, d] = expected_time(n, int(d) + 1, int(m) + 1, t1, lambda1, t2, lambda2)
    return times


class Choice(NamedTuple):
    """A scheme and its mean iteration time."""

    d: int
    m: int
    s: int
    time: float


def best_choices(
    n: int,
    t1: float,
    lambda1: float,
    t2: float,
    lambda2: float,
    overhead: float = 0.0,
    max_load: int | None = None,
    distinct_m: bool = False,
) -> dict[str, Choice | None]:
    """Schemes of the paper's comparison by mean time: naive, best m = 1, best and second best m > 1 (Fig. 3).

    Parameters
    ----------
    n, t1, lambda1, t2, lambda2
        As in `expected_time`.
    overhead : float
        Time added to every iteration.
    max_load : int, optional
        Largest d tried; default n.
    distinct_m : bool
        Whether the second must differ from the best in m.

    Returns
    -------
    dict of Choice or None
        Under ``naive`` (d = m = 1), ``straggler_only`` (m = 1), ``best`` and ``second`` (m > 1; None where none is).

    Examples
    --------
    >>> found = best_choices(n=8, t1=1.6, lambda1=0.8, t2=6.0, lambda2=0.1)
    >>> found["best"][:3], found["straggler_only"][:3], round(1 - found["best"].time / found["naive"].time, 4)
    ((4, 3, 1), (8, 1, 7), 0.4083)
    """
    most = n if max_load is None else max_load
    require(1 <= most <= n, f"max_load must be between 1 and n, got max_load={max_load}, n={n}")
    tried = []
    for m in range(1, most + 1):
        for d in range(m, most + 1):
            time = overhead + expected_time(n, d, m, t1, lambda1, t2, lambda2)
            tried.append(Choice(d, m, d - m, time))
    tried.sort(key=lambda choice: choice.time)
    short = [choice for choice in tried if choice.m > 1]
    others = short[1:]
    if distinct_m:
        others = [choice for choice in others if choice.m != short[0].m]
    return {
        "naive": next(choice for choice in tried if choice.d == 1),
        "straggler_only": next(choice for choice in tried if choice.m == 1),
        "best": short[0] if short else None,
        "second": others[0] if others else None,
    }


def no_communication(n: int, d: int, t1: float, lambda1: float) -> float:
    r"""Mean iteration time where sending is free, m = 1: d t1 + (d / lambda1) sum_{i=d}^{n} 1/i. Concave in d.

    Examples
    --------
    >>> [round(no_communication(8, d, t1=1.6, lambda1=0.8), 4) for d in (1, 2, 8)]
    [4.9973, 7.4946, 14.05]
    """
    require(1 <= d <= n, f"no communication needs 1 <= d <= n, got n={n}, d={d}")
    _rates(d, 1, t1, lambda1, 0.0, inf)
    return d * t1 + d / lambda1 * reciprocals(d, n)


def full_load_pays_below(n: int) -> float:
    """Where sending is free, d = n beats d = 1 if and only if lambda1 t1 < (H_n - 1) / (n - 1).

    Examples
    --------
    >>> round(full_load_pays_below(8), 5)
    0.24541
    """
    require(n >= 2, f"two different loads need n >= 2, got n={n}")
    return reciprocals(2, n) / (n - 1)


def no_computation(n: int, m: int, t2: float, lambda2: float) -> float:
    r"""Mean iteration time where computing is free, d = n: (t2 + (1 / lambda2) sum_{i=n-m+1}^{n} 1/i) / m.

    Examples
    --------
    >>> [round(no_computation(8, m, t2=6, lambda2=0.1), 4) for m in (1, 5, 8)]
    [7.25, 2.969, 4.1473]
    """
    require(1 <= m <= n, f"no computation needs 1 <= m <= n, got n={n}, m={m}")
    _rates(n, m, 0.0, inf, t2, lambda2)
    return (t2 + reciprocals(n - m + 1, n) / lambda2) / m


def best_share(shift: float) -> float:
    r"""Limit of the best m / n where computing is free: the root alpha of alpha/(1-alpha) + ln(1-alpha) = lambda2 t2.

    Parameters
    ----------
    shift : float
        lambda2 t2 > 0.

    Examples
    --------
    >>> round(best_share(0.6), 5)
    0.60428
    """
    from scipy.optimize import brentq  # slow to import

    require(0 < shift < inf, f"best_share needs 0 < lambda2 t2 < inf, got {shift}")
    # With alpha = 1 - e^{-v}: e^v - 1 - v, which rises from 0.
    v = brentq(lambda v: expm1(v) - v - shift, 0.0, log1p(shift) + 2.0, xtol=1e-14)
    return -expm1(-v)


def _rates(
    d: int, m: int, t1: float, lambda1: float, t2: float, lambda2: float
) -> tuple[float, float, float]:
    """Least time, and the rates of d T1 and of T2 / m beyond it."""
    require(d >= 1 and m >= 1, f"load and blocks need d >= 1 and m >= 1, got d={d}, m={m}")
    given = f"got t1={t1}, lambda1={lambda1}, t2={t2}, lambda2={lambda2}"
    require(0 <= t1 < inf and 0 <= t2 < inf, f"the shifts t1 and t2 must be times >= 0, {given}")
    require(lambda1 > 0 and lambda2 > 0, f"the rates lambda1 and lambda2 must be > 0, {given}")
    return d * t1 + t2 / m, lambda1 / d, m * lambda2


def _survival(y: np.ndarray, r1: float, r2: float) -> np.ndarray:
    """P(Exp(r1) + Exp(r2) > y) for y >= 0, without cancellation where the rates are close or equal."""
    r = min(r1, r2)
    gap = abs(r1 - r2)
    if isinf(r):
        return (y < 0).astype(float)
    if isinf(gap):
        return np.exp(-r * y)
    between = y if gap < 1e-8 * r else -np.expm1(-gap * y) / gap
    return np.exp(-r * y) * (1 + r * between)
