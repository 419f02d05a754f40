"""The greedy assignment of workers to clusters, for many slow sets at once."""

from __future__ import annotations

from collections import deque

import numpy as np

from gcexp.errors import require


def greedy_clusters(
    allowed: np.ndarray,
    is_slow: np.ndarray,
    swap_rule: str = "first_fit",
    order_mode: str = "static",
    phases: int = 2,
) -> np.ndarray:
    """Cluster of every worker (U, n) by the greedy rule of Buyukates et al., section IV-C.

    Phase 1 deals the workers of the larger class (a tie: the fast) round by round, one to each cluster in the order of
    how few of that class may enter it, the smallest index first; then those of the other class. Phase 2 places whoever
    is left, ascending: directly, by the first swap with a worker v of a full cluster x that can move to a cluster q
    with room (q, x, v ascending), or by a shortest chain of such moves. A full placement always exists: each worker
    has m clusters, each cluster m*l candidates. One swap is enough where 2m >= P. The ties and the chain are this
    library's.

    Workers may enter the clusters `allowed` (U, P, n). `order_mode` and `swap_rule` are those of `Greedy`. With
    `phases` = 1 whoever phase 1 leaves over stays without a cluster, -1.

    Examples
    --------
    >>> from gcexp.schemes.placement.clusters import cluster_matrix, membership
    >>> allowed = membership(cluster_matrix(12, 4, [(1,), (3,), (1,)]))
    >>> slow = np.isin(np.arange(12), [0, 2, 4, 6, 10])
    >>> greedy_clusters(allowed[None], slow[None], phases=1)
    array([[ 0,  2,  2,  3,  3,  0,  1,  2,  1,  1, -1,  3]])
    """
    require(phases in (1, 2), f"the greedy rule has the phases 1 and 2, got phases={phases}")
    U, P, n = allowed.shape
    cluster = np.full((U, n), -1)
    room = np.full((U, P), n // P)
    slow_first = 2 * is_slow.sum(1) > n
    for deals_slow in (slow_first, ~slow_first):
        unplaced = is_slow == deals_slow[:, None]
        _deal(unplaced, allowed, cluster, room, order_mode)
    if phases == 1:
        return cluster
    while True:
        u = np.flatnonzero((cluster < 0).any(1))
        if not u.size:
            return cluster
        first_left = (cluster[u] < 0).argmax(1)
        _place_one(u, first_left, allowed, is_slow, cluster, room, swap_rule)


def _deal(
    unplaced: np.ndarray, allowed: np.ndarray, cluster: np.ndarray, room: np.ndarray, order_mode: str
) -> None:
    """Phase 1 for the workers `unplaced` (U, n) of one class; `unplaced`, `cluster` and `room` are changed."""
    every = np.arange(len(allowed))
    order = _fewest_candidates_first(allowed, unplaced)
    while True:
        room_before = room.sum()
        for q in order.T:
            candidates = allowed[every, q] & unplaced
            w = candidates.argmax(1)
            u = np.flatnonzero(candidates[every, w] & (room[every, q] > 0))
            cluster[u, w[u]] = q[u]
            unplaced[u, w[u]] = False
            room[u, q[u]] -= 1
        if room.sum() == room_before:
            return
        if order_mode == "refresh":
            order = _fewest_candidates_first(allowed, unplaced)


def _fewest_candidates_first(allowed: np.ndarray, unplaced: np.ndarray) -> np.ndarray:
    """Clusters (U, P) in the order of how many of the workers `unplaced` (U, n) may enter them."""
    candidates = (allowed & unplaced[:, None]).sum(2)
    return np.argsort(candidates, axis=1, kind="stable")


def _place_one(u, w, allowed, is_slow, cluster, room, swap_rule) -> None:
    """Phase 2 for worker w[i] of placement u[i]; `cluster` and `room` are changed."""
    enters = allowed[u, :, w]  # (len(u), P)
    enters_room = enters & (room[u] > 0)
    directly = enters_room.any(1)
    u_direct = u[directly]
    q = enters_room[directly].argmax(1)
    cluster[u_direct, w[directly]] = q
    room[u_direct, q] -= 1
    u = u[~directly]
    w = w[~directly]
    enters = enters[~directly]
    if not u.size:
        return
    swapped = _swap(u, w, enters, allowed, is_slow, cluster, room, swap_rule)
    for u_left, w_left in zip(u[~swapped], w[~swapped], strict=True):
        _chain(int(w_left), allowed[u_left], cluster[u_left], room[u_left])


def _swap(u, w, enters, allowed, is_slow, cluster, room, swap_rule) -> np.ndarray:
    """Place worker w[i] of placement u[i] where one other worker can make room for it; whether it was placed.

    ``enters`` (len(u), P) are the clusters that w[i] may enter; `cluster` and `room` are changed.
    """
    _, P, n = allowed.shape
    # Candidate (q, x, v): v sits in x, which w may enter, and may move to q, which has room. Smallest key first.
    x = cluster[u]
    row = np.arange(len(u))[:, None]
    movable = enters[row, x] & (x >= 0)
    candidate = movable[:, None] & allowed[u] & (room[u] > 0)[:, :, None]
    key = (np.arange(P)[:, None] * P + x[:, None]) * n + np.arange(n)
    if swap_rule == "same_class":
        other_class = is_slow[u] != is_slow[u, w][:, None]
        key += P * P * n * other_class[:, None]
    above_all_keys = 2 * P * P * n
    best = np.where(candidate, key, above_all_keys).reshape(len(u), -1).min(1)
    swapped = best < above_all_keys
    q = best[swapped] // n // P % P
    v = best[swapped] % n
    u = u[swapped]
    w = w[swapped]
    cluster[u, w] = cluster[u, v]
    cluster[u, v] = q
    room[u, q] -= 1
    return swapped


def _chain(w: int, allowed: np.ndarray, cluster: np.ndarray, room: np.ndarray) -> None:
    """Place w by a shortest chain of moves w -> x1, v1: x1 -> x2, ..., into a cluster with room; in place."""
    entry: dict[int, tuple[int, int | None]] = {}  # of a cluster: who enters it, and from where
    queue: deque[tuple[int, int | None]] = deque([(w, None)])
    while queue:
        v, source = queue.popleft()
        for x in np.flatnonzero(allowed[:, v]).tolist():
            if x in entry:
                continue
            entry[x] = v, source
            if room[x]:
                room[x] -= 1
                _move_along(entry, x, cluster)
                return
            for occupant in np.flatnonzero(cluster == x).tolist():
                queue.append((occupant, x))
    raise AssertionError("a regular bipartite graph always has an augmenting chain")


def _move_along(entry: dict[int, tuple[int, int | None]], end: int, cluster: np.ndarray) -> None:
    """Make the moves of a chain, from its end backwards; `cluster` is changed."""
    x: int | None = end
    while x is not None:
        mover, source = entry[x]
        cluster[mover] = x
        x = source
