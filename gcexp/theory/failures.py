"""Failures that redundancy endures, where workers fail one by one and do not come back."""

from __future__ import annotations

from math import gamma

from gcexp.errors import require


def until_loss(n: int, r: int) -> float:
    r"""Mean number of failures of n workers until the first of n shards has lost all its r holders.

    Gamma(1/r) / r n^(1 - 1/r). After f failures in random order a shard is lost with probability about (f/n)^r, so that
    none of n is lost with probability exp(-n (f/n)^r); the sum over f of these probabilities is about the integral.
    It assumes that shards are lost independently, as they nearly are where two workers share at most one.

    Parameters
    ----------
    n : int
        Workers (= shards).
    r : int
        Holders of each shard.

    References
    ----------
    Stated for stacked shards in Lee et al., SPARe, arXiv 2603.00357; derived here again.

    Examples
    --------
    >>> round(until_loss(600, 10), 1), until_loss(5, 1)
    (301.1, 1.0)
    """
    require(1 <= r <= n, f"a shard has 1 <= r <= n holders, got n={n}, r={r}")
    return gamma(1 / r) / r * n ** (1 - 1 / r)
