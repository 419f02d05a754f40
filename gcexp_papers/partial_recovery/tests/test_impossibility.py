"""Impossibility arguments against searches that know nothing of them; what claims try of them is not repeated."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.errors import ParameterError
from gcexp_papers.partial_recovery.impossibility import (
    cycle_unions,
    cyclic_impossible,
    forced_equal,
    least_covered,
    most_recovered,
    multigraphs,
    not_contradicted,
    spans,
)
from gcexp_papers.partial_recovery.theory import cyclic_load


def test_the_argument_of_theorem_6_excludes_nothing_that_theorem_5_builds():
    triples = [(n, s, beta) for n in range(1, 10) for s in range(n) for beta in range(n - s, n + 1)]
    assert not any(cyclic_impossible(*one) for one in triples if one[2] % cyclic_load(*one) == 0)


def test_cycle_unions():
    assert [len(cycle_unions(n)) for n in range(2, 10)] == [1, 1, 2, 2, 4, 4, 7, 8]
    assert forced_equal(cycle_unions(3)[0], 1, 3, 0) == [{0}, {1}]  # s = 1 forces nothing on a triangle
    assert least_covered(multigraphs(3), 2).max() == 3


def test_plain_sums_reach_four_of_six():
    sums = np.eye(6) + np.roll(np.eye(6), 1, axis=1)
    assert min(most_recovered(sums[responses]) for responses in np.concatenate([*all_sets(6, 2)])) == 4


def random_rows(masks, rng) -> np.ndarray:
    rows = np.array([[float(m >> v & 1) for v in range(4)] for m in masks])
    return rows * rng.uniform(0.3, 3, rows.shape) * rng.choice([-1, 1], rows.shape)


def test_theorem_8_rules_for_two_workers():
    """What `not_contradicted` says two messages need for three partitions, on random coefficients."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        adjacent = random_rows([0b0011, 0b0110], rng)
        assert most_recovered(adjacent) < 3
        adjacent[1, 1] = adjacent[1, 2] * (1 - adjacent[0, 1] / adjacent[0, 0])  # rho_1 + rho_2 = 1
        assert most_recovered(adjacent) == 3
        disjoint = random_rows([0b0011, 0b1100], rng)
        disjoint[0, 1] = disjoint[0, 0]
        assert most_recovered(disjoint) < 3  # one equal edge is not enough
        disjoint[1, 3] = disjoint[1, 2]
        assert most_recovered(disjoint) == 4
        loop = random_rows([0b0011, 0b0100], rng)
        assert most_recovered(loop) < 3
        loop[0, 1] = loop[0, 0]
        assert most_recovered(loop) == 3
        for blind in ([0b0011, 0b0011], [0b0011, 0b0001], [0b0001, 0b0010]):
            assert most_recovered(random_rows(blind, rng)) <= 2


def test_the_triangle_is_feasible():
    """beta = 3, n - s = 2: with s = 1, where Theorem 8 does not apply, one multigraph is left."""
    triangle = multigraphs(3)[not_contradicted(multigraphs(3))]
    assert triangle.tolist() == [[0b011, 0b101, 0b110]]


def test_spans_and_most_recovered_refuse():
    assert spans(np.eye(3), [1, 1, 0]) and not spans(np.eye(3)[:2], [0, 0, 1])
    with pytest.raises(ParameterError, match="k <= 20, got k=21"):
        most_recovered(np.ones((1, 21)))
    with pytest.raises(ParameterError, match="1 <= n <= 6, got n=7"):
        multigraphs(7)
