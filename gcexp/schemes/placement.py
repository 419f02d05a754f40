"""Placement rules: which worker takes place j of the code in each iteration. They permute the draws, not the code.

Conventions: `n` workers in `P` clusters of `l = n / P`; `S` seeds, `T` iterations, `U` distinct slow sets. A worker has
a home cluster and row and belongs to `m` clusters; the `cluster_matrix` (m*l, P) lists each cluster's workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require, require_known
from gcexp.schemes.survivors import distinct_words, packed
from gcexp.schemes.waiting import WorkerLimit, known_before
from gcexp.seeding import rng

LAYOUTS = ("row", "column")
SWAP_RULES = ("first_fit", "same_class")
ORDER_MODES = ("static", "refresh")
#: What the master uses: the states of the previous iteration or of this one, or what it saw of the previous one.
STATES = ("state", "perfect")
CLOCKS = ("arrival", "threshold", "censored")
WHICH = ("best", "median", "worst")
_MOST_PAIRED = 10  # workers whose pairings are all tried, 945 of them
_CHUNK = 4096  # slow sets placed at once, so that the arrays stay in the cache


class Placement(Protocol):
    """A frozen dataclass with two methods."""

    def check(self, code: Code) -> None:
        """Raise `ParameterError` if the rule is not for this code."""

    def seat(
        self, is_slow: np.ndarray | None, seeds: Sequence[int], play: Callable | None = None
    ) -> np.ndarray:
        """Worker at place j of the code, (S, T, n); each row is a permutation.

        ``is_slow`` (S, T, n) are the states of the workers, None where the delay model has none. A rule that goes by
        what the master saw calls ``play(t, seats)``, with seats (S, n), for t = 0, 1, ... in turn: it plays iteration t
        and returns each worker's arrival (S, n) and when the master stopped (S,); ``play.shape`` is (S, T, n). So no
        rule can look ahead, and none needs to know load, code or delay law.
        """


@dataclass(frozen=True)
class PlacementExtras(WorkerLimit):
    """What a placement may have beside the members of `Placement`; read with `gcexp.extras.extras`."""

    #: ``start(seeds, n)`` gives a function that takes ``is_slow`` and `play` of the next iterations at each call, so
    #: that a long run is seated some iterations at a time; without it each seed is seated whole.
    start: Callable[[Sequence[int], int], Callable] | None = None
    #: The placement is the same in every iteration.
    stays: bool = False
    #: It is chosen from times that nobody knows beforehand.
    hindsight: bool = False
    #: It is learned from times before the run.
    learned: bool = False
    #: ``stored(code, seed)`` are the partitions that each worker keeps, boolean (n, k); else those that it computes.
    stored: Callable[[Code, int], np.ndarray] | None = None
    #: ``codewords(code, seed)`` are the codewords that each worker may have to send, (n,); else one.
    codewords: Callable[[Code, int], np.ndarray] | None = None


# --- Clusters ----------------------------------------------------------------------------------------------------


def home(n: int, clusters: int, layout: str = "row") -> tuple[np.ndarray, np.ndarray]:
    """Home cluster and row of every worker, both (n,).

    Examples
    --------
    >>> home(6, 2)
    (array([0, 1, 0, 1, 0, 1]), array([0, 0, 1, 1, 2, 2]))
    """
    require(
        1 <= clusters <= n and n % clusters == 0,
        f"placement needs clusters >= 1 that divides n, got n={n}, clusters={clusters}",
    )
    if layout == "column":
        return np.divmod(np.arange(n), n // clusters)
    row, cluster = np.divmod(np.arange(n), clusters)
    return cluster, row


def cluster_matrix(n: int, clusters: int, shifts: Sequence[Sequence[int]], layout: str = "row") -> np.ndarray:
    """Worker-cluster assignment (m*l, P): the workers in home order, and below it m - 1 rotations of each row.

    Row r of `shifts` (l, m-1) says how far row r is rotated to the right in each block below the first: distinct
    numbers from 1 to P-1 (Buyukates et al., section IV-B).

    Examples
    --------
    >>> cluster_matrix(12, 4, [(1,), (3,), (1,)])
    array([[ 0,  1,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11],
           [ 3,  0,  1,  2],
           [ 5,  6,  7,  4],
           [11,  8,  9, 10]])
    """
    cluster, row = home(n, clusters, layout)
    size = n // clusters
    require(
        len(shifts) == size,
        f"shifts needs one row for each of the {size} workers of a cluster, got {len(shifts)} rows",
    )
    base = np.empty((size, clusters), dtype=np.intp)
    base[row, cluster] = np.arange(n)
    blocks = [base]
    for block in zip(*shifts, strict=True):
        blocks.append(np.stack([np.roll(workers, by) for workers, by in zip(base, block, strict=True)]))
    return np.concatenate(blocks)


def membership(matrix: np.ndarray) -> np.ndarray:
    """Which cluster a worker may be placed in, boolean (P, n), from the cluster matrix."""
    clusters = matrix.shape[1]
    allowed = np.zeros((clusters, int(matrix.max()) + 1), dtype=bool)
    allowed[np.arange(clusters), matrix] = True
    return allowed


def stored(matrix: np.ndarray) -> np.ndarray:
    """Partitions that a worker stores, boolean (n, k): all of its clusters, so that it can take any place there."""
    allowed = membership(matrix)
    return np.repeat(allowed.T, allowed.shape[1] // allowed.shape[0], axis=1)


def seats(cluster: np.ndarray, clusters: int, layout: str = "row") -> np.ndarray:
    """Worker at place j of the code (U, n), from the cluster of each worker (U, n).

    Whoever is placed at home keeps its own row; the others, ascending, take the vacant rows, ascending.

    Examples
    --------
    >>> seats(np.array([[0, 1, 1, 0]]), clusters=2)
    array([[0, 1, 3, 2]])
    """
    n = cluster.shape[1]
    at_home, row = home(n, clusters, layout)
    moved = cluster != at_home
    # The i-th mover of a cluster meets its i-th vacant seat: both lists are sorted by cluster, then by worker or row.
    mover = np.argsort(np.where(moved, cluster * n + np.arange(n), n * n), axis=1, kind="stable")
    vacant = np.argsort(np.where(moved, at_home * n + row, n * n), axis=1, kind="stable")
    played = np.tile(np.arange(n), (len(cluster), 1))
    movers = np.arange(n) < moved.sum(1, keepdims=True)
    u, _ = np.nonzero(movers)
    played[u, vacant[movers]] = mover[movers]
    return played


# --- Placing slow sets, many at once -------------------------------------------------------------------------------


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
    >>> allowed = membership(cluster_matrix(12, 4, [(1,), (3,), (1,)]))
    >>> slow = np.isin(np.arange(12), [0, 2, 4, 6, 10])
    >>> greedy_clusters(allowed[None], slow[None], phases=1)
    array([[ 0,  2,  2,  3,  3,  0,  1,  2,  1,  1, -1,  3]])
    """
    require(phases in (1, 2), f"the greedy rule has the phases 1 and 2, got phases={phases}")
    U, P, n = allowed.shape
    every = np.arange(U)
    cluster = np.full((U, n), -1)
    room = np.full((U, P), n // P)
    slow_first = 2 * is_slow.sum(1) > n
    for turn in (slow_first, ~slow_first):
        free = is_slow == turn[:, None]
        order = np.argsort((allowed & free[:, None]).sum(2), axis=1, kind="stable")
        while True:
            before = room.sum()
            for q in order.T:
                able = allowed[every, q] & free
                w = able.argmax(1)
                u = np.flatnonzero(able[every, w] & (room[every, q] > 0))
                cluster[u, w[u]] = q[u]
                free[u, w[u]] = False
                room[u, q[u]] -= 1
            if room.sum() == before:
                break
            if order_mode == "refresh":
                order = np.argsort((allowed & free[:, None]).sum(2), axis=1, kind="stable")
    if phases == 1:
        return cluster
    while True:
        u = np.flatnonzero((cluster < 0).any(1))
        if not u.size:
            return cluster
        first_left = (cluster[u] < 0).argmax(1)
        _place_one(u, first_left, allowed, is_slow, cluster, room, swap_rule)


def _place_one(u, w, allowed, is_slow, cluster, room, swap_rule):
    """Phase 2 for worker w[i] of placement u[i]; `cluster` and `room` are changed."""
    enters = allowed[u, :, w]
    _, P, n = allowed.shape
    direct = enters & (room[u] > 0)
    rest = ~direct.any(1)
    put, q = u[~rest], direct[~rest].argmax(1)
    cluster[put, w[~rest]] = q
    room[put, q] -= 1
    u, w, enters = u[rest], w[rest], enters[rest]
    if not u.size:
        return
    # Candidate (q, x, v): v sits in x, which w may enter, and may move to q, which has room. Smallest key first.
    x, mine = cluster[u], np.arange(len(u))[:, None]
    movable = enters[mine, x] & (x >= 0)
    candidate = movable[:, None] & allowed[u] & (room[u] > 0)[:, :, None]
    key = (np.arange(P)[:, None] * P + x[:, None]) * n + np.arange(n)
    if swap_rule == "same_class":
        key += P * P * n * (is_slow[u] != is_slow[u, w][:, None])[:, None]
    best = np.where(candidate, key, 2 * P * P * n).reshape(len(u), -1).min(1)
    found = best < 2 * P * P * n
    q, v = best[found] // n // P % P, best[found] % n
    u_found = u[found]
    cluster[u_found, w[found]] = cluster[u_found, v]
    cluster[u_found, v] = q
    room[u_found, q] -= 1
    for u_lost, w_lost in zip(u[~found], w[~found], strict=True):
        _chain(int(w_lost), allowed[u_lost], cluster[u_lost], room[u_lost])


def _chain(w: int, allowed: np.ndarray, cluster: np.ndarray, room: np.ndarray) -> None:
    """Place w by a shortest chain of moves w -> x1, v1: x1 -> x2, ..., into a cluster with room; in place."""
    came: dict[int, tuple[int, int | None]] = {}  # cluster: who enters it, and from where
    queue: deque[tuple[int, int | None]] = deque([(w, None)])
    while queue:
        v, source = queue.popleft()
        for x in np.flatnonzero(allowed[:, v]).tolist():
            if x in came:
                continue
            came[x] = v, source
            if room[x]:
                room[x] -= 1
                end: int | None = x
                while end is not None:
                    mover, origin = came[end]
                    cluster[mover] = end
                    end = origin
                return
            queue.extend((int(sitting), x) for sitting in np.flatnonzero(cluster == x))
    raise AssertionError("a regular bipartite graph always has an augmenting chain")


def best_clusters(allowed: np.ndarray, is_slow: np.ndarray) -> np.ndarray:
    """Cluster of every worker (U, n) with the slow ones spread most evenly.

    The largest number of slow workers in a cluster is as small as can be, then the number of such clusters, and so on:
    a linear assignment of workers to slots: slot i of a cluster costs a slow worker (P+1)^i and a fast one nothing.

    Examples
    --------
    >>> allowed = membership(cluster_matrix(12, 4, [(1,), (3,), (1,)]))
    >>> slow = np.isin(np.arange(12), [2, 6, 10])
    >>> np.bincount(best_clusters(allowed[None], slow[None])[0], weights=slow, minlength=4)
    array([0., 1., 1., 1.])
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    U, P, n = allowed.shape
    size = n // P
    require(
        (P + 1.0) ** size < 2**50,
        f"placement=best needs (clusters + 1)^(n/clusters) < 2^50, got clusters={P}, n={n}",
    )
    slot = np.repeat(np.arange(P), size)
    price = np.tile((P + 1.0) ** np.arange(size), P)
    cluster = np.empty((U, n), dtype=np.intp)
    for u in range(U):
        cost = np.where(allowed[u].T[:, slot], is_slow[u][:, None] * price, np.inf)
        worker, taken = linear_sum_assignment(cost)
        cluster[u, worker] = slot[taken]
    return cluster


# --- The rules -----------------------------------------------------------------------------------------------------


class _Fixed:
    """A placement that stays as it is for the whole run."""

    stays: ClassVar[bool] = True

    def check(self, code: Code) -> None:
        pass


@dataclass(frozen=True)
class Home(_Fixed):
    """Every worker keeps its own place, as without a placement rule: static clustering (GC-SC).

    Examples
    --------
    >>> Home().seat(np.zeros((1, 2, 3), dtype=bool), seeds=(0,))[0]
    array([[0, 1, 2],
           [0, 1, 2]], dtype=int16)
    """

    def seat(self, is_slow, seeds, play=None):
        shape = play.shape if is_slow is None else is_slow.shape
        return np.broadcast_to(np.arange(shape[2], dtype=np.int16), shape)


@dataclass(frozen=True)
class Given(_Fixed):
    """Worker ``workers[j]`` takes place j of the code in every iteration.

    Parameters
    ----------
    workers : list of int
        Each of 0, ..., n-1 once.

    Examples
    --------
    >>> Given([2, 0, 1]).seat(np.zeros((1, 1, 3), dtype=bool), seeds=(0,))[0]
    array([[2, 0, 1]], dtype=int16)
    """

    workers: Sequence[int]

    def __post_init__(self):
        object.__setattr__(self, "workers", tuple(self.workers))
        wanted = set(range(len(self.workers)))
        require(
            set(self.workers) == wanted,
            f"placement=given must name each worker from 0 to n-1 once, got {list(self.workers)}",
        )

    def check(self, code):
        require(
            len(self.workers) == code.n,
            f"placement=given names {len(self.workers)} workers, but {code!r} has {code.n}",
        )

    def seat(self, is_slow, seeds, play=None):
        shape = play.shape if is_slow is None else is_slow.shape
        return np.broadcast_to(np.array(self.workers, dtype=np.int16), shape)


@dataclass(frozen=True)
class Zipper(_Fixed):
    """Fast workers before slow ones, learned from the times before the run and kept for the whole run.

    Workers by rising mean time, ties to the lower: the fastest, the slowest, the second fastest, the second slowest,
    and so on. In a cyclic code a slow worker's helper, who sits before it, is then fast.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> known = SimpleNamespace(shape=(1, 1, 5), past=np.array([[[4.0, 1.0, 2.0, 3.0, 5.0]]]))
    >>> Zipper().seat(None, (0,), known)
    array([[[1, 4, 2, 0, 3]]], dtype=int16)
    """

    learned: ClassVar[bool] = True

    def seat(self, is_slow, seeds, play=None):
        order = _by_past("zipper", play)
        n = play.shape[2]
        places = np.empty(n, dtype=np.intp)
        places[::2], places[1::2] = np.arange(-(-n // 2)), n - 1 - np.arange(n // 2)
        return np.broadcast_to(order[:, None, places], play.shape)


def _by_past(rule: str, play) -> np.ndarray:
    """Workers by increasing mean time before the run, (S, n); raise `ParameterError` if the trace has no such times."""
    past = known_before(f"placement={rule}", None if play is None else play.past)
    return np.argsort(past.mean(1), axis=1, kind="stable").astype(np.int16)


@dataclass(frozen=True)
class Hindsight(_Fixed):
    """The best, median or worst fixed placement for the simulated iterations themselves: a choice in hindsight.

    Of all groupings into pairs of neighbours where ``pairs`` is set and n is even and at most 10 (945 for n = 10: with
    fractional repetition of load 2 nothing else matters), else of so many seeded random seats. The mean is taken with
    workers that stop at once. Among equals the first; of an even number the lower one in the middle.

    Parameters
    ----------
    which : {"best", "median", "worst"}
    pairs : bool
    sampled : int
        Random seats that are tried otherwise.
    """

    hindsight: ClassVar[bool] = True

    which: str = "best"
    pairs: bool = False
    sampled: int = 1000

    def __post_init__(self):
        require_known("which", self.which, WHICH)
        require(self.sampled >= 1, f"sampled must be a number of seats >= 1, got {self.sampled}")

    def seat(self, is_slow, seeds, play=None):
        require(
            play is not None,
            "placement=hindsight needs the times of the coming iterations, but seat() was called without play",
        )
        n = play.shape[2]
        if self.pairs and n % 2 == 0 and n <= _MOST_PAIRED:
            tried = np.array(list(_pairings(tuple(range(n)))), dtype=np.int16)
        else:
            random = rng(0, "placement.hindsight")
            tried = np.array([random.permutation(n) for _ in range(self.sampled)], dtype=np.int16)
        mean = _mean_durations(_Trial(play, tried))
        place = {"best": 0, "median": (len(tried) - 1) // 2, "worst": len(tried) - 1}[self.which]
        chosen = np.argsort(mean, axis=1, kind="stable")[:, place]
        return np.broadcast_to(tried[chosen][:, None], play.shape)


class _Trial:
    """Some seats (U, n) that are tried in a game; trials of equal seats in equal games are equal."""

    def __init__(self, play, tried: np.ndarray):
        self.play, self.tried = play, tried
        self._key = play.fingerprint, tried.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Trial) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(
    maxsize=1
)  # the best, the median and the worst seats of one game are asked for one after the other
def _mean_durations(trial: _Trial) -> np.ndarray:
    """Mean durations (S, U) of a game with each of the seats."""
    return np.stack([trial.play.in_hindsight(seats) for seats in trial.tried], axis=1)


def _pairings(workers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to group workers into pairs, as workers side by side."""
    if not workers:
        yield ()
        return
    first, *rest = workers
    for other in rest:
        for more in _pairings(tuple(w for w in rest if w != other)):
            yield first, other, *more


@dataclass(frozen=True)
class Pairs(_Fixed):
    """Groups of d workers of similar group speed, learned from the times before the run and kept for the whole run.

    Workers by rising mean time, ties to the lower, are dealt to the n/d groups forwards, then backwards, and so on:
    with d = 2 the fastest goes with the slowest. Groups are d consecutive workers, as in fractional repetition.

    Parameters
    ----------
    d : int
        Size of a group, the load of fractional repetition.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> known = SimpleNamespace(shape=(1, 1, 4), past=np.array([[[4.0, 1.0, 2.0, 3.0]]]))
    >>> Pairs(d=2).seat(None, (0,), known)
    array([[[1, 0, 2, 3]]], dtype=int16)
    """

    learned: ClassVar[bool] = True

    d: int

    def check(self, code):
        require(
            self.d >= 1 and code.n % self.d == 0,
            f"placement=pairs needs d that divides n, got n={code.n}, d={self.d}",
        )

    def seat(self, is_slow, seeds, play=None):
        order = _by_past("pairs", play)
        n = play.shape[2]
        turn, group = np.divmod(np.arange(n), n // self.d)
        group = np.where(turn % 2, n // self.d - 1 - group, group)
        seated = np.empty(order.shape, dtype=np.int16)
        seated[:, group * self.d + turn] = order
        return np.broadcast_to(seated[:, None], play.shape)


@dataclass(frozen=True, kw_only=True)
class _Clusters:
    """Workers that belong to several clusters and are assigned to one of them before every iteration."""

    clusters: int
    memberships: int | None = None
    memory: int | None = None
    shifts: Sequence | None = None
    observe: str = "state"
    threshold: float | None = None
    layout: str = "row"

    def __post_init__(self):
        require(self.clusters >= 1, f"placement needs clusters >= 1, got clusters={self.clusters}")
        require_known("layout", self.layout, LAYOUTS)
        require_known("observe", self.observe, STATES + CLOCKS)
        require(
            (self.memberships is None) != (self.memory is None),
            f"placement takes either memberships or memory, got memberships={self.memberships}, memory={self.memory}",
        )
        require(
            self.memberships is None or 1 <= self.memberships <= self.clusters,
            f"placement needs 1 <= memberships <= clusters={self.clusters}, got memberships={self.memberships}",
        )
        require(
            (self.threshold is not None) == (self.observe in ("threshold", "censored")),
            f"threshold is the time above which a worker counts as slow, for observe=threshold and observe=censored "
            f"only, got threshold={self.threshold} with observe={self.observe}",
        )
        if self.shifts is not None:  # a number per row, or a list of numbers
            rows = tuple(tuple(np.atleast_1d(row).tolist()) for row in self.shifts)
            object.__setattr__(self, "shifts", rows)
            for row in rows:
                require(
                    len(set(row)) == len(row) and all(0 < shift < self.clusters for shift in row),
                    f"shifts must be distinct numbers from 1 to clusters - 1 = {self.clusters - 1}, got {row}",
                )

    def place(self, allowed: np.ndarray, is_slow: np.ndarray) -> np.ndarray:
        """Cluster of every worker, (U, n), for allowed (U, P, n) and slow sets (U, n)."""
        raise NotImplementedError

    def check(self, code):
        at_home, _ = home(code.n, self.clusters, self.layout)
        wanted = {tuple(np.flatnonzero(at_home == q).tolist()) for q in range(self.clusters)}
        require(
            {tuple(sorted(quorum.workers)) for quorum in code.quorums} == wanted,
            f"placement is for {self.clusters} clusters with layout={self.layout}, each a quorum of the code; "
            f"{code!r} has other quorums",
        )

    def memberships_of(self, n: int) -> int:
        """Clusters per worker: as given, or as many as `memory` partitions hold."""
        if self.memory is None:
            assert self.memberships is not None, "one of the two is given"
            return self.memberships
        m = min(self.clusters, self.memory * self.clusters // n)
        require(
            m >= 1,
            f"memory must hold at least the n/clusters = {n // self.clusters} partitions of a "
            f"cluster, got memory={self.memory}",
        )
        return m

    def matrix(self, n: int, seed: int) -> np.ndarray:
        """Cluster matrix (m*l, P) of a seed: with the given shifts, or with distinct random ones in each row."""
        size, m = n // self.clusters, self.memberships_of(n)
        rows: Sequence[Sequence[int]] | None = self.shifts
        if rows is None:
            order = [rng(seed, "placement", row).permutation(self.clusters - 1) for row in range(size)]
            rows = [(1 + shuffled[: m - 1]).tolist() for shuffled in order]
        require(
            all(len(row) == m - 1 for row in rows),
            f"shifts has memberships - 1 = {m - 1} numbers per row, got {rows}",
        )
        return cluster_matrix(n, self.clusters, rows, self.layout)

    def stored(self, code: Code, seed: int) -> np.ndarray:
        """Partitions that each worker keeps, boolean (n, k): those of all its clusters."""
        return stored(self.matrix(code.n, seed))

    def codewords(self, code: Code, seed: int) -> np.ndarray:
        """Number of codewords that each worker may have to send, (n,): one per place in each of its clusters."""
        sizes = np.array([len(quorum.workers) for quorum in code.quorums])
        return sizes @ membership(self.matrix(code.n, seed))

    def seat(self, is_slow, seeds, play=None):
        self._require_seen(is_slow, play)
        shape = play.shape if is_slow is None else is_slow.shape
        return self.start(seeds, shape[2])(is_slow, play)

    def _require_seen(self, is_slow, play) -> None:
        """Raise `ParameterError` if what the rule observes is not there."""
        require(
            self.observe not in STATES or is_slow is not None,
            f"observe={self.observe} needs the states of the workers, but the delay model has none "
            "(observe=arrival, threshold and censored use what the master saw)",
        )
        require(
            self.observe in STATES or play is not None,
            f"observe={self.observe} uses what the master saw, but seat() was called without play",
        )

    def start(self, seeds: Sequence[int], n: int) -> Callable:
        """Function that returns the places of the next iterations, from what was observed in earlier ones."""
        home(n, self.clusters, self.layout)
        states, S = self.observe in STATES, len(seeds)
        allowed = np.unique([membership(self.matrix(n, seed)) for seed in seeds], axis=0, return_inverse=True)
        marked = None  # whom the master takes for slow, (S, n): nothing is known yet

        def seat(is_slow, play=None):
            nonlocal marked
            self._require_seen(is_slow, play)
            T = is_slow.shape[1] if states else play.shape[1]
            if self.observe == "perfect":
                return self._seats(allowed, is_slow)
            seated = np.empty((S, T, n), dtype=np.int16)
            seated[:, 0] = np.arange(n) if marked is None else self._seats(allowed, marked[:, None])[:, 0]
            if self.observe == "state":
                seated[:, 1:] = self._seats(allowed, is_slow[:, :-1])
                marked = is_slow[:, -1]
                return seated
            for t in range(T):
                arrived, stopped = play(t, seated[:, t])
                before = np.zeros((S, n), dtype=bool) if marked is None else marked
                marked = self._marks(arrived, stopped[:, None], before)
                if t + 1 < T:
                    seated[:, t + 1] = self._seats(allowed, marked[:, None])[:, 0]
            return seated

        return seat

    def _marks(self, arrived, stopped, before):
        """Workers that the master regards as slow after an iteration, (S, n)."""
        if self.observe == "arrival":
            return arrived > stopped
        known = (arrived <= stopped) | (stopped > self.threshold)
        if self.observe == "threshold":  # late results are timed too
            known[:] = True
        return np.where(known, arrived > self.threshold, before)

    def _seats(self, allowed: tuple[np.ndarray, np.ndarray], is_slow: np.ndarray) -> np.ndarray:
        """Seats (S, T, n) of slow sets (S, T, n); each distinct pair of cluster matrix and slow set is placed once.

        `allowed` are the distinct memberships and, for every seed, which one it has.
        """
        S, T, n = is_slow.shape
        matrices, of_seed = allowed
        words = packed(is_slow.reshape(S * T, n), most=1)
        of_row = np.repeat(of_seed.ravel(), T).astype(np.uint64)
        first, which = distinct_words(np.column_stack([words, of_row]))
        played = np.empty((len(first), n), dtype=np.int16)
        for i in range(0, len(first), _CHUNK):
            s, t = np.divmod(first[i : i + _CHUNK], T)
            cluster = self.place(matrices[of_seed[s]], is_slow[s, t])
            played[i : i + _CHUNK] = seats(cluster, self.clusters, self.layout)
        return played[which].reshape(S, T, n)


@dataclass(frozen=True, kw_only=True)
class Greedy(_Clusters):
    """Dynamic clustering (GC-DC): before each iteration the slow workers are spread over the clusters, greedily.

    Parameters
    ----------
    clusters : int
        Clusters P of the code; must divide n.
    memberships : int, optional
        Clusters each worker belongs to, 1 <= m <= P; it stores their m n / P partitions. m = 1 is static clustering.
    memory : int, optional
        Partitions a worker can store, instead of `memberships`: m = min(P, floor(memory P / n)).
    shifts : sequence, optional
        m - 1 distinct numbers from {1, ..., P-1} for each of the n/P rows; a row may be a plain number where m = 2.
        Default: drawn once per seed.
    swap_rule, order_mode : str
        See `greedy_clusters`.
    observe : {"state", "perfect", "arrival", "threshold", "censored"}
        Whom the master takes for slow in iteration t: the slow workers of iteration t - 1; those of t itself; who had
        not arrived when it stopped in t - 1; who took longer than `threshold` in t - 1; the same, but who had not
        arrived when it stopped before `threshold` keeps its mark. In iteration 0 nothing is known, and everybody is
        at home (not so for ``perfect``).
    threshold : float, optional
        For the last two.
    layout : {"row", "column"}
        Layout of the code.

    References
    ----------
    Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation, ICC 2021
    (arXiv 2011.01922), section IV.

    Examples
    --------
    >>> is_slow = np.zeros((1, 2, 12), dtype=bool)
    >>> is_slow[:, :, [2, 4, 6, 10]] = True
    >>> Greedy(clusters=4, memberships=2, shifts=(1, 3, 1)).seat(is_slow, seeds=(0,))[0]
    array([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11],
           [ 0,  6,  2,  3,  4,  5,  1, 10,  8,  9,  7, 11]], dtype=int16)
    """

    swap_rule: str = "first_fit"
    order_mode: str = "static"

    def __post_init__(self):
        super().__post_init__()
        require_known("swap_rule", self.swap_rule, SWAP_RULES)
        require_known("order_mode", self.order_mode, ORDER_MODES)

    def place(self, allowed, is_slow):
        return greedy_clusters(allowed, is_slow, self.swap_rule, self.order_mode)


@dataclass(frozen=True, kw_only=True)
class Best(_Clusters):
    """Dynamic clustering with the placement that spreads the slow workers most evenly, by linear assignment.

    Parameters
    ----------
    clusters, memberships, memory, shifts, observe, threshold, layout
        As in `Greedy`.

    References
    ----------
    The objective of Buyukates et al., arXiv 2011.01922, equation (9), for which their rule is a heuristic.

    Examples
    --------
    >>> is_slow = np.isin(np.arange(12), [2, 6, 10])[None, None]
    >>> Best(clusters=4, memberships=2, shifts=(1, 3, 1), observe="perfect").seat(is_slow, seeds=(0,)).shape
    (1, 1, 12)
    """

    def place(self, allowed, is_slow):
        return best_clusters(allowed, is_slow)
