"""Expander codes: every worker averages the neighbours of its vertex in a regular graph."""

from __future__ import annotations

from gcexp.codes.approximate import ApproximateCode
from gcexp.designs.graphs import circulant, margulis, paley, random_regular, second_eigenvalue
from gcexp.errors import require, require_known
from gcexp.schema import checked
from gcexp.seeding import rng

GRAPHS = ("circulant", "margulis", "paley")


class ExpanderCode(ApproximateCode):
    r"""Approximate for any stragglers, the better the larger the spectral gap of a fixed d-regular graph.

    B = Adj / d with k = n. Let m workers be heard and u be n/m on them, 0 elsewhere. Weights u give c - 1 = B (u - 1),
    and u - 1 is orthogonal to 1, so for *every* set of s = n - m stragglers

        ||c - 1||^2 / k <= (lambda / d)^2 s / (n - s),

    lambda being the second largest absolute eigenvalue; optimal weights are never worse.

    Parameters
    ----------
    n : int
        Workers, partitions and vertices.
    graph : {"circulant", "paley", "margulis"}
        Cayley graph of the integers mod n; Paley graph, d = (n-1)/2; Margulis graph, a multigraph of degree 8.
    offsets : sequence of int, optional
        Of the circulant graph, which needs them; the others do without.
    decoder : {"one_step", "optimal"}
        Weights n / m, or those of smallest ||c - 1||.

    Raises
    ------
    ParameterError
        If there is no such graph on n vertices, or for an unknown graph or decoder.

    References
    ----------
    Raviv, Tamo, Tandon, Dimakis: Gradient coding from cyclic MDS codes and expander graphs, ICML 2018, section 5.
    Gabber, Galil: Explicit constructions of linear-sized superconcentrators, 1981 (the Margulis graph).

    Examples
    --------
    >>> code = ExpanderCode(n=13, graph="circulant", offsets=(1, 5))
    >>> code.d, round(code.eigenvalue, 4)
    (4, 2.6511)
    >>> code.decode([[0, 0, 0] + 10 * [1]]).error.round(4)  # at most (2.6511 / 4)^2 * 3 / 10 = 0.1318
    array([0.0237])
    """

    formulas = {"k": "n", "messages": "1", "length": "1"}
    error_bound = (
        "error at most (lambda / d)^2 s / (n - s) for any s stragglers, d the degree, lambda the "
        "second eigenvalue"
    )
    source = ("raviv2018",)
    examples = (
        {"n": 8, "offsets": (1, 2)},
        {"n": 6, "offsets": (1,), "decoder": "optimal"},
        {"n": 9, "graph": "paley", "decoder": "optimal"},
        {"n": 9, "graph": "margulis", "decoder": "one_step"},
        {"n": 4, "graph": "margulis", "decoder": "optimal"},
    )

    @checked
    def __init__(
        self,
        n: int,
        graph: str = "circulant",
        offsets: tuple[int, ...] | None = None,
        decoder: str = "one_step",
    ):
        require_known("graph", graph, GRAPHS)
        if graph == "circulant":
            A = circulant(n, offsets)
        else:
            A = {"paley": paley, "margulis": margulis}[graph](n)
        self.graph, self.offsets = graph, None if offsets is None else tuple(offsets)
        self.d = int(A[0].sum())
        self.eigenvalue = second_eigenvalue(A)
        super().__init__(A / self.d, decoder, scale=n)


class RandomRegularCode(ApproximateCode):
    r"""The expander code of a random d-regular graph: almost surely close to the best gap there is.

    As `ExpanderCode`; lambda is at most 2 sqrt(d-1) + o(1) with high probability (Friedman), the smallest possible.

    Parameters
    ----------
    n, d : int
        Workers (= partitions = vertices) and degree.
    decoder : {"one_step", "optimal"}
        Weights n / m on the m workers heard, or those of smallest ||c - 1||.
    seed : int
        Seed of the graph.

    Raises
    ------
    ParameterError
        Unless 1 <= d < n and n d is even; for an unknown decoder.

    References
    ----------
    Raviv, Tamo, Tandon, Dimakis: Gradient coding from cyclic MDS codes and expander graphs, ICML 2018, section 5.
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017.

    Examples
    --------
    >>> code = RandomRegularCode(n=10, d=3)
    >>> code.load
    array([3, 3, 3, 3, 3, 3, 3, 3, 3, 3])
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1"}
    error_bound = "as ExpanderCode, with lambda at most about 2 sqrt(d - 1)"
    source = ("raviv2018", "charles2017")
    redrawn = True
    examples = (
        {"n": 8, "d": 3},
        {"n": 10, "d": 4, "decoder": "optimal", "seed": 1},
        {"n": 4, "d": 3, "decoder": "optimal"},
        {"n": 2, "d": 1},
    )

    @checked
    def __init__(self, n: int, d: int, decoder: str = "one_step", seed: int = 0):
        require(1 <= d < n, f"a random regular code needs 1 <= d < n, got n={n}, d={d}")
        A = random_regular(n, d, rng(seed, "assignment"))
        self.d = d
        self.seed = seed
        self.eigenvalue = second_eigenvalue(A)
        super().__init__(A / d, decoder, scale=n)
