"""Lives of a job between two fatal failures: when workers fail, and when they are replaced."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice, repeat
from math import gamma, inf
from typing import Literal, NamedTuple, get_args

import numpy as np

from gcexp.errors import require, require_known
from gcexp.seeding import rng

RejoinLaw = Literal["constant", "exponential"]
REJOIN_LAWS: tuple[str, ...] = get_args(RejoinLaw)
# What happens first where several things happen at once: a failure is over before the replacement that it asks for.
_FIRST_FAILURE, _FAILS, _REPAIRED, _REJOINS = 0, 1, 2, 3
_SLICE = 64  # first failures of a life that are made ready together: most lives end before all have happened


class Event(NamedTuple):
    """A change of who is dead.

    Attributes
    ----------
    time : float
        Seconds from the start of the life on.
    dead : int
        Who is dead from then on: bit w stands for worker w.
    failed : bool
        Whether somebody failed; else somebody was replaced.
    """

    time: float
    dead: int
    failed: bool


@dataclass(frozen=True)
class Pool:
    """Machines beside those of the n workers, at the start of a life.

    Attributes
    ----------
    spares : int
        Machines that are ready.
    in_repair : tuple of float
        When each broken machine is one again, in seconds from the start of the life on.
    """

    spares: int
    in_repair: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lifetimes:
    r"""Independent lifetimes of n workers, P(X > t) = exp(-(t / scale)^shape) (Weibull), and their replacement.

    Parameters
    ----------
    n : int
        Workers.
    mean : float
        Mean lifetime of a worker, in seconds; that of a domain where workers fail together.
    shape : float
        Weibull's shape; 1 is the exponential law. The scale keeps the mean. The first failure of n fresh workers comes
        after n^(-1/shape) of the mean lifetime on the mean, with a shape below 1 sooner than after one n-th of it.
    domain : int
        Workers that share one lifetime: 0 to domain - 1, domain to 2 domain - 1, and so on.
    rejoin : float
        Mean seconds until a dead worker is replaced; infinite: only a restart replaces it.
    rejoin_law : {"constant", "exponential"}
    spares : int, optional
        Machines beside those of the workers; a replacement takes one. Without, there are always enough.
    repair : float, optional
        Seconds after which a broken machine is a spare.
    seed : int
        Every life has streams of its own, so that all schemes see the same lifetimes.

    Raises
    ------
    ParameterError
        For values outside these.

    Examples
    --------
    >>> life = Lifetimes(n=3, mean=100.0).life(0)
    >>> [(round(event.time, 1), event.dead) for event in life]
    [(20.7, 2), (169.2, 6), (189.7, 7)]
    """

    n: int
    mean: float
    shape: float = 1.0
    domain: int = 1
    rejoin: float = inf
    rejoin_law: RejoinLaw = "constant"
    spares: int | None = None
    repair: float | None = None
    seed: int = 0

    def __post_init__(self):
        require(self.n >= 1, f"n is a number of workers >= 1, got {self.n}")
        require(0 < self.mean < inf, f"a mean lifetime is a time > 0 in seconds, got {self.mean}")
        require(0 < self.shape < inf, f"shape is Weibull's shape > 0, got {self.shape}")
        require(
            self.domain >= 1 and self.n % self.domain == 0,
            f"domain is a number of workers >= 1 that divides n={self.n}, got {self.domain}",
        )
        require(self.rejoin >= 0, f"rejoin is a time >= 0 in seconds, got {self.rejoin}")
        require_known("rejoin.law", self.rejoin_law, REJOIN_LAWS)
        require(
            self.spares is None or self.spares >= 0,
            f"spares is a number of machines >= 0, got {self.spares}",
        )
        require(
            self.repair is None or self.spares is not None,
            f"repair={self.repair} says when a broken machine is a spare again, so give spares= as well",
        )
        require(
            self.repair is not None or self.spares is None,
            f"spares={self.spares} are used up without an end unless broken machines are repaired: give repair=",
        )
        require(
            self.repair is None or 0 <= self.repair < inf,
            f"repair is a time >= 0 in seconds, got {self.repair}",
        )

    @property
    def domains(self) -> int:
        """How many lifetimes there are."""
        return self.n // self.domain

    @property
    def pool(self) -> Pool | None:
        """The machines beside those of the workers when the job begins."""
        return None if self.spares is None else Pool(self.spares)

    @cached_property
    def _workers_of(self) -> list[int]:
        """The bits of the workers of every domain."""
        together = (1 << self.domain) - 1
        return [together << self.domain * one for one in range(self.domains)]

    def life(self, number: int, pool: Pool | None = None) -> Iterator[Event]:
        """What happens in a life, in the order of time, as if no failure were fatal; all workers are new at its start.

        `pool` are the machines beside them, where they are counted.
        """
        stream = rng(self.seed, "failures", number)
        scale = self.mean / gamma(1 + 1 / self.shape)
        power = 1 / self.shape
        first = scale * stream.standard_exponential(self.domains) ** power
        failures = _in_order(first)
        if self.rejoin == inf:
            return self._without_replacement(failures)
        return self._with_replacement(
            failures, number, pool, lambda: scale * stream.standard_exponential() ** power
        )

    def _without_replacement(self, failures: Iterator[tuple[float, int, int]]) -> Iterator[Event]:
        """The life of workers that fail one after the other."""
        dead = 0
        workers_of = self._workers_of
        for time, _, one in failures:
            dead |= workers_of[one]
            yield Event(time, dead, True)

    def _with_replacement(
        self,
        failures: Iterator[tuple[float, int, int]],
        number: int,
        pool: Pool | None,
        lifetime: Callable[[], float],
    ) -> Iterator[Event]:
        """The life of workers that are replaced, each with a new lifetime, from their first failures in order."""
        dead = 0
        workers_of = self._workers_of
        rejoins = rng(self.seed, "rejoins", number)
        constant = self.rejoin_law == "constant"
        spares = 0
        waiting: deque[int] = deque()  # domains that would be back, had they machines
        heap = [next(failures)]
        if pool is not None:
            spares = pool.spares
            for time in pool.in_repair:
                heappush(heap, (time, _REPAIRED, 1))
        while heap:
            time, what, one = heappop(heap)
            if what in (_FIRST_FAILURE, _FAILS):
                dead |= workers_of[one]
                after = self.rejoin if constant else self.rejoin * rejoins.standard_exponential()
                heappush(heap, (time + after, _REJOINS, one))
                if self.repair is not None:
                    heappush(heap, (time + self.repair, _REPAIRED, self.domain))
                if what == _FIRST_FAILURE:
                    for following in islice(failures, 1):
                        heappush(heap, following)
                yield Event(time, dead, True)
                continue
            if what == _REPAIRED:
                spares += one
            else:
                waiting.append(one)
            while waiting and (pool is None or spares >= self.domain):
                back = waiting.popleft()
                if pool is not None:
                    spares -= self.domain
                dead &= ~workers_of[back]
                heappush(heap, (time + lifetime(), _FAILS, back))
                yield Event(time, dead, False)

    def restarted(self, pool: Pool, failed: list[float], dead: int, restart: float) -> tuple[float, Pool]:
        """How long a restart waits for machines, and the pool when it is over.

        `pool` is that of the start of the life, `failed` the times of its failures, of which the last is the fatal one,
        and `dead` who is dead then.
        """
        assert self.repair is not None and self.spares is not None, "there is a pool"
        now = failed[-1]
        broken = list(pool.in_repair)
        for time in failed:
            broken += [time + self.repair] * self.domain
        in_repair = sorted(time - now for time in broken if time > now)
        lacking = dead.bit_count()
        ready = (
            self.spares + lacking - len(in_repair)
        )  # of all machines those that neither work nor are repaired
        wait = 0.0
        if ready < lacking:
            wait = in_repair[lacking - ready - 1]
        left = self.spares
        later = []
        for time in in_repair:
            if time > wait + restart:
                later.append(time - wait - restart)
        return wait, Pool(left - len(later), tuple(later))


def _in_order(first: np.ndarray) -> Iterator[tuple[float, int, int]]:
    """The first failures of a life in the order of time: when, what, and whose."""
    order = np.argsort(first, kind="stable")
    for begin in range(0, len(order), _SLICE):
        some = order[begin : begin + _SLICE]
        yield from zip(first[some].tolist(), repeat(_FIRST_FAILURE), some.tolist())
