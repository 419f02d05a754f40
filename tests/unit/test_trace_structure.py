"""What `gcexp trace check` says of a trace: planted racks, bursts and drift are found, and nothing in noise."""

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main
from gcexp_adviser.diagnosis.trace_structure import structure

NOISE = {
    "exponential": lambda draw, shape: 1 + draw.exponential(size=shape),
    "Pareto": lambda draw, shape: 1 + draw.pareto(1.5, size=shape),
    "narrow": lambda draw, shape: np.exp(0.1 * draw.standard_normal(shape)),
    "unequal": lambda draw, shape: draw.exponential(size=shape) * draw.uniform(0.5, 2, shape[1]),
    "whole": lambda draw, shape: 1 + draw.poisson(3, size=shape),  # ties
}


def said(times):
    return structure(times, tuple(range(times.shape[1])))


@pytest.mark.parametrize("law", NOISE)
def test_noise_has_no_structure(law):
    """Ten traces of each law, of 40 to 400 iterations of 2 to 60 workers."""
    for seed in range(10):
        shape = ((40, 60, 100, 400)[seed % 4], (2, 9, 60)[seed % 3])
        assert said(NOISE[law](np.random.default_rng(seed), shape)) == [], (law, seed, shape)


@pytest.mark.parametrize("common", [0, 0.7])
def test_racks_are_found(common):
    """Workers correlated .99 inside and 0 between, in racks that are not neighbours; also under a load of all."""
    draw = np.random.default_rng(1)
    of_rack = np.tile(draw.standard_normal((200, 4)), 6) + common * draw.standard_normal((200, 1))
    (found,) = said(np.exp(0.3 * (of_rack + 0.1 * draw.standard_normal((200, 24)))))
    assert found.startswith("racks") and "(0, 4, 8, 12, 16, 20; 1, 5, 9, " in found
    if not common:
        assert "0.99" in found


def test_what_all_share_is_no_rack():
    draw = np.random.default_rng(2)
    (found,) = said(np.exp(draw.standard_normal((200, 1)) + 0.3 * draw.standard_normal((200, 8))))
    assert found.startswith("all workers") and "0.9" in found


def test_workers_that_last_are_no_racks():
    """Independent workers that stay slow for twenty iterations: their correlations scatter far more than noise."""
    draw = np.random.default_rng(3)
    slow = np.zeros((300, 30), dtype=bool)
    for t in range(1, 300):
        slow[t] = draw.random(30) < np.where(slow[t - 1], 0.95, 0.02)
    (found,) = said(np.where(slow, 5, 1) * (1 + 0.1 * draw.random((300, 30))))
    assert found.startswith("bursts: once slow") and " 1." in found


def test_bursts_of_all_workers_are_found():
    times = 1 + 0.1 * np.random.default_rng(4).random((300, 20))
    times[100:110] *= 2
    times[250] *= 2
    assert said(times)[-1].startswith("bursts") and "11 of 300 iterations (100-109, 250)" in said(times)[-1]


def bursts(slow):
    return [sentence for sentence in said(np.where(slow, 5.0, 1.0)) if sentence.startswith("bursts")]


@pytest.mark.parametrize(("pairs", "told"), [(40, True), (39, False)])
def test_the_limit_of_bursts_of_a_worker_stands_where_it_is(pairs, told):
    """Eight workers, each slow in 18 of 300 iterations: so many in a row by chance 5.3e-7 and 1.3e-6 of the time."""
    draw, slow = np.random.default_rng(7), np.zeros((300, 8), dtype=bool)
    for worker, own in enumerate([pairs - 7 * 5] + 7 * [5]):
        places = 3 * draw.permutation(100)[: 18 - own]
        slow[places, worker] = True
        slow[places[:own] + 1, worker] = True
    assert (slow.sum(0) == 18).all() and (slow[1:] & slow[:-1]).sum() == pairs
    assert [sentence[:17] for sentence in bursts(slow)] == ["bursts: once slow"] * told


@pytest.mark.parametrize(("others", "told"), [(75, True), (90, False)])
def test_the_limit_of_bursts_of_all_workers_stands_where_it_is(others, told):
    """Seven of ten workers at once, in 300 iterations with so many more slow times: by chance 3.8e-7 and 1.2e-6."""
    draw, slow = np.random.default_rng(8), np.zeros((300, 10), dtype=bool)
    slow[299, :7] = True
    for place in draw.permutation(1000)[:others]:
        slow[3 * (place // 10), place % 10] = True
    assert slow.sum() == 7 + others and slow.sum(1).max() == 7 and not (slow[1:] & slow[:-1]).any()
    assert [sentence[-5:] for sentence in bursts(slow)] == ["(299)"] * told


@pytest.mark.parametrize("shape", ["slope", "step"])
def test_drift_is_found(shape):
    draw, at = np.random.default_rng(5), np.linspace(0, 1, 300)
    growth = 1 + 0.5 * (at if shape == "slope" else at > 0.5)
    times = (1 + draw.exponential(size=(300, 20))) * growth[:, None]
    for given, word in ((times, "longer"), (times[::-1], "shorter")):
        (found,) = said(given)
        assert found.startswith("drift") and word in found


def test_the_command_says_it_and_what_phi_takes_for_granted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(6)
    rack = np.repeat(1 + draw.exponential(size=(60, 2)), 2, axis=1)
    iteration, worker = np.indices(rack.shape).reshape(2, -1)
    times = pd.DataFrame({"iteration": iteration, "worker": worker, "time": rack.ravel()})
    for table, named in (
        (times, ("racks", "(0-1; 2-3)", "delay.phi=0")),
        (times[:80], ("fewer than 40",)),
        (times.assign(compute=times["time"] / 4), ("25%", "column compute")),
    ):
        table.to_csv("trace.csv", index=False)
        assert main(["trace", "check", "trace.csv"]) == 0
        said_of = capsys.readouterr().out
        assert all(part in said_of for part in named)
