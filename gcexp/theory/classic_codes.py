"""Errors of the classic approximate codes: expander, Bernoulli, stochastic and graph codes.

The error of a code is ||c - 1||^2 / k, c being the coefficients of the decoded sum over k partitions. Fractional
repetition is in `gcexp.theory.errors`.
"""

from __future__ import annotations

from collections.abc import Iterable

from gcexp.errors import require


def expander_bound(n: int, s: int, d: float, eigenvalue: float) -> float:
    r"""Error of an expander code for *any* s stragglers: at most (lambda / d)^2 s / (n - s), and at most 1 for s = n.

    B = Adj / d with weights n / (n - s). It is the squared length of B (u - 1), u = n / (n-s) on the survivors, and
    u - 1 is orthogonal to 1, of squared length n s / (n - s). For a matrix that is not symmetric, lambda is the second
    singular value.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    d : float
        Degree.
    eigenvalue : float
        Second largest absolute eigenvalue (singular value) of the adjacency matrix.

    Raises
    ------
    ParameterError
        Unless 0 <= s <= n and 0 <= eigenvalue <= d.

    References
    ----------
    Raviv, Tamo, Tandon, Dimakis: Gradient coding from cyclic MDS codes and expander graphs, ICML 2018, section 5.

    Examples
    --------
    >>> round(expander_bound(13, 3, 4, 2.6511), 4)
    0.1318
    """
    require(0 <= s <= n, f"the expander bound needs 0 <= s <= n, got n={n}, s={s}")
    require(
        0 <= eigenvalue <= d * (1 + 1e-12),
        f"the expander bound needs 0 <= eigenvalue <= d, got eigenvalue={eigenvalue}, d={d}",
    )
    return 1.0 if s == n else (eigenvalue / d) ** 2 * s / (n - s)


def bernoulli_error(p: float, m: int) -> float:
    r"""Mean one-step error of a Bernoulli code over its draw: (1 - p) / (m p), for any m survivors.

    c_i = X / (p m) with X ~ Binomial(m, p), mean 1 and variance p (1 - p) m / (p m)^2.

    Parameters
    ----------
    p : float
        Probability that a worker holds a partition, load / k.
    m : int
        Workers heard.

    Raises
    ------
    ParameterError
        Unless 0 < p <= 1 and m >= 1.

    References
    ----------
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017, section 4.

    Examples
    --------
    >>> round(bernoulli_error(1 / 8, 30), 4)
    0.2333
    """
    require(0 < p <= 1 and m >= 1, f"a Bernoulli code needs 0 < p <= 1 and m >= 1 heard, got p={p}, m={m}")
    return (1 - p) / (m * p)


def stochastic_error(p: float, d: int) -> float:
    r"""Mean error of stochastic gradient coding when workers straggle independently: p / (d (1 - p)).

    c_i = X / (d (1 - p)) with X ~ Binomial(d, 1 - p).

    Parameters
    ----------
    p : float
        Probability of straggling.
    d : int
        Copies of each partition.

    Raises
    ------
    ParameterError
        Unless 0 <= p < 1 and d >= 1.

    References
    ----------
    Bitar, Wootters, El Rouayheb: Stochastic gradient coding for straggler mitigation in distributed learning, 2020.

    Examples
    --------
    >>> round(stochastic_error(0.3, 3), 6)
    0.142857
    """
    require(
        0 <= p < 1 and d >= 1, f"stochastic gradient coding needs 0 <= p < 1 and d >= 1, got p={p}, d={d}"
    )
    return p / (d * (1 - p))


def graph_error(k: int, edges: Iterable[tuple[int, int]]) -> float:
    r"""Error of a graph code's best decode when these edges (workers) are heard.

    The mean over the k vertices of what the components cost: 0 with an odd cycle, (a - b)^2 / (a + b) for a bipartite
    one with sides of a and b vertices, so 1 for a lone vertex.

    Parameters
    ----------
    k : int
        Vertices 0, ..., k-1 (partitions).
    edges : iterable of (int, int)
        Workers heard.

    Raises
    ------
    ParameterError
        If an edge has an end that is no vertex.

    References
    ----------
    Glasgow, Wootters: Approximate gradient coding with optimal decoding, 2021.

    Examples
    --------
    >>> round(graph_error(4, [(0, 1), (1, 2)]), 6), graph_error(3, [(0, 1), (1, 2), (2, 0)])
    (0.333333, 0.0)
    """
    import networkx as nx  # 0.2 s

    pairs = [(int(u), int(v)) for u, v in edges]
    outside = [edge for edge in pairs if min(edge) < 0 or max(edge) >= k]
    require(not outside, f"edges must join vertices 0 to k-1 = {k - 1}, got {outside[:1]}")
    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(k))
    cost = 0.0
    for component in nx.connected_components(graph):
        part = graph.subgraph(component)
        if len(part) == 1:
            cost += 1
        elif nx.is_bipartite(part):
            a, b = map(len, nx.bipartite.sets(part))
            cost += (a - b) ** 2 / (a + b)
    return cost / k
