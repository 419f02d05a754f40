"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): what the tables of figures rest on."""

from __future__ import annotations

from itertools import combinations

import pytest

from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.repetition import FractionalRepetition
from gcexp.errors import ParameterError, UserError
from gcexp.run.compose import composed_codes
from gcexp_papers.partial_recovery import numerics as tables
from gcexp_papers.partial_recovery import theory

pytestmark = pytest.mark.slow


def test_chosen_stragglers_are_the_worst():
    """Formula and enumeration agree where all sets can be tried."""
    for n, s, sizes, arcs in ((6, 3, [1, 2, 3, 6], [2]), (8, 5, [1, 2, 4], [2]), (9, 4, [3, 9], [2, 4])):
        frame = tables.chosen_stragglers(n, s, sizes, arcs, trials=10, seed=0)
        worst = frame[frame["stragglers"] == "any set"]
        assert (worst["recovered"] == worst["guaranteed"]).all()
        for d in sizes:
            least = tables.recovered_partitions(FractionalRepetition(n, d), s).min()
            assert least == worst.loc[worst["scheme"] == f"FRC, d = {d}", "recovered"].item()
        for p in arcs:
            code = tables.CyclicPartialRecovery(n, s, n - s - 1 + p)
            least = tables.recovered_partitions(code, s).min()
            assert least == worst.loc[worst["scheme"] == f"cyclic, p = {p}", "recovered"].item()


def test_partitions_that_a_cyclic_assignment_shows():
    """min(n, n-s+p-1) in the worst case."""
    frame = tables.chosen_stragglers(9, 4, [3, 9], [2, 4], trials=10, seed=0).set_index("scheme")
    for scheme, p in (("FRC, d = 3", 3), ("FRC, d = 9", 9), ("cyclic, p = 4", 4)):
        arcs = [{(w + i) % 9 for i in range(p)} for w in range(9)]
        least = min(len(set().union(*left)) for left in combinations(arcs, 5))
        assert set(frame.loc[scheme, "cyclic_visible"]) == {least} == {min(9, 5 + p - 1)}


@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
def test_the_shift_of_model_b_cancels(shift):
    first, second = theory.expected_times("B", 20, 0.75, 2000, sample_time=0.01, shift=shift, mean=2.0)
    assert second - first == pytest.approx(1 - 2 * sum(1 / i for i in range(6, 11)))


def test_a_count_needs_an_instance():
    with pytest.raises(ParameterError, match="sets_of_workers"):
        tables.count_cases(0, 3, 3, 3, 3, 4, 3)


@pytest.mark.parametrize(
    ("codes", "named"),
    [
        ({"code": "hadamard"}, ["hadamard"]),
        ([{"of": {"code": "cyclic_partial_recovery", "n": 6, "betta": 4}}], ["code.betta", "code.beta"]),
        (
            {"of": {"code": "clustered", "n": [10, 20, 30], "clusters": 2, "d": [2, 4]}},
            ["clustered", "3", "2"],
        ),
    ],
)
def test_a_mistake_in_a_code_is_named(codes, named):
    with pytest.raises(UserError) as raised:
        composed_codes(codes)
    assert all(word in str(raised.value) for word in named)


def test_analyses_refuse_other_codes():
    with pytest.raises(ParameterError, match="CyclicPartialRecovery"):
        tables.assignment([lambda: CyclicPartialRecovery(n=6, s=3, beta=4)], [3])
    with pytest.raises(ParameterError, match="n=12"):
        tables.cyclic_schemes(12, 5, divisible=10, other=10)
