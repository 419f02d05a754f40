"""Sakorikar and Wang (arXiv 2105.05231): the analyses behind the figures, at small sizes."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.theory.errors import soft_smallest_mu
from gcexp_papers.soft_bibd import numerics
from gcexp_papers.soft_bibd.theory import soft_paper_smallest_mu


def test_soft_designs_beside_a_design():
    """Small enough to know: at s = n - 1 every row has weight 2, and the mean over all sets is the design's error."""
    table = numerics.design_and_soft(
        "complete-3-2", [{"n": 3, "k": 3, "d": 2}], realisations=4, trials=200, checks=3
    )
    design = table[table["label"] == "BIBD (3, 2, 1)"].set_index("s")["value"]
    np.testing.assert_allclose(design, [0, 1 / 9, 1 / 3, 1], atol=1e-12)
    soft = table[table["label"] == "Soft BIBD, n = 3"]
    assert set(soft["realisation"]) == {0, 1, 2, 3} and (soft["trials"] == 200).all()
    at = soft[soft["s"] == 2]
    assert ((at["value"] - 1 / 3).abs() <= 4 * at["stderr"] + 1e-12).all()
    worst = table[table["quantity"] == "worst"].set_index(["s", "realisation"])["value"]
    assert (worst[2] >= 1 / 3 - 1e-12).all()
    assert table[table["quantity"] == "pseudoinverse"]["value"].max() < 1e-9


def test_theorem_1_grants_less_than_exists():
    rho = np.linspace(0, 1, 401)
    for n in (2, 5, 16, 20):
        granted = soft_paper_smallest_mu(n, rho)
        whole = np.arange(n + 1) / n
        assert (granted >= soft_smallest_mu(n, rho) - 1e-12).all() and (granted <= rho + 1e-12).all()
        np.testing.assert_allclose(soft_paper_smallest_mu(n, whole), soft_smallest_mu(n, whole), atol=1e-12)
    assert soft_paper_smallest_mu(20, 0.375) / 0.375 == pytest.approx(7 / 19)
