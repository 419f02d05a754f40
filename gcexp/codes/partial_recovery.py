"""Cyclic codes that promise the sum of only beta of the n partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.errors import require, require_known
from gcexp.schema import checked

DECODERS = ("appendix", "exact", "max_disjoint")


def _greedy(at: Callable[[int], np.ndarray], n: int, p: int, most: int) -> Iterator[np.ndarray]:
    """Walk once around the ring and take each arc of length p that is free and fits, at most `most` of them.

    ``at(x)`` says where the worker at distance x from the anchor was heard; yielded is where it is taken, for
    x = 0, ..., n-p.
    """
    free_from = np.zeros(at(0).shape, dtype=np.int16)  # first distance that no taken arc covers
    count = np.zeros(at(0).shape, dtype=np.int16)
    for x in range(n - p + 1):
        take = at(x) & (free_from <= x) & (count < most)
        free_from = np.where(take, np.int16(x + p), free_from)
        count += take
        yield take


def _disjoint_arcs(responses: np.ndarray, p: int, most: int) -> np.ndarray:
    """Workers with disjoint arcs, boolean (U, n): the longest list, among those the smallest anchor."""
    patterns, n = responses.shape
    ring = np.concatenate([responses, responses], axis=1)
    # All anchors at once: column a of ring[:, x : x + n] is the worker at distance x from anchor a.
    lengths = np.zeros(responses.shape, dtype=np.int16)
    for take in _greedy(lambda x: ring[:, x : x + n], n, p, most):
        lengths += take
    anchor = np.where(responses, lengths, 0).argmax(1)
    rows = np.arange(patterns)
    workers = np.zeros_like(responses)
    for x, take in enumerate(_greedy(lambda x: ring[rows, anchor + x], n, p, most)):
        workers[rows, (anchor + x) % n] = take
    return workers


def _grow(first: list[int], candidates: list[int], n: int, p: int, q: int) -> list[int]:
    """Extend `first` to at most q workers by the first candidates whose arcs overlap none of theirs."""
    workers = list(first)
    for w in candidates:
        if len(workers) >= q:
            break
        distances = [min((w - v) % n, (v - w) % n) for v in workers]
        if all(distance >= p for distance in distances):
            workers.append(w)
    return workers


def _appendix(responses: np.ndarray, p: int, q: int) -> list[int]:
    """Workers that Algorithm 1 (Appendix C) picks for one pattern; here with 0-based workers."""
    n = len(responses)
    beta = p * q
    stragglers = set(np.flatnonzero(~responses).tolist())
    for i in range(p):
        group = range(i, beta, p)
        if stragglers.isdisjoint(group):
            return list(group)
    # Every group has a straggler. The last one before which its own group has no other one ends the beginning of the
    # list; the smallest straggler of all is such a one.
    for psi in sorted(stragglers, reverse=True):
        beginning = list(range(psi % p, psi, p))
        if psi < beta and stragglers.isdisjoint(beginning):
            break
    later = [w for w in range(psi + 1, n) if w not in stragglers]
    beginnings = [beginning] if beginning else [[w] for w in later]
    lists = [_grow(first, later, n, p, q) for first in beginnings]
    return max(lists, key=len, default=[])


class CyclicPartialRecovery(Code):
    r"""The sum of at least beta of n partitions for any s stragglers, from one plain sum per worker.

    Worker w holds the arc of the p = s + beta - n + 1 partitions w, ..., w+p-1 (mod n) and sends their sum.
    Where p divides beta, any n - s workers contain q = beta/p with pairwise disjoint arcs, whose messages add
    up to the sum of beta partitions. For a fixed first worker ("anchor") the earliest-start greedy finds the
    most disjoint arcs, so trying every anchor is exact.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    beta : int
        Partitions that must be recovered; the load is p.
    decoder : {"max_disjoint", "exact", "appendix"}
        ``max_disjoint``: as many disjoint arcs as there are, at least q; among the longest lists the smallest
        anchor. ``exact``: stops at q arcs; the first anchor that reaches q. ``appendix``: q arcs by Algorithm
        1. With fewer than n - s workers the longest list is used, even if it is shorter than q.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n, n - s <= beta <= n, p divides beta, and the decoder exists.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 5
    and Appendix C (Algorithm 1, restored from its Examples 5 and 6).

    Examples
    --------
    >>> code = CyclicPartialRecovery(n=6, s=3, beta=4)
    >>> code.load
    array([2, 2, 2, 2, 2, 2])
    >>> code.decode([[1, 1, 0, 1, 0, 0]]).coefficients
    array([[1., 1., 0., 1., 1., 0.]])
    """

    formulas = {"k": "n", "load": "s + beta - n + 1", "messages": "1", "length": "1"}
    decoding = "disjoint arcs, earliest-start greedy from every anchor; O(n^2)"
    limit = "none: nothing is solved"
    source = ("sarmasarkar2021",)
    examples = (
        {"n": 6, "s": 3, "beta": 4},
        {"n": 9, "s": 4, "beta": 8, "decoder": "exact"},
        {"n": 9, "s": 4, "beta": 6, "decoder": "appendix"},
        {"n": 5, "s": 2, "beta": 3},
        {"n": 4, "s": 3, "beta": 4},
    )

    @checked
    def __init__(self, n: int, s: int, beta: int, decoder: str = "max_disjoint"):
        p = _arc(n, s, beta)
        possible_beta = [n - s - 1 + load for load in range(1, s + 2) if (n - s - 1) % load == 0]
        others = ", ".join(map(str, possible_beta))
        require(
            beta % p == 0,
            f"plain sums need p = s + beta - n + 1 to divide beta, got n={n}, s={s}, beta={beta}, so p={p}; "
            f"for this n and s beta may be {others}, and CyclicTwoMessage may serve beta={beta}",
        )
        require_known("decoder", decoder, DECODERS)
        super().__init__(_plain_sums(n, p), quorums=[Quorum(range(n), [(1, n - s)])], recovers=beta)
        self.s = s
        self.beta = beta
        self.decoder = decoder
        self.p = p

    def weights(self, responses):
        heard = responses > 0
        q = self.beta // self.p
        most = q if self.decoder == "exact" else self.n
        is_used = _disjoint_arcs(heard, self.p, most)
        if self.decoder == "appendix":
            for u in np.flatnonzero(self.met(responses)):
                is_used[u] = False
                is_used[u, _appendix(heard[u], self.p, q)] = True
        return is_used.astype(float)


class CyclicTwoMessage(Code):
    r"""The sum of exactly beta of n partitions for any s stragglers, from two messages per worker.

    With p = s + beta - n + 1 and r = beta mod p > 0, worker w sends the sum of the partitions w, ..., w+p-1
    (mod n) and then the sum of the first r of them. Where p ceil(beta/p) <= n, any n - s workers contain
    floor(beta/p) arcs of length p and one of length r that are pairwise disjoint. Decoding tries every anchor
    (a full arc) and every place of the short arc after it, both ascending, with the earliest-start greedy;
    the first complete list wins.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    beta : int
        Partitions that are recovered; the load is p. With less than the quorum: as many as the decoder finds.
    guaranteed : bool
        False takes parameters with p ceil(beta/p) > n too. beta partitions are then promised from all n workers only;
        from fewer, each pattern's own coefficients say what was recovered, which may be beta for every set of s
        stragglers: the condition is sufficient, not necessary.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n, n - s <= beta <= n, p does not divide beta, and p ceil(beta/p) <= n where guaranteed.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 7
    and Appendix D (the condition is restored from the appendix).

    Examples
    --------
    >>> code = CyclicTwoMessage(n=6, s=2, beta=5)
    >>> code.load, code.messages
    (array([2, 2, 2, 2, 2, 2]), array([2, 2, 2, 2, 2, 2]))
    >>> code.decode([[2, 2, 2, 2, 0, 0]]).coefficients
    array([[1., 1., 1., 1., 1., 0.]])
    >>> code = CyclicTwoMessage(n=4, s=2, beta=4, guaranteed=False)
    >>> code.decode([[2, 0, 0, 2], [2, 0, 2, 0]], partial=True).recovered
    array([1.  , 0.75])
    """

    formulas = {"k": "n", "load": "s + beta - n + 1", "messages": "2", "length": "1"}
    decoding = (
        "disjoint arcs, greedy from every anchor for every place of the short arc; "
        "O(n^2 floor(beta/p)), p the load"
    )
    limit = "none: nothing is solved"
    source = ("sarmasarkar2021",)
    examples = (
        {"n": 6, "s": 2, "beta": 5},
        {"n": 9, "s": 4, "beta": 7},
        {"n": 8, "s": 4, "beta": 5},
        {"n": 5, "s": 3, "beta": 5, "guaranteed": False},
    )

    @checked
    def __init__(self, n: int, s: int, beta: int, guaranteed: bool = True):
        p = _arc(n, s, beta)
        require(
            beta % p != 0,
            f"two messages need p = s + beta - n + 1 not to divide beta, got n={n}, s={s}, beta={beta}, "
            f"so p={p}; CyclicPartialRecovery does it with one",
        )
        arcs_needed = -(-beta // p)
        covered = p * arcs_needed <= n
        require(
            covered or not guaranteed,
            f"two messages need p * ceil(beta / p) <= n with p = s + beta - n + 1, got n={n}, s={s}, "
            f"beta={beta}, so {p} * {arcs_needed} = {p * arcs_needed} > {n}; with guaranteed=false each pattern of "
            "survivors says what it recovers",
        )
        r = beta % p
        rows = np.stack([_plain_sums(n, p), _plain_sums(n, r)], axis=1).reshape(2 * n, n)
        awaited = n - s if covered else n
        quorum = Quorum(range(n), [(2, awaited)])
        super().__init__(rows, owner=np.repeat(np.arange(n), 2), quorums=[quorum], recovers=beta)
        self.s = s
        self.beta = beta
        self.guaranteed = guaranteed
        self.p = p
        self.r = r

    def weights(self, responses):
        most_recovered = np.zeros(len(responses), dtype=np.int64)  # partitions so far
        best_message = np.zeros(
            responses.shape, dtype=np.int8
        )  # which message of each worker is used, 0 for none
        for anchor in range(self.n):
            patterns = np.flatnonzero((most_recovered < self.beta) & (responses[:, anchor] > 0))
            message = self._lists_from(np.roll(responses[patterns], -anchor, axis=1))
            recovered = self.p * (message == 1).sum(2) + self.r * (message == 2).sum(2)
            place = recovered.argmax(1)
            rows = np.arange(len(patterns))
            most_from_here = recovered[rows, place]
            is_better = most_from_here > most_recovered[patterns]
            better = patterns[is_better]
            most_recovered[better] = most_from_here[is_better]
            best_message[better] = np.roll(message[rows, place][is_better], anchor, axis=1)
        weights = np.stack([best_message == 1, best_message == 2], axis=2)
        return weights.reshape(len(responses), 2 * self.n).astype(float)

    def _lists_from(self, ring: np.ndarray) -> np.ndarray:
        """Message used, 0 for none: (U, q, n), by place of the short arc and by distance from the anchor."""
        n = self.n
        q = self.beta // self.p
        place = np.arange(1, q + 1)
        free_from = np.zeros((len(ring), q), dtype=np.int16)  # first distance that no taken arc covers
        count = np.zeros((len(ring), q), dtype=np.int16)
        used = np.zeros((len(ring), q, n), dtype=np.int8)
        for x in range(n):
            message = np.where(count == place, 2, 1).astype(np.int8)
            end = x + np.where(message == 2, self.r, self.p)
            take = (ring[:, x, None] >= message) & (free_from <= x) & (end <= n) & (count <= q)
            free_from = np.where(take, end, free_from)
            count += take
            used[:, :, x] = take * message
        return used


def _arc(n: int, s: int, beta: int) -> int:
    """Length p = s + beta - n + 1 of each worker's arc."""
    require(0 <= s < n, f"cyclic partial recovery needs 0 <= s < n, got n={n}, s={s}")
    instead = "; for beta <= n - s the uncoded scheme suffices (Lemma 2)" if beta < n - s else ""
    require(
        n - s <= beta <= n,
        f"cyclic partial recovery needs n - s <= beta <= n, got n={n}, s={s}, beta={beta}{instead}",
    )
    return s + beta - n + 1


def _plain_sums(n: int, length: int) -> np.ndarray:
    """0/1 rows (n, n): row w is one on w, ..., w+length-1 (mod n)."""
    rows = np.zeros((n, n))
    rows[np.arange(n)[:, None], arcs(n, length)] = 1
    return rows
