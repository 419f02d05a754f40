"""Errors of copies, direct sums and products against all straggler sets, and what is refused."""

from __future__ import annotations

import numpy as np

from gcexp.codes import DirectSum
from gcexp.codes.base import Code
from gcexp.decoding_error.subset_errors import rows
from gcexp.designs.block_designs import named_design
from gcexp_papers.soft_bibd import theory
from tests.conftest import refusals

PLANE2 = (7, 7, 3, 3, 1)
PLANE3 = (13, 13, 4, 4, 1)
PAIR = (3, 3, 2, 2, 1)


def plain(A) -> Code:
    """Code of an incidence matrix (partitions x workers)."""
    return Code(np.transpose(A).astype(float), promise="least_squares")


def worst(code: Code) -> np.ndarray:
    """Worst errors for 0, ..., n stragglers, over all sets."""
    lost = code.n - np.bitwise_count(np.arange(2**code.n))
    return np.array([rows(code).table[lost == s].max() for s in range(code.n + 1)])


def test_copies_and_direct_sums():
    A = np.random.default_rng(1).standard_normal((4, 5))
    code = plain(A)
    copied = worst(plain(np.kron(np.ones((1, 2)), A)))
    np.testing.assert_allclose(copied, theory.copies_error(worst(code), 2, range(11)), atol=1e-9)
    parts = [code, plain(np.random.default_rng(2).standard_normal((3, 4)))]
    both = theory.direct_sum_errors([worst(part) for part in parts], [4, 3])
    np.testing.assert_allclose(worst(DirectSum(parts)), both, atol=1e-9)


def test_spectral_bound_of_a_product():
    """That of the factors' parameters is that of the product's second singular value."""
    A = np.kron(named_design("pg-2-2").incidence, named_design("pg-2-3").incidence).astype(int)
    sigma = np.linalg.svd(A, compute_uv=False)[1]
    s = np.arange(92)
    bound = theory.spectral_bound(91, 91, 12, sigma**2, s)
    np.testing.assert_allclose(bound, theory.product_spectral_bound(PLANE2, PLANE3, s), atol=1e-12)


test_refuses = refusals(
    (lambda: theory.frc_bibd_error(5, 2, PAIR, 1), "n=5.*r=2"),
    (lambda: theory.product_upper_bound(PAIR, PAIR, -1), "0 <= s <= n = 9"),
)
