"""Adaptive and communication-efficient codes side by side, in groups of d workers."""

from __future__ import annotations

from gcexp.codes.adaptive.code import Adaptive
from gcexp.codes.comm_efficient import CommunicationEfficient, load_and_stragglers
from gcexp.codes.composite import DirectSum
from gcexp.errors import require
from gcexp.schema import checked


def group_sizes(n: int, d: int) -> list[int]:
    """Sizes of the groups, (66): all d, but the last one d + (n mod d).

    Examples
    --------
    >>> group_sizes(20, 3), group_sizes(7, 2), group_sizes(6, 3)
    ([3, 3, 3, 3, 3, 5], [2, 2, 3], [3, 3])
    """
    require(1 <= d <= n, f"groups need 1 <= d <= n, got n={n}, d={d}")
    return [d] * (n // d - 1) + [d + n % d]


class GroupedAdaptive(DirectSum):
    r"""Adaptive codes side by side in groups of d workers (G-AGC): decodable with d-1 stragglers in every group.

    Groups have d consecutive workers, the last one d + (n mod d), and each runs `Adaptive` on its own partitions. In a
    group of d workers everybody holds everything, so M^U is all of M, and any L of its dL messages decode. With at
    most s stragglers in a group, ceil(L/(d-s)) rounds suffice.

    Nothing grows with n: matrices are those of groups of d to 2d-1 workers, and groups of d share one E.

    Parameters
    ----------
    n, d : int
        Workers (= partitions) and load.
    rounds : int, optional
        L; default lcm(1, ..., d).
    construction : {"random", "chebyshev", "structured"}
        Of the groups of d workers. A larger last group is ``structured`` if the others are, else ``random``.
    arithmetic, search_seeds, seed
        As in `Adaptive`.

    Raises
    ------
    ParameterError
        As in `Adaptive`.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: (66), (68), (75).

    Examples
    --------
    >>> code = GroupedAdaptive(n=7, d=2)
    >>> [(q.workers, q.need) for q in code.quorums]
    [((0, 1), ((1, 2), (2, 1))), ((2, 3), ((1, 2), (2, 1))), ((4, 5, 6), ((1, 3), (2, 2)))]
    >>> code.decode([[2, 0, 1, 1, 2, 0, 2]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "d", "messages": "rounds", "length": "1 / rounds"}
    decoding = "that of the adaptive code in every group of d to 2d - 1 workers"
    limit = "that of the adaptive code with n = d to 2d - 1, whatever n is"
    instead = "fewer rounds, such as rounds=d"
    source = ("cao2020",)
    examples = (
        {"n": 7, "d": 2},
        {"n": 6, "d": 3, "construction": "chebyshev"},
        {"n": 7, "d": 3, "rounds": 4, "arithmetic": "extended", "search_seeds": 4},
        {"n": 5, "d": 2, "construction": "structured"},
        {"n": 3, "d": 1},
        {"n": 3, "d": 3, "seed": 2},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int,
        rounds: int | None = None,
        construction: str = "random",
        arithmetic: str = "float64",
        search_seeds: int = 32,
        seed: int = 0,
    ):
        parts = []
        for size in group_sizes(n, d):
            construction_of_group = construction
            if construction == "chebyshev" and size > d:
                construction_of_group = "random"
            parts.append(Adaptive(size, d, rounds, construction_of_group, arithmetic, search_seeds, seed))
        super().__init__(parts)
        self.d = d
        self.rounds = self.blocks
        self.construction = construction
        self.arithmetic = arithmetic
        self.search_seeds = search_seeds
        self.seed = seed


class GroupedCGC(DirectSum):
    r"""Communication-efficient codes side by side in groups of d workers (G-CGC): s stragglers in every group.

    The groups are those of `GroupedAdaptive`, and each runs `CommunicationEfficient` on its own partitions. Where d
    divides n, each worker of a group holds its d partitions and any m of its messages of length 1/m decode.

    Parameters
    ----------
    n, d, m : int
        As in `CommunicationEfficient`; d is the size of the groups, too.
    s : int, optional
        Stragglers in each group; default d - m.

    Raises
    ------
    ParameterError
        Unless 1 <= m <= d <= n and 0 <= s <= d - m.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845, with (66); where d divides n: Kadhe, Koyluoglu,
    Ramchandran: Communication-efficient gradient coding for straggler mitigation in distributed learning, ISIT 2020.

    Examples
    --------
    >>> code = GroupedCGC(n=7, d=3, m=2)
    >>> [(q.workers, q.need) for q in code.quorums]
    [((0, 1, 2), ((1, 2),)), ((3, 4, 5, 6), ((1, 3),))]
    >>> code.length, code.decode([[0, 1, 1, 1, 1, 1, 0]]).coefficients
    (0.5, array([[1., 1., 1., 1., 1., 1., 1.]]))
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1 / m"}
    decoding = "that of the communication-efficient code in every group of d to 2d - 1 workers"
    limit = "that of the communication-efficient code with n = d to 2d - 1, whatever n is"
    instead = "a smaller load d or fewer blocks m"
    source = ("cao2020", "kadhe2020")
    examples = ({"n": 7, "d": 3, "m": 2}, {"n": 6, "d": None, "m": 1, "s": 2}, {"n": 4, "d": 2, "m": 2})

    @checked
    def __init__(self, n: int, d: int | None, m: int, s: int | None = None):
        d, s = load_and_stragglers(n, d, m, s)
        sizes = group_sizes(n, d)
        of_size = {size: CommunicationEfficient(size, d, m, s) for size in set(sizes)}
        super().__init__([of_size[size] for size in sizes])
        self.d = d
        self.m = m
        self.s = s
