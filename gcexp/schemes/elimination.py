"""Incremental elimination: the span of the messages that arrived so far, updated one message at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcexp.codes import Code
from gcexp.errors import ParameterError, require, require_known
from gcexp.schema import checked, quoted
from gcexp.schemes.arrivals import Arrivals
from gcexp.schemes.survivors import distinct

TARGETS = ("partitions", "sum")
_MARGIN = 100  # a decoder may be so many times less accurate than the elimination


def _array(rows: object, dtype: object) -> np.ndarray:
    try:
        return np.asarray(rows, dtype=dtype)  # type: ignore[call-overload]  # whatever was given
    except (TypeError, ValueError):
        raise ParameterError(f"a span needs an array of numbers, got {quoted(rows)}") from None


class Span:
    r"""Spans of the rows inserted so far, for I iterations side by side.

    Each has an orthonormal basis. A new row is freed of it (twice, which keeps the basis orthogonal to rounding) and,
    where something is left, extends it by a unit vector u. A target v then comes closer to the span:
    dist^2 falls by |v u^*|^2. Both tests are relative to the row's, or the target's, own length, never against zero.

    Parameters
    ----------
    iterations, columns : int
        Number of spans, length of a row.
    targets : array_like (q, columns)
        Vectors asked for.
    tolerance : float
        Relative distance from a span below which a vector lies in it.
    dtype : dtype
        Of the rows.

    Raises
    ------
    ParameterError
        For numbers outside these, and for targets that are no such array.

    Examples
    --------
    >>> span = Span(1, 3, targets=[[1, 1, 1], [0, 0, 1]])
    >>> span.insert([[1, 1, 0]]), span.insert([[2, 2, 0]]), span.insert([[0, 1, 1]])
    (array([ True]), array([False]), array([ True]))
    >>> span.insert([[0, 1, 0]]), span.inside
    (array([ True]), array([[ True,  True]]))
    """

    @checked
    def __init__(self, iterations: int, columns: int, targets, tolerance: float = 1e-6, dtype=np.float64):
        require(iterations >= 0 and columns >= 1, "a span needs iterations >= 0 and columns >= 1")
        require(tolerance >= 0, f"tolerance is a distance >= 0, got {tolerance}")
        targets = _array(targets, dtype)
        fits = targets.ndim == 2 and targets.shape[1] == columns
        require(fits, f"targets are an array (q, {columns}), got shape {targets.shape}")
        self._adjoint = targets.conj().T
        length = np.vecdot(targets, targets).real  # squared, as all that follow
        self._distance = np.tile(length, (iterations, 1))
        self._close = tolerance**2 * length
        self._basis = np.zeros((iterations, columns + 1, columns), dtype=dtype)  # a row to spare
        self.rank, self.tolerance = np.zeros(iterations, dtype=np.intp), tolerance
        self._most, self._all = 0, np.arange(iterations)  # rank at most; a row index

    @property
    def inside(self) -> np.ndarray:
        """Which targets are in each span, boolean (I, q)."""
        return self._distance <= self._close

    def insert(self, rows) -> np.ndarray:
        """Insert one row into each span, and return whether it was outside the span before, boolean (I,)."""
        rows = np.asarray(rows, dtype=self._basis.dtype)
        basis = self._basis[:, : self._most]
        adjoint = basis.conj().transpose(0, 2, 1)
        rest = rows[:, None]
        for _ in range(2):
            rest = rest - rest @ adjoint @ basis
        rest = rest[:, 0]
        size = np.vecdot(rest, rest).real
        new = size > self.tolerance**2 * np.vecdot(rows, rows).real
        if self._most == rows.shape[1]:  # rounding is no direction
            new &= self.rank < self._most
        if not new.any():
            return new
        unit = rest / np.sqrt(np.where(new, size, np.inf))[:, None]  # 0 where there is nothing new
        self._basis[self._all, self.rank] = unit
        self.rank += new
        self._most = min(self._most + 1, rows.shape[1])
        self._distance -= np.abs(unit @ self._adjoint) ** 2
        return new

    def keep(self, which: np.ndarray) -> None:
        """Keep only some of the iterations."""
        self._distance = self._distance[which]
        self._basis = self._basis[which]
        self.rank = self.rank[which]
        self._all = self._all[: np.count_nonzero(which)]


@dataclass(frozen=True)
class Spanned:
    """Wait until what is wanted lies in the span of the messages that arrived: decode as messages arrive.

    One elimination step per message, for all iterations at once; `responses` are the messages that extended the span,
    up to the last one needed. Unlike a quorum this sees every combination that happens to suffice.

    It makes no sense for a code with fixed decode weights (promise: linear), or with a decoder that gets less than the
    messages span (batch raptor, two cyclic messages: refused), nor for one whose messages all together do not span what
    is wanted. A step costs rows times rank, so that an iteration of `scheme=coded_partial` takes about n^2.5: some 1.4,
    7, 36 and 230 CPU-ms with n = 50, 100, 200 and 400 workers.

    Parameters
    ----------
    target : {"sum", "partitions"}
        The sum of the wanted gradients, or each of them on its own.
    wanted : sequence of int, optional
        Partitions; default all.
    tolerance : float
        Relative distance from the span below which a vector lies in it.

    References
    ----------
    Ozfatura, Ulukus, Gunduz: Distributed gradient descent with coded partial gradient computations, ICASSP 2019.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> at = np.array([[[3.0, 1.0, 2.0, 4.0]]])
    >>> Spanned().stop(CyclicRepetition(n=4, s=1), lambda r=1: at)
    (array([[3.]]), array([[[1, 1, 1, 0]]], dtype=int16))
    """

    target: str = "sum"
    wanted: tuple[int, ...] | None = None
    tolerance: float = 1e-6

    def __post_init__(self):
        require_known("target", self.target, TARGETS)
        require(0 < self.tolerance < 1, f"wait=spanned needs 0 < tolerance < 1, got {self.tolerance}")
        if self.wanted is not None:
            wanted = tuple(int(i) for i in self.wanted)
            require(
                len(wanted) > 0, "wait=spanned: wanted names no partition; leave it out (null) to want all"
            )
            object.__setattr__(self, "wanted", wanted)

    def stop(self, code, arrive):
        require(
            code.promise != "linear",
            f"wait=spanned: {code!r} decodes with fixed weights, whatever its messages span; use wait=fastest or "
            "wait=deadline",
        )
        wanted = np.arange(code.k) if self.wanted is None else np.array(sorted(set(self.wanted)))
        require(
            bool((wanted >= 0).all() and (wanted < code.k).all()),
            f"wait=spanned: wanted partitions are 0 to k-1 = {code.k - 1}, got {wanted.tolist()}",
        )
        targets = np.eye(code.k)[wanted]
        if self.target == "sum":
            targets = targets.sum(0)
        targets = np.kron(targets, np.eye(code.blocks))
        B = code.encoding.toarray()
        shape = arrive(1).shape
        iterations = shape[0] * shape[1]
        time = np.empty(iterations)
        responses = np.zeros((iterations, code.n), np.int16)
        for rows, arrivals in Arrivals.chunks(code, arrive, width=B.shape[1] ** 2):
            time[rows], extended = self._eliminate(arrivals, B, targets)
            row, at = np.nonzero(extended)
            message = arrivals.message[row, at]
            np.maximum.at(responses[rows], (row, code.owner[message]), code.rank[message] + 1)
        if self.target == "partitions" or self.wanted is None:
            self._refuse_weaker_decoder(code, responses, wanted)
        return time.reshape(shape[:2]), responses.reshape(shape)

    def _refuse_weaker_decoder(self, code: Code, responses: np.ndarray, wanted: np.ndarray) -> None:
        """Raise `ParameterError` if the code's own decoder recovers less than its messages span."""
        patterns = distinct(responses)[0]
        c = code.decode(patterns, partial=True).coefficients[:, wanted]
        error = ((c - 1) ** 2).mean(1)
        require(
            bool((error <= (_MARGIN * self.tolerance) ** 2).all()),
            f"wait=spanned: the decoder of {code!r} is weaker than the span of what was heard: of partitions that are "
            f"spanned it recovers {(c == 1).mean(1)[error.argmax()]:.0%}; use wait=recovered, decodable or fastest",
        )

    def _eliminate(self, arrivals, B, targets):
        """When each iteration stops, (I,), and which of its arrivals extended the span until then, (I, M)."""
        message = arrivals.message
        extended = np.zeros(message.shape, dtype=bool)
        time = np.empty(len(message))
        span = Span(len(message), B.shape[1], targets, self.tolerance, B.dtype)
        waiting = np.arange(len(message))  # iterations that have not stopped
        for p in range(message.shape[1]):
            new = span.insert(B[message[waiting, p]])
            extended[waiting, p] = new
            if p + 1 < len(targets) or not new.any():  # independent targets: fewer messages do not span them
                continue
            stops = span.inside.all(1)
            if stops.any():
                stopping = waiting[stops]
                time[stopping] = arrivals.time[stopping, p]
                span.keep(~stops)
                waiting = waiting[~stops]
                if not len(waiting):
                    return time, extended
        raise ParameterError(
            f"wait=spanned: all messages of {arrivals.code!r} together do not span the wanted {self.target}"
        )
