"""When messages reach the master: what draws give for the loads and message lengths of a scheme."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import require
from gcexp.schemes.late import PIECES, pieces

if TYPE_CHECKING:
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme


def arrivals(
    scheme: Scheme, draws: Draws, r: int | None = None, rho: np.ndarray | None = None, sending: bool = True
) -> np.ndarray:
    """Arrival (S, T, n) of every worker's r-th message, by default that of its last.

    With relative loads `rho` a worker sends one message, and who has nothing to do is there at once. Without `sending`
    when the message is computed.
    """
    code = scheme.code
    if not sending:
        sent = np.zeros_like(code.messages)
    elif r is None:
        sent = code.messages
    else:
        sent = np.minimum(r, code.messages)
    if rho is not None:
        return np.where(rho > 0, draws.arrival(rho / code.n, sent * code.length), 0.0)
    if draws.data_bound:
        last_message = int(code.messages.max(initial=0))
        computed = code.computed(last_message if r is None else r)
        return draws.arrival_of(computed, sent)
    work = code.load if r is None else code.work(r)
    return draws.arrival(work / code.k, sent * code.length)


class MessageArrivals:
    """When the messages of all iterations arrive, counted from the start of each worker's own work."""

    def __init__(self, scheme: Scheme, draws: Draws, rho: np.ndarray | None):
        self.most = int(scheme.code.messages.max(initial=0))
        self._arrivals = partial(arrivals, scheme, draws, rho=rho)
        self.last = self._arrivals()  # (S, T, n)

    @cached_property
    def earlier(self) -> np.ndarray:
        """All messages but the last, (T, R - 1, S, n); computed once a rule asks for one."""
        by_message = []
        for r in range(1, self.most):
            by_message.append(self._arrivals(r).swapaxes(0, 1))
        return np.stack(by_message, axis=1)


class IterationArrivals:
    """Arrivals (S, 1, n) of iteration t, from its start on: what a waiting rule calls, with a number of messages.

    `begin` (S, n) says when each worker begins.
    """

    def __init__(self, messages: MessageArrivals, t: int, begin: np.ndarray):
        self._messages = messages
        self._t = t
        self._begin = begin
        self._earlier: np.ndarray | None = None

    def __call__(self, r: int | None = None) -> np.ndarray:
        if r is None or r >= self._messages.most:
            return self._messages.last[:, self._t : self._t + 1] + self._begin[:, None]
        if self._earlier is None:
            self._earlier = self._messages.earlier[self._t] + self._begin
            self._earlier.flags.writeable = False
        return self._earlier[r - 1][:, None]


def arrivals_in_order(scheme: Scheme, draws: Draws, ranks: np.ndarray) -> np.ndarray:
    """Arrival (S, 1, M) of every message in one iteration, counted from the start of each worker's own work.

    `ranks` are the places of messages in their workers' orders, (S, M) or (M,): see `WaitingExtras.order`.
    """
    code = scheme.code
    S = draws.shape[0]
    require(
        not draws.data_bound,
        f"{scheme.wait!r} orders messages, but the times depend on the data (data_bound): use another wait",
    )
    ranks = np.broadcast_to(ranks, (S, len(code.owner)))
    places = np.sort(ranks * code.n + code.owner, axis=1)
    places_of_code = np.sort(code.rank * code.n + code.owner)
    require(
        bool((places == places_of_code).all()),
        f"{scheme.wait!r} gives no order of the messages of {code!r}: each worker's places are 0, 1, ... up to the "
        "number of its messages",
    )
    arrived = np.empty(ranks.shape)
    for r, work in enumerate(code.work_in_orders(ranks)):
        sent = np.minimum(r + 1, code.messages)
        of_workers = draws.arrival((work / code.k)[:, None], sent * code.length)[:, 0]
        seed, message = np.nonzero(ranks == r)
        arrived[seed, message] = of_workers[seed, code.owner[message]]
    return arrived[:, None]


def ends_of_pieces(scheme: Scheme, draws: Draws, rho: np.ndarray | None) -> np.ndarray:
    """Ends of the pieces of every load but the last, (T, C - 1, S, n), from the worker's start on.

    A worker with fewer than C pieces has inf behind its own.
    """
    require(
        not draws.data_bound,
        "late=chunk divides a worker's time by its load, but the times depend on the data "
        "(data_bound): use late=stop, finish or every",
    )
    S, T, n = draws.shape
    if rho is None:
        rho = n * scheme.code.load / scheme.code.k
    count = pieces(rho, scheme.chunks or draws.micro_batches or PIECES)
    most = int(count.max())
    ends = np.full((T, most - 1, S, n), np.inf)
    for j in range(1, most):
        load = np.minimum(j / count, 1.0) * rho / n
        end = np.where(j < count, draws.arrival(load, 0.0), np.inf)
        ends[:, j - 1] = end.swapaxes(0, 1)
    return ends
