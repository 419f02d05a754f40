"""Orders of messages that change between iterations: what arrives when, and what is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

from gcexp.codes import ByMessage, Code, CyclicTwoMessage, PartialWork
from gcexp.delays.compute_transmit import ComputeTransmit
from gcexp.errors import ParameterError
from gcexp.schemes import Reordering, Scheme, Uneven
from gcexp.testing import checks
from gcexp.timeline import arrivals_in_order, simulate

DELAY = ComputeTransmit()  # times grow with the load and with the messages sent
OVERLAPPING = Code(
    [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 1]],
    owner=[0, 0, 0, 1, 1],
    promise="least_squares",
)


@dataclass(frozen=True)
class Shuffled:
    """A new random order of each worker's messages in each iteration; it stops after some messages."""

    count: int

    def begin(self, lead):
        return 0

    def order(self, code, state):
        random = np.random.default_rng(state).random((2, len(code.owner)))
        return np.stack([np.argsort(np.lexsort((row, code.owner))) for row in random]) - _first(code)

    def stop(self, code, arrive, state):
        at = arrive()
        time = np.sort(at, axis=-1)[..., self.count - 1]
        return time, (at <= time[..., None]).astype(np.int16), state + 1


def _first(code: Code) -> np.ndarray:
    """How many messages stand before those of a message's worker."""
    return (np.cumsum(code.messages) - code.messages)[code.owner]


def test_work_in_an_order_is_that_of_the_messages_before():
    for first in permutations(range(3)):
        for second in permutations(range(2)):
            ranks = np.array([[*first, *second]])
            work = OVERLAPPING.work_in_orders(ranks)
            for r in range(3):
                for w in range(2):
                    rows = OVERLAPPING.encoding.toarray()[(OVERLAPPING.owner == w) & (ranks[0] <= r)]
                    assert work[r, 0, w] == (rows != 0).any(0).sum()
    own = OVERLAPPING.work_in_orders(OVERLAPPING.rank[None])[:, 0]
    np.testing.assert_array_equal(own, [OVERLAPPING.work(r) for r in (1, 2, 3)])


@pytest.mark.parametrize("late", ["stop", "finish", "every", "chunk"])
def test_the_clock_plays_any_order_message_by_message(late):
    """Against a plain loop over seeds, iterations, workers and their messages."""
    scheme, T = Scheme(OVERLAPPING, Shuffled(count=3), overhead=0.2, late=late), 6
    draws = DELAY.draw((0, 1), T, 2)
    timeline = simulate(scheme, draws)
    decoded = ByMessage(OVERLAPPING).decode(timeline.messages, partial=True).coefficients
    np.testing.assert_array_equal(timeline.coefficients, decoded)
    counts = [timeline.messages[:, OVERLAPPING.owner == w].sum(1) for w in range(2)]
    np.testing.assert_array_equal(timeline.patterns, np.transpose(counts))
    if late not in ("stop", "finish"):
        return
    for s in range(2):
        free = np.zeros(2)
        for t in range(T):
            ranks = scheme.wait.order(OVERLAPPING, t)[s]
            at = np.empty(5)
            for m, w in enumerate(OVERLAPPING.owner):
                before = (OVERLAPPING.owner == w) & (ranks <= ranks[m])
                work = (OVERLAPPING.encoding.toarray()[before] != 0).any(0).sum()
                took = draws.arrival(work / 4, before.sum())[s, t, w]
                at[m] = free[w] + took
            stop = np.sort(at)[2]
            assert timeline.duration[s, t] == pytest.approx(stop + 0.2, rel=1e-12)
            used = timeline.messages[timeline.pattern[s, t]]
            np.testing.assert_array_equal(used, at <= stop)
            last = np.array([at[OVERLAPPING.owner == w].max() for w in range(2)])
            begun = free < stop
            ends = np.where(begun, last, free) if late == "finish" else np.full(2, stop)
            free = np.maximum(ends - stop - 0.2, 0)


def test_orders_are_refused_where_they_mean_nothing():
    for scheme, named in (
        (lambda: Scheme(CyclicTwoMessage(n=7, s=3, beta=5), Shuffled(2)), "first messages of each worker"),
        (lambda: Scheme(PartialWork(n=3, d=2, q=2), Reordering()), "first messages of each worker"),
        (lambda: Scheme(Code(np.eye(3), promise="least_squares"), Shuffled(2), loads=Uneven()), "loads"),
    ):
        with pytest.raises(ParameterError, match=named):
            scheme()
    scheme = Scheme(OVERLAPPING, Shuffled(2))
    with pytest.raises(ParameterError, match="no order"):
        arrivals_in_order(scheme, DELAY.draw((0,), 1, 2), np.array([0, 0, 2, 0, 1]))


def test_a_strangers_rule_that_orders_passes():
    for check in checks(waits=[Scheme(OVERLAPPING, Shuffled(3))]):
        check()
