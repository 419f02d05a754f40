"""Codes whose partitions are sets of workers: every worker sends each gradient it holds on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, combinations_with_replacement, product
from math import comb, gcd

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, Quorum, number_among_equal
from gcexp.errors import require, require_known
from gcexp.schema import checked

#: Above this a dense row of decode weights is larger than 8 MB and thousands of patterns no longer fit.
MOST_MESSAGES = 10**6
_MOST_CASES = 10**7  # straggler sets times partitions that are enumerated for a worst case


class BlockAssignment(Code):
    r"""Any assignment of partitions to workers, uncoded: each worker sends each of its gradients separately.

    The master takes one copy of every partition that it hears. After s stragglers S the partitions with
    ``holders[j]`` inside S are invisible, all others are recovered.

    Parameters
    ----------
    holders : sequence of sequences of int
        Workers that hold each partition ("blocks" of a design).
    s : int
        Stragglers: the promise holds once n - s workers have sent everything.
    n : int, optional
        Workers; default: one more than the largest in `holders`.
    recovers : int, optional
        Partitions that are visible to any n - s workers; default: found by trying all straggler sets.

    Raises
    ------
    ParameterError
        Unless the holders of each partition are distinct workers 0, ..., n-1, every worker holds equally many
        partitions, and 0 <= s < n; or if there are too many straggler sets to try and `recovers` is not given.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, section IV
    (the assignments of Theorems 2, 4 and 10).

    Examples
    --------
    >>> code = BlockAssignment([(0, 1), (1, 2), (0, 2)], s=1)
    >>> code.messages, code.recovers
    (array([2, 2, 2]), 3)
    >>> BlockAssignment([(0, 1), (1, 2), (0, 2)], s=2).decode([[2, 0, 0]]).coefficients
    array([[1., 0., 1.]])
    """

    formulas = {
        "k": "len(holders)",
        "load": "sum(map(len, holders)) // n",
        "messages": "sum(map(len, holders)) // n",
        "length": "1",
    }
    decoding = "one copy of every partition; O(M), M messages"
    limit = "memory: at most 1e6 messages; 1e7 straggler sets times partitions where recovers is searched"
    source = ("sarmasarkar2021",)
    examples: tuple[dict, ...] = (
        {"holders": ((0, 1), (2, 3), (0, 2), (1, 3)), "s": 2},
        {"holders": ((0, 1, 2), (0,), (1,), (2,)), "s": 1, "n": 3, "recovers": 3},
    )

    @checked
    def __init__(
        self,
        holders: Sequence[Sequence[int]],
        s: int,
        n: int | None = None,
        recovers: int | None = None,
    ):
        holders = tuple(_as_block(block) for block in holders)
        sizes = np.array([len(block) for block in holders], dtype=np.intp)
        require(bool(len(sizes)) and bool(sizes.all()), "every partition needs at least one worker, got none")
        worker = np.concatenate(holders)
        n = int(worker.max()) + 1 if n is None else n
        require(0 <= s < n, f"a block assignment needs 0 <= s < n, got n={n}, s={s}")
        for block in holders:
            distinct = block[0] >= 0 and block[-1] < n and len(set(block)) == len(block)
            require(distinct, f"a block must be a set of workers 0 to n-1 = {n - 1}, got {block}")
        loads = np.bincount(worker, minlength=n)
        require(
            loads.min() == loads.max(),
            f"every worker must hold equally many partitions, got {loads.min()} to {loads.max()}",
        )
        _require_affordable(len(worker))
        order = np.argsort(worker, kind="stable")
        partition = np.repeat(np.arange(len(holders)), sizes)[order]
        if recovers is None:
            recovers = _worst_visible(holders, n, s)
        require(
            0 <= recovers <= len(holders),
            f"recovers must be a number of partitions up to k={len(holders)}, got {recovers}",
        )
        super().__init__(
            _singles(partition, len(holders)),
            owner=worker[order],
            quorums=[Quorum(range(n), [(loads[0], n - s)])],
            recovers=recovers,
            n=n,
        )
        self.holders, self.s = holders, s
        self._partition, self._copy = partition, number_among_equal(partition)

    def weights(self, responses):
        return one_copy(self.received(responses), self._partition, self._copy).astype(float)


class Combinatorial(BlockAssignment):
    r"""One partition for every set of y workers: the least computation load for partial recovery.

    The k = C(n,y) partitions are the y-subsets of the workers in lexicographic order, and each goes to the
    workers in it. Exactly the C(s,y) subsets of the stragglers are lost, so the recovered fraction is
    1 - C(s,y)/C(n,y) for every straggler set. Load y/n, C(n-1,y-1) messages per worker.

    Parameters
    ----------
    n, s : int
        Workers and stragglers.
    y : int
        Workers per partition; ``gcexp theory partial_recovery.minimal_y`` gives the smallest for a wanted
        fraction.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and 1 <= y <= n.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 2.

    Examples
    --------
    >>> code = Combinatorial(n=5, s=3, y=2)
    >>> code.k, code.messages, code.recovers
    (10, array([4, 4, 4, 4, 4]), 7)
    >>> code.decode([[4, 4, 0, 0, 0]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1., 0., 0., 0.]])
    """

    formulas = {
        "k": "comb(n, y)",
        "load": "comb(n - 1, y - 1)",
        "messages": "comb(n - 1, y - 1)",
        "length": "1",
    }
    limit = "memory: at most 1e6 messages"
    examples = ({"n": 5, "s": 3, "y": 2}, {"n": 6, "s": 2, "y": 3}, {"n": 4, "s": 1, "y": 4})

    @checked
    def __init__(self, n: int, s: int, y: int):
        require(1 <= y <= n, f"the combinatorial scheme needs 1 <= y <= n, got n={n}, y={y}")
        require(0 <= s < n, f"the combinatorial scheme needs 0 <= s < n, got n={n}, s={s}")
        _require_affordable(comb(n, y) * y)
        self.y = y
        super().__init__(combinations(range(n), y), s, n, recovers=comb(n, y) - comb(s, y))


def co_prime_classes(n: int, y: int) -> list[tuple[int, ...]]:
    """First class A_0 of the balanced choice: one y-subset with worker 0 of every orbit of the cyclic shift.

    The subsets that contain worker 0 are visited in lexicographic order and kept unless they are a cyclic shift of
    one already kept. The class A_i is A_0 shifted by i; for gcd(n, y) = 1 the classes partition all subsets.
    """
    require(1 <= y <= n, f"the co-prime scheme needs 1 <= y <= n, got n={n}, y={y}")
    require(gcd(n, y) == 1, f"the co-prime scheme needs gcd(n, y) = 1, got n={n}, y={y} with gcd {gcd(n, y)}")
    _require_affordable(comb(n, y) * y)
    shifts_of_class, first_class = set(), []
    for rest in combinations(range(1, n), y - 1):
        subset = (0, *rest)
        if subset not in shifts_of_class:
            first_class.append(subset)
            # Only shifts that contain worker 0 are visited again.
            for v in subset:
                shifts_of_class.add(_shifted(subset, -v, n))
    return first_class


class CoPrime(Code):
    r"""The combinatorial scheme with fewer messages: each worker sends the sum of its gradients, and most of them.

    Partitions as in `Combinatorial`. Every subset T has a chosen worker c(T) in T, each worker equally often
    (`co_prime_classes`: c(T) = i for T in A_i). Worker w sends the sum of all its gradients and then, separately, each
    of them whose chosen worker is not w: C(n-1,y-1) - C(n,y)/n + 1 messages.

    The sum messages of the survivors F hold g_T q_T times, q_T = |T and F|. If q_T >= 2, a survivor other than
    c(T) sent g_T on its own, and (q_T - 1) g_T is subtracted.

    Parameters
    ----------
    n, s : int
        Workers and stragglers.
    y : int
        Workers per partition, co-prime to n.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n, 1 <= y <= n and gcd(n, y) = 1.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 3
    and Appendix B.

    Examples
    --------
    >>> code = CoPrime(n=5, s=3, y=2)
    >>> code.messages, code.load
    (array([3, 3, 3, 3, 3]), array([4, 4, 4, 4, 4]))
    >>> code.decode([[3, 3, 0, 0, 0]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1., 0., 0., 0.]])
    """

    formulas = {
        "k": "comb(n, y)",
        "load": "comb(n - 1, y - 1)",
        "messages": "comb(n - 1, y - 1) - comb(n, y) // n + 1",
        "length": "1",
    }
    decoding = "the sum messages, corrected by one copy of every partition; O(n k + M)"
    limit = "memory: at most 1e6 messages"
    source = ("sarmasarkar2021",)
    examples = ({"n": 5, "s": 3, "y": 2}, {"n": 7, "s": 4, "y": 3}, {"n": 4, "s": 2, "y": 1})

    @checked
    def __init__(self, n: int, s: int, y: int):
        require(0 <= s < n, f"the co-prime scheme needs 0 <= s < n, got n={n}, s={s}")
        first_class = co_prime_classes(n, y)
        chosen_worker = {}
        for T, i in product(first_class, range(n)):
            chosen_worker[_shifted(T, i, n)] = i
        subsets = list(combinations(range(n), y))
        worker = np.concatenate(subsets)
        partition = np.repeat(np.arange(len(subsets)), y)
        is_chosen = worker == np.array([chosen_worker[T] for T in subsets])[partition]
        self._is_held = np.zeros((n, len(subsets)))
        self._is_held[worker, partition] = 1
        # What is sent on its own, worker by worker.
        single = np.flatnonzero(~is_chosen)
        single = single[np.argsort(worker[single], kind="stable")]
        self._partition = partition[single]
        self._copy = number_among_equal(self._partition)
        # Row w is the sum of worker w; the others follow. A stable sort by owner puts each sum first.
        owner = np.concatenate([np.arange(n), worker[single]])
        by_owner = np.argsort(owner, kind="stable")
        rows = sparse.vstack([sparse.csr_array(self._is_held), _singles(self._partition, len(subsets))])
        self._sum_row, self._single_row = np.split(np.argsort(by_owner), [n])
        m = comb(n - 1, y - 1) - comb(n, y) // n + 1
        super().__init__(
            sparse.csr_array(rows)[by_owner],
            owner=owner[by_owner],
            quorums=[Quorum(range(n), [(m, n - s)])],
            recovers=comb(n, y) - comb(s, y),
        )
        self.s, self.y = s, y

    def weights(self, responses):
        # Who sent only a part helps with single gradients, not with its sum.
        is_complete = responses == self.messages
        copies_in_sums = is_complete @ self._is_held
        single = one_copy(self.received(responses)[:, self._single_row], self._partition, self._copy)
        weights = np.zeros((len(responses), len(self.owner)))
        weights[:, self._sum_row] = is_complete
        weights[:, self._single_row] = single * (1 - copies_in_sums)[:, self._partition]
        return weights


def intermediate_holders(n: int, x: int, y: int) -> list[tuple[int, ...]]:
    r"""Holders of each partition of `Intermediate`: x blocks of consecutive workers, y workers in all.

    With g = gcd(x, y), x' = x/g, y' = y/g the block lengths are y_j = floor((j+1) y'/x') - floor(j y'/x') for
    j < x', repeated g times. A list (i_0, ..., i_{x-1}) of first workers in cyclic order leaves room for every
    block: i_{j+1} - i_j >= y_j and n - (i_{x-1} - i_0) >= y_{x-1}, modulo n. The lists are ordered by i_0 and then by
    their distances from it; the g rotations of a list by multiples of x' are one partition, at the first's place.
    """
    g = gcd(x, y)
    period = x // g
    total = y // g
    ends = [j * total // period for j in range(period + 1)]
    lengths = np.diff(ends).tolist() * g
    length_before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    # Distances from i_0, less the lengths of the blocks in between, are any weakly rising numbers up to n - y.
    offsets, blocks = [], []
    for gaps in combinations_with_replacement(range(n - y + 1), x - 1):
        begins = length_before + (0, *gaps)
        block: list[int] = []
        for begin, length in zip(begins.tolist(), lengths, strict=True):
            block += range(begin, begin + length)
        offsets.append(begins)
        blocks.append(block)
    seen: set[tuple[int, ...]] = set()
    holders = []
    for first in range(n):
        for offset, block in zip(offsets, blocks, strict=True):
            starts = tuple(((offset + first) % n).tolist())
            if starts not in seen:
                if g > 1:
                    seen |= {starts[r:] + starts[:r] for r in range(0, x, period)}
                holders.append(_shifted(block, first, n))
    return holders


class Intermediate(BlockAssignment):
    r"""Between the cyclic and the combinatorial scheme: a partition goes to y workers that form x runs.

    `intermediate_holders` states the assignment. With g = gcd(x, y) there are k = n C(n-y+x-1, x-1) / g partitions,
    y C(n-y+x-1, x-1) / g messages per worker, load y/n, and at most (x/g) C(s-y+x, x) partitions are lost, for
    consecutive stragglers. x = 1 is a cyclic assignment whose gradients are sent singly, x = y is `Combinatorial`
    (in another order).

    Parameters
    ----------
    n, s : int
        Workers and stragglers.
    x, y : int
        Runs of consecutive workers, and workers, of every partition.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and 1 <= x <= y <= n.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 10
    (any periodic block lengths give the same counts; these are an assumption of this library).

    Examples
    --------
    >>> code = Intermediate(n=5, s=3, x=2, y=3)
    >>> code.k, code.messages, code.recovers
    (15, array([9, 9, 9, 9, 9]), 13)
    """

    formulas = {
        "k": "n * comb(n - y + x - 1, x - 1) // gcd(x, y)",
        "load": "y * comb(n - y + x - 1, x - 1) // gcd(x, y)",
        "messages": "y * comb(n - y + x - 1, x - 1) // gcd(x, y)",
        "length": "1",
    }
    limit = "memory: at most 1e6 messages"
    examples = (
        {"n": 5, "s": 3, "x": 2, "y": 3},
        {"n": 6, "s": 4, "x": 2, "y": 4},
        {"n": 5, "s": 1, "x": 1, "y": 2},
    )

    @checked
    def __init__(self, n: int, s: int, x: int, y: int):
        require(1 <= x <= y <= n, f"the intermediate scheme needs 1 <= x <= y <= n, got n={n}, x={x}, y={y}")
        g = gcd(x, y)
        k = n * comb(n - y + x - 1, x - 1) // g
        _require_affordable(k * y)
        self.x, self.y = x, y
        recovers = k - x * comb(max(s - y + x, 0), x) // g
        super().__init__(intermediate_holders(n, x, y), s, n, recovers=recovers)


def hadamard_blocks(n: int) -> list[tuple[int, ...]]:
    """Blocks of the 3-(n, n/2, n/4 - 1) Hadamard design of Sylvester on n = 4, 8, 16, ... points, lexicographic.

    They are the affine hyperplanes of the binary space: the points x with parity of (a & x) equal to 0 or 1, a != 0.
    """
    require(n >= 4 and n & (n - 1) == 0, f"Sylvester's Hadamard design needs n = 4, 8, 16, ..., got n={n}")
    x = np.arange(n)
    parity = np.bitwise_count(x[1:, None] & x) % 2
    blocks = []
    for row, bit in product(parity, (0, 1)):
        blocks.append(tuple(np.flatnonzero(row == bit).tolist()))
    return sorted(blocks)


def _developed(n: int, *base: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All cyclic shifts modulo n of the base blocks."""
    return sorted({_shifted(block, i, n) for block, i in product(base, range(n))})


#: Designs by name: the Fano plane 2-(7,3,1), Hadamard designs 3-(8,4,1) and 3-(16,8,3), the Steiner quadruple
#: system 3-(10,4,1).
DESIGNS = {
    "fano": lambda: _developed(7, (0, 1, 3)),
    "hadamard_8": lambda: hadamard_blocks(8),
    "hadamard_16": lambda: hadamard_blocks(16),
    "quadruple_10": lambda: _developed(10, (0, 1, 3, 4), (0, 1, 2, 6), (0, 2, 4, 7)),
}


def design_index(blocks: Sequence[Sequence[int]], n: int, t: int) -> int:
    """Number lambda of blocks that contain each t-subset of the points 0, ..., n-1; refused where they differ.

    Examples
    --------
    >>> design_index(hadamard_blocks(8), 8, 3), design_index(hadamard_blocks(8), 8, 2)
    (1, 3)
    """
    sizes = {len(block) for block in blocks}
    require(len(sizes) == 1, f"all blocks of a design must have the same size, got sizes {sorted(sizes)}")
    size = sizes.pop()
    require(0 <= t <= size, f"a t-design needs 0 <= t <= block size, got t={t} and blocks of {size} points")
    covered: Counter[tuple[int, ...]] = Counter()
    for block in blocks:
        covered.update(combinations(sorted(block), t))
    counts = set(covered.values())
    if len(covered) < comb(n, t):
        counts.add(0)
    require(
        len(counts) == 1,
        f"a {t}-design has every {t}-subset of its {n} points in equally many blocks, "
        f"got {min(counts)} to {max(counts)}",
    )
    return counts.pop()


class TDesign(BlockAssignment):
    r"""Partitions are the blocks of a t-(n, kappa, lambda) design, workers its points.

    Any i <= t workers miss equally many blocks (the complement is a t-design too). So for n - s <= t survivors the
    recovered fraction is 1 - C(s,kappa)/C(n,kappa) for every straggler set, the most that load kappa/n allows, with
    far fewer messages than `Combinatorial`. For n - s > t the guarantee is the worst case over all straggler sets.

    Parameters
    ----------
    design : str or sequence of sequences of int
        A name in `DESIGNS` ("fano", "hadamard_8", "hadamard_16", "quadruple_10") or the blocks, as sets of the points
        0, ..., n-1.
    t : int
        Every t-subset of the points lies in equally many blocks (lambda): verified.
    s : int
        Stragglers.

    Raises
    ------
    ParameterError
        If the name is unknown, the blocks are no t-design, t < 1, or not 0 <= s < n.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, Theorem 4 and
    Example 2 (the 3-(8,4,1) Hadamard design).

    Examples
    --------
    >>> code = TDesign("hadamard_8", t=3, s=5)
    >>> code.k, code.messages[0], code.recovers
    (14, np.int64(7), 13)
    """

    formulas = {"length": "1"}
    limit = "designs exist for some n only; 1e7 straggler sets times partitions where n - s > t"
    examples = (
        {"design": "hadamard_8", "t": 3, "s": 5},
        {"design": "fano", "t": 2, "s": 3},
        {"design": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)), "t": 2, "s": 2},
    )

    @checked
    def __init__(self, design: str | Sequence[Sequence[int]], t: int, s: int):
        if isinstance(design, str):
            require_known("design", design, DESIGNS)
            blocks = DESIGNS[design]()
        else:
            blocks = design = tuple(tuple(block) for block in design)
        require(bool(blocks) and all(blocks), "a design needs at least one block, and a point in each")
        require(t >= 1, f"a t-design needs t >= 1 for workers to hold equally many blocks, got t={t}")
        n = max(map(max, blocks)) + 1
        size = len(blocks[0])
        self.design, self.t = design, t
        self.index = design_index(blocks, n, t)
        recovers = None
        if n - s <= t:  # all sets of survivors see equally many
            recovers = len(blocks) - len(blocks) * comb(s, size) // comb(n, size)
        super().__init__(blocks, s, n, recovers)


def one_copy(received: np.ndarray, partition: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """The first received message of each partition, boolean (U, M).

    Message m has the gradient of partition ``partition[m]`` and is number ``copy[m]`` of those that have it.
    """
    received = np.ascontiguousarray(received.T)  # a message's patterns side by side: four times faster
    messages, patterns = received.shape
    is_first = np.zeros((messages, patterns), dtype=bool)
    has_partition = np.zeros((int(partition.max(initial=-1)) + 1, patterns), dtype=bool)
    for c in range(int(copy.max(initial=-1)) + 1):
        rows = np.flatnonzero(copy == c)
        is_first[rows] = received[rows] & ~has_partition[partition[rows]]
        has_partition[partition[rows]] |= received[rows]
    return is_first.T


def _singles(partition: np.ndarray, k: int) -> sparse.csr_array:
    """Row r is one at ``partition[r]``."""
    M = len(partition)
    return sparse.csr_array((np.ones(M), partition, np.arange(M + 1)), shape=(M, k))


def _require_affordable(messages: int) -> None:
    """Refuse an assignment with too many messages."""
    require(
        messages <= MOST_MESSAGES,
        f"the assignment has {messages} messages, more than {MOST_MESSAGES}: the decode weights of "
        "thousands of patterns do not fit into memory; take a smaller n, or y nearer to 1 or n",
    )


def _worst_visible(holders: Sequence[Sequence[int]], n: int, s: int) -> int:
    """Fewest partitions that n - s workers see, by all straggler sets."""
    cases = comb(n, s) * len(holders)
    require(
        cases <= _MOST_CASES and n <= 63,
        f"n={n}, s={s} has too many straggler sets to find the worst case of {len(holders)} blocks; pass recovers=",
    )
    block = np.array([_as_bits(workers) for workers in holders])
    sets = map(_as_bits, combinations(range(n), s))
    responses = ~np.fromiter(sets, dtype=np.int64, count=comb(n, s))
    fewest = len(holders)
    for part in np.array_split(responses, 1 + cases // 10**6):
        visible = np.count_nonzero(block & part[:, None], axis=1)
        fewest = min(fewest, int(visible.min()))
    return fewest


def _as_block(workers: Iterable[int]) -> tuple[int, ...]:
    """Some workers as a tuple of rising numbers."""
    return tuple(int(w) for w in sorted(workers))


def _shifted(workers: Iterable[int], by: int, n: int) -> tuple[int, ...]:
    """Some of n workers on a ring, moved on by some places, as a block."""
    return _as_block((w + by) % n for w in workers)


def _as_bits(workers: Iterable[int]) -> int:
    """A set of workers as a number with bit w for worker w."""
    return sum(1 << w for w in workers)
