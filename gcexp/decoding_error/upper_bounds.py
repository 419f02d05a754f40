"""Upper bounds on the error with optimal decoding, from equal weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcexp.codes.base import Code
from gcexp.decoding_error.design_parameters import factors_of
from gcexp.decoding_error.subset_errors import Rows
from gcexp.theory.errors import product_gram


def upper_bounds(rows: Rows, lost: Sequence[int], code: Code | None = None) -> list[float]:
    r"""Bounds on the error with optimal decoding after losing so many messages: the best of a few equal weights.

    With weights a D_jj on m survivors, 1_F their indicator: k e <= k - 2 a x + a^2 y with x = 1_F^T D h and
    y = 1_F^T D G D 1_F, so e <= 1 - x^2 / (k y). x is at least the sum of the m smallest D_jj h_j. y is at most

    * lambda_2 m + (lambda_1 - lambda_2) V^2, where lambda are eigenvalues of D G D and V bounds |v . 1_F| for the first
      eigenvector v: the spectral bound, x / (1 + x) with x = sigma_2^2 n s / (k r^2 m) for a biregular code;
    * the sum of the m largest row sums of D G D over a worker and its m - 1 closest partners;
    * for a product of two designs and D = 1, the tight form of Lemma 10.

    D is 1, 1/h, or the best weights when nobody straggles, where these are positive. Where the rows are the messages of
    `code`, a product is known as one.

    Examples
    --------
    >>> from gcexp.codes.expander import RandomRegularCode
    >>> from gcexp.decoding_error.subset_errors import rows
    >>> code = RandomRegularCode(n=40, d=4)
    >>> sigma = np.linalg.svd(code.encoding.toarray(), compute_uv=False)
    >>> x = sigma[1] ** 2 * 10 / 30
    >>> bool(abs(upper_bounds(rows(code), [10])[0] - x / (1 + x)) < 1e-9)
    True
    """
    n = rows.n
    factors = factors_of(code) if code is not None and code.n == n else None
    bounds = np.ones((3, len(lost)))
    for number, D in enumerate(_scales(rows)):
        rising_h = np.sort(D * rows.h)
        quadratic = QuadraticBound(D[:, None] * rows.G * D)
        for i, m in enumerate(n - np.asarray(lost)):
            x = float(rising_h[:m].sum())
            if m <= 0 or x <= 0:
                continue
            y = quadratic.of(m)
            if number == 0 and factors:
                y = min(y, float(product_gram(*factors, m, tight=True)))
            bounds[number, i] = 1 - x * x / (rows.k * y)
    return bounds.min(0).clip(0).tolist()


class QuadraticBound:
    """Upper bounds on 1_F^T G 1_F over all sets F of m workers."""

    def __init__(self, G: np.ndarray):
        values, vectors = np.linalg.eigh(G)
        self._first, self._second = float(values[-1]), 0.0
        if len(values) > 1:
            self._second = max(float(values[-2]), 0.0)
        self._v = np.sort(vectors[:, -1])
        apart = np.where(np.eye(len(G), dtype=bool), -np.inf, G)
        closest_first = np.sort(apart, axis=1)[:, :0:-1]
        sums_of_closest = np.pad(closest_first.cumsum(1), ((0, 0), (1, 0)))
        #: (n, n), row sums over each worker and its 0, 1, ... closest partners.
        self._row_sums = G.diagonal()[:, None] + sums_of_closest

    def of(self, m: int) -> float:
        """The smaller one of the spectral bound and the sum of the m largest row sums."""
        V = min(m, max(self._v[-m:].sum() ** 2, self._v[:m].sum() ** 2))
        spectral = self._second * m + (self._first - self._second) * V
        rising_row_sums = np.sort(self._row_sums[:, m - 1])
        return min(float(spectral), float(rising_row_sums[-m:].sum()))


def _scales(rows: Rows) -> list[np.ndarray]:
    """The diagonals D of `upper_bounds`, (n,) each."""
    scales = [np.ones(rows.n)]
    if (rows.h > 0).all():
        scales.append(1 / rows.h)
    best_weights = np.linalg.lstsq(rows.G, rows.h, rcond=1e-10)[0]
    if (best_weights > 1e-9).all():
        scales.append(best_weights)
    return scales
