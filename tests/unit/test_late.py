"""Late workers on the clock, against an event loop in which workers are processes with messages, borders and timers."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable
from itertools import count
from math import inf

import numpy as np
import pytest

from gcexp.codes import (
    CirculantMultiMessage,
    Code,
    CyclicRepetition,
    CyclicTwoMessage,
    FractionalRepetition,
    PartialWork,
    Uncoded,
)
from gcexp.delays import Draws, Trace
from gcexp.errors import ParameterError
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import (
    LATE,
    AdaptiveDeadline,
    Covered,
    Deadline,
    Decodable,
    DecodableOrFastest,
    Fastest,
    Given,
    QuorumGrace,
    Recovered,
    Scheme,
    Spanned,
)
from gcexp.schemes.late import free_after
from gcexp.timeline import run_clock, simulate

# --- The oracle: a heap of events ---------------------------------------------------------------------------------

MESSAGE, TIMER, WORKER, START = range(4)  # what happens first where several things happen at once


def same(time: float) -> float:
    """Times that differ by rounding alone are one time."""
    return round(time, 9)


@dataclasses.dataclass
class EventLoop:
    """A master and n workers that know nothing of arrays.

    `price(t, w, share)` is the time of a relative load; `enough(responses)` says whether the master may stop; `timer`
    is a time after which it stops anyhow, and `only_timer` that it waits for that. With `grace` = (q, share) it stops
    so much of the q-th arrival's time behind that; with `adaptive` = (kappa, window, q) the timer is set by what was
    seen, and does not count before q workers have answered.
    """

    code: Code
    price: Callable
    enough: Callable | None
    late: str
    chunks: int
    overhead: float = 0.0
    timer: float = inf
    only_timer: bool = False
    grace: tuple | None = None
    adaptive: tuple | None = None

    def __post_init__(self):
        code = self.code
        self.rho = code.n * code.load / code.k
        self.ends = [
            [code.n * code.work(r + 1)[w] / code.k for r in range(code.messages[w])] for w in range(code.n)
        ]

    def run(self, iterations: int, seat=None) -> tuple[list[float], list[np.ndarray]]:
        n, order = self.code.n, count()
        seat = seat or (lambda t: np.arange(n))
        heap: list[tuple] = []

        def push(time, kind, *what):
            heapq.heappush(heap, (same(time), kind, next(order), time, what))

        model = -1  # the newest that was sent
        began = {}  # when each model was sent
        doing: list[int | None] = [None] * n  # by worker: the iteration it computes for
        queue = [0] * n  # the next step of a worker that runs every one of them
        durations, all_responses = [], []
        responses = np.zeros(n, dtype=int)
        open_ = expired = False
        arrived: dict[int, float] = {}  # who has sent all, and when
        history: list[list[float]] = []

        def start(w, now):
            """A worker that is free takes a model: its next one, or the newest that is still waited for."""
            t = queue[w] if self.late == "every" else model
            if t > model or t < queue[w] or not (open_ or self.late == "every"):
                return
            doing[w], queue[w] = t, t + 1
            j = int(np.flatnonzero(seat(t) == w)[0])
            for r, share in enumerate(self.ends[j]):
                push(now + self.price(t, w, share), MESSAGE, t, j, r + 1)
            if self.late == "chunk":
                C = max(1, round(self.chunks * self.rho[j]))
                for i in range(1, C):
                    push(now + self.price(t, w, self.rho[j] * i / C), WORKER, w, t, "looks up")
            push(now + self.price(t, w, self.rho[j]), WORKER, w, t, "is done")

        push(0.0, START, 0)
        while heap and len(durations) < iterations:
            _, kind, _, now, what = heapq.heappop(heap)
            stops = False
            if kind == START:
                model, open_, expired = what[0], True, False
                arrived = {}
                responses = np.zeros(n, dtype=int)
                began[model] = now
                limit = self.timer
                if self.adaptive and history:
                    seen = np.array(history[-self.adaptive[1] :])
                    limit = np.median(seen) + self.adaptive[0] * np.median(np.abs(seen - np.median(seen)))
                if limit < inf:
                    push(now + limit, TIMER, model)
                for w in range(n):
                    if doing[w] is None:
                        start(w, now)
            elif kind == MESSAGE:
                t, j, r = what
                w = seat(t)[j]
                if t == model and open_ and doing[w] == t:
                    responses[j] = r
                    stops = not self.only_timer and self.enough(responses)
                    if r == self.code.messages[j]:
                        arrived[j] = now - began[t]
                        if self.grace and len(arrived) == self.grace[0]:
                            push(began[t] + (1 + self.grace[1]) * arrived[j], TIMER, t)
                        stops |= expired and len(arrived) >= self.adaptive[2]
            elif kind == TIMER:
                # whatever arrives at this very moment came first
                stops = what[0] == model and open_
                if stops and self.adaptive and len(arrived) < self.adaptive[2]:
                    stops, expired = False, True
            else:
                w, t, does = what
                if doing[w] == t and (does == "is done" or t < model or not open_):
                    doing[w] = None
                    start(w, now)
            if stops:
                open_ = False
                durations.append(now - began[model] + self.overhead)
                history.append([arrived.get(j, now - began[model]) for j in range(n)])
                all_responses.append(responses.copy())
                if self.late == "stop":
                    doing = [None] * n
                push(now + self.overhead, START, model + 1)
        return durations, all_responses


def fastest(code, q):
    return lambda responses: int(((responses >= code.messages) & (responses > 0)).sum()) >= q


def met(code):
    return lambda responses: bool(code.met(responses[None])[0])


def recovered(code, fraction):
    def enough(responses):
        c = code.decode(responses[None], partial=True).coefficients[0]
        return np.isin(c, (0, 1)).all() and c.sum() >= fraction * code.k - 1e-9

    return enough


def covered(code, fraction):
    held = [np.flatnonzero(row)[0] for row in code.encoding.toarray()]

    def enough(responses):
        done = {held[m] for m in range(len(held)) if code.rank[m] < responses[code.owner[m]]}
        return len(done) >= fraction * code.k - 1e-9

    return enough


def spans(code):
    def enough(responses):
        rows = code.encoding.toarray()[code.received(responses[None])[0]]
        return len(rows) > 0 and np.linalg.norm(
            np.linalg.lstsq(rows.T, np.ones(code.k))[0] @ rows - 1
        ) < 1e-6 * np.sqrt(code.k)

    return enough


def schemes(n: int, random):
    """Schemes as (code, rule, what the event loop asks, its timers, seats)."""
    s = int(random.integers(1, n))
    cyclic, pairs = CyclicRepetition(n, s), FractionalRepetition(n - n % 2, 2)
    several = CirculantMultiMessage(n, (1, 1) if n < 4 else (1, 2))
    tau = float(random.uniform(0.8, 2.5))
    two = CyclicTwoMessage(7, 4, 5)
    seats = [int(w) for w in random.permutation(pairs.n)]
    parts = PartialWork(n, 2, int(random.integers(1, 4)))
    plain, half = Uncoded(n), -(-n // 2)

    def either(responses):
        return met(pairs)(responses) or fastest(pairs, pairs.n - 2)(responses)

    return [
        (plain, Decodable(), fastest(plain, n), {}, None),
        (plain, Fastest(s=s), fastest(plain, n - s), {}, None),
        (cyclic, Fastest(s=s), fastest(cyclic, n - s), {}, None),
        (cyclic, Decodable(), met(cyclic), {}, None),
        (pairs, Decodable(), met(pairs), {}, None),
        (pairs, Decodable(), met(pairs), {}, seats),
        (several, Recovered(0.7), recovered(several, 0.7), {}, None),
        (plain, Deadline(tau), None, {"timer": tau, "only_timer": True}, None),
        (pairs, DecodableOrFastest(q=max(1, pairs.n - 2)), either, {}, None),
        (cyclic, Spanned(), spans(cyclic), {}, None),
        (two, Decodable(), met(two), {}, None),
        (parts, Covered(), covered(parts, 1.0), {}, None),
        (parts, Covered(0.7), covered(parts, 0.7), {}, [int(w) for w in random.permutation(n)]),
        (plain, QuorumGrace(grace=0.3), fastest(plain, n), {"grace": (half, 0.3)}, None),
        (plain, AdaptiveDeadline(0.5, 3), fastest(plain, n), {"adaptive": (0.5, 3, half)}, None),
        (pairs, AdaptiveDeadline(0.3), fastest(pairs, pairs.n), {"adaptive": (0.3, 10, pairs.n // 2)}, seats),
    ]


@pytest.mark.parametrize("case", range(64))
def test_the_clock_is_the_event_loop(case):
    """Each case under all four values: 256 runs, row by row to 1e-9."""
    random = np.random.default_rng(case)
    n, T = int(random.integers(3, 8)), 12
    known = schemes(n, random)
    code, wait, enough, timers, seats = known[case % len(known)]
    n = code.n
    phi, overhead, chunks = random.choice([0.0, 0.4]), random.choice([0.0, 0.2]), int(random.integers(1, 9))
    x = random.exponential(1, (1, T, n)) + random.choice([0.0, 1.0])
    draws = Draws((0,), (1, T, n), start=phi * x, compute=n * (1 - phi) * x)
    placement = None if seats is None else Given(seats)
    for late in LATE:
        scheme = Scheme(code, wait, float(overhead), placement, late=late, chunks=chunks)
        found = simulate(scheme, draws)
        loop = EventLoop(
            code,
            lambda t, w, share: x[0, t, w] * (phi + (1 - phi) * share),
            enough,
            late,
            chunks,
            overhead,
            **timers,
        )
        durations, responses = loop.run(T, None if seats is None else lambda t: np.array(seats))
        np.testing.assert_allclose(found.duration[0], durations, rtol=1e-9, atol=1e-9, err_msg=late)
        used = found.patterns[found.pattern[0]]  # a rule may need fewer than had come
        assert (used <= np.array(responses)).all(), late


# --- What the values mean -----------------------------------------------------------------------------------------


def in_turn(rows, iterations: int, **keys) -> Draws:
    x = np.resize(np.array(rows, float), (iterations, len(rows[0])))[None]
    return Draws((0,), x.shape, compute=x.shape[2] * x, **keys)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("stop", [1, 1.5, 1, 1.5]),
        ("chunk", [1, 2, 2, 2.5]),
        ("finish", [1, 3, 1, 3]),
        ("every", [1, 3, 1, 3]),
    ],
)
def test_two_workers_by_hand(late, expected):
    scheme = Scheme(Uncoded(2), Fastest(q=1), late=late, chunks=2)
    assert simulate(scheme, in_turn([[1, 3], [3, 1.5]], 4)).duration[0].tolist() == expected


def test_free_belongs_to_the_worker_and_not_to_its_seat():
    """Worker 1 is slow in the first iteration and late in the second, wherever it sits."""

    @dataclasses.dataclass(frozen=True)
    class Turning:
        def check(self, code):
            pass

        def seat(self, is_slow, seeds, play=None):
            turns = [np.roll(np.arange(play.shape[2]), t) for t in range(play.shape[1])]
            return np.broadcast_to(turns, play.shape)

    draws = in_turn([[1, 5, 1], [1, 1, 1]], 2)
    code = FractionalRepetition(3, 1)
    found = simulate(Scheme(code, Fastest(s=1), placement=Turning(), late="finish"), draws)
    assert found.duration[0].tolist() == [1, 1]
    assert found.patterns[found.pattern[0]].tolist() == [[1, 0, 1], [1, 1, 0]]  # worker 1 sits in seat 2 then


def test_a_rule_that_observes_sees_what_was_cut_at_the_stop():
    seen = []

    @dataclasses.dataclass(frozen=True)
    class Watching:
        def check(self, code):
            pass

        def seat(self, is_slow, seeds, play=None):
            home = np.broadcast_to(np.arange(play.shape[2], dtype=np.int16), play.shape)
            seen.extend(play(t, home[:, t]) for t in range(play.shape[1]))
            return home

    draws = in_turn([[1, 9], [1, 9]], 2)
    simulate(Scheme(Uncoded(2), Fastest(q=1), placement=Watching(), late="finish"), draws)
    (first, stop), (second, again) = seen
    assert (stop[0], again[0]) == (1, 1) and first[0].tolist() == [1, 9]  # it does finish that one
    assert second[0, 0] == 1 and 1 < second[0, 1] < 1 + 1e-9  # and never begins the next


def test_ties_are_decided_by_a_tolerance():
    begin, end, borders = np.zeros((1, 2)), np.array([[1 + 1e-13, 3.0]]), np.array([[[0.5, 1 - 1e-13]]])
    assert free_after("chunk", begin, np.ones(1), end, borders) == pytest.approx(1, abs=1e-9)


# --- Mistakes -----------------------------------------------------------------------------------------------------


def traced(name: str, late: str, n: int, **keys):
    return run_clock(
        Scheme(Uncoded(n), Fastest(s=1), late=late), Trace(f"data/traces/{name}.csv", **keys), (0,), 3
    )


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda: build_scheme(compose(["scheme=frc", "late=finnish"])), "'finnish'.*'finish'"),
        (lambda: build_scheme(compose(["scheme=frc", "chunks=0"])), "chunks.* 0"),
        (lambda: build_scheme(compose(["scheme=uncoded_restart", "late=finish"])), "late=stop"),
        (lambda: traced("faas-aws-256mb", "finish", 50), "late=finish"),  # its workers are new in every row
        (lambda: traced("bytedance-SE-dp", "chunk", 32, data_bound=True), "late=chunk"),  # borders go by load
    ],
)
def test_where_late_has_no_meaning_it_is_refused(act, named):
    with pytest.raises(ParameterError, match=named):
        act()
