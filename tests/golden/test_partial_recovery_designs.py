"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): the schemes on subsets and designs, and what they refuse.

That they keep the theorems for every straggler set of small n is tried by the paper's claims. Assignments of its
examples are those of the published tables.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcexp.codes.naive_partial import NaivePartial
from gcexp.codes.subset_designs import (
    DESIGNS,
    BlockAssignment,
    Combinatorial,
    CoPrime,
    Intermediate,
    TDesign,
    hadamard_blocks,
)
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.errors import DecodingError
from tests.conftest import refusals


def decoded(code, s: int):
    """Coefficients for every straggler set, checked to be the visible partitions, (C(n,s), k)."""
    responses = np.concatenate([*all_sets(code.n, s)])
    decoding = code.decode(responses * code.messages)
    assert (decoding.residual == 0).all()
    visible = responses.astype(int) @ code.assignment > 0
    np.testing.assert_array_equal(decoding.coefficients, visible)
    combined = (code.encoding.T @ decoding.weights[:, 0].T).T
    np.testing.assert_allclose(combined, visible, rtol=0, atol=1e-12)
    return decoding.coefficients


# --- Theorem 3 ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_co_prime_on_any_counts(data):
    """Below the quorum too the answer is 0/1: whole workers by their sums, parts by single gradients."""
    code = CoPrime(5, 3, 2)
    responses = np.array([data.draw(st.lists(st.integers(0, 3), min_size=5, max_size=5))])
    c = code.decode(responses, partial=True).coefficients[0]
    received = code.received(responses)[0]
    singles = code.encoding.toarray()[received & (code.rank > 0)].any(0)
    whole = code.assignment[responses[0] == 3].any(0)
    np.testing.assert_array_equal(c, singles | whole)


# --- Theorem 4 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
def test_theorem_4_and_beyond(name):
    """Equal recovery for n - s <= t; for more survivors the promised worst case is attained."""
    t = 2 if name == "fano" else 3
    n = TDesign(name, t, 0).n
    for s in range(n) if n < 16 else (4, 8, 13):
        code = TDesign(name, t, s)
        recovered = decoded(code, s).sum(1)
        assert recovered.min() == code.recovers
        size = len(code.holders[0])
        assert recovered.mean() == pytest.approx(code.k * (1 - comb(s, size) / comb(n, size)))
        if n - s <= t:
            assert recovered.max() == code.recovers


def test_pairs_are_a_design():
    """All pairs are a 2-design: the combinatorial scheme."""
    pairs = list(combinations(range(5), 2))
    code, same = TDesign(pairs, t=2, s=3), Combinatorial(5, 3, 2)
    assert (code.encoding != same.encoding).nnz == 0 and code.recovers == same.recovers


# --- what is refused ----------------------------------------------------------------------------------------


test_refuses = refusals(
    (lambda: Combinatorial(5, 5, 2), "0 <= s < n, got n=5, s=5"),
    (lambda: Combinatorial(5, 2, 6), "1 <= y <= n, got n=5, y=6"),
    (lambda: Combinatorial(30, 2, 10), "has 300450150 messages, more than 1000000"),
    (lambda: CoPrime(6, 3, 2), "n=6.*y=2"),
    (lambda: CoPrime(31, 3, 10), "more than 1000000"),
    (lambda: Intermediate(5, 3, 3, 2), "1 <= x <= y <= n, got n=5, x=3, y=2"),
    (lambda: Intermediate(40, 5, 8, 10), "more than 1000000"),
    (lambda: TDesign("hadamar_8", 3, 5), "'hadamar_8'.*'hadamard_8'"),
    (lambda: TDesign("fano", 3, 2), "3-design has every 3-subset of its 7 points .* got 0 to 1"),
    (lambda: TDesign("fano", 4, 2), "t=4"),
    (lambda: TDesign([], 2, 2), "at least one block"),
    (lambda: TDesign([(0, 1), (0, 1, 2)], 1, 1), r"sizes \[2, 3\]"),
    (lambda: hadamard_blocks(12), "n = 4, 8, 16, ..., got n=12"),
    (lambda: BlockAssignment([(0, 1), ()], 1), "at least one worker"),
    (lambda: BlockAssignment([(0, 0), (1, 2)], 1), r"set of workers 0 to n-1 = 2, got \(0, 0\)"),
    (lambda: BlockAssignment([(0, 1), (1, 2)], 1, n=2), r"set of workers 0 to n-1 = 1, got \(1, 2\)"),
    (lambda: BlockAssignment([(0, 1), (1, 2)], 1), "equally many partitions, got 1 to 2"),
    (lambda: BlockAssignment([(0, 1)], 1, recovers=2), "k=1"),
    (lambda: BlockAssignment([(w,) for w in range(40)], 20), "n=40.*s=20"),
    (lambda: NaivePartial(5, 2, 0.0), r"alpha=0\.0"),
    (lambda: NaivePartial(5, 2, 1e-9), "alpha=1e-09"),
)


def test_a_wrong_guarantee_is_found_by_the_decoder():
    ring = [(w, (w + 1) % 5) for w in range(5)]
    assert BlockAssignment(ring, 3).recovers == 3
    with pytest.raises(DecodingError, match=r"3 partitions \(at least 4\)"):
        BlockAssignment(ring, 3, recovers=4).decode([[2, 2, 0, 0, 0]])


def test_worst_case_may_be_given_where_it_cannot_be_found():
    code = BlockAssignment([(w,) for w in range(40)], 20, recovers=20)
    assert code.decode([[1] * 20 + [0] * 20]).coefficients.sum() == 20


def test_thousands_of_partitions():
    """k = 3003 as in Fig. 2 and as many patterns as a long run has: union decoding stays a few array operations."""
    code = Combinatorial(15, 10, 5)
    responses = np.concatenate([*all_sets(15, 10)])[::15] * code.messages
    assert code.k == 3003 and (code.decode(responses).coefficients.sum(1) == code.recovers).all()
