"""Gradient coding with partial recovery: bounds, counts of every scheme, impossibility arguments, expected times.

Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163. Counts and bounds are
exact: integers and `fractions.Fraction`. A fraction alpha given as a float is read as the nearest one with a
denominator of at most 10^6, so that 2/3 means two thirds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, comb, exp, floor, gcd, inf, log, sqrt
from typing import NamedTuple

from gcexp.errors import require, require_known
from gcexp.theory import order_statistics

#: Section VIII: law of the random time, and whether it is added to the work (data) or multiplies it (server).
MODELS = {
    "A": ("pareto", "data"),
    "B": ("shifted_exponential", "data"),
    "C": ("pareto", "server"),
    "D": ("shifted_exponential", "server"),
}


class Cost(NamedTuple):
    """What a scheme costs: partitions k, messages m of a worker, computation load (fraction of the data)."""

    k: int
    m: int
    load: Fraction


def choose(a: int, b: int) -> int:
    """Binomial coefficient C(a, b), 0 unless 0 <= b <= a.

    Examples
    --------
    >>> choose(4, 2), choose(2, 4), choose(-1, 2)
    (6, 0, 0)
    """
    if not 0 <= b <= a:
        return 0
    return comb(a, b)


def exact(alpha: float | Fraction) -> Fraction:
    """Wanted fraction of the data as a rational number.

    Raises
    ------
    ParameterError
        Unless 0 < alpha <= 1; for a float that only 0 or 1 comes near to.

    Examples
    --------
    >>> exact(2 / 3), exact(0.9)
    (Fraction(2, 3), Fraction(9, 10))
    """
    require(0 < alpha <= 1, f"the wanted fraction needs 0 < alpha <= 1, got alpha={alpha}")
    if isinstance(alpha, Fraction):
        return alpha
    near = Fraction(alpha).limit_denominator(10**6)
    require(
        near > 0 and (near < 1 or alpha == 1),
        f"a float alpha is read as a fraction with a denominator up to 10^6, and alpha={alpha} would be {near}; give "
        f"it as a fraction: alpha={Fraction(str(alpha))}",
    )
    return near


def _workers(n: int, s: int) -> None:
    """Refuse numbers of workers and stragglers that none can be."""
    require(0 <= s < n, f"partial recovery needs 0 <= s < n, got n={n}, s={s}")


# --- Theorem 1: the lower bound on the load -----------------------------------------------------------------


def rho(n: int, s: int, y: int) -> Fraction:
    """Fraction C(s,y) / C(n,y) of the straggler sets that cover a given set of y workers.

    Examples
    --------
    >>> rho(5, 3, 2)
    Fraction(3, 10)
    """
    require(0 <= y <= n, f"rho needs 0 <= y <= n, got n={n}, y={y}")
    require(0 <= s <= n, f"rho needs 0 <= s <= n, got n={n}, s={s}")
    return Fraction(choose(s, y), comb(n, y))


def _is_rho_at_most(limit: Fraction, n: int, s: int, y: int) -> bool:
    """Whether `rho` is at most a limit; compared in whole numbers, since searches ask for it very often."""
    return choose(s, y) * limit.denominator <= limit.numerator * comb(n, y)


def invisible_fraction(replicas: Iterable[int], n: int, s: int) -> Fraction:
    r"""Lemma 1: fraction of pairs (straggler set, partition) in which nobody heard holds the partition.

    sum_j C(n - n_j, s - n_j) / (k C(n,s)), where n_j workers hold partition j. An (alpha, s)-feasible scheme has at
    most 1 - alpha. For s random stragglers it is the mean fraction that any decoder misses.

    Parameters
    ----------
    replicas : iterable of int (k,)
        Workers that hold each partition.
    n, s : int
        Workers and stragglers.

    Examples
    --------
    >>> invisible_fraction([2] * 10, n=5, s=3)
    Fraction(3, 10)
    """
    _workers(n, s)
    missed = [choose(n - int(r), s - int(r)) for r in replicas]
    require(bool(missed), "Lemma 1 needs at least one partition")
    return Fraction(sum(missed), len(missed) * comb(n, s))


def least_invisible(n: int, s: int, load: Fraction) -> Fraction:
    r"""Theorem 1: least `invisible_fraction` of any assignment with computation load `load`.

    (y + 1 - n l) rho_y + (n l - y) rho_{y+1} with y = floor(n l); at most 1 - alpha where a scheme is feasible.

    Examples
    --------
    >>> least_invisible(5, 3, Fraction(2, 5)), least_invisible(5, 3, Fraction(1, 2))
    (Fraction(3, 10), Fraction(1, 5))
    """
    _workers(n, s)
    require(0 <= load <= 1, f"a load must be a fraction of the data, 0 to 1, got {load}")
    nl = n * Fraction(load)
    y = nl.numerator // nl.denominator
    if y == n:
        return rho(n, s, n)
    return (y + 1 - nl) * rho(n, s, y) + (nl - y) * rho(n, s, y + 1)


def lower_bound(n: int, s: int, alpha: float | Fraction) -> Fraction:
    r"""Theorem 1: least computation load of an (alpha, s)-feasible scheme, whatever k and m are.

    With the smallest y such that rho_y <= 1 - alpha:
    n l = y - 1 + (rho_{y-1} - (1 - alpha)) / (rho_{y-1} - rho_y). At alpha = 1 it is (s+1)/n.

    Examples
    --------
    >>> lower_bound(15, 9, 2 / 3) * 15
    Fraction(445, 216)
    >>> lower_bound(10, 4, 1.0)
    Fraction(1, 2)
    """
    _workers(n, s)
    missing = 1 - exact(alpha)
    y = minimal_y(n, s, alpha)
    above = rho(n, s, y - 1)
    below = rho(n, s, y)
    return (y - 1 + (above - missing) / (above - below)) / n


def convex_bound(total: int, k: int, n: int, s: int) -> int:
    r"""Claim 1: least sum_j C(n - n_j, s - n_j) over k integers n_j >= 0 with the given total.

    With k y <= total < k (y+1) it is (k (y+1) - total) f(y) + (total - k y) f(y+1), f(a) = C(n-a, s-a).

    Examples
    --------
    >>> convex_bound(total=20, k=10, n=5, s=3)
    30
    """
    require(
        k >= 1 and 0 <= total <= k * n and 0 <= s <= n,
        f"the bound needs k >= 1, 0 <= total <= k n and 0 <= s <= n, got total={total}, k={k}, n={n}, s={s}",
    )
    y = total // k
    return (k * (y + 1) - total) * choose(n - y, s - y) + (total - k * y) * choose(n - y - 1, s - y - 1)


# --- What every scheme costs --------------------------------------------------------------------------------


def minimal_y(n: int, s: int, alpha: float | Fraction) -> int:
    """Theorem 2: smallest y >= 1 with rho_y <= 1 - alpha, so that `Combinatorial(n, s, y)` recovers alpha.

    Examples
    --------
    >>> minimal_y(5, 3, 0.7), minimal_y(15, 9, 2 / 3)
    (2, 3)
    """
    _workers(n, s)
    missing = 1 - exact(alpha)
    return next(y for y in range(1, s + 2) if _is_rho_at_most(missing, n, s, y))


def most_stragglers(n: int, y: int, alpha: float | Fraction) -> int:
    """Largest s with rho_y <= 1 - alpha: how many workers the combinatorial scheme with y copies may ignore.

    Examples
    --------
    >>> most_stragglers(20, 2, 0.75)
    10
    """
    require(1 <= y <= n, f"the number of copies needs 1 <= y <= n, got n={n}, y={y}")
    missing = 1 - exact(alpha)
    # rho_y = C(s,y) / C(n,y) never falls with s.
    most_sets = floor(missing * comb(n, y))
    too_many = bisect_right(range(n), most_sets, key=lambda s: choose(s, y))
    return too_many - 1


def combinatorial(n: int, y: int) -> Cost:
    """Theorem 2: k = C(n,y), m = C(n-1,y-1), load y/n.

    Examples
    --------
    >>> combinatorial(7, 2)
    Cost(k=21, m=6, load=Fraction(2, 7))
    """
    require(1 <= y <= n, f"the combinatorial scheme needs 1 <= y <= n, got n={n}, y={y}")
    return Cost(comb(n, y), comb(n - 1, y - 1), Fraction(y, n))


def co_prime(n: int, y: int) -> Cost:
    """Theorem 3: as Theorem 2, but m = C(n-1,y-1) - C(n,y)/n + 1; gcd(n, y) = 1.

    Examples
    --------
    >>> co_prime(7, 3)
    Cost(k=35, m=11, load=Fraction(3, 7))
    """
    cost = combinatorial(n, y)
    require(gcd(n, y) == 1, f"the co-prime scheme needs gcd(n, y) = 1, got n={n}, y={y}")
    return cost._replace(m=cost.m - cost.k // n + 1)


def t_design(n: int, t: int, size: int, index: int) -> Cost:
    r"""Theorem 4: a t-(n, size, index) design, k = index C(n,t) / C(size,t) blocks, m = k size / n, load size/n.

    For n - s <= t it recovers 1 - rho_size of the data, whatever the straggler set.

    Examples
    --------
    >>> t_design(8, 3, 4, 1)
    Cost(k=14, m=7, load=Fraction(1, 2))
    """
    k = Fraction(index * comb(n, t), choose(size, t) or 1)
    m = k * size / n
    require(
        1 <= t <= size <= n and index >= 1 and k.denominator == m.denominator == 1,
        f"no {t}-({n},{size},{index}) design: it would have {k} blocks, {m} on each point",
    )
    return Cost(int(k), int(m), Fraction(size, n))


def lower_index(n: int, t: int, size: int, index: int, i: int) -> Fraction:
    """A t-(n, size, index) design is an i-design, i <= t, with index lambda_i = index C(n-i,t-i) / C(size-i,t-i).

    Examples
    --------
    >>> [int(lower_index(8, 3, 4, 1, i)) for i in range(4)]
    [14, 7, 3, 1]
    """
    require(0 <= i <= t <= size <= n, f"an i-design needs 0 <= i <= t <= block size <= n, got i={i}, t={t}")
    return Fraction(index * comb(n - i, t - i), comb(size - i, t - i))


def complement_index(n: int, t: int, size: int, index: int) -> Fraction:
    """The complements of the blocks are a t-(n, n-size, index') design, index' = index C(n-size,t) / C(size,t).

    Examples
    --------
    >>> complement_index(10, 3, 4, 1)
    Fraction(5, 1)
    """
    require(0 <= t <= size <= n, f"a t-design needs 0 <= t <= block size <= n, got t={t}, size={size}, n={n}")
    return Fraction(index * choose(n - size, t), comb(size, t))


def intermediate(n: int, x: int, y: int) -> Cost:
    """Theorem 10: k = n C(n-y+x-1,x-1) / g, m = y C(n-y+x-1,x-1) / g, load y/n, g = gcd(x, y).

    Examples
    --------
    >>> intermediate(5, 2, 3)
    Cost(k=15, m=9, load=Fraction(3, 5))
    """
    require(1 <= x <= y <= n, f"the intermediate scheme needs 1 <= x <= y <= n, got n={n}, x={x}, y={y}")
    lists = comb(n - y + x - 1, x - 1)
    g = gcd(x, y)
    return Cost(n * lists // g, y * lists // g, Fraction(y, n))


def intermediate_misses(n: int, s: int, x: int, y: int) -> int:
    """Theorem 10: most partitions that s stragglers hide, (x/g) C(s-y+x, x), g = gcd(x, y); consecutive ones do.

    Examples
    --------
    >>> intermediate_misses(5, 3, 2, 3), intermediate_misses(5, 4, 2, 3)
    (2, 6)
    """
    require(
        1 <= x <= y <= n and 0 <= s <= n,
        f"intermediate assignments need 1 <= x <= y <= n and 0 <= s <= n, got n={n}, s={s}, x={x}, y={y}",
    )
    return x * choose(s - y + x, x) // gcd(x, y)


def y_min(n: int, s: int, alpha: float | Fraction, x: int) -> int:
    """Remark 11: least y >= x for which Theorem 10 with x runs recovers the fraction alpha.

    Condition (3): x C(s-y+x, x) / (n C(n-y+x-1, x-1)) <= 1 - alpha. Non-increasing in x.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and 1 <= x <= s + 1: from there on y = x loses nothing.

    Examples
    --------
    >>> [y_min(12, 8, 0.9, x) for x in range(1, 6)]
    [8, 7, 6, 5, 5]
    """
    _workers(n, s)
    require(1 <= x <= s + 1, f"y_min needs 1 <= x <= s + 1, got x={x}, s={s}")
    missing = 1 - exact(alpha)
    y = x
    while Fraction(intermediate_misses(n, s, x, y), intermediate(n, x, y).k) > missing:
        y += 1  # at most to s + 1, where nothing is missed
    return y


def sweep(n: int, s: int, alpha: float | Fraction) -> list[dict]:
    """Theorem 10 from the cyclic assignment (x = 1) to the combinatorial one (y_min(x) = x).

    Returns
    -------
    list of dict
        ``x, y, k, m, load`` and ``missed``, the worst invisible fraction (left side of (3)).

    Examples
    --------
    >>> [(row["x"], row["y"], row["m"]) for row in sweep(12, 8, 0.9)]
    [(1, 8, 8), (2, 7, 42), (3, 6, 56), (4, 5, 600), (5, 5, 330)]
    """
    rows = []
    for x in range(1, s + 2):
        y = y_min(n, s, alpha, x)
        cost = intermediate(n, x, y)
        missed = Fraction(intermediate_misses(n, s, x, y), cost.k)
        rows.append({"x": x, "y": y, **cost._asdict(), "missed": missed})
        if y == x:
            break
    return rows


def naive(n: int, s: int, alpha: float | Fraction) -> Cost:
    """Exact gradient coding on the fraction alpha of the data: m = 1, load alpha (s+1) / n.

    Examples
    --------
    >>> naive(7, 4, 5 / 7)
    Cost(k=49, m=1, load=Fraction(25, 49))
    """
    _workers(n, s)
    a = exact(alpha)
    return Cost(n * a.denominator // gcd(a.numerator, n), 1, a * (s + 1) / n)


def cyclic_load(n: int, s: int, beta: int) -> int:
    """Partitions p = s + beta - n + 1 that a cyclic scheme needs on each worker to recover beta of n.

    Examples
    --------
    >>> cyclic_load(30, 19, 15)
    5
    """
    _workers(n, s)
    require(n - s <= beta <= n, f"cyclic schemes need n - s <= beta <= n, got n={n}, s={s}, beta={beta}")
    return s + beta - n + 1


def cyclic(n: int, s: int, beta: int) -> Cost:
    """Theorems 5 and 7: load p/n with one message if p divides beta, with two if p ceil(beta/p) <= n.

    Raises
    ------
    ParameterError
        If neither holds; `one_message_load` then says what one message needs.

    Examples
    --------
    >>> cyclic(12, 5, 8), cyclic(12, 5, 10)
    (Cost(k=12, m=1, load=Fraction(1, 6)), Cost(k=12, m=2, load=Fraction(1, 3)))
    """
    p = cyclic_load(n, s, beta)
    require(
        p * -(-beta // p) <= n,
        f"the cyclic schemes need p ceil(beta/p) <= n with p = s + beta - n + 1, got n={n}, s={s}, beta={beta}, p={p}",
    )
    return Cost(n, 1 if beta % p == 0 else 2, Fraction(p, n))


def one_message_load(n: int, s: int, beta: int) -> int:
    """Table 1: least load p' of a cyclic scheme that sends one message and recovers beta or more.

    Smallest divisor d of n - s - 1 with p <= d <= s + 1, or else s + 1: full recovery. Theorem 6 excludes less.

    Examples
    --------
    >>> one_message_load(12, 5, 8), one_message_load(12, 5, 10)
    (2, 6)
    """
    p = cyclic_load(n, s, beta)
    for d in range(p, s + 1):
        if (n - s - 1) % d == 0:
            return d
    return s + 1


def comparison(n: int, s: int, beta: int) -> dict[str, Cost]:
    """Table 4: the naive, cyclic and combinatorial schemes that recover beta of n, at their least loads.

    Examples
    --------
    >>> {name: (cost.m, str(cost.load)) for name, cost in comparison(7, 4, 5).items()}
    {'naive': (1, '25/49'), 'cyclic': (2, '3/7'), 'combinatorial': (6, '2/7')}
    """
    alpha = Fraction(beta, n)
    return {
        "naive": naive(n, s, alpha),
        "cyclic": cyclic(n, s, beta),
        "combinatorial": combinatorial(n, minimal_y(n, s, alpha)),
    }


# --- Section VIII: expected times ---------------------------------------------------------------------------


def _model(model: str, law: dict[str, float]) -> tuple[str, str]:
    """Distribution and scaling of a model, whose parameters are checked."""
    require_known("model", model, MODELS)
    distribution, scaling = MODELS[model]
    allowed = ("scale", "shape") if distribution == "pareto" else ("shift", "mean")
    for key in law:
        require_known(f"parameter of model {model}", key, allowed)
    return distribution, scaling


def _iteration_time(scaling: str, work: float, sample_time: float, random_time: float) -> float:
    """What an iteration takes in which each worker computes so many samples."""
    if scaling == "data":
        return work * sample_time + random_time
    return work * random_time


def expected_times(
    model: str, n: int, alpha: float | Fraction, samples: int, sample_time: float = 0.0, **law: float
) -> tuple[float, float]:
    r"""Mean iteration time E[T1] of the uncoded scheme and E[T2] of the combinatorial scheme with y = 2.

    Scheme 1 computes u = N/n samples per worker and waits for ceil(alpha n) workers; scheme 2 computes 2 N / n and
    waits for n - s_2, s_2 = max{s : s (s-1) <= (1 - alpha) n (n-1)}. With data-dependent times a worker takes
    u sample_time + X, with server-dependent ones u X.

    Parameters
    ----------
    model : {"A", "B", "C", "D"}
        Pareto or shifted exponential with data-dependent times (A, B), and with server-dependent times (C, D).
    n : int
        Workers.
    alpha : float or Fraction
        Wanted fraction.
    samples : int
        Data samples N.
    sample_time : float
        Deterministic time of one sample; A and B only.
    **law
        ``scale, shape`` (Pareto) or ``shift, mean`` (shifted exponential).

    Examples
    --------
    >>> [round(t, 4) for t in expected_times("A", 20, 0.75, 2000, sample_time=0.01, scale=1.0, shape=2.5)]
    [2.7104, 3.3117]
    >>> [round(t, 3) for t in expected_times("D", 20, 0.75, 2000, shift=0.5, mean=2.0)]
    [312.881, 367.509]
    """
    distribution, scaling = _model(model, law)
    mean = getattr(order_statistics, distribution)
    u = samples / n
    first_waits_for = ceil(exact(alpha) * n)
    second_waits_for = n - most_stragglers(n, 2, alpha)
    first = _iteration_time(scaling, u, sample_time, mean(first_waits_for, n, **law))
    second = _iteration_time(scaling, 2 * samples / n, sample_time, mean(second_waits_for, n, **law))
    return first, second


def limit_times(
    model: str, n: int, alpha: float | Fraction, samples: int, sample_time: float = 0.0, **law: float
) -> tuple[float, float]:
    r"""`expected_times` with the order statistics replaced by their large-n limits, the quantiles.

    Pareto: scale z and scale sqrt(z) with z = (1-alpha)^(-1/shape). Shifted exponential: shift + mean L and
    shift + mean L / 2 with L = ln(1 / (1-alpha)).

    Examples
    --------
    >>> t1, t2 = limit_times("D", 20, 0.75, 2000, shift=0.5, mean=2.0)
    >>> round(t2 - t1, 9)  # N shift / n
    50.0
    """
    distribution, scaling = _model(model, law)
    left = float(1 - exact(alpha))
    if left == 0:
        return inf, inf

    def quantile(power: float) -> float:
        if distribution == "pareto":
            return law.get("scale", 1.0) * left ** (-power / law.get("shape", 2.0))
        return law.get("shift", 0.0) - power * law.get("mean", 1.0) * log(left)

    u = samples / n
    first = _iteration_time(scaling, u, sample_time, quantile(1))
    second = _iteration_time(scaling, 2 * u, sample_time, quantile(0.5))
    return first, second


def threshold(model: str, n: int, samples: int, sample_time: float = 0.0, **law: float) -> float:
    r"""Fraction alpha above which the combinatorial scheme (y = 2) is faster in the large-n limit; 1: never.

    With c = N sample_time / n: A: scale (z^2 - z) = c, z = (1-alpha)^(-1/(2 shape)). B: 1 - exp(-2 c / mean).
    C: 1 - 4^(-shape). D: 1, since E[T2] - E[T1] tends to N shift / n.

    Examples
    --------
    >>> round(threshold("C", 20, 2000, shape=0.8), 4), threshold("D", 20, 2000)
    (0.6701, 1.0)
    """
    _model(model, law)
    c = samples * sample_time / n
    if model == "A":
        z = (1 + sqrt(1 + 4 * c / law.get("scale", 1.0))) / 2
        return 1 - z ** (-2 * law.get("shape", 2.0))
    if model == "B":
        return 1 - exp(-2 * c / law.get("mean", 1.0))
    if model == "C":
        return 1 - 4 ** -law.get("shape", 2.0)
    return 1.0
