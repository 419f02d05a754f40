"""Waiting rules that look at each message, against going through the messages one by one."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from gcexp.codes import (
    BatchRaptor,
    Code,
    CyclicPartialRecovery,
    CyclicRepetition,
    CyclicTwoMessage,
    FractionalRepetition,
    Quorum,
    Uncoded,
)
from gcexp.codes.circulant import CirculantMultiMessage
from gcexp.codes.cyclic_mds import CyclicMDS
from gcexp.codes.expander import ExpanderCode
from gcexp.codes.graph_code import GraphCode
from gcexp.codes.stochastic import StochasticGradientCode
from gcexp.delays import Draws, ShiftedExponential
from gcexp.errors import ParameterError
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.schemes.elimination import Span, Spanned
from gcexp.schemes.micro_batches import Covered
from gcexp.schemes.stopping import Deadline, DecodableOrFastest, Recovered
from gcexp.timeline import simulate
from tests.conftest import refusals


def arrivals_of(code: Code, seeds: int = 1, iterations: int = 1, seed: int = 0, ties: bool = False):
    """An `arrive` whose r-th messages come one after the other; with ties, at whole numbers."""
    random, most = np.random.default_rng(seed), int(code.messages.max())
    shape = (seeds, iterations, code.n, most)
    step = random.integers(0, 3, shape).astype(float) if ties else random.exponential(1, shape)
    at = step.cumsum(-1)

    def arrive(r=None):
        sent = code.messages if r is None else np.minimum(r, code.messages)
        return np.take_along_axis(at, np.broadcast_to(sent - 1, shape[:3])[..., None], axis=-1)[..., 0]

    return arrive


def first(code: Code, arrive, enough):
    """For each iteration (i, t), time and responses after the first message at which `enough(number, responses)`.

    Messages come in the order (time, worker, rank); the last stops where not even all are enough.
    """
    S, T, n = arrive(1).shape
    for i, t in np.ndindex(S, T):
        events = sorted((arrive(r + 1)[i, t, w], w, r) for w in range(n) for r in range(code.messages[w]))
        responses = np.zeros(n, dtype=int)
        for number, event in enumerate(events, 1):
            responses[event[1]] += 1
            if enough(number, responses):
                break
        yield (i, t), event[0], responses


def spans(code: Code, responses: np.ndarray, targets: np.ndarray) -> bool:
    """Whether all targets are in the span of what was received."""
    rows = code.encoding.toarray()[code.received(responses[None].astype(int))[0]]
    weights = np.linalg.lstsq(rows.T, targets.T.astype(rows.dtype), rcond=None)[0]
    return bool(np.linalg.norm(weights.T @ rows - targets, axis=1).max() < 1e-8)


# --- recovered -----------------------------------------------------------------------------------------------

INDICATORS = [
    Uncoded(7),
    FractionalRepetition(8, 2),
    CyclicPartialRecovery(9, 4, 6),
    CyclicPartialRecovery(9, 4, 6, "appendix"),
    CyclicTwoMessage(8, 4, 5),
    BatchRaptor(10, 5, 0.1, seed=2),
    CyclicRepetition(6, 2),
    CirculantMultiMessage(5, (1, 2)),
]


@pytest.mark.parametrize("fraction", [0.01, 0.6, 1.0])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("code", INDICATORS, ids=repr)
def test_recovered_is_the_first_time_the_decoder_recovers_enough(code, ties, fraction):
    arrive = arrivals_of(code, 2, 5, seed=1, ties=ties)
    time, responses = Recovered(fraction).stop(code, arrive)
    if getattr(code, "decoder", "") != "appendix":  # recovery is monotone, and may be found by bisection
        np.testing.assert_equal(Recovered(fraction, True).stop(code, arrive), (time, responses))

    def enough(_, responses):
        c = code.decode(responses, partial=True).coefficients[0]
        clean = np.minimum(abs(c), abs(c - 1)).max() < 1e-9
        return clean and np.rint(c).sum() >= fraction * code.k - 1e-9

    for place, at, now in first(code, arrive, enough):
        assert time[place] == at
        np.testing.assert_array_equal(responses[place], now)


def test_recovered_decodes_little():
    """A pattern that was decoded is remembered, also where workers are late and each iteration is asked for alone."""
    decoded = []

    class Counting(FractionalRepetition):
        def weights(self, responses):
            decoded.extend(map(tuple, responses))
            return super().weights(responses)

    arrive = arrivals_of(code := Counting(8, 2), 1, 100)
    for t in range(100):
        Recovered(0.5).stop(code, lambda r=None, t=t: arrive(r)[:, t : t + 1])
    assert 0 < len(decoded) == len(set(decoded)) < 100


def test_recovered_never_uses_a_message_that_never_comes():
    at = np.array([[[1.0, inf, 2.0, 3.0], [inf, inf, 1.0, 2.0]]])
    time, responses = Recovered(0.5).stop(FractionalRepetition(4, 2), lambda r=1: at)
    assert time.tolist() == [[1, 1]] and responses.tolist() == [[[1, 0, 0, 0], [0, 0, 1, 0]]]
    assert Recovered(1.0).stop(FractionalRepetition(4, 2), lambda r=1: at)[0].tolist() == [[2, inf]]


# --- deadline ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [Uncoded(5), CyclicTwoMessage(8, 4, 5), CirculantMultiMessage(6, (1, 2, 3))])
def test_deadline_hears_what_arrived(code):
    arrive = arrivals_of(code, 2, 6, ties=True)
    time, responses = Deadline(2.0).stop(code, arrive)
    assert (time == 2).all() and responses.dtype == np.int16
    ranks = range(1, code.messages.max() + 1)
    arrived = sum(((arrive(r) <= 2) & (r <= code.messages)).astype(int) for r in ranks)
    np.testing.assert_array_equal(responses, arrived)


def test_deadline_before_the_first_message_of_a_run_is_an_error():
    scheme, draws = Scheme(Uncoded(2), Deadline(0.5)), Draws((0,), (1, 1, 2), start=np.array([1.0, 2.0]))
    with pytest.raises(ParameterError, match=r"Deadline\(time=0.5.*Uncoded\(n=2\)"):
        simulate(scheme, draws)
    draws = Draws((0,), (1, 2, 2), start=np.array([[[1.0, 2.0], [0.4, 1.0]]]))
    assert simulate(scheme, draws).coefficients.tolist() == [[0, 0], [1, 0]]


def test_a_time_that_is_not_finite_is_an_error():
    draws = Draws((0,), (1, 2, 2), start=np.array([[[1.0, 2.0], [np.inf, 1.0]]]))
    fastest = simulate(Scheme(Uncoded(2), Fastest(s=1)), draws)  # nobody waits for that worker
    assert fastest.duration[0, 1] == 1.0
    with pytest.raises(ParameterError, match="a time that is not finite"):
        simulate(Scheme(Uncoded(2), Fastest(s=0)), draws)


# --- decodable or fastest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1, 3, 5, 8])
def test_whichever_comes_first(q):
    code = FractionalRepetition(8, 2)
    arrive = arrivals_of(code, 2, 50)
    time, responses = DecodableOrFastest(q=q).stop(code, arrive)
    for place, at, now in first(code, arrive, lambda number, heard: number == q or code.met(heard)[0]):
        used, heard = (code.decode(some, partial=True).recovered for some in (responses[place], now))
        assert time[place] == at and used == heard and (responses[place] <= now).all()


def test_erasure_head_loses_something_as_it_stands():
    """Not with groups larger than s: they all answer before n-s workers do, and the preset would be exact."""
    scheme = build_scheme(compose(["scheme=erasure_head"]))
    timeline = simulate(scheme, ShiftedExponential(shift=1.0).draw(seeds=(0,), iterations=200, n=10))
    recovered = timeline.coefficients.mean(1)[timeline.pattern]
    assert 0.5 < recovered.mean() < 1 and recovered.max() == 1


# --- incremental elimination ---------------------------------------------------------------------------------


def test_span_stays_accurate_for_ill_conditioned_rows():
    code = CyclicRepetition(60, 10)
    responses = np.random.default_rng(0).permutation(60)
    span = Span(1, 60, targets=np.ones((1, 60)))
    inside = [bool(span.insert(code.encoding.toarray()[[w]]) is None or span.inside[0, 0]) for w in responses]
    assert inside.index(True) == 49  # the fiftieth of n - s = 50


TWO_BLOCKS = Code(
    np.kron(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 2, 3]]), np.eye(2)),
    owner=np.arange(8) // 2,
    blocks=2,
)
SPANNABLE = [
    CirculantMultiMessage(6, (1, 2)),
    CyclicRepetition(6, 2),
    CyclicMDS(7, 3),
    CyclicPartialRecovery(9, 4, 6),
    GraphCode(6, 3),
    ExpanderCode(7, offsets=(1,), decoder="optimal"),
    TWO_BLOCKS,
    # Independent of the length of a row:
    Code(1e-9 * CyclicRepetition(6, 2).encoding, promise="least_squares"),
]


@pytest.mark.parametrize("wanted", [None, (0, 2)])
@pytest.mark.parametrize("target", ["sum", "partitions"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("code", SPANNABLE, ids=repr)
def test_spanned_is_the_first_time_that_the_target_is_in_the_span(code, ties, target, wanted):
    which = np.eye(code.k)[list(range(code.k) if wanted is None else wanted)]
    targets = np.kron(which.sum(0)[None] if target == "sum" else which, np.eye(code.blocks))
    if not spans(code, code.messages, targets):
        with pytest.raises(ParameterError, match=target):
            Spanned(target, wanted).stop(code, arrivals_of(code))
        return
    arrive = arrivals_of(code, 2, 4, seed=3, ties=ties)
    if isinstance(code, CyclicPartialRecovery) and wanted is None:
        with pytest.raises(ParameterError, match="CyclicPartialRecovery"):
            Spanned(target, wanted).stop(code, arrive)
        code = Code(code.encoding, promise="least_squares")
    time, responses = Spanned(target, wanted).stop(code, arrive)
    assert responses.dtype == np.int16
    for place, at, now in first(code, arrive, lambda _, heard: spans(code, heard, targets)):
        assert time[place] == at and (responses[place] <= now).all()
        assert spans(code, responses[place], targets)


# --- in schemes, and what is refused -------------------------------------------------------------------------


def test_a_promise_met_by_one_alternative_is_enough():
    """Two messages of one worker, or one of each: recovered stops at the first."""
    B = np.array([[1.0, 0], [0, 1], [1, 1], [0, 1]])
    code = Code(B, owner=[0, 0, 1, 1], quorums=[Quorum((0, 1), [(1, 2), (2, 1)])])
    at = np.array([[[1.0, 9.0]]]), np.array([[[2.0, 9.5]]])
    for rule in (Recovered(1.0), Spanned("partitions")):
        time, responses = rule.stop(code, lambda r=2: at[r - 1])
        assert time.tolist() == [[2]] and responses.tolist() == [[[2, 0]]]


def stop(rule, code):
    return rule.stop(code, arrivals_of(code))


test_refusals = refusals(
    (lambda: Fastest(), "q=None, s=None"),
    (lambda: stop(Fastest(s=4), Uncoded(4)), "n=4"),
    (lambda: stop(Decodable(), BatchRaptor(6, 2, 0.1)), "BatchRaptor"),
    (lambda: Recovered(0.0), "fraction.* 0.0"),
    (lambda: Recovered(1.5), "fraction.* 1.5"),
    (lambda: Deadline(0), "time.* 0"),
    (lambda: DecodableOrFastest(), "q=None, s=None"),
    (lambda: Spanned("summ"), "'summ'.*'sum'"),
    (lambda: Spanned(tolerance=0), "tolerance.* 0"),
    (lambda: Spanned(wanted=[]), "wanted|partition"),
    (lambda: stop(Recovered(0.5), ExpanderCode(7, offsets=(1,))), "linear"),
    (lambda: stop(Recovered(0.5), GraphCode(6, 3)), "least_squares"),
    (lambda: stop(DecodableOrFastest(q=2), GraphCode(6, 3)), "GraphCode"),
    (lambda: stop(DecodableOrFastest(q=9), Uncoded(6)), "q=9.*n=6"),
    (lambda: stop(Spanned(), StochasticGradientCode(5, 2, 0.1)), "StochasticGradientCode"),
    (lambda: stop(Spanned(wanted=(1, 6)), Uncoded(6)), r"5.*\[1, 6\]"),
    (lambda: stop(Spanned("partitions"), CyclicRepetition(5, 2)), "partitions"),
    (lambda: stop(Spanned(), CyclicTwoMessage(10, 4, 7)), r"CyclicTwoMessage.*wait="),
    (lambda: stop(Spanned(), BatchRaptor(10, 3, 0.1)), r"BatchRaptor.*wait="),
)


@pytest.mark.parametrize("size", [1, 2, 9, 251, 1000, 70_001])
def test_the_fastest_are_those_of_sorted_times(size):
    """Few workers, blocks of many and all between, with ties and workers that never answer."""
    at = np.random.default_rng(size).exponential(1, (1, 3, size))
    at[0, 1] = at[0, 1].round(1)
    at[0, 2, : size // 3] = inf
    for q in {1, 2, 7, size // 9, size // 2, size - 6, size} & set(range(1, size + 1)):
        first = np.zeros(at.shape, dtype=int)  # at equal times the lower workers
        np.put_along_axis(first, np.argsort(at, axis=-1, kind="stable")[..., :q], 1, axis=-1)
        found = Fastest(q=q).stop(Uncoded(size), lambda r=1: at)
        np.testing.assert_equal(found, (np.sort(at, axis=-1)[..., q - 1], first))


@pytest.mark.parametrize(("rule", "stops"), [(Covered(), 3.0), (Deadline(9), 9.0)])
def test_a_worker_counts_no_further_than_it_sends(rule, stops):
    code = Code(np.eye(3), [0, 0, 1])
    at = {1: np.array([[[1.0, 2.0]]]), 2: np.array([[[3.0, 2.0]]])}  # who has sent its last repeats it
    time, responses = rule.stop(code, at.get)
    assert time.tolist() == [[stops]] and responses.tolist() == [[[2, 1]]]
