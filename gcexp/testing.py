"""Does your code, waiting rule, delay model or task keep its contract? The checks that gcexp's own ones pass.

In a test file of yours, one test for each subject and check::

    from functools import partial

    from gcexp.codes import CyclicRepetition
    from gcexp.schemes import Scheme
    from gcexp.testing import parametrize_with_checks
    from mylab import Laplace, Mirror, Patience


    @parametrize_with_checks(
        codes=[partial(Mirror, n=4), partial(Mirror, n=6)],
        waits=[Scheme(CyclicRepetition(n=5, s=2), Patience(3))],
        delays=[Laplace(mean=2.0)],
    )
    def test_contract(check):
        check()

Without pytest, ``for check in checks(codes=[...]): check()`` raises an `AssertionError` that says what is broken.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.codes import Code
from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.codes.by_message import ByMessage
from gcexp.delays import DelayModel, Draws, ShiftedExponential
from gcexp.errors import ParameterError
from gcexp.extras import extras
from gcexp.schemes import Lead, Scheme
from gcexp.schemes.waiting import WaitingExtras
from gcexp.tasks.base import ProblemExtras, TaskExtras
from gcexp.timeline import simulate

if TYPE_CHECKING:
    from gcexp.data import Dataset

MOST_PATTERNS = 300  # of one quorum alternative: all of them up to here, else a sample
SEEDS, ITERATIONS, WORKERS = (0, 1), 20, 10


@dataclass(frozen=True)
class Check:
    """One check of one subject: call it."""

    subject: str
    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return f"{self.subject}-{self.name}"


def checks(
    *,
    codes: Iterable[Callable[..., Code]] = (),
    waits: Iterable[Scheme | tuple[Scheme, DelayModel]] = (),
    delays: Iterable[DelayModel | tuple[DelayModel, int]] = (),
    tasks: Iterable[tuple[Any, Dataset, int]] = (),
) -> Iterator[Check]:
    """Every check of every subject.

    Parameters
    ----------
    codes : iterable of callables
        What builds a code: a class that takes nothing, or ``partial(Mirror, n=4)``.
    waits : iterable of Scheme, or (Scheme, delay model)
        A waiting rule with a code that it can use, and where it needs one, a delay model.
    delays : iterable of delay models, or (delay model, n)
        `n` is a number of workers that it can be drawn for, at least 2; default 10.
    tasks : iterable of (task, Dataset, k)
        Data that the task can be bound to, cut into k partitions.

    Yields
    ------
    Check

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> found = list(checks(codes=[partial(Uncoded, n=3)]))
    >>> print(found[0])
    Uncoded(n=3)-has_shapes_that_fit
    >>> for check in found:
    ...     check()
    """
    kinds: tuple[tuple[type, Iterable], ...] = (
        (CodeContract, codes),
        (WaitContract, waits),
        (DelayContract, delays),
        (TaskContract, tasks),
    )
    for contract, subjects in kinds:
        for subject in subjects:
            case = contract(*subject) if isinstance(subject, tuple) else contract(subject)
            for name in vars(contract):
                if name.startswith("check_"):
                    yield Check(case.name, name.removeprefix("check_"), getattr(case, name))


def parametrize_with_checks(**subjects: Iterable):
    """Decorator: a test with the argument `check`, once for every check of every subject; see `checks`."""
    import pytest

    return pytest.mark.parametrize("check", list(checks(**subjects)), ids=str)


def _named(build: Callable) -> str:
    """A constructor and what it is given, where that is short."""
    if not isinstance(build, partial):
        return getattr(build, "__name__", type(build).__name__)
    short = [f"{k}={v}" for k, v in build.keywords.items() if isinstance(v, int | float | str | None)]
    given = [*map(str, (a for a in build.args if isinstance(a, int | float | str))), *short]
    return f"{_named(build.func)}({', '.join(given)})"


# --- Codes -------------------------------------------------------------------------------------------------------


class CodeContract:
    """What every code keeps."""

    def __init__(self, build: Callable[..., Code]):
        self.build, self.name = build, _named(build)

    @cached_property
    def code(self) -> Code:
        """One instance for all checks."""
        return self.build()

    @cached_property
    def responses(self) -> np.ndarray:
        """Everything, nothing, random patterns, and those that just meet the quorums."""
        code, draw = self.code, np.random.default_rng(0)
        tight = _tightest(code, draw)
        assert code.met(tight).all(), "a pattern that meets every quorum is not met"
        random = draw.integers(0, code.messages + 1, (20, code.n))
        all_or_none = code.messages * draw.integers(0, 2, (20, code.n))
        return np.concatenate([[code.messages, 0 * code.messages], random, all_or_none, tight])

    @cached_property
    def decoding(self):
        """Of all those patterns; a broken promise raises."""
        return self.code.decode(self.responses, partial=True)

    def check_has_shapes_that_fit(self) -> None:
        code = self.code
        M = len(code.owner)
        assert code.encoding.shape == (M, code.k * code.blocks), "encoding is (messages, k * blocks)"
        assert code.encoding.dtype in (np.float64, np.complex128)
        assert np.isfinite(code.encoding.data).all(), "the encoding has entries that are no numbers"
        assert code.messages.shape == (code.n,) and code.messages.sum() == M
        assert 0 <= code.recovers <= code.k, "recovers counts partitions"

    def check_load_is_the_assignment(self) -> None:
        code = self.code
        work = [code.work(r) for r in range(code.messages.max() + 1)]
        assert not work[0].any(), "no message needs no work"
        assert all((a <= b).all() for a, b in zip(work, work[1:], strict=False)), "work falls with messages"
        np.testing.assert_array_equal(work[-1], code.load)
        np.testing.assert_array_equal(code.load, code.assignment.sum(1))
        rows = np.abs(code.encoding.toarray()).reshape(-1, code.k, code.blocks).max(2) > 0
        assert code.assignment[code.owner][rows].all(), "a worker sends a partition that it does not hold"

    def check_uses_only_what_was_received(self) -> None:
        code, responses, decoding = self.code, self.responses, self.decoding
        assert not (decoding.weights * ~code.received(responses)[:, None]).any(), (
            "weight on a message that did not come"
        )
        assert np.isfinite(decoding.weights).all()
        held = (responses > 0).astype(int) @ code.assignment > 0
        assert (np.abs(decoding.coefficients[~held]) < 1e-9).all(), "nobody heard holds this partition"

    def check_coefficients_are_weights_times_encoding(self) -> None:
        code, decoding = self.code, self.decoding
        combined = np.real(decoding.weights @ code.encoding.toarray())
        expected = np.stack([np.kron(c, np.eye(code.blocks)) for c in decoding.coefficients])
        off = np.abs(combined - expected).max((1, 2))
        certain = decoding.residual <= RESIDUAL_BOUND
        assert (off[certain] <= decoding.residual[certain] + 1e-12).all()
        assert not decoding.coefficients[~certain].any()

    def check_what_is_trusted_is_what_is_decoded(self) -> None:
        code = self.code
        known, told = code.trusted(self.responses)
        assert told.dtype == bool and told.shape == (known.sum(), code.k)
        assert (self.decoding.coefficients[known] == told).all(), "trusted without decoding, and wrong"

    def check_decodes_real_gradients(self) -> None:
        code, decoding = self.code, self.decoding
        for length in (1, 7, 12):
            g = np.random.default_rng(1).standard_normal((code.k, length))
            sent = code.encode(g)
            assert sent.shape == (len(code.owner), -(-length // code.blocks))
            decoded = np.flatnonzero(decoding.residual <= RESIDUAL_BOUND)
            if not len(decoded):
                continue
            answers = np.array([code.combine(sent, decoding.weights[u]) for u in decoded])
            padding = answers.shape[1] - length
            wanted = np.pad(decoding.coefficients[decoded] @ g, ((0, 0), (0, padding)))
            np.testing.assert_allclose(answers, wanted, rtol=0, atol=1e-5)

    def check_keeps_its_promise(self) -> None:
        code, responses, decoding = self.code, self.responses, self.decoding
        met = code.met(responses)
        assert met[0], "hearing everything must meet every quorum"
        c = decoding.coefficients[met]
        if code.promise == "indicator":
            assert np.isin(c, (0, 1)).all() and (c.sum(1) >= code.recovers).all()
            combined = np.real(decoding.weights[met] @ code.encoding.toarray())
            exact = np.stack([np.kron(row, np.eye(code.blocks)) for row in c])
            np.testing.assert_allclose(combined, exact, rtol=0, atol=1e-9)  # rounding hides nothing
        if code.promise == "least_squares":
            weights = Code.weights_of(code, code.received(responses))
            nearest = weights.reshape(len(responses), code.blocks, -1)[:, 0] @ code.encoding
            np.testing.assert_allclose(decoding.error[met], ((nearest[met] - 1) ** 2).mean(1), atol=1e-9)

    def check_refuses_what_it_does_not_promise(self) -> None:
        """Below its quorums a code gives the whole sum, or an approximation that was asked for."""
        for u in np.flatnonzero(~self.code.met(self.responses)):
            if (self.decoding.coefficients[u] == 1).all():
                assert self.code.decode(self.responses[u]).exact
            else:
                _refused(self.code.decode, self.responses[u])

    def check_decodes_each_pattern_alone(self) -> None:
        """A batch is only a batch: a pattern's answer does not depend on its neighbours."""
        for u in range(0, len(self.responses), max(1, len(self.responses) // 10)):
            alone = self.code.decode(self.responses[u], partial=True).weights[0]
            np.testing.assert_allclose(alone, self.decoding.weights[u], rtol=1e-6, atol=1e-9)

    def check_decodes_its_messages_in_any_order(self) -> None:
        """Where a code says so (`Code.message_quorums`), its messages are decoded as those of workers of their own."""
        if self.code.message_quorums is None:
            return
        received, one_by_one = self.code.received(self.responses), ByMessage(self.code)
        of_sets = one_by_one.decode(received, partial=True)
        np.testing.assert_allclose(of_sets.coefficients, self.decoding.coefficients, rtol=0, atol=1e-9)
        contract = CodeContract(lambda: one_by_one)
        contract.check_uses_only_what_was_received()
        contract.check_keeps_its_promise()

    def check_equal_parameters_give_equal_codes(self) -> None:
        again = self.build()
        assert (self.code.encoding != again.encoding).nnz == 0
        np.testing.assert_array_equal(self.code.owner, again.owner)
        np.testing.assert_array_equal(
            again.decode(self.responses, partial=True).weights, self.decoding.weights
        )

    def check_is_drawn_by_its_seed(self) -> None:
        """A run draws one code for each of its seeds where the class says ``redrawn = True``."""
        if "seed" not in inspect.signature(self.build).parameters:
            return
        one, same, other = self.build(seed=11), self.build(seed=11), self.build(seed=12)
        assert (one.encoding != same.encoding).nnz == 0, "equal seeds draw different codes"
        # Where only the entries of an exact code are drawn, all draws decode alike and one will do.
        exact = self.code.promise == "indicator" and np.array_equal(one.assignment, other.assignment)
        assert self.code.redrawn or exact, (
            "the seed decides who holds what, but all seeds of a run share one draw: set redrawn = True in the class"
        )

    def check_survives_pickling(self) -> None:
        copy = pickle.loads(pickle.dumps(self.code))
        np.testing.assert_array_equal(
            copy.decode(self.responses, partial=True).coefficients, self.decoding.coefficients
        )

    def check_encodes_in_double_precision(self) -> None:
        g = np.random.default_rng(2).standard_normal((self.code.k, 5)).astype(np.float32)
        sent = self.code.encode(g)
        assert sent.dtype == self.code.encoding.dtype
        np.testing.assert_array_equal(sent, self.code.encode(g.astype(np.float64)))

    def check_refuses_bad_gradients(self) -> None:
        g = np.ones((self.code.k, 3))
        for bad in (g[1:], g[0], g[None], g * [1, np.nan, 1], g * [1, np.inf, 1]):
            _refused(self.code.encode, bad)

    def check_refuses_bad_patterns(self) -> None:
        code, good = self.code, self.code.messages[None]
        short = np.ones((1, code.n + 1), dtype=int)
        for bad in (good.astype(float), short, good + 1, good - good.max() - 1):
            _refused(code.decode, bad)


def _tightest(code: Code, draw: np.random.Generator) -> np.ndarray:
    """Patterns that just meet every quorum, by each of its alternatives."""
    found = []
    for a in range(max((len(quorum.need) for quorum in code.quorums), default=0)):
        picks = []
        for quorum in code.quorums:
            r, q = quorum.need[min(a, len(quorum.need) - 1)]
            able = [w for w in quorum.workers if code.messages[w] >= r]
            assert len(able) >= q, f"{quorum} can never be met: only {able} send {r} messages"
            if len(code.quorums) == 1 and comb(len(able), q) <= MOST_PATTERNS:
                sets: list = list(combinations(able, q))
            else:
                sets = [able[:q], able[len(able) - q :]]
                sets += [draw.choice(able, q, replace=False) for _ in range(20)]
            picks.append((r, sets))
        for chosen in zip(*(sets for _, sets in picks), strict=True):
            responses = np.zeros(code.n, dtype=int)
            for (r, _), workers in zip(picks, chosen, strict=True):
                responses[list(workers)] = np.maximum(responses[list(workers)], r)
            found.append(responses)
    return np.array(found, dtype=int).reshape(-1, code.n)


def _refused(call: Callable, given) -> None:
    try:
        call(given)
    except ParameterError:
        return
    raise AssertionError(f"{call.__qualname__} takes {given!r:.100}, which should be a ParameterError")


# --- Waiting rules -----------------------------------------------------------------------------------------------


class WaitContract:
    """What every waiting rule keeps, in a scheme whose code it can use.

    A rule that orders messages is given each by itself, as `gcexp.timeline` does, here in the code's own order.
    """

    def __init__(self, scheme: Scheme, delay: DelayModel | None = None):
        self.scheme, self.delay = scheme, delay or ShiftedExponential(shift=0.5)
        self.extras = extras(WaitingExtras, scheme.wait)
        self.name = f"{type(scheme.wait).__name__}-{type(scheme.code).__name__}"

    @cached_property
    def draws(self) -> Draws:
        return self.delay.draw(SEEDS, ITERATIONS, self.scheme.code.n)

    @property
    def code(self) -> Code:
        """The code with which the rule is asked."""
        return self.scheme.decoder

    def arrivals(self, r: int | None = None) -> np.ndarray:
        """Arrivals in all iterations, as the rule is given them."""
        code = self.scheme.code
        if self.code is code:
            return self.price(self.draws, r)
        found = np.empty((*self.draws.shape[:2], self.code.n))
        for place in range(int(code.messages.max())):
            sent = np.flatnonzero(code.rank == place)
            found[..., sent] = self.price(self.draws, place + 1)[..., code.owner[sent]]
        return found

    def price(self, draws: Draws, r: int | None = None) -> np.ndarray:
        """Arrival of every worker's r-th message."""
        code = self.scheme.code
        sent = code.messages if r is None else np.minimum(r, code.messages)
        work = code.load if r is None else code.work(r)
        return draws.arrival(work / code.k, sent * code.length)

    def arrive(self, r: int | None = None, t: slice = slice(None), factor: float = 1.0) -> np.ndarray:
        """Arrival of every worker's r-th message in the iterations t."""
        return factor * self.arrivals(r)[:, t]

    def stop(self, arrive: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Stops and responses of all iterations; a rule with a memory is asked for one after the other."""
        if self.extras.begin is None:
            return self.scheme.wait.stop(self.code, arrive)
        time, responses, _ = self.remembered(arrive)
        return time, responses

    def remembered(self, arrive: Callable) -> tuple[np.ndarray, np.ndarray, list]:
        """Stops and responses of a rule with a memory, and its state before each iteration."""
        wait: Any = self.scheme.wait
        assert self.extras.begin is not None
        before = self.draws.before()
        lead = None if before is None else Lead(self.scheme.code, partial(self.price, before))
        state = self.extras.begin(lead)
        times, counts, states = [], [], []
        for t in range(ITERATIONS):
            states.append(state)
            time, responses, state = wait.stop(self.code, lambda r=None, t=t: arrive(r)[:, t : t + 1], state)
            times.append(time)
            counts.append(responses)
        return np.concatenate(times, axis=1), np.concatenate(counts, axis=1), states

    @cached_property
    def stopped(self) -> tuple[np.ndarray, np.ndarray]:
        return self.stop(self.arrive)

    def check_gives_times_and_counts(self) -> None:
        code, (time, responses) = self.code, self.stopped
        assert time.shape == self.draws.shape[:2], "a stop for every seed and iteration"
        counted = (*self.draws.shape[:2], code.n)
        assert responses.shape == counted and responses.dtype == np.int16, "an int16 count for every worker"
        assert np.isfinite(time).all() and (time > 0).all()
        assert ((responses >= 0) & (responses <= code.messages)).all() and responses.any()

    def check_hears_only_what_arrived(self) -> None:
        if self.extras.durations_only:
            return
        time, responses = self.stopped
        for r in range(1, int(self.code.messages.max()) + 1):
            late = (responses >= r) & (self.arrive(r) > time[..., None] * (1 + 1e-12))
            assert not late.any(), f"a {r}. message is used that came after the stop"

    def check_decides_each_iteration_alone(self) -> None:
        time, responses = self.stopped
        if self.extras.begin is not None:
            return
        for t in range(ITERATIONS):
            one = slice(t, t + 1)
            alone, alone_responses = self.scheme.wait.stop(
                self.code, lambda r=None, one=one: self.arrive(r, one)
            )
            np.testing.assert_array_equal(alone, time[:, one])
            np.testing.assert_array_equal(alone_responses, responses[:, one])

    def check_learns_only_what_came_before_the_stop(self) -> None:
        """Whoever is later still, or an iteration that is still to come, changes nothing until then."""
        time, _ = self.stopped
        for t in (0, ITERATIONS // 2):

            def altered(r=None, t=t):
                at = self.arrive(r).copy()
                at[:, t] = np.where(at[:, t] > time[:, t, None], 2 * at[:, t], at[:, t])
                at[:, t + 2 :] *= 3
                return at

            np.testing.assert_array_equal(self.stop(altered)[0][:, : t + 2], time[:, : t + 2])

    def check_later_arrivals_never_stop_it_earlier(self) -> None:
        """In each iteration by itself: what a rule has learned from later arrivals may make it stop earlier."""
        later = partial(self.arrive, factor=2.0)
        if self.extras.begin is None:
            stops, _ = self.stop(later)
        else:
            stops = self._stops_from_the_same_states(later)
        assert (stops >= self.stopped[0]).all()

    def _stops_from_the_same_states(self, arrive: Callable) -> np.ndarray:
        """Stops (S, T) for other arrivals, where each iteration begins with the state of the rule's own run."""
        wait: Any = self.scheme.wait
        _, _, states = self.remembered(self.arrive)
        stops = []
        for t, state in enumerate(states):
            one = partial(arrive, t=slice(t, t + 1))
            time, *_ = wait.stop(self.code, one, state)
            stops.append(time)
        return np.concatenate(stops, axis=1)

    def check_is_a_value(self) -> None:
        copy = pickle.loads(pickle.dumps(self.scheme.wait))
        assert copy == self.scheme.wait and hash(copy) == hash(self.scheme.wait)

    def check_equal_runs_have_equal_bits(self) -> None:
        one, other = simulate(self.scheme, self.draws), simulate(self.scheme, self.draws)
        for name in ("duration", "pattern", "patterns", "coefficients", "residual"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# --- Delay models ------------------------------------------------------------------------------------------------


class DelayContract:
    """What every delay model keeps."""

    def __init__(self, delay: DelayModel, n: int = WORKERS):
        self.delay, self.n, self.name = delay, n, type(delay).__name__

    def draw(
        self, seeds: tuple[int, ...] = SEEDS, iterations: int = ITERATIONS, n: int | None = None
    ) -> Draws:
        return self.delay.draw(seeds, iterations, n or self.n)

    def check_gives_times(self) -> None:
        draws = self.draw()
        assert draws.seeds == SEEDS and draws.shape == (len(SEEDS), ITERATIONS, self.n)
        times = _prices(draws)
        assert np.isfinite(times).all() and (times >= 0).all()

    def check_more_work_takes_no_less(self) -> None:
        times = _prices(self.draw())
        assert (times[2:] >= times[:2]).all() and (times[1::2] >= times[::2]).all()

    def check_a_worker_pays_for_its_own_load(self) -> None:
        draws, load = self.draw(), np.linspace(0, 1, self.n)
        for w in {0, self.n // 2, self.n - 1}:
            alone = draws.arrival(load[w], 1.0)[..., w]
            np.testing.assert_array_equal(draws.arrival(load, 1.0)[..., w], alone)

    def check_does_not_depend_on_what_else_is_drawn(self) -> None:
        """Fewer iterations, workers or other seeds change no draw, and the same call gives the same bits."""
        draws, some = self.draw(), max(1, self.n // 2)
        _equal(draws, self.draw())
        _equal(draws, self.draw(iterations=3 * ITERATIONS + 1), (slice(None), slice(ITERATIONS)))
        _equal(self.draw(n=some), draws, (slice(None), slice(None), slice(some)), self.n / some)
        _equal(draws, self.draw((5, *SEEDS, 9)), (slice(1, 3),))
        _equal(self.draw(SEEDS[::-1]), draws, (slice(None, None, -1),))

    def check_workers_differ_and_seeds_do_or_do_not(self) -> None:
        times = self.draw((0, 1, 2), 200).arrival(0.3, 1.0)
        if times.any():
            for a, b in ((0, 1), (0, self.n - 1)):
                assert (times[:, :, a] != times[:, :, b]).any(), (
                    f"workers {a} and {b} always take equal times"
                )
            same = [bool((times[a] == times[b]).all()) for a, b in ((0, 1), (0, 2), (1, 2))]
            assert len(set(same)) == 1, "some seeds are equal and others are not"

    def check_relabelled_draws_are_the_workers_own(self) -> None:
        draws = self.draw()
        seats = np.random.default_rng(0).permuted(np.tile(np.arange(self.n), (*draws.shape[:2], 1)), axis=-1)
        expected = np.take_along_axis(_prices(draws), np.broadcast_to(seats, (4, *seats.shape)), axis=-1)
        np.testing.assert_array_equal(_prices(draws.seated(seats)), expected)
        np.testing.assert_array_equal(_prices(draws.between(3, 4)), _prices(draws)[:, :, 3:4])

    def check_is_a_value(self) -> None:
        copy = pickle.loads(pickle.dumps(self.delay))
        assert copy == self.delay and hash(copy) == hash(self.delay)


def _prices(draws: Draws, share: float = 1.0) -> np.ndarray:
    """Arrivals for two loads, times `share`, and two lengths, (4, S, T, n)."""
    priced = []
    for load in (0.1, 0.4):
        for length in (0.25, 1.0):
            priced.append(draws.arrival(load * share, length))
    return np.stack(priced)


def _equal(one: Draws, other: Draws, part: tuple = (...,), share: float = 1.0) -> None:
    """The first are the wanted part (seeds, iterations, workers) of the others.

    With fewer workers, at equal loads or, where times are known for a worker's share 1/n of the data, at equal shares.
    """
    found, wanted = _prices(one), _prices(other)[(slice(None), *part)]
    if share == 1 or (found == wanted).all():
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(_prices(one, share), wanted, rtol=1e-12)
    assert (one.is_slow is None) == (other.is_slow is None)
    if one.is_slow is not None and other.is_slow is not None:
        np.testing.assert_array_equal(one.is_slow, other.is_slow[part])


# --- Tasks -------------------------------------------------------------------------------------------------------


class TaskContract:
    """What every task keeps, on data that it can be bound to."""

    def __init__(self, task: Any, data: Dataset, k: int):
        self.task, self.data, self.name = task, data, type(task).__name__
        self.k = extras(ProblemExtras, self.problem).partitions or k

    @cached_property
    def problem(self):
        """The task bound to seed 0's order."""
        return self.task.problem(self.data, 0)

    @cached_property
    def parameters(self) -> np.ndarray:
        """Somewhere off the initial point, in float64."""
        start = np.asarray(self.problem.initial(), dtype=np.float64)
        return start + 0.01 * np.random.default_rng(0).standard_normal(start.shape)

    def gradient(self, problem, coefficients, iteration: int = 3) -> np.ndarray:
        """The weighted pass; statistics that it gathers are thrown away."""
        given = self.parameters, np.asarray(coefficients, float), iteration
        return problem.gradient(*given, *self.statistics(problem))

    def statistics(self, problem) -> list[np.ndarray]:
        """What goes with every call of a problem that gathers statistics, and with no other."""
        gathered = extras(ProblemExtras, problem).statistics
        return [] if gathered is None else [gathered()]

    def check_is_a_value(self) -> None:
        copy = pickle.loads(pickle.dumps(self.task))
        assert copy == self.task and hash(copy) == hash(self.task)
        assert self.task.evaluate_every >= 1 and self.task.verify_every >= 1

    def check_starts_from_a_flat_vector(self) -> None:
        start = self.problem.initial()
        assert start.ndim == 1 and start.dtype in (np.float32, np.float64) and np.isfinite(start).all()
        np.testing.assert_array_equal(start, self.task.problem(self.data, 0).initial())

    def check_gradient_is_the_sum_of_its_partitions(self) -> None:
        """What makes the decoded vector the gradient of one weighted loss."""
        parts = self.problem.partition_gradients(self.parameters, self.k, 3)
        assert parts.shape == (self.k, len(self.parameters)) and parts.dtype == np.float64
        draw = np.random.default_rng(1)
        for c in (
            np.ones(self.k),
            draw.standard_normal(self.k),
            draw.integers(0, 2, self.k),
            np.eye(self.k)[0],
        ):
            found = self.gradient(self.problem, c)
            assert found.shape == self.parameters.shape
            scale = max(np.abs(c[:, None] * parts).sum(0).max(), 1e-300)
            np.testing.assert_allclose(found / scale, c @ parts / scale, rtol=0, atol=1e-5)

    def check_equal_arguments_give_equal_bits(self) -> None:
        c = np.linspace(0.5, 1.5, self.k)
        again = self.gradient(self.task.problem(self.data, 0), c)
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)
        # Once more: nothing is kept between calls.
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)

    def check_counts_recovered_samples(self) -> None:
        alone = [self.problem.recovered_samples(one) for one in np.eye(self.k)]
        assert sum(alone) == self.problem.recovered_samples(np.ones(self.k)) == self.problem.n_samples
        assert self.problem.recovered_samples(np.zeros(self.k)) == 0

    def check_scores_are_numbers(self) -> None:
        start, more = self.problem.initial(), self.statistics(self.problem)
        scores = self.problem.score(start, *more)
        assert scores and all(np.isfinite(value) for value in scores.values())
        assert scores == self.problem.score(start, *more), "scoring twice gives two answers"

    def check_scores_are_those_declared(self) -> None:
        """In the class, where it names them: see `gcexp.tasks.base.TaskExtras`."""
        task = extras(TaskExtras, self.task)
        if task.scores is None:
            return
        declared = set(task.scores)
        if self.data.y_train.dtype.kind not in "iu":
            declared -= set(task.scores_of_labels)
        found = self.problem.score(self.problem.initial(), *self.statistics(self.problem))
        assert set(found) == declared
