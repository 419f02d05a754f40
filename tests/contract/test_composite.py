"""Codes made of codes keep the contract of every code, and decode as their parts do."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from gcexp.codes.base import Code, Quorum
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import DirectSum, Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.raptor import BatchRaptor
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.codes.uncoded import Uncoded
from gcexp.testing import checks
from tests.conftest import refusals

PAIR, PLANE = BlockDesign(3, "complete-3-2"), BlockDesign(7, "pg-2-2")
FRC, CYCLIC = FractionalRepetition(4, 2), CyclicRepetition(3, 1)
SUMS = [
    [FRC],
    [FRC, CYCLIC, Uncoded(2)],
    [PAIR, FRC, PLANE],
    [SoftBIBD(4, 5, 2.5), BatchRaptor(4, 2, 0.1)],
    [CyclicTwoMessage(6, 2, 5), CyclicPartialRecovery(4, 3, 4)],
]
PRODUCTS = [
    (FRC, PAIR),
    (PAIR, FRC),
    (PAIR, PAIR),
    (FRC, CYCLIC),
    (CYCLIC, FRC),
    (CYCLIC, CyclicRepetition(4, 2)),
    (FRC, FractionalRepetition(3, 3)),
    (FRC, SoftBIBD(3, 4, 2.5)),
    (SoftBIBD(3, 3, 2), CYCLIC),
    (CyclicPartialRecovery(4, 2, 2), PAIR),
    (DirectSum([CYCLIC, FractionalRepetition(2, 2)]), FractionalRepetition(2, 1)),
]


CASES = [
    *(partial(DirectSum, **example) for example in DirectSum.examples),
    *(partial(DirectSum, parts) for parts in SUMS),
    *(partial(Kronecker, **example) for example in Kronecker.examples),
    *(partial(Kronecker, a, b) for a, b in PRODUCTS),
]


@pytest.mark.parametrize("build", CASES)
def test_contract(build, hold):
    """Also of the constructor call that it is shown as."""
    hold(checks(codes=[build]))
    code = build()
    again = eval(repr(code), {**globals(), "array": np.array})
    assert type(again) is type(code) and (again.encoding != code.encoding).nnz == 0


def every(code: Code) -> np.ndarray:
    """All patterns of a code with one message per worker."""
    return (np.arange(2**code.n)[:, None] >> np.arange(code.n)) & 1


# --- direct sums --------------------------------------------------------------------------------------------


def test_a_direct_sum_is_its_parts_side_by_side():
    parts = [CyclicTwoMessage(6, 2, 5), CyclicPartialRecovery(4, 3, 4)]
    code = DirectSum(parts)
    assert (code.n, code.k, code.promise, code.recovers) == (10, 10, "indicator", 9)
    np.testing.assert_array_equal(code.messages, [2] * 6 + [1] * 4)
    np.testing.assert_array_equal(code.load, np.concatenate([part.load for part in parts]))
    np.testing.assert_array_equal(code.work(1), np.concatenate([part.work(1) for part in parts]))
    assert [quorum.workers for quorum in code.quorums] == [tuple(range(6)), (6, 7, 8, 9)]
    responses = np.random.default_rng(0).integers(0, code.messages + 1, (50, code.n))
    alone = [
        part.decode(mine, partial=True).coefficients
        for part, mine in zip(parts, (responses[:, :6], responses[:, 6:]), strict=True)
    ]
    np.testing.assert_array_equal(code.decode(responses, partial=True).coefficients, np.hstack(alone))


@pytest.mark.parametrize(
    ("parts", "promise"),
    [
        ([FRC, CYCLIC], "indicator"),
        ([FRC, PAIR], "least_squares"),
        ([PAIR, PLANE], "least_squares"),
        ([CyclicPartialRecovery(4, 2, 2), PAIR], "linear"),
        ([SoftBIBD(4, 5, 2.5, decoder="constant"), FRC], "linear"),
    ],
)
def test_promise_of_a_direct_sum(parts, promise):
    assert DirectSum(parts).promise == promise


def test_composites_are_redrawn_where_a_part_is():
    drawn = SoftBIBD(3, 3, 2)
    assert DirectSum([FRC, drawn]).redrawn and Kronecker(drawn, FRC).redrawn
    assert not DirectSum([FRC, PAIR]).redrawn and not Kronecker(PAIR, FRC).redrawn
    assert pickle.loads(pickle.dumps(Kronecker(drawn, FRC))).redrawn


# --- products -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), PRODUCTS, ids=[str(i) for i in range(len(PRODUCTS))])
def test_products_are_optimal_for_every_pattern(a, b):
    code = Kronecker(a, b)
    np.testing.assert_array_equal(
        code.encoding.toarray(), np.kron(a.encoding.toarray(), b.encoding.toarray())
    )
    responses = every(code) if code.n <= 9 else np.random.default_rng(0).integers(0, 2, (500, code.n))
    found = code.decode(responses, partial=True).error
    best = Code(code.encoding, promise="least_squares").decode(responses).error
    np.testing.assert_allclose(found, best, atol=1e-9)


def test_product_sets_use_the_factors_weights():
    code = Kronecker(PLANE, PAIR)
    responses = np.kron([1, 0, 1, 1, 0, 1, 1], [1, 0, 1])
    weights = np.kron(PLANE.decode([1, 0, 1, 1, 0, 1, 1]).weights[0], PAIR.decode([1, 0, 1]).weights[0])
    np.testing.assert_array_equal(code.decode(responses).weights[0], weights)


@pytest.mark.parametrize(
    ("a", "b", "stragglers"),
    [
        (CyclicRepetition(3, 1), CyclicRepetition(4, 2), 5),
        (CyclicRepetition(3, 2), CyclicRepetition(3, 1), 5),
        (FractionalRepetition(4, 2), CyclicRepetition(3, 1), 3),
        (FractionalRepetition(2, 2), FractionalRepetition(6, 3), 5),
    ],
)
def test_products_of_exact_codes_are_exact(a, b, stragglers):
    """(s1 + 1)(s2 + 1) - 1 stragglers, and no more."""
    code = Kronecker(a, b)
    assert code.promise == "indicator" and code.quorums
    responses = every(code)
    enough = responses[responses.sum(1) >= code.n - stragglers]
    assert code.met(enough).all() and (code.decode(enough).coefficients == 1).all()
    more = responses[responses.sum(1) == code.n - stragglers - 1]
    assert Code(code.encoding, promise="least_squares").decode(more).error.max() > 1e-3


def test_quorums_of_a_product_of_sums():
    code = Kronecker(DirectSum([CYCLIC, FractionalRepetition(2, 2)]), FractionalRepetition(2, 1))
    assert code.promise == "indicator"
    assert code.quorums[0] == Quorum([0, 2, 4], [(1, 2)]) and code.quorums[3] == Quorum([7, 9], [(1, 1)])
    met = every(code)[code.met(every(code))]
    assert (code.decode(met).coefficients == 1).all()


test_refuses = refusals(
    (lambda: DirectSum([]), "at least one code"),
    (lambda: Kronecker(CyclicTwoMessage(6, 2, 5), FRC), "one message per worker, got CyclicTwoMessage"),
    (lambda: DirectSum([FRC, Code(np.ones((1, 2)), blocks=2)]), r"equal blocks, got \[1, 2\]"),
)
