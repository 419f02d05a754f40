"""Graph codes: partitions are vertices, workers are edges, decoding takes linear time."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code
from gcexp.designs.graphs import circulant, random_regular
from gcexp.errors import require, require_known
from gcexp.schema import checked
from gcexp.seeding import rng

GRAPHS = ("circulant", "random_regular")


class GraphCode(Code):
    r"""Every worker sends the sum of two partitions, the ends of its edge in a d-regular graph with k = 2n/d vertices.

    The best decode goes by the connected components of the edges heard. A component with an odd cycle gives c = 1 on
    all its vertices. In a bipartite one the sides L, R have equal sums of c whatever the weights; best is 1 - x on L,
    1 + x on R with x = (|L| - |R|) / (|L| + |R|), at squared error (|L| - |R|)^2 / (|L| + |R|); a lone vertex costs 1.
    Weights follow from the leaves of a spanning tree upwards, with one odd edge where there is one: O(n) per pattern,
    all patterns at once as one large graph. The error is that of the pseudoinverse, the weights are not.

    Parameters
    ----------
    n, d : int
        Workers and degree: every partition is on d workers, the load is 2.
    graph : {"random_regular", "circulant"}
        The graph; circulant ones need offsets, and their vertices are shuffled among the partitions.
    offsets : sequence of int, optional
        Of the circulant graph.
    seed : int
        Seed of the graph, or of the shuffle.

    Raises
    ------
    ParameterError
        Unless d >= 1 divides 2n and d < 2n/d, and offsets give degree d; for an unknown graph.

    References
    ----------
    Glasgow, Wootters: Approximate gradient coding with optimal decoding, 2021.

    Examples
    --------
    >>> code = GraphCode(n=10, d=4)
    >>> code.k, code.load
    (5, array([2, 2, 2, 2, 2, 2, 2, 2, 2, 2]))
    >>> path = GraphCode(n=6, d=2, graph="circulant", offsets=(1,))
    >>> path.decode([[1, 1, 1, 1, 1, 0]]).error.round(6)  # a path of six vertices: both sides are equal
    array([0.])
    """

    formulas = {"k": "2 * n // d", "load": "2", "messages": "1", "length": "1"}
    error_bound = "0 for a component with an odd cycle, (|L| - |R|)^2 / ((|L| + |R|) k) for a bipartite one"
    decoding = "spanning forest; O(n)"
    limit = "none"
    source = ("glasgow2021",)
    redrawn = True
    examples = (
        {"n": 12, "d": 3},
        {"n": 10, "d": 4, "seed": 2},
        {"n": 6, "d": 2, "graph": "circulant", "offsets": (1,)},
        {"n": 14, "d": 4, "graph": "circulant", "offsets": (1, 2), "seed": 1},
        {"n": 1, "d": 1},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int,
        graph: str = "random_regular",
        offsets: tuple[int, ...] | None = None,
        seed: int = 0,
    ):
        require_known("graph", graph, GRAPHS)
        require(
            n >= 1 and d >= 1 and 2 * n % d == 0 and d * d < 2 * n,
            f"a graph code needs k = 2n/d vertices, an integer above d, got n={n}, d={d}",
        )
        k = 2 * n // d
        random = rng(seed, "assignment")
        if graph == "circulant":
            A = circulant(k, offsets)
            require(
                A[0].sum() == d,
                f"a graph code needs offsets of degree d, got d={d}, offsets={offsets} on k={k}",
            )
            shuffle = random.permutation(k)
            A = A[shuffle][:, shuffle]
        else:
            A = random_regular(k, d, random)
        self._ends = np.argwhere(np.triu(A))
        B = np.zeros((n, k))
        B[np.arange(n)[:, None], self._ends] = 1
        super().__init__(B, promise="least_squares")
        self.d = d
        self.graph = graph
        self.seed = seed
        self.offsets = None if offsets is None else tuple(offsets)

    def weights(self, responses):
        pattern, edge = np.nonzero(responses > 0)
        weights = np.zeros(responses.shape)
        # The graphs of all patterns side by side, as one.
        vertices = len(responses) * self.k
        ends = self._ends[edge] + self.k * pattern[:, None]
        weights[pattern, edge] = edge_weights(vertices, ends)
        return weights


def edge_weights(vertices: int, ends: np.ndarray) -> np.ndarray:
    """Weights of a simple graph's edges (edges, 2) whose sums at the vertices come closest to 1, in linear time."""
    from scipy.sparse import csgraph  # slow to import

    edges = len(ends)
    if not edges:
        return np.zeros(0)
    number = sparse.csr_array((np.arange(1, edges + 1), ends.T), shape=(vertices, vertices))
    component = csgraph.connected_components(number, directed=False)[1]
    components = int(component.max()) + 1
    parent, depth = _spanning_forest(vertices, ends, component)

    sign = 1 - 2 * (depth % 2)
    alternating = np.bincount(component, sign, components)  # size of the root's side minus the other's
    size = np.bincount(component, minlength=components)
    odd = np.flatnonzero(sign[ends[:, 0]] == sign[ends[:, 1]])
    with_odd_edge, first = np.unique(component[ends[odd, 0]], return_index=True)
    odd_edge = odd[first]  # one for each component that has any
    weights = np.zeros(edges)
    weights[odd_edge] = alternating[with_odd_edge] * sign[ends[odd_edge, 0]] / 2
    alternating[with_odd_edge] = 0  # its c is 1, the others' sides are made equal
    missing = 1 - sign * (alternating / size)[component]  # what a vertex still needs
    np.subtract.at(missing, ends[odd_edge], weights[odd_edge, None])

    # From the leaves to the roots each edge of the forest gives its child what that still needs.
    child = np.flatnonzero(parent < vertices)
    child = child[np.argsort(-depth[child], kind="stable")]
    low = np.minimum(child, parent[child])
    high = np.maximum(child, parent[child])
    in_both_directions = number + number.T
    edge_to_parent = np.asarray(in_both_directions[low, high]).ravel().astype(int) - 1
    first_of_levels = np.flatnonzero(np.diff(depth[child])) + 1
    for level in np.split(np.arange(len(child)), first_of_levels):
        needed = missing[child[level]]
        weights[edge_to_parent[level]] = needed
        np.subtract.at(missing, parent[child[level]], needed)
    return weights


def _spanning_forest(vertices: int, ends: np.ndarray, component: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parent and depth of each vertex in a tree for each component; the parent of a root is `vertices`, its depth 1."""
    from scipy.sparse import csgraph  # slow to import

    # One tree over everything: vertex `vertices` is joined to the first vertex of each component.
    roots = np.unique(component, return_index=True)[1]
    to_roots = np.stack([np.full(len(roots), vertices), roots], axis=1)
    joint_ends = np.concatenate([ends, to_roots])
    graph = sparse.csr_array((np.ones(len(joint_ends)), joint_ends.T), shape=(vertices + 1, vertices + 1))
    parent = csgraph.breadth_first_order(graph, vertices, directed=False)[1]
    parent[vertices] = vertices
    depth, ancestor = (parent != np.arange(vertices + 1)).astype(int), parent
    while (ancestor != vertices).any():  # doubling the distance covered
        depth = depth + depth[ancestor]
        ancestor = ancestor[ancestor]
    return parent[:vertices], depth[:vertices]
