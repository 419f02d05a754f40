"""What makes workers slow? Estimates of each mechanism, in turn, from what the ones before it have left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, log

import numpy as np

from gcexp.advice.resampling import (
    autocorrelation_time,
    block_length,
    interval,
    ratio_interval,
    resampled_rows,
    widened,
)
from gcexp.advice.slow_states import SlowStates, fitted, split

LEAST_ROWS = 30
_FEW_SPELLS = 10
_SHORT = 40
_SIGNIFICANT = 0.01
_ROWS_OF_A_LOAD = 20


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


@dataclass(frozen=True)
class Mechanism:
    """Something that makes workers slow: found, or not sure.

    Attributes
    ----------
    name : str
    numbers : dict of str to Number
    workers : tuple of int
        Columns of the workers it speaks of; empty where it speaks of all.
    unsure : str
        Why it is not sure and what would settle it; empty where it is found.
    """

    name: str
    numbers: dict[str, Number] = field(default_factory=dict)
    workers: tuple[int, ...] = ()
    unsure: str = ""


@dataclass(frozen=True)
class Variance:
    """Logarithms y (T, n) as worker plus iteration plus rest, without interaction.

    Attributes
    ----------
    worker, iteration, rest : float
        Variance components, not below 0.
    icc : float
        Correlation of two workers in one iteration.
    """

    worker: float
    iteration: float
    rest: float
    icc: float

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of worker, iteration and rest; 0 where nothing varies."""
        total = self.worker + self.iteration + self.rest
        return tuple(part / total if total > 0 else 0.0 for part in (self.worker, self.iteration, self.rest))  # type: ignore[return-value]


def variance(y: np.ndarray) -> Variance:
    """Two-way decomposition by mean squares.

    Examples
    --------
    >>> y = np.log([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> [round(share, 2) for share in variance(y).shares]
    [0.44, 0.56, 0.0]
    """
    T, n = y.shape
    by_row, by_worker, mean = y.mean(1), y.mean(0), y.mean()
    between_rows = n * ((by_row - mean) ** 2).sum() / max(T - 1, 1)
    between_workers = T * ((by_worker - mean) ** 2).sum() / max(n - 1, 1)
    rest = ((y - by_row[:, None] - by_worker + mean) ** 2).sum() / max((T - 1) * (n - 1), 1)
    whole = between_rows + (n - 1) * rest
    return Variance(
        max(0.0, float(between_workers - rest) / T),
        max(0.0, float(between_rows - rest) / n),
        float(rest),
        float((between_rows - rest) / whole) if whole > 0 else 0.0,
    )


@dataclass(frozen=True)
class Decomposition:
    """What `found_in` found in a trace.

    Attributes
    ----------
    mechanisms : list of Mechanism
        In the order in which they were looked for.
    rest : ndarray (T, n)
        Logarithms without what was found, centred.
    row_effect : ndarray (T,)
        What all workers share in an iteration, drift apart; 0 where no common shock was found.
    slope : float
        Of the drift, in logarithms over the whole trace.
    worker_effect : ndarray (n,)
        Mean logarithm of each worker when it is not slow.
    states : SlowStates, optional
        Where states were fitted and taken out.
    variance : Variance
        Of the times as they are.
    block : int
        Rows that depend on each other.
    changed : tuple of int
        Workers whose mean differs between the two halves.
    stability : float
        Rank correlation of the workers' means in the two halves.
    """

    mechanisms: list[Mechanism]
    rest: np.ndarray = field(repr=False)
    row_effect: np.ndarray = field(repr=False)
    slope: float
    worker_effect: np.ndarray = field(repr=False)
    states: SlowStates | None
    variance: Variance
    block: int
    changed: tuple[int, ...]
    stability: float

    @property
    def found(self) -> list[str]:
        """Names of mechanisms that were found; ``no_mechanism`` where nothing was, and nothing is unsure."""
        names = [one.name for one in self.mechanisms if not one.unsure]
        return names or ([] if self.mechanisms else ["no_mechanism"])

    @property
    def unsure(self) -> dict[str, str]:
        """Mechanisms that may be there, each with what would settle it."""
        return {one.name: one.unsure for one in self.mechanisms if one.unsure}

    def get(self, name: str) -> Mechanism | None:
        """A mechanism by its name, found or unsure."""
        return next((one for one in self.mechanisms if one.name == name), None)


def found_in(x: np.ndarray, chunks: np.ndarray | None = None, seed: int = 0) -> Decomposition:
    """Look for mechanisms in times x (T, n).

    Parameters
    ----------
    x : ndarray (T, n)
    chunks : ndarray (T, n, M), optional
        Times of the parts of each worker's work.
    seed : int
        Of the resampling.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> x = np.exp(0.1 * draw.standard_normal((200, 8)))
    >>> found_in(x).found
    ['no_mechanism']
    >>> x[:, 3] *= 1.8
    >>> one = found_in(x).mechanisms[0]
    >>> one.name, one.workers, round(one.numbers["factor"].value, 1)
    ('bad_node', (3,), 1.8)
    """
    y = np.log(x)
    T, n = y.shape
    parts, block = variance(y), _dependent_rows(y)
    if T < LEAST_ROWS:
        return Decomposition([], y - y.mean(0), np.zeros(T), 0.0, y.mean(0), None, parts, block, (), np.nan)
    halves = _halves(y)
    drift, slope = _drift(y)
    y = y - slope * ((np.arange(T) + 0.5) / T - 0.5)[:, None]
    shock, row_effect = _common_shock(y, block, seed)
    y = y - row_effect[:, None]
    slow, states = _slow_state(y, block, seed)
    if states is not None:
        y = y - states.chain.gap * states.slow
    mechanisms = [*drift, *shock, *slow, *_workers(y)]
    if n < 4:
        few = f"the trace has {n} workers; of fewer than 4 it cannot be said who is unusual"
        mechanisms += [Mechanism(name, unsure=few) for name in ("common_shock", "workers")]
    if slow and slow[0].unsure:
        also = "a slow state may be there, and a few long spells look the same; settle that first"
        doubtful = ("bad_node", "heterogeneous", "drift")
        mechanisms = [replace(one, unsure=also) if one.name in doubtful else one for one in mechanisms]
    if chunks is not None:
        mechanisms += _chunk_noise(np.log(chunks), parts)
    level = y.mean(0)
    return Decomposition(mechanisms, y - level, row_effect, slope, level, states, parts, block, *halves)


def _dependent_rows(y: np.ndarray) -> int:
    """Length of bootstrap blocks: by the row mean, the slowest worker, and the middle worker's own part."""
    T = len(y)
    time = np.arange(T) - (T - 1) / 2
    mean = y.mean(1)
    if T > 1:
        y = y - ((time @ mean) / (time @ time) * time)[:, None]
    own = np.median([autocorrelation_time(series) for series in (y - y.mean(1, keepdims=True)).T])
    row, slowest = autocorrelation_time(y.mean(1)), autocorrelation_time(np.exp(y.max(1)))
    return block_length(T, max(float(own), row, slowest))


def _parts(T: int) -> list[np.ndarray]:
    """Contiguous blocks of rows for diagnosis, at most ten."""
    return np.array_split(np.arange(T), max(min(10, T // 5), 2))


def _drift(y: np.ndarray) -> tuple[list[Mechanism], float]:
    from scipy.stats import linregress, t  # slow to import

    T, parts = len(y), _parts(len(y))
    at = np.array([(rows.mean() + 0.5) / T for rows in parts])
    line = linregress(at, [y[rows].mean() for rows in parts])
    if not (line.pvalue < _SIGNIFICANT and abs(line.slope) > 0.03):
        return [], 0.0
    reach = t.ppf(0.975, len(parts) - 2) * line.stderr
    change = Number(*(float(np.expm1(line.slope + side * reach)) for side in (0, -1, 1)))
    return [Mechanism("drift", {"change": change})], float(line.slope)


def _common_shock(y: np.ndarray, block: int, seed: int) -> tuple[list[Mechanism], np.ndarray]:
    T, n = y.shape
    none: tuple[list[Mechanism], np.ndarray] = [], np.zeros(T)
    if n < 4:
        return none
    parts = variance(y)

    def both(rows: np.ndarray) -> tuple[float, float]:
        resampled = variance(y[rows])
        return resampled.icc, resampled.iteration**0.5

    (icc_low, sd_low), (icc_high, sd_high) = interval(both, T, block, seed)
    if not (icc_low > 0.03 and parts.iteration**0.5 > 0.01):
        return none
    mean = y.mean(1)
    lag = float(np.corrcoef(mean[:-1], mean[1:])[0, 1])
    middle = np.median(y, axis=1)
    numbers = {
        "sd": Number(parts.iteration**0.5, float(sd_low), float(sd_high)),
        "icc": Number(parts.icc, float(icc_low), float(icc_high)),
        "lag1": Number(lag),
    }
    return [Mechanism("common_shock", numbers)], middle - middle.mean()


def _slow_state(y: np.ndarray, block: int, seed: int) -> tuple[list[Mechanism], SlowStates | None]:
    T, n = y.shape
    above = y - np.quantile(y, 0.3, axis=0)
    level, apart = split(above)
    first = above > level
    if not (apart > 2.5 and first.mean() < 0.7):
        return [], None
    states = fitted(y, first)
    chain, starts = states.chain, states.starts
    spells = len(starts)
    together = len(set(starts.tolist())) < min(5, spells / 2)
    if chain.gap <= 0 or chain.separation < 3 or states.gain <= 10 or not spells or together:
        return [], None
    lasting = chain.memory > 0.2
    least, most = (1.1, 0.7) if lasting else (1.3, 0.5)
    if chain.factor < least or not 0.002 < states.slow.mean() < most:
        return [], None
    rates = states.rate_intervals(block, seed)
    numbers = {
        "factor": Number(chain.factor),
        "share": Number(float(states.slow.mean())),
        "p01": Number(chain.p01, *rates["p01"]),
        "p10": Number(chain.p10, *rates["p10"]),
        "length": Number(1 / chain.p10),
        "spells": Number(float(spells)),
    }
    unsure = ""
    if n < 4:
        unsure = f"with {n} workers a slow state of one cannot be told from a common one"
    elif T < _SHORT:
        unsure = f"{T} iterations are too few to know its rates; {_SHORT} are the least"
    elif spells < _FEW_SPELLS:
        rows = ceil(T * 12 / spells / 10) * 10
        unsure = (
            f"{spells} slow spells are too few for its rates; 12 of them would take about {rows} iterations"
        )
    return [Mechanism("slow_state" if lasting else "independent_slow", numbers, (), unsure)], states


def _block_means(y: np.ndarray) -> np.ndarray:
    """Means (K, n) of each worker against its row, in contiguous blocks of rows."""
    own = y - y.mean(1, keepdims=True)
    return np.array([own[rows].mean(0) for rows in _parts(len(y))])


def _worker_test(y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Block means (K, n) of the workers, their mean square within workers, and p of that all workers are alike."""
    from scipy.stats import f  # slow to import

    A = _block_means(y)
    K, n = A.shape
    within = float(((A - A.mean(0)) ** 2).sum() / ((n - 1) * (K - 1)))
    between = K * A.mean(0).var(ddof=1)
    if within <= 0:
        return A, within, 0.0 if between > 0 else 1.0
    return A, within, float(f.sf(between / within, n - 1, (n - 1) * (K - 1)))


def _workers(y: np.ndarray) -> list[Mechanism]:
    """Lastingly slow workers, and how much the others differ."""
    from scipy.stats import chi2  # slow to import

    n = y.shape[1]
    if n < 4:
        return []
    bad = _bad_nodes(y)
    others = np.setdiff1d(np.arange(n), bad[0].workers if bad else ())
    if len(others) < 3:
        return bad
    A, within, p = _worker_test(y[:, others])
    K, m = A.shape
    whole = float(A.mean(0).var(ddof=1))
    sd = max(whole - within / K, 0.0) ** 0.5
    if p < _SIGNIFICANT and sd > 0.02:
        ends = (m - 1) * whole / chi2.ppf([0.975, 0.025], m - 1) - within / K
        number = Number(sd, *(float(max(end, 0.0)) ** 0.5 for end in ends))
        bad = [*bad, Mechanism("heterogeneous", {"sd": number})]
    return bad


def _bad_nodes(y: np.ndarray) -> list[Mechanism]:
    from scipy.stats import t  # slow to import

    A, within, p = _worker_test(y)
    K, n = A.shape
    if p >= _SIGNIFICANT:
        return []
    se = (within / K) ** 0.5
    effect = y.mean(0) - np.median(y.mean(0))
    order = np.argsort(-effect, kind="stable")
    for many in range(max(1, n // 4), 0, -1):
        bad, others = order[:many], order[many:]
        middle = np.median(effect[others])
        spread = 1.4826 * np.median(np.abs(effect[others] - middle))
        far = effect[bad[-1]] - effect[others[0]] > max(log(1.1), 3 * max(spread, se))
        above = A[:, bad].min(1) - np.median(A[:, others], axis=1) > log(1.1) / 2
        if far and above.mean() >= 0.9:
            size = float(effect[bad].mean() - middle)
            reach = t.ppf(0.975, (n - 1) * (K - 1)) * se * (1 / many + np.pi / 2 / (n - many)) ** 0.5
            factor = Number(*(float(np.exp(size + side * reach)) for side in (0, -1, 1)))
            return [Mechanism("bad_node", {"factor": factor}, tuple(sorted(bad.tolist())))]
    return []


def _chunk_noise(y: np.ndarray, parts: Variance) -> list[Mechanism]:
    """Whether the chunks of one worker's work in one iteration are alike: y (T, n, M)."""
    M = y.shape[2]
    if M < 2:
        return []
    y = y - y.mean((0, 2), keepdims=True)
    y = y - y.mean((0, 1), keepdims=True)
    between, within = M * y.mean(2).var(), y.var(axis=2, ddof=1).mean()
    alike = float((between - within) / (between + (M - 1) * within))
    if alike < 0.1 and parts.shares[2] > 0.5:
        return [Mechanism("data_bound_or_chunk_noise", {"correlation": Number(alike)})]
    return []


def _halves(y: np.ndarray) -> tuple[tuple[int, ...], float]:
    """Workers whose mean changed between the halves, and the rank correlation of all means."""
    from scipy.stats import spearmanr, ttest_ind  # slow to import

    T, n = y.shape
    A = _block_means(y)
    before, after = np.array_split(A, [len(A) // 2])
    differ = np.abs(after.mean(0) - before.mean(0)) > 0.05
    changed = np.flatnonzero((ttest_ind(before, after).pvalue < _SIGNIFICANT / n) & differ)
    first, second = y[: T // 2].mean(0), y[T // 2 :].mean(0)
    alike = n > 2 and np.ptp(first) > 0 and np.ptp(second) > 0
    return tuple(changed.tolist()), float(spearmanr(first, second)[0]) if alike else np.nan


# --- The share of the time that does not grow with the load ---------------------------------------------------------


def share_of_loads(times: np.ndarray, loads: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """The share phi of the time that does not grow with the load, from iterations of several loads.

    The mean time at load L is F + C L: least squares weighted by 1 / mean. phi = F / (F + C L_0), with L_0 the
    smallest load, cut to [0, 1]. Its interval comes from a bootstrap inside each load.

    Parameters
    ----------
    times : ndarray (T, n)
    loads : ndarray (T,)
        Of each iteration.

    Returns
    -------
    phi : Number or None
        None where it cannot be said.
    why : str
        The reason, where it cannot.

    Examples
    --------
    >>> loads = np.repeat([1.0, 2.0], 30)
    >>> times = (0.3 + 0.7 * loads)[:, None] * np.exp(0.01 * np.sin(np.arange(240.0))).reshape(60, 4)
    >>> round(share_of_loads(times, loads)[0].value, 2)
    0.3
    """
    several = [load for load in np.unique(loads) if (loads == load).sum() >= _ROWS_OF_A_LOAD]
    if len(several) < 2:
        return None, f"it takes two loads with {_ROWS_OF_A_LOAD} iterations each to measure it"
    means = [times[loads == load].mean(1) for load in several]
    at = np.array(several)

    def line(m: np.ndarray) -> np.ndarray:
        return np.polyfit(at, m, 1, w=1 / np.sqrt(m))

    def phi_of(m: np.ndarray) -> float:
        C, F = line(m)
        return float(np.clip(F / (F + C * at[0]), 0, 1))

    blocks = [block_length(len(m), autocorrelation_time(m)) for m in means]
    drawn = np.stack(
        [
            m[resampled_rows(len(m), block, seed + place, "advice.mechanisms")].mean(1)
            for place, (m, block) in enumerate(zip(means, blocks, strict=True))
        ],
        axis=1,
    )
    mean = np.array([m.mean() for m in means])
    C, F = line(mean)
    if len(at) > 2 and (np.abs(mean - F - C * at) > 3 * drawn.std(0)).any():
        return None, "the mean times of the loads are not on a line"
    phi = phi_of(mean)
    ends = np.percentile([phi_of(m) for m in drawn], (2.5, 97.5))
    independent = min(len(m) / block for m, block in zip(means, blocks, strict=True))
    low, high = widened(phi, ends, independent)
    return Number(phi, max(low, 0.0), min(high, 1.0)), ""


def share_of_compute(times: np.ndarray, compute: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """The same where the part of each time that grows with the load was measured: 1 - mean(compute) / mean(time)."""
    fixed = times - compute
    if compute.size > 2 and fixed.std() > 0 and compute.std() > 0:
        if np.corrcoef(fixed.ravel(), compute.ravel())[0, 1] < -0.5:
            return (
                None,
                "the rest of the time falls where compute rises: its clock misses part of the work",
            )
    phi = float(1 - compute.mean() / times.mean())
    if len(times) < 2:
        return Number(phi), ""
    a, b = compute.mean(1), times.mean(1)
    low, high, _ = ratio_interval(a, b, seed)
    return Number(phi, max(1 - high, 0.0), min(1 - low, 1.0)), ""
