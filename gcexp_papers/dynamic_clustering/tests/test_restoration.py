"""How many restorations of the running example agree with the paper's text."""

from gcexp_papers.dynamic_clustering import numerics
from gcexp_papers.dynamic_clustering.restoration import restorations


def test_three_choices_of_shifts_agree_with_the_whole_example():
    """Counted once more by a program that shares no code with this one."""
    found = restorations()
    assert len(found) == 320
    assert sum(len(one.partners) for one in found) == 616
    assert len({(one.layout, one.shifts) for one in found}) == 36
    whole = [one for one in found if one.one_example]
    assert {(one.layout, one.shifts) for one in whole} == {
        ("row", (1, 3, 1)),
        ("row", (2, 3, 1)),
        ("row", (3, 2, 1)),
    }


def test_the_example_that_is_shown_is_one_of_them():
    shown = [one for one in restorations() if one.slow == (0, 2, 4, 6, 10) and one.shifts == (1, 3, 1)]
    assert shown[0].one_example and 3 in shown[0].partners
    assert numerics.MATRIX[3:, 0].tolist() == [3, 5, 11]
