"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): the tables of figures that need no training."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.repetition import FractionalRepetition
from gcexp.errors import ParameterError, UserError
from gcexp.run.named_codes import composed_codes
from gcexp.testing import table
from gcexp.theory import partial_recovery as theory
from gcexp_papers.partial_recovery import numerics as tables

pytestmark = pytest.mark.slow


def test_table_2():
    frame = table("partial_recovery_table2")
    assert frame["sent_alone"].tolist() == ["2 3", "0 6", "1 4", "5 7", "8 9"]
    assert frame["chosen"].tolist() == ["0 1", "4 5", "7 8", "2 9", "3 6"]
    assert frame["in_its_sum"].tolist() == ["0 1 2 3", "0 4 5 6", "1 4 7 8", "2 5 7 9", "3 6 8 9"]


def test_table_3():
    rows = [
        {0, 1, 2, 3, 4, 5, 6},
        {0, 1, 2, 7, 8, 9, 10},
        {0, 3, 4, 7, 8, 11, 12},
        {0, 5, 6, 9, 10, 11, 12},
        {1, 3, 5, 7, 9, 11, 13},
        {1, 4, 6, 8, 10, 11, 13},
        {2, 3, 6, 8, 9, 12, 13},
        {2, 4, 5, 7, 10, 12, 13},
    ]
    frame = table("partial_recovery_table3")
    held = frame[[str(j) for j in range(14)]].to_numpy() == "1"
    assert [set(np.flatnonzero(row).tolist()) for row in held] == rows
    # A 3-(8,4,1) design: every triple of workers shares exactly one block.
    assert all(held[list(triple)].all(0).sum() == 1 for triple in combinations(range(8), 3))
    assert frame.loc[0, ["recovered_5", "recovered_6", "recovered_7"]].tolist() == [13, 11, 7]


def test_table_4():
    frame = table("partial_recovery_table4")
    assert frame["messages"].tolist() == [1, 2, 6, 1, 1, 8]
    assert frame["load_fraction"].tolist() == ["25/49", "3/7", "2/7", "4/9", "1/3", "2/9"]
    assert frame["bound"].round(9).tolist() == [0.285714286] * 3 + [0.2] * 3


def test_example_3():
    assert table("partial_recovery_example3")["row"].tolist() == [
        "111..1.1111.1..",
        "1..111..1.1111.",
        "11.1..111..1.11",
        ".1111.1..111..1",
        "..1.1111.1..111",
    ]


def test_figure_2():
    loads, messages = table("partial_recovery_fig2_computation"), table("partial_recovery_fig2_communication")
    for n, y, m in (
        (12, [8, 7, 6, 5, 5], [8, 42, 56, 600, 330]),
        (15, [10, 8, 7, 6, 5], [10, 32, 315, 660, 1001]),
    ):
        sweep = loads[(loads["n"] == n) & (loads["scheme"] == "intermediate")]
        assert sweep["y"].tolist() == y
        assert messages.loc[messages["n"] == n, "messages"].tolist() == m
    bounds = loads[loads["scheme"] == "lower bound, Theorem 1"].groupby("n")["load"].first()
    # The specification says 4.5858 for the first; 4 + 41/70 is 4.5857.
    assert (bounds * bounds.index).tolist() == pytest.approx([4 + 41 / 70, 4.77], abs=1e-9)


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


def test_random_straggler_sets_recover_what_the_formula_says():
    frame = table("partial_recovery_adversarial").drop_duplicates("scheme").set_index("scheme")["random_mean"]
    for d, mean in ((2, 1 - 171 / 435), (5, 0.9184)):
        assert frame[f"FRC, d = {d}"] == pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
def test_the_shift_of_model_b_cancels(shift):
    first, second = theory.expected_times("B", 20, 0.75, 2000, sample_time=0.01, shift=shift, mean=2.0)
    assert second - first == pytest.approx(1 - 2 * sum(1 / i for i in range(6, 11)))


def test_a_count_needs_an_instance():
    with pytest.raises(ParameterError, match="sets_of_workers"):
        tables.counted(0, 3, 3, 3, 3, 4, 3)


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
