"""Sakorikar and Wang (arXiv 2105.05231): the analyses behind the figures, at small sizes."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.theory.errors import soft_smallest_mu
from gcexp_papers.soft_bibd import numerics
from gcexp_papers.soft_bibd.theory import soft_paper_smallest_mu


def test_where_soft_designs_and_designs_exist():
    """Every whole k up to 16 has a Soft BIBD; a design of n = 16 and density 3/8 is possible for k = 16 only."""
    table = numerics.existence([{"n": 16, "density": 0.375}], 6, [7], 16, [0.4, 0.5], points=20)
    found = table.dropna(subset=["value"]).set_index("what")["value"]
    assert found["soft k"] == 16 and found["constructed k"] == found["possible k"] == 1
    assert found["agreeing points"] == 20 and found["sampled"] == 1
    (own,) = table[table["what"] == "design"].to_dict("records")
    assert (own["design"], own["load"], own["intersection"]) == ("bent-2", 6, 2)
    assert set(table[table["what"] == "other design"]["design_n"]) == {7}


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


def test_a_product_lies_between_its_bounds():
    table = numerics.product_of_designs("complete-3-2", "complete-4-3")
    curves = table.dropna(subset=["s"]).pivot(index="s", columns="label", values="value")
    products = [name for name in curves if name.startswith("product")]
    lower, found = (curves[f"product: {name}"] for name in ("Theorem 6", "worst set found (ours)"))
    for name in products:
        assert (curves[name].dropna() >= lower - 1e-9).all()
    assert (found <= curves["product: Theorem 5"] + 1e-9).all()
    assert curves.loc[12, products].to_numpy() == pytest.approx(1)
    known = table[table["relation"] == "parameters"].set_index("label")
    assert tuple(known.loc["product", ["n", "k", "load", "redundancy"]]) == (12, 12, 6, 6)


def test_theorem_1_grants_less_than_exists():
    rho = np.linspace(0, 1, 401)
    for n in (2, 5, 16, 20):
        granted, whole = soft_paper_smallest_mu(n, rho), np.arange(n + 1) / n
        assert (granted >= soft_smallest_mu(n, rho) - 1e-12).all() and (granted <= rho + 1e-12).all()
        np.testing.assert_allclose(soft_paper_smallest_mu(n, whole), soft_smallest_mu(n, whole), atol=1e-12)
    assert soft_paper_smallest_mu(20, 0.375) / 0.375 == pytest.approx(7 / 19)
