"""Ye and Abbe (ICML 2018): the functions that make the paper's diagrams and the table of rounding errors."""

from __future__ import annotations

from functools import partial

import pytest

from gcexp.analysis import coefficients
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.errors import ParameterError
from gcexp.figures.coefficients import decoded_sums
from gcexp.report.figurefile import figure
from gcexp.report.table import assemble
from gcexp_papers.comm_efficient import numerics as tables

pytestmark = pytest.mark.slow


def test_diagram_says_what_is_sent_and_decoded():
    frame, _ = assemble(figure("comm_efficient_fig2", "quick"))
    part = frame[frame["code"] == "(a) s = 2, m = 1, each coordinate alike"]
    assert decoded_sums(part, several_rounds=False)[0] == "without 3 4: sum = f₀ − f₁ + f₂"


def test_rounds_and_survival():
    code = CommunicationEfficient(5, 3, 2)
    assert coefficients.survival(code) == (1, 6, 6)
    assert coefficients.responses_of_rounds(code, (2,)).tolist() == [1, 1, 0, 1, 1]
    with pytest.raises(ParameterError, match="does not decode without the workers 0 1"):
        coefficients.responses_of_rounds(code, (0, 1))
    with pytest.raises(ParameterError, match="no fraction with a small denominator"):
        coefficients.exact(2**0.5)


def test_condition_numbers_are_exact():
    """float64 ends near 1e16; these are the values of the specification."""
    for n, expected in ((10, 1.1e5), (25, 2.09e20)):
        found = max(tables.condition_number(n, (w,)) for w in range(n))
        assert found == pytest.approx(expected, rel=0.06)


def test_methods_of_stability_have_the_same_codes():
    methods = [{"label": f"d = {d}", "of": [partial(CommunicationEfficient, 5, d, 3)]} for d in (4, 5)]
    with pytest.raises(ParameterError, match=r"d=4.*d=5"):
        tables.stability(methods, length=6)
