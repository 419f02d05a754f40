r"""Exact expected iteration times of GC, GC-SC, their lower bound and any placement, under two-state workers.

A worker of load r needs T_r = r (alpha + E/mu), E ~ Exp(1), with mu = mu_s where it is slow and mu_f where it is fast
(`load_model` ``scaled``), or the sum of r independent times alpha + E/mu (``sum``). Workers are independent given their
slow probabilities q_w. A scheme waits until, in each of its groups of equal size, all but at most `spare` workers are
done; its expected time is then an integral over a Poisson-binomial law:

    E[T] = r alpha + r int_0^inf (1 - prod_groups R(u)) du,
    R(u) = Pr(at most `spare` of the group are not done), Pr(w not done) = q_w e^{-mu_s u} + (1-q_w) e^{-mu_f u}.

==========  ======  ====  ===========
scheme      groups  size  spare
==========  ======  ====  ===========
GC          1       n     r - 1
GC-SC       P       n/P   r - 1
LB          1       n     P (r - 1)
==========  ======  ====  ===========

Reference: Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation,
ICC 2021 (arXiv 2011.01922), sections II and III. Every time is in units of 1/mu.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from scipy.special import gammaincc

from gcexp.errors import ParameterError, require, require_known
from gcexp.theory.order_statistics import shifted_exponential

LOAD_MODELS = ("scaled", "sum")
_STEP, _SMALL, _LARGE = 0.2, 1e-12, 50.0  # of the trapezoidal rule in log u
_AGREE, _HALVINGS = 1e-9, 10


def order_statistic(n: int, spare: int, *, load: int, alpha: float, mu: float) -> float:
    """Expected time until n - spare of n equal workers are done: r (alpha + (H_n - H_spare) / mu).

    GC: spare = r - 1. The lower bound of all clustered codes: spare = P (r - 1).

    Examples
    --------
    >>> round(order_statistic(12, 1, load=2, alpha=0.01, mu=10), 5)
    0.44064
    >>> round(order_statistic(12, 4, load=2, alpha=0.01, mu=10), 5)
    0.22398
    """
    require(0 <= spare < n, f"order statistic needs 0 <= spare < n, got n={n}, spare={spare}")
    require(load >= 0 and mu > 0, f"order statistic needs load >= 0 and mu > 0, got load={load}, mu={mu}")
    return shifted_exponential(n - spare, n, shift=load * alpha, mean=load / mu)


def expected_time(slow, spare: int, *, load: int, alpha, mu_s, mu_f, load_model: str = "scaled"):
    """Expected time until in each group all but at most `spare` workers are done.

    Parameters
    ----------
    slow : array_like (..., groups, size)
        Probability that each worker is slow; 0 or 1 where states are known.
    spare : int
        Workers of a group that need not be done, 0 <= spare < size.
    load : int
        Computations per worker, r.
    alpha : float
        Smallest time of one computation.
    mu_s, mu_f : float or array_like (groups, size)
        Rates of slow and fast workers.
    load_model : {"scaled", "sum"}

    Returns
    -------
    float or ndarray (...)

    Examples
    --------
    Twelve workers in four clusters, of which the first is slow; GC waits for another slow one.

    >>> law = dict(load=2, alpha=0.01, mu_s=0.1, mu_f=10)
    >>> slow = np.zeros((4, 3))
    >>> slow[:, 0] = 1
    >>> round(expected_time(slow, 1, **law), 3), round(expected_time(slow.reshape(1, 12), 1, **law), 3)
    (0.558, 21.687)
    >>> round(expected_time(np.full((4, 3), 0.5), 1, **law), 3)  # stationary
    16.136
    """
    slow = np.asarray(slow, dtype=float)
    require(
        0 <= spare < slow.shape[-1], f"a group of {slow.shape[-1]} needs 0 <= spare < size, got spare={spare}"
    )
    clock = _Clock(load, alpha, mu_s, mu_f, load_model)
    left = slow[..., None]
    return clock.mean(lambda waits: _at_most(left * waits[0] + (1 - left) * waits[1], spare).prod(-2))


def expected_time_of_counts(
    slow_counts, size: int, spare: int, slow=(1.0, 0.0), *, load, alpha, mu_s, mu_f, load_model="scaled"
) -> np.ndarray:
    """Expected time (U,) of many placements, given how many workers of each cluster are marked as slow (U, P).

    Parameters
    ----------
    slow_counts : array_like (U, P) of int
        Marked workers in each cluster of `size`.
    size, spare : int
    slow : (float, float)
        Probability that a marked and an unmarked worker is slow: (1, 0) where states are known, (1-p, p) where the
        marks are the states of the previous iteration.
    load, alpha, mu_s, mu_f, load_model
        As in `expected_time`; rates are numbers.

    Examples
    --------
    Slow workers {0, 2, 4, 6, 10} of 12 at home, and as the paper places them:

    >>> law = dict(load=2, alpha=0.01, mu_s=0.1, mu_f=10)
    >>> expected_time_of_counts([[2, 0, 3, 0], [1, 1, 1, 2]], 3, 1, **law).round(3)
    array([19.687, 10.036])
    """
    slow_counts = np.sort(slow_counts, axis=1)
    rows, which = np.unique(slow_counts, axis=0, return_inverse=True)
    clock = _Clock(load, alpha, mu_s, mu_f, load_model)
    marked = np.arange(size) < np.arange(size + 1)[:, None]  # (count, worker)
    q = np.where(marked, *slow)[..., None]

    def met(waits: np.ndarray) -> np.ndarray:
        done = _at_most(q * waits[0] + (1 - q) * waits[1], spare)  # (count, node)
        return done[rows].prod(1)

    return clock.mean(met)[which.ravel()]


def slow_probability(p: float, t, starts_slow):
    """Pr(slow in iteration t) of a worker that changes its state with probability p, but not before iteration 0.

    (1 + (1-2p)^t) / 2 if it starts slow, (1 - (1-2p)^t) / 2 if it starts fast.

    Examples
    --------
    >>> slow_probability(0.05, np.array([0, 1, 2]), True)
    array([1.   , 0.95 , 0.905])
    """
    t = np.asarray(t)
    require(
        0 <= p <= 1 and bool((t >= 0).all()),
        f"slow probability needs 0 <= p <= 1 and t >= 0, got p={p}, t={t}",
    )
    return (1 + np.where(starts_slow, 1.0, -1.0) * (1 - 2 * p) ** t) / 2


def mean_time(
    n: int,
    groups: int,
    spare: int,
    *,
    iterations: int,
    initial_slow: int,
    p: float,
    load: int,
    alpha: float,
    mu_s: float,
    mu_f: float,
    load_model: str = "scaled",
) -> float:
    """Expected mean time of the first iterations, where a uniformly random subset of the workers starts slow.

    The mean over t of E[T_t], with the states in t independent given the initial subset; a subset counts by how many
    slow workers it puts into each group (multivariate hypergeometric). Exact for every scheme with fixed groups.

    Parameters
    ----------
    n, groups, spare : int
        See the table at the top of the module.
    iterations, initial_slow : int
    p : float
        Probability to change state.
    load, alpha, mu_s, mu_f, load_model
        As in `expected_time`.

    Examples
    --------
    The paper's first simulation: GC, GC-SC and the lower bound.

    >>> law = dict(iterations=400, initial_slow=4, p=0.05, load=2, alpha=0.01, mu_s=0.1, mu_f=10)
    >>> [round(mean_time(12, groups, spare, **law), 2) for groups, spare in ((1, 1), (4, 1), (1, 4))]
    [28.06, 15.98, 7.04]
    """
    require(
        groups >= 1 and n % groups == 0,
        f"groups must divide the number of workers, got n={n}, groups={groups}",
    )
    require(0 <= initial_slow <= n, f"needs 0 <= initial_slow <= n, got n={n}, initial_slow={initial_slow}")
    size = n // groups
    require(0 <= spare < size, f"a group of {size} needs 0 <= spare < size, got spare={spare}")
    clock = _Clock(load, alpha, mu_s, mu_f, load_model)
    splits = []
    for counts in combinations_with_replacement(range(min(size, initial_slow) + 1), groups):
        if sum(counts) == initial_slow:
            splits.append(counts)
    starts_slow = np.arange(size) < np.arange(max(map(max, splits)) + 1)[:, None]  # (count, worker)
    total = 0.0
    for first in range(0, iterations, 100):
        t = np.arange(first, min(first + 100, iterations))
        q = slow_probability(p, t[:, None, None], starts_slow)[..., None]

        def met(waits, q=q):
            done = _at_most(q * waits[0] + (1 - q) * waits[1], spare)  # (t, count, node)
            return np.stack([done[:, counts].prod(1) for counts in splits])

        for counts, times in zip(splits, clock.mean(met), strict=True):
            total += _share(counts, size, n, initial_slow) * times.sum()
    return float(total / iterations)


def _share(counts: tuple[int, ...], size: int, n: int, slow: int) -> float:
    """Probability that a random subset of `slow` of n workers splits into groups like `counts`, in any order."""
    orders = factorial(len(counts)) // prod(factorial(counts.count(c)) for c in set(counts))
    return orders * prod(comb(size, c) for c in counts) / comb(n, slow)


class _Clock:
    """Integrates over time: the trapezoidal rule in log u, halved until two steps agree.

    The integrand e^x (1 - R(e^x)) is analytic for |Im x| < pi/2, so that the error falls as e^{-pi^2 / step} where R is
    as smooth as the law of one worker. Among n workers it rises within 1/sqrt(n) of its middle, and no step fits all.
    """

    def __init__(self, load, alpha, mu_s, mu_f, load_model):
        require_known("load_model", load_model, LOAD_MODELS)
        self._mu = np.stack(np.broadcast_arrays(mu_s, mu_f))[..., None].astype(float)
        require(
            bool(((self._mu > 0) & (self._mu < np.inf)).all()),
            f"rates must be > 0 and finite, got mu_s={mu_s}, mu_f={mu_f}",
        )
        self._first = np.log(_SMALL / self._mu.max())
        self._end = np.log((_LARGE + (2 * load if load_model == "sum" else 0)) / self._mu.min())
        self._load = load
        self._scaled = load_model == "scaled"
        self._least = load * alpha

    def mean(self, met):
        """Expected time, from what gives Pr(the scheme is done by u), (..., nodes).

        `met` is given the probabilities that a slow and a fast worker are not done then.
        """
        step = _STEP
        coarse = self._sum(met, self._first, step)
        for _ in range(_HALVINGS):
            between = self._sum(met, self._first + step / 2, step)
            if (np.abs(between - coarse) <= 2 * _AGREE * coarse).all():
                mean = self._least + coarse
                return float(mean) if np.ndim(mean) == 0 else mean
            coarse = (coarse + between) / 2
            step = step / 2
        raise ParameterError(
            f"the expected time could not be integrated to a relative accuracy of {_AGREE:.0e}; take fewer workers"
        )

    def _sum(self, met, first, step):
        """The sum of the rule from `first` on."""
        u = np.exp(np.arange(first, self._end, step))
        waits = np.exp(-self._mu * u) if self._scaled else gammaincc(self._load, self._mu * u)
        return (1 - met(waits)) @ (step * u * (self._load if self._scaled else 1))


def _at_most(waits: np.ndarray, spare: int) -> np.ndarray:
    """Poisson-binomial: Pr(at most `spare` workers are not done), (..., nodes), from each one's (..., size, nodes)."""
    missing = np.zeros((*waits.shape[:-2], spare + 1, waits.shape[-1]))
    missing[..., 0, :] = 1
    for w in range(waits.shape[-2]):
        not_done = waits[..., w, None, :]
        more = missing[..., :-1, :] * not_done
        missing *= 1 - not_done
        missing[..., 1:, :] += more
    return missing.sum(-2)


def recoverable_sets(n: int, clusters: int, load: int) -> np.ndarray:
    """Straggler sets of size s = 0, ..., n that static clusters tolerate: at most r - 1 in each cluster.

    Coefficients of (sum_{i<r} C(l, i) x^i)^P; P = 1 is GC.

    Examples
    --------
    >>> recoverable_sets(12, 4, 2)[:6], recoverable_sets(12, 1, 2)[:3]
    (array([  1,  12,  54, 108,  81,   0]), array([ 1, 12,  0]))
    """
    require(
        clusters >= 1 and n % clusters == 0,
        f"clusters must divide the number of workers, got n={n}, clusters={clusters}",
    )
    size = n // clusters
    require(1 <= load <= size, f"needs 1 <= load <= n/clusters = {size}, got load={load}")
    of_one_cluster = [comb(size, i) for i in range(load)]
    product = [1]
    for _ in range(clusters):  # in Python integers: no overflow
        longer = [0] * (len(product) + load - 1)
        for s, sets in enumerate(product):
            for more, ways in enumerate(of_one_cluster):
                longer[s + more] += sets * ways
        product = longer
    product += [0] * (n + 1 - len(product))
    fits = sum(product) < 2**63
    return np.array(product, dtype=np.int64 if fits else object)


def slow_threshold(load: int, *, alpha: float, mu_s: float, mu_f: float) -> float:
    """Time at which a slow and a fast worker are equally likely to finish: r (alpha + ln(mu_f/mu_s) / (mu_f - mu_s)).

    Examples
    --------
    >>> round(slow_threshold(3, alpha=0.01, mu_s=0.1, mu_f=10), 4)
    1.4255
    """
    require(0 < mu_s < mu_f, f"needs 0 < mu_s < mu_f, got mu_s={mu_s}, mu_f={mu_f}")
    return float(load * (alpha + np.log(mu_f / mu_s) / (mu_f - mu_s)))
