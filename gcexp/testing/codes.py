"""What every code keeps."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from gcexp.codes import Code
from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.codes.by_message import ByMessage
from gcexp.testing.check import assert_refused, named

MOST_PATTERNS = 300  # of one quorum alternative: all of them up to here, else a sample


class CodeContract:
    """What every code keeps."""

    def __init__(self, build: Callable[..., Code]):
        self.build, self.name = build, named(build)

    @cached_property
    def code(self) -> Code:
        """One instance for all checks."""
        return self.build()

    @cached_property
    def responses(self) -> np.ndarray:
        """Everything, nothing, random patterns, and those that just meet the quorums, each once."""
        code = self.code
        draw = np.random.default_rng(0)
        tight = _tightest(code, draw)
        assert code.met(tight).all(), "a pattern that meets every quorum is not met"
        random = draw.integers(0, code.messages + 1, (20, code.n))
        all_or_none = code.messages * draw.integers(0, 2, (20, code.n))
        patterns = np.concatenate([[code.messages, 0 * code.messages], random, all_or_none, tight])
        _, first_places = np.unique(patterns, axis=0, return_index=True)
        return patterns[np.sort(first_places)]

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
        code = self.code
        responses = self.responses
        decoding = self.decoding
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
        expected = _on_every_block(decoding.coefficients, code.blocks)
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
        code = self.code
        responses = self.responses
        decoding = self.decoding
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
            exact = _on_every_block(c, code.blocks)
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
                assert_refused(self.code.decode, self.responses[u])

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
        received = self.code.received(self.responses)
        one_by_one = ByMessage(self.code)
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
        one = self.build(seed=11)
        same = self.build(seed=11)
        other = self.build(seed=12)
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
            assert_refused(self.code.encode, bad)

    def check_refuses_bad_patterns(self) -> None:
        """Responses of another shape or type, negative ones and too large ones are refused with a `ParameterError`.

        Cure: do not override `decode`, or begin with the base class's check.
        """
        code = self.code
        good = self.code.messages[None]
        short = np.ones((1, code.n + 1), dtype=int)
        for bad in (good.astype(float), short, good + 1, good - good.max() - 1):
            assert_refused(code.decode, bad)


def _on_every_block(coefficients: np.ndarray, blocks: int) -> np.ndarray:
    """Coefficients (U, k) as what weights times encoding have to be, (U, blocks, k * blocks)."""
    return np.kron(coefficients[:, None], np.eye(blocks)[None])


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
