"""What makes workers slow? Estimates of each mechanism, in turn, from what the ones before it have left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, log
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, fdtrc, stdtrit

from gcexp_adviser.diagnosis.classical import line_through, p_of_equal_means, rank_correlation
from gcexp_adviser.diagnosis.level_changes import LEAST_NOW, Levels, levels_of
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

    Examples
    --------
    >>> y = np.log([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> [round(share, 2) for share in variance(y).shares.values()]
    [0.44, 0.56, 0.0]
    """
    T, n = y.shape
    by_row = y.mean(1)
    by_worker = y.mean(0)
    mean = y.mean()
    between_rows = n * ((by_row - mean) ** 2).sum() / max(T - 1, 1)
    between_workers = T * ((by_worker - mean) ** 2).sum() / max(n - 1, 1)
    residual = y - by_row[:, None] - by_worker + mean
    rest = (residual**2).sum() / max((T - 1) * (n - 1), 1)
    return _components(T, n, between_rows, between_workers, rest)


def _components(T: int, n: int, between_rows: float, between_workers: float, rest: float) -> Variance:
    """Variance components from mean squares between rows, between workers and of the rest."""
    whole = between_rows + (n - 1) * rest
    return Variance(
        worker=max(0.0, float(between_workers - rest) / T),
        iteration=max(0.0, float(between_rows - rest) / n),
        rest=float(rest),
        icc=float((between_rows - rest) / whole) if whole > 0 else 0.0,
    )


def resampled_variances(y: np.ndarray, samples: np.ndarray) -> list[Variance]:
    """`variance` of y[rows] for each of several samples of rows (R, T), from sums of squares over all rows at once.

    Examples
    --------
    >>> y = np.random.default_rng(0).standard_normal((50, 4))
    >>> rows = np.arange(50) // 2
    >>> np.allclose(resampled_variances(y, rows[None]), variance(y[rows]))
    True
    """
    T, n = y.shape
    y = y - y.mean()  # differences of large squares would lose digits
    times_drawn = _times_drawn(samples, T)
    by_row = y.mean(1)
    by_worker = times_drawn @ y / T
    squares = times_drawn @ (y**2).sum(1)
    of_rows = n * (times_drawn @ by_row**2)
    of_workers = T * (by_worker**2).sum(1)
    of_mean = n * T * by_worker.mean(1) ** 2
    between_rows = (of_rows - of_mean) / max(T - 1, 1)
    between_workers = (of_workers - of_mean) / max(n - 1, 1)
    rest = np.maximum(squares - of_rows - of_workers + of_mean, 0) / max((T - 1) * (n - 1), 1)
    return [_components(T, n, *squares) for squares in zip(between_rows, between_workers, rest, strict=True)]


def _times_drawn(samples: np.ndarray, T: int) -> np.ndarray:
    """How often each of T rows is in each of several samples of rows, (R, T)."""
    return np.array([np.bincount(rows, minlength=T) for rows in samples], float)


@dataclass(frozen=True)
class Decomposition:
    """What `found_in` found in a trace of T iterations and n workers."""

    mechanisms: dict[str, Mechanism]  # in the order in which they were looked for
    levels: Levels  # changes of level and spells of single workers, which were taken off before all else
    rest: np.ndarray = field(repr=False)  # (T, n): logarithms without what was found, centred
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
    x: np.ndarray, chunks: np.ndarray | None = None, seed: int = 0, levels: Levels | None = None
) -> Decomposition:
    """Look for mechanisms in times x (T, n), and in times (T, n, M) of the parts of each worker's work.

    `levels` is what `levels_of` found in the logarithms of x, where that is known already.
    """
    y = np.log(x)
    T, n = y.shape
    parts = variance(y)
    if levels is None:
        levels = levels_of(y)
    y = y - levels.lasting - levels.passing
    block = _dependent_rows(y)
    if T < LEAST_ROWS:
        level = y.mean(0)
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
    drift, slope = _drift(y)
    y = y - slope * ((np.arange(T) + 0.5) / T - 0.5)[:, None]
    shock, row_effect = _common_shock(y, block, seed)
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
    level = y.mean(0)
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
    """Workers that are slower or faster since some iteration, where enough iterations followed to say that it lasts."""
    found = {}
    lasting = [change.worker for change in levels.changes if change not in levels.recent]
    if lasting:
        found["level_change"] = Mechanism(workers=tuple(sorted(set(lasting))))
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
        slope = (time @ y.mean(1)) / (time @ time)
        y = y - (slope * time)[:, None]
    row = autocorrelation_time(y.mean(1))
    slowest = autocorrelation_time(np.exp(y.max(1)))
    against_row = y - y.mean(1, keepdims=True)
    own = float(np.median([autocorrelation_time(series) for series in against_row.T]))
    return block_length(T, max(own, row, slowest))


def _parts(T: int) -> list[np.ndarray]:
    """Contiguous blocks of rows for diagnosis, at most ten."""
    return np.array_split(np.arange(T), max(min(10, T // 5), 2))


def _drift(y: np.ndarray) -> tuple[dict[str, Mechanism], float]:
    """Whether all times grow or fall over the run, and by how much in logarithms."""
    T = len(y)
    parts = _parts(T)
    places = np.array([(rows.mean() + 0.5) / T for rows in parts])
    means = [y[rows].mean() for rows in parts]
    line = line_through(places, np.array(means))
    if not (line.p < _SIGNIFICANT and abs(line.slope) > 0.03):
        return {}, 0.0
    reach = stdtrit(len(parts) - 2, 0.975) * line.error
    change = Number(
        value=float(np.expm1(line.slope)),
        low=float(np.expm1(line.slope - reach)),
        high=float(np.expm1(line.slope + reach)),
    )
    return {"drift": Mechanism({"change": change})}, float(line.slope)


def _common_shock(y: np.ndarray, block: int, seed: int) -> tuple[dict[str, Mechanism], np.ndarray]:
    """What all workers share, and how much that is in each iteration (T,)."""
    T, n = y.shape
    if n < LEAST_WORKERS:
        return {}, np.zeros(T)
    parts = variance(y)
    sd = parts.iteration**0.5
    icc = parts.icc
    resampled = resampled_variances(y, resampled_rows(T, block, seed))
    sd_low, sd_high = np.percentile([one.iteration**0.5 for one in resampled], LEVELS).tolist()
    icc_low, icc_high = np.percentile([one.icc for one in resampled], LEVELS).tolist()
    if not (icc_low > 0.03 and sd > 0.01):
        return {}, np.zeros(T)
    mean = y.mean(1)
    middle = np.median(y, axis=1)
    lag = float(np.corrcoef(mean[:-1], mean[1:])[0, 1])
    numbers = {
        "sd": Number(sd, sd_low, sd_high),
        "icc": Number(icc, icc_low, icc_high),
        "lag1": Number(lag),
    }
    return {"common_shock": Mechanism(numbers)}, middle - middle.mean()


def _slow_state(y: np.ndarray, block: int, seed: int) -> tuple[dict[str, Mechanism], SlowStates | None]:
    """Workers that are slow for a while, or in single iterations, and when they were."""
    T, n = y.shape
    above = y - np.quantile(y, 0.3, axis=0)
    level, apart = split(above)
    if not (apart > 2.5 and (above > level).mean() < 0.7):
        return {}, None
    states = fitted(y, above > level)
    chain = states.chain
    share = float(states.slow.mean())
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


def _worker_test(y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Block means (K, n) of the workers, their mean square within workers, and p of that all workers are alike."""
    A = _block_means(y)
    K, n = A.shape
    within = float(((A - A.mean(0)) ** 2).sum() / ((n - 1) * (K - 1)))
    between = K * A.mean(0).var(ddof=1)
    if within <= 0:
        return A, within, 0.0 if between > 0 else 1.0
    return A, within, float(fdtrc(n - 1, (n - 1) * (K - 1), between / within))


def _block_means(y: np.ndarray) -> np.ndarray:
    """Means (K, n) of each worker against its row, in contiguous blocks of rows."""
    own = y - y.mean(1, keepdims=True)
    return np.array([own[rows].mean(0) for rows in _parts(len(y))])


def _workers(y: np.ndarray) -> dict[str, Mechanism]:
    """Lastingly slow workers, and how much the others differ."""
    n = y.shape[1]
    if n < LEAST_WORKERS:
        return {}
    found = _bad_nodes(y)
    others = np.setdiff1d(np.arange(n), found["bad_node"].workers if found else ())
    if len(others) < 3:
        return found
    A, within, p = _worker_test(y[:, others])
    K, m = A.shape
    whole = float(A.mean(0).var(ddof=1))
    sd = max(whole - within / K, 0.0) ** 0.5
    if p < _SIGNIFICANT and sd > 0.02:
        ends = (m - 1) * whole / chdtri(m - 1, [0.025, 0.975]) - within / K
        low, high = np.maximum(ends, 0.0) ** 0.5
        found["heterogeneous"] = Mechanism({"sd": Number(sd, float(low), float(high))})
    return found


def _bad_nodes(y: np.ndarray) -> dict[str, Mechanism]:
    """The largest set of slow workers that is clear of all others, as a whole and in nine of ten blocks."""
    A, within, p = _worker_test(y)
    K, n = A.shape
    if p >= _SIGNIFICANT:
        return {}
    se = (within / K) ** 0.5
    effect = y.mean(0) - np.median(y.mean(0))
    order = np.argsort(-effect, kind="stable")
    for many in range(max(1, n // 4), 0, -1):
        bad = order[:many]
        others = order[many:]
        middle = np.median(effect[others])
        spread = 1.4826 * np.median(np.abs(effect[others] - middle))
        far = effect[bad[-1]] - effect[others[0]] > max(log(1.1), 3 * max(spread, se))
        above = A[:, bad].min(1) - np.median(A[:, others], axis=1) > log(1.1) / 2
        if far and above.mean() >= 0.9:
            size = float(effect[bad].mean() - middle)
            reach = stdtrit((n - 1) * (K - 1), 0.975) * se * (1 / many + np.pi / 2 / (n - many)) ** 0.5
            factor = Number(
                value=float(np.exp(size)),
                low=float(np.exp(size - reach)),
                high=float(np.exp(size + reach)),
            )
            workers = tuple(sorted(bad.tolist()))
            return {"bad_node": Mechanism({"factor": factor}, workers)}
    return {}


def _chunk_noise(y: np.ndarray, parts: Variance) -> dict[str, Mechanism]:
    """Whether the chunks of one worker's work in one iteration are alike: y (T, n, M)."""
    M = y.shape[2]
    if M < 2:
        return {}
    y = y - y.mean((0, 2), keepdims=True)
    y = y - y.mean((0, 1), keepdims=True)
    between = M * y.mean(2).var()
    within = y.var(axis=2, ddof=1).mean()
    alike = float((between - within) / (between + (M - 1) * within))
    if alike < 0.1 and parts.shares["rest"] > 0.5:
        return {"data_bound_or_chunk_noise": Mechanism({"correlation": Number(alike)})}
    return {}


def _halves(y: np.ndarray) -> tuple[list[int], float]:
    """Workers whose mean changed between the halves, and the rank correlation of all means."""
    T, n = y.shape
    A = _block_means(y)
    before, after = np.array_split(A, [len(A) // 2])
    differ = np.abs(after.mean(0) - before.mean(0)) > 0.05
    significant = p_of_equal_means(before, after) < _SIGNIFICANT / n
    changed = np.flatnonzero(significant & differ).tolist()
    first = y[: T // 2].mean(0)
    second = y[T // 2 :].mean(0)
    stability = np.nan
    if n > 2 and np.ptp(first) > 0 and np.ptp(second) > 0:
        stability = rank_correlation(first, second)
    return changed, stability
