"""Workers that are slow for a while: a two-state hidden Markov chain for each, fitted to logarithms of times.

Logarithms y (T, n) are NaN where a worker has no row. There the chain goes on, and nothing is seen of its state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gcexp_adviser.diagnosis.logged import counts, has_gaps, mean

_STEPS, _CLOSE = 40, 1e-6  # steps of maximisation at most, and the relative gain at which they end
_FARTHEST = 300.0  # of a likelihood ratio in logarithms
_LEAST_SD = 1e-6
_TANGENTS = 20  # steps towards the rates of one maximisation


@dataclass(frozen=True)
class Chain:
    """Fast is N(base_w, sd_fast) and slow N(base_w + gap, sd_slow), in logarithms; the chain starts stationary.

    `p01` and `p10` are the chances of a fast worker to become slow and of a slow one to become fast; `base` is (n,).
    """

    p01: float
    p10: float
    gap: float
    sd_fast: float
    sd_slow: float
    base: np.ndarray = field(repr=False)

    @property
    def memory(self) -> float:
        """Correlation of neighbouring states, 1 - p01 - p10."""
        return 1 - self.p01 - self.p10

    @property
    def factor(self) -> float:
        """How much longer a slow worker takes."""
        return float(np.exp(self.gap))

    @property
    def separation(self) -> float:
        """Distance of the two laws in standard deviations."""
        return self.gap / ((self.sd_fast**2 + self.sd_slow**2) / 2) ** 0.5


@dataclass(frozen=True)
class SlowStates:
    """A fitted chain; the times (T, n) that are more likely slow than fast; and what the chain explains.

    Of a time that is missing it is told by the times around it.

    `gain` is by how much the Bayesian information criterion prefers it to one normal law around each worker's mean.
    The criterion counts five numbers: two rates, the gap and two standard deviations. The normal law has one standard
    deviation of its own, which is not taken off: the chain is preferred a little less than it could be.
    """

    chain: Chain
    slow: np.ndarray = field(repr=False)
    gain: float

    @property
    def starts(self) -> np.ndarray:
        """Iterations in which a spell of slowness begins, one entry for each spell."""
        begins = self.slow.copy()
        begins[1:] &= ~self.slow[:-1]
        return np.nonzero(begins)[0]


def split(values: np.ndarray) -> tuple[float, float]:
    """Otsu's threshold between two groups of values, and how many standard deviations their means are apart."""
    ordered = np.sort(values, axis=None)
    N = len(ordered)
    below = np.arange(1, N)
    total = np.cumsum(ordered)
    square = np.cumsum(ordered**2)
    low = total[:-1] / below  # means of the two groups, for each size of the lower one
    high = (total[-1] - total[:-1]) / (N - below)
    between = below * (N - below) * (high - low) ** 2
    at = int(between.argmax())
    count = below[at]
    variance_low = square[at] / count - low[at] ** 2
    variance_high = (square[-1] - square[at]) / (N - count) - high[at] ** 2
    variance = max((variance_low + variance_high) / 2, 0)
    apart = (high[at] - low[at]) / max(np.sqrt(variance), _LEAST_SD)
    return float(ordered[at]), float(apart)


def fitted(y: np.ndarray, slow: np.ndarray) -> SlowStates:
    """Fit the chain to logarithms y (T, n) by expectation and maximisation, from a first guess of who is slow when."""
    chain = _first(y, slow)
    likelihood, posterior, pairs = smoothed(y, chain)
    for _ in range(_STEPS):
        before = likelihood
        chain = maximised(y, chain, posterior, pairs)
        likelihood, posterior, pairs = smoothed(y, chain)
        if likelihood - before <= _CLOSE * abs(likelihood):
            break
    logged = int(counts(y))
    variance = max(float(mean((y - mean(y, axis=0)) ** 2)), _LEAST_SD**2)
    alone = -logged / 2 * (np.log(2 * np.pi * variance) + 1)
    gain = 2 * (likelihood - alone) - 5 * np.log(logged)
    return SlowStates(chain, posterior > 0.5, float(gain))


def _first(y: np.ndarray, slow: np.ndarray) -> Chain:
    """A chain from a guess; workers that are never or always slow tell nothing of the gap."""
    logged = ~np.isnan(y)
    often = slow.sum(0)
    both = (often > 0) & (often < logged.sum(0))
    mean_of_fast = np.where(logged & ~slow, y, 0).sum(0) / np.maximum(logged.sum(0) - often, 1)
    base = np.where(both, mean_of_fast, mean(y, axis=0))
    above = y - base
    times_fast = above[logged & ~slow & both]
    times_slow = above[slow & both]
    gap = float(times_slow.mean()) if times_slow.size else 0.0
    sd_fast = _spread(times_fast)
    sd_slow = _spread(times_slow)
    known = logged[:-1] & logged[1:]
    before = slow[:-1][known]
    after = slow[1:][known]
    p01 = (~before & after).sum() / max((~before).sum(), 1)
    p10 = (before & ~after).sum() / max(before.sum(), 1)
    p01, p10 = np.clip([p01, p10], 1e-4, 0.9).tolist()
    return Chain(p01, p10, gap, sd_fast, sd_slow, base)


def _spread(values: np.ndarray) -> float:
    """Standard deviation, at least the least one, which none at all have as well."""
    return max(float(values.std()), _LEAST_SD) if values.size else _LEAST_SD


def _log_normal(y: np.ndarray, middle: np.ndarray, sd: float) -> np.ndarray:
    """Logarithm of the density of values; 0 where there is none, so that it says nothing of the state."""
    density = -0.5 * ((y - middle) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    density[np.isnan(density)] = 0.0
    return density


def smoothed(y: np.ndarray, chain: Chain) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood, chance (T, n) of being slow, and expected transitions (2, 2) from row to column.

    One number is carried for each worker: forwards the odds of being slow by what was seen before, and backwards the
    factor of these odds by what was seen afterwards. A step is the same in both directions, with other rates.
    """
    fast = _log_normal(y, chain.base, chain.sd_fast)
    slow = _log_normal(y, chain.base + chain.gap, chain.sd_slow)
    ratio = np.exp(np.clip(slow - fast, -_FARTHEST, _FARTHEST))
    p01, p10 = chain.p01, chain.p10
    T, n = y.shape

    ratio_both_ways = np.stack([ratio, ratio[::-1]], axis=1)
    # Arrays (2, n) of what is the same for all workers: in a loop of many short steps single numbers take longer.
    rate_in = np.repeat([[p01], [p10]], n, axis=1)
    rate_out = np.repeat([[p10], [p01]], n, axis=1)
    stays_slow = np.full((2, n), 1 - p10)
    stays_fast = np.full((2, n), 1 - p01)
    carried = np.empty((T, 2, n))
    carried[0] = [[p01 / p10], [1.0]]
    for t in range(T - 1):
        odds = ratio_both_ways[t] * carried[t]
        carried[t + 1] = (rate_in + stays_slow * odds) / (stays_fast + rate_out * odds)
    odds = ratio * carried[:, 0]
    later = carried[::-1, 1]

    filtered = odds / (1 + odds)
    stationary = np.full((1, n), p01 / (p01 + p10))
    expected = np.vstack([stationary, p01 + chain.memory * filtered[:-1]])
    likelihood = float(np.logaddexp(np.log1p(-expected) + fast, np.log(expected) + slow).sum())

    both = odds * later
    posterior = both / (1 + both)

    ahead = ratio[1:] * later[1:]
    is_slow = filtered[:-1]
    is_fast = 1 - filtered[:-1]
    from_fast = [is_fast * (1 - p01), is_fast * p01 * ahead]
    from_slow = [is_slow * p10, is_slow * (1 - p10) * ahead]
    pairs = np.array([from_fast, from_slow])
    transitions = (pairs / pairs.sum((0, 1))).sum((2, 3))
    return likelihood, posterior, transitions


def maximised(y: np.ndarray, chain: Chain, posterior: np.ndarray, pairs: np.ndarray) -> Chain:
    """The parameters that follow from who was probably slow when; the likelihood never falls."""
    first = posterior[0]
    fast = 1 - posterior
    if has_gaps(y):  # what is missing has no weight
        logged = ~np.isnan(y)
        fast = np.where(logged, fast, 0.0)
        posterior = np.where(logged, posterior, 0.0)
        y = np.where(logged, y, 0.0)
    precision_fast = fast / chain.sd_fast**2
    precision_slow = posterior / chain.sd_slow**2
    levels = precision_fast * y + precision_slow * (y - chain.gap)
    base = levels.sum(0) / (precision_fast + precision_slow).sum(0)
    total_slow = max(posterior.sum(), 1e-300)
    total_fast = max(fast.sum(), 1e-300)
    gap = float((posterior * (y - base)).sum() / total_slow)
    sd_fast = np.sqrt((fast * (y - base) ** 2).sum() / total_fast)
    sd_slow = np.sqrt((posterior * (y - base - gap) ** 2).sum() / total_slow)
    p01, p10 = _rates(chain, first, pairs)
    return Chain(
        p01=p01,
        p10=p10,
        gap=gap,
        sd_fast=max(float(sd_fast), _LEAST_SD),
        sd_slow=max(float(sd_slow), _LEAST_SD),
        base=base,
    )


def _rates(chain: Chain, first: np.ndarray, pairs: np.ndarray) -> tuple[float, float]:
    """Rates from expected transitions and a stationary start.

    The start adds first log p01 + (1 - first) log p10 - log(p01 + p10) for each worker. The last term is replaced by
    its tangent, which lies below it, so that no step lowers the likelihood; each rate is then the root of a quadratic.
    """
    rates = np.array([chain.p01, chain.p10])
    n = len(first)
    change = pairs[[0, 1], [1, 0]] + [first.sum(), n - first.sum()]
    stay = pairs[[0, 1], [0, 1]]
    for _ in range(_TANGENTS):
        slope = n / rates.sum()
        total = change + stay + slope
        rates = 2 * change / (total + np.sqrt(np.maximum(total**2 - 4 * slope * change, 0)))
        rates = np.clip(rates, 1e-9, 1 - 1e-9)
    return float(rates[0]), float(rates[1])
