r"""How bad s stragglers can be: exact worst cases, an adversary where they are out of reach, random straggler sets.

All errors are normalised squared errors with optimal decoding, e(F) = (1/k) min_w ||w B_F - 1||^2, for codes that
send one message per worker. With the Gram matrix G = B B^T and h = B 1: e(F) = 1 - (1/k) h_F^T G_F^+ h_F.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.composite import Kronecker
from gcexp.errors import require
from gcexp.seeding import rng
from gcexp.theory.errors import spectral_bound

MAX_SETS = 200_000  # straggler sets that are enumerated
_CUT = 1e-10  # eigenvalues of G_F below this times the largest are zero
_BATCH = 20_000
_NUMBERS = 2**22  # entries of the Gram matrices that are held at once


def matrix(code: Code) -> np.ndarray:
    """Encoding (n, k) in worker order.

    Raises
    ------
    ParameterError
        Unless each worker sends one message of full length.
    """
    require(
        code.blocks == 1 and bool((code.messages == 1).all()),
        f"errors of straggler sets are for codes with one block and one message per worker, got {code!r}",
    )
    return code.encoding.toarray()[np.argsort(code.owner)]


def _inverses(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse nonzero eigenvalues (..., m), 0 for the others, and eigenvectors of Gram matrices."""
    values, vectors = np.linalg.eigh(G)
    large = values > _CUT * values[..., -1:]
    return np.where(large, 1 / np.where(large, values, 1), 0), vectors


def set_errors(code: Code, heard) -> np.ndarray:
    """Error of each survivor set, (U,), for heard (U, n); sets may differ in size.

    Examples
    --------
    >>> from gcexp.codes.block_design import BlockDesign
    >>> set_errors(BlockDesign(n=7, design="pg-2-2"), [[1, 1, 1, 1, 1, 1, 0], [0] * 7]).round(5)
    array([0.03571, 1.     ])
    """
    B, heard = matrix(code), np.atleast_2d(heard) > 0
    G, h = np.real(B @ B.conj().T), np.real(B.sum(1))
    require(not np.iscomplexobj(B), "errors of straggler sets are for real codes")
    errors = np.ones(len(heard))
    sizes = heard.sum(1)
    for m in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == m)
        for part in np.array_split(rows, -(-len(rows) * m * m // _NUMBERS)):
            F = np.nonzero(heard[part])[1].reshape(-1, m)
            inverse, vectors = _inverses(G[F[:, :, None], F[:, None]])
            along = np.einsum("ui,uij->uj", h[F], vectors)
            errors[part] = 1 - (along**2 * inverse).sum(1) / code.k
    return errors.clip(0)


def all_sets(n: int, s: int) -> Iterator[np.ndarray]:
    """Who is heard for every set of s stragglers, in batches (U, n)."""
    stragglers = combinations(range(n), s)
    while batch := list(islice(stragglers, _BATCH)):
        heard = np.ones((len(batch), n), dtype=bool)
        heard[np.arange(len(batch))[:, None], np.array(batch, dtype=int).reshape(len(batch), s)] = False
        yield heard


def random_sets(n: int, s: int, trials: int = 2000, seed: int = 0) -> np.ndarray:
    """Who is heard for random sets of s stragglers, (trials, n): one list for all codes with n workers."""
    heard = np.tile(np.arange(n) >= s, (trials, 1))
    return rng(seed, "monte_carlo", n, s).permuted(heard, axis=1)


def exact_worst(code: Code, s: int, max_sets: int = MAX_SETS) -> float:
    """Worst error over all straggler sets, by enumeration.

    Raises
    ------
    ParameterError
        Unless 0 <= s <= n and C(n, s) <= max_sets.

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> round(exact_worst(FractionalRepetition(n=6, d=2), 3), 12)
    0.333333333333
    """
    require(0 <= s <= code.n, f"stragglers are 0 <= s <= n, got n={code.n}, s={s}")
    count = comb(code.n, s)
    require(
        count <= max_sets, f"C({code.n}, {s}) = {count} straggler sets, at most {max_sets} are enumerated"
    )
    return max(float(set_errors(code, heard).max()) for heard in all_sets(code.n, s))


def deletion_rise(code: Code, heard) -> np.ndarray:
    r"""By how much k e rises when one more survivor is lost, (n,); 0 for workers that are not heard.

    With w = G_F^+ h_F: w_j^2 / (G_F^+)_jj where the message of j is independent of the others, that is where
    (G_F^+ G_F)_jj = 1, else 0.

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> deletion_rise(FractionalRepetition(n=4, d=2), [1, 1, 1, 0]).round(9)
    array([0., 0., 2., 0.])
    """
    B, heard = matrix(code), np.asarray(heard) > 0
    F, rise = np.flatnonzero(heard), np.zeros(code.n)
    if len(F):
        G = B[F] @ B[F].T
        inverse, vectors = _inverses(G)
        pseudo = (vectors * inverse) @ vectors.T
        alone = np.abs(np.einsum("ij,ji->i", pseudo, G) - 1) < 1e-9
        w = pseudo @ B[F].sum(1)
        rise[F[alone]] = w[alone] ** 2 / np.diag(pseudo)[alone]
    return rise


def greedy(code: Code, s: int, random: np.random.Generator, start=None) -> np.ndarray:
    """Survivors (n,) after deleting, one by one, the worker whose loss hurts most; random ties.

    Where no single loss hurts (copies), all holders of a partition with few enough survivors go at once.
    """
    heard = np.ones(code.n, dtype=bool) if start is None else np.array(start, dtype=bool)
    assignment = code.assignment
    while (left := int(heard.sum()) - (code.n - s)) > 0:
        rise = np.where(heard, deletion_rise(code, heard), -1)
        holders = assignment[heard].sum(0)
        fewest = holders[holders > 0].min(initial=code.n)
        if rise.max() < 1e-9 and fewest <= left:
            partition = random.choice(np.flatnonzero(holders == fewest))
            heard &= ~assignment[:, partition]
        else:
            heard[random.choice(np.flatnonzero(rise >= rise.max() - 1e-9))] = False
    return heard


def product_sets(n1: int, n2: int, s: int) -> Iterator[np.ndarray]:
    """Survivors F1 x F2 of a product code, one for each pair of sizes, and n - s survivors at most fit into it.

    The last ones of F1 x F2 are dropped until n - s are left: by Theorem 6 the error is no smaller.
    """
    for m1, m2 in ((m1, -(-(n1 * n2 - s) // m1)) for m1 in range(1, n1 + 1)):
        if 1 <= m2 <= n2:
            heard = np.zeros((n1, n2), dtype=bool)
            heard[:m1, :m2] = True
            extra = np.flatnonzero(heard)[n1 * n2 - s :]
            heard.flat[extra] = False
            yield heard.ravel()


def adversary(
    code: Code, s: int, restarts: int = 3, swaps: int = 200, seed: int = 0, starts: Iterable | None = None
) -> tuple[float, np.ndarray]:
    """A bad straggler set: greedy deletion, then swaps of one straggler for the survivor whose loss hurts most.

    Starting points: nothing lost (`restarts` times, random ties), the holders of each partition, product sets for a
    product code, and `starts`. The problem is NP-hard: the error found is a lower bound on the worst.

    Parameters
    ----------
    code : Code
    s : int
        Stragglers.
    restarts, swaps : int
        Greedy runs from nothing, and swaps tried on the best set of each kind of start.
    starts : iterable of array_like (n,), optional
        More survivor sets with at least n - s workers.

    Returns
    -------
    (float, ndarray (n,))
        Error and survivors.

    References
    ----------
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017 (hardness).

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> adversary(FractionalRepetition(n=12, d=3), 3)[0].__round__(9)
    0.25
    """
    random = rng(seed, "monte_carlo", code.n, s, 1)
    assignment = code.assignment
    holders = np.unique(assignment.T, axis=0)
    kinds = [
        [greedy(code, s, random) for _ in range(restarts)],
        [greedy(code, s, random, ~held) for held in holders if held.sum() <= s],
        list(product_sets(code.a.n, code.b.n, s)) if isinstance(code, Kronecker) else [],
        [greedy(code, s, random, start) for start in starts or ()],
    ]
    best = (-1.0, np.zeros(code.n, dtype=bool))
    for sets in kinds:
        if sets:
            errors = set_errors(code, sets)
            found = _swapped(code, sets[int(errors.argmax())], float(errors.max()), swaps, random)
            best = max(best, found, key=lambda pair: pair[0])
    return best


def _swapped(code, heard, error: float, swaps: int, random) -> tuple[float, np.ndarray]:
    """Bring one straggler back and lose the worker whose loss hurts most, as long as that makes it worse."""
    tried = 0
    improved = True
    while improved and tried < swaps:
        improved = False
        for back in random.permutation(np.flatnonzero(~heard)):
            tried += 1
            more = heard.copy()
            more[back] = True
            rise = np.where(more, deletion_rise(code, more), -1)
            value = float(set_errors(code, more)[0] + rise.max() / code.k)
            if value > error + 1e-9:
                more[int(rise.argmax())] = False
                heard, error, improved = more, value, True
                break
            if tried >= swaps:
                break
    return float(set_errors(code, heard)[0]), heard


@dataclass(frozen=True)
class WorstCase:
    """What is known of a worst case: it lies between `lower` and `upper`, equal where it is exact."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the two ends meet."""
        return self.lower == self.upper


def worst_case(code: Code, s: int, max_sets: int = MAX_SETS, trials: int = 200, seed: int = 0) -> WorstCase:
    """Worst error over all straggler sets: exact by enumeration, else from below and from above.

    Below: the worst of random sets and of the adversary. Above: the spectral bound where all loads and all
    redundancies are equal, else 1. (The tight form of Lemma 10 may be smaller for a product of designs:
    `gcexp.theory.errors.product_upper_bound`.)

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> worst = worst_case(FractionalRepetition(n=12, d=3), 4, max_sets=100)
    >>> round(worst.lower, 9), round(worst.upper, 9), worst.exact
    (0.25, 0.333333333, False)
    """
    if comb(code.n, s) <= max_sets:
        worst = exact_worst(code, s, max_sets)
        return WorstCase(worst, worst)
    lower = max(
        float(set_errors(code, random_sets(code.n, s, trials, seed)).max()), adversary(code, s, seed=seed)[0]
    )
    B = matrix(code)
    upper = 1.0
    binary = bool(np.isin(B, (0, 1)).all())
    if binary and len(set(B.sum(0))) == 1 and len(set(B.sum(1))) == 1:
        sigma = np.append(np.linalg.svd(B, compute_uv=False), 0)[1]  # one partition: there is no second
        upper = float(spectral_bound(code.n, code.k, B.sum(0)[0], sigma**2, s))
    return WorstCase(lower, max(lower, upper))
