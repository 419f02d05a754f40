"""Random draws of a delay model, and the arrival times that they give for a load and a message length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from gcexp.errors import require
from gcexp.schema import checked, is_whole
from gcexp.seeding import rngs

# Rounds that a stream draws at once when it is asked again, and most numbers that then lie ready.
_AHEAD, _READY = 2000, 2**22
# Workers with a stream of their own, and how many of those behind them share one. Part of every result.
_ALONE, _TOGETHER = 10_000, 1000


@dataclass(frozen=True)
class Draws:
    """Random parts of S seeds x T iterations x n workers. They are drawn once and used by every scheme.

    A worker that computes the fraction `load` of the data and sends `length` gradients arrives at
    ``start + load * compute + length * transmit``. Because no scheme takes part in the drawing, schemes that are
    compared share their random numbers.

    Attributes
    ----------
    seeds : tuple of int
        One per row of the first axis.
    shape : tuple (S, T, n)
        Shape to which the parts broadcast.
    start, compute, transmit : ndarray or float
        Seconds; seconds for all data; seconds for one gradient.
    is_slow : ndarray (S, T, n) of bool, optional
        State of each worker, where the model has states.
    past, past_fixed, past_growing : ndarray (S, P, n), optional
        Times of the workers, each with its own share of the data, in P iterations before the run: what is known. The
        second is the part that does not grow with the load, the third the rest at that share: the first is their sum.
    renewed : str
        What replays workers that are new in every iteration, so that nothing of them lasts; else empty.
    counts : bool
        Arrivals are counts of epochs and no times.
    """

    #: Parts that a change of seats or the choice of an iteration leaves alone.
    _apart: ClassVar[tuple[str, ...]] = ("past", "past_fixed", "past_growing")

    seeds: tuple[int, ...]
    shape: tuple[int, int, int]
    start: np.ndarray | float = 0.0
    compute: np.ndarray | float = 0.0
    transmit: np.ndarray | float = 0.0
    is_slow: np.ndarray | None = None
    past: np.ndarray | None = None
    past_fixed: np.ndarray | None = None
    past_growing: np.ndarray | None = None
    renewed: str = ""
    counts: bool = False

    @property
    def micro_batches(self) -> int | None:
        """Number of micro-batches in a worker's own share, if they were timed."""
        return None

    @property
    def linear(self) -> bool:
        """Whether a load rho takes F + rho C, with F and C of `parts`."""
        return True

    @property
    def data_bound(self) -> bool:
        """Whether times belong to partitions and not to workers. Such draws have `arrival_of`."""
        return False

    def arrival_of(self, computed: np.ndarray, length) -> np.ndarray:
        """Arrival times (S, T, n) of workers that have computed some partitions, where draws are `data_bound`."""
        raise NotImplementedError

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Fixed and growing part of each worker's time at relative load 1 with one gradient sent, each (S, T, n)."""
        fixed = self.start + np.asarray(self.transmit)
        growing = np.asarray(self.compute) / self.shape[2]
        return np.broadcast_to(fixed, self.shape), np.broadcast_to(growing, self.shape)

    def before(self) -> Draws | None:
        """The iterations before the run as draws of their own, where they are known."""
        if self.past_fixed is None or self.past_growing is None:
            return None
        shape = self.past_fixed.shape
        return Draws(self.seeds, shape, start=self.past_fixed, compute=shape[2] * self.past_growing)

    def arrival(self, load, length) -> np.ndarray:
        """Arrival times (S, T, n) for `load` (fraction of the data) and `length` (gradients).

        Each is a scalar, (n,) or (S, T, n).
        """
        times = self.start
        for amount, part in ((load, self.compute), (length, self.transmit)):
            if np.ndim(part) or part:  # a part that is a plain zero costs nothing
                times = times + np.multiply(amount, part)
        return np.broadcast_to(times, self.shape)

    def without(self, dead: np.ndarray) -> Draws:
        """The same draws (1, T, n) once for each set of dead workers (S, n), who never arrive.

        Examples
        --------
        >>> draws = Draws((0,), (1, 1, 3), start=1.0)
        >>> draws.without(np.array([[False, False, False], [False, True, False]])).arrival(load=1, length=0)
        array([[[ 1.,  1.,  1.]],
        <BLANKLINE>
               [[ 1., inf,  1.]]])
        """
        S, (_, T, n) = len(dead), self.shape
        changed: dict[str, Any] = {}
        for field in fields(self):
            part = getattr(self, field.name)
            if isinstance(part, np.ndarray) and part.shape[0] == 1:
                changed[field.name] = np.broadcast_to(part, (S, *part.shape[1:]))
        changed["start"] = np.where(np.asarray(dead, bool)[:, None], np.inf, self.start)
        return replace(self, seeds=self.seeds * S, shape=(S, T, n), **changed)

    def seated(self, seats: np.ndarray) -> Draws:
        """The same draws with worker ``seats[s, t, j]`` in place of worker j, seats (S, T, n).

        Examples
        --------
        >>> draws = Draws((0,), (1, 2, 3), start=np.array([1.0, 2.0, 3.0]))
        >>> draws.seated(np.array([[[0, 1, 2], [2, 0, 1]]])).arrival(load=1, length=0)
        array([[[1., 2., 3.],
                [3., 1., 2.]]])
        """
        seats = np.asarray(seats, dtype=np.intp)
        return self._each(lambda part: np.take_along_axis(np.broadcast_to(part, self.shape), seats, axis=2))

    def between(self, first: int, last: int) -> Draws:
        """The draws of some iterations alone, `last` not among them."""
        S, T, n = self.shape
        some = self._each(lambda part: np.broadcast_to(part, self.shape)[:, first:last])
        return replace(some, shape=(S, min(last, T) - first, n))

    def _each(self, change) -> Draws:
        """Draws with every random part changed."""
        changed = {}
        for field in fields(self):
            part = getattr(self, field.name)
            if isinstance(part, np.ndarray) and field.name not in self._apart:
                changed[field.name] = change(part)
        return replace(self, **changed)


@dataclass(frozen=True)
class OfSome:
    """A parameter of some workers, by their numbers, and that of all others."""

    numbers: tuple[tuple[int, float], ...]
    others: float


#: A parameter of all workers alike, a list with one number for each, or a mapping with those of some workers, as in
#: ``{3: 2.0}``; what it calls ``others`` is the number of all others, by default the one that the parameter has anyway.
PerWorker = float | Sequence[float] | Mapping[int | str, float] | OfSome
_OTHERS = "others"


def each_is(model: Any, names: Sequence[str], allowed: Callable[[float], bool], sentence: str) -> None:
    """Refuse parameters of a frozen model that are not allowed, and give those by worker a form that can be hashed."""
    for name in names:
        value = getattr(model, name)
        if isinstance(value, Mapping):
            value = _of_some(name, value, default=getattr(type(model), name))
            object.__setattr__(model, name, value)
        elif np.ndim(value) == 1:  # YAML gives lists
            value = tuple(value)
            object.__setattr__(model, name, value)
        numbers = _numbers(value)
        require(bool(numbers) and all(allowed(one) for one in numbers), f"{sentence}, got {name}={value}")


def _of_some(name: str, value: Mapping[int | str, float], default: float) -> OfSome:
    """The mapping of a person, whose keys are numbers of workers and ``others``."""
    numbers = []
    for key, number in value.items():
        if key == _OTHERS:
            continue
        named = is_whole(key) and key >= 0
        require(named, f"{name} has numbers of workers and {_OTHERS} as its keys, got {key!r}")
        numbers.append((int(key), number))
    return OfSome(tuple(sorted(numbers)), value.get(_OTHERS, default))


def _numbers(value: float | Sequence[float] | OfSome) -> tuple[float, ...]:
    """All numbers of a parameter."""
    if isinstance(value, OfSome):
        return (value.others, *(number for _, number in value.numbers))
    return tuple(value) if isinstance(value, Sequence) else (value,)


def of_workers(name: str, value: PerWorker, n: int) -> float | np.ndarray:
    """A parameter of the first n workers: the same number for all, or an array with one for each.

    Examples
    --------
    >>> of_workers("mean", 2.0, n=2), of_workers("mean", (1.0, 2.0, 3.0), n=2)
    (2.0, array([1., 2.]))
    >>> of_workers("mean", OfSome(((1, 5.0),), others=2.0), n=3)
    array([2., 5., 2.])
    """
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, OfSome):
        found = np.full(n, float(value.others))
        for worker, number in value.numbers:
            require(worker < n, f"{name} names worker {worker}, but n={n} workers are 0 to {n - 1}")
            found[worker] = number
        return found
    assert not isinstance(value, Mapping), "`each_is` has made another form of it"
    require(len(value) >= n, f"{name} has {len(value)} numbers, but n={n} workers are asked for")
    return np.array(value[:n], dtype=float)


def alike(model: object, name: str) -> float:
    """A parameter that all workers share; raise `ParameterError` where it is one by worker.

    Examples
    --------
    >>> from gcexp.delays import Pareto
    >>> alike(Pareto(shape=3.0), "shape")
    3.0
    """
    value = getattr(model, name)
    require(
        isinstance(value, int | float), f"the closed form needs the same {name} of all workers, got {value}"
    )
    return value


class DelayModel(Protocol):
    """A frozen dataclass with the parameters of the law."""

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        """Draw from a stream of each (seed, worker), so that more workers or iterations change no earlier draw."""


@dataclass(frozen=True)
class DelayExtras:
    """What a delay model may have beside the member of `DelayModel`; read with `gcexp.extras.extras`."""

    #: ``start(seeds, n)`` gives a function of a number of iterations: each call gives the draws of the next ones, all
    #: together the same as `draw` in one piece. Then a long run is drawn, waited for and decoded some iterations at a
    #: time; without it each seed is drawn whole. A parameter of that name is no such method.
    start: Callable[[tuple[int, ...], int], Callable[[int], Draws]] | None = None
    #: ``period()`` gives the number of iterations after which the times repeat, where they do, as in a replay.
    period: Callable[[], int] | None = None
    #: Its iterations are no steps of a training (local steps), so that no task can be trained. Read in the source of
    #: its class before anything is imported.
    clock_only: bool = False
    #: Largest number of workers that it supports, by default that of `gcexp.codes.Code`.
    most_workers: int | None = None


class Streamed:
    """A delay model that is defined by its `start`; `draw` calls it once."""

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        """Function that draws the next iterations at each call; see `DelayModel`."""
        raise NotImplementedError

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        """Draws for `gcexp.timeline.simulate`; see `DelayModel`."""
        return self.start(tuple(seeds), n)(iterations)


class Exponentials:
    """Unit exponentials (S, T, n) of the next T iterations at each call, each held for `persistence` iterations.

    Every law with a closed-form inverse is a function of these, so that models too share their random numbers.

    Parameters
    ----------
    seeds : sequence of int
    n, persistence : int
    purpose : str
        Of the streams, see `gcexp.seeding`.

    Examples
    --------
    >>> streams = Exponentials((0,), n=2, persistence=2)
    >>> streams(3)[0, :, 0].round(3), streams(1)[0, :, 0].round(3)
    (array([2.471, 2.471, 0.883]), array([0.883]))

    Notes
    -----
    Each of the first 10 000 workers has a stream of its own. To make as many again for 100 000 would cost more than all
    else, so those behind them share one per 1000, which draws 1000 numbers a round, needed or not: with more workers
    too nothing changes that was drawn before.

    Who comes back for more goes on in small pieces, and a call of a stream costs as much as some hundred numbers: from
    the second call on, streams of one worker are drawn `_AHEAD` rounds at a time, or fewer where that are many numbers.
    """

    @checked
    def __init__(self, seeds: Sequence[int], n: int, persistence: int = 1, purpose: str = "delays"):
        require(n >= 1, f"draws need n >= 1, got {n}")
        require(persistence >= 1, f"persistence must be a number of iterations >= 1, got {persistence}")
        self.n, self.persistence = n, persistence
        alone = min(n, _ALONE)
        self._streams = [rngs(seed, purpose, range(alone)) for seed in seeds]
        self._shared = [rngs(seed, purpose, range(alone, n, _TOGETHER)) for seed in seeds]
        self._held = np.empty((len(self._streams), 0, n))  # the last draw, as often as it still holds
        self._ahead, self._taken = np.empty((len(self._streams), alone, 0)), 0  # a stream fills a row at once
        self._asked = False

    def __call__(self, iterations: int) -> np.ndarray:
        require(iterations >= 1, f"draws need iterations >= 1, got {iterations}")
        rounds = -(-(iterations - self._held.shape[1]) // self.persistence)
        if self.persistence == 1:
            return self._drawn(rounds)
        new = np.repeat(self._drawn(rounds), self.persistence, axis=1)
        exponentials = np.concatenate([self._held, new], axis=1)
        self._held = exponentials[:, iterations:]
        return exponentials[:, :iterations]

    def _drawn(self, rounds: int) -> np.ndarray:
        """The next rounds of all workers, (S, rounds, n)."""
        drawn = np.empty((len(self._streams), max(rounds, 0), self.n))
        first, alone = 0, self._ahead.shape[1]
        while first < rounds:
            if self._taken == self._ahead.shape[2]:
                self._refill(rounds - first)
            count = min(rounds - first, self._ahead.shape[2] - self._taken)
            ready = self._ahead[:, :, self._taken : self._taken + count]
            drawn[:, first : first + count, :alone] = ready.transpose(0, 2, 1)
            first = first + count
            self._taken = self._taken + count
        for streams, of_seed in zip(self._shared, drawn, strict=True):
            for first, stream in zip(range(alone, self.n, _TOGETHER), streams, strict=True):
                rows = of_seed[:, first : first + _TOGETHER]
                rows[...] = stream.standard_exponential((len(rows), _TOGETHER))[:, : rows.shape[1]]
        return drawn

    def _refill(self, rounds: int) -> None:
        """Draw at least so many rounds of the workers with streams of their own."""
        if self._asked:
            rounds = max(rounds, min(_AHEAD, _READY // (len(self._streams) * self._ahead.shape[1])))
        if self._ahead.shape[2] != rounds:
            self._ahead = np.empty((*self._ahead.shape[:2], rounds))
        for streams, rows in zip(self._streams, self._ahead, strict=True):
            for stream, row in zip(streams, rows, strict=True):
                stream.standard_exponential(out=row)
        self._asked, self._taken = True, 0


def held_exponentials(
    seeds, iterations: int, n: int, persistence: int = 1, purpose: str = "delays"
) -> np.ndarray:
    """Unit exponentials (S, T, n) in one piece, see `Exponentials`.

    Examples
    --------
    >>> held_exponentials((0,), 4, 2, persistence=2)[0, :, 0].round(3)
    array([2.471, 2.471, 0.883, 0.883])
    """
    return Exponentials(seeds, n, persistence, purpose)(iterations)
