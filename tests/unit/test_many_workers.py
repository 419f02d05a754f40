"""A hundred thousand workers: streams, quorums and cyclic codes without an object or a matrix for each."""

from __future__ import annotations

import numpy as np
import pytest

import gcexp
from gcexp.codes import Clustered, CyclicRepetition, FractionalRepetition, Quorum, Quorums, Uncoded
from gcexp.codes.base import Code
from gcexp.delays import Pareto, ShiftedExponential, TwoStateMarkov
from gcexp.delays.base import Exponentials
from gcexp.errors import ParameterError
from gcexp.schemes import Decodable, Fastest, Scheme, Spanned
from gcexp.theory.order_statistics import harmonic, pareto, shifted_exponential
from gcexp.timeline import run_clock

MANY = 100_000


@pytest.mark.parametrize("persistence", [1, 3])
def test_shared_streams_do_not_depend_on_what_else_is_drawn(persistence):
    """Beyond 10 000 workers some share a stream; no draw of a published size moves."""
    most = 10_103
    whole = Exponentials((0, 1), most, persistence)(6)
    for n in (5, 10_050):
        np.testing.assert_array_equal(Exponentials((0, 1), n, persistence)(6), whole[..., :n])
    streams = Exponentials((1,), most, persistence)
    np.testing.assert_array_equal(np.concatenate([streams(t) for t in (1, 3, 2)], axis=1), whole[1:])
    assert len(np.unique(whole[:, ::persistence])) == whole[:, ::persistence].size


@pytest.mark.parametrize(
    "groups", [np.arange(12).reshape(4, 3), np.arange(12).reshape(3, 4).T, [[7, 2], [0, 9]]]
)
@pytest.mark.parametrize("need", [[(1, 2)], [(1, 2), (3, 1)]])
def test_equal_quorums_are_what_each_of_them_is(groups, need):
    some = Quorums(groups, need)
    each = [Quorum(workers, need) for workers in np.asarray(groups).tolist()]
    assert list(some) == each and some[-1] == each[-1] and some[:2] == tuple(each[:2])
    responses = np.random.default_rng(0).integers(0, 4, (200, 12))
    np.testing.assert_array_equal(some.met(responses), np.all([q.met(responses) for q in each], axis=0))
    arrivals = np.random.default_rng(1).random((3, 2, 50, 12)).cumsum(0).round(1)  # with ties
    codes = [Code(np.eye(12).repeat(3, 0), np.arange(12).repeat(3), quorums=q) for q in (some, each)]
    np.testing.assert_equal(*(Decodable().stop(code, lambda r: arrivals[r - 1]) for code in codes))


def test_quorums_are_disjoint():
    with pytest.raises(ParameterError, match="disjoint groups"):
        Quorums([[0, 1], [1, 2]], [(1, 1)])
    with pytest.raises(ParameterError, match="quorum of 2 workers"):
        Quorums([[0, 1], [3, 2]], [(1, 3)])


LAW = ShiftedExponential(shift=1.0, mean=0.5)


@pytest.mark.parametrize(
    ("code", "wait", "law", "iterations", "expected"),
    [
        (Uncoded(MANY), Fastest(s=100), LAW, 30, shifted_exponential(MANY - 100, MANY, 1.0, 0.5)),
        # The fastest of each of n/d groups, and the slowest of these: of d exponentials the least has the mean 1/d.
        (FractionalRepetition(MANY, 5), Decodable(), LAW, 30, 1.0 + 0.5 / 5 * harmonic(MANY // 5)),
        (CyclicRepetition(MANY, 4), Fastest(s=4), Pareto(1.0, 5.0), 8, pareto(MANY - 4, MANY, 1.0, 5.0)),
        (Clustered(MANY, clusters=MANY // 20, d=3), Decodable(), LAW, 4, None),
    ],
    ids=["Uncoded", "FractionalRepetition", "CyclicRepetition", "Clustered"],
)
def test_many_workers_take_the_time_of_theory_and_decode(code, wait, law, iterations, expected):
    found = run_clock(Scheme(code, wait), law, (0,), iterations)
    if expected:
        error = found.duration.std(ddof=1) / np.sqrt(iterations)
        assert abs(found.duration.mean() - expected) <= 4 * error < 0.16 * expected
    if not isinstance(code, Uncoded):
        assert (found.coefficients == 1).all()
    if isinstance(code, Clustered):
        assert found.residual.max() < 1e-8  # few patterns, all certified
    if isinstance(code, CyclicRepetition):
        assert np.isnan(found.residual).all()  # a clock takes its word
        assert code.decode(found.patterns).residual.max() < 1e-8
    if isinstance(code, Clustered):
        assert (found.patterns.reshape(4, 20, -1).sum(1) >= 18).all()  # worker w is in cluster w mod P


@pytest.mark.parametrize(
    "quorums",
    [
        [Quorum([0, 1, 2], [(1, 2)]), Quorum([2, 3], [(1, 1)])],  # overlapping
        [Quorum([0, 1], [(1, 2), (2, 1)]), Quorum([2, 3], [(1, 1)])],
        Quorums([[0, 3], [1, 2]], [(1, 2), (2, 1)]),
    ],
)
def test_decodable_is_its_definition(quorums):
    """A quorum is met by the first of its pairs, at equal times by that of fewest messages; the last quorum stops."""
    arrivals = np.random.default_rng(2).integers(1, 5, (2, 1, 300, 4)).cumsum(0).astype(float)
    code = Code(np.eye(4).repeat(2, 0), np.arange(4).repeat(2), quorums=quorums)
    time, responses = Decodable().stop(code, lambda r: arrivals[r - 1])
    for t in range(300):
        heard, stops = np.zeros(4, dtype=int), []
        for quorum in quorums:
            at = {r: arrivals[r - 1, 0, t, list(quorum.workers)] for r, _ in quorum.need}
            met, r = min((np.sort(at[r])[q - 1], r) for r, q in quorum.need)
            stops.append(met)
            for w, arrived in zip(quorum.workers, at[r], strict=True):
                heard[w] = r if arrived <= met else heard[w]
        assert time[0, t] == max(stops) and responses[0, t].tolist() == heard.tolist()


def test_what_does_not_take_so_many_workers_says_so():
    code = CyclicRepetition(20_000, 2)
    heard = np.ones((1, code.n), dtype=int)
    heard[0, :3] = 0
    for call in (
        lambda: code.decode(heard, partial=True),
        lambda: run_clock(Scheme(code, Decodable()), TwoStateMarkov(), (0,), 2),
        lambda: Scheme(code, Spanned()),
    ):
        with pytest.raises(ParameterError, match="10000"):
            call()


def test_a_clock_of_a_large_cyclic_code_solves_for_no_coefficients(monkeypatch):
    def refuse(*_):
        raise AssertionError("a clock asked for coefficients")

    monkeypatch.setattr("gcexp.codes.cyclic._solve_windows", refuse)
    table = gcexp.simulate(scheme="cgc", n=500, s=50, delay="pareto", iterations=20, seeds=2)
    assert (table["mean_recovered_fraction"] == 1).all()


def test_a_quorum_of_more_workers_than_it_has_names_both():
    with pytest.raises(ParameterError, match="from 0 to 4 of them, got 5"):
        Quorum(range(4), [(1, 5)])
