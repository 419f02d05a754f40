"""What every gradient code is: a sparse encoding matrix, the owner of each message, and decode weights.

Conventions: `n` workers, `k` partitions, `M` messages, `U` patterns. `responses[u, w]` counts the messages that the
master has of worker `w`; a worker's rows stand in sending order. Column ``i * blocks + j`` is block `j` of partition
`i`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import sparse

from gcexp.codes.linear import pinv
from gcexp.codes.quorums import Quorum, Quorums
from gcexp.errors import DecodingError, ParameterError, require
from gcexp.schema import quoted

PROMISES = ("indicator", "least_squares", "linear")
RESIDUAL_BOUND = 1e-6  # a decode that misses its promise by more is an error, never silence
WHOLE = 1e-9  # a coefficient this close to a whole number is that number
_CHUNK_BYTES = 2**26


def arcs(n: int, p: int) -> np.ndarray:
    """Cyclic arcs: row w is w, w+1, ..., w+p-1 (mod n).

    Examples
    --------
    >>> arcs(4, 2)
    array([[0, 1],
           [1, 2],
           [2, 3],
           [3, 0]])
    """
    return (np.arange(n)[:, None] + np.arange(p)) % n


def number_among_equal(values: np.ndarray) -> np.ndarray:
    """How many equal values stand before each, (M,)."""
    order = np.argsort(values, kind="stable")
    number = np.empty(len(values), dtype=np.intp)
    count = np.bincount(values)
    number[order] = np.arange(len(order)) - (np.cumsum(count) - count)[values[order]]
    return number


def is_binary(values: np.ndarray) -> bool:
    """Whether all entries are exactly 0 or 1."""
    # One product instead of two comparisons; infinity is its own square too.
    return bool(values.max(initial=0) <= 1 and (values * values == values).all())


@dataclass(frozen=True)
class Decoding:
    """Weights for some patterns and what they recover: block b of the answer is ``weights[u, b] @ messages``.

    Attributes
    ----------
    weights : ndarray (U, blocks, M)
        Decode weights, zero on every message that was not received.
    coefficients : ndarray (U, k)
        The decoded vector is sum_i coefficients[u, i] * g_i.
    residual : ndarray (U,)
        Certificate: max abs entry of W B - c (x) I.
    """

    weights: np.ndarray
    coefficients: np.ndarray
    residual: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """The code's own error ||c - 1||^2 / k, (U,)."""
        return ((self.coefficients - 1) ** 2).mean(1)

    @property
    def exact(self) -> bool:
        """Whether every pattern gives the sum of all partitions: all coefficients are one."""
        return bool((self.coefficients == 1).all())

    @property
    def binary(self) -> bool:
        """Whether all coefficients are 0 or 1."""
        return is_binary(self.coefficients)

    @property
    def recovered(self) -> np.ndarray:
        """Fraction of the partitions with coefficient one, (U,)."""
        return (self.coefficients == 1).mean(1)

    @property
    def noise_gain(self) -> np.ndarray:
        """Largest 2-norm of a block's weights: how much the decode amplifies rounding in a message, (U,)."""
        return np.linalg.norm(self.weights, axis=2).max(1, initial=0.0)


@cache
def _parameters(init: Callable) -> tuple[str, ...]:
    """Names of a constructor's parameters: a waiting rule may spell its code in each iteration."""
    return tuple(inspect.signature(init).parameters)[1:]


def _numbers(values, what: str) -> np.ndarray:
    """Convert numbers to an array, and real torch tensors to double precision, without importing torch."""
    if hasattr(values, "detach"):
        require(
            not values.requires_grad,
            f"{what} require grad, but no gradient flows back through a code: pass {what}.detach()",
        )
        if values.is_floating_point():
            values = values.double()
        values = values.cpu()
    try:
        found = np.asarray(values)
    except ValueError:  # ragged
        found = None
    if found is None or found.dtype.kind not in "biufc":
        raise ParameterError(f"{what}: expected an array of numbers, got {type(values).__name__}")
    return found


class Code:
    """A gradient code. A family builds the matrix and overrides at most `weights`; the rest is derived.

    Parameters
    ----------
    encoding : array_like or sparse array (M, k * blocks)
        float64 or complex128. Stored entries, explicit zeros too, are the assignment.
    owner : array_like (M,), optional
        Worker that sends each row; default: row w belongs to worker w.
    blocks : int
        Consecutive sub-vectors into which a gradient is cut; a message has length 1/blocks of a gradient.
    quorums : Quorums or iterable of Quorum
        The promise holds where all are met; none: always.
    promise : {"indicator", "least_squares", "linear"}
        What `decode` guarantees: 0/1 coefficients with at least `recovers` ones; smallest ||c - 1||; only linearity.
    recovers : int, optional
        Partitions an indicator holds at least; default k, an exact code.
    n : int, optional
        Workers, where some of the last ones own no message.
    """

    #: True where the assignment is random, so that a study draws one code per seed.
    redrawn = False
    #: Largest supported number of workers; larger in families that keep no matrix of workers and partitions.
    most_workers = 10_000
    #: Largest supported number of partitions, where it is given as `k`.
    most_partitions = 10**6
    #: Largest number of workers for which a clock decodes a sample of the patterns whose promise it takes; fewer in
    #: families whose decoder takes longer to set up than such a clock runs.
    most_certified = 10**6
    #: Parameters of the instances on which the contract suite runs.
    examples: tuple[dict, ...] = ()

    # Columns of the table of all codes (docs/codes.md) that cannot be derived from an instance.
    #: k, load (the largest), messages, length as expressions in the parameters, where there are any.
    formulas: dict[str, str] = {}
    #: What is known about the error beyond the promise.
    error_bound = ""
    #: How `weights` works and what one pattern costs.
    decoding = ""
    #: Limits of the usable parameters: rounding, memory, or existence.
    limit = ""
    #: What to use instead if rounding spoils this code; completes the sentence "take ...".
    instead = ""
    #: Keys in docs/references.bib.
    source: tuple[str, ...] = ()

    def __init__(
        self, encoding, owner=None, *, blocks=1, quorums=(), promise="indicator", recovers=None, n=None
    ):
        try:
            B = sparse.csr_array(encoding, copy=True)
        except (TypeError, ValueError):
            raise ParameterError(f"encoding must be a matrix of numbers, got {quoted(encoding)}") from None
        require(B.ndim == 2, f"encoding must be a matrix, got an array of shape {B.shape}")
        self._structure = B.astype(np.complex128 if np.iscomplexobj(B) else np.float64, copy=False)
        require(bool(np.isfinite(B.data).all()), "encoding contains NaN or infinite entries")
        M, columns = B.shape
        try:
            self.owner = np.arange(M) if owner is None else np.asarray(owner, dtype=np.intp)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"owner must be a list of numbers of workers, got {quoted(owner)}") from None
        require(
            self.owner.shape == (M,),
            f"owner must name one worker for each of the {M} messages, got shape {self.owner.shape}",
        )
        require(blocks >= 1, f"blocks must be a number of sub-vectors >= 1, got {blocks}")
        require(columns % blocks == 0, f"encoding has {columns} columns, not a multiple of blocks={blocks}")
        require(promise in PROMISES, f"promise must be one of {', '.join(PROMISES)}, got {promise!r}")
        self.n = int(self.owner.max(initial=-1)) + 1 if n is None else n
        strangers = self.owner[(self.owner < 0) | (self.owner >= self.n)]
        if len(strangers):
            raise ParameterError(f"owner must name workers from 0 to n-1 = {self.n - 1}, got {strangers[:1]}")
        self.blocks, self.k = blocks, columns // blocks
        self.quorums: Sequence[Quorum] = quorums if isinstance(quorums, Quorums) else tuple(quorums)
        self._refuse_strange_quorums()
        self.promise = promise
        self.recovers = self.k if recovers is None else recovers

    def _refuse_strange_quorums(self) -> None:
        """Raise `ParameterError` for what is no quorum, and for one that names a worker whom the code does not have."""
        for quorum in self.together:
            if not isinstance(quorum, Quorum | Quorums):
                raise ParameterError(f"quorums must be Quorum(workers, pairs), got {quoted(quorum)}")
            workers = quorum.groups if isinstance(quorum, Quorums) else np.array(quorum.workers)
            if workers.min() < 0 or workers.max() >= self.n:
                raise ParameterError(
                    f"a quorum must name workers from 0 to n-1 = {self.n - 1}, got {quoted(workers.tolist())}"
                )

    def __repr__(self) -> str:
        given = [f"{p}={getattr(self, p)!r}" for p in _parameters(type(self).__init__) if hasattr(self, p)]
        return f"{type(self).__name__}({', '.join(given)})"

    @cached_property
    def encoding(self) -> sparse.csr_array:
        """The matrix of the messages, (M, k * blocks).

        A family whose entries are solved for hands a matrix with entries in the same places to the constructor, and
        overrides this: a clock asks for the places alone.
        """
        return self._structure

    @property
    def remarks(self) -> dict[str, str]:
        """What ``gcexp show`` says of this code beside what it derives, by a word for each."""
        return {}

    @property
    def together(self) -> Sequence[Quorum | Quorums]:
        """The quorums, with equal ones merged."""
        return (self.quorums,) if isinstance(self.quorums, Quorums) else self.quorums

    @cached_property
    def messages(self) -> np.ndarray:
        """Messages of each worker, (n,)."""
        return np.bincount(self.owner, minlength=self.n)

    @cached_property
    def rank(self) -> np.ndarray:
        """Place of each message in its worker's sending order, (M,)."""
        return number_among_equal(self.owner)

    @property
    def length(self) -> float:
        """Length of a message in gradients; a complex number counts as two reals."""
        reals = 2 if self._structure.dtype.kind == "c" else 1
        return reals / self.blocks

    def work(self, r: int) -> np.ndarray:
        """Partitions a worker must compute before its first `r` messages are ready, (n,)."""
        if r >= self.messages.max(initial=0):
            return self.load
        worker, _, rank = self._first_uses
        return np.bincount(worker[rank < r], minlength=self.n)

    def work_in_orders(self, ranks: np.ndarray) -> np.ndarray:
        """Partitions that workers must compute before their first messages are ready, where the order changes.

        Parameters
        ----------
        ranks : ndarray (S, M)
            Place of each message in its worker's order.

        Returns
        -------
        ndarray (R, S, n)
            Before the first, the first two, ..., all R messages.

        Examples
        --------
        >>> code = Code([[1, 1, 0], [0, 0, 1]], owner=[0, 0])
        >>> code.work_in_orders(np.array([[0, 1], [1, 0]]))[:, :, 0]
        array([[2, 1],
               [3, 3]])
        """
        S = len(ranks)
        R = int(self.messages.max(initial=0))
        row, column = self._structure.tocoo().coords
        pair = self.owner[row] * self.k + column // self.blocks
        order = np.argsort(pair, kind="stable")
        pairs, begin = np.unique(pair[order], return_index=True)
        first_use = np.minimum.reduceat(ranks[:, row[order]], begin, axis=1)  # (S, pairs)
        place = (first_use * S + np.arange(S)[:, None]) * self.n + pairs // self.k
        new = np.bincount(place.ravel(), minlength=R * S * self.n)
        return new.reshape(R, S, self.n).cumsum(0)

    def computed(self, r: int) -> np.ndarray:
        """Which partitions a worker must compute before its first `r` messages are ready, boolean (n, k)."""
        worker, partition, rank = self._first_uses
        found = np.zeros((self.n, self.k), dtype=bool)
        found[worker[rank < r], partition[rank < r]] = True
        return found

    @cached_property
    def _first_uses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of a worker and a partition, and the rank of the worker's first message that needs the partition."""
        row, column = self._structure.tocoo().coords
        order = np.argsort(self.rank[row], kind="stable")
        row = row[order]
        partition = column[order] // self.blocks
        pair, first = np.unique(self.owner[row] * self.k + partition, return_index=True)
        return pair // self.k, pair % self.k, self.rank[row[first]]

    @cached_property
    def load(self) -> np.ndarray:
        """Partitions each worker computes, (n,)."""
        if self.blocks == 1 and self.messages.max(initial=0) <= 1 and self._structure.has_canonical_format:
            entries = np.zeros(self.n, dtype=np.intp)  # of a single message each
            entries[self.owner] = np.diff(self._structure.indptr)
            return entries
        return np.bincount(self._first_uses[0], minlength=self.n)

    @cached_property
    def _decoding(self) -> sparse.csr_array:
        """The transposed encoding."""
        return self.encoding.T.tocsr()

    @property
    def assignment(self) -> np.ndarray:
        """Which worker holds which partition, boolean (n, k)."""
        held = np.zeros((self.n, self.k), dtype=bool)
        rows = self._structure.tocoo()
        held[self.owner[rows.coords[0]], rows.coords[1] // self.blocks] = True
        return held

    def received(self, responses: np.ndarray) -> np.ndarray:
        """Which messages the master has, boolean (U, M)."""
        return self.rank < responses[:, self.owner]

    def met(self, responses) -> np.ndarray:
        """Whether the promise holds for each pattern, boolean (U,)."""
        return self._met(self._patterns(responses))

    def _met(self, responses: np.ndarray) -> np.ndarray:
        met = np.ones(len(responses), dtype=bool)
        for some in self.together:
            met &= some.met(responses)
        return met

    def trusted(self, responses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which patterns (U,) need no decoding, and the coefficients of those, boolean (known, k).

        Where all partitions are promised and all quorums are met, the coefficients are ones: that is the promise, which
        `decode` certifies. A family whose coefficients are heard and not solved for says so here.

        Examples
        --------
        >>> from gcexp.codes import CyclicRepetition
        >>> CyclicRepetition(n=3, s=1).trusted(np.array([[1, 1, 0], [1, 0, 0]]))
        (array([ True, False]), array([[ True,  True,  True]]))
        """
        if self.promise == "indicator" and self.recovers == self.k:
            known = self._met(responses)
        else:
            known = np.zeros(len(responses), dtype=bool)
        return known, np.ones((np.count_nonzero(known), self.k), dtype=bool)

    @property
    def message_quorums(self) -> Sequence[Quorum] | None:
        """Quorums of single messages, by their rows, of a code that decodes any set of messages; else None.

        A scheme may let workers compute in changing orders only with such a code. A family that is one gives these
        quorums and decodes by `weights_of`; a code without quorums that leaves `weights` as it is is one anyway.
        """
        any_set = not self.quorums and type(self).weights is Code.weights
        return () if any_set else None

    def weights(self, responses: np.ndarray) -> np.ndarray:
        """Decode weights of each pattern, (U, blocks, M) or (U, M), by default those of the messages received."""
        return self.weights_of(self.received(responses))

    def weights_of(self, received: np.ndarray) -> np.ndarray:
        """Decode weights of sets of messages, boolean (U, M): the pseudoinverse, smallest ||c - 1||."""
        if self.n > Code.most_workers:
            raise ParameterError(
                f"{self!r} promises nothing from what was heard, and the pseudoinverse that would come closest is "
                f"taken for up to {Code.most_workers} workers"
            )
        B = self.encoding.toarray()
        target = np.tile(np.eye(self.blocks), self.k)
        weights = np.empty((len(received), self.blocks, len(B)), dtype=B.dtype)
        step = max(1, _CHUNK_BYTES // max(1, B.nbytes))
        for u in range(0, len(received), step):
            mine = received[u : u + step, :, None]
            weights[u : u + step] = target @ pinv(mine * B, rcond=1e-10)
        return weights * received[:, None]

    def decode(self, responses, partial: bool = False) -> Decoding:
        """Decode every pattern at once and certify the result.

        Parameters
        ----------
        responses : array_like (U, n)
            Messages heard of each worker, as counts or booleans.
        partial : bool
            Take what the decoder gives where the code promises nothing, because a quorum is not met. `Decoding.exact`
            says whether that is the whole sum, `Decoding.error` how far it is off, ||c - 1||^2 / k.

        Raises
        ------
        ParameterError
            If `responses` is not (U, n) counts between 0 and the worker's number of messages; unless `partial`, if a
            pattern misses a quorum and does not give the whole sum either.
        DecodingError
            If the promise fails where all quorums are met.

        Examples
        --------
        >>> from gcexp.codes import Uncoded
        >>> found = Uncoded(n=4).decode([1, 0, 1, 1], partial=True)
        >>> found.coefficients, found.exact, found.error
        (array([[1., 0., 1., 1.]]), False, array([0.25]))
        """
        responses = self._patterns(responses)
        patterns = len(responses)
        M = self.encoding.shape[0]
        weights = np.asarray(self.weights(responses))
        if weights.shape not in ((patterns, M), (patterns, self.blocks, M)):
            raise DecodingError(
                f"{self!r} decoded with weights of the shape {weights.shape}; weights(responses) must give (patterns, "
                f"messages) = {(patterns, M)}, or (patterns, blocks, messages) = {(patterns, self.blocks, M)}",
                self,
            )
        weights = weights.reshape(patterns, self.blocks, M)
        self._refuse_unheard(weights, responses)
        # C = W B is always computed from the weights, so that decoders cannot contradict it.
        combined = np.real((self._decoding @ weights.reshape(-1, M).T).T)
        met = self._met(responses)
        c, residual, binary = self._certified(
            combined.reshape(patterns, self.blocks, self.k, self.blocks), met
        )
        certain = residual <= RESIDUAL_BOUND
        kept = certain
        if self.promise == "indicator":
            only_0_and_1 = binary or (c * c == c).all(1)
            kept = only_0_and_1 & (c.sum(1) >= self.recovers) & certain
        broken = met & ~kept
        if broken.any():
            u = int(broken.argmax())
            raise DecodingError(
                f"{self!r} did not decode from workers {quoted(np.flatnonzero(responses[u]).tolist())}: "
                f"residual {residual[u]:.1e} (at most {RESIDUAL_BOUND:.0e}), "
                f"{int((c[u] == 1).sum())} partitions (at least {self.recovers}){self._promised()}",
                self,
            )
        # Mixed blocks are the gradient of no weighted loss: the update is skipped.
        c[residual > RESIDUAL_BOUND] = 0
        found = Decoding(weights, c, residual)
        if not partial and not met.all():
            self._refuse_approximation(responses, met, found)
        return found

    def _refuse_unheard(self, weights: np.ndarray, responses: np.ndarray) -> None:
        """Raise `DecodingError` for a weight on a message that was not received: it would pass for a certain decode."""
        unheard = weights.any(1) & ~self.received(responses)
        if unheard.any():
            u, message = np.argwhere(unheard)[0]
            raise DecodingError(
                f"{self!r} gave message {message} of worker {self.owner[message]} a weight, which was not heard: "
                f"weights(responses) must be 0 there, as in weights * (responses > 0)",
                self,
            )

    def _promised(self) -> str:
        """The part of a message that says what a failed decode promised, and what to do."""
        if self.instead:
            return f"; take {self.instead}"
        if self.promise != "indicator":
            return f"; it promises promise={self.promise!r}"
        return (
            f"; it promises that at least {self.recovers} of {self.k} partitions have the coefficient 1 and the others "
            "0 (promise='indicator') where its quorums are met: a quorum may ask for too few workers, and a "
            "code that approximates says promise='least_squares'"
        )

    def _refuse_approximation(self, responses: np.ndarray, met: np.ndarray, found: Decoding) -> None:
        """Raise for the first pattern that meets no quorum and does not decode to the full sum."""
        short = ~met & (found.coefficients != 1).any(1)
        if short.any():
            u = int(short.argmax())
            raise ParameterError(
                f"{self!r} promises nothing from what was heard, {responses[u].sum()} of {self.messages.sum()} "
                f"messages, of {np.count_nonzero(responses[u])} of {self.n} workers: the best it can do is off by "
                f"||c - 1||^2/k = {found.error[u]:.2g}; decode(responses, partial=True) gives that approximation"
            )

    def _certified(self, combined: np.ndarray, met: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Coefficients c (U, k) of W B (U, blocks, k, blocks), rounded where they may be, the residual (U,), and
        whether W B itself is 0 and 1 to the last bit.
        """
        if self.blocks == 1:
            c = combined[:, 0, :, 0]
            if is_binary(c):  # as most are: the rest would cost more than the decode
                return c, np.zeros(len(c)), True
        else:
            c = np.einsum("ubkb->uk", combined) / self.blocks
        nearest = np.rint(c)
        off = np.abs(c - nearest)
        whole = off < WHOLE  # equal bits for all exact schemes, and for exact parts of others
        if self.promise == "indicator":
            whole |= met[:, None]
        np.copyto(c, nearest, where=whole)
        if self.blocks == 1:
            return c, np.where(whole, off, 0.0).max(1, initial=0.0), False
        for b in range(self.blocks):  # in place: a temporary array costs more than the arithmetic
            combined[:, b, :, b] -= c
        return c, np.abs(combined, out=combined).max((1, 2, 3), initial=0.0), False

    def encode(self, gradients) -> np.ndarray:
        """Messages of all workers, (M, ceil(l / blocks)), from partition gradients (k, l), in float64.

        Arrays, or torch tensors of any real type, device and memory layout; a tensor that requires grad is refused.
        """
        g = _numbers(gradients, "gradients")
        require(g.dtype.kind != "c", "gradients must be real, got complex numbers; nothing was encoded")
        g = g.astype(np.float64, copy=False)
        require(
            g.ndim == 2 and len(g) == self.k,
            f"gradients must have the shape (k, l) with k={self.k}, got {g.shape}",
        )
        require(bool(np.isfinite(g).all()), "gradients contain NaN or infinite entries; nothing was encoded")
        short = -g.shape[1] % self.blocks
        g = np.pad(g, ((0, 0), (0, short))) if short else g
        return self.encoding @ g.reshape(self.k * self.blocks, -1)

    def combine(self, sent: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Decoded vector, padding included, of messages (M, l') and one pattern's weights (blocks, M).

        Messages may be a torch tensor, as in `encode`; the answer is an array. Rows of messages that were not received,
        which have weight 0, may hold anything.
        """
        weights = np.atleast_2d(weights)
        sent = _numbers(sent, "messages")
        M = len(self.owner)
        require(
            weights.shape == (self.blocks, M),
            f"combine takes the weights of one pattern, (blocks, messages) = {(self.blocks, M)}, got shape "
            f"{weights.shape}",
        )
        require(
            sent.ndim in (1, 2) and len(sent) == M,
            f"messages are (M, length) with M={M}, a row for each, received or not, got shape {sent.shape}",
        )
        require(
            sent.dtype.kind == "c" or self.encoding.dtype.kind != "c",
            f"messages of {type(self).__name__} are complex numbers here, got {sent.dtype}",
        )
        with np.errstate(invalid="ignore"):
            answer = np.real(weights @ sent).reshape(-1)
        if not np.isfinite(answer).all():  # 0 times NaN is NaN
            used = weights.any(0)
            answer = np.real(weights[:, used] @ sent[used]).reshape(-1)
            require(bool(np.isfinite(answer).all()), "received messages contain NaN or infinite entries")
        return answer

    def _patterns(self, responses) -> np.ndarray:
        responses = np.atleast_2d(_numbers(responses, "responses"))
        require(
            responses.shape[1:] == (self.n,),
            f"responses must have the shape (patterns, n) with n={self.n}, got {responses.shape}",
        )
        if responses.dtype.kind not in "bui":
            raise ParameterError(f"responses must be counts of messages, got dtype {responses.dtype}")
        inside = responses.min(initial=0) >= 0 and bool((responses.max(0, initial=0) <= self.messages).all())
        require(inside, f"responses must count between 0 and {self.messages.max(initial=0)}")
        return responses.astype(np.int64)
