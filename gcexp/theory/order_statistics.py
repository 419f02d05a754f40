"""Means of order statistics: how long a master waits for the k-th fastest of n independent workers."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, inf, lgamma, log, log1p

from gcexp.errors import require

_MOST_TERMS = 10**6
_STIRLING = 1e4


def harmonic(i: int) -> float:
    """Harmonic number H_i = 1 + 1/2 + ... + 1/i, H_0 = 0.

    Examples
    --------
    >>> round(harmonic(4), 12)
    2.083333333333
    """
    require(i >= 0, f"a harmonic number needs an index >= 0, got {i}")
    return reciprocals(1, i)


def reciprocals(a: int, b: int) -> float:
    r"""H_b - H_{a-1} = 1/a + ... + 1/b, 0 where b < a.

    More than 10^6 terms are added up to 1/1000, and the rest follows from H_m = ln m + 1/(2m) - 1/(12 m^2) + ...

    Examples
    --------
    >>> round(reciprocals(2, 4), 12), round(reciprocals(1, 10**10), 9)
    (1.083333333333, 23.603066595)
    """
    require(a >= 1, f"the first reciprocal 1/a needs a >= 1, got a={a}")
    if b - a < _MOST_TERMS:
        return sum(1 / j for j in range(a, b + 1))
    m = max(a - 1, 1000)
    tail = log1p((b - m) / m) + (1 / b - 1 / m) / 2 - (1 / b**2 - 1 / m**2) / 12
    return sum(1 / j for j in range(a, m + 1)) + tail


def _log_rising(z: float, b: float) -> float:
    """Ln of G(z + b) / G(z), from Stirling's series where both are large: their logarithms would cancel."""
    if z < _STIRLING or z + b < _STIRLING:
        return lgamma(z + b) - lgamma(z)

    def rest(x: float) -> float:
        return 1 / (12 * x) - 1 / (360 * x**3)

    return (z - 0.5) * log1p(b / z) + b * log(z + b) - b + rest(z + b) - rest(z)


def shifted_exponential(k: int, n: int, shift: float = 0.0, mean: float = 1.0) -> float:
    r"""E[X_{k:n}] = shift + mean (H_n - H_{n-k}) for P(X > x) = exp(-(x - shift) / mean).

    Parameters
    ----------
    k, n : int
        The k-th smallest of n.
    shift, mean : float
        As in `gcexp.delays.ShiftedExponential`.

    References
    ----------
    Renyi: On the theory of order statistics, 1953.

    Examples
    --------
    >>> round(shifted_exponential(15, 20, shift=0.5, mean=2.0), 5)
    3.12881
    """
    _require_place(k, n)
    require(
        0 <= shift < inf and 0 <= mean < inf, f"times need shift, mean >= 0, got shift={shift}, mean={mean}"
    )
    return shift + mean * reciprocals(n - k + 1, n)


def pareto(k: int, n: int, scale: float = 1.0, shape: float = 2.0) -> float:
    r"""E[X_{k:n}] = scale G(n+1) G(n-k+1-1/a) / (G(n-k+1) G(n+1-1/a)) for P(X > x) = (scale/x)^a; a = shape, G = Gamma.

    Infinite where n - k + 1 <= 1/a.

    Parameters
    ----------
    k, n : int
        The k-th smallest of n.
    scale, shape : float
        As in `gcexp.delays.Pareto`.

    References
    ----------
    Huang: A note on order statistics from Pareto distribution, 1975. Sarmasarkar, Lalitha, Karamchandani,
    arXiv 2102.10163, section VIII.

    Examples
    --------
    >>> round(1e3 * pareto(11, 30, scale=1e-3, shape=1.2), 4), pareto(5, 5, shape=1.0)
    (1.4612, inf)
    """
    _require_place(k, n)
    require(
        0 < scale < inf and shape > 0,
        f"a Pareto law needs scale, shape > 0, got scale={scale}, shape={shape}",
    )
    if n - k + 1 <= 1 / shape:
        return inf
    if n < _STIRLING:
        rising = lgamma(n + 1) - lgamma(n + 1 - 1 / shape)
        return scale * exp(rising + lgamma(n - k + 1 - 1 / shape) - lgamma(n - k + 1))
    return scale * exp(_log_rising(n - k + 1, -1 / shape) - _log_rising(n + 1, -1 / shape))


def of_quantile(quantile: Callable[[float], float], k: int, n: int) -> float:
    r"""E[X_{k:n}] of any law, from its quantile function Q: the mean of Q(V) with V ~ Beta(k, n-k+1).

    Integrated over E = -ln(1 - V), the k-th smallest of n unit exponentials, where heavy tails are tame: if X has the
    tail index a, the integrand falls like exp(-(n-k+1 - 1/a) e). Its last part is integrated in closed form at the rate
    at which it falls there; where it does not fall, or X is above 1e308 before it has fallen, the mean is infinite.

    Parameters
    ----------
    quantile : callable
        Q of the unit exponential's value: X = quantile(E), as in `gcexp.delays` where every law is a function of E.
    k, n : int
        The k-th smallest of n.

    Raises
    ------
    ParameterError
        Unless 1 <= k <= n <= 10^4, beyond which the quadrature misses the peak, and where Q gives no number.

    Examples
    --------
    >>> from math import exp
    >>> round(1e3 * of_quantile(lambda e: 1e-3 * exp(e / 1.2), 11, 30), 4)
    1.4612
    >>> round(of_quantile(lambda e: exp(e / 1.001), 5, 5), 3), of_quantile(exp, 5, 5)
    (4994.598, inf)
    """
    from scipy.integrate import quad

    _require_place(k, n)
    require(n <= 10**4, f"a mean by quadrature takes at most n = 10000 workers, got n={n}")
    log_c = lgamma(n + 1) - lgamma(k) - lgamma(n - k + 1)

    def integrand(e: float) -> float:
        if e <= 0 < k - 1:
            return 0.0
        below = 0.0  # ln of (1 - exp(-e))^(k-1)
        if k > 1:
            below = (k - 1) * log(-expm1(-e))
        weight = exp(log_c + below - e * (n - k + 1))
        if weight == 0:
            return 0.0
        try:
            x = quantile(e)
        except OverflowError:
            return inf
        require(x == x, f"the quantile function gives no number at {e:g}")
        return x * weight

    end = 600 / (n - k + 1)  # the weight is above 1e-300 up to here
    last = integrand(end)
    before = integrand(end * 0.99)
    if last == inf:
        return inf
    mean = quad(integrand, 0, 1, limit=200)[0] + quad(integrand, 1, 10, limit=200)[0]
    if last * end <= 1e-17 * mean:
        return mean + quad(integrand, 10, inf, limit=200)[0]
    rate = log(before / last) / (0.01 * end)
    if rate < 1e-9 * (n - k + 1):
        return inf
    return mean + quad(integrand, 10, end, limit=200)[0] + last / rate


def _require_place(k: int, n: int) -> None:
    """Refuse a place that is none among n."""
    require(1 <= k <= n, f"the k-th smallest of n needs 1 <= k <= n, got k={k}, n={n}")
