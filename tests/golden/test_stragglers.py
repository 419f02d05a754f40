"""Late workers, learned thresholds and shares on traces, by an own computation (to 2e-5); and no rule looks ahead.

The numbers of whole schemes stand in ``stragglers.expected.csv``, which `test_benchmark` compares.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from gcexp.codes import Clustered, CyclicRepetition, FractionalRepetition, PartialWork, Uncoded, UnevenShards
from gcexp.delays import Draws, LocalSteps, Trace, TraceDraws
from gcexp.schemes import (
    LATE,
    AdaptiveDeadline,
    Backup,
    Best,
    Covered,
    Decodable,
    DropCompute,
    Fastest,
    Given,
    Greedy,
    Hindsight,
    Pairs,
    PrefixDeadline,
    Scheme,
    Uneven,
    Zipper,
)
from gcexp.theory import bounds
from gcexp.timeline import Timeline, run_clock
from gcexp.traces.clean import read_record

CYCLIC, PAIRS = partial(CyclicRepetition, s=1), partial(FractionalRepetition, d=2)
CHUNKS, MICRO = partial(PartialWork, d=2, q=8), partial(PartialWork, d=1, q=8)


def trace_of(name: str, **more) -> tuple[Trace, int, int]:
    """The replay of the scored rows, how many they are, and its workers."""
    file = f"data/traces/{name}.csv"
    rows, workers = read_record(file).values["time"].shape
    return Trace(file, **({"skip": "prefix"} | more)), rows - max(1, rows // 10), workers


def played(name: str, code, wait=None, placement=None, *, late="stop", loads=None, **of_trace) -> Timeline:
    """The scored rows under a scheme, whose code is made for the workers of the trace."""
    delay, rows, n = trace_of(name, **of_trace)
    return run_clock(
        Scheme(code(n), wait or Decodable(), 0.0, placement, late, loads=loads), delay, (0,), rows
    )


def mean(name: str, *scheme, **more) -> float:
    return float(played(name, *scheme, **more).duration.mean())


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        pytest.param("best", 0.358504),
        pytest.param("median", 1.20338, marks=pytest.mark.slow),
        pytest.param("worst", 1.81577, marks=pytest.mark.slow),
    ],
)
def test_seats_in_hindsight(which, expected):  # E35, of all 945 pairings
    took = mean("pai-job4", PAIRS, None, Hindsight(which, pairs=True))
    assert took / mean("pai-job4", Uncoded) == pytest.approx(expected, rel=2e-5)


def test_thresholds_that_dropcompute_learns():
    """E26 to E28: seen as the largest time at which a micro-batch is still begun."""
    for name, M, expected in (
        ("pai-job1", 8, 387.176),
        ("pai-job4", 8, 52.7136),
        ("bytedance-AR-chunk", 32, 19.3605),
    ):
        below, learned, above = (
            mean(name, partial(MICRO, q=M), DropCompute(tau=tau))
            for tau in (expected * (1 - 1e-5), None, expected * (1 + 1e-5))
        )
        assert below <= learned <= above


def test_dropcompute_is_the_same_for_all_late_workers():
    durations = [played("pai-job4", MICRO, DropCompute(), late=late).duration for late in LATE]
    assert all(np.array_equal(durations[0], other) for other in durations[1:])
    assert mean("pai-job4", MICRO, DropCompute(check="cut")) < durations[0].mean()


def test_shares_in_whole_partitions():  # E33
    fixed, growing = trace_of("pai-job4")[0].draw((0,), 1, 10).before().parts()
    shares = bounds.water_loads(fixed.mean(1), growing.mean(1))[0]
    code = UnevenShards(loads=tuple(shares), k=40)
    assert code.load.tolist() == [2, 7, 7, 7, 5, 2, 1, 1, 1, 7]
    assert (code.decode(code.messages[None]).coefficients == 1).all()


def test_local_steps_whose_fixed_part_is_paid_once_a_round():  # E34
    delay, rows, n = trace_of("bytedance-SE-dp", phi=0.5)
    scheme, rounds = Scheme(Uncoded(n), Decodable()), rows // 10
    took = run_clock(scheme, LocalSteps(delay, 10, "round"), (0,), rounds).duration.mean()
    each = run_clock(scheme, delay, (0,), 10 * rounds).duration.mean()
    assert took / each == pytest.approx(0.461709, rel=2e-5)


def test_data_bound_in_closed_form():  # B7
    draws, each = {}, mean("bytedance-SE-dp", Uncoded)
    for phi in (0.0, 0.5, 0.9):
        delay, rows, n = trace_of("bytedance-SE-dp", phi=phi, data_bound=True)
        drawn = delay.draw((0,), rows, n)
        draws[phi] = drawn.start[0], drawn.chunks[0, ..., 0]
    asked = [*((phi, 2) for phi in draws), (0.0, 3)]
    found = [bounds.data_bound(*draws[phi], d).mean() / each for phi, d in asked]
    assert found == pytest.approx([1.68884, 1.18884, 0.838480, 2.38784], rel=2e-5)
    shared = [bounds.shared_work(*draws[phi]).mean() / each for phi in (0.0, 0.5)]
    assert shared == pytest.approx([0.791247] * 2, rel=2e-5)
    assert mean("bytedance-SE-dp", PAIRS, data_bound=True) / each / found[0] - 1 == pytest.approx(
        0.0668, abs=5e-5
    )


def test_equal_micro_batches_are_the_scaled_law():
    random = np.random.default_rng(0)
    x, rho = random.exponential(1, (2, 7, 4)), random.uniform(0, 3, (2, 7, 4))
    chunked = TraceDraws((0, 1), x.shape, chunks=np.repeat(x[..., None] / 8, 8, -1))
    scaled = Draws((0, 1), x.shape, compute=4 * x)
    np.testing.assert_allclose(chunked.arrival(rho / 4, 1), scaled.arrival(rho / 4, 1), rtol=1e-12)
    np.testing.assert_allclose(chunked.parts()[1], scaled.parts()[1], rtol=1e-12)


# --- No rule looks ahead ------------------------------------------------------------------------------------------

CLUSTERS = partial(Clustered, clusters=2, d=3)
GREEDY = {"clusters": 2, "memberships": 2}

#: What learns or moves work, and sees nothing but what was: code, rule of stopping, placement, loads. The contract of
#: waiting rules asks the same of every rule.
HONEST = {
    "given": (PAIRS, Decodable(), Given([3, 1, 4, 5, 9, 2, 6, 8, 7, 0]), None),
    "zipper": (CHUNKS, Covered(), Zipper(), None),
    "adaptive_deadline": (Uncoded, AdaptiveDeadline(), None, None),
    "prefix_deadline": (Uncoded, PrefixDeadline(), None, None),
    "dropcompute": (MICRO, DropCompute(), None, None),
    "pairs": (PAIRS, Decodable(), Pairs(2), None),
    "greedy, arrival": (CLUSTERS, Decodable(), Greedy(**GREEDY, observe="arrival"), None),
    "greedy, threshold": (CLUSTERS, Decodable(), Greedy(**GREEDY, observe="threshold", threshold=3e2), None),
    "best, censored": (CLUSTERS, Decodable(), Best(**GREEDY, observe="censored", threshold=300.0), None),
    "uneven, last": (Uncoded, Decodable(), None, Uneven("last")),
    "uneven, prefix": (Uncoded, Decodable(), None, Uneven("prefix")),
    "backup": (Uncoded, Fastest(s=1), None, Backup(1)),
}


def attack(code, wait, placement, loads, folder) -> None:
    """Alter the rows behind the eighth scored one, and the learned ones stay: whoever saw that is found."""
    rows, prefix, cut = read_record("data/traces/pai-job4.csv").values["time"][:40], 4, 12
    altered = rows.copy()
    altered[cut:] = 7 * np.random.default_rng(0).permuted(rows[cut:], axis=1)
    delays = []
    for name, x in (("as_it_was", rows), ("altered", altered)):
        lines = [f"{t},{w},{float(time)!r}" for (t, w), time in np.ndenumerate(x)]
        (folder / f"{name}.csv").write_text("\n".join(["iteration,worker,time", *lines, ""]))
        delays.append(Trace(str(folder / f"{name}.csv"), phi=0.2, skip="prefix"))
    differ = False
    for late in LATE:
        scheme = Scheme(code(10), wait, 0.5, placement, late, loads=loads)
        one, other = (run_clock(scheme, delay, (0,), len(rows) - prefix) for delay in delays)
        same = slice(cut - prefix)
        np.testing.assert_array_equal(one.duration[0, same], other.duration[0, same])
        heard = [timeline.patterns[timeline.pattern[0, same]] for timeline in (one, other)]
        np.testing.assert_array_equal(*heard)
        differ |= (one.duration != other.duration).any() or (one.pattern != other.pattern).any()
    assert differ  # behind the cut, or the attack would see nothing


@pytest.mark.parametrize("name", HONEST)
def test_later_rows_change_nothing_that_was(name, tmp_path):
    attack(*HONEST[name], tmp_path)


class Peeking(Decodable):
    """Stops at what comes in the next iteration, where all are at hand."""

    def stop(self, code, arrive):
        time, responses = super().stop(code, arrive)
        time[:, :-1] = time[:, 1:]
        return time, responses


@pytest.mark.parametrize(
    "peeking", [(PAIRS, Decodable(), Hindsight(sampled=20), None), (Uncoded, Peeking(), None, None)]
)
def test_a_rule_that_looks_ahead_is_found(peeking, tmp_path):
    with pytest.raises(AssertionError, match="not equal"):
        attack(*peeking, tmp_path)


class InPieces(SimpleNamespace):
    """A trace whose rows are drawn when they are asked for, some at a time."""

    def start(self, seeds, n):
        first = count(step=3)
        return lambda T: replace(self.trace, start=next(first)).draw(seeds, T, n)

    def draw(self, *pieces, **n):  # where the placement sees all rows, they are one piece
        return self.trace.draw(*pieces, **n)


@pytest.mark.parametrize("name", HONEST)
def test_the_same_bytes_for_any_stacking(name):
    """Two seeds at once or one by one, all rows at once or three at a time: what is carried loses nothing."""
    code, wait, placement, loads = HONEST[name]
    delay = Trace("data/traces/pai-job4.csv", phi=0.2, skip="prefix", workers="random")
    scheme = Scheme(code(10), wait, 0.5, placement, "chunk", 3, loads=loads)
    whole = run_clock(scheme, delay, (0, 1), 8)
    for part, seeds in (
        *((run_clock(scheme, delay, (seed,), 8), [seed]) for seed in (0, 1)),
        (run_clock(scheme, InPieces(trace=delay), (0, 1), 8, chunk=30), [0, 1]),
    ):
        np.testing.assert_array_equal(part.duration, whole.duration[seeds])
        heard = part.patterns[part.pattern], whole.patterns[whole.pattern[seeds]]
        np.testing.assert_array_equal(*heard)


@pytest.mark.parametrize("late", [late for late in LATE if late != "stop"])
def test_waiting_for_all_has_equal_bits_whatever_late_workers_do(late):
    """With even and with uneven shares; and so has local SGD."""
    for loads in (None, Uneven("last"), Uneven("hindsight", 2.0)):
        durations = [
            played("bytedance-AR-dp", Uncoded, late=v, loads=loads, phi=0.25).duration for v in ("stop", late)
        ]
        np.testing.assert_array_equal(*durations)
    delay, rows, n = trace_of("bytedance-AR-dp")
    took = [
        run_clock(Scheme(Uncoded(n), Decodable(), late=v), LocalSteps(delay), (0,), rows // 10).duration
        for v in ("stop", late)
    ]
    np.testing.assert_array_equal(*took)


def test_backup_is_ignoring_over_its_share_and_ratios_are_linear_in_phi():
    ignore, backup = (mean("pai-job4", Uncoded, Fastest(s=1), loads=loads) for loads in (None, Backup(1)))
    assert backup == pytest.approx(ignore / 0.9, rel=1e-12)
    for scheme in ((CYCLIC, Fastest(s=1)), (PAIRS, None, Pairs(2))):
        none, some, all_ = (mean("pai-job4", *scheme, phi=phi) for phi in (0.0, 0.25, 1.0))
        assert some == pytest.approx(0.75 * none + 0.25 * all_, rel=1e-12)
