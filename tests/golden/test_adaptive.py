"""Cao, Yan, Tang, Han (arXiv 2006.04845): adaptive gradient codes, their groups, and the restart model."""

from __future__ import annotations

from functools import cache
from math import lcm, log

import numpy as np
import pytest

from gcexp.codes.adaptive import (
    Adaptive,
    GroupedAdaptive,
    GroupedCGC,
    decode_rows,
    group_sizes,
    rounds_needed,
    vandermonde,
)
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.epochs import Epochs
from gcexp.errors import DecodingError, ParameterError
from gcexp.schemes import Decodable, Restart, Scheme
from gcexp.seeding import rng
from gcexp.timeline import simulate
from tests.conftest import refusals

E3 = [[3, 2, 1, 0], [3, 1, 1, 0], [1, 3, 2, 0], [2, 1, 3, 3], [2, 3, 2, 3], [2, 1, 1, 3]]


@cache
def agc(n: int, d: int, **more) -> Adaptive:
    return Adaptive(n, d, **more)


def responses_without(code: Adaptive, s: int) -> np.ndarray:
    """Every set of s stragglers, the others having sent r_s messages."""
    return rounds_needed(code.rounds, code.d)[s] * np.concatenate([*all_sets(code.n, s)])


def residual(code, responses: np.ndarray) -> float:
    """Largest entry of W B - [I ... I], which `decode` would refuse above 1e-6."""
    combined = code.weights(responses) @ code.encoding.toarray()
    return float(np.abs(combined - np.tile(np.eye(code.blocks), code.k)).max())


def relative_error(code, responses: np.ndarray, length: int) -> float:
    """Largest error of a decoded random gradient, relative to its norm."""
    g = np.random.default_rng(7).standard_normal((code.k, length))
    weights, sent, wanted = code.decode(responses).weights, code.encode(g), g.sum(0)
    found = (weights @ sent).reshape(len(responses), -1)[:, :length]
    return float((np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted)).max())


# --- section 2: example 3 -------------------------------------------------------------------------------------


def test_example_3():
    code = Adaptive(3, 2, E=E3)
    B = code.encoding.toarray().reshape(6, 3, 2).swapaxes(1, 2).reshape(6, 6)  # the paper's order of columns
    printed = [[0, 2.5, 0, 1, 0.5, 0], [0, 2.5, 0, 0, -0.5, -1], [-5, 0, -5, 1, 0, -1]]
    printed += [[-3, -1, 0, -3, -3, 0], [0, -0.5, 3, 0, 0.5, 4], [3, 0, 6, -1, 0, 4]]
    np.testing.assert_array_equal(B, printed)
    responses = np.array([[1, 1, 1], [2, 2, 0], [2, 0, 2], [0, 2, 2]])
    decoding = code.decode(responses)
    assert (decoding.coefficients == 1).all() and decoding.residual.max() < 1e-14
    sums = [[0.2, 0.2, -0.2, 0, 0, 0], [1, -1, 0, 0, 0, 0]]  # (X0 + X1 - X2) / 5 and X0 - X1
    np.testing.assert_allclose(decoding.weights[0], sums, atol=1e-15)
    np.testing.assert_array_equal(decode_rows(3, 2, 2, []), [0, 1, 2])
    np.testing.assert_array_equal(decode_rows(3, 2, 2, [2]), [0, 1, 3, 4])
    assert code.quorums[0].need == ((1, 3), (2, 2)) and code.length == 0.5
    assert (code.load == 2).all()  # entries that are 0 by chance are assigned all the same


# --- section 2: structured matrices, and the conjecture of Remark 3 ---------------------------------------------


def test_structured_codes_decode_for_load_2_only():
    for n in (3, 4, 8, 10):
        code = agc(n, 2, construction="structured")
        for s in range(2):
            assert code.decode(responses_without(code, s)).residual.max() < 1e-9
    code = agc(5, 3, construction="structured")  # exact, but its weights are huge: 7.8e-3
    with pytest.raises(DecodingError, match="residual"):
        code.decode(responses_without(code, 1))


# --- section 2: random matrices ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["float64", "extended"])
@pytest.mark.parametrize(
    ("n", "d", "bound"),
    [(4, 2, 1e-13), (5, 3, 1e-10), (5, 4, 1e-10), (6, 3, 1e-10), (8, 3, 1e-9), (20, 3, 2e-7)],
)
def test_decodes_for_every_set_of_stragglers(n, d, bound, arithmetic):
    code = agc(n, d, arithmetic=arithmetic)
    L = code.rounds
    assert L == lcm(*range(1, d + 1)) and code.encoding.shape == (n * L, n * L)
    np.testing.assert_array_equal(code.assignment, [[(i - j) % n < d for i in range(n)] for j in range(n)])
    for s, r in enumerate(rounds_needed(L, d)):
        responses = responses_without(code, s)
        assert code.met(responses).all() and (code.received(responses).sum(1) == (n - s) * r).all()
        decoding = code.decode(responses)
        assert (decoding.coefficients == 1).all()
        assert decoding.residual.max() <= code.bound  # what the search promised
        assert relative_error(code, responses, 5 * L) < bound
        assert relative_error(code, responses[:20], 5 * L + 1) < bound  # padded


def test_rounds_that_do_not_divide_use_every_message():
    code = Adaptive(5, 3, rounds=5)
    assert code.quorums[0].need == ((2, 5), (3, 4), (5, 3))
    for s in range(3):
        assert code.decode(responses_without(code, s)).residual.max() < 1e-9
    assert code.decode([[2, 2, 2, 2, 2]]).weights[0].any(0).sum() == 10  # the paper uses h = 9 of the 10
    assert len(decode_rows(5, 3, 5, [])) == 9


@pytest.mark.slow
def test_seed_search_keeps_the_best_and_extended_arithmetic_helps():
    worst = {}
    for arithmetic in ("float64", "extended"):
        one = [agc(20, 3, arithmetic=arithmetic, search_seeds=1, seed=seed) for seed in range(4)]
        residuals = [residual(code, responses_without(code, 2)) for code in one]
        chosen = agc(20, 3, arithmetic=arithmetic)
        worst[arithmetic] = residual(chosen, responses_without(chosen, 2))
        assert worst[arithmetic] < np.median(residuals)
        assert all(found <= code.bound for found, code in zip(residuals, one, strict=True))
        assert chosen.bound <= agc(20, 3, arithmetic=arithmetic, search_seeds=1).bound
    assert worst["extended"] < worst["float64"]
    a, b = agc(20, 3, search_seeds=1, seed=1), agc(20, 3, search_seeds=1, seed=1, arithmetic="extended")
    assert np.abs((a.encoding - b.encoding).toarray()).max() < 1e-3 * np.abs(b.encoding.toarray()).max()


@pytest.mark.slow
def test_where_ungrouped_codes_end():
    code = Adaptive(20, 4, search_seeds=1)
    with pytest.raises(DecodingError, match="at most 1e-06"):
        code.decode(responses_without(code, 3)[:100])
    fewer = Adaptive(20, 4, rounds=4, search_seeds=4)  # fewer rounds help
    assert residual(fewer, responses_without(fewer, 3)[:100]) < 1e-7
    with pytest.raises(ParameterError, match="rounds=5"):
        Adaptive(7, 5, search_seeds=4)
    with pytest.raises(ParameterError, match="n=40.*rounds=60"):
        Adaptive(40, 6)
    grouped = GroupedAdaptive(20, 4)
    assert grouped.decode(grouped.messages[None]).residual[0] < 1e-12


# --- section 3: groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(7, 2), (20, 3), (40, 3), (6, 3), (9, 4)])
@pytest.mark.parametrize("construction", ["random", "chebyshev"])
def test_grouped_codes_decode_every_pattern_of_every_group(n, d, construction):
    code = GroupedAdaptive(n, d, construction=construction)
    assert [part.n for part in code.parts] == group_sizes(n, d) and (code.load == d).all()
    for part in {part.n: part for part in code.parts}.values():
        for s in range(d):
            decoding = part.decode(responses_without(part, s))
            assert (decoding.coefficients == 1).all() and decoding.residual.max() < 1e-9
            assert relative_error(part, responses_without(part, s), 31) < (1e-10 if d < 4 else 1e-9)
    first = np.cumsum([0] + group_sizes(n, d))[:-1]
    one = np.repeat(code.messages[None], d, axis=0)  # 0 to d-1 stragglers in each group
    for j in range(1, d):
        one[j:, first + j - 1] = 0
    assert (code.decode(one).coefficients == 1).all() and relative_error(code, one, 31) < 1e-10
    dead = code.messages.copy()
    dead[:d] = 0  # a whole group
    some = code.decode(dead, partial=True).coefficients[0]  # the others' sum
    np.testing.assert_allclose(some, np.arange(n) >= code.parts[0].n, rtol=0, atol=1e-10)


# --- section 4: simulation --------------------------------------------------------------------------------------


def test_epochs_are_geometric_and_shared_by_all_p():
    draws = {p: Epochs(p).draw((0, 1), 4000, 5).start for p in (0.0, 0.2, 0.5)}
    assert not draws[0.0].any()
    assert (draws[0.2] <= draws[0.5]).all()
    for p in (0.2, 0.5):
        for i in (1, 2, 3):
            share, chance = (draws[p] >= i).mean(), p**i
            assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / draws[p].size)
    uniform = np.exp(-rng(1, "delays", 3).standard_exponential(4000))
    np.testing.assert_array_equal(draws[0.5][1, :, 3], np.floor(np.log(uniform) / log(0.5)))


def by_hand(G: np.ndarray, s_max: int) -> tuple[int, int]:
    """Epoch by epoch: the first with at most s_max of the group left, and how many."""
    epoch = 0
    while (left := int((G > epoch).sum())) > s_max:
        epoch += 1
    return epoch, left


def test_stopping_is_that_of_a_loop_over_epochs():
    draws = Epochs(0.5).draw((3,), 300, 20)
    G = draws.start[0]
    rule = Restart((1.0, 2.0, 3.0), (10.0, 20.0, 30.0), (100.0, 1000.0))
    for family, sizes in ((Adaptive, [20]), (GroupedAdaptive, group_sizes(20, 3))):
        timeline = simulate(Scheme(family(20, 3, search_seeds=2), rule, overhead=0.5), draws)
        assert (timeline.coefficients == 1).all()
        for t in range(300):
            groups = [by_hand(g, 2) for g in np.split(G[t], np.cumsum(sizes)[:-1])]
            epoch = max(i for i, _ in groups)
            s = max(left for i, left in groups if i == epoch)
            expected = [1, 2, 3][s] if epoch == 0 else 100 + 1000 * (epoch - 1) + [10, 20, 30][s]
            assert timeline.duration[0, t] == expected + 0.5
            used = timeline.patterns[timeline.pattern[0, t]]
            assert set(used[used > 0]) <= {-(-6 // (3 - left)) for _, left in groups}


def test_rounds_follow_the_stragglers_on_a_real_clock():
    """With a long message and one very slow worker, the master takes r_1 = 3 messages of the others."""
    code, slow = agc(5, 3), np.array([[[0.0, 0.0, 0.0, 0.0, 100.0]]])

    def arrive(r=6):
        return code.work(r) / code.k + 10 * np.minimum(r, 6) * code.length + slow

    time, responses = Decodable().stop(code, arrive)
    assert responses.tolist() == [[[3, 3, 3, 3, 0]]] and time[0, 0] == pytest.approx(0.6 + 10 * 0.5)


# --- what is refused --------------------------------------------------------------------------------------------


test_refuses = refusals(
    (lambda: Adaptive(3, 4), "1 <= d <= n, got n=3, d=4"),
    (lambda: Adaptive(5, 2, rounds=0), "rounds=0"),
    (lambda: Adaptive(5, 2, construction="randon"), "'random'"),
    (lambda: Adaptive(5, 2, arithmetic="extendet"), "'extended'"),
    (lambda: Adaptive(5, 2, construction="chebyshev"), "n=5.*d=2"),
    (lambda: Adaptive(5, 2, search_seeds=0), "search_seeds >= 1, got 0"),
    (lambda: Adaptive(20, 3, construction="structured"), "n=20.*rounds=6"),
    (lambda: Adaptive(3, 2, E=E3[1:]), "6 rows of 4 numbers, got 5 rows"),
    (lambda: Adaptive(3, 2, E=[["x"] * 4] * 6), "a row of E holds numbers"),
    (lambda: Adaptive(3, 2, E=[[1, 2, 3, 4]] * 6), "'4'"),
    (lambda: Adaptive(3, 2, E=[[1, 2, 0, 0]] * 6), "singular"),
    (lambda: Adaptive(3, 2, E=vandermonde(3, 2, 2, [4, -4, 1, 5, 2, -2])), r"workers \[0\]"),
    (lambda: vandermonde(3, 2, 2, [1, 1, 2, 3, 4, 5]), "distinct numbers"),
    (lambda: GroupedAdaptive(3, 5), "1 <= d <= n, got n=3, d=5"),
    (lambda: GroupedCGC(10, 3, 2, 2), "d >= s"),
    (lambda: Epochs(-0.1), "p"),
)
