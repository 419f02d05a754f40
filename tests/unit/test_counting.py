"""Statements compared with instances: what is counted, and that none is true for want of an instance."""

import pytest

from gcexp.analysis.counting import collected
from gcexp.errors import ParameterError


def told():
    yield "lemma", "small", True
    yield "theorem", "every n", True
    yield "lemma", "large", False
    yield "lemma", "small", False


def silent():
    yield from ()


def test_rows_of_one_statement_stand_together():
    frame = collected([told(), told()])
    assert list(frame) == ["id", "what", "cases", "hold"]
    rows = [["lemma", "small", 4, 2], ["lemma", "large", 2, 0], ["theorem", "every n", 2, 2]]
    assert frame.to_numpy().tolist() == rows


@pytest.mark.parametrize(
    ("check", "name"),
    [
        (lambda: collected([told(), silent()]), "silent"),
        (lambda: collected([[]]), "a check"),
    ],
)
def test_nothing_holds_for_want_of_an_instance(check, name):
    with pytest.raises(ParameterError, match=f"^{name}: there is no instance to try$"):
        check()
