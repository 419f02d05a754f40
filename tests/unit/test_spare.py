"""SPARe and its reordering: how few stacks it needs, how many failures it endures, and what it trains."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes import SPARe
from gcexp.delays.markov import TwoStateMarkov
from gcexp.run.measurement import Measurement
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings
from gcexp.schemes import Covered, Reordering, Scheme
from gcexp.summary import summarise, summary_of
from gcexp.theory.failures import until_loss
from gcexp.timeline import run_clock


def test_a_run_in_pieces_has_the_same_bits():
    scheme = Scheme(SPARe(n=7, d=3), Reordering(), late="finish")
    delay = TwoStateMarkov(p=0.2, mu_s=0.05)
    whole, pieces = (run_clock(scheme, delay, (0, 1), 30, chunk=chunk) for chunk in (None, 30))
    for name in ("duration", "pattern", "patterns", "messages", "coefficients"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    streamed, kept = summarise(scheme, delay, (0, 1), 30), summary_of(whole, decodes=True)
    np.testing.assert_array_equal(streamed.duration, kept.duration)
    assert (streamed.error == 0).all() and (kept.least == 1).all()


def slow_workers(n: int, slow: set[int]) -> np.ndarray:
    return np.array([[w in slow for w in range(n)]])


def stacks(code: SPARe, ranks: np.ndarray, slow: set[int]) -> int:
    """Messages that each worker computes until every partition has come from somebody who is not slow."""
    _, partition = code.encoding.tocoo().coords
    for r in range(1, code.d + 1):
        heard = [
            p for p, w, rank in zip(partition, code.owner, ranks, strict=True) if rank < r and w not in slow
        ]
        if len(set(heard)) == code.k:
            return r
    return code.d + 1


def test_reordering_needs_the_fewest_stacks_and_never_more_than_the_codes_own_order():
    random, code = np.random.default_rng(0), SPARe(n=21, d=4)
    saved = 0
    for _ in range(20):
        slow = set(random.choice(21, 5, replace=False).tolist())
        ranks = Reordering().order(code, slow_workers(21, slow))[0]
        new, own = stacks(code, ranks, slow), stacks(code, code.rank, slow)
        assert new <= own
        saved += own - new
        if own <= code.d:
            assert new == 2  # 16 workers send 21 partitions
    assert saved > 10
    np.testing.assert_array_equal(Reordering().order(code, slow_workers(21, set()))[0], code.rank)


def test_reordering_saves_time_where_slow_workers_stay_slow():
    delay = TwoStateMarkov(p=0.0, initial_slow=8, mu_s=0.01, mu_f=20.0, alpha=0.3)
    reordered, own = (
        summarise(Scheme(SPARe(n=32, d=5), rule), delay, range(4), 30) for rule in (Reordering(), Covered())
    )
    assert reordered.duration.mean() < 0.9 * own.duration.mean()
    assert (reordered.error == 0).all() and (own.error == 0).all()


def test_spare_is_trained_and_replayed():
    """Message by message, with an order; in the code's own order as many messages would decode something else."""
    slow = ("delay=markov", "delay.p=0", "delay.mu_s=0.01", "delay.initial_slow=8")
    length = ("iterations=8", "seeds=1", "task=digits_mlp", "task.verify_every=2")
    run = Run.of(["scheme=spare", "n=32", "code.d=5", "exact=false", *slow, *length])
    measurement = Measurement(run, HomeTrainings(progress=False))
    # every second of eight iterations, and the first at which other workers are heard
    assert measurement.report["passed"] and len(measurement.report["checks"]) == 5
    timeline = measurement.timeline
    assert (timeline.coefficients == 1).all()
    by_count = run.scheme.code.decode(timeline.patterns, partial=True).coefficients
    assert (by_count != 1).any(), "the order never mattered"


@pytest.mark.parametrize(("offsets", "low", "high"), [("golomb", -0.015, 0.015), ("consecutive", 0.07, 0.09)])
def test_failures_until_a_shard_is_lost(offsets, low, high):
    """Near the formula with Golomb offsets, 7 to 9 % above it with consecutive ones."""
    n, d, random = 600, 10, np.random.default_rng(0)
    orders = np.array([random.permutation(n) for _ in range(2000)])
    found = SPARe(n, d, offsets).failures_until_loss(orders)
    error = found.std() / len(found) ** 0.5 / until_loss(n, d)
    above = found.mean() / until_loss(n, d) - 1
    assert low - 3 * error < above < high + 3 * error
    assert error < 0.004
