"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): its cyclic codes and baselines against brute force.

What is found for every straggler set of small n, and the examples as printed, are tried by the paper's claims.

The decoders of the library scan all patterns and anchors at once. Here they meet slow, obvious versions:
every choice of workers with disjoint arcs as bit masks, the scan of one pattern, peeling with sets.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcexp.codes import (
    BatchRaptor,
    CyclicPartialRecovery,
    CyclicTwoMessage,
    EpsilonFractionalRepetition,
)
from gcexp.codes.raptor import degree_law, peeling_weights
from gcexp.errors import ParameterError
from tests.conftest import refusals

TRIPLES = [(n, s, beta) for n in range(1, 13) for s in range(n) for beta in range(n - s, n + 1)]


def arc(n: int, s: int, beta: int) -> int:
    return s + beta - n + 1


ONE_MESSAGE = [t for t in TRIPLES if t[2] % arc(*t) == 0]
TWO_MESSAGES = [t for t in TRIPLES if t[2] % arc(*t) and arc(*t) * -(-t[2] // arc(*t)) <= t[0]]


def mask(workers) -> int:
    return sum(1 << int(w) for w in workers)


def covered(starts, p: int, n: int) -> list[int]:
    return [(w + i) % n for w in starts for i in range(p)]


@cache
def placements(n: int, p: int, full: int, r: int = 0) -> np.ndarray:
    """Masks of the workers of every set of `full` disjoint arcs of length p, and one of length r if r > 0."""
    found = set()
    for starts in combinations(range(n), full):
        taken = covered(starts, p, n)
        if len(set(taken)) == len(taken):
            shorts = [w for w in range(n) if r and not set(covered([w], r, n)) & set(taken)]
            found |= {mask((*starts, w)) for w in shorts} if r else {mask(starts)}
    return np.array(sorted(found), dtype=np.int64)


def placed(responses: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Whether each pattern contains one of the sets, (U,)."""
    patterns = responses @ (1 << np.arange(responses.shape[1]))
    return ((patterns[:, None] & masks) == masks).any(1)


def scan(responses: np.ndarray, p: int, most: int) -> list[int]:
    """Disjoint arcs of one pattern: anchors ascending, the first longest list."""
    n, best = len(responses), []
    for anchor in np.flatnonzero(responses):
        cur, found = 0, []
        for x in sorted((f - anchor) % n for f in np.flatnonzero(responses)):
            if x >= cur and x + p <= n and len(found) < most:
                found.append((anchor + x) % n)
                cur = x + p
        best = max(best, found, key=len)  # the earlier one where they are equally long
    return sorted(best)


def scan_two(responses: np.ndarray, p: int, q: int, r: int) -> tuple[list[int], int]:
    """Full arcs and the short one: anchors ascending, then slots ascending, first hit."""
    n = len(responses)
    for anchor, slot in product(np.flatnonzero(responses), range(1, q + 1)):
        cur, found = 0, []
        for x in sorted((f - anchor) % n for f in np.flatnonzero(responses)):
            length = r if len(found) == slot else p
            if x >= cur and x + length <= n and len(found) <= q:
                found.append((anchor + x) % n)
                cur = x + length
        if len(found) == q + 1:
            short = found.pop(slot)
            return sorted(found), short
    raise AssertionError("no hit")


# --- Theorem 5: one message ---------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data(), triple=st.sampled_from([t for t in ONE_MESSAGE if t[0] >= 3]))
def test_decoders_on_any_pattern(data, triple):
    """Below the quorum too: maximal, disjoint, heard, with the ties of the specification, never an error."""
    n, s, beta = triple
    p = arc(*triple)
    responses = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    most = max(
        (m for m in range(1, n // p + 1) if placed(responses[None], placements(n, p, m))[0]), default=0
    )
    for decoder, limit in (("max_disjoint", n), ("exact", beta // p), ("appendix", None)):
        weights = CyclicPartialRecovery(n, s, beta, decoder).decode(responses, partial=True).weights[0, 0]
        used = np.flatnonzero(weights).tolist()
        assert np.isin(weights, (0, 1)).all() and responses[used].all()
        assert len(set(covered(used, p, n))) == p * len(used)
        if decoder == "appendix" and responses.sum() >= n - s:
            assert len(used) == beta // p
        else:
            assert used == scan(responses, p, limit or n)
            assert len(used) == min(most, limit or n)


# --- Theorem 7: two messages --------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data(), triple=st.sampled_from([t for t in TWO_MESSAGES if t[1] >= 1]))
def test_two_messages_break_ties_by_anchor_then_slot(data, triple):
    n, s, beta = triple
    p = arc(*triple)
    silent = data.draw(st.lists(st.integers(0, n - 1), max_size=s))
    responses = ~np.isin(np.arange(n), silent)
    weights = CyclicTwoMessage(n, s, beta).decode(2 * responses.astype(int)).weights[0, 0].reshape(n, 2)
    full, short = scan_two(responses, p, beta // p, beta % p)
    assert np.flatnonzero(weights[:, 0]).tolist() == full
    assert np.flatnonzero(weights[:, 1]).tolist() == [short]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(data=st.data(), triple=st.sampled_from(TWO_MESSAGES))
def test_two_messages_on_any_counts(data, triple):
    """Workers may have sent none, one or both: never an error, and complete wherever disjoint arcs exist."""
    n, s, beta = triple
    p, q = arc(*triple), beta // arc(*triple)
    responses = np.array([data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))])
    recovered = CyclicTwoMessage(n, s, beta).decode(responses, partial=True).coefficients[0].sum()
    assert recovered <= beta
    if placed(responses == 2, placements(n, p, q, beta % p))[0]:
        assert recovered == beta
    assert recovered >= p * min(q, len(scan(responses[0] > 0, p, n)))


def test_two_messages_below_the_quorum_keep_the_first_of_equals():
    found = CyclicTwoMessage(6, 2, 5).decode([[1, 1, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0]], partial=True)
    np.testing.assert_array_equal(found.coefficients, [[1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]])


# --- what is refused ----------------------------------------------------------------------------------------


test_refuses = refusals(
    (lambda: CyclicPartialRecovery(5, 5, 5), "n=5, s=5"),
    (lambda: CyclicPartialRecovery(6, 2, 7), "n=6.*s=2.*beta=7"),
    (lambda: CyclicPartialRecovery(6, 2, 3), "beta=3"),
    (lambda: CyclicPartialRecovery(6, 2, 5), "p=2"),
    (lambda: CyclicPartialRecovery(6, 2, 6, "exakt"), "'exakt'.*'exact'"),
    (lambda: CyclicTwoMessage(5, 3, 5), "n=5.*s=3.*beta=5"),
    (lambda: CyclicTwoMessage(6, 2, 4), "p=1"),
    (lambda: CyclicTwoMessage(6, 2, 3), "beta=3"),
    (lambda: BatchRaptor(30, 30, 0.1), "n=30, s=30"),
    (lambda: BatchRaptor(30, 19, 0.3), r"epsilon=0\.3"),
    (lambda: BatchRaptor(30, 19, 0.1, batch=4), "n=30.*batch=4"),
    (lambda: BatchRaptor(30, 19, 0.1, batch=60), "batch=60"),
    (lambda: degree_law(0.25), r"0\.25"),
    (lambda: degree_law(0.0), r"0\.0"),
)


def test_the_refusal_lists_every_beta_that_works():
    for n, s, beta in [t for t in TRIPLES if t[2] % arc(*t)]:
        works = [b for m, t, b in ONE_MESSAGE if (m, t) == (n, s)]
        with pytest.raises(ParameterError, match=f"beta may be {', '.join(map(str, works))}, and"):
            CyclicPartialRecovery(n, s, beta)


# --- baselines ----------------------------------------------------------------------------------------------


def test_loads_and_batches_of_the_baselines():
    found = [EpsilonFractionalRepetition(30, 19, epsilon).d for epsilon in (0.3, 0.2, 0.1, 0.05, 0.01)]
    assert found == [3, 5, 5, 6, 10]
    batches = [BatchRaptor(n, s, 0.1, **more).batch for n, s, more in ((30, 19, {}), (30, 0, {}), (2, 1, {}))]
    assert batches == [5, 1, 2]  # for two workers the rule asks for 3
    assert BatchRaptor(30, 19, 0.1, batch=3).batch == 3


def test_degree_law():
    assert degree_law(0.1) @ np.arange(1, 12) == pytest.approx(3.02775, abs=5e-6)
    for denominator in range(5, 200):
        law = degree_law(1 / denominator)
        assert len(law) == denominator + 1 and law.sum() == pytest.approx(1) and (law > 0).all()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data(), messages=st.integers(1, 8), batches=st.integers(1, 7))
def test_peeling_recovers_what_sets_recover(data, messages, batches):
    sums = data.draw(st.lists(st.sets(st.integers(0, batches - 1)), min_size=messages, max_size=messages))
    received = data.draw(st.lists(st.booleans(), min_size=messages, max_size=messages))
    known: set[int] = set()
    while fresh := {
        min(row - known) for row, got in zip(sums, received, strict=True) if got and len(row - known) == 1
    }:
        known |= fresh
    matrix = np.array([[b in row for b in range(batches)] for row in sums], dtype=int)
    weights = peeling_weights(matrix, [received])[0]
    assert not weights[~np.array(received)].any() and (weights == np.rint(weights)).all()
    np.testing.assert_array_equal(weights @ matrix, [b in known for b in range(batches)])


@pytest.mark.slow
def test_raptor_load_and_recovery():
    """Truncated to 6 batches of 5, the mean load is about 13; every answer is 0/1, sometimes empty."""
    responses = np.random.default_rng(0).permuted(np.tile(np.arange(30) < 11, (100, 1)), axis=1)
    codes = [BatchRaptor(30, 19, 0.1, seed=seed) for seed in range(200)]
    decodings = [code.decode(responses) for code in codes]
    assert np.mean([code.load for code in codes]) == pytest.approx(13.05, abs=0.4)
    assert all((d.residual == 0).all() and np.isin(d.coefficients, (0, 1)).all() for d in decodings)
    # Any 11 survivors at random. The fastest 11 have smaller degrees and recover about 0.95 (Fig. 4).
    assert np.mean([d.recovered for d in decodings]) == pytest.approx(0.912, abs=0.02)
    assert min(d.recovered.min() for d in decodings) == 0


@pytest.mark.slow
def test_workers_draw_from_the_degree_law():
    degrees = np.concatenate([BatchRaptor(30, 19, 0.1, batch=1, seed=seed).load for seed in range(200)])
    share = np.bincount(degrees, minlength=12)[1:] / len(degrees)
    law = degree_law(0.1)
    assert (np.abs(share - law) < 4.5 * np.sqrt(law * (1 - law) / len(degrees))).all()
