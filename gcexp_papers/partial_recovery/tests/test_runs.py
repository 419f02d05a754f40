"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): what the costs of Fig. 4 rest on."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.repetition import FractionalRepetition
from gcexp.report import figurefile
from gcexp.theory import order_statistics
from gcexp_papers.partial_recovery import numerics as tables


def test_a_decoder_that_stops_at_beta_favours_no_intermediate_load():
    """((p + n - s - 1) / n) / (p t0 + E[X]) rises with p, from Forget-19 to full recovery."""
    wait = order_statistics.pareto(11, 30, scale=1e-3, shape=1.2)
    rates = [(p + 10) / 30 / (1e-4 * p + wait) for p in range(1, 21)]
    assert rates == sorted(rates)
    for p in (2, 5, 10):
        code = CyclicPartialRecovery(30, 19, 10 + p, decoder="exact")
        responses = tables.random_sets(30, 19, 50, seed=0)
        assert (code.decode(responses).coefficients.sum(1) == 10 + p).all()


@pytest.mark.parametrize(
    ("code", "mean", "deviation"),
    [  # mean and deviation over all C(30,19) straggler sets, enumerated outside this suite
        (CyclicPartialRecovery(30, 19, 12), 0.542859962, 0.058030),
        (CyclicPartialRecovery(30, 19, 15), 0.754733805, 0.088447),
        (CyclicPartialRecovery(30, 19, 20), 0.790617329, 0.161100),
        (FractionalRepetition(30, 5), 0.918403436, 0.097487),
    ],
)
def test_means_of_fixed_s_are_known_exactly(code, mean, deviation):
    analysis = figurefile.figure("partial_recovery_fig4_costs", "paper").file.analysis
    responses = tables.random_sets(30, 19, analysis["trials"], analysis["seed"])
    fractions = code.decode(responses, partial=True).coefficients.mean(1)
    assert abs(fractions.mean() - mean) <= 4.5 * deviation / np.sqrt(analysis["trials"])
    assert fractions.std() == pytest.approx(deviation, rel=0.03)


def test_mean_of_repetition_over_random_sets():
    frame = tables.chosen_stragglers(30, 19, [2, 3, 5, 6, 10], [], trials=20000, seed=0)
    for d in (2, 3, 5, 6, 10):
        lost = comb(30 - d, 19 - d) / comb(30, 19)  # one group
        both = comb(30 - 2 * d, 19 - 2 * d) / comb(30, 19) if 2 * d <= 19 else 0.0
        groups = 30 // d
        variance = (lost + (groups - 1) * both) / groups - lost**2
        found = frame.loc[frame["scheme"] == f"FRC, d = {d}", "random_mean"].iloc[0]
        assert abs(found - (1 - lost)) <= 4.5 * np.sqrt(variance / 20000)
