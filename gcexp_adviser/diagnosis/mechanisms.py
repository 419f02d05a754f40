"""What makes workers slow? Estimates of each mechanism, in turn, from what the ones before it have left.

Logarithms y (T, n) are NaN where a worker has no row in an iteration, and each iteration and each worker has a value.
All numbers are those of what was logged (`gcexp_adviser.diagnosis.logged`); no time is assumed of a missing row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, log
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, fdtrc, stdtrit

from gcexp.seeding import rng
from gcexp_adviser.diagnosis.classical import line_through, p_of_equal_means, rank_correlation
from gcexp_adviser.diagnosis.level_changes import LEAST_LOGGED, LEAST_NOW, Levels, levels_of
from gcexp_adviser.diagnosis.logged import (
    against_row,
    completed,
    counts,
    degrees_of_rest,
    has_gaps,
    mean,
    median,
    two_way,
    usual_count,
    without_rows,
    without_workers,
)
from gcexp_adviser.diagnosis.resampling import (
    LEVELS,
    Number,
    autocorrelation_time,
    block_length,
    resampled_rows,
)
from gcexp_adviser.diagnosis.slow_states import SlowStates, fitted, split

LEAST_ROWS = 30  # of fewer no mechanism is told
LEAST_WORKERS = 4  # of fewer it cannot be said who is unusual
_FEW_SPELLS, _ENOUGH_SPELLS = 10, 12  # fewer say nothing certain of rates; as many are asked for
_SHORT = 40  # fewer rows say nothing certain of rates
_SIGNIFICANT = 0.01  # largest p of what is told
_ALIKE = 0.03  # correlation of two workers in an iteration from which on they are slow together
_EARLY = 0.25  # quantile of times that is known where fewer than three of four are missing and these are the latest
_DRAWS = 100_000  # values of independent workers from which some are left out


@dataclass(frozen=True)
class Mechanism:
    """Something that makes workers slow, all or those of some columns; `unsure` says what would settle it."""

    numbers: dict[str, Number] = field(default_factory=dict)
    workers: tuple[int, ...] = ()
    unsure: str = ""


class Variance(NamedTuple):
    """Variance components of logarithms, not below 0; and `icc`, the correlation of two workers in an iteration."""

    worker: float
    iteration: float
    rest: float
    icc: float

    @property
    def shares(self) -> dict[str, float]:
        """Of worker, iteration and rest; 0 where nothing varies."""
        parts = {"worker": self.worker, "iteration": self.iteration, "rest": self.rest}
        total = sum(parts.values())
        if not total > 0:
            return dict.fromkeys(parts, 0.0)
        return {name: part / total for name, part in parts.items()}


def variance(y: np.ndarray) -> Variance:
    """Logarithms y (T, n) as worker plus iteration plus rest, without interaction, by mean squares.

    Where values are missing, the mean squares are those of the means of `gcexp_adviser.diagnosis.logged.two_way`: the
    unweighted analysis of means, with the harmonic mean of the numbers of values (F. Yates, "The analysis of multiple
    classifications with unequal numbers in the different classes", Journal of the American Statistical Association
    29, 1934).

    Examples
    --------
    >>> y = np.log([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> [round(share, 2) for share in variance(y).shares.values()]
    [0.44, 0.56, 0.0]
    """
    T, n = y.shape
    by_row, by_worker, whole = two_way(y)
    of_worker = usual_count(y, axis=0)
    of_row = usual_count(y, axis=1)
    between_rows = of_row * ((by_row - whole) ** 2).sum() / max(T - 1, 1)
    between_workers = of_worker * ((by_worker - whole) ** 2).sum() / max(n - 1, 1)
    residual = y - by_row[:, None] - by_worker + whole
    rest = np.nansum(residual**2) / max(degrees_of_rest(y), 1)
    return _components(of_worker, of_row, between_rows, between_workers, rest)


def _components(
    of_worker: float, of_row: float, between_rows: float, between_workers: float, rest: float
) -> Variance:
    """Variance components from mean squares between rows, between workers and of the rest, and values of each."""
    whole = between_rows + (of_row - 1) * rest
    return Variance(
        worker=max(0.0, float(between_workers - rest) / of_worker),
        iteration=max(0.0, float(between_rows - rest) / of_row),
        rest=float(rest),
        icc=float((between_rows - rest) / whole) if whole > 0 else 0.0,
    )


def resampled_variances(y: np.ndarray, samples: np.ndarray) -> list[Variance]:
    """`variance` of y[rows] for each of several samples of rows (R, T), from sums of squares over all rows at once.

    Where values are missing, the fit of the whole y stands in for that of each sample.

    Examples
    --------
    >>> y = np.random.default_rng(0).standard_normal((50, 4))
    >>> rows = np.arange(50) // 2
    >>> np.allclose(resampled_variances(y, rows[None]), variance(y[rows]))
    True
    """
    T, n = y.shape
    times_drawn = _times_drawn(samples, T)
    logged = counts(y, axis=1)
    of_worker = usual_count(y, axis=0)
    of_row = n / (times_drawn @ (n / logged) / T)
    degrees = np.maximum(times_drawn @ logged - T - n + 1, 1)
    y = completed(y)
    y = y - y.mean()  # differences of large squares would lose digits
    by_row = y.mean(1)
    by_worker = times_drawn @ y / T
    squares = times_drawn @ (y**2).sum(1)
    of_rows = n * (times_drawn @ by_row**2)
    of_workers = T * (by_worker**2).sum(1)
    of_mean = n * T * by_worker.mean(1) ** 2
    between_rows = of_row / n * (of_rows - of_mean) / max(T - 1, 1)
    between_workers = of_worker / T * (of_workers - of_mean) / max(n - 1, 1)
    rest = np.maximum(squares - of_rows - of_workers + of_mean, 0) / degrees
    parts = zip(of_row, between_rows, between_workers, rest, strict=True)
    return [_components(of_worker, *part) for part in parts]


def _times_drawn(samples: np.ndarray, T: int) -> np.ndarray:
    """How often each of T rows is in each of several samples of rows, (R, T)."""
    return np.array([np.bincount(rows, minlength=T) for rows in samples], float)


@dataclass(frozen=True)
class Decomposition:
    """What `found_in` found in a trace of T iterations and n workers."""

    mechanisms: dict[str, Mechanism]  # in the order in which they were looked for
    levels: Levels  # changes of level and spells of single workers, which were taken off before all else
    #: (T, n): logarithms without what was found, centred; NaN where a row is missing.
    rest: np.ndarray = field(repr=False)
    slope: float  # of the drift, in logarithms over the whole trace
    worker_effect: np.ndarray = field(repr=False)  # (n,): mean logarithm of each worker at its lowest level
    states: SlowStates | None  # where states were fitted and taken out
    variance: Variance  # of the times as they are
    block: int  # rows that depend on each other
    changed: list[int]  # workers whose mean differs between the two halves
    stability: float  # rank correlation of the workers' means in the two halves

    @property
    def found(self) -> list[str]:
        """Names of mechanisms that were found; ``no_mechanism`` where nothing was, and nothing is unsure."""
        names = [name for name, one in self.mechanisms.items() if not one.unsure]
        if not self.mechanisms:
            return ["no_mechanism"]
        return names

    @property
    def unsure(self) -> dict[str, str]:
        """Mechanisms that may be there, each with what would settle it."""
        return {name: one.unsure for name, one in self.mechanisms.items() if one.unsure}


def found_in(
    x: np.ndarray,
    chunks: np.ndarray | None = None,
    seed: int = 0,
    levels: Levels | None = None,
    are_sampled: bool = False,
) -> Decomposition:
    """Look for mechanisms in times x (T, n), and in times (T, n, M) of the parts of each worker's work.

    Both are NaN where a worker has no row; each iteration and each worker has one at least.

    `levels` is what `levels_of` found in the logarithms of x, where that is known already. Who has no row was late,
    for all that is known, unless workers `are_sampled`: then it was not asked.
    """
    y = np.log(x)
    T, n = y.shape
    parts = variance(y)
    if levels is None:
        levels = levels_of(y)
    y = y - levels.lasting - levels.passing
    block = _dependent_rows(y)
    if T < LEAST_ROWS:
        level = mean(y, axis=0)
        return Decomposition(
            mechanisms={},
            levels=levels,
            rest=y - level,
            slope=0.0,
            worker_effect=level,
            states=None,
            variance=parts,
            block=block,
            changed=[],
            stability=np.nan,
        )
    changed, stability = _halves(y)
    may_be_late = has_gaps(y) and not are_sampled
    drift, slope = _drift(y, may_be_late)
    y = y - slope * ((np.arange(T) + 0.5) / T - 0.5)[:, None]
    shock, row_effect = _common_shock(y, block, seed, may_be_late)
    y = y - row_effect[:, None]
    slow, states = _slow_state(y, block, seed)
    if states is not None:
        y = y - states.chain.gap * states.slow
    found = _level_changes(levels) | drift | shock | slow | _workers(y)
    if n < LEAST_WORKERS:
        few = f"the trace has {n} workers; of fewer than {LEAST_WORKERS} it cannot be said who is unusual"
        found["common_shock"] = Mechanism(unsure=few)
        found["workers"] = Mechanism(unsure=few)
    if any(one.unsure for one in slow.values()):
        also = "a slow state may be there, and a few long spells look the same; settle that first"
        for name in found.keys() & {"heterogeneous", "drift"}:
            found[name] = replace(found[name], unsure=also)
        bad = found.get("bad_node")
        if bad and states is not None and states.slow[:, bad.workers].any():
            found["bad_node"] = replace(bad, unsure=also)
    if chunks is not None:
        found |= _chunk_noise(np.log(chunks), parts)
    level = mean(y, axis=0)
    return Decomposition(
        mechanisms=found,
        levels=levels,
        rest=y - level,
        slope=slope,
        worker_effect=level,
        states=states,
        variance=parts,
        block=block,
        changed=changed,
        stability=stability,
    )


def _level_changes(levels: Levels) -> dict[str, Mechanism]:
    """Workers that are slower, faster or gone since some iteration; some too recently to say that it lasts."""
    found = {}
    lasting = [change.worker for change in levels.changes if change not in levels.recent]
    if lasting:
        found["level_change"] = Mechanism(workers=tuple(sorted(set(lasting))))
    if levels.gone:
        found["gone"] = Mechanism(workers=tuple(sorted(levels.gone)))
    recent = [change.worker for change in levels.recent]
    if recent:
        few = f"fewer than {LEAST_NOW} iterations followed"
        found["recent_change"] = Mechanism(workers=tuple(sorted(set(recent))), unsure=few)
    return found


def _dependent_rows(y: np.ndarray) -> int:
    """Length of bootstrap blocks: by the row mean, the slowest worker, and the middle worker's own part."""
    T = len(y)
    time = np.arange(T) - (T - 1) / 2
    if T > 1:
        slope = (time @ mean(without_workers(y), axis=1)) / (time @ time)
        y = y - (slope * time)[:, None]
    by_row = mean(without_workers(y), axis=1)
    row = autocorrelation_time(by_row)
    slowest = autocorrelation_time(np.exp(np.fmax.reduce(y, axis=1)))
    own = float(np.median([autocorrelation_time(series) for series in (y - by_row[:, None]).T]))
    return block_length(T, max(own, row, slowest))


def _parts(T: int) -> list[np.ndarray]:
    """Contiguous blocks of rows for diagnosis, at most ten."""
    return np.array_split(np.arange(T), max(min(10, T // 5), 2))


def _drift(y: np.ndarray, may_be_late: bool) -> tuple[dict[str, Mechanism], float]:
    """Whether all times grow or fall over the run, and by how much in logarithms.

    Where more late rows may be missing in one part of the run than in another, those that were logged drift although
    times do not. So the time that a quarter of all take at most, also of the missing ones if these were the latest, has
    to drift as well, as surely and by half as much at least; else it is not sure.
    """
    T = len(y)
    y = without_workers(y)
    parts = _parts(T)
    places = np.array([(rows.mean() + 0.5) / T for rows in parts])
    means = [mean(y[rows]) for rows in parts]
    line = line_through(places, np.array(means))
    if not (line.p < _SIGNIFICANT and abs(line.slope) > 0.03):
        return {}, 0.0
    unsure = ""
    if may_be_late and not _early_times_drift(y, parts, places, line.slope):
        unsure = "rows are missing; if they were late ones, it may be their number that changes over the run"
    reach = stdtrit(len(parts) - 2, 0.975) * line.error
    change = Number(
        value=float(np.expm1(line.slope)),
        low=float(np.expm1(line.slope - reach)),
        high=float(np.expm1(line.slope + reach)),
    )
    return {"drift": Mechanism({"change": change}, unsure=unsure)}, float(line.slope)


def _early_times_drift(y: np.ndarray, parts: list[np.ndarray], places: np.ndarray, slope: float) -> bool:
    """Whether the times that are known if missing ones are the latest drift as well, by half of a slope at least."""
    y = np.where(np.isnan(y), np.inf, y)
    early = np.array([np.quantile(y[rows], _EARLY, method="lower") for rows in parts])
    if not np.isfinite(early).all():
        return False
    line = line_through(places, early)
    return line.p < _SIGNIFICANT and line.slope / slope > 0.5


def _common_shock(
    y: np.ndarray, block: int, seed: int, may_be_late: bool
) -> tuple[dict[str, Mechanism], np.ndarray]:
    """What all workers share, and how much that is in each iteration (T,).

    Where the latest workers of an iteration may be missing, those that were logged are alike by that alone. It is not
    sure unless they are more alike than independent workers would be then.
    """
    T, n = y.shape
    if n < LEAST_WORKERS:
        return {}, np.zeros(T)
    parts = variance(y)
    sd = parts.iteration**0.5
    icc = parts.icc
    resampled = resampled_variances(y, resampled_rows(T, block, seed))
    sd_low, sd_high = np.percentile([one.iteration**0.5 for one in resampled], LEVELS).tolist()
    icc_low, icc_high = np.percentile([one.icc for one in resampled], LEVELS).tolist()
    if not (icc_low > _ALIKE and sd > 0.01):
        return {}, np.zeros(T)
    if may_be_late and icc_low <= _ALIKE + _alike_without_the_latest(y, seed):
        why = "rows are missing; if they were the latest of their iterations, the others are alike for that reason"
        return {"common_shock": Mechanism(unsure=why)}, np.zeros(T)
    y = without_workers(y)
    by_row = mean(y, axis=1)
    middle = median(y, axis=1)
    lag = float(np.corrcoef(by_row[:-1], by_row[1:])[0, 1])
    numbers = {
        "sd": Number(sd, sd_low, sd_high),
        "icc": Number(icc, icc_low, icc_high),
        "lag1": Number(lag),
    }
    return {"common_shock": Mechanism(numbers)}, middle - middle.mean()


def _alike_without_the_latest(y: np.ndarray, seed: int) -> float:
    """Correlation of two logged workers in an iteration of independent ones, if the missing ones are the latest.

    The independent workers are drawn from what is left of y (T, n) without rows and workers.
    """
    by_row, by_worker, whole = two_way(y)
    rest = y - by_row[:, None] - by_worker + whole
    rest = rest[~np.isnan(rest)]
    logged = np.tile(counts(y, axis=1), max(_DRAWS // y.size, 1))
    drawn = rng(seed, "advice.missing").choice(rest, (len(logged), y.shape[1]))
    rank = drawn.argsort(axis=1).argsort(axis=1)
    return max(variance(np.where(rank < logged[:, None], drawn, np.nan)).icc, 0.0)


def _slow_state(y: np.ndarray, block: int, seed: int) -> tuple[dict[str, Mechanism], SlowStates | None]:
    """Workers that are slow for a while, or in single iterations, and when they were."""
    T, n = y.shape
    logged = ~np.isnan(y)
    quantile = np.quantile if logged.all() else np.nanquantile
    above = y - quantile(y, 0.3, axis=0)
    level, apart = split(above[logged])
    if not (apart > 2.5 and (above > level)[logged].mean() < 0.7):
        return {}, None
    states = fitted(y, above > level)
    chain = states.chain
    share = float(states.slow[logged].mean())
    spells = len(states.starts)
    moments = len(set(states.starts.tolist()))
    together = moments < min(5, spells / 2)
    if chain.gap <= 0 or chain.separation < 3 or states.gain <= 10 or not spells or together:
        return {}, None
    lasting = chain.memory > 0.2
    least, most = (1.1, 0.7) if lasting else (1.3, 0.5)
    if chain.factor < least or not 0.002 < share < most:
        return {}, None
    low, high = _rates(states.slow, block, seed)
    numbers = {
        "factor": Number(chain.factor),
        "share": Number(share),
        "p01": Number(chain.p01, low[0], high[0]),
        "p10": Number(chain.p10, low[1], high[1]),
        "length": Number(1 / chain.p10),
        "spells": Number(float(spells)),
    }
    unsure = ""
    if n < LEAST_WORKERS:
        unsure = f"with {n} workers a slow state of one cannot be told from a common one"
    elif T < _SHORT:
        unsure = f"{T} iterations are too few to know its rates; {_SHORT} are the least"
    elif spells < _FEW_SPELLS:
        rows = ceil(T * _ENOUGH_SPELLS / spells / 10) * 10
        unsure = f"{spells} slow spells are too few for its rates; {_ENOUGH_SPELLS} would take about {rows} iterations"
    name = "slow_state" if lasting else "independent_slow"
    return {name: Mechanism(numbers, unsure=unsure)}, states


def _rates(slow: np.ndarray, block: int, seed: int) -> list[list[float]]:
    """95 % intervals of p01 and p10: transitions of the decoded states, resampled by iterations."""
    before = slow[:-1]
    after = slow[1:]
    transitions = (~before & after, ~before, before & ~after, before)
    counts = np.stack([one.sum(1) for one in transitions], axis=1)
    samples = resampled_rows(len(counts), min(block, len(counts)), seed)
    up, was_fast, down, was_slow = (_times_drawn(samples, len(counts)) @ counts).T
    rates = np.stack([up / np.maximum(was_fast, 1), down / np.maximum(was_slow, 1)], axis=1)
    return np.percentile(rates, LEVELS, axis=0).tolist()


@dataclass(frozen=True)
class _WorkerTest:
    """Are all workers alike? Their means in blocks of rows, and an F-test."""

    blocks: np.ndarray  # (K, n): means of each worker against its row in each block; NaN where it has no row
    within: float  # mean square within workers
    degrees: int  # its degrees of freedom
    of_worker: float  # blocks of a worker, the harmonic mean
    p: float  # of that all are alike

    @property
    def error(self) -> float:
        """Variance of the mean of a worker."""
        return self.within / self.of_worker


def _worker_test(y: np.ndarray) -> _WorkerTest:
    """The test of that all workers of y (T, n) are alike."""
    blocks = _block_means(y)
    n = y.shape[1]
    by_worker = mean(blocks, axis=0)
    of_worker = usual_count(blocks, axis=0)
    degrees = degrees_of_rest(blocks)
    within = float(np.nansum((blocks - by_worker) ** 2) / degrees) if degrees > 0 else 0.0
    between = of_worker * np.nanvar(by_worker, ddof=1)
    p = 0.0 if between > 0 else 1.0
    if degrees <= 0:
        p = 1.0
    elif within > 0:
        p = float(fdtrc(n - 1, degrees, between / within))
    return _WorkerTest(blocks, within, degrees, of_worker, p)


def _block_means(y: np.ndarray) -> np.ndarray:
    """Means (K, n) of each worker against its row, in contiguous blocks of rows; NaN where it has no row."""
    own = against_row(y)
    return np.array([mean(own[rows], axis=0) for rows in _parts(len(y))])


def _workers(y: np.ndarray) -> dict[str, Mechanism]:
    """Lastingly slow workers, and how much the others differ; of workers with few rows neither can be told."""
    logged = counts(y, axis=0)
    enough = np.flatnonzero(logged >= min(LEAST_LOGGED, len(y)))
    found: dict[str, Mechanism] = {}
    few = np.flatnonzero(logged < min(LEAST_LOGGED, len(y)))
    if len(few):
        why = f"fewer than {LEAST_LOGGED} rows were logged of each"
        found["few_rows"] = Mechanism(workers=tuple(few.tolist()), unsure=why)
    if len(enough) < LEAST_WORKERS:
        return found
    y = y.take(enough, axis=1)
    bad = _bad_nodes(y)
    slow = bad["bad_node"].workers if bad else ()
    for name, one in bad.items():
        found[name] = replace(one, workers=tuple(enough[list(one.workers)].tolist()))
    return found | _differences(y, slow)


def _differences(y: np.ndarray, bad: tuple[int, ...]) -> dict[str, Mechanism]:
    """How much the workers of y (T, n) differ lastingly, without some that are slow throughout."""
    others = np.setdiff1d(np.arange(y.shape[1]), bad)
    m = len(others)
    if m < 3:
        return {}
    test = _worker_test(y[:, others])
    whole = float(np.nanvar(mean(test.blocks, axis=0), ddof=1))
    sd = max(whole - test.error, 0.0) ** 0.5
    if not (test.p < _SIGNIFICANT and sd > 0.02):
        return {}
    ends = (m - 1) * whole / chdtri(m - 1, [0.025, 0.975]) - test.error
    low, high = np.maximum(ends, 0.0) ** 0.5
    return {"heterogeneous": Mechanism({"sd": Number(sd, float(low), float(high))})}


def _bad_nodes(y: np.ndarray) -> dict[str, Mechanism]:
    """The largest set of slow workers that is clear of all others, as a whole and in nine of ten blocks."""
    test = _worker_test(y)
    n = y.shape[1]
    if test.p >= _SIGNIFICANT:
        return {}
    se = test.error**0.5
    by_worker = mean(without_rows(y), axis=0)
    effect = by_worker - np.median(by_worker)
    order = np.argsort(-effect, kind="stable")
    for many in range(max(1, n // 4), 0, -1):
        bad = order[:many]
        others = order[many:]
        middle = np.median(effect[others])
        spread = 1.4826 * np.median(np.abs(effect[others] - middle))
        far = effect[bad[-1]] - effect[others[0]] > max(log(1.1), 3 * max(spread, se))
        ahead = np.fmin.reduce(test.blocks[:, bad], axis=1) - median(test.blocks[:, others], axis=1)
        above = ahead[~np.isnan(ahead)] > log(1.1) / 2
        if far and above.size and above.mean() >= 0.9:
            size = float(effect[bad].mean() - middle)
            reach = stdtrit(test.degrees, 0.975) * se * (1 / many + np.pi / 2 / (n - many)) ** 0.5
            factor = Number(
                value=float(np.exp(size)),
                low=float(np.exp(size - reach)),
                high=float(np.exp(size + reach)),
            )
            workers = tuple(sorted(bad.tolist()))
            return {"bad_node": Mechanism({"factor": factor}, workers)}
    return {}


def _chunk_noise(y: np.ndarray, parts: Variance) -> dict[str, Mechanism]:
    """Whether the chunks of one worker's work in one iteration are alike: y (T, n, M), NaN where there is no row."""
    M = y.shape[2]
    if M < 2:
        return {}
    y = y - np.nanmean(y, axis=(0, 2), keepdims=True)
    y = y - np.nanmean(y, axis=(0, 1), keepdims=True)
    y = y[~np.isnan(y).any(axis=2)]
    between = M * y.mean(1).var()
    within = y.var(axis=1, ddof=1).mean()
    alike = float((between - within) / (between + (M - 1) * within))
    if alike < 0.1 and parts.shares["rest"] > 0.5:
        return {"data_bound_or_chunk_noise": Mechanism({"correlation": Number(alike)})}
    return {}


def _halves(y: np.ndarray) -> tuple[list[int], float]:
    """Workers whose mean changed between the halves, and the rank correlation of all means."""
    T, n = y.shape
    A = _block_means(y)
    before, after = np.array_split(A, [len(A) // 2])
    differ = np.abs(mean(after, axis=0) - mean(before, axis=0)) > 0.05
    significant = p_of_equal_means(before, after) < _SIGNIFICANT / n
    changed = np.flatnonzero(significant & differ).tolist()
    y = without_rows(y)
    halves = np.array([mean(y[: T // 2], axis=0), mean(y[T // 2 :], axis=0)])
    first, second = halves[:, ~np.isnan(halves).any(axis=0)]
    stability = np.nan
    if len(first) > 2 and np.ptp(first) > 0 and np.ptp(second) > 0:
        stability = rank_correlation(first, second)
    return changed, stability
