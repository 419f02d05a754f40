"""How iterations are played: all at once where none depends on another, else one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gcexp.errors import ParameterError, require
from gcexp.extras import extras
from gcexp.schemes.late import free_after
from gcexp.schemes.waiting import Lead, WaitingExtras
from gcexp.timeline.arrivals import (
    IterationArrivals,
    MessageArrivals,
    arrivals,
    arrivals_in_order,
    ends_of_pieces,
)

if TYPE_CHECKING:
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme


@dataclass(frozen=True)
class State:
    """What lasts from one iteration to the next."""

    #: (S, n), when each worker, by its number and not by its seat, is free, from the start of the next iteration on.
    free: np.ndarray
    memory: Any  #: what a waiting rule with a method `begin` has learned
    #: Relative loads of the next draws, where they are not the code's.
    loads: Callable[[Draws], np.ndarray] | None


class Played(NamedTuple):
    """What some iterations gave.

    Attributes
    ----------
    stop : ndarray (S, T)
        When the master stopped.
    responses : ndarray (S, T, n)
        Messages that it decodes with, of a code over time (S, T, lag + 1, n).
    arrived : ndarray (S, T, n), optional
        By seat the arrival of the last message, just behind the stop where the work was cut short. None where
        iterations do not depend on each other.
    state : State
        What lasts beyond them.
    """

    stop: np.ndarray
    responses: np.ndarray
    arrived: np.ndarray | None
    state: State


def first_state(scheme: Scheme, draws: Draws) -> State:
    """The state before the first iteration; raise `ParameterError` for draws that the scheme has no meaning for."""
    _require_fitting(scheme, draws)
    S, _, n = draws.shape
    before_the_run = draws.before()
    begin = extras(WaitingExtras, scheme.wait).begin
    memory = loads = None
    if begin is not None:
        lead = None
        if before_the_run is not None:
            lead = Lead(scheme.code, partial(arrivals, scheme, before_the_run))
        memory = begin(lead)
    if scheme.loads is not None:
        parts_before = None if before_the_run is None else before_the_run.parts()
        loads = scheme.loads.start(n, parts_before)
    return State(np.zeros((S, n)), memory, loads)


def _require_fitting(scheme: Scheme, draws: Draws) -> None:
    """Refuse draws that have no meaning for a bound, for late workers or for uneven loads."""
    require(
        scheme.late == "stop" or not draws.renewed,
        f"{draws.renewed} has new workers in every row (persistent: false): late={scheme.late} and learned placement "
        "mean nothing there",
    )
    if scheme.bound and (draws.data_bound or draws.counts):
        name = "work_floor" if scheme.loads else f"wait={type(scheme.wait).__name__.lower()}"
        why = "restarts are priced, and counts of epochs bound no time"
        if draws.data_bound:
            why = "times follow the data (data_bound), so loads bound nothing; use data_bound's own bound"
        raise ParameterError(f"{name}: {why}")
    require(
        not scheme.bound or scheme.loads is None or draws.linear,
        "scheme=work_floor needs times F + rho C that are linear in the load, so neither "
        "micro-batches nor load_model=sum",
    )
    require(
        scheme.loads is None or not draws.data_bound,
        "uneven loads belong to workers and data_bound times to partitions: choose one of the two",
    )


def play(scheme: Scheme, draws: Draws, seats: np.ndarray | None, state: State) -> Played:
    """Run draws in which workers have taken their seats (S, T, n); without seats worker j has seat j.

    All iterations at once where none depends on another. Else one by one: ``late`` workers begin when they are free,
    and a rule with a memory is given what it kept.
    """
    rule = extras(WaitingExtras, scheme.wait)
    rho = state.loads(draws) if state.loads else None
    late = "stop" if rule.halts else scheme.late
    if late == "stop" and rule.begin is None:
        stop, responses = scheme.wait.stop(scheme.code, partial(arrivals, scheme, draws, rho=rho))
        return Played(stop, responses, None, state)
    S, T, n = draws.shape
    shape_of_responses = (scheme.decoder.n,) if rule.ages is None else (scheme.lag + 1, n)
    stops = np.empty((S, T))
    responses = np.empty((S, T, *shape_of_responses), np.int16)
    arrived = None if seats is None else np.empty((S, T, n))
    iterations = _DependentIterations(scheme, draws, rho, late, state)
    every_seed = np.arange(S)[:, None]
    for t in range(T):
        workers = slice(None) if seats is None else (every_seed, seats[:, t])
        stop, heard, last, free = iterations.play(t, workers)
        stops[:, t], responses[:, t] = stop, heard
        if arrived is not None:
            not_cut_short = (free == last) | (late == "stop")
            just_behind_the_stop = np.nextafter(stop[:, None], np.inf)
            arrived[:, t] = np.where(not_cut_short, last, just_behind_the_stop)
    return Played(stops, responses, arrived, iterations.state())


class _DependentIterations:
    """Iterations that are played one after another, because each depends on those before it.

    From one to the next it remembers `free`, when each worker can start again, and `memory`, what a waiting rule with
    a memory has learned. Of the given draws it remembers the arrivals that rules ask for again and again.
    """

    def __init__(self, scheme: Scheme, draws: Draws, rho: np.ndarray | None, late: str, state: State):
        self.free = state.free.copy()
        self.memory = state.memory
        self._loads = state.loads
        self._scheme = scheme
        self._draws = draws
        self._late = late
        rule = extras(WaitingExtras, scheme.wait)
        self._learns = rule.begin is not None
        self._order = rule.order
        self._ages = rule.ages
        self._messages = MessageArrivals(scheme, draws, rho)
        self._ends_of_pieces = ends_of_pieces(scheme, draws, rho) if late == "chunk" else None

    def play(self, t: int, workers: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Iteration t with some worker in each seat; `workers` chooses them from arrays (S, n).

        Returns
        -------
        stop : ndarray (S,)
            When the master stops, from the start of the iteration on, as all times here.
        heard : ndarray (S, n)
            The messages that it decodes with, of a code over time (S, lag + 1, n).
        last, free : ndarray (S, n)
            By seat, when each worker's last message arrives if nobody stops it, and when the worker can start again.
        """
        # Behind an iteration without end it is not known who is free: all begin together.
        begin = np.fmax(self.free[workers], 0.0)
        memory_before = self.memory
        stop, heard = self._stop(t, begin)
        if self._ages is not None:
            ages = self._ages(self._scheme.decoder, memory_before)
            heard = self._by_age(heard[:, 0], ages)[:, None]
        last = begin + self._messages.last[:, t]
        borders = None
        if self._ends_of_pieces is not None:
            borders = begin + self._ends_of_pieces[t]
        free = free_after(self._late, begin, stop[:, 0], last, borders)
        self.free[workers] = free - (stop + self._scheme.overhead)
        return stop[:, 0], heard[:, 0], last, free

    def _stop(self, t: int, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the waiting rule says of iteration t, (S, 1) and (S, 1, n), whose workers begin at `begin` (S, n)."""
        arrive: Callable = IterationArrivals(self._messages, t, begin)
        if self._order is not None:
            ranks = self._order(self._scheme.code, self.memory)
            at = arrivals_in_order(self._scheme, self._draws.between(t, t + 1), ranks)
            at += begin[:, None, self._scheme.code.owner]
            arrive = partial(_arrival_of_only_message, at)
        code, wait = self._scheme.decoder, cast(Any, self._scheme.wait)  # a rule of one of two kinds
        if not self._learns:
            return wait.stop(code, arrive)
        stop, heard, self.memory = wait.stop(code, arrive, self.memory)
        return stop, heard

    def _by_age(self, heard: np.ndarray, ages: np.ndarray) -> np.ndarray:
        """Responses (S, n) of an iteration by how many iterations ago that is to which they belong, (S, lag + 1, n)."""
        rule = self._scheme.wait
        lag = self._scheme.lag
        require(
            bool((ages >= 0).all() and (ages <= lag).all()),
            f"{rule!r}: ages are 0, 1, ..., up to its lag {lag}",
        )
        heard_by_age = np.zeros((len(heard), lag + 1, heard.shape[1]), dtype=heard.dtype)
        age_of_each = np.broadcast_to(ages, heard.shape)[:, None]
        np.put_along_axis(heard_by_age, age_of_each, heard[:, None], axis=1)
        return heard_by_age

    def state(self) -> State:
        """What lasts beyond these draws."""
        return State(self.free, self.memory, self._loads)


def _arrival_of_only_message(at: np.ndarray, r: int | None = None) -> np.ndarray:
    """Arrivals of senders of one message each, whatever number of messages a rule asks for."""
    return at
