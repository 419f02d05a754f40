"""Lasting changes of level of single workers, and spells: stretches of rows in which one worker was slower or faster.

Each worker's logarithms of times, without what all workers share, are cut into stretches of one level. The cuts are
those of least squares with a price for each cut (optimal partitioning; Jackson et al., "An algorithm for optimal
partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005). Then every cut must stand out of the
noise of the stretches around it, counted with the memory of that noise.

Where a worker has no row, its logarithm is NaN. What is cut is the series of its own rows, one after the other, so that
nothing is assumed of the others; a level begins with the first row that was logged at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from scipy.ndimage import median_filter

from gcexp_adviser.diagnosis.logged import median, usual_count
from gcexp_adviser.diagnosis.resampling import Number

LEAST_NOW = 40  # rows since a change; fewer do not tell what holds now
_LEAST_WORKERS, _LEAST_ROWS = 4, 30
_SHORTEST = 10  # rows of a stretch
LEAST_LOGGED = 2 * _SHORTEST  # rows of a worker; of fewer no change can be told
_GONE = 10  # last iterations without a row, from which on a worker has gone
_LEAST_FACTOR = np.log(1.3)  # a smaller change is not told
_PRICE = 4.0  # of a cut, in log(rows) times the long-run variance
_SURE, _SURER_IF_SHORT = 5.0, 20.0  # a cut stands out by 6 + 20/rows standard errors
_FAST = 0.2  # quantile of a stretch: where spells come and go, its fast rows are at the usual level
_WITH_THE_FAST = 0.5  # of a change of level, by which the fast rows have to change as well
_MOST_BLOCKS = 500  # means of neighbouring rows in which cuts are looked for first
_MOST_MEMORY = 0.95  # of the noise, from one row to the next
_MOST_MEMORY_OF_PRICES = 0.6  # a larger estimate from so few values may be chance, and finds no cut
_BACK = 12.0  # log-likelihood ratio of that the last rows are back at the level before
_PROCESS = 3  # as many spells are one thing that comes and goes
_OF_A_SPELL = 2 / 3  # of a stretch's size, in logarithms
_CHANCE = 0.01  # that one of the spells of a trace is so long; a stretch that is longer is no such spell


@dataclass(frozen=True)
class Change:
    """From iteration `row` on the worker of a column takes `factor` times as long as before."""

    worker: int
    row: int
    factor: Number


@dataclass(frozen=True)
class Spell:
    """In the iterations from `first` until before `end` the worker of a column took `factor` times as long.

    It `recurs` where the trace has at least three others of its size and it is not much longer than these.
    """

    worker: int
    first: int
    end: int
    factor: float
    recurs: bool = False

    @property
    def rows(self) -> int:
        """Iterations."""
        return self.end - self.first


@dataclass(frozen=True)
class Levels:
    """What `levels_of` found in times (T, n); changes and spells are ordered by their rows."""

    changes: tuple[Change, ...]
    spells: tuple[Spell, ...]
    lasting: np.ndarray = field(repr=False)  # (T, n): logarithm of each worker's level over its lowest one
    gone: Mapping[int, int] = field(default_factory=dict)  # workers without a row from some row on to the end

    @property
    def now(self) -> int:
        """First row of what holds now: that of the last change, or loss of a worker, with at least 40 rows since."""
        T = len(self.lasting)
        begins = [change.row for change in self.changes] + list(self.gone.values())
        settled = [row for row in begins if T - row >= LEAST_NOW]
        return max(settled, default=0)

    @property
    def recent(self) -> tuple[Change, ...]:
        """Changes with too few rows since to say that they last."""
        return tuple(change for change in self.changes if change.row > self.now)

    @property
    def single_spells(self) -> tuple[Spell, ...]:
        """Spells that may never come again: few in what holds now, and no two of one worker."""
        spells = tuple(spell for spell in self.spells if spell.end > self.now)
        workers = [spell.worker for spell in spells]
        several = len(workers) >= _PROCESS or len(set(workers)) < len(workers)
        if several or any(spell.recurs for spell in spells):
            return ()
        return spells

    @property
    def passing(self) -> np.ndarray:
        """Logarithms (T, n) of the factors of single spells."""
        effect = np.zeros_like(self.lasting)
        for spell in self.single_spells:
            effect[spell.first : spell.end, spell.worker] = np.log(spell.factor)
        return effect

    @property
    def uncertain(self) -> np.ndarray:
        """Logarithms (T, n) of slowness that may have been a single event: spells, and what began too recently.

        That a worker has recovered stays in the times: a remedy against its slowness has to do without that.
        """
        effect = self.passing
        for change in self.recent:
            if change.factor.value < 1:
                continue
            effect[change.row :, change.worker] += np.log(change.factor.value)
        return effect


def levels_of(y: np.ndarray) -> Levels:
    """Changes of level and spells in logarithms y (T, n) of times; none for fewer than 4 workers or 30 rows.

    Values are NaN where a worker has no row; of a worker with fewer than 20 rows none is told.

    Examples
    --------
    >>> y = 0.1 * np.random.default_rng(0).standard_normal((300, 8))
    >>> y[22:, 6] += np.log(12)
    >>> [(change.worker, change.row, round(change.factor.value)) for change in levels_of(y).changes]
    [(6, 22, 12)]
    """
    T, n = y.shape
    rows = [np.flatnonzero(~np.isnan(series)) for series in y.T]
    gone = {worker: int(own[-1]) + 1 for worker, own in enumerate(rows) if T - own[-1] > _GONE}
    nothing = np.zeros_like(y)
    if n < _LEAST_WORKERS or T < _LEAST_ROWS:
        return Levels((), (), nothing, gone)
    own = y - _shared(y)[:, None]
    every = [series[logged] for series, logged in zip(own.T, rows, strict=True)]
    stretches = [_Stretches.of(series, cuts) for series, cuts in zip(every, _cuts(every), strict=True)]
    spells: list[Spell] = []
    for worker, one in enumerate(stretches):
        spells += one.closed_spells(worker)
    smooth = _smooth([one.series - one.levels.min() for one in stretches])
    changes: list[Change] = []
    lasting = nothing.copy()
    for worker, one in enumerate(stretches):
        spells += one.ended_spell(worker)
        spells += one.usual_spells(worker, smooth)
        one.join_where_spells_come_more_often()
        changes += [replace(change, row=int(rows[worker][change.row])) for change in one.changes(worker)]
        last_logged = np.maximum(np.searchsorted(rows[worker], np.arange(T), side="right") - 1, 0)
        lasting[:, worker] = (one.levels - one.levels.min())[last_logged]
    spells = [replace(one, recurs=_may_be_one_of(smooth, one)) for one in spells]
    spells = [_in_iterations(one, rows[one.worker]) for one in spells]
    return Levels(
        changes=tuple(sorted(changes, key=lambda change: (change.row, change.worker))),
        spells=tuple(sorted(spells, key=lambda spell: (spell.first, spell.worker))),
        lasting=lasting,
        gone=gone,
    )


def _in_iterations(spell: Spell, rows: np.ndarray) -> Spell:
    """A spell of a worker whose rows stand in these iterations."""
    return replace(spell, first=int(rows[spell.first]), end=int(rows[spell.end - 1]) + 1)


def _smooth(above: list[np.ndarray]) -> np.ndarray:
    """The middle one of each three neighbouring values of each worker, (T, n); NaN behind the last of fewer than T."""
    lengths = np.array(list(map(len, above)))
    T = lengths.max()
    padded = np.stack([np.pad(series, (0, T - len(series)), mode="edge") for series in above], axis=1)
    smooth = np.asfortranarray(median_filter(padded, (3, 1), mode="nearest"))  # worker by worker
    if lengths.min() < T:
        smooth[np.arange(T)[:, None] >= lengths] = np.nan
    return smooth


def _shared(y: np.ndarray) -> np.ndarray:
    """What all workers share in each iteration (T,): the middle worker, as far as more than its own noise moves it."""
    own = y - median(y, axis=0)
    middle = median(own, axis=1)
    scatter = np.nanmedian(np.abs(own - middle[:, None])) * 1.4826
    by_chance = np.pi / 2 * scatter**2 / usual_count(y, axis=1)  # variance of the median of so many workers
    whole = middle.var()
    if whole <= by_chance:
        return np.zeros(len(y))
    return middle * (1 - by_chance / whole)


def _cuts(every: list[np.ndarray]) -> list[list[int]]:
    """Where the level of each worker may change, from the logarithms of its own rows."""
    width = ceil(max(map(len, every)) / _MOST_BLOCKS)
    means = [_block_means(series, width) for series in every]
    enough = [len(series) >= LEAST_LOGGED for series in every]
    prices = np.zeros(len(every))
    for worker in np.flatnonzero(enough):
        blocks = means[worker]
        prices[worker] = _PRICE * np.log(len(blocks)) * long_run_variance(blocks)
    shortest = max(ceil(_SHORTEST / width), 2)
    found = _partitions(means, prices, shortest)
    changes: list[list[int]] = []
    for series, blocks, is_long in zip(every, found, enough, strict=True):
        if not is_long:
            changes.append([])
            continue
        rows = [int(block) * width for block in blocks]
        changes.append(_standing_out(series, rows, width))
    return changes


def _block_means(series: np.ndarray, width: int) -> np.ndarray:
    """Means of so many neighbouring values each."""
    whole = len(series) - len(series) % width
    return np.add.reduceat(series[:whole], np.arange(0, whole, width)) / width


def long_run_variance(series: np.ndarray) -> float:
    """T times the variance of the mean of T values with the memory of an autoregression, from their differences.

    Differences at lags 1 and 2 have variances 2 s^2 (1 - r) and 2 s^2 (1 - r^2), and a change of level moves few of
    them. Values far out are drawn in, so that these few do not count much.
    """

    def variance(differences: np.ndarray) -> float:
        far = 3 * 1.4826 * np.median(np.abs(differences))
        square = differences**2
        if far > 0:
            square = np.minimum(square, far**2)
        return float(square.mean())

    first = variance(series[1:] - series[:-1])
    second = variance(series[2:] - series[:-2])
    if first <= 0:
        return 0.0
    memory = float(np.clip(second / first - 1, 0, _MOST_MEMORY_OF_PRICES))
    return first / 2 / (1 - memory) * (1 + memory) / (1 - memory)


def _partitions(every: list[np.ndarray], prices: np.ndarray, shortest: int) -> list[list[int]]:
    """First values of all stretches but the first, for each of n series: least squares, and a price a cut."""
    n = len(every)
    lengths = list(map(len, every))
    B = max(lengths)
    values = np.stack(
        [np.pad(series, (0, B - len(series))) for series in every]
    )  # what is behind is not looked at
    none = np.zeros((n, 1))
    total = np.hstack([none, np.cumsum(values, axis=1)])
    square = np.hstack([none, np.cumsum(values**2, axis=1)])
    best = np.full((n, B + 1), np.inf)  # least cost of the first so many values
    best[:, 0] = -prices
    before = np.zeros((n, B + 1), int)  # where the last stretch of these begins
    every = np.arange(n)
    for end in range(shortest, B + 1):
        begins = np.arange(end - shortest + 1)
        sums = total[:, end, None] - total[:, begins]
        scatter = square[:, end, None] - square[:, begins] - sums**2 / (end - begins)
        cost = best[:, begins] + prices[:, None] + scatter
        chosen = cost.argmin(axis=1)
        best[:, end] = cost[every, chosen]
        before[:, end] = chosen
    found = []
    for worker in range(n):
        cuts: list[int] = []
        end = int(before[worker, lengths[worker]])
        while end > 0:
            cuts.insert(0, end)
            end = int(before[worker, end])
        found.append(cuts)
    return found


def _standing_out(series: np.ndarray, cuts: list[int], reach: int) -> list[int]:
    """The cuts that stand out of the noise, after the least clear one was left out time and again."""
    while cuts:
        cuts = _placed(series, cuts, reach)
        steps, errors, lengths = _steps(series, cuts)
        shorter = np.minimum(lengths[1:], lengths[:-1])
        clear = np.abs(steps) / errors - _SURER_IF_SHORT / shorter - _SURE
        clear[np.abs(steps) < _LEAST_FACTOR] = -np.inf
        if clear.min() >= 0:
            break
        cuts = [cut for place, cut in enumerate(cuts) if place != clear.argmin()]
    return cuts


def _placed(series: np.ndarray, cuts: list[int], reach: int) -> list[int]:
    """Each cut where the levels on both sides fit best, at most so many rows away."""
    found: list[int] = []
    first = 0  # of the stretch before a cut
    for cut, end in zip(cuts, [*cuts[1:], len(series)], strict=True):
        places = np.arange(max(cut - reach, first + 2), min(cut + reach, end - 2) + 1)
        total = np.cumsum(series[first:end])
        before = places - first
        left = total[before - 1]
        whole = total[-1]
        explained = left**2 / before + (whole - left) ** 2 / (end - places)
        first = int(places[explained.argmax()])
        found.append(first)
    return found


def _steps(series: np.ndarray, cuts: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of level at the cuts, their standard errors, and the lengths of the stretches."""
    edges = [0, *cuts, len(series)]
    lengths = np.diff(edges)
    levels = np.array([series[first:end].mean() for first, end in zip(edges[:-1], edges[1:], strict=True)])
    rest = series - np.repeat(levels, lengths)
    variance = max(float((rest**2).sum()) / max(len(rest) - len(levels), 1), 1e-12)
    lag = float((rest[1:] * rest[:-1]).mean()) / variance
    lag += (1 + 3 * lag) * len(levels) / len(rest)  # what means taken off have made it too small by
    memory = float(np.clip(lag, 0, _MOST_MEMORY))
    long_run = variance * (1 + memory) / (1 - memory)
    errors = np.sqrt(long_run * (1 / lengths[1:] + 1 / lengths[:-1]))
    return np.diff(levels), errors, lengths


def _fast_steps(series: np.ndarray, cuts: list[int]) -> np.ndarray:
    """Differences at the cuts of what the fast rows of a stretch take, the 20 % quantile of its rows."""
    edges = [0, *cuts, len(series)]
    fast = []
    for first, end in zip(edges[:-1], edges[1:], strict=True):
        place = int(_FAST * (end - first))
        fast.append(np.partition(series[first:end], place)[place])
    return np.diff(fast)


class _Stretches:
    """The stretches of one worker; spells are taken out of them one after the other, the shortest first."""

    def __init__(self, series: np.ndarray, cuts: list[int]) -> None:
        self.series = series
        self.cuts = cuts
        self.spells: list[tuple[int, int]] = []

    @classmethod
    def of(cls, series: np.ndarray, cuts: list[int]) -> _Stretches:
        return cls(series, list(cuts))

    @property
    def edges(self) -> list[int]:
        """First rows of the stretches, and the number of rows."""
        return [0, *self.cuts, len(self.series)]

    def level(self, first: int, end: int) -> float:
        """Mean of some rows without the spells in them."""
        counts = np.ones(len(self.series), bool)
        for begin, stop in self.spells:
            counts[begin:stop] = False
        rows = np.flatnonzero(counts[first:end]) + first
        return float(self.series[rows].mean())

    @property
    def levels(self) -> np.ndarray:
        """The lasting level at each row (T,)."""
        edges = self.edges
        found = np.empty(len(self.series))
        for first, end in zip(edges[:-1], edges[1:], strict=True):
            found[first:end] = self.level(first, end)
        return found

    def closed_spells(self, worker: int) -> list[Spell]:
        """Take out every slow stretch between two of about one level, and every fast one that is shorter than these."""
        found: list[Spell] = []
        while True:
            place = self._next_spell()
            if place is None:
                return found
            first, end = self.edges[place : place + 2]
            before = self.edges[place - 1]
            after = self.edges[place + 2]
            size = self.level(first, end)
            self.spells.append((first, end))
            del self.cuts[place - 1 : place + 1]
            factor = float(np.exp(size - self.level(before, after)))
            found.append(Spell(worker, first, end, factor))
            self._join_equal()

    def _next_spell(self) -> int | None:
        """Place of the stretch to take out next: slow ones first, then fast ones, then slow ones that are long."""
        edges = self.edges
        lengths = np.diff(edges)
        levels = [self.level(first, end) for first, end in zip(edges[:-1], edges[1:], strict=True)]
        usual, fast, long = [], [], []
        for place in range(1, len(levels) - 1):
            before, level, after = levels[place - 1 : place + 2]
            smaller = min(abs(level - before), abs(level - after))
            same_side = (level - before) * (level - after) > 0
            if not same_side or abs(after - before) >= smaller / 2:
                continue
            around = lengths[place - 1] + lengths[place + 1]
            if level > before and lengths[place] < 2 * around:
                usual.append(place)
            elif level > before:
                long.append(place)
            elif lengths[place] < around:
                fast.append(place)
        for places in (usual, fast, long):
            if places:
                return min(places, key=lambda place: lengths[place])
        return None

    def ended_spell(self, worker: int) -> list[Spell]:
        """Take off a slow stretch whose last few rows, too few for a stretch, are back at the level before it."""
        if not self.cuts:
            return []
        before, first, end = self.edges[-3:]
        usual = self.level(before, first)
        slow = self.level(first, end)
        if slow <= usual:
            return []
        tail = self.series[max(end - _SHORTEST, first) :]
        spread = max(float(np.median(np.abs(self.series[first:end] - slow))) * 1.4826, 1e-6)
        evidence = ((tail - slow) ** 2 - (tail - usual) ** 2) / (2 * spread**2)
        from_here = np.cumsum(evidence[::-1])[::-1]  # that all rows from this one on are back
        if from_here.max() < _BACK:
            return []
        ends = end - len(tail) + int(from_here.argmax())
        self.spells.append((first, ends))
        self.cuts.pop()
        return [Spell(worker, first, ends, float(np.exp(slow - usual)))]

    def usual_spells(self, worker: int, smooth: np.ndarray) -> list[Spell]:
        """Take off every stretch that is slower than one beside it and may be one of the trace's spells.

        They begin or end with the trace, or with another spell; `smooth` is as in `_may_be_one_of`.
        """
        found: list[Spell] = []
        place = 0
        while place < len(self.cuts) + 1 and self.cuts:
            first, end = self.edges[place : place + 2]
            beside = self._usual_beside(place, worker, smooth)
            if beside is None:
                place += 1
                continue
            size = self._level_at(place) - self._level_at(beside)
            found.append(Spell(worker, first, end, float(np.exp(size))))
            self.spells.append((first, end))
            del self.cuts[max(place, beside) - 1]
            self._join_equal()
            place = 0
        return found

    def _usual_beside(self, place: int, worker: int, smooth: np.ndarray) -> int | None:
        """Place of a stretch beside this one, over which this one may be one of the trace's spells, the lower first."""
        first, end = self.edges[place : place + 2]
        beside = [one for one in (place - 1, place + 1) if 0 <= one <= len(self.cuts)]
        for one in sorted(beside, key=self._level_at):
            size = self._level_at(place) - self._level_at(one)
            if size > 0 and _may_be_one_of(smooth, Spell(worker, first, end, float(np.exp(size)))):
                return one
        return None

    def _level_at(self, place: int) -> float:
        """Mean of a stretch, by its place, without the spells in it."""
        return self.level(*self.edges[place : place + 2])

    def _join_equal(self) -> None:
        """Leave out cuts on both sides of which the level is about the same without the spells."""
        for cut in list(self.cuts):
            edges = self.edges
            place = edges.index(cut)
            step = self.level(*edges[place : place + 2]) - self.level(*edges[place - 1 : place + 1])
            if abs(step) < _LEAST_FACTOR:
                self.cuts.remove(cut)

    def join_where_spells_come_more_often(self) -> None:
        """Leave out cuts at which the fast rows do not change: there the worker is slow more often, but not always."""
        while self.cuts:
            series, cuts = self._without_spells()
            steps, _, _ = _steps(series, cuts)
            with_the_fast = _fast_steps(series, cuts) / steps
            if with_the_fast.min() >= _WITH_THE_FAST:
                return
            del self.cuts[with_the_fast.argmin()]
            self._join_equal()

    def _without_spells(self) -> tuple[np.ndarray, list[int]]:
        """The rows that are in no spell, and where the cuts are among them."""
        kept = np.ones(len(self.series), bool)
        for first, end in self.spells:
            kept[first:end] = False
        return self.series[kept], [int(kept[:cut].sum()) for cut in self.cuts]

    def changes(self, worker: int) -> list[Change]:
        """What is left: changes that last."""
        if not self.cuts:
            return []
        steps, errors, _ = _steps(*self._without_spells())
        found = []
        for row, step, error in zip(self.cuts, steps.tolist(), errors.tolist(), strict=True):
            reach = 1.96 * error
            ends = np.exp([step, step - reach, step + reach]).tolist()
            found.append(Change(worker, row, Number(*ends)))
        return found


def _may_be_one_of(smooth: np.ndarray, spell: Spell) -> bool:
    """Whether a slow stretch may be one more of the spells of a trace, for it is not much longer than these.

    `smooth` (T, n) are logarithms over each worker's lowest level, in each row the middle one of three; NaN behind the
    last row of a worker. A spell is a run of rows above two thirds of the stretch's size that begins and ends within
    the trace. Spells that end by chance, in each row alike, have exponential lengths, and the chance that one of K is
    longer than x times their mean is K exp(-x) at most.
    """
    if spell.factor <= 1:
        return False
    slow = np.zeros(
        (smooth.shape[1], len(smooth) + 2), bool
    )  # a row for each worker, between two that are not slow
    np.greater(smooth.T, _OF_A_SPELL * np.log(spell.factor), out=slow[:, 1:-1])
    slow[spell.worker, spell.first + 1 : spell.end + 1] = False
    turns = np.flatnonzero(slow[:, 1:] != slow[:, :-1])
    begins, ends = turns[::2], turns[1::2]
    width = len(smooth) + 1
    of_worker = np.count_nonzero(~np.isnan(smooth), axis=0)[begins // width]
    closed = (begins % width > 0) & (ends % width < of_worker)
    lengths = (ends - begins)[closed]
    if len(lengths) < _PROCESS:
        return False
    return bool(spell.rows < np.log((len(lengths) + 1) / _CHANCE) * lengths.mean())
