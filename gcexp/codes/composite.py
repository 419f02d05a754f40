"""Codes made of codes: side by side, and Kronecker products."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, Quorum
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.uncoded import Uncoded
from gcexp.errors import require
from gcexp.schema import checked


class DirectSum(Code):
    r"""Codes side by side: each part has workers and partitions of its own, and the gradient is the sum of the parts'.

    The encoding is block diagonal; workers, messages, partitions and quorums of a part follow those of the parts before
    it. k ||c - 1||^2 adds up over the parts, so decoding each part on its own is optimal where the parts' decoders are.

    Promise: an indicator if every part promises one (it holds where all parts' do, and recovers what they do
    together), the smallest ||c - 1|| if every part promises that or is exact, else only linearity.

    Parameters
    ----------
    parts : iterable of Code
        At least one; all with the same number of blocks.

    Raises
    ------
    ParameterError
        Without parts, or if their numbers of blocks differ.

    References
    ----------
    Sakorikar, Wang, arXiv 2105.05231, Lemma 8 (the error of a block-diagonal code). As clusters of workers:
    Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering, 2020.

    Examples
    --------
    >>> from gcexp.codes.block_design import BlockDesign
    >>> code = DirectSum([FractionalRepetition(n=4, d=2), BlockDesign(n=3, design="complete-3-2")])
    >>> code.n, code.k, code.promise, len(code.quorums)
    (7, 7, 'least_squares', 2)
    >>> code.decode([[1, 0, 0, 1, 1, 1, 0]]).coefficients.round(3)
    array([[1.   , 1.   , 1.   , 1.   , 1.333, 0.667, 0.667]])
    """

    decoding = "that of each part, on its own"
    limit = "that of the parts"
    instead = "parts that are accurate on their own"
    source: tuple[str, ...] = ("sakorikar2021", "buyukates2021")
    examples: tuple[dict, ...] = ({"parts": (Uncoded(2), FractionalRepetition(4, 2))},)

    @checked
    def __init__(self, parts: Iterable[Code]):
        self.parts = tuple(parts)
        require(bool(self.parts), "a direct sum needs at least one code")
        blocks = {part.blocks for part in self.parts}
        require(len(blocks) == 1, f"the parts of a direct sum need equal blocks, got {sorted(blocks)}")
        self._first = np.cumsum([0] + [part.n for part in self.parts])
        quorums = []
        for part, first in zip(self.parts, self._first, strict=False):
            quorums += [_moved(quorum, first) for quorum in part.quorums]
        super().__init__(
            sparse.block_diag([part.encoding for part in self.parts], format="csr"),
            np.concatenate([part.owner + w for part, w in zip(self.parts, self._first, strict=False)]),
            blocks=blocks.pop(),
            quorums=quorums,
            promise=_together(self.parts),
            recovers=sum(part.recovers for part in self.parts),
            n=int(self._first[-1]),
        )
        self.redrawn = any(part.redrawn for part in self.parts)

    def weights(self, responses):
        responses_of_parts = np.split(responses, self._first[1:-1], axis=1)
        weights = []
        for part, of_part in zip(self.parts, responses_of_parts, strict=True):
            weights_of_part = np.asarray(part.weights(of_part))
            weights.append(weights_of_part.reshape(len(responses), self.blocks, len(part.owner)))
        return np.concatenate(weights, axis=2)


class Kronecker(Code):
    r"""Product of two codes: worker (j1, j2) holds the partitions (i1, i2) with i1 on j1 and i2 on j2.

    The encoding is the Kronecker product of the factors'; worker (j1, j2) is number j1 n2 + j2, and partition
    (i1, i2) number i1 k2 + i2. Loads multiply, and so do the densities. Each factor sends one message per worker. More
    factors: ``Kronecker(Kronecker(a, b), c)``.

    Decoding comes closest to the gradient for every set of survivors:

    * Fractional repetition x a code whose decoder always is optimal (block designs, Soft BIBD), in either order: each
      group of the repetition decodes on its own, with one copy of each of the other code's workers that it heard. For a
      block design this is the closed form of Theorem 4: with m_b distinct workers in group b,
      e = (r1/n1) sum_b (the design's error with m_b survivors). The worst s stragglers kill floor(s / (r1 n2)) groups,
      then all r1 copies of as many workers as they can in one further group.
    * A product set of survivors F1 x F2 where both factors decode optimally: the products of their weights. The
      coefficients are c1 (x) c2 and the error is e1 + e2 - e1 e2 (Remark 2).
    * Else the pseudoinverse of the n x k encoding, about 1 ms for each set at n = k = 91.

    If both factors are exact and their quorums split them into independent parts (one quorum over all workers, or
    groups), the product is exact too and has quorums of its own: where the factors bear s1 and s2 stragglers, it bears
    (s1 + 1)(s2 + 1) - 1. Indeed let 1^T X 1 != 0 for a k1 x k2 matrix X. At least s1 + 1 rows z of B1 X have
    z . 1 != 0, since (B1 X) 1 = B1 (X 1), and for each of them B2 z has s2 + 1 nonzero entries. So fewer stragglers
    than (s1 + 1)(s2 + 1) hide no such X, and 1 is in the row span of what the others send. (FRC x FRC: Theorem 3.)

    Parameters
    ----------
    a, b : Code
        Factors.

    Raises
    ------
    ParameterError
        Unless each factor has one block and one message per worker.

    References
    ----------
    Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231, Theorems 3-7 and Remark 2.

    Examples
    --------
    >>> from gcexp.codes.block_design import BlockDesign
    >>> code = Kronecker(FractionalRepetition(n=4, d=2), BlockDesign(n=3, design="complete-3-2"))
    >>> code.n, code.k, code.promise
    (12, 12, 'least_squares')
    >>> code.decode([[1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0]]).error.round(5)
    array([0.16667])
    >>> Kronecker(FractionalRepetition(n=4, d=2), FractionalRepetition(n=3, d=3)).quorums[1]
    Quorum(workers=(6, 7, 8, 9, 10, 11), need=((1, 1),))
    """

    formulas = {"k": "a.k * b.k", "load": "max(a.load) * max(b.load)", "messages": "1"}
    error_bound = "exact where the factors are, for (s1 + 1)(s2 + 1) - 1 stragglers"
    decoding = (
        "products of the factors' weights on product sets, or group by group with FRC; else the "
        "pseudoinverse, O(n^2 k)"
    )
    limit = "that of the factors; the pseudoinverse takes 1 ms at n = k = 91"
    instead = "factors that are accurate on their own"
    source = ("sakorikar2021",)
    examples = ({"a": FractionalRepetition(4, 2), "b": Uncoded(2)},)

    @checked
    def __init__(self, a: Code, b: Code):
        for code in (a, b):
            require(
                code.blocks == 1 and bool((code.messages == 1).all()),
                f"a Kronecker product needs one block and one message per worker, got {code!r}",
            )
        self.a, self.b = a, b
        quorums = _product_quorums(a, b)
        super().__init__(
            sparse.kron(a.encoding, b.encoding, format="csr"),
            (a.owner[:, None] * b.n + b.owner).ravel(),
            quorums=quorums,
            promise="indicator" if quorums else "least_squares",
        )
        self.redrawn = a.redrawn or b.redrawn

    def weights(self, responses):
        heard = (responses > 0).reshape(-1, self.a.n, self.b.n)
        if isinstance(self.a, FractionalRepetition) and always_optimal(self.b):
            return _weights_by_group(self.a, self.b, heard).reshape(responses.shape)
        if isinstance(self.b, FractionalRepetition) and always_optimal(self.a):
            swapped = _weights_by_group(self.b, self.a, heard.swapaxes(1, 2))
            return swapped.swapaxes(1, 2).reshape(responses.shape)
        first = heard.any(2)
        second = heard.any(1)
        is_product = (heard == first[:, :, None] & second[:, None]).all((1, 2))
        is_closed = is_product & _optimal(self.a, first) & _optimal(self.b, second)
        weights = np.empty((len(responses), 1, len(self.owner)), dtype=self.encoding.dtype)
        weights[~is_closed] = super().weights(responses[~is_closed])
        u = _weights_of_factor(self.a, first[is_closed])
        v = _weights_of_factor(self.b, second[is_closed])
        weights[is_closed] = (u[:, :, None] * v[:, None]).reshape(-1, 1, len(self.owner))
        return weights


def _weights_of_factor(code: Code, heard: np.ndarray) -> np.ndarray:
    """Weights (U, n) of a factor, for boolean patterns (U, n)."""
    return np.asarray(code.weights(heard.astype(np.int64))).reshape(-1, code.n)


def _is_exact(code: Code) -> bool:
    """Whether the code promises the whole gradient."""
    return code.promise == "indicator" and code.recovers == code.k


def always_optimal(code: Code) -> bool:
    """Whether the decoder comes closest to the gradient whatever is heard, and messages stand in worker order."""
    promises_closest = code.promise == "least_squares" and not code.quorums
    in_worker_order = bool((np.diff(code.owner) == 1).all())
    return in_worker_order and (promises_closest or isinstance(code, FractionalRepetition))


def _optimal(code: Code, responses: np.ndarray) -> np.ndarray:
    """Where the code's own decoder is known to come closest to the gradient, boolean (U,)."""
    if always_optimal(code):
        return np.ones(len(responses), dtype=bool)
    return code.met(responses) & (_is_exact(code) or code.promise == "least_squares")


def _together(parts: tuple[Code, ...]) -> str:
    """The promise of a direct sum, from those of its parts."""
    if all(part.promise == "indicator" for part in parts):
        return "indicator"
    closest = all(part.promise == "least_squares" or _is_exact(part) for part in parts)
    return "least_squares" if closest else "linear"


def _splits(code: Code) -> bool:
    """Whether the code is exact and its quorums cut it into parts that share no worker and no partition."""
    if not (_is_exact(code) and code.quorums and all(len(q.need) == 1 for q in code.quorums)):
        return False
    workers = np.concatenate([quorum.workers for quorum in code.quorums])
    parts_with_partition = np.zeros(code.k, dtype=int)
    for quorum in code.quorums:
        parts_with_partition += code.assignment[list(quorum.workers)].any(0)
    return len(workers) == len(np.unique(workers)) and bool((parts_with_partition <= 1).all())


def _product_quorums(a: Code, b: Code) -> list[Quorum]:
    """Quorums of the product of two exact codes whose quorums split them; none for other codes."""
    if not (_splits(a) and _splits(b)):
        return []
    quorums = []
    for of_a, of_b in product(a.quorums, b.quorums):
        hiding = 1  # fewest stragglers that can hide what is not in the span
        for quorum in (of_a, of_b):
            hiding *= len(quorum.workers) - quorum.need[0][1] + 1
        workers = [v * b.n + w for v, w in product(of_a.workers, of_b.workers)]
        quorums.append(Quorum(workers, [(1, len(workers) - hiding + 1)]))
    return quorums


def _moved(quorum: Quorum, first: int) -> Quorum:
    """A quorum of a part, with the workers' numbers in the whole."""
    return Quorum([w + first for w in quorum.workers], quorum.need)


def _weights_by_group(frc: FractionalRepetition, code: Code, heard: np.ndarray) -> np.ndarray:
    """Weights (U, n1, n2) for fractional repetition x code: the first copy heard of each worker in each group."""
    groups = frc.n // frc.d
    by_group = heard.reshape(len(heard), groups, frc.d, code.n)
    first_copy = by_group & (np.cumsum(by_group, axis=2) == 1)
    weight = _weights_of_factor(code, by_group.any(2).reshape(-1, code.n))
    return (first_copy * weight.reshape(len(heard), groups, 1, code.n)).reshape(heard.shape)
