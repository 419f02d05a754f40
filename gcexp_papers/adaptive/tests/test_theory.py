"""Restarts of many workers, and what the closed forms refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from gcexp_papers.adaptive import theory
from tests.conftest import refusals


@pytest.mark.parametrize("p", [0.0, 0.9])
def test_restarts_of_many_workers(p):
    chances = theory.first_epoch(1100, p, 3)  # was an OverflowError from 1030 on
    left = binom.cdf(3, 1100, p ** np.arange(1, len(chances) + 1))  # of 1100 after so many epochs
    np.testing.assert_allclose(chances.sum(1).cumsum(), left, atol=1e-9)


test_refuses = refusals(
    (lambda: theory.first_epoch(5, 1.0, 1), "p"),
    (lambda: theory.rounds(6, 3, 3), "got s=3, d=3"),
    (lambda: theory.fixed_costs(4, 2, 12), "got q=2, w=12, d=4"),
)
