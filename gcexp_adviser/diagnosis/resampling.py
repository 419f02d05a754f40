"""How sure is a mean of rows that depend on each other? Autocorrelation times and a bootstrap of blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import stdtrit

from gcexp.seeding import rng
from gcexp_adviser.diagnosis.logged import counts, mean

RESAMPLES = 200
LEVELS = (2.5, 97.5)


@dataclass(frozen=True)
class Number:
    """An estimate with its 95 % interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3g}"
        return f"{self.value:.3g}, {self.low:.3g} to {self.high:.3g}"


def autocorrelation_time(series: np.ndarray) -> float:
    """Integrated autocorrelation time 1 + 2 sum_k rho(k) of a series (T,), at least 1.

    The sum ends at the first lag k >= 5 tau, where what follows is mostly noise, and before T/3. Where values are NaN,
    rho(k) is that of the pairs that are there, times (T - k) / T, by which the usual one is too small as well.
    """
    T = len(series)
    whole = float(mean(series))
    covariance = _sums_of_products(np.nan_to_num(series - whole, nan=0.0))
    logged = counts(series)
    if logged < T:
        pairs = np.maximum(_sums_of_products(~np.isnan(series)).round(), 1)
        covariance *= (T - np.arange(T)) / pairs * logged / T
    lags = np.arange(1, ceil(T / 3))
    constant = covariance[0] <= 1e-24 * T * max(whole**2, 1e-300)
    if constant or not lags.size:
        return 1.0
    taus = 1 + 2 * np.cumsum(covariance[lags]) / covariance[0]
    enough = lags >= 5 * taus
    last = enough.argmax() if enough.any() else -1
    return float(max(taus[last], 1.0))


def _sums_of_products(series: np.ndarray) -> np.ndarray:
    """Sums of the products of values at each distance from 0 on (T,)."""
    T = len(series)
    power = np.abs(np.fft.rfft(series, 2 * T)) ** 2
    return np.fft.irfft(power, 2 * T)[:T]


def block_length(T: int, tau: float) -> int:
    """Rows of a block: ceil(T^(1/3)), or two autocorrelation times where that is more."""
    usual = ceil(round(T ** (1 / 3), 9))
    return min(T, max(usual, ceil(2 * tau)))


def resampled_rows(T: int, block: int, seed: int, purpose: str = "advice.mechanisms") -> np.ndarray:
    """Rows (200, T) of a circular block bootstrap: blocks of neighbouring rows, begun anywhere."""
    begin = rng(seed, purpose).integers(T, size=(RESAMPLES, ceil(T / block)))
    rows = (begin[..., None] + np.arange(block)) % T
    return rows.reshape(RESAMPLES, -1)[:, :T]


def widened(estimate: float, ends: np.ndarray, blocks: float) -> tuple[float, float]:
    """An interval for few blocks: about the estimate by t(.975, B - 1) / 1.96 sqrt(B / (B - 1))."""
    B = max(blocks, 2.0)
    factor = stdtrit(B - 1, 0.975) / 1.96 * np.sqrt(B / (B - 1))
    low, high = estimate + factor * (np.asarray(ends, float) - estimate)
    return float(low), float(high)


def ratio_interval(a: np.ndarray, b: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """95 % interval of mean(a) / mean(b) of paired rows, and how many blocks of rows it rests on.

    It is widened on the scale of logarithms, so that it is positive as the ratio is.
    """
    T = len(a)
    ratio = a.mean() / b.mean()
    block = block_length(T, autocorrelation_time(a - ratio * b))
    rows = resampled_rows(T, block, seed, "advice.bootstrap")
    ends = np.percentile(a[rows].mean(1) / b[rows].mean(1), LEVELS)
    if not (ratio > 0 and ends[0] > 0):  # what takes no time has no logarithm
        low, high = widened(ratio, ends, T / block)
        return max(low, 0.0), high, T / block
    low, high = widened(float(np.log(ratio)), np.log(ends), T / block)
    return float(np.exp(low)), float(np.exp(high)), T / block
