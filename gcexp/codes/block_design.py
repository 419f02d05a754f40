"""Gradient codes from balanced incomplete block designs."""

from __future__ import annotations

from gcexp.codes.base import Code
from gcexp.designs.block_designs import find_bibd, named_design
from gcexp.errors import ParameterError
from gcexp.schema import checked


class BlockDesign(Code):
    r"""Plain sums on a design: any two workers share equally many partitions, and every decode has a closed form.

    Workers are the points of a 2-design and partitions its blocks: each of the n workers holds l of the k
    partitions, each partition is on r workers, two workers share lambda. The sums of any m survivors, weighted by
    l / (l + lambda (m - 1)) each, come closest to the gradient (Lemma 3), so that the error depends on how many
    workers are missing, not on which:

        ||c - 1||^2 / k = 1 - l^2 m / (k (l + lambda (m - 1))) = x / (1 + x),  x = (n - r) s / (r (n - 1) (n - s)).

    It is a function of n and r alone: stacking a design, or another one of the same density r/n, changes nothing.

    Parameters
    ----------
    n : int
        Workers; said apart from the design so that a study over n cannot miss it.
    design : str
        A name of `gcexp.designs.block_designs`: ``pg-2-3`` or ``pg(2, 3)``, ``complement-bent-2``, ``stack-pg-2-2-3``.

    Raises
    ------
    ParameterError
        If there is no such design, or it has not n workers (the sentence lists some that have).

    References
    ----------
    Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231, Lemma 3 and equation (7). Kadhe, Koyluoglu,
    Ramchandran: Gradient coding based on block designs for mitigating adversarial stragglers, ISIT 2019.

    Examples
    --------
    >>> code = BlockDesign(n=7, design="pg-2-2")
    >>> code.d, code.redundancy, code.intersection
    (3, 3, 1)
    >>> code.decode([[1, 1, 0, 1, 1, 1, 1], [0, 1, 1, 1, 0, 1, 1]]).error.round(5)
    array([0.03571, 0.08163])
    """

    formulas = {"messages": "1", "length": "1"}
    error_bound = (
        "error x / (1 + x), x = (n - r) s / (r (n - 1) (n - s)), for any s stragglers, r holders of "
        "each partition"
    )
    decoding = "equal weights in closed form; O(n)"
    limit = "n k <= 1e7 entries; designs exist for some n only"
    source = ("sakorikar2021", "kadhe2019")
    examples = (
        {"n": 7, "design": "pg-2-2"},
        {"n": 9, "design": "ag_dual(2, 3)"},
        {"n": 6, "design": "complement-complete-6-2"},
        {"n": 5, "design": "stack-complete-5-3-2"},
        {"n": 3, "design": "complete-3-1"},
        {"n": 4, "design": "complete-4-4"},
    )

    @checked
    def __init__(self, n: int, design: str):
        blocks = named_design(design)
        workers, _, l, self.redundancy, self.intersection = blocks.params
        if workers != n:
            others = [other.design for other in find_bibd(n, max_k=4 * n)] if 2 <= n <= 100 else []
            hint = f"; some with n={n}: {', '.join(others[:4])}" if others else ""
            raise ParameterError(f"design {design} has {workers} workers, got n={n}{hint}")
        super().__init__(blocks.incidence.T, promise="least_squares")
        self.design, self.d = design, l

    def weights(self, responses):
        heard = responses > 0
        others = heard.sum(1, keepdims=True) - 1  # -1 where nobody is heard: no weight is used
        return heard * (self.d / (self.d + self.intersection * others.clip(0)))
