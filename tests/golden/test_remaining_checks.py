"""Acceptance checks that no test of one code, delay model or formula covers: schemes on a simulated clock.

Of the specifications: arXiv 2102.10163 (g) 14 (panel 1) and 17, arXiv 2011.01922 (f) 15 and 16.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.raptor import BatchRaptor
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.uncoded import Uncoded
from gcexp.delays import Pareto
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.run.stages import length_of, simulated
from gcexp.schemes import Fastest, Scheme
from gcexp.theory import order_statistics
from gcexp.timeline import Timeline, joined, simulate

# --- Sarmasarkar, Lalitha, Karamchandani: Fig. 4, panel 1 -------------------------------------------------------

DELAY = Pareto(scale=1e-3, shape=1.2, data_time=3e-3)
PANEL_1 = {  # code, load, mean time x 1e3, mean recovered fraction, guaranteed, rate
    "forget": (Uncoded(30), 1, 1.5612, 0.3667, 11, 234.9),
    "cyclic_12": (CyclicPartialRecovery(30, 19, 12), 2, 1.6612, 0.543, 12, 327),
    "cyclic_15": (CyclicPartialRecovery(30, 19, 15), 5, 1.9612, 0.755, 15, 385),
    "cyclic_20": (CyclicPartialRecovery(30, 19, 20), 10, 2.4612, 0.791, 20, 321),
    "frc": (FractionalRepetition(30, 5), 5, 1.9612, 0.9184, 15, 468),
    "cgc": (CyclicRepetition(30, 19), 20, 3.4612, 1.0, 30, 288.9),
}


@cache
def panel_1(name: str) -> Timeline:
    draws = DELAY.draw(seeds=(0,), iterations=4000, n=30)
    return simulate(Scheme(PANEL_1[name][0], Fastest(s=19)), draws)


def fractions(timeline: Timeline) -> np.ndarray:
    """Recovered fraction of each iteration."""
    assert np.isin(timeline.coefficients, (0, 1)).all()
    return timeline.coefficients.mean(1)[timeline.pattern]


@pytest.mark.parametrize("name", PANEL_1)
def test_panel_1(name):
    code, load, time, mean, guaranteed, rate = PANEL_1[name]
    timeline, fraction = panel_1(name), fractions(panel_1(name))
    assert (code.load == load).all()
    assert 1e3 * timeline.duration.mean() == pytest.approx(time, rel=0.03)
    assert fraction.mean() == pytest.approx(mean, abs=0.01) and fraction.min() >= guaranteed / 30 - 1e-12
    assert fraction.mean() / timeline.duration.mean() == pytest.approx(rate, rel=0.03)
    # The table's time is a closed form: load x data_time + E[X_{11:30}], not the maximum.
    waited = order_statistics.pareto(11, 30, scale=1e-3, shape=1.2)
    assert 1e3 * (3e-3 * load / 30 + waited) == pytest.approx(time, abs=6e-5)


def test_every_scheme_of_panel_1_waits_for_the_same_workers():
    """Equal loads, common draws: duration less work is the 11th smallest time of the same draws, in each iteration."""
    X = np.sort(DELAY.draw(seeds=(0,), iterations=4000, n=30).start, axis=-1)[..., 10]
    for name, (_, load, *_) in PANEL_1.items():
        np.testing.assert_allclose(panel_1(name).duration - 3e-3 * load / 30, X, rtol=1e-9)


@pytest.mark.slow
def test_raptor_of_panel_1():
    """One code per seed; the fastest 11 are those of small degree, which is why time and fraction go together."""
    parts = [
        simulate(Scheme(BatchRaptor(30, 19, 0.1, seed=seed), Fastest(s=19)), DELAY.draw((seed,), 40, 30))
        for seed in range(150)
    ]
    timeline = joined(parts)
    fraction = fractions(timeline)
    assert timeline.duration.shape == (150, 40)  # 6000 iterations
    assert 1e3 * timeline.duration.mean() == pytest.approx(2.68, rel=0.02)
    assert fraction.mean() == pytest.approx(0.95, abs=0.01)
    assert fraction.mean() / timeline.duration.mean() == pytest.approx(357, rel=0.03)


def test_persistence_keeps_delays_for_ten_iterations():
    draws = Pareto(scale=1e-3, shape=1.2, data_time=3e-3, persistence=10).draw((0, 1), 55, 30)
    for code, *_ in PANEL_1.values():
        timeline = simulate(Scheme(code, Fastest(s=19)), draws)
        changed = np.flatnonzero((np.diff(timeline.duration, axis=1) != 0).any(0)) + 1
        assert changed.tolist() == [10, 20, 30, 40, 50]
        assert (timeline.pattern[:, 1:10] == timeline.pattern[:, :1]).all()


@pytest.mark.parametrize("name", PANEL_1)
def test_decoded_is_the_masked_gradient(name):
    """(g) 17: encode, drop, decode against the sum over the recovered partitions."""
    code, timeline = PANEL_1[name][0], panel_1(name)
    g = np.random.default_rng(0).standard_normal((code.k, 20))
    sent = code.encode(g)
    for u in range(0, len(timeline.patterns), 40):
        answer = code.combine(sent, code.decode(timeline.patterns[u], partial=True).weights[0])
        masked = g[timeline.coefficients[u] == 1].sum(0)
        assert np.linalg.norm(answer - masked) <= 1e-5 * np.linalg.norm(masked)


# --- Buyukates, Ozfatura, Ulukus, Gunduz ------------------------------------------------------------------------

SIMULATION_2 = ["n=20", "code.d=3", "delay=markov", "delay.initial_slow=10", "iterations=400", "seeds=0-2"]
SCHEMES = {"gc": [], "gc_sc": ["code.clusters=5"], "gc_dc": ["code.clusters=5", "placement.memberships=3"]}


def clustering(scheme: str, *more: str) -> tuple[dict, Timeline]:
    config = compose([f"scheme={scheme}", *SIMULATION_2, *SCHEMES[scheme], *more])
    return config, simulated(config, length_of(config))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_decoded_is_the_uncoded_sum(scheme):
    """(f) 15, every pattern that occurs."""
    config, timeline = clustering(scheme)
    code = build_scheme(config, 0).code
    g = np.random.default_rng(0).standard_normal((20, 30))
    answers = code.decode(timeline.patterns).weights[:, 0] @ code.encode(g)
    off = np.linalg.norm(answers - g.sum(0), axis=1)
    assert len(answers) > 100 and off.max() <= 1e-8 * np.linalg.norm(g.sum(0))
    assert (timeline.coefficients == 1).all()


def test_presets_keep_order_and_bits():
    """(f) 10, 16: the bound, GC-SC and GC do not know of a swap rule; equal runs have equal bits."""
    times = {scheme: clustering(scheme)[1].duration for scheme in SCHEMES}
    for scheme, duration in times.items():
        np.testing.assert_array_equal(clustering(scheme)[1].duration, duration)
    config, same_class = clustering("gc_dc", "placement.swap_rule=same_class")
    assert (same_class.duration != times["gc_dc"]).any()
    arrival = build(config, "delay").draw((0, 1, 2), 400, 20).arrival(3 / 20, 1)
    bound = np.sort(arrival, axis=2)[:, :, 20 - 5 * (3 - 1) - 1]  # from fewer no cluster code decodes
    for duration in (times["gc_sc"], times["gc_dc"], same_class.duration):
        assert (bound <= duration).all() and (duration <= times["gc"]).all()
