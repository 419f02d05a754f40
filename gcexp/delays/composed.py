"""Times composed of the mechanisms that slow workers down: the delay model that `gcexp fit` writes for a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gcexp.delays.base import Draws, PerWorker, Streamed, each_is, of_workers
from gcexp.errors import require
from gcexp.schema import is_number
from gcexp.seeding import rng, rngs


@dataclass(frozen=True)
class Composed(Streamed):
    r"""Worker w takes level * workers[w] * common_t * factor^(slow in t) * rest at the load 1 of an uncoded run.

    common_t = exp(c_t) is the same for all workers, c_t an autoregressive process of one step. Each worker has a chain
    of two states, fast and slow, which starts stationary. The rest is drawn anew each time from given values: nothing
    is assumed of its law. A worker with relative load rho takes phi + (1 - phi) rho times as long.

    Every worker has two streams of each seed, one for its states and one for its rest, and the common part has one;
    more workers or iterations change no earlier draw.

    Parameters
    ----------
    level : float
        Time of a worker with factor 1 when nothing is unusual.
    workers : list of float, optional
        Factor of each worker; by default 1 for all.
    common_sd, common_lag : float
        Standard deviation of c_t, and the correlation of neighbouring ones.
    p01, p10 : float, sequence or mapping
        Chance of a fast worker to become slow, and of a slow one to become fast, of all workers alike or by worker
        (`gcexp.delays.base.PerWorker`); p01 = 0: none is ever slow.
    factor : float, sequence or mapping
        Likewise: how much longer a slow worker takes.
    rest : {"resampled"}
        One of `values` each time.
    values : list of float, optional
        Logarithms of the rest, all as likely as each other; by default 0.
    phi : float
        Share of the time that does not grow with the load.
    drift : float
        Growth of the logarithm of all times from one iteration to the next.

    Raises
    ------
    ParameterError
        For values outside what they may be, p01 + p10 > 1, and more workers than have a factor.

    References
    ----------
    This library's, see docs/advice.md.

    Examples
    --------
    >>> model = Composed(level=2.0, workers=[1.0, 1.0, 3.0], p01=0.1, p10=0.5, factor=4.0)
    >>> sorted(set(model.draw((0,), 100, 3).arrival(load=1 / 3, length=1)[0].ravel().round(9).tolist()))
    [2.0, 6.0, 8.0, 24.0]
    """

    level: float = 1.0
    workers: Sequence[float] | None = None
    common_sd: float = 0.0
    common_lag: float = 0.0
    p01: PerWorker = 0.0
    p10: PerWorker = 0.5
    factor: PerWorker = 1.0
    rest: Literal["resampled"] = "resampled"
    values: Sequence[float] | None = None
    phi: float = 0.0
    drift: float = 0.0

    def __post_init__(self):
        for name in ("workers", "values"):  # YAML gives lists
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        require(self.level > 0, f"level must be a time > 0, got {self.level}")
        require(min(self.workers or (1,)) > 0, f"workers must be factors > 0, got {self.workers}")
        require(
            self.values is None or len(self.values) > 0, "values must list at least one value of the rest"
        )
        require(self.common_sd >= 0, f"common_sd must be a standard deviation >= 0, got {self.common_sd}")
        require(
            -1 < self.common_lag < 1,
            f"common_lag must be a correlation within (-1, 1), got {self.common_lag}",
        )
        each_is(self, ["p01"], lambda one: 0 <= one <= 1, "p01 must be a probability")
        each_is(self, ["p10"], lambda one: 0 < one <= 1, "p10 must be a probability above 0")
        if is_number(self.p01) and is_number(self.p10):
            _require_states_that_last(self.p01, self.p10)
        each_is(self, ["factor"], lambda one: one > 0, "factor must be a number > 0")
        require(0 <= self.phi <= 1, f"phi must be a share from 0 to 1, got {self.phi}")

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        of_worker = np.ones(n) if self.workers is None else np.array(self.workers[:n])
        require(len(of_worker) == n, f"workers has {len(of_worker)} factors, but n={n} workers are asked for")
        p01 = of_workers("p01", self.p01, n)
        p10 = of_workers("p10", self.p10, n)
        factor = of_workers("factor", self.factor, n)
        _require_states_that_last(p01, p10)
        rest = [_Rest(np.array(self.values or (0.0,)), seed, n) for seed in seeds]
        states = [_States(p01, p10, seed, n) for seed in seeds]
        common = [_Common(self.common_sd, self.common_lag, seed) for seed in seeds]
        drawn_before = 0  # iterations

        def draw(iterations: int) -> Draws:
            nonlocal drawn_before
            shape = len(seeds), iterations, n
            log_time = np.empty(shape)
            is_slow = np.empty(shape, bool)
            for s in range(len(seeds)):
                log_time[s] = rest[s](iterations)
                log_time[s] += common[s](iterations)[:, None]
                is_slow[s] = states[s](iterations)
            trend = self.drift * (drawn_before + np.arange(iterations))[:, None]
            drawn_before += iterations
            x = self.level * of_worker * np.exp(log_time + trend) * np.where(is_slow, factor, 1.0)
            return Draws(
                tuple(seeds), shape, start=self.phi * x, compute=n * (1 - self.phi) * x, is_slow=is_slow
            )

        return draw


class _Rest:
    """The rest of the times of a seed, (T, n) of the next T iterations at each call: each time one of the values."""

    def __init__(self, values: np.ndarray, seed: int, n: int):
        self._values, self._streams = values, rngs(seed, "delays", range(n))

    def __call__(self, iterations: int) -> np.ndarray:
        places = np.stack([stream.random(iterations) for stream in self._streams], axis=1)
        return self._values[(places * len(self._values)).astype(int)]


class _States:
    """Which workers of a seed are slow, (T, n) of the next T iterations at each call."""

    def __init__(self, p01: float | np.ndarray, p10: float | np.ndarray, seed: int, n: int):
        self._p01, self._p10 = p01, p10
        self._streams = rngs(seed, "states", range(n))
        stationary_share = p01 / (p01 + p10)
        self._next = np.array([stream.random() for stream in self._streams]) < stationary_share

    def __call__(self, iterations: int) -> np.ndarray:
        chance = np.stack([stream.random(iterations) for stream in self._streams], axis=1)
        # A number below p01 makes a worker slow, one above 1 - p10 makes it fast; otherwise it stays as it is.
        becomes_slow = chance < self._p01
        becomes_fast = chance >= 1 - self._p10
        is_new = np.vstack([np.ones_like(self._next), becomes_slow | becomes_fast])
        state = np.vstack([self._next, becomes_slow])
        row = np.arange(iterations + 1)[:, None]
        last_change = np.maximum.accumulate(np.where(is_new, row, 0))
        is_slow = np.take_along_axis(state, last_change, axis=0)
        self._next = is_slow[-1]
        return is_slow[:-1]


class _Common:
    """The logarithm c_t of what is the same for all workers of a seed, (T,) of the next T iterations at each call."""

    def __init__(self, sd: float, lag: float, seed: int):
        self._sd = sd
        self._lag = lag
        self._stream = rng(seed, "delays.common")
        self._next = sd * self._stream.standard_normal()

    def __call__(self, iterations: int) -> np.ndarray:
        innovation = np.sqrt(1 - self._lag**2) * self._sd * self._stream.standard_normal(iterations)
        common = np.empty(iterations)
        for t in range(iterations):
            common[t] = self._next
            self._next = self._lag * self._next + innovation[t]
        return common


def _require_states_that_last(p01: float | np.ndarray, p10: float | np.ndarray) -> None:
    """Refuse chances to become slow and fast that together are above 1."""
    largest = np.max(np.add(p01, p10))
    require(bool(largest <= 1), f"p01 + p10 must be at most 1, so that states last; got {largest:g}")
