"""The proof of Theorem 2 in the appendix, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from gcexp.analysis.claims import all_instances, because, claim
from gcexp.codes.adaptive import decode_rows, random_matrix
from gcexp.seeding import rng

from .. import theory
from .instances import DRAWS, divisible, signals_needed


def _last_rows(*sizes: int) -> Iterator[tuple[int, int, int, int, list[int]]]:
    """n, d = 2, 3, 4, L <= 12 and s < d, with how many rows of the decoding matrix are of each round."""
    for n, d, L in product(sizes, (2, 3, 4), range(1, 13)):
        for s in range(d):
            yield n, d, L, s, np.bincount(decode_rows(n, d, L, tuple(range(s))) // n).tolist()


@claim(
    "app_last_block",
    reason="The number of workers is n - s + L - r_s (d-s), with the other sign, as the limit after (106) has it; both "
    "agree where d - s divides L.",
)
def workers_in_the_last_block():
    """The last block has n - s - L + r_s (d-s) rows: n = 6, 9, 12, d = 2, 3, 4, L <= 12, every s."""
    for n, d, L, s, rows in _last_rows(6, 9, 12):
        yield rows[-1] == n - s - L + theory.rounds(L, d, s) * (d - s)


@claim("app_y_limit")
def shape_of_the_last_block():
    """Rows over columns of the last block are within 1 % of 1 / r_s at n = 5000: d = 2, 3, 4, L <= 12, every s."""
    for *_, rows in _last_rows(5000):
        yield abs(rows[-1] / sum(rows) * len(rows) - 1) < 0.01


@claim("app_uc_ur")
def blocks_are_not_taller_than_wide():
    """Every block has at least as many columns as rows: n = 6, 9, 12, d = 2, 3, 4, L <= 12, every s."""
    for n, d, L, _, rows in _last_rows(6, 9, 12):
        yield from (L + (r + 1) * (n - d) >= size for r, size in enumerate(rows))


def _staircases() -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """90 drawn decoding matrices at a time of two rounds or more, and their blocks.

    They are standard normal to the left of the stairs.
    """
    generator = rng(0, "assignment", 5)
    for n, d, L, s in ((8, 3, 6, 0), (8, 3, 6, 1), (8, 3, 6, 2), (8, 2, 2, 1), (10, 3, 6, 2)):
        received = (np.arange(L)[:, None] * n + np.arange(s, n)).ravel()
        rows = received[: signals_needed(n, d, L, s)]
        filled = L + (rows // n + 1) * (n - d)
        rounds = rows.max() // n + 1
        left_of_stairs = np.arange(len(rows)) < filled[:, None]
        A = generator.standard_normal((90, len(rows), len(rows))) * left_of_stairs
        yield A, [A[:, rows // n == r] for r in range(rounds)]


@claim("app_lmax_101", "app_lmin_102")
def eigenvalues_of_the_gram_matrix():
    """(101) holds, and (102) bounds the smallest eigenvalue by 0, as the last block's Gram matrix is singular."""
    for A, blocks in _staircases():
        singular = np.linalg.svd(A, compute_uv=False)
        largest = singular[:, 0] ** 2
        smallest = singular[:, -1] ** 2
        of_last_block = np.linalg.eigvalsh(blocks[-1].swapaxes(1, 2) @ blocks[-1])
        lowest = of_last_block[:, 0]
        highest = of_last_block[:, -1]
        of_blocks = np.array([np.linalg.norm(block, 2, axis=(1, 2)) ** 2 for block in blocks])
        for holds in (of_blocks.max(0) * (1 - 1e-12) <= largest) & (
            largest <= of_blocks.sum(0) * (1 + 1e-12)
        ):
            yield "app_lmax_101", holds
        for holds in (singular[:, -1] > 0) & (smallest >= lowest - 1e-9):
            yield "app_lmin_102", holds
        for holds in np.abs(lowest) <= 1e-9 * highest:
            yield "app_lmin_102", holds


@claim("app_markov_103")
def probability_of_a_condition_number():
    """The bound (103) holds for 100 drawn decoding matrices with r_s = 1: n = 6, 10, 20, d = 2, 3, every s, six x."""
    for n, (d, s) in product((6, 10, 20), ((2, 0), (2, 1), (3, 0), (3, 1), (3, 2))):
        rows = decode_rows(n, d, 1, tuple(range(s)))
        drawn = []
        for t in range(100):
            E = random_matrix(n, d, 1, rng(t, "assignment", n, d, 1, s))
            drawn.append(E[rows, : len(rows)])
        eigenvalues = np.linalg.svd(drawn, compute_uv=False) ** 2
        largest = eigenvalues[:, 0]
        smallest = eigenvalues[:, -1]
        for x in (1.5, 5, 20, 100, 1000, 1e5):
            expected = (np.log(largest.mean()) - np.log(smallest).mean()) / (2 * np.log(x))
            yield np.mean(largest / smallest <= x**2) >= 1 - expected - 1e-12


# --- Lemmas 1 and 2, (105) to (108) ----------------------------------------------------------------------------

_SHIFT = -1.2065  # mean of the scaled largest eigenvalue


def _gaussian(u: int, *more: int) -> Iterator[np.ndarray]:
    return (rng(t, "monte_carlo", u, *more).standard_normal((u, 2 * u)) for t in range(DRAWS))


def _mu(u_r: int, u_c: int) -> float:
    return (np.sqrt(u_r - 0.5) + np.sqrt(u_c - 0.5)) ** 2


def _sigma(u_r: int, u_c: int) -> float:
    return np.sqrt(_mu(u_r, u_c)) * (1 / np.sqrt(u_r - 0.5) + 1 / np.sqrt(u_c - 0.5)) ** (1 / 3)


def _mean_largest(u: int) -> float:
    """Mean largest eigenvalue of drawn Gaussian u x 2u matrices times their transposes."""
    return float(np.mean([np.linalg.norm(drawn, 2) ** 2 for drawn in _gaussian(u, 1)]))


@claim("app_lemma1")
def lemma_1():
    """The mean of log lambda_min of Gaussian u x 2u matrices is log(2u) + log(1 - sqrt(1/2))^2 to 0.2: u = 100, 200."""
    for u in (100, 200):
        found = []
        for drawn in _gaussian(u):
            smallest = np.linalg.svd(drawn, compute_uv=False)[-1]
            found.append(2 * np.log(smallest))
        stated = np.log(2 * u) + 2 * np.log(1 - np.sqrt(0.5))
        yield abs(np.mean(found) - stated) < 0.2


@claim("app_lemma2")
def lemma_2():
    """The mean largest eigenvalue of drawn u x 2u matrices is sigma x (-1.2065) + mu to 5 %: u = 50 and 100."""
    for u in (50, 100):
        yield abs(_mean_largest(u) / (_sigma(u, 2 * u) * _SHIFT + _mu(u, 2 * u)) - 1) < 0.05


@claim("app_gamma_numbers")
def numbers_of_lemma_2():
    """46.446 x 0.186054 is 8.6415, and 8.6415 - 9.848 is -1.2065."""
    yield abs(46.446 * 0.186054 - 8.6415) < 1e-4
    yield abs(46.446 * 0.186054 - 9.848 - _SHIFT) < 1e-4


@claim("app_sigma_105")
def equality_105():
    """Sigma equals mu^(1/3): matrices of 20 x 40, 50 x 50 and 100 x 300."""
    equal = []
    for a, b in ((20, 40), (50, 50), (100, 300)):
        equal.append(abs(_sigma(a, b) - _mu(a, b) ** (1 / 3)) < 1e-6)
    reason = (
        f"The two sides grow alike but are not equal: for 20 x 40 they are {_sigma(20, 40):.2f} and "
        f"{_mu(20, 40) ** (1 / 3):.2f}."
    )
    return because(all_instances(equal), reason)


@claim(
    "app_mean_106c",
    reason="By Lemma 2 the mean is sigma times that of the scaled variable, plus mu. With the factor sigma on mu of "
    "(106)(c) it is several times as large.",
)
def mean_106c():
    """The mean largest eigenvalue of drawn u x 2u matrices is sigma (mu - 1.2065) to 20 %: u = 50 and 100."""
    for u in (50, 100):
        yield abs(_mean_largest(u) / (_sigma(u, 2 * u) * (_SHIFT + _mu(u, 2 * u))) - 1) < 0.2


@claim("app_final_108")
def algebra_of_108():
    """From Lemma 1, (105) and (106)(c) the bound (108) on the ratio of the two means follows for every r_s >= 2."""
    for n, (d, L, s) in product((20, 200, 2000, 20_000, 200_000, 2_000_000), divisible(range(2, 5))):
        r = theory.rounds(L, d, s)
        if r >= 2:
            total = 0.0
            for i in range(1, r + 1):
                columns = L + i * (n - d)
                mean = _mu(min(n - s, columns), columns)
                total += mean ** (1 / 3) * (mean + _SHIFT)
            ratio = total * r / columns  # of the last block; times (sqrt(r_s) - 1)^2
            yield ratio <= 4 ** (4 / 3) * r**2 * columns ** (1 / 3)
