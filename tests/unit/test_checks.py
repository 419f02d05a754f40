"""Checks of a module become rows of its table and claims of its figure, with what they declare."""

import sys
import types

import pytest

from gcexp.analysis.checks import COLUMNS, Check, check, checks, declarations, outcomes, tabulated
from gcexp.analysis.declared import gives
from gcexp.errors import Defect, ParameterError
from gcexp.report.claims import check as judged
from gcexp.report.claims import validate
from gcexp.report.expected import claims_of_checks
from gcexp.report.statements import Statement

STATED = {"doubles": Statement("doubles", "Sec. II", "remark", "2 n is even", "", "", "yes", "small large")}


@pytest.fixture
def module(monkeypatch):
    """A module with three checks, one of which does not hold everywhere."""
    made = types.ModuleType("checks_of_a_test")

    @check(over="n < most", grade="enumerated", rests_on=("operator:mul",), answers=("doubles/small",))
    def doubles(most):
        """Two n is even."""
        return (2 * n % 2 == 0 for n in range(most))

    @checks(
        Check(id="large", what="A is even", over="one number", grade="built", answers=("doubles/large",)),
        Check(id="odd", what="n is odd", over="two numbers", kind="companion", contradicts=(), reason="2"),
    )
    def more(most, seed=0):
        yield "odd", True
        yield "large", True
        yield "odd", False

    doubles.__module__ = more.__module__ = made.__name__
    made.doubles, made.more = doubles, more
    made.statements = gives(*COLUMNS, checks=(made.__name__,))(
        lambda most: tabulated(made.__name__, most=most)
    )
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_a_row_and_a_claim_for_every_check(module):
    table = module.statements(3)
    assert table.to_numpy().tolist() == [
        ["doubles", "Two n is even", "n < most", 3, 3, 1.0],
        ["large", "A is even", "one number", 1, 1, 1.0],
        ["odd", "n is odd", "two numbers", 2, 1, 0.5],
    ]
    assert module.statements.columns(most=3) == list(COLUMNS) == list(table)
    assert module.statements.declared_checks() == declarations(module.__name__)
    claims = claims_of_checks(declarations(module.__name__), STATED)
    validate(claims, None, stated=STATED["doubles"].answerable, columns=COLUMNS)
    assert [(c["id"], c.get("answers"), c["source"]) for c in claims] == [
        ("share: id = doubles", ["doubles/small"], "Sec. II"),
        ("share: id = large", ["doubles/large"], "Sec. II"),
        ("share: id = odd", None, "ours"),
    ]
    assert claims[0]["rests_on"] == ["operator:mul"] and claims[0]["statement"] == "Two n is even; n < most"
    entries = judged(claims, table, "paper", "statements")
    assert [(e["outcome"], e["grade"], e["contradicts"], e["reason"]) for e in entries] == [
        *(("holds", "enumerated", None, ""), ("holds", "built", None, ""), ("does not hold", "", [], "2")),
    ]
    assert len({e["check"] for e in entries}) == 3


def test_a_check_without_instances_or_with_others_stops(module):
    with pytest.raises(ParameterError, match="doubles: there is no instance to try"):
        outcomes(module.doubles, most=0)

    @checks(Check(id="a", what="a", over="b"))
    def wrong():
        yield "b", True

    with pytest.raises(Defect, match="wrong tells 'b' and declares a"):
        outcomes(wrong)
