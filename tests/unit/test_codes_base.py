"""The parts of gcexp.codes.base on toy codes whose answers are known by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from scipy import sparse

from gcexp.codes import (
    BernoulliCode,
    BlockAssignment,
    BlockDesign,
    CirculantMultiMessage,
    Code,
    CommunicationEfficient,
    CyclicMDS,
    CyclicRepetition,
    DirectSum,
    ExpanderCode,
    FractionalRepetition,
    GraphCode,
    Quorum,
    SoftBIBD,
    StochasticGradientCode,
    Uncoded,
    UnevenShards,
)
from gcexp.codes.accuracy import require_accurate
from gcexp.codes.quorums import Quorums
from gcexp.errors import DecodingError, ParameterError
from gcexp.schema import checked
from tests.conftest import refusals

# --- Quorum -------------------------------------------------------------------------------------------------


def test_quorum_is_met_by_any_alternative():
    quorum = Quorum([0, 1, 2], [(1, 3), (2, 2)])  # three first messages, or two second ones
    responses = np.array([[1, 1, 1, 0], [2, 2, 0, 0], [2, 1, 0, 9], [0, 0, 0, 9]])
    np.testing.assert_array_equal(quorum.met(responses), [True, True, False, False])
    np.testing.assert_array_equal(quorum.met(responses.reshape(2, 2, 4)), [[True, True], [False, False]])


@pytest.mark.parametrize("need", [[], [(2, 1), (1, 2)], [(1, 1), (1, 2)], [(1, 4)], [(1, -1)]])
def test_quorum_refuses_needs_that_make_no_sense(need):
    with pytest.raises(ParameterError):
        Quorum(range(3), need)


def test_met_asks_for_every_quorum():
    code = Code(np.eye(4), quorums=[Quorum([0, 1], [(1, 1)]), Quorum([2, 3], [(1, 1)])], recovers=2)
    np.testing.assert_array_equal(code.met([[1, 0, 0, 1], [1, 1, 0, 0]]), [True, False])
    np.testing.assert_array_equal(Code(np.eye(4), recovers=0).met([[0, 0, 0, 0]]), [True])


# --- several messages per worker ----------------------------------------------------------------------------


@pytest.fixture
def interleaved():
    """Worker 1 sends rows 0 and 2 (in that order), worker 0 sends row 1, worker 2 nothing."""
    return Code([[1, 1, 0], [0, 1, 1], [0, 0, 1]], owner=[1, 0, 1], n=3, promise="least_squares")


def test_messages_follow_the_sending_order(interleaved):
    np.testing.assert_array_equal(interleaved.messages, [1, 2, 0])
    np.testing.assert_array_equal(interleaved.rank, [0, 0, 1])
    responses = np.array([[0, 1, 0], [1, 1, 0], [0, 2, 0]])
    np.testing.assert_array_equal(interleaved.received(responses), [[1, 0, 0], [1, 1, 0], [1, 0, 1]])


def test_work_counts_partitions_once(interleaved):
    work = [interleaved.work(messages) for messages in range(3)]
    np.testing.assert_array_equal(work, [[0, 0, 0], [2, 2, 0], [2, 3, 0]])
    np.testing.assert_array_equal(interleaved.load, work[2])
    np.testing.assert_array_equal(Code([[1, 1, 0], [0, 1, 0]], owner=[0, 0]).load, [2])


def test_a_code_keeps_an_encoding_of_its_own():
    given = sparse.csr_array(np.eye(3))
    code = Code(given)
    given.data[:] = 9.0
    np.testing.assert_array_equal(code.encoding.toarray(), np.eye(3))


def test_the_assignment_of_sparse_entries():
    """Stored zeros are part of it, and an entry that stands twice is one partition."""
    B = sparse.csr_array((np.array([1.0, 0.0, 1.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(Code(B).assignment, [[True, True], [False, True]])
    np.testing.assert_array_equal(Code(B).load, [2, 1])
    twice = Code(sparse.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)))
    np.testing.assert_array_equal(twice.load, [1, 1])
    np.testing.assert_array_equal(twice.load, twice.assignment.sum(1))


def test_default_weights_are_least_squares(interleaved):
    decoding = interleaved.decode([[0, 2, 0], [1, 1, 0], [0, 0, 0]])
    expected = [[1, 1, 1], [2 / 3, 4 / 3, 2 / 3], [0, 0, 0]]
    np.testing.assert_allclose(decoding.coefficients, expected, atol=1e-12)
    np.testing.assert_allclose(decoding.error, [0, 1 / 9, 1], atol=1e-12)
    np.testing.assert_allclose(decoding.noise_gain, [2**0.5, 8**0.5 / 3, 0], atol=1e-12)


def test_recovered_counts_ones():
    code = Code(np.eye(4), recovers=0)
    for responses in ([[1, 0, 1, 1]], [True, False, True, True]):  # one row, or booleans
        decoding = code.decode(responses)
        np.testing.assert_array_equal(decoding.recovered, [0.75])
        np.testing.assert_array_equal(decoding.weights, [[[1, 0, 1, 1]]])


# --- promises -----------------------------------------------------------------------------------------------


def test_an_approximation_is_given_only_where_it_is_asked_for():
    """Five of ten silent where two may be: half of the sum was returned without a mark."""
    code, responses = CyclicRepetition(10, 2), [[1] * 5 + [0] * 5]
    with pytest.raises(ParameterError, match="partial=True"):
        code.decode(responses)
    found = code.decode(responses, partial=True)
    assert not found.exact and found.error[0] > 0.2
    assert code.decode([[1] * 8 + [0] * 2]).exact
    lucky = FractionalRepetition(6, 2).decode([[1, 0, 1, 0, 1, 0]])
    assert lucky.exact and lucky.error == 0
    approximate = BlockDesign(n=7, design="pg-2-2").decode([[1] * 6 + [0]])
    assert not approximate.exact and approximate.error > 0  # promised for any number of workers
    with pytest.raises(ParameterError, match="partial=True"):
        code.decode([code.messages, *responses])


def test_a_broken_promise_raises():
    few = Code(np.eye(3), quorums=[Quorum(range(3), [(1, 2)])])
    with pytest.raises(DecodingError, match=r"workers \[0, 2\].*2 .*3"):
        few.decode([[1, 1, 1], [1, 0, 1]])
    below = few.decode([[1, 0, 0]], partial=True)  # below the quorum: best effort
    assert below.recovered == pytest.approx(1 / 3)
    with pytest.raises(DecodingError, match="residual"):
        Code([[1, 2]], quorums=[Quorum([0], [(1, 1)])], recovers=0).decode([[1]])


def test_mixed_blocks_below_the_threshold_give_zero():
    """Any two of three workers: first half, second half, and the sum of both halves."""
    halves = Code([[1, 0], [0, 1], [1, 1]], blocks=2, quorums=[Quorum(range(3), [(1, 2)])])
    assert (halves.k, halves.blocks, halves.length, *halves.load) == (1, 2, 0.5, 1, 1, 1)
    decoding = halves.decode([[1, 0, 0], [0, 0, 1], [0, 0, 0]], partial=True)
    np.testing.assert_array_equal(decoding.coefficients, np.zeros((3, 1)))
    np.testing.assert_allclose(decoding.residual, [0.5, 0.5, 0])
    assert decoding.weights[0].any()  # nothing is hidden: the weights are those of the decoder
    nothing = halves.decode(np.empty((0, 3), dtype=int))
    assert nothing.weights.shape == (0, 2, 3)
    assert nothing.error.shape == nothing.recovered.shape == nothing.noise_gain.shape == (0,)


@pytest.mark.parametrize("promise", ["linear", "least_squares", "indicator"])
def test_mixed_blocks_break_every_promise(promise):
    with pytest.raises(DecodingError, match=r"residual (5|1)\.0e"):
        Code(np.eye(2), blocks=2, promise=promise, recovers=0).decode([[1, 0]])


class Scaled(CyclicRepetition):
    """Decodes to another multiple of the sum."""

    factor = 1.0

    def weights(self, responses):
        return self.factor * super().weights(responses)


def test_a_promised_indicator_is_rounded():
    code = Scaled(5, 2)
    code.factor = 1 + 1e-9
    decoding = code.decode([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]], partial=True)
    assert (decoding.coefficients[0] == 1).all() and not np.isin(decoding.coefficients[1], (0, 1)).all()
    assert decoding.residual[0] == pytest.approx(1e-9, rel=1e-3)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("factor", [2, np.inf])
def test_wrong_weights_are_caught(factor):
    code = Scaled(5, 2)
    code.factor = factor
    with pytest.raises(DecodingError, match=r"Scaled\(n=5, s=2"):
        code.decode([[1, 1, 1, 0, 0]])


class Blind(Code):
    """Weighs whatever it should have heard."""

    def __init__(self):
        super().__init__(np.eye(3), promise="least_squares")

    def weights(self, responses):
        return np.ones((len(responses), 3))


class Flat(Blind):
    """Forgets that there are several patterns."""

    def weights(self, responses):
        return responses[0] * 1.0


def test_weights_of_a_stranger_are_held_against_what_was_heard():
    assert Blind().decode([[1, 1, 1]]).exact
    with pytest.raises(DecodingError, match="worker 1"):
        Blind().decode([[1, 0, 1]])
    with pytest.raises(DecodingError, match=r"\(3,\).*\(2, 3\)"):
        Flat().decode([[1, 1, 1], [1, 0, 1]])


def test_a_part_that_is_met_is_whole_though_another_is_not():
    """Or `recovered`, which counts ones, would miss what rounding left at 1 - 1e-16."""
    part = CyclicRepetition(7, 3)
    for code in (DirectSum([part, part]), DirectSum([part, BlockDesign(7, "pg-2-2")])):
        responses = np.ones((1, 14), dtype=int)
        responses[0, [0, 2, 5, 8, 9, 10, 11]] = 0  # three of the first part, four of the second
        raw = (code.weights(responses).reshape(1, 14) @ code.encoding)[0, :7]
        assert (raw != 1).any() and np.allclose(raw, 1)
        decoding = code.decode(responses, partial=True)
        assert (decoding.coefficients[0, :7] == 1).all() and 0.5 <= decoding.recovered[0] < 1


# --- combine --------------------------------------------------------------------------------------------------


def test_silent_workers_messages_may_hold_anything():
    """A buffer that nobody filled: 0 times NaN is NaN, and must not reach the answer."""
    code, g = CyclicRepetition(5, 2), np.random.default_rng(0).standard_normal((5, 4))
    sent, decoding = code.encode(g), code.decode([1, 0, 1, 1, 0])
    sent[1], sent[4] = np.nan, np.inf
    np.testing.assert_allclose(code.combine(sent, decoding.weights[0]), g.sum(0), atol=1e-12)
    sent[0, 2] = np.nan
    with pytest.raises(ParameterError, match="NaN"):
        code.combine(sent, decoding.weights[0])


# --- CPU tensors where arrays go, without torch being imported by codes ---------------------------------------

CODES = [CyclicRepetition(5, 2), CyclicMDS(5, 2), CommunicationEfficient(5, 3, 2)]
each_code = pytest.mark.parametrize("code", CODES, ids=lambda code: type(code).__name__)


def gradients(code, dtype) -> torch.Tensor:
    return torch.randn(code.k, 7, generator=torch.Generator().manual_seed(0)).to(dtype)


@each_code
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bfloat16"])
def test_encode_and_decode_take_tensors(code, dtype):
    g = gradients(code, getattr(torch, dtype))
    same = (g.double() if dtype == "bfloat16" else g).numpy()
    sent = code.encode(g)
    assert isinstance(sent, np.ndarray) and sent.dtype == code.encoding.dtype
    np.testing.assert_array_equal(sent, code.encode(same))
    np.testing.assert_array_equal(code.encode(g[:, ::2]), code.encode(same[:, ::2]))  # not contiguous
    responses = torch.ones(1, code.n, dtype=torch.int64)
    for heard in (responses, responses.bool()):
        np.testing.assert_array_equal(code.decode(heard).coefficients, np.ones((1, code.k)))
    decoded = code.combine(sent, code.decode(responses).weights[0])
    np.testing.assert_allclose(decoded[:7], g.double().sum(0), atol=1e-9)


@each_code
def test_combine_takes_tensors(code):
    sent = code.encode(gradients(code, torch.float64))
    weights = code.decode(code.messages).weights[0]
    answer = code.combine(sent, weights)
    for messages in (torch.from_numpy(sent), torch.from_numpy(sent.copy(order="F"))):
        found = code.combine(messages, weights)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, answer, rtol=1e-12)
    single = torch.complex64 if np.iscomplexobj(sent) else torch.bfloat16
    np.testing.assert_allclose(code.combine(torch.from_numpy(sent).to(single), weights), answer, atol=0.2)
    with pytest.raises(ParameterError, match="messages require grad"):
        code.combine(torch.from_numpy(sent).requires_grad_(), weights)
    with pytest.raises(ParameterError, match=r"gradients.detach\(\)"):
        code.encode(gradients(code, torch.float32).requires_grad_())
    with pytest.raises(ParameterError, match="real.*complex"):
        code.encode(torch.ones(code.k, 3, dtype=torch.complex64))


# --- what is refused ----------------------------------------------------------------------------------------

CODE, MDS, _ = CODES
SENT = np.ones((5, 3))
ALL = CODE.decode([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).weights


test_what_does_not_fit_is_refused = refusals(
    (lambda: Code(np.eye(3), owner=[0]), "worker"),
    (lambda: Code(np.eye(3), blocks=2), "blocks=2"),
    (lambda: Code(np.eye(3), promise="exact"), "promise"),
    (lambda: Code([[1, np.nan]]), "NaN"),
    (lambda: Code(np.eye(3), quorums=[Quorum([0, 3], [(1, 1)])]), r"n-1 = 2.*\[0, 3\]"),
    (lambda: Code(np.eye(2), quorums=Quorums([[0, 1], [2, 3]], [(1, 1)])), "n-1 = 1"),
    (lambda: Code(np.eye(3), quorums=[(range(3), [(1, 2)])]), "Quorum"),
    (lambda: Code(np.eye(2)).decode([[1, 0], [1]]), "responses"),
    (lambda: Code(np.eye(2)).encode([["a"] * 2] * 2), "gradients"),
    (lambda: Code(np.eye(2)).encode([[1, 2], [3]]), "gradients"),
    (lambda: Code(np.eye(2)).encode(None), "gradients"),
    (lambda: Code(np.eye(2)).encode(np.ones((2, 2)) * 1j), "gradients"),  # half would be lost
    (lambda: CODE.combine(SENT[:3], ALL[0]), r"M=5.*\(3, 3\)"),  # only what was received
    (lambda: CODE.combine(SENT, ALL), r"weights.*\(1, 5\)"),
    (lambda: CODE.combine(SENT, ALL[0, :, :3]), r"weights.*\(1, 5\)"),
    (lambda: MDS.combine(SENT, MDS.decode(MDS.messages).weights[0]), "complex.*float64"),
    # Parameters of a family are checked by their annotations.
    (lambda: CyclicRepetition(n=2.5, s=1), "CyclicRepetition: n .*2.5"),
    (lambda: CyclicRepetition("10", 2), "'10'"),
    (lambda: CyclicRepetition(5, s=None), "CyclicRepetition: s .*None"),
    (lambda: CyclicRepetition(5, True), "CyclicRepetition: s .*True"),
    (lambda: CyclicRepetition(5, 2, construction=[]), "construction"),  # not hashable, and no name
    (lambda: SoftBIBD(7, 7, "3"), "SoftBIBD: d .*'3'"),
    (lambda: CyclicMDS(n=10**6, s=2), "CyclicMDS: n .*10000"),
    (lambda: BlockAssignment(holders=None, s=1), "BlockAssignment: holders .*None"),
    (lambda: BlockAssignment(holders=[[0]]), "'s'"),
    (lambda: CirculantMultiMessage(n=4, sizes=1.5), "CirculantMultiMessage: sizes .*1.5"),
    (lambda: DirectSum(parts=[1, 2]), "DirectSum: parts: entry 1 .*1"),
    (lambda: BernoulliCode(n=6000, d=2, k=10**6), "Bernoulli .*k=1000000"),
    (lambda: UnevenShards([1.0, 1.0], k=10**9), "UnevenShards: k .*1000000000"),
    (lambda: ExpanderCode(n=6, offsets=float("nan")), "ExpanderCode: offsets .*nan"),
    (lambda: GraphCode(n=6, d=3, offsets=("x",)), "'x'"),
)


def test_numbers_of_numpy_are_numbers():
    code = CyclicRepetition(np.int64(5), np.int32(2))
    assert type(code.s) is int and repr(code).startswith("CyclicRepetition(n=5, s=2")
    assert BlockDesign(np.int64(7), "pg-2-2").n == 7
    assert SoftBIBD(7, 7, np.float64(2.5), s=None).s is None
    assert StochasticGradientCode(3, (1, 2, 2), 0.1).load.sum() == 5  # not a plain number: left to the family


def test_families_from_outside_are_checked_too():
    class Mine(Code):
        @checked
        def __init__(self, n: int, scale: float | None = None):
            super().__init__(np.eye(n), recovers=0)

    assert Mine(2, None).n == 2
    with pytest.raises(ParameterError, match="'x'"):
        Mine(2, "x")
    with pytest.raises(ParameterError, match="'size'"):
        Mine(2, size=3)


def test_plain_sums_of_many_workers_make_no_dense_matrix():
    """They were made of 10^8 numbers at n = 10^4; the same sparse matrices, entry by entry."""
    for code, dense in (
        (Uncoded(7), np.eye(7)),
        (FractionalRepetition(6, 3, k=8), np.kron(np.eye(2), np.ones((3, 4)))),
        (FractionalRepetition(200, 4), np.kron(np.eye(50), np.ones((4, 4)))),
    ):
        wanted = sparse.csr_array(dense)
        for name in ("data", "indices", "indptr"):
            mine, theirs = getattr(code.encoding, name), getattr(wanted, name)
            assert (mine == theirs).all() and mine.dtype.kind == theirs.dtype.kind
    tracemalloc.start()
    Uncoded(10_000), FractionalRepetition(10_000, 2)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_wrong_quorum_is_told_of_quorums_and_not_of_rounding():
    code = Code(CyclicRepetition(6, 2).encoding, quorums=[Quorum(range(6), [(1, 3)])])
    with pytest.raises(ParameterError) as raised:
        require_accurate(code)
    assert "quorum" in str(raised.value) and "fewer workers or stragglers" not in str(raised.value)
