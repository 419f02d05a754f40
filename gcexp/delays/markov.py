"""Two-state Markov workers: fast or slow, usually in the same state as in the iteration before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gcexp.delays.base import Draws, Exponentials, PerWorker, Streamed, each_is, of_workers
from gcexp.errors import require, require_known
from gcexp.schema import is_number
from gcexp.seeding import rngs

LOAD_MODELS = ("scaled", "sum")
SUBSETS = ("random", "first")


@dataclass(frozen=True)
class SummedDraws(Draws):
    r"""Draws in which a load of r computations is the sum of r independent times alpha + Exp(mu).

    T_r = r alpha + G_r^{-1}(1 - e^{-E}) / mu with a unit exponential E and the gamma(r) distribution function G_r: the
    law of the sum for every r, from the same E as `scaled` draws. Parts of one worker's work are comonotone, so that
    an earlier message never arrives later; for one message per worker nothing else matters.

    Attributes
    ----------
    exponential, rate : ndarray (S, T, n)
        E and mu.
    alpha : float or ndarray (n,)
        Smallest time of one computation.
    pieces : int
        Computations that make up all data.
    """

    exponential: np.ndarray | None = None
    rate: np.ndarray | None = None
    alpha: float | np.ndarray = 0.0
    pieces: int = 1

    @property
    def linear(self) -> bool:
        return False

    def parts(self):
        require(False, "load_model=sum: a worker's time has no part that grows with its load")

    def arrival(self, load, length):
        from scipy.special import gammainccinv  # slow to import

        r = self.pieces * np.asarray(load, dtype=float)
        gamma = gammainccinv(np.where(r > 0, r, 1.0), np.exp(-self.exponential))
        return super().arrival(load, length) + r * self.alpha + np.where(r > 0, gamma, 0.0) / self.rate


@dataclass(frozen=True)
class TwoStateMarkov(Streamed):
    r"""Each worker is fast or slow; at the start of every iteration but the first it changes with probability p.

    In state mu a worker needs T_r = r (alpha + E/mu), E ~ Exp(1), for r computations: Pr(T_r <= t) = 1 - exp(-mu (t/r
    - alpha)) for t >= r alpha. Communication costs nothing. Pr(slow in t | slow in 0) = (1 + (1 - 2p)^t) / 2.

    States and times come from streams of their own, one per seed and worker: with another `p` the same uniform numbers
    decide, and with another rate or load model the same exponentials are used.

    Parameters
    ----------
    p : float, sequence or mapping
        Probability to change state, of all workers alike or by worker (`gcexp.delays.base.PerWorker`).
    mu_s, mu_f : float, sequence or mapping
        Rates of a slow and a fast worker, per computation.
    alpha : float, sequence or mapping
        Smallest time of one computation.
    initial_slow : int, optional
        Workers slow in iteration 0; None: each with probability 1/2, the stationary law.
    subset : {"random", "first"}
        Which these are: a uniformly random subset for each seed, or the first ones.
    load_model : {"scaled", "sum"}
        r computations take r times one random time, or the sum of r independent ones.
    pieces : int, optional
        Computations that make up all data (the code's k); default n.
    spread : float
        Heterogeneous workers: each multiplies mu_s and mu_f by its own uniform factors from [1 - spread, 1 + spread],
        drawn once per seed.

    References
    ----------
    Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation, ICC 2021
    (arXiv 2011.01922), section III, equation (14). Heterogeneous workers: arXiv 2103.01206.

    Examples
    --------
    >>> draws = TwoStateMarkov(initial_slow=2).draw(seeds=(0, 1), iterations=5, n=4)
    >>> draws.is_slow[:, 0].sum(1)
    array([2, 2])
    >>> bool((draws.arrival(load=3 / 4, length=1) >= 0.03).all())
    True
    """

    p: PerWorker = 0.05
    mu_s: PerWorker = 0.1
    mu_f: PerWorker = 10.0
    alpha: PerWorker = 0.01
    initial_slow: int | None = None
    subset: str = "random"
    load_model: str = "scaled"
    pieces: int | None = None
    spread: float = 0.0

    def __post_init__(self):
        each_is(self, ["p"], lambda one: 0 <= one <= 1, "two-state Markov workers need 0 <= p <= 1")
        each_is(self, ["mu_s", "mu_f"], lambda one: one > 0, "two-state Markov workers need rates > 0")
        each_is(self, ["alpha"], lambda one: one >= 0, "two-state Markov workers need alpha >= 0")
        if is_number(self.mu_s) and is_number(self.mu_f):
            self._require_order(self.mu_s, self.mu_f)
        require(
            self.initial_slow is None or self.initial_slow >= 0,
            f"initial_slow must be a number of workers >= 0, got {self.initial_slow}",
        )
        require_known("subset", self.subset, SUBSETS)
        require_known("load_model", self.load_model, LOAD_MODELS)
        require(
            self.pieces is None or self.pieces >= 1,
            f"pieces must be a number of computations >= 1, got pieces={self.pieces}",
        )
        require(
            0 <= self.spread < 1, f"spread must be a fraction with 0 <= spread < 1, got spread={self.spread}"
        )

    def _require_order(self, slow: float | np.ndarray, fast: float | np.ndarray) -> None:
        """Refuse a worker that is slower when it is fast."""
        require(
            bool(np.all(slow <= fast)),
            f"two-state Markov workers need mu_s <= mu_f, got mu_s={self.mu_s}, mu_f={self.mu_f}",
        )

    def _factors(self, uniform: np.ndarray) -> np.ndarray:
        """Factors (S, 1, n) of the rates of workers from uniform numbers (S, n)."""
        return 1 + self.spread * (2 * uniform[:, None] - 1)

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        p = of_workers("p", self.p, n)
        rate_s = of_workers("mu_s", self.mu_s, n)
        rate_f = of_workers("mu_f", self.mu_f, n)
        alpha = of_workers("alpha", self.alpha, n)
        self._require_order(rate_s, rate_f)
        slow = self.initial_slow
        require(slow is None or slow <= n, f"initial_slow must be at most n={n}, got initial_slow={slow}")
        exponentials = Exponentials(seeds, n)
        # Worker by worker: one number for the first state, one for each rate, then one per change.
        streams = [rngs(seed, "states", range(n)) for seed in seeds]
        first, scale_s, scale_f = np.moveaxis(_uniform(streams, 3), 1, 0)
        if slow is None:
            state = first < 0.5
        elif self.subset == "random":
            rank = np.argsort(np.argsort(first, axis=1), axis=1)
            state = rank < slow
        else:
            state = np.broadcast_to(np.arange(n) < slow, first.shape)
        mu_s = rate_s * self._factors(scale_s)
        mu_f = rate_f * self._factors(scale_f)
        pieces = n if self.pieces is None else self.pieces
        states = _States(state, p, streams)

        def draw(iterations: int) -> Draws:
            exponential = exponentials(iterations)
            is_slow = states(iterations)
            rate = np.where(is_slow, mu_s, mu_f)
            shape = exponential.shape
            if self.load_model == "sum":
                return SummedDraws(
                    tuple(seeds),
                    shape,
                    is_slow=is_slow,
                    exponential=exponential,
                    rate=rate,
                    alpha=alpha,
                    pieces=pieces,
                )
            return Draws(tuple(seeds), shape, compute=pieces * (alpha + exponential / rate), is_slow=is_slow)

        return draw


class _States:
    """Which workers are slow, (S, T, n), in the next T iterations at each call.

    The first iteration is played in the first state, every other one after a chance to change it.
    """

    def __init__(self, first: np.ndarray, p: float | np.ndarray, streams: list[list[np.random.Generator]]):
        self._last = first
        self._p = p
        self._streams = streams
        self._has_begun = False

    def __call__(self, iterations: int) -> np.ndarray:
        chances = iterations if self._has_begun else iterations - 1
        changes = _uniform(self._streams, chances) < self._p
        has_flipped = np.cumsum(changes, axis=1) % 2 == 1
        is_slow = self._last[:, None] ^ has_flipped
        if not self._has_begun:
            is_slow = np.concatenate([self._last[:, None], is_slow], axis=1)
        self._last, self._has_begun = is_slow[:, -1], True
        return is_slow


def _uniform(streams: list[list[np.random.Generator]], count: int) -> np.ndarray:
    """The next numbers from U(0, 1) of every stream, (S, count, n)."""
    drawn = np.empty((len(streams), count, len(streams[0])))
    for i, of_seed in enumerate(streams):
        for w, stream in enumerate(of_seed):
            drawn[i, :, w] = stream.random(count)
    return drawn
