"""Waiting rules: when the master stops, and whom it has heard by then. They know neither loads nor delay models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, ClassVar, Protocol

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require
from gcexp.schemes.selection import smallest


@dataclass(frozen=True)
class Lead:
    """Times before the run: called like `arrive`, it gives the arrivals (S, P, n) of P iterations.

    Attributes
    ----------
    code : Code
    arrive : callable
    """

    code: Code
    arrive: Callable

    def __call__(self, r: int | None = None) -> np.ndarray:
        return self.arrive(r)


def times_before_the_run(what: str, times):
    """Times before the run, from which `what` learns; raise `ParameterError` if there are none."""
    require(
        times is not None,
        f"{what} learns from times before the run, which only delay=trace with skip has, and only where a column is "
        "one worker throughout (persistent: true)",
    )
    return times


class WaitingRule(Protocol):
    """A frozen dataclass with one method, or with two where it has a memory.

    See Also
    --------
    WaitingExtras : what a rule may have beside this.
    """

    def stop(self, code: Code, arrive: Callable) -> tuple[np.ndarray, np.ndarray]:
        """When the master stops, (S, T), and the messages the decode uses of each worker, (S, T, n) int16.

        ``arrive(r)`` gives the arrival (S, T, n) of every worker's r-th message, ``arrive()`` that of its last;
        neither is to be written to.
        """


@dataclass(frozen=True)
class WorkerLimit:
    """What every part that is built for a number of workers may have; read with `gcexp.extras.extras`."""

    #: Largest number of workers that it supports.
    most_workers: int = Code.most_workers


@dataclass(frozen=True)
class WaitingExtras(WorkerLimit):
    """What a waiting rule may have beside the member of `WaitingRule`; read with `gcexp.extras.extras`."""

    #: Of a rule with a memory: ``begin(lead)`` gives its state before the first iteration, from a `Lead`, or None where
    #: nothing is known. Its other method is then ``stop(code, arrive, state) -> (time, responses, state)``. It is asked
    #: iteration by iteration, T = 1, and keeps nothing but arrivals cut at their stops.
    begin: Callable[[Lead | None], Any] | None = None
    #: Of a rule with a memory: ``order(code, state)`` gives the place of each message in its worker's order (S, M), or
    #: (M,) for all seeds, in the next iteration. The other method is then called with the code counted message by
    #: message (`gcexp.codes.ByMessage`), and its arrivals and responses are (S, 1, M).
    order: Callable[[Code, Any], np.ndarray] | None = None
    #: Of a rule with a memory, for codes over time: ``ages(code, state)`` gives for each worker (S, n), or (n,) for all
    #: seeds, to which iteration its messages belong in the next one: 0 that one, 1 the one before, ..., at most `lag`.
    #: The messages of an iteration are decoded as soon as its quorums are met, and `lag` iterations later in any case.
    ages: Callable[[Code, Any], np.ndarray] | None = None
    lag: int = 0
    #: Names of the parameters that are times, each of which may also be a multiple of the median time of a worker, such
    #: as ``"1.5x"``. The clock turns it into a time before the run; see `gcexp.schemes.limits`.
    limits: tuple[str, ...] = ()
    #: All workers have stopped computing when the master stops, so that nobody is late for any value of ``late``.
    halts: bool = False
    #: All workers start together in each iteration, whatever happened before: ``late`` must be "stop".
    anew: bool = False
    #: A bound: it gives durations only, from which nothing can be decoded.
    durations_only: bool = False
    #: A bound that holds for the loads of the code, where workers keep them: no other loads, and where they are
    #: unequal no placement that moves workers.
    by_loads: bool = False
    #: Workers that it ignores. A run refuses a number of them that is not below n.
    s: int | None = None


@dataclass(frozen=True)
class Fastest:
    """Wait for all messages of the q fastest workers; ties go to the lower index.

    Parameters
    ----------
    q : int, optional
        Workers waited for.
    s : int, optional
        Workers ignored; give this or `q`.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> time, responses = Fastest(q=2).stop(Uncoded(n=3), lambda: np.array([[[3.0, 1.0, 2.0]]]))
    >>> time, responses
    (array([[2.]]), array([[[0, 1, 1]]], dtype=int16))
    """

    most_workers: ClassVar[int] = 10**6
    q: int | None = None
    s: int | None = None

    def __post_init__(self):
        require(
            (self.q is None) != (self.s is None),
            f"wait=fastest takes either q or s, got q={self.q}, s={self.s}",
        )

    def stop(self, code, arrive):
        q = code.n - self.s if self.q is None else self.q
        asked = f"q={self.q}" if self.s is None else f"s={self.s}"
        require(1 <= q <= code.n, f"wait=fastest needs 1 <= q <= n (0 <= s < n), got {asked} with n={code.n}")
        at = arrive()
        time = smallest(at, q)
        among = at <= time[..., None]
        if np.count_nonzero(among) > q * time.size:  # ties at the last place
            order = np.argsort(at, axis=-1, kind="stable")[..., :q]
            among[...] = False
            np.put_along_axis(among, order, True, axis=-1)
        if (code.messages == 1).all():
            return time, among.astype(np.int16)
        return time, among * code.messages.astype(np.int16)


@dataclass(frozen=True)
class Decodable:
    """Wait until every quorum of the code is met: max over quorums of min over (r, q) of the q-th smallest arrival.

    Examples
    --------
    >>> from gcexp.codes import FractionalRepetition
    >>> time, responses = Decodable().stop(
    ...     FractionalRepetition(n=4, d=2), lambda r=1: np.array([[[3.0, 1.0, 2.0, 4.0]]])
    ... )
    >>> time, responses
    (array([[2.]]), array([[[0, 1, 1, 0]]], dtype=int16))
    """

    most_workers: ClassVar[int] = 10**6

    def stop(self, code, arrive):
        require(
            bool(code.quorums),
            f"wait=decodable: {code!r} has no quorum, so it is never known to be decodable",
        )
        time = responses = None
        together = code.together
        if len(together) > 1:
            arrive = cache(arrive)  # quorums ask for the same few numbers of messages
        for quorums in together:
            arrived, options = [], []  # for each pair (r, q) of the quorums
            for r, q in quorums.need:
                at = quorums.of(arrive(r))
                arrived.append((r, at))
                options.append(smallest(at, q))
            met = reduce(np.minimum, options)  # (S, T, quorums)
            last = met.max(-1)
            nobody_heard_yet = responses is None
            if nobody_heard_yet:
                time, responses = last, np.zeros((*last.shape, code.n), np.int16)
            if nobody_heard_yet and len(options) == 1:
                r, at = arrived[0]
                counts = (at <= met[..., None]) * np.int16(r)
            else:
                counts = quorums.of(responses)
                for (r, at), option in zip(arrived[::-1], options[::-1], strict=True):  # fewest messages last
                    heard = at <= met[..., None]
                    if len(options) > 1:
                        heard &= (option == met)[..., None]
                    counts = np.where(heard, r, counts)
            quorums.put(responses, counts)
            time = np.maximum(time, last)
        return time, responses


@dataclass(frozen=True)
class Fewest:
    """A lower bound, not a waiting rule: wait for as many results as the quorums need together, from any workers.

    Quorums are disjoint and every worker sends one message, so no placement of the workers is decodable sooner. From
    those results the code mostly cannot be decoded: only the durations mean anything, and no task can be trained.

    References
    ----------
    LB of Buyukates, Ozfatura, Ulukus, Gunduz, arXiv 2011.01922, section V: n - P (r - 1) of n workers.

    Examples
    --------
    >>> from gcexp.codes import Clustered
    >>> Fewest().stop(Clustered(n=4, clusters=2, d=2), lambda: np.array([[[3.0, 1.0, 2.0, 4.0]]]))[0]
    array([[2.]])
    """

    most_workers: ClassVar[int] = 10**6
    durations_only = True

    def stop(self, code, arrive):
        require(bool(code.quorums), f"wait=fewest needs a code with quorums; {code!r} has none")
        members: list[int] = []
        for quorum in code.quorums:
            members += quorum.workers
        require(
            len(set(members)) == len(members) and (code.messages == 1).all(),
            f"wait=fewest needs disjoint quorums and one message per worker, as clusters have; {code!r} has others",
        )
        needed = 0
        for quorum in code.quorums:
            needed += sum(q for _, q in quorum.need)
        return Fastest(q=needed).stop(code, arrive)
