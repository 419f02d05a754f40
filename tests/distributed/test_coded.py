"""A code in a DDP loop on four ranks: exact, not held up by late, stopped and killed ranks, and equal on all."""

from statistics import median

import numpy as np
import pytest

from gcexp.delays.trace_file import read_trace
from gcexp.distributed import join
from gcexp.seeding import rng
from tests.conftest import skip_where_busy

pytestmark = pytest.mark.slow

CYCLIC = {"code": ["CyclicRepetition", {"n": 4, "s": 1}], "wait": ["Fastest", {"s": 1}]}
FRACTIONAL = {"code": ["FractionalRepetition", {"n": 4, "d": 2}]}
SPANNED = {"code": ["CyclicRepetition", {"n": 4, "s": 2}], "wait": ["Spanned", {}]}
FORGET = {"code": ["Uncoded", {"n": 4}]}
GRADUAL = {"code": ["CyclicPartialRecovery", {"n": 4, "s": 1, "beta": 3}]}
LEARNED = {"wait": ["AdaptiveDeadline", {}]}
RING = {"form": "ring"}
CASES = {
    "cyclic, buckets, last batch": {"bucket_mb": 1e-4, "samples": 37},
    "cyclic, buckets, last batch, ring": {"bucket_mb": 1e-4, "samples": 37} | RING,
    "fractional, no_sync, views": FRACTIONAL | {"wait": ["Decodable", {}], "parts": 2, "view": True},
    "fractional, ring": FRACTIONAL | RING,
    "spanned, static graph": SPANNED | {"static": True},
    "uncoded, workers": FORGET | {"workers": 1},
    "uncoded, ring": FORGET | RING,
    "partial recovery": GRADUAL,
    "partial recovery, ring": GRADUAL | RING,
    "learned deadline": LEARNED,
    "every step": {"late": "every", "sleeps": [0, 0, 0, 0.02]},
    "bfloat16": {"kind": "bfloat16"},
    "bfloat16, ring": {"kind": "bfloat16"} | RING,
}


def seconds(found, others=(0, 1, 2)):
    """Of the ranks' steps behind the first two, in which DDP itself needs all ranks."""
    return [took for rank in others for took in found[rank]["seconds"][2:]]


def check(found, steps):
    """All that are there have made their steps without an error, and have equal bits."""
    there = [one for one in found if one]
    assert {one["error"] for one in there} == {""}
    assert {len(one["seconds"]) for one in there} == {steps}
    assert len({one["digest"] for one in there}) == 1


def beside(ranks, *runs):
    """What every rank finds in each of the runs, which have worlds of their own at the same time."""
    return [world[0] for world in ranks(*([run] for run in runs))]


SLEEPS = [0.0, 0.02, 0.04, 0.15]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return tmp_path_factory.mktemp("recorded") / "jobs"


@pytest.fixture(scope="module")
def trained(ranks, recorded):
    """All cases, one after another in one world; then ranks that sleep, in a recorded plain run and two coded ones."""
    slow = {"sleeps": SLEEPS, "batch": 16, "steps": 12}
    (found,) = ranks([*CASES.values(), slow | {"bare": True, "record": str(recorded)}, slow, slow | RING])
    return dict(zip([*CASES, "slow, plain", "slow", "slow, ring"], found, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_exact_and_replicas_equal(trained, name):
    found = trained[name]
    check(found, 8)
    approximate = name.startswith(("uncoded", "partial", "learned"))  # only rank 0 knows the coefficients
    judged = found[:1] if approximate else found
    assert max(error for one in judged for error in one["errors"]) < (0.05 if "bfloat16" in name else 1e-5)
    assert (found[0]["buckets"] > 1) == ("buckets" in name)
    if name == "every step":
        assert found[3]["computed"] == 8


def test_others_do_not_wait_for_a_slow_rank(trained):
    """Where they did, the slow rank would be behind in no step, and compute in all of them."""
    undisturbed = median(seconds(trained["bfloat16"]))
    for found in (trained["slow"], trained["slow, ring"]):
        check(found, 12)
        if undisturbed > 0.06:
            skip_where_busy(f"an undisturbed step takes {undisturbed:.3f} s")
        assert found[3]["computed"] < 12


def test_known_sleeps_are_recorded_before_the_collective(trained, recorded, tmp_path):
    assert [one["error"] for one in trained["slow, plain"]] == [""] * 4
    assert not (recorded / "rank-0000.csv").read_text().splitlines()[1].startswith(("0,", "1,"))
    join(recorded, tmp_path / "jobs.csv")
    times = read_trace(tmp_path / "jobs.csv").values["time"]
    assert times.shape == (9, 4)
    beyond = np.median(times, axis=0) - SLEEPS
    if beyond.max() > 0.03:
        skip_where_busy(f"steps without sleep take up to {beyond.max():.3f} s")
    assert beyond.min() > 0
    assert np.corrcoef(np.median(times, axis=0), SLEEPS)[0, 1] > 0.9
    slowest = np.median(times.max(1))  # all ranks' steps take as long as the slowest
    assert slowest < median(trained["slow, plain"][0]["seconds"][3:]) * 1.05


def test_a_killed_rank_stops_nobody(ranks):
    killed = {"harm": [3, 6, 0, "SIGKILL"], "steps": 20, "patience": 8}
    for found in beside(ranks, killed, killed | RING):
        assert found[3] is None
        check(found, 20)
        assert not any(heard[3] for heard in found[0]["heard"][7:])


def test_a_stopped_rank_stops_nobody_and_catches_up(ranks):
    stopped = {"harm": [3, 6, 0, "SIGSTOP", 1.5], "steps": 20}
    both = beside(ranks, stopped, stopped | RING)
    for found in both:
        check(found, 20)
    slowest = max(took for found in both for took in seconds(found))
    if slowest > 1.0:  # or it was stopped in a collective of the ring
        skip_where_busy(f"another rank's step took {slowest:.2f} s, the stop 1.5 s")
    assert all(found[3]["computed"] < 20 for found in both)


@pytest.mark.parametrize("form", ["star", "ring"])
def test_a_signal_at_any_moment_stops_nobody(ranks, form):
    moments = zip(0.4 * rng(0, "gcexp.signals").random(4), [["SIGKILL"], ["SIGSTOP", 1.0]] * 2, strict=True)
    run = {"form": form, "steps": 60, "patience": 8}
    for found in beside(ranks, *(run | {"harm": [2, 2, moment, *sign]} for moment, sign in moments)):
        check(found, 60)


def test_ranks_without_which_nothing_is_decoded_are_named(ranks):
    needed = {"wait": ["Fastest", {"s": 0}], "patience": 1, "linger": 5}
    killed, stopped = {"harm": [2, 5, 0, "SIGKILL"]}, {"harm": [2, 5, 0, "SIGSTOP", 2.5]}
    found = beside(ranks, *(needed | sign | form for sign in (killed, stopped) for form in ({}, RING)))
    for one in found[:2]:
        assert all("step 5: rank 2 is gone" in one[rank]["error"] for rank in (0, 1, 3)), one
    for one in found[2:]:
        assert all("step 5: ranks [2] have been silent" in one[rank]["error"] for rank in range(4)), one


def test_without_rank_0_the_others_end(ranks):
    killed = {"harm": [0, 5, 0, "SIGKILL"], "patience": 5, "steps": 500}  # more than are made before it ends
    for found in beside(ranks, killed, killed | RING):
        assert found[0] is None
        assert all("rank 0" in one["error"] for one in found[1:]), found
