"""What every waiting rule keeps."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from gcexp.codes import Code
from gcexp.delays import DelayModel, Draws, ShiftedExponential
from gcexp.extras import extras
from gcexp.schemes import Lead, Scheme
from gcexp.schemes.limits import is_relative
from gcexp.schemes.waiting import WaitingExtras
from gcexp.testing.check import ITERATIONS, SEEDS, first_place
from gcexp.timeline import in_times_of, simulate

#: Seconds of the hidden delays of waiting rules: a limit of milliseconds hears nobody among delays of seconds.
UNITS = (1.0, 1e-3, 1e-6)


class WaitContract:
    """What every waiting rule keeps, in a scheme whose code it can use.

    A rule that orders messages is given each by itself, as `gcexp.timeline` does, here in the code's own order. Limits
    that are multiples of the median time are those of the delay model that was given, else of one in seconds.
    """

    def __init__(self, scheme: Scheme, delay: DelayModel | None = None):
        if is_relative(scheme.wait) and delay is None:
            delay = ShiftedExponential(shift=0.5)
        self.scheme = scheme if delay is None else in_times_of(scheme, delay)
        self._given = delay
        self.extras = extras(WaitingExtras, scheme.wait)
        self.name = f"{type(scheme.wait).__name__}-{type(scheme.code).__name__}"

    @cached_property
    def draws(self) -> Draws:
        """Of the delay model that was given, else seconds, milliseconds or microseconds: the first that it hears."""
        if self._given is not None:
            return self._given.draw(SEEDS, ITERATIONS, self.scheme.code.n)
        for unit in UNITS:
            delay = ShiftedExponential(shift=0.5 * unit, mean=unit)
            draws = delay.draw(SEEDS, ITERATIONS, self.scheme.code.n)
            if self._is_heard(draws):
                return draws
        return ShiftedExponential(shift=0.5).draw(SEEDS, ITERATIONS, self.scheme.code.n)

    def _is_heard(self, draws: Draws) -> bool:
        """Whether the rule hears anybody; of a rule that fails here the checks say how."""
        trial = WaitContract(self.scheme)
        trial.__dict__["draws"] = draws
        try:
            return bool(trial.stopped[1].any())
        except Exception:
            return True

    @property
    def draws_told(self) -> str:
        """How long workers take, in a sentence."""
        return f"{self.draws.arrival(0.2, 1.0).min():.2g} to {self.draws.arrival(0.2, 1.0).max():.2g} s"

    @property
    def code(self) -> Code:
        """The code with which the rule is asked."""
        return self.scheme.decoder

    def arrivals(self, r: int | None = None) -> np.ndarray:
        """Arrivals in all iterations, as the rule is given them."""
        code = self.scheme.code
        if self.code is code:
            return self.price(self.draws, r)
        found = np.empty((*self.draws.shape[:2], self.code.n))
        for place in range(int(code.messages.max())):
            sent = np.flatnonzero(code.rank == place)
            found[..., sent] = self.price(self.draws, place + 1)[..., code.owner[sent]]
        return found

    def price(self, draws: Draws, r: int | None = None) -> np.ndarray:
        """Arrival of every worker's r-th message."""
        code = self.scheme.code
        sent = code.messages if r is None else np.minimum(r, code.messages)
        work = code.load if r is None else code.work(r)
        return draws.arrival(work / code.k, sent * code.length)

    def arrive(self, r: int | None = None, t: slice = slice(None), factor: float = 1.0) -> np.ndarray:
        """Arrival of every worker's r-th message in the iterations t."""
        return factor * self.arrivals(r)[:, t]

    def stop(self, arrive: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Stops and responses of all iterations; a rule with a memory is asked for one after the other."""
        if self.extras.begin is None:
            return self.scheme.wait.stop(self.code, arrive)
        time, responses, _ = self.remembered(arrive)
        return time, responses

    def remembered(self, arrive: Callable) -> tuple[np.ndarray, np.ndarray, list]:
        """Stops and responses of a rule with a memory, and its state before each iteration."""
        wait: Any = self.scheme.wait
        assert self.extras.begin is not None
        before = self.draws.before()
        lead = None if before is None else Lead(self.scheme.code, partial(self.price, before))
        state = self.extras.begin(lead)
        times, counts, states = [], [], []
        for t in range(ITERATIONS):
            states.append(state)
            time, responses, state = wait.stop(self.code, lambda r=None, t=t: arrive(r)[:, t : t + 1], state)
            times.append(time)
            counts.append(responses)
        return np.concatenate(times, axis=1), np.concatenate(counts, axis=1), states

    @cached_property
    def stopped(self) -> tuple[np.ndarray, np.ndarray]:
        return self.stop(self.arrive)

    def check_gives_times_and_counts(self) -> None:
        """`stop` gives a finite time > 0 for every seed and iteration, and how many messages of each worker are used.

        Cure: return (time, responses) of shapes (S, T) and (S, T, n), responses as int16 from 0 to `code.messages`. A
        rule that hears nobody needs a delay model whose times it fits: ``waits=[(scheme, delay)]``.
        """
        code = self.code
        (time, responses) = self.stopped
        assert time.shape == self.draws.shape[:2], "a stop for every seed and iteration"
        counted = (*self.draws.shape[:2], code.n)
        assert responses.shape == counted and responses.dtype == np.int16, "an int16 count for every worker"
        wrong = np.argwhere(~(np.isfinite(time) & (time > 0)))
        assert not len(wrong), f"the stop in {first_place(wrong)} is {time[tuple(wrong[0])]}"
        wrong = np.argwhere((responses < 0) | (responses > code.messages))
        assert not len(wrong), f"{responses[tuple(wrong[0])]} messages are used in {first_place(wrong)}"
        assert responses.any(), f"nobody is heard, in any iteration, with times of {self.draws_told}"

    def check_hears_only_what_arrived(self) -> None:
        """No message is used that comes after the stop.

        Cure: use ``arrive(r) <= time[..., None]``.
        """
        if self.extras.durations_only:
            return
        time, responses = self.stopped
        for r in range(1, int(self.code.messages.max()) + 1):
            late = (responses >= r) & (self.arrive(r) > time[..., None] * (1 + 1e-12))
            assert not late.any(), f"a {r}. message is used that came after the stop"

    def check_decides_each_iteration_alone(self) -> None:
        """A rule without a memory decides each iteration by itself.

        Cure: reduce over the last axis only; a rule that learns has `begin(lead)` and takes a state.
        """
        time, responses = self.stopped
        if self.extras.begin is not None:
            return
        for t in range(ITERATIONS):
            one = slice(t, t + 1)
            alone, alone_responses = self.scheme.wait.stop(
                self.code, lambda r=None, one=one: self.arrive(r, one)
            )
            np.testing.assert_array_equal(alone, time[:, one])
            np.testing.assert_array_equal(alone_responses, responses[:, one])

    def check_learns_only_what_came_before_the_stop(self) -> None:
        """Whoever is later still, or an iteration that is still to come, changes nothing until then.

        Cure: keep in the state no arrival beyond the stop: ``np.minimum(arrive(), time[..., None])``.
        """
        time, _ = self.stopped
        for t in (0, ITERATIONS // 2):

            def altered(r=None, t=t):
                at = self.arrive(r).copy()
                at[:, t] = np.where(at[:, t] > time[:, t, None], 2 * at[:, t], at[:, t])
                at[:, t + 2 :] *= 3
                return at

            np.testing.assert_array_equal(self.stop(altered)[0][:, : t + 2], time[:, : t + 2])

    def check_later_arrivals_never_stop_it_earlier(self) -> None:
        """In each iteration by itself: what a rule has learned from later arrivals may make it stop earlier.

        Cure: let the stop rise with the arrivals of the iteration, as a maximum, a minimum or a quantile of them does.
        """
        later = partial(self.arrive, factor=2.0)
        if self.extras.begin is None:
            stops, _ = self.stop(later)
        else:
            stops = self._stops_from_the_same_states(later)
        earlier = np.argwhere(stops < self.stopped[0])
        assert not len(earlier), f"twice as late, it stops earlier in {first_place(earlier)}"

    def _stops_from_the_same_states(self, arrive: Callable) -> np.ndarray:
        """Stops (S, T) for other arrivals, where each iteration begins with the state of the rule's own run."""
        wait: Any = self.scheme.wait
        _, _, states = self.remembered(self.arrive)
        stops = []
        for t, state in enumerate(states):
            one = partial(arrive, t=slice(t, t + 1))
            time, *_ = wait.stop(self.code, one, state)
            stops.append(time)
        return np.concatenate(stops, axis=1)

    def check_is_a_value(self) -> None:
        """Rules are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass of numbers and texts.
        """
        copy = pickle.loads(pickle.dumps(self.scheme.wait))
        assert copy == self.scheme.wait, f"{self.scheme.wait!r} and its copy are not equal"
        assert hash(copy) == hash(self.scheme.wait), "a rule and its equal copy have other hashes"

    def check_equal_runs_have_equal_bits(self) -> None:
        """The same run gives the same bits twice.

        Cure: keep nothing in the object between calls; what a rule remembers belongs into its state.
        """
        one = simulate(self.scheme, self.draws)
        other = simulate(self.scheme, self.draws)
        for name in ("duration", "pattern", "patterns", "coefficients", "residual"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
