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
from gcexp.schemes.limits import is_relative
from gcexp.schemes.waiting import WaitingExtras
from gcexp.tasks.base import ProblemExtras, TaskExtras
from gcexp.timeline import in_times_of, simulate

if TYPE_CHECKING:
    from gcexp.data import Dataset

MOST_PATTERNS = 300  # of one quorum alternative: all of them up to here, else a sample
SEEDS, ITERATIONS, WORKERS = (0, 1), 20, 10
#: Seconds of the hidden delays of waiting rules: a limit of milliseconds hears nobody among delays of seconds.
UNITS = (1.0, 1e-3, 1e-6)


@dataclass(frozen=True)
class Check:
    """One check of one subject: call it."""

    subject: str
    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Run it; a failure says what was broken, what was found and the cure."""
        try:
            self.run()
        except AssertionError as error:
            raise AssertionError(f"{self}: {self.meaning}\n{error}".rstrip()) from error
        except Exception as error:
            error.add_note(f"{self}: {self.meaning}")
            raise

    @property
    def meaning(self) -> str:
        """What has to hold, and the cure where it does not."""
        return inspect.getdoc(self.run) or ""

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
        """The encoding is a finite matrix (messages, k * blocks), with an owner for each row.

        Cure: build it in float64 or complex128 and hand it to `Code.__init__`, with `owner` where a worker
        sends several rows.
        """
        code = self.code
        M = len(code.owner)
        assert code.encoding.shape == (M, code.k * code.blocks), "encoding is (messages, k * blocks)"
        assert code.encoding.dtype in (np.float64, np.complex128), f"the encoding is {code.encoding.dtype}"
        assert np.isfinite(code.encoding.data).all(), "the encoding has entries that are no numbers"
        counted = code.messages.shape == (code.n,) and code.messages.sum() == M
        assert counted, f"messages counts {code.messages}, and the encoding has {M} rows"
        assert 0 <= code.recovers <= code.k, "recovers counts partitions"

    def check_load_is_the_assignment(self) -> None:
        """The load of a worker is the number of partitions that it holds, and it sends none that it does not hold.

        Cure: leave `load`, `work` and `assignment` to the base class, or let them count what the rows really contain.
        """
        code = self.code
        work = [code.work(r) for r in range(code.messages.max() + 1)]
        assert not work[0].any(), "no message needs no work"
        assert all((a <= b).all() for a, b in zip(work, work[1:], strict=False)), "work falls with messages"
        np.testing.assert_array_equal(work[-1], code.load)
        np.testing.assert_array_equal(code.load, code.assignment.sum(1))
        rows = np.abs(code.encoding.toarray()).reshape(-1, code.k, code.blocks).max(2) > 0
        assert code.assignment[code.owner][rows].all(), "a worker sends a partition that it does not hold"

    def check_uses_only_what_was_received(self) -> None:
        """The decode gives no weight to a message that did not come.

        Cure: in `weights(responses)` set the weights of messages beyond a worker's count to zero.
        """
        code, responses, decoding = self.code, self.responses, self.decoding
        assert not (decoding.weights * ~code.received(responses)[:, None]).any(), (
            "weight on a message that did not come"
        )
        assert np.isfinite(decoding.weights).all(), "a weight is not finite"
        held = (responses > 0).astype(int) @ code.assignment > 0
        assert (np.abs(decoding.coefficients[~held]) < 1e-9).all(), "nobody heard holds this partition"

    def check_coefficients_are_weights_times_encoding(self) -> None:
        """The coefficients are the weights times the encoding.

        Cure: return weights from `weights` and leave coefficients and residual to `decode`.
        """
        code, decoding = self.code, self.decoding
        combined = np.real(decoding.weights @ code.encoding.toarray())
        expected = np.stack([np.kron(c, np.eye(code.blocks)) for c in decoding.coefficients])
        off = np.abs(combined - expected).max((1, 2))
        certain = decoding.residual <= RESIDUAL_BOUND
        near = off[certain] <= decoding.residual[certain] + 1e-12
        assert near.all(), f"weights times encoding is off by {off[certain].max():.2g}"
        assert not decoding.coefficients[~certain].any(), (
            "coefficients are told of a decode that is not certain"
        )

    def check_what_is_trusted_is_what_is_decoded(self) -> None:
        """What `trusted` says without decoding is what a decode gives.

        Cure: leave `trusted` to the base class, or say nothing of patterns that you cannot prove.
        """
        code = self.code
        known, told = code.trusted(self.responses)
        fits = told.dtype == bool and told.shape == (known.sum(), code.k)
        assert fits, f"trusted gives {told.dtype} of the shape {told.shape}"
        assert (self.decoding.coefficients[known] == told).all(), "trusted without decoding, and wrong"

    def check_decodes_real_gradients(self) -> None:
        """Encoded and combined gradients are the coefficients times the gradients.

        Cure: if `encode` or `combine` is overridden, check its scaling and how it cuts a gradient into blocks.
        """
        code, decoding = self.code, self.decoding
        for length in (1, 7, 12):
            g = np.random.default_rng(1).standard_normal((code.k, length))
            sent = code.encode(g)
            wanted = (len(code.owner), -(-length // code.blocks))
            assert sent.shape == wanted, f"encode gives the shape {sent.shape}, not {wanted}"
            decoded = np.flatnonzero(decoding.residual <= RESIDUAL_BOUND)
            if not len(decoded):
                continue
            answers = np.array([code.combine(sent, decoding.weights[u]) for u in decoded])
            padding = answers.shape[1] - length
            wanted = np.pad(decoding.coefficients[decoded] @ g, ((0, 0), (0, padding)))
            np.testing.assert_allclose(answers, wanted, rtol=0, atol=1e-5)

    def check_keeps_its_promise(self) -> None:
        """Where all quorums are met, the coefficients are what `promise` says.

        Cure: ask for more workers in the quorums, promise less (`promise=`, `recovers=`), or mend `weights`.
        """
        code, responses, decoding = self.code, self.responses, self.decoding
        met = code.met(responses)
        assert met[0], "hearing everything must meet every quorum"
        c = decoding.coefficients[met]
        if code.promise == "indicator":
            assert np.isin(c, (0, 1)).all(), "promised are coefficients 0 and 1, and there are others"
            fewest = c.sum(1).min()
            assert fewest >= code.recovers, (
                f"promised are {code.recovers} partitions, and {fewest:g} are recovered"
            )
            combined = np.real(decoding.weights[met] @ code.encoding.toarray())
            exact = np.stack([np.kron(row, np.eye(code.blocks)) for row in c])
            np.testing.assert_allclose(combined, exact, rtol=0, atol=1e-9)  # rounding hides nothing
        if code.promise == "least_squares":
            weights = Code.weights_of(code, code.received(responses))
            nearest = weights.reshape(len(responses), code.blocks, -1)[:, 0] @ code.encoding
            np.testing.assert_allclose(decoding.error[met], ((nearest[met] - 1) ** 2).mean(1), atol=1e-9)

    def check_refuses_what_it_does_not_promise(self) -> None:
        """Below its quorums a code gives the whole sum, or an approximation that was asked for by partial=True.

        Cure: do not override `decode`, which raises where a promise is not kept.
        """
        for u in np.flatnonzero(~self.code.met(self.responses)):
            if (self.decoding.coefficients[u] == 1).all():
                whole = self.code.decode(self.responses[u])
                assert whole.exact, f"{self.responses[u]} gives the whole sum, and exact is false"
            else:
                _refused(self.code.decode, self.responses[u])

    def check_decodes_each_pattern_alone(self) -> None:
        """A batch is only a batch: the answer to a pattern does not depend on its neighbours.

        Cure: let `weights` treat each row of `responses` by itself, and keep nothing between calls.
        """
        for u in range(0, len(self.responses), max(1, len(self.responses) // 10)):
            alone = self.code.decode(self.responses[u], partial=True).weights[0]
            np.testing.assert_allclose(alone, self.decoding.weights[u], rtol=1e-6, atol=1e-9)

    def check_decodes_its_messages_in_any_order(self) -> None:
        """Where a code says so (`Code.message_quorums`), its messages are decoded as those of workers of their own.

        Cure: let `weights_of(received)` decode by what was received alone, or leave `message_quorums` out.
        """
        if self.code.message_quorums is None:
            return
        received, one_by_one = self.code.received(self.responses), ByMessage(self.code)
        of_sets = one_by_one.decode(received, partial=True)
        np.testing.assert_allclose(of_sets.coefficients, self.decoding.coefficients, rtol=0, atol=1e-9)
        contract = CodeContract(lambda: one_by_one)
        contract.check_uses_only_what_was_received()
        contract.check_keeps_its_promise()

    def check_equal_parameters_give_equal_codes(self) -> None:
        """The same arguments build the same code.

        Cure: take random numbers from `gcexp.seeding.rng(seed, NAME)` with the constructor's seed alone.
        """
        again = self.build()
        assert (self.code.encoding != again.encoding).nnz == 0, "built twice, the encodings differ"
        np.testing.assert_array_equal(self.code.owner, again.owner)
        np.testing.assert_array_equal(
            again.decode(self.responses, partial=True).weights, self.decoding.weights
        )

    def check_is_drawn_by_its_seed(self) -> None:
        """A run draws one code for each of its seeds where the class says ``redrawn = True``.

        Cure: set it, where the seed decides who holds what.
        """
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
        """The code can be sent to another process.

        Cure: keep no lambda, open file or local function in an attribute.
        """
        copy = pickle.loads(pickle.dumps(self.code))
        np.testing.assert_array_equal(
            copy.decode(self.responses, partial=True).coefficients, self.decoding.coefficients
        )

    def check_encodes_in_double_precision(self) -> None:
        """Messages have the type of the encoding, whatever the type of the gradients.

        Cure: do not cast in `encode`.
        """
        g = np.random.default_rng(2).standard_normal((self.code.k, 5)).astype(np.float32)
        sent = self.code.encode(g)
        assert sent.dtype == self.code.encoding.dtype, f"messages are {sent.dtype}"
        np.testing.assert_array_equal(sent, self.code.encode(g.astype(np.float64)))

    def check_refuses_bad_gradients(self) -> None:
        """Gradients of another shape, or with nan or inf, are refused with a `ParameterError`.

        Cure: do not override `encode`, or begin with the base class's check.
        """
        g = np.ones((self.code.k, 3))
        for bad in (g[1:], g[0], g[None], g * [1, np.nan, 1], g * [1, np.inf, 1]):
            _refused(self.code.encode, bad)

    def check_refuses_bad_patterns(self) -> None:
        """Responses of another shape or type, negative ones and too large ones are refused with a `ParameterError`.

        Cure: do not override `decode`, or begin with the base class's check.
        """
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


def _first(places: np.ndarray) -> str:
    """The first of some places (seed, iteration, worker) in words."""
    names = ("seed", "iteration", "worker")
    return ", ".join(f"{name} {place}" for name, place in zip(names, places[0], strict=False))


def _refused(call: Callable, given) -> None:
    try:
        call(given)
    except ParameterError:
        return
    raise AssertionError(f"{call.__qualname__} takes {given!r:.100}, which should be a ParameterError")


# --- Waiting rules -----------------------------------------------------------------------------------------------


class WaitContract:
    """What every waiting rule keeps, in a scheme whose code it can use.

    A rule that orders messages is given each by itself, as `gcexp.timeline` does, here in the code's own order. Limits
    that are multiples of the median time are those of the delay model that was given, else of one in seconds.
    """

    def __init__(self, scheme: Scheme, delay: DelayModel | None = None):
        if is_relative(scheme.wait) and delay is None:
            delay = ShiftedExponential(shift=0.5)
        self.scheme = scheme if delay is None else in_times_of(scheme, delay)
        self._given = delay
        self.extras = extras(WaitingExtras, scheme.wait)
        self.name = f"{type(scheme.wait).__name__}-{type(scheme.code).__name__}"

    @cached_property
    def draws(self) -> Draws:
        """Of the delay model that was given, else seconds, milliseconds or microseconds: the first that it hears."""
        if self._given is not None:
            return self._given.draw(SEEDS, ITERATIONS, self.scheme.code.n)
        for unit in UNITS:
            delay = ShiftedExponential(shift=0.5 * unit, mean=unit)
            draws = delay.draw(SEEDS, ITERATIONS, self.scheme.code.n)
            if self._is_heard(draws):
                return draws
        return ShiftedExponential(shift=0.5).draw(SEEDS, ITERATIONS, self.scheme.code.n)

    def _is_heard(self, draws: Draws) -> bool:
        """Whether the rule hears anybody; of a rule that fails here the checks say how."""
        trial = WaitContract(self.scheme)
        trial.__dict__["draws"] = draws
        try:
            return bool(trial.stopped[1].any())
        except Exception:
            return True

    @property
    def draws_told(self) -> str:
        """How long workers take, in a sentence."""
        return f"{self.draws.arrival(0.2, 1.0).min():.2g} to {self.draws.arrival(0.2, 1.0).max():.2g} s"

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
        """`stop` gives a finite time > 0 for every seed and iteration, and how many messages of each worker are used.

        Cure: return (time, responses) of shapes (S, T) and (S, T, n), responses as int16 from 0 to `code.messages`. A
        rule that hears nobody needs a delay model whose times it fits: ``waits=[(scheme, delay)]``.
        """
        code, (time, responses) = self.code, self.stopped
        assert time.shape == self.draws.shape[:2], "a stop for every seed and iteration"
        counted = (*self.draws.shape[:2], code.n)
        assert responses.shape == counted and responses.dtype == np.int16, "an int16 count for every worker"
        wrong = np.argwhere(~(np.isfinite(time) & (time > 0)))
        assert not len(wrong), f"the stop in {_first(wrong)} is {time[tuple(wrong[0])]}"
        wrong = np.argwhere((responses < 0) | (responses > code.messages))
        assert not len(wrong), f"{responses[tuple(wrong[0])]} messages are used in {_first(wrong)}"
        assert responses.any(), f"nobody is heard, in any iteration, with times of {self.draws_told}"

    def check_hears_only_what_arrived(self) -> None:
        """No message is used that comes after the stop.

        Cure: use ``arrive(r) <= time[..., None]``.
        """
        if self.extras.durations_only:
            return
        time, responses = self.stopped
        for r in range(1, int(self.code.messages.max()) + 1):
            late = (responses >= r) & (self.arrive(r) > time[..., None] * (1 + 1e-12))
            assert not late.any(), f"a {r}. message is used that came after the stop"

    def check_decides_each_iteration_alone(self) -> None:
        """A rule without a memory decides each iteration by itself.

        Cure: reduce over the last axis only; a rule that learns has `begin(lead)` and takes a state.
        """
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
        """Whoever is later still, or an iteration that is still to come, changes nothing until then.

        Cure: keep in the state no arrival beyond the stop: ``np.minimum(arrive(), time[..., None])``.
        """
        time, _ = self.stopped
        for t in (0, ITERATIONS // 2):

            def altered(r=None, t=t):
                at = self.arrive(r).copy()
                at[:, t] = np.where(at[:, t] > time[:, t, None], 2 * at[:, t], at[:, t])
                at[:, t + 2 :] *= 3
                return at

            np.testing.assert_array_equal(self.stop(altered)[0][:, : t + 2], time[:, : t + 2])

    def check_later_arrivals_never_stop_it_earlier(self) -> None:
        """In each iteration by itself: what a rule has learned from later arrivals may make it stop earlier.

        Cure: let the stop rise with the arrivals of the iteration, as a maximum, a minimum or a quantile of them does.
        """
        later = partial(self.arrive, factor=2.0)
        if self.extras.begin is None:
            stops, _ = self.stop(later)
        else:
            stops = self._stops_from_the_same_states(later)
        earlier = np.argwhere(stops < self.stopped[0])
        assert not len(earlier), f"twice as late, it stops earlier in {_first(earlier)}"

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
        """Rules are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass of numbers and texts.
        """
        copy = pickle.loads(pickle.dumps(self.scheme.wait))
        assert copy == self.scheme.wait, f"{self.scheme.wait!r} and its copy are not equal"
        assert hash(copy) == hash(self.scheme.wait), "a rule and its equal copy have other hashes"

    def check_equal_runs_have_equal_bits(self) -> None:
        """The same run gives the same bits twice.

        Cure: keep nothing in the object between calls; what a rule remembers belongs into its state.
        """
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
        """Draws have the seeds and the shape that were asked for, and give finite times >= 0.

        Cure: return ``Draws(seeds, (S, T, n), ...)`` with parts >= 0.
        """
        draws = self.draw()
        wanted = (len(SEEDS), ITERATIONS, self.n)
        assert draws.seeds == SEEDS, f"asked for the seeds {SEEDS}, got {draws.seeds}"
        assert draws.shape == wanted, f"asked for the shape {wanted}, got {draws.shape}"
        times = _prices(draws)
        wrong = ~(np.isfinite(times) & (times >= 0))
        assert not wrong.any(), f"a time is {times[wrong][0]}"

    def check_more_work_takes_no_less(self) -> None:
        """A larger load or a longer message takes no less time.

        Cure: let no part of the draws be negative.
        """
        times = _prices(self.draw())
        assert (times[2:] >= times[:2]).all(), (
            "with a load of 0.4 of the data a worker is faster than with 0.1"
        )
        assert (times[1::2] >= times[::2]).all(), "a message of 1 gradient arrives before one of 0.25"

    def check_a_worker_pays_for_its_own_load(self) -> None:
        """The time of a worker depends on its own load alone.

        Cure: do not override `arrival` so that it sums or sorts over workers.
        """
        draws, load = self.draw(), np.linspace(0, 1, self.n)
        for w in {0, self.n // 2, self.n - 1}:
            alone = draws.arrival(load[w], 1.0)[..., w]
            np.testing.assert_array_equal(draws.arrival(load, 1.0)[..., w], alone)

    def check_does_not_depend_on_what_else_is_drawn(self) -> None:
        """Fewer iterations, workers or other seeds change no draw, and the same call gives the same bits.

        Cure: draw from one stream for each seed and worker, `gcexp.seeding.rng(seed, NAME, worker)`.
        """
        draws, some = self.draw(), max(1, self.n // 2)
        _equal(draws, self.draw())
        _equal(draws, self.draw(iterations=3 * ITERATIONS + 1), (slice(None), slice(ITERATIONS)))
        _equal(self.draw(n=some), draws, (slice(None), slice(None), slice(some)), self.n / some)
        _equal(draws, self.draw((5, *SEEDS, 9)), (slice(1, 3),))
        _equal(self.draw(SEEDS[::-1]), draws, (slice(None, None, -1),))

    def check_workers_differ_and_seeds_do_or_do_not(self) -> None:
        """Workers have times of their own, and either all seeds differ or none does.

        Cure: number the streams by seed and worker.
        """
        times = self.draw((0, 1, 2), 200).arrival(0.3, 1.0)
        if times.any():
            for a, b in ((0, 1), (0, self.n - 1)):
                assert (times[:, :, a] != times[:, :, b]).any(), (
                    f"workers {a} and {b} always take equal times"
                )
            same = [bool((times[a] == times[b]).all()) for a, b in ((0, 1), (0, 2), (1, 2))]
            assert len(set(same)) == 1, "some seeds are equal and others are not"

    def check_relabelled_draws_are_the_workers_own(self) -> None:
        """Draws that are moved to other seats, or cut, keep their numbers.

        Cure: give the parts as arrays that broadcast to (S, T, n); a class of draws of your own says which parts stay.
        """
        draws = self.draw()
        seats = np.random.default_rng(0).permuted(np.tile(np.arange(self.n), (*draws.shape[:2], 1)), axis=-1)
        expected = np.take_along_axis(_prices(draws), np.broadcast_to(seats, (4, *seats.shape)), axis=-1)
        np.testing.assert_array_equal(_prices(draws.seated(seats)), expected)
        np.testing.assert_array_equal(_prices(draws.between(3, 4)), _prices(draws)[:, :, 3:4])

    def check_is_a_value(self) -> None:
        """Models are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass of numbers and texts.
        """
        copy = pickle.loads(pickle.dumps(self.delay))
        assert copy == self.delay, f"{self.delay!r} and its copy are not equal"
        assert hash(copy) == hash(self.delay), "a model and its equal copy have other hashes"


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
    assert (one.is_slow is None) == (other.is_slow is None), "some draws have states, and others none"
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
        """Tasks are equal where their parameters are, and can be hashed and pickled.

        Cure: make it a frozen dataclass, and build arrays and networks in `problem`.
        """
        copy = pickle.loads(pickle.dumps(self.task))
        assert copy == self.task, f"{self.task!r} and its copy are not equal"
        assert hash(copy) == hash(self.task), "a task and its equal copy have other hashes"
        assert self.task.evaluate_every >= 1, f"evaluate_every is {self.task.evaluate_every}"
        assert self.task.verify_every >= 1, f"verify_every is {self.task.verify_every}"

    def check_starts_from_a_flat_vector(self) -> None:
        """`initial` gives the same flat float32 or float64 vector each time.

        Cure: flatten the parameters, and draw them from the seed that `problem` was given.
        """
        start = self.problem.initial()
        flat = start.ndim == 1 and start.dtype in (np.float32, np.float64)
        assert flat, f"initial() has the shape {start.shape} and the type {start.dtype}"
        assert np.isfinite(start).all(), "initial() holds numbers that are not finite"
        np.testing.assert_array_equal(start, self.task.problem(self.data, 0).initial())

    def check_gradient_is_the_sum_of_its_partitions(self) -> None:
        """The weighted pass gives sum_i c_i g_i of the partition gradients: the decoded vector is a gradient.

        Cure: sum the loss over samples instead of averaging it, and let g_i depend on partition i alone.
        """
        parts = self.problem.partition_gradients(self.parameters, self.k, 3)
        wanted = (self.k, len(self.parameters))
        assert parts.shape == wanted, f"partition_gradients has the shape {parts.shape}, not {wanted}"
        assert parts.dtype == np.float64, f"partition_gradients has the type {parts.dtype}, not float64"
        draw = np.random.default_rng(1)
        for c in (
            np.ones(self.k),
            draw.standard_normal(self.k),
            draw.integers(0, 2, self.k),
            np.eye(self.k)[0],
        ):
            found = self.gradient(self.problem, c)
            assert found.shape == self.parameters.shape, f"gradient has the shape {found.shape}"
            scale = max(np.abs(c[:, None] * parts).sum(0).max(), 1e-300)
            np.testing.assert_allclose(found / scale, c @ parts / scale, rtol=0, atol=1e-5)

    def check_equal_arguments_give_equal_bits(self) -> None:
        """Equal arguments give equal bits, whatever was computed before.

        Cure: key what is random in a pass by `iteration`, and keep nothing between calls.
        """
        c = np.linspace(0.5, 1.5, self.k)
        again = self.gradient(self.task.problem(self.data, 0), c)
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)
        # Once more: nothing is kept between calls.
        np.testing.assert_array_equal(self.gradient(self.problem, c), again)

    def check_counts_recovered_samples(self) -> None:
        """Samples are counted in partitions whose coefficient is not zero; all together are `n_samples`.

        Cure: cut the rows by `gcexp.tasks.base.partition_edges`, or inherit `recovered_samples` of `Sliced`.
        """
        alone = [self.problem.recovered_samples(one) for one in np.eye(self.k)]
        every = self.problem.recovered_samples(np.ones(self.k))
        N = self.problem.n_samples
        told = f"partitions one by one have {sum(alone)} samples, together {every}, n_samples is {N}"
        assert sum(alone) == every == N, told
        nothing = self.problem.recovered_samples(np.zeros(self.k))
        assert nothing == 0, f"coefficients of zero recover {nothing} samples"

    def check_scores_are_numbers(self) -> None:
        """`score` gives finite numbers by name, the same for the same parameters.

        Cure: score without dropout, and change nothing.
        """
        start, more = self.problem.initial(), self.statistics(self.problem)
        scores = self.problem.score(start, *more)
        assert scores and all(np.isfinite(value) for value in scores.values()), f"score gives {scores}"
        assert scores == self.problem.score(start, *more), "scoring twice gives two answers"

    def check_scores_are_those_declared(self) -> None:
        """Scores have the names that the class declares: see `gcexp.tasks.base.TaskExtras`.

        Cure: list them as a plain tuple, ``scores = ("test_accuracy", "test_loss")``.
        """
        task = extras(TaskExtras, self.task)
        if task.scores is None:
            return
        declared = set(task.scores)
        if self.data.y_train.dtype.kind not in "iu":
            declared -= set(task.scores_of_labels)
        found = self.problem.score(self.problem.initial(), *self.statistics(self.problem))
        assert set(found) == declared, f"declared are {sorted(declared)}, score gives {sorted(found)}"
