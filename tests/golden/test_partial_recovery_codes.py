"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): its cyclic codes and baselines against brute force.

The decoders of the library scan all patterns and anchors at once. Here they meet slow, obvious versions:
every choice of workers with disjoint arcs as bit masks, the scan of one pattern, peeling with sets.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcexp.codes import (
    BatchRaptor,
    Code,
    CyclicPartialRecovery,
    CyclicTwoMessage,
    EpsilonFractionalRepetition,
    FractionalRepetition,
    Uncoded,
)
from gcexp.codes.raptor import degree_law, peeling_weights
from gcexp.errors import ParameterError

TRIPLES = [(n, s, beta) for n in range(1, 13) for s in range(n) for beta in range(n - s, n + 1)]


def arc(n: int, s: int, beta: int) -> int:
    return s + beta - n + 1


ONE_MESSAGE = [t for t in TRIPLES if t[2] % arc(*t) == 0]
TWO_MESSAGES = [t for t in TRIPLES if t[2] % arc(*t) and arc(*t) * -(-t[2] // arc(*t)) <= t[0]]
NEITHER = [t for t in TRIPLES if arc(*t) * -(-t[2] // arc(*t)) > t[0]]


@cache
def survivors(n: int, s: int) -> np.ndarray:
    """Who is heard, for every set of s stragglers, boolean (C(n,s), n)."""
    responses = np.ones((comb(n, s), n), dtype=bool)
    for row, silent in zip(responses, combinations(range(n), s), strict=True):
        row[list(silent)] = False
    return responses


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


def chosen(code: Code, responses) -> list[int]:
    """1-based workers that the decoder uses for one pattern."""
    return (np.flatnonzero(code.decode(responses, partial=True).weights[0, 0]) + 1).tolist()


def without(n: int, stragglers) -> np.ndarray:
    """One pattern, from the paper's 1-based stragglers."""
    responses = np.ones((1, n), dtype=int)
    responses[0, [w - 1 for w in stragglers]] = 0
    return responses


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


def test_number_of_triples():
    assert len([t for t in ONE_MESSAGE if t[0] >= 2]) == 190
    assert (len(TWO_MESSAGES), len(NEITHER)) == (84, 89)


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["exact", "max_disjoint", "appendix"])
def test_theorem_5_for_every_straggler_set(decoder):
    for n, s, beta in ONE_MESSAGE:
        code = CyclicPartialRecovery(n, s, beta, decoder)
        decoding = code.decode(survivors(n, s))
        assert (decoding.residual == 0).all() and np.isin(decoding.coefficients, (0, 1)).all()
        assert set(code.load) == {arc(n, s, beta)} and code.length == 1
        recovered = decoding.coefficients.sum(1)
        if decoder == "max_disjoint":
            assert (recovered >= beta).all()
        else:
            assert (recovered == beta).all()


@pytest.mark.slow
def test_theorem_5_at_the_size_of_the_examples():
    for decoder in ("exact", "appendix"):
        assert (
            CyclicPartialRecovery(18, 7, 15, decoder).decode(survivors(18, 7)).coefficients.sum(1) == 15
        ).all()


def test_more_survivors_than_promised_do_no_harm():
    for n, s, beta in [t for t in ONE_MESSAGE if t[0] <= 8]:
        responses = np.concatenate([survivors(n, fewer) for fewer in range(s + 1)])
        for decoder in ("exact", "appendix"):
            recovered = CyclicPartialRecovery(n, s, beta, decoder).decode(responses).coefficients.sum(1)
            assert (recovered == beta).all()
        assert (CyclicPartialRecovery(n, s, beta).decode(responses).coefficients.sum(1) >= beta).all()


def test_max_disjoint_is_the_maximum():
    for n, s, beta in [t for t in ONE_MESSAGE if t[0] <= 10]:
        p, responses = arc(n, s, beta), survivors(n, s)
        recovered = CyclicPartialRecovery(n, s, beta).decode(responses).coefficients.sum(1)
        count = sum(placed(responses, placements(n, p, m)).astype(int) for m in range(1, n // p + 1))
        np.testing.assert_array_equal(recovered, p * count)


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


def test_ties_go_to_the_smallest_anchor():
    everyone = np.ones((1, 10), dtype=int)
    assert chosen(CyclicPartialRecovery(10, 5, 6), everyone) == [1, 3, 5, 7, 9]
    assert chosen(CyclicPartialRecovery(10, 5, 6, "exact"), everyone) == [1, 3, 5]
    # Without worker 1 the anchors 2 and 3 both give four arcs.
    assert chosen(CyclicPartialRecovery(9, 2, 8), without(9, [1, 9])) == [2, 4, 6, 8]
    assert chosen(CyclicPartialRecovery(9, 4, 6), without(9, [1, 2, 5, 8])) == [3, 6, 9]


@pytest.mark.parametrize(
    ("beta", "mean"),
    [(12, 0.543), (15, 0.755), (20, 0.791)],
)
def test_mean_recovered_fraction_of_figure_4(beta, mean):
    responses = np.random.default_rng(0).permuted(np.tile(np.arange(30) < 11, (20000, 1)), axis=1)
    decoding = CyclicPartialRecovery(30, 19, beta).decode(responses)
    assert decoding.recovered.mean() == pytest.approx(mean, abs=0.003)
    exact = CyclicPartialRecovery(30, 19, beta, "exact").decode(responses[:2000])
    assert (exact.coefficients.sum(1) == beta).all()


# --- Appendix C: Algorithm 1 --------------------------------------------------------------------------------


@pytest.mark.parametrize("others", product((5, 10), (3, 8), (1, 6, 11), (4, 9)), ids=str)
def test_example_5(others):
    code = CyclicPartialRecovery(n=18, s=7, beta=15, decoder="appendix")
    assert code.p == 5
    assert chosen(code, without(18, (15, 13, 12, *others))) == [2, 7, 14]


@pytest.mark.parametrize("others", product((1, 6), (2, 7)), ids=str)
def test_example_6(others):
    code = CyclicPartialRecovery(n=18, s=7, beta=15, decoder="appendix")
    assert chosen(code, without(18, (14, 13, 8, 4, 5, *others))) == [3, 9, 15]


def test_algorithm_1_uses_a_group_without_stragglers():
    code = CyclicPartialRecovery(n=18, s=7, beta=15, decoder="appendix")
    assert chosen(code, without(18, [1, 2, 4, 15, 16, 17, 18])) == [3, 8, 13]


def test_algorithm_1_below_the_quorum_takes_the_longest_list():
    responses = without(18, range(1, 13))
    assert chosen(CyclicPartialRecovery(18, 7, 15, "appendix"), responses) == [13, 18]


# --- Theorem 7: two messages --------------------------------------------------------------------------------


def test_theorem_7_for_every_straggler_set():
    for n, s, beta in TWO_MESSAGES:
        code = CyclicTwoMessage(n, s, beta)
        decoding = code.decode(2 * survivors(n, s).astype(int))
        assert (decoding.residual == 0).all() and (decoding.coefficients.sum(1) == beta).all()
        assert set(code.load) == {arc(n, s, beta)} and set(code.messages) == {2}


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
    code = CyclicTwoMessage(6, 2, 5)
    np.testing.assert_array_equal(
        code.decode([[1, 1, 0, 0, 0, 0]], partial=True).coefficients, [[1, 1, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(
        code.decode([[2, 2, 0, 0, 0, 0]], partial=True).coefficients, [[1, 1, 1, 0, 0, 0]]
    )


def test_two_messages_may_work_outside_the_condition():
    """The condition is sufficient, not necessary: of 89 other triples with n <= 12, 42 have disjoint arcs."""
    works = {
        t: bool(placed(survivors(*t[:2]), placements(t[0], arc(*t), t[2] // arc(*t), t[2] % arc(*t))).all())
        for t in NEITHER
    }
    assert (sum(works.values()), len(works) - sum(works.values())) == (42, 47)
    assert min(t for t in works if not works[t]) == (4, 2, 4)
    for t in NEITHER:  # and the code itself, certified pattern by pattern, says the same
        code = CyclicTwoMessage(*t, guaranteed=False)
        decoding = code.decode(2 * survivors(*t[:2]).astype(int), partial=True)
        assert (decoding.residual == 0).all()
        assert works[t] == bool((decoding.coefficients.sum(1) == t[2]).all())
    inside = [t for t in TWO_MESSAGES if t[0] <= 10]
    for t in inside:
        p = arc(*t)
        assert placed(survivors(*t[:2]), placements(t[0], p, t[2] // p, t[2] % p)).all()


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((5, 5, 5), "0 <= s < n, got n=5, s=5"),
        ((5, -1, 5), "0 <= s < n"),
        ((6, 2, 7), "n - s <= beta <= n, got n=6, s=2, beta=7"),
        ((6, 2, 3), "uncoded scheme suffices"),
        ((6, 2, 5), "p=2; for this n and s beta may be 4, 6, and CyclicTwoMessage"),
        ((6, 2, 6, "exakt"), "unknown decoder 'exakt'; did you mean 'exact'"),
    ],
)
def test_one_message_refuses(given, message):
    with pytest.raises(ParameterError, match=message):
        CyclicPartialRecovery(*given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((5, 3, 5), r"p \* ceil\(beta / p\) <= n .* got n=5, s=3, beta=5, so 4 \* 2 = 8 > 5"),
        ((6, 2, 4), "p=1; CyclicPartialRecovery does it with one"),
        ((6, 2, 3), "uncoded scheme suffices"),
        ((6, 7, 3), "0 <= s < n"),
    ],
)
def test_two_messages_refuse(given, message):
    with pytest.raises(ParameterError, match=message):
        CyclicTwoMessage(*given)


def test_the_refusal_lists_every_beta_that_works():
    for n, s, beta in [t for t in TRIPLES if t[2] % arc(*t)]:
        works = [b for m, t, b in ONE_MESSAGE if (m, t) == (n, s)]
        with pytest.raises(ParameterError, match=f"beta may be {', '.join(map(str, works))}, and"):
            CyclicPartialRecovery(n, s, beta)


# --- Theorem 6 and Lemma 2: what one message cannot do ------------------------------------------------------


def spans(rows: np.ndarray, v: np.ndarray) -> bool:
    return bool(np.linalg.norm(rows.T @ np.linalg.lstsq(rows.T, v, rcond=None)[0] - v) < 1e-9)


def test_plain_sums_reach_four_of_six():
    """n=6, s=2, beta=5, p=2: the most ones of a 0/1 vector in the span, in the worst case."""
    sums = np.zeros((6, 6))
    for w in range(6):
        sums[w, [w, (w + 1) % 6]] = 1
    best = [
        max(sum(v) for v in product((0, 1), repeat=6) if spans(sums[responses], np.array(v, dtype=float)))
        for responses in survivors(6, 2)
    ]
    assert min(best) == 4
    two = CyclicTwoMessage(6, 2, 5).decode(2 * survivors(6, 2).astype(int))
    assert two.coefficients.sum(1).min() == 5


IMPOSSIBLE = [t for t in TRIPLES if t[0] <= 9 and t[2] < t[0] and t[2] % arc(*t)]


def test_theorem_6_concerns_43_triples():
    assert len(IMPOSSIBLE) == 43


@pytest.mark.parametrize("triple", IMPOSSIBLE, ids=str)
def test_theorem_6(triple):
    """No coefficients help: a worker's must be equal, and plain sums fail for consecutive survivors."""
    n, s, beta = triple
    p = arc(*triple)
    # Worker 0 alone holds `own`, the others see fewer than beta: it is used, and a 0/1 answer needs equal
    # coefficients on `own`. The classes that this links grow to the whole arc; by symmetry for each worker.
    equal = [{i} for i in range(p)]
    for responses in survivors(n, s):
        if not responses[0]:
            continue
        seen = set(covered(np.flatnonzero(responses)[1:], p, n))
        own = set(range(p)) - seen
        if own and len(seen) < beta:
            touched = [c for c in equal if c & own]
            equal = [c for c in equal if not c & own] + [set().union(*touched)]
    assert equal == [set(range(p))]
    sums = np.zeros((n - s, n))
    for w in range(n - s):
        sums[w, covered([w], p, n)] = 1
    visible = sums.any(0)
    assert visible.sum() == beta and visible[:beta].all()  # so the answer would have to be all of them
    assert not spans(sums, visible.astype(float))


def test_lemma_2():
    for n in range(1, 8):
        for s in range(n):
            np.testing.assert_array_equal(
                Uncoded(n).decode(survivors(n, s), partial=True).coefficients, survivors(n, s)
            )


def test_beta_n_minus_s_is_the_uncoded_scheme():
    code = CyclicPartialRecovery(6, 2, 4)
    np.testing.assert_array_equal(code.encoding.toarray(), np.eye(6))
    np.testing.assert_array_equal(code.decode(survivors(6, 2)).coefficients, survivors(6, 2))


# --- baselines: eps-FRC -------------------------------------------------------------------------------------


def test_repetition_worst_case_and_mean():
    for n in range(1, 9):
        for d in (d for d in range(1, n + 1) if n % d == 0):
            for s in range(n):
                recovered = (
                    FractionalRepetition(n, d).decode(survivors(n, s), partial=True).coefficients.sum(1)
                )
                assert recovered.min() == n - d * (s // d)
                mean = 1 - Fraction(comb(s, d), comb(n, d))
                assert int(recovered.sum()) == mean * n * comb(n, s)


@pytest.mark.parametrize(("epsilon", "d"), [(0.3, 3), (0.2, 5), (0.1, 5), (0.05, 6), (0.01, 10)])
def test_load_of_epsilon_repetition(epsilon, d):
    assert EpsilonFractionalRepetition(30, 19, epsilon).d == d


@pytest.mark.parametrize(
    ("d", "least", "most"), [(2, 12, 12), (3, 12, 15), (5, 15, 15), (6, 12, 18), (10, 20, 20)]
)
def test_repetition_does_poorly_for_consecutive_stragglers(d, least, most):
    responses = np.ones((30, 30), dtype=bool)
    for first in range(30):
        responses[first, covered([first], 19, 30)] = False
    recovered = FractionalRepetition(30, d).decode(responses, partial=True).coefficients.sum(1)
    assert (recovered.min(), recovered.max()) == (least, most)
    cyclic = CyclicPartialRecovery(30, 19, 15).decode(responses).coefficients.sum(1)
    assert (
        cyclic.min() >= 15
    )  # at d = 6 (epsilon = 0.05) repetition falls below the cyclic code of smaller load


def test_repetition_on_average():
    assert 1 - comb(19, 5) / comb(30, 5) == pytest.approx(0.9184, abs=5e-5)


# --- baselines: eps-BRC -------------------------------------------------------------------------------------


def test_degree_law():
    law = degree_law(0.1)
    assert law.sum() == pytest.approx(1, abs=1e-15) and len(law) == 11
    np.testing.assert_allclose(law[[0, 1, 10]], [0.30769, 0.34615, 0.06923], atol=5e-6)
    assert law @ np.arange(1, 12) == pytest.approx(3.02775, abs=5e-6)


@pytest.mark.parametrize("denominator", range(5, 200))
def test_degree_law_reaches_one_over_epsilon(denominator):
    law = degree_law(1 / denominator)
    assert len(law) == denominator + 1
    assert law.sum() == pytest.approx(1) and (law > 0).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.25, -0.1, 1.0])
def test_degree_law_refuses(epsilon):
    with pytest.raises(ParameterError, match="0 < epsilon < 1/4"):
        degree_law(epsilon)


def test_peeling_example():
    sums = np.zeros((4, 5), dtype=int)
    for row, batches in zip(sums, [{0}, {0, 1}, {1, 2}, {3, 4}], strict=True):
        row[list(batches)] = 1
    patterns = np.array([[1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(
        peeling_weights(sums, patterns) @ sums,
        [[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    )


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


def test_batch_rule():
    assert BatchRaptor(30, 19, 0.1).batch == 5
    assert BatchRaptor(30, 0, 0.1).batch == 1
    assert BatchRaptor(2, 1, 0.1).batch == 2  # the rule asks for 3
    assert BatchRaptor(30, 19, 0.1, batch=3).batch == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"s": 30}, "0 <= s < n, got n=30, s=30"),
        ({"epsilon": 0.3}, "epsilon < 1/4, got epsilon=0.3"),
        ({"batch": 4}, "batch to divide n, got n=30, batch=4"),
        ({"batch": 0}, "batch=0"),
        ({"batch": 60}, "batch=60"),
    ],
)
def test_raptor_refuses(given, message):
    with pytest.raises(ParameterError, match=message):
        BatchRaptor(**{"n": 30, "s": 19, "epsilon": 0.1, **given})


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
