"""Failures that redundancy endures, and what of a job's wall time is progress between restarts."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, comb, exp, gamma, inf, isfinite

import numpy as np

from gcexp.errors import require

_NEGLIGIBLE = 1e-12  # survival from which on a life is taken to be over
_POINTS = 20_001  # of the integral that gives the mean length of a life


def until_loss(n: int, r: int) -> float:
    r"""Mean number of failures of n workers until the first of n shards has lost all its r holders.

    Gamma(1/r) / r n^(1 - 1/r). After f failures in random order a shard is lost with probability about (f/n)^r, so that
    none of n is lost with probability exp(-n (f/n)^r); the sum over f of these probabilities is about the integral.
    It assumes that shards are lost independently, as they nearly are where two workers share at most one.

    Parameters
    ----------
    n : int
        Workers (= shards).
    r : int
        Holders of each shard.

    References
    ----------
    Stated for stacked shards in Lee et al., SPARe, arXiv 2603.00357; derived here again.

    Examples
    --------
    >>> round(until_loss(600, 10), 1), until_loss(5, 1)
    (301.1, 1.0)
    """
    require(1 <= r <= n, f"a shard has 1 <= r <= n holders, got n={n}, r={r}")
    return gamma(1 / r) / r * n ** (1 - 1 / r)


def mean_endured(n: int, r: int) -> float:
    """Mean number of failures up to and with the first that leaves one of n / r groups of r copies without a member.

    Workers fail in random order and are not replaced. Of the sets of f workers, the coefficient of x^f in
    ((1 + x)^r - x^r)^(n/r) leave somebody in each group, so that this many of C(n, f) are survived; the mean is the sum
    of these shares over f >= 0.

    Examples
    --------
    >>> round(mean_endured(n=20, r=2), 4), mean_endured(n=7, r=1)
    (5.6755, 1.0)
    """
    require(1 <= r <= n and n % r == 0, f"groups of r workers need an r that divides n, got n={n}, r={r}")
    of_group = [comb(r, f) for f in range(r)]
    survived = [1]
    for _ in range(n // r):
        product = [0] * (len(survived) + len(of_group) - 1)
        for i, some in enumerate(survived):
            for j, others in enumerate(of_group):
                product[i + j] += some * others
        survived = product
    return float(sum(sets / comb(n, f) for f, sets in enumerate(survived)))


def failed_by(time: np.ndarray | float, mean: float, shape: float = 1.0) -> np.ndarray:
    """Probability F that a worker has failed by some time, where lifetimes have Weibull's law with this mean.

    Examples
    --------
    >>> float(failed_by(100.0, mean=100.0).round(4)), float(failed_by(100.0, mean=100.0, shape=0.5).round(4))
    (0.6321, 0.7569)
    """
    require(mean > 0 and shape > 0, f"a mean and a shape are above 0, got mean={mean}, shape={shape}")
    scale = mean / gamma(1 + 1 / shape)
    return -np.expm1(-((np.asarray(time, float) / scale) ** shape))


def groups_survive(failed: np.ndarray | float, n: int, r: int) -> np.ndarray:
    """Probability (1 - F^r)^(n/r) that each of n / r groups of r copies has a member left; r = 1: nobody has failed.

    Examples
    --------
    >>> groups_survive(0.5, n=4, r=2), groups_survive(0.5, n=4, r=1)
    (np.float64(0.5625), np.float64(0.0625))
    """
    require(1 <= r <= n and n % r == 0, f"groups of r workers need an r that divides n, got n={n}, r={r}")
    return (1 - np.asarray(failed, float) ** r) ** (n // r)


def any_survive(failed: np.ndarray | float, n: int, s: int) -> np.ndarray:
    """Probability P(Bin(n, F) <= s) that at most s of n workers have failed, whoever they are.

    Examples
    --------
    >>> any_survive(0.5, n=2, s=1)
    np.float64(0.75)
    """
    from scipy.stats import binom  # slow to import

    require(0 <= s < n, f"s of n workers may fail, 0 <= s < n, got n={n}, s={s}")
    return binom.cdf(s, n, np.asarray(failed, float))


def replaced_survive(time: np.ndarray | float, n: int, r: int, lifetime: float, rejoin: float) -> np.ndarray:
    """`groups_survive` where lifetimes are exponential, and so is the time until a dead worker is replaced.

    The number of dead members of a group is a Markov chain, from j to j + 1 at rate (r - j) / lifetime and to j - 1 at
    rate j / rejoin, that stops at r.

    Examples
    --------
    >>> replaced_survive([0.0, 50.0], n=4, r=2, lifetime=100.0, rejoin=10.0).round(3)
    array([1.   , 0.877])
    """
    from scipy.linalg import expm  # slow to import

    require(1 <= r <= n and n % r == 0, f"groups of r workers need an r that divides n, got n={n}, r={r}")
    require(lifetime > 0 and rejoin > 0, f"times are above 0, got lifetime={lifetime}, rejoin={rejoin}")
    rates = np.zeros((r, r))  # among the states in which somebody is left
    for dead in range(r):
        if dead + 1 < r:
            rates[dead, dead + 1] = (r - dead) / lifetime
        if dead:
            rates[dead, dead - 1] = dead / rejoin
        rates[dead, dead] = -(r - dead) / lifetime - dead / rejoin
    chances = [expm(rates * one)[0].sum() for one in np.atleast_1d(np.asarray(time, float))]
    return np.array(chances) ** (n // r)


def goodput(
    survives: Callable[[np.ndarray], np.ndarray],
    period: float,
    save: float,
    restart: float,
    slow: float = 1.0,
) -> float:
    r"""Share of the wall time that is saved progress, (P / slow) sum_{j >= 1} S(j (P + save)) / (E X + restart).

    A life begins with all workers and ends with a failure that is fatal. It has saved j periods if no failure was fatal
    until the j-th save was finished. The formula is exact where a step takes the same time under every set of dead
    workers that is endured, and nothing is lost at such a failure.

    Parameters
    ----------
    survives : callable
        S: the probability that no failure was fatal until some times (array), from fresh workers on. It falls to 0.
    period : float
        P, seconds of work between two saves.
    save, restart : float
        Seconds of each.
    slow : float
        A step over one of all workers without redundancy.

    Examples
    --------
    >>> period = best_period(mtbf=3600, save=30)
    >>> round(period), round(goodput(lambda t: np.exp(-t / 3600), period, save=30, restart=600), 4)
    (445, 0.7512)
    """
    require(period > 0 and save >= 0 and restart >= 0 and slow > 0, "times are >= 0, and a period is above 0")
    end = period + save
    while survives(np.array([end]))[0] > _NEGLIGIBLE:
        end *= 2
    times = np.linspace(0, end, _POINTS)
    mean_life = np.trapezoid(survives(times), times)
    saves = np.arange(1, ceil(end / (period + save)) + 1)
    saved = survives(saves * (period + save)).sum()
    return float(period / slow * saved / (mean_life + restart))


def best_period(mtbf: float, save: float) -> float:
    """The period with the largest goodput without redundancy, where lifetimes are exponential.

    With the rate lambda = 1 / mtbf it solves lambda P = 1 + W(-exp(-lambda save - 1)), with the principal branch of
    Lambert's W; the restart does not matter. For a short save it is about sqrt(2 save mtbf).

    Examples
    --------
    >>> round(best_period(mtbf=3600, save=30), 1)
    445.0
    """
    from scipy.special import lambertw  # slow to import

    require(
        0 < mtbf < inf and 0 < save and isfinite(save), f"times are above 0, got mtbf={mtbf}, save={save}"
    )
    return float(mtbf * (1 + lambertw(-exp(-save / mtbf - 1)).real))


def share_waiting(spares: int, repair: float, mtbf: float) -> float:
    """Share of the time in which a job without redundancy waits for machines, where saves and restarts take no time.

    Erlang's loss formula with spares + 1 lines and the load repair / mtbf: failures come at rate 1 / mtbf while at most
    `spares` machines are broken. It holds for exponential lifetimes and any law of repair with this mean.

    Examples
    --------
    >>> round(share_waiting(spares=2, repair=7200, mtbf=3600), 4)
    0.2105
    """
    require(spares >= 0 and repair >= 0 and mtbf > 0, "there are spares >= 0, repair >= 0 and mtbf > 0")
    share = 1.0
    for line in range(1, spares + 2):
        share = repair / mtbf * share / (line + repair / mtbf * share)
    return share
