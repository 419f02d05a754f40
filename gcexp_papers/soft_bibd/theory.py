"""What Theorem 1 as printed grants; what is possible is `gcexp.theory.errors.soft_smallest_mu`."""

from __future__ import annotations

import numpy as np

from gcexp.theory.errors import soft_smallest_mu


def soft_paper_smallest_mu(n: int, rho):
    r"""Smallest mu that Theorem 1 grants: min over w = 1, ..., n-1 of max(rho (w-1)/(n-1), rho - w (1-rho)/(n-1)).

    Inequalities (25), (26), region (17): the union of the triangles spanned by the weights 0, w, n. Sufficient only:
    equal to `soft_smallest_mu` where n rho is an integer, else larger.

    Examples
    --------
    >>> (
    ...     round(float(soft_paper_smallest_mu(20, 0.375)) / 0.375, 5),
    ...     round(float(soft_smallest_mu(20, 0.375)) / 0.375, 5),
    ... )
    (0.36842, 0.34386)
    """
    soft_smallest_mu(n, rho)  # refuses what is no density
    rho, w = np.asarray(rho, dtype=float)[..., None], np.arange(1, n)
    return np.maximum(rho * (w - 1) / (n - 1), rho - w * (1 - rho) / (n - 1)).min(-1)
