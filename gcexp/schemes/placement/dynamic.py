"""Dynamic clustering: before each iteration workers are assigned to clusters by whom the master takes for slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require, require_known
from gcexp.schemes.placement.clusters import cluster_matrix, home, membership, seats, stored
from gcexp.schemes.placement.even import best_clusters
from gcexp.schemes.placement.greedy import greedy_clusters
from gcexp.schemes.survivors import distinct_words, packed
from gcexp.seeding import rng

LAYOUTS = ("row", "column")
SWAP_RULES = ("first_fit", "same_class")
ORDER_MODES = ("static", "refresh")
#: What the master uses: the states of the previous iteration or of this one, or what it saw of the previous one.
STATES = ("state", "perfect")
CLOCKS = ("arrival", "threshold", "censored")
_CHUNK = 4096  # slow sets placed at once, so that the arrays stay in the cache


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
                distinct = len(set(row)) == len(row)
                require(
                    distinct and all(0 < shift < self.clusters for shift in row),
                    f"shifts must be distinct numbers from 1 to clusters - 1 = {self.clusters - 1}, got {row}",
                )

    def place(self, allowed: np.ndarray, is_slow: np.ndarray) -> np.ndarray:
        """Cluster of every worker, (U, n), for allowed (U, P, n) and slow sets (U, n)."""
        raise NotImplementedError

    def check(self, code):
        at_home, _ = home(code.n, self.clusters, self.layout)
        clusters = {tuple(np.flatnonzero(at_home == q).tolist()) for q in range(self.clusters)}
        quorums = {tuple(sorted(quorum.workers)) for quorum in code.quorums}
        require(
            quorums == clusters,
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
        size = n // self.clusters
        m = self.memberships_of(n)
        rows: Sequence[Sequence[int]] | None = self.shifts
        if rows is None:
            rows = []
            for row in range(size):
                shuffled = 1 + rng(seed, "placement", row).permutation(self.clusters - 1)
                rows.append(shuffled[: m - 1].tolist())
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
        self.require_observations(is_slow, play)
        shape = play.shape if is_slow is None else is_slow.shape
        return self.start(seeds, shape[2])(is_slow, play)

    def require_observations(self, is_slow, play) -> None:
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
        return _ClusteredSeats(self, seeds, n)

    def slow_after(self, arrived: np.ndarray, stop: np.ndarray, slow_before: np.ndarray) -> np.ndarray:
        """Workers (S, n) that the master takes for slow after an iteration that it stopped at `stop` (S, 1)."""
        if self.observe == "arrival":
            return arrived > stop
        is_timed = (arrived <= stop) | (stop > self.threshold)
        if self.observe == "threshold":  # late results are timed too
            is_timed[:] = True
        return np.where(is_timed, arrived > self.threshold, slow_before)


class _ClusteredSeats:
    """Places of the next iterations at each call, from what was observed in earlier ones."""

    def __init__(self, rule: _Clusters, seeds: Sequence[int], n: int):
        self._rule = rule
        allowed = [membership(rule.matrix(n, seed)) for seed in seeds]
        #: Distinct memberships, and for every seed which one it has.
        self._memberships, of_seed = np.unique(allowed, axis=0, return_inverse=True)
        self._of_seed = of_seed.ravel()
        #: Whom the master takes for slow, (S, n); None before the first iteration, when nothing is known.
        self._slow: np.ndarray | None = None

    def __call__(self, is_slow: np.ndarray | None, play=None) -> np.ndarray:
        self._rule.require_observations(is_slow, play)
        if self._rule.observe not in STATES:
            return self._from_arrivals(play)
        assert is_slow is not None, "the rule has required it"
        if self._rule.observe == "perfect":
            return self._seats(is_slow)
        seated = np.empty(is_slow.shape, dtype=np.int16)
        seated[:, 0] = self._next_seats(is_slow.shape[2])
        seated[:, 1:] = self._seats(is_slow[:, :-1])
        self._slow = is_slow[:, -1]
        return seated

    def _from_arrivals(self, play) -> np.ndarray:
        """Seats from what the master saw of the iteration before."""
        S, T, n = play.shape
        seated = np.empty((S, T, n), dtype=np.int16)
        for t in range(T):
            seated[:, t] = self._next_seats(n)
            arrived, stop = play(t, seated[:, t])
            slow_before = np.zeros((S, n), dtype=bool) if self._slow is None else self._slow
            self._slow = self._rule.slow_after(arrived, stop[:, None], slow_before)
        return seated

    def _next_seats(self, n: int) -> np.ndarray:
        """Seats of the next iteration, (S, n), or (n,) for all seeds: everybody at home where nothing is known."""
        if self._slow is None:
            return np.arange(n)
        return self._seats(self._slow[:, None])[:, 0]

    def _seats(self, is_slow: np.ndarray) -> np.ndarray:
        """Seats (S, T, n) of slow sets (S, T, n); each distinct pair of memberships and slow set is placed once."""
        rule = self._rule
        S, T, n = is_slow.shape
        slow_words = packed(is_slow.reshape(S * T, n), most=1)
        memberships_word = np.repeat(self._of_seed, T).astype(np.uint64)
        first, pair = distinct_words(np.column_stack([slow_words, memberships_word]))
        seats_of_pair = np.empty((len(first), n), dtype=np.int16)
        for i in range(0, len(first), _CHUNK):
            s, t = np.divmod(first[i : i + _CHUNK], T)
            cluster = rule.place(self._memberships[self._of_seed[s]], is_slow[s, t])
            seats_of_pair[i : i + _CHUNK] = seats(cluster, rule.clusters, rule.layout)
        return seats_of_pair[pair].reshape(S, T, n)


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
