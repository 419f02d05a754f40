"""Late workers on the clock, against workers that are followed one by one from model to model."""

from __future__ import annotations

import dataclasses
from math import inf

import numpy as np
import pytest

from gcexp.codes import (
    CirculantMultiMessage,
    CyclicRepetition,
    CyclicTwoMessage,
    FractionalRepetition,
    PartialWork,
    Uncoded,
)
from gcexp.delays import Draws, Trace
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
from tests.conftest import refusals

# --- The oracle ---------------------------------------------------------------------------------------------------

SOON = 1e-9  # times that differ by rounding alone are one time


def stopped(code, events, enough, limit=inf, need=0, grace=None):
    """When a master stops that gets messages (time, seat, rank), what it has then, and who had sent all when.

    It stops where `enough(responses)`, and at the limit if `need` workers have sent all, else when so many have. With
    `grace` = (q, share) the limit is so much of the q-th worker's time behind that.
    """
    responses, arrived = np.zeros(code.n, dtype=int), {}
    for time, seat, rank in sorted(events):
        if time > limit and len(arrived) >= need:
            break
        responses[seat] = rank
        if rank == code.messages[seat]:
            arrived[seat] = time
            if grace and len(arrived) == grace[0]:
                limit = (1 + grace[1]) * time
        if enough(responses) or (time > limit and len(arrived) == need):
            return time, responses, arrived
    return limit, responses, arrived


def followed(
    code, price, enough, late, chunks, overhead, seats, iterations, timer=inf, grace=None, adaptive=None
):
    """Durations and responses, every worker followed from model to model; `price(t, w, share)` is its time for a load.

    With `adaptive` = (kappa, window, q) the timer is set by what was seen, and does not count before q have answered.
    """
    n, now = code.n, 0.0
    share = [n * code.work(rank) / code.k for rank in range(code.messages.max() + 1)]
    free, history, found = np.zeros(n), [], []
    for t in range(iterations):
        begun = np.full(n, now) if late == "stop" else np.maximum(now, free)  # by worker

        def after(j, load, t=t, begun=begun):
            return begun[seats[j]] + price(t, seats[j], load)

        ranks = [(j, rank) for j in range(n) for rank in range(1, code.messages[j] + 1)]
        events = [(after(j, share[rank][j]) - now, j, rank) for j, rank in ranks]
        limit, need = timer, 0
        if adaptive and history:
            seen, need = np.array(history[-adaptive[1] :]), adaptive[2]
            limit = np.median(seen) + adaptive[0] * np.median(np.abs(seen - np.median(seen)))
        took, responses, arrived = stopped(code, events, enough, limit, need, grace)
        history.append([arrived.get(j, took) for j in range(n)])
        found.append((took + overhead, responses))
        for j, w in enumerate(seats):
            load, stop = share[-1][j], now + took - SOON
            pieces = max(1, round(chunks * load)) if late == "chunk" else 1
            ends = [after(j, load * i / pieces) for i in range(1, pieces + 1)]
            if late == "every":
                free[w] = ends[-1]
            elif begun[w] < stop:  # who was late again has never seen this model
                free[w] = next((end for end in ends if end >= stop), ends[-1])
        now += took + overhead
    return zip(*found, strict=True)


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
    """Schemes as (code, rule, what the oracle asks, its timers, seats)."""
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
        (plain, Deadline(tau), lambda responses: False, {"timer": tau}, None),
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
def test_the_clock_follows_every_worker(case):
    """Each case under all four values: 256 runs, row by row to 1e-9."""
    random = np.random.default_rng(case)
    n, T = int(random.integers(3, 8)), 12
    known = schemes(n, random)
    code, wait, enough, timers, seats = known[case % len(known)]
    n = code.n
    phi, overhead, chunks = random.choice([0.0, 0.4]), random.choice([0.0, 0.2]), int(random.integers(1, 9))
    x = random.exponential(1, (1, T, n)) + random.choice([0.0, 1.0])
    draws = Draws((0,), (1, T, n), start=phi * x, compute=n * (1 - phi) * x)

    def price(t, w, share):
        return x[0, t, w] * (phi + (1 - phi) * share)

    for late in LATE:
        placement = None if seats is None else Given(seats)
        found = simulate(Scheme(code, wait, float(overhead), placement, late=late, chunks=chunks), draws)
        durations, responses = followed(
            code, price, enough, late, chunks, overhead, seats or range(n), T, **timers
        )
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


test_where_late_has_no_meaning_it_is_refused = refusals(
    (lambda: build_scheme(compose(["scheme=frc", "late=finnish"])), "'finnish'.*'finish'"),
    (lambda: build_scheme(compose(["scheme=frc", "chunks=0"])), "chunks.* 0"),
    (lambda: build_scheme(compose(["scheme=uncoded_restart", "late=finish"])), "late=stop"),
    (lambda: traced("faas-aws-256mb", "finish", 50), "late=finish"),  # its workers are new in every row
    (lambda: traced("bytedance-SE-dp", "chunk", 32, data_bound=True), "late=chunk"),  # borders go by load
)
