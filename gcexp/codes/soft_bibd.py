r"""Soft BIBD: random matrices that have the load and the intersections of a block design in expectation.

Rows (partitions) are drawn independently; a row's weight W (how many workers hold the partition) is drawn from a law
Q on 0, ..., n, then W workers uniformly. A partition is on a given worker with probability rho = E W / n = l/k, and on
a given pair with probability mu = E W(W-1) / (n(n-1)) = lambda/k. Averaging any law on {0,1}^n with these moments over
all permutations of the workers gives such a Q, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import ceil, comb, floor

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import require, require_known
from gcexp.schema import checked
from gcexp.seeding import rng
from gcexp.theory.errors import soft_smallest_mu

DECODERS = ("constant", "optimal")
SELECT = ("best_random", "best_worst", "first")
RESCALE = ("none", "unit_mean")
MOST_SETS = 2000  # straggler sets on which realisations are compared: all, or so many random ones
_EDGE = 1e-12  # mu this close to an end of its interval is that end


def weight_law(n: int, rho: float, mu: float) -> np.ndarray:
    r"""Law of the row weight, (n + 1,), with density rho and pair density mu (Sakorikar and Wang, equations (18)-(20)).

    At the smallest mu the two weights next to n rho. Above it, of all laws, the one with the fewest empty rows (a
    partition nobody holds is lost for sure), among these the one with the smallest E (W - n rho)^4, among these the one
    with the fewest rows below the mean: this choice among the laws is this library's.

    P(W = 0) is at least 1 - E W + E W(W-1) / n, because (W-1)(n-W) >= 0 for all W >= 1; where that is positive, the
    weights are 0, 1 and n. Else some three weights a < b < c carry a best law, and a parabola touches (w - n rho)^4
    there from below: their difference (w-a)(w-b)(w-c)(w-e), e = 4 n rho - a - b - c, is negative on no weight from 1 to
    n. So two of a, b, c are neighbours, and no weight of 1, ..., n lies between e and the third: few candidates for
    every pair, each law in closed form, P(W = a) = E (W-b)(W-c) / ((a-b)(a-c)).
    """
    low = float(soft_smallest_mu(n, rho))
    require(
        low - _EDGE <= mu <= rho + _EDGE,
        f"for n={n} and density {rho:g} a Soft BIBD needs {low:.6g} <= mu <= {rho:.6g}, got mu={mu:.6g}",
    )
    if mu <= low + _EDGE:
        law = np.zeros(n + 1)
        t = min(floor(n * rho), n - 1)
        law[t], law[t + 1] = 1 - (n * rho - t), n * rho - t
        return law
    return _fewest_empty(n, float(n * rho), float(n * (n - 1) * min(mu, rho)))


def _fewest_empty(n: int, first: float, second: float) -> np.ndarray:
    """Law with E W = first and E W(W-1) = second, as `weight_law` chooses it, off the lower edge."""
    if 1 - first + second / n > -_EDGE or n == 2:
        law = _law_on(n, (0, 1, n), first, second)
        assert law is not None, "its probability of an empty row is not negative"
        return law
    laws = []
    for support in _supports(n, first):
        law = _law_on(n, support, first, second)
        if law is not None:
            laws.append(law)
    fourth_power = (np.arange(n + 1) - first) ** 4
    fourth_moments = [law @ fourth_power for law in laws]
    most = min(fourth_moments) * (1 + 1e-9)
    best_laws = [law for law, moment in zip(laws, fourth_moments, strict=True) if moment <= most]
    return min(best_laws, key=lambda law: law[: ceil(first)].sum())


def _supports(n: int, mean: float) -> Iterator[tuple[int, int, int]]:
    """Weights 1 <= a < b < c <= n whose parabola may stay below (w - mean)^4 on all weights."""
    for a in range(1, n):
        high = floor(2 * mean - a)
        for c in {high - 1, high, high + 1, n}:
            if a + 1 < c <= n:
                yield a, a + 1, c
    for c in range(2, n):
        low = floor(2 * mean - c)
        for a in {low - 1, low, low + 1, 1}:
            if 1 <= a < c:
                yield a, c, c + 1


def _law_on(n: int, support: tuple[int, int, int], first: float, second: float) -> np.ndarray | None:
    """The law on three weights with the two moments; None where one of its probabilities were negative."""
    probabilities = []
    for a in support:
        b, c = (w for w in support if w != a)
        probabilities.append((second + first - (b + c) * first + b * c) / ((a - b) * (a - c)))
    if min(probabilities) < -_EDGE * max(1, n * n / 1000):  # what rounding of n^2 mu may leave
        return None
    law = np.zeros(n + 1)
    law[list(support)] = probabilities
    return law.clip(0) / law.clip(0).sum()


def sample(law: np.ndarray, k: int, random: np.random.Generator) -> np.ndarray:
    """K independent rows: a weight by `law`, then that many workers, uniformly; (k, n) 0/1."""
    n = len(law) - 1
    weight = random.choice(n + 1, size=k, p=law)
    place = np.argsort(np.argsort(random.random((k, n)), axis=1), axis=1)
    return (place < weight[:, None]).astype(int)


class SoftBIBD(Code):
    r"""Plain sums of partitions on random workers: a block design in expectation, for almost any parameters.

    Partition i is on W workers, W by `weight_law` with rho = l/k, mu = lambda/k, the workers uniform. For any *fixed*
    set of m survivors the mean error, over the draws of the code, is at most that of a design with the same l and
    lambda, 1 - l^2 m / (k (l + lambda (m-1))) (Theorem 2), with equality for the constant weights
    l / (l + lambda (m-1)). That says nothing about the worst set of one draw, which usually is worse than a design's.
    Loads are random, sum_i Binomial(1, l/k); a worker without a partition stays, and sends zero.

    Parameters
    ----------
    n, k : int
        Workers and partitions.
    d : float
        Mean load, the paper's l; not necessarily an integer.
    intersection : float, optional
        Mean number lambda of partitions that two workers share; default: the smallest, ``k soft_smallest_mu(n, l/k)``.
        That is the best for its density, and where a design's own parameters lie.
    decoder : {"optimal", "constant"}
        Smallest ||c - 1||, or the weights l / (l + lambda (m-1)) on all m survivors.
    rescale : {"none", "unit_mean"}
        ``unit_mean`` divides the weights so that the mean of c is 1, where it is not 0: no longer the smallest
        ||c - 1|| (promise: linear), but partitions that nobody sent do not shorten the step.
    select : {"first", "best_random", "best_worst"}
        The first realisation, or of `realisations` draws the one whose error at s stragglers has the smallest mean,
        or the smallest maximum, over all straggler sets (over `MOST_SETS` random ones where there are more).
    realisations : int
        Draws of which one is kept; 1 unless select is one of the best.
    s : int, optional
        Stragglers for which realisations are compared.
    seed : int
        Seed of the assignment, one stream per realisation.

    Raises
    ------
    ParameterError
        Unless n >= 2, k >= 1, 0 < d <= k, and k soft_smallest_mu <= intersection <= d; for an unknown decoder,
        rescaling or selection; if realisations or s do not go with select.

    References
    ----------
    Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231, section on Soft BIBD and Theorem 2.

    Examples
    --------
    >>> code = SoftBIBD(n=16, k=16, d=6)
    >>> code.assignment.sum(0)
    array([6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6])
    >>> code.load
    array([7, 5, 5, 4, 5, 9, 6, 6, 7, 4, 6, 7, 5, 6, 5, 9])
    """

    formulas = {"k": "k", "messages": "1", "length": "1"}
    error_bound = (
        "mean error, at a fixed set of m survivors, at most 1 - d^2 m / (k (d + lambda (m - 1))); mean load d"
    )
    decoding = "optimal: the pseudoinverse, O(n^2 k); constant: equal weights, O(n)"
    limit = "none: singular values below 1e-10 of the largest count as 0"
    source = ("sakorikar2021",)
    redrawn = True
    examples = (
        {"n": 7, "k": 7, "d": 3},
        {"n": 6, "k": 9, "d": 3.5, "intersection": 1.6, "seed": 2},
        {"n": 5, "k": 4, "d": 1, "decoder": "constant"},
        {"n": 6, "k": 5, "d": 2, "rescale": "unit_mean"},
        {"n": 6, "k": 6, "d": 2.5, "select": "best_worst", "realisations": 4, "s": 2},
        {
            "n": 2,
            "k": 3,
            "d": 1.5,
            "intersection": 1.5,
            "select": "best_random",
            "realisations": 2,
            "s": 1,
        },
    )

    @checked
    def __init__(
        self,
        n: int,
        k: int,
        d: float,
        intersection: float | None = None,
        decoder: str = "optimal",
        rescale: str = "none",
        select: str = "first",
        realisations: int = 1,
        s: int | None = None,
        seed: int = 0,
    ):
        require(n >= 2 and k >= 1, f"Soft BIBD needs n >= 2 and k >= 1, got n={n}, k={k}")
        require(0 < d <= k, f"Soft BIBD needs 0 < d <= k, got d={d:g}, k={k}")
        least = k * float(soft_smallest_mu(n, d / k))
        shared = least if intersection is None else intersection
        require(
            least - k * _EDGE <= shared <= d + k * _EDGE,
            f"Soft BIBD with n={n}, k={k}, d={d} needs {least:.6g} <= intersection <= {d:.6g}, got {shared}",
        )
        require_known("decoder", decoder, DECODERS)
        require_known("rescale", rescale, RESCALE)
        require_known("select", select, SELECT)
        require(
            realisations == 1 if select == "first" else realisations >= 1 and s is not None,
            f"select=first takes realisations=1; select={select} needs realisations >= 1 and s, "
            f"got realisations={realisations}, s={s}",
        )
        require(s is None or 0 <= s < n, f"Soft BIBD needs 0 <= s < n, got n={n}, s={s}")
        law = weight_law(n, d / k, shared / k)
        assignments = [sample(law, k, rng(seed, "assignment", i)) for i in range(realisations)]
        best = 0
        if select != "first":
            assert s is not None, "required above"
            best = _best(assignments, _straggler_sets(n, s, seed), select)
        closest = decoder == "optimal" and rescale == "none"
        super().__init__(assignments[best].T, promise="least_squares" if closest else "linear")
        self.intersection = intersection
        self.decoder = decoder
        self.rescale = rescale
        self.select = select
        self.realisations = realisations
        self.s = s
        self.seed = seed
        self.d, self.shared = d, shared

    def weights(self, responses):
        if self.decoder == "optimal":
            weights = super().weights(responses)[:, 0]
        else:
            heard = responses > 0
            others = (heard.sum(1, keepdims=True) - 1).clip(0)
            weights = heard * (self.d / (self.d + self.shared * others))
        if self.rescale == "none":
            return weights
        mean = weights @ self.load / self.k  # of the coefficients: every entry of the encoding is 1
        return weights / np.where(mean > 1e-9, mean, 1)[:, None]


def _best(assignments: list[np.ndarray], responses: np.ndarray, select: str) -> int:
    """Number of the assignment (k, n) with the smallest mean or largest error over survivor sets (U, n)."""
    errors = np.array([Code(A.T, promise="least_squares").decode(responses).error for A in assignments])
    score = errors.mean(1) if select == "best_random" else errors.max(1)
    return int(np.argmin(score.round(9)))  # rounded: ties go to the first draw


def _straggler_sets(n: int, s: int, seed: int) -> np.ndarray:
    """Who is heard, (U, n): all sets of s stragglers, or many random ones, the same for every realisation."""
    responses = np.ones((min(comb(n, s), MOST_SETS), n), dtype=bool)
    if comb(n, s) <= MOST_SETS:
        for row, silent in zip(responses, combinations(range(n), s), strict=True):
            row[list(silent)] = False
        return responses
    responses[:, :s] = False
    return rng(seed, "monte_carlo").permuted(responses, axis=1)
