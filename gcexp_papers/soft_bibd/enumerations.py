"""Statements of Sakorikar, Wang (arXiv 2105.05231) on every set of stragglers of small codes, by projections and ranks.

Each function is a generator of instances, ``(what, holds)``; see `gcexp.analysis.enumeration` for what decides.
`rests_on` says with which objects of the library it is compared, looked up when called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gcexp import codes
from gcexp.analysis import enumeration as engine
from gcexp.analysis.checks import check
from gcexp.decoding_error import error as errors
from gcexp.seeding import rng
from gcexp.theory import errors as theory

Instances = Iterator[tuple[str, bool]]


def _decodes(code, s: int) -> bool:
    """Whether the sum is a combination of any n - s workers' messages, by least squares."""
    rows = code.encoding.toarray()
    responses = np.stack([rows[list(left)] for left in engine.survivors(code.n, s)])
    ones = np.ones((1, code.k))
    return bool(np.abs(ones - ones @ np.linalg.pinv(responses, rcond=1e-11) @ responses).max() < 1e-7)


@check(
    over="n <= 7, every s < r, every set",
    grade="built",
    rests_on=("gcexp.codes:CyclicRepetition",),
    small={"most": 4},
)
def eq5_exact_recovery(most: int = 7) -> Instances:
    """(5): with r > s a code recovers the sum exactly; own codes on cyclic supports, and the library's."""
    for n in range(2, most + 1):
        for r in range(1, n + 1):
            B = engine.code(engine.cyclic(n, r), 1, rng(0, "assignment", 16, n, r))
            library = codes.CyclicRepetition(n, r - 1)
            held = library.encoding.toarray() != 0
            for s in range(r):
                right = engine.decodes(B, 1, *engine.survivors(n, s)) and _decodes(library, s)
                yield (
                    "(n, s, r), r > s: every set of s decodes, with free coefficients",
                    right and held.sum(1).max() == r,
                )


@check(
    over="1 <= s < r < n <= 7",
    kind="companion",
    source="Sec. II-C, eq. (5), with coefficients 0 and 1",
    contradicts=(),
    reason="5 of 35: (5) says that some coefficients recover the sum, not that plain sums do; the "
    "Fano plane loses 1/28 with one straggler",
    small={"most": 5},
)
def eq5_binary_cyclic(most: int = 7) -> Instances:
    """The same with plain sums on cyclic supports, which few do: existence is not for every coefficient."""
    for n in range(2, most + 1):
        for r in range(2, n):
            rows = engine.cyclic(n, r).astype(np.int64)[None]
            for s in range(1, r):
                yield (
                    "(n, s, r), 1 <= s < r < n: every set of s decodes plain sums",
                    engine.decodes(rows, 1, *engine.survivors(n, s)),
                )


#: The seven lines of the Fano plane, from the difference set {0, 1, 3}.
_FANO = (np.array([[(j - i) % 7 in (0, 1, 3) for j in range(7)] for i in range(7)])).astype(float)


def _errors(rows: np.ndarray) -> np.ndarray:
    """Smallest ||c - 1||^2 of every set of workers by least squares, (2^n,); rows (n, k)."""
    n, k = rows.shape
    there = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    gram, loads = rows @ rows.T, rows.sum(1)
    found = np.empty(2**n)
    for u in range(0, 2**n, 1024):
        mine = there[u : u + 1024]
        inverse = np.linalg.pinv(mine[:, :, None] * gram * mine[:, None], rcond=1e-10, hermitian=True)
        kept = mine * loads
        found[u : u + 1024] = k - np.einsum("ui,uij,uj->u", kept, inverse, kept)
    return found


@check(
    over="four matrices, t = 2, 3, every set",
    grade="enumerated",
    answers=("lemma6", "normalisation_allows_comparison"),
    rests_on=("gcexp.decoding_error.error:errors_of",),
    small={"matrices": 1},
)
def lemma6(matrices: int = 4) -> Instances:
    """Lemma 6: with t copies of every partition the squared error is t times as large, every set; normalised equal."""
    generator = rng(0, "assignment", 17)
    drawn = [generator.integers(0, 2, (6, k)).astype(float) for k in (5, 8)]
    for rows in [engine.cyclic(5, 3).astype(float), _FANO, *drawn][:matrices]:
        n, k = rows.shape
        responses = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
        once = _errors(rows)
        for t in (2, 3):
            copied = _errors(np.tile(rows, (1, t)))
            library = errors.errors_of(codes.Code(np.tile(rows, (1, t))), responses)
            for one, more, found in zip(once, copied, library, strict=True):
                right = abs(more - t * one) < 1e-8 and abs(found - one / k) < 1e-8
                yield "codes, t, every set: t times the squared error, the same normalised one", bool(right)


@check(
    over="three products, every s and every set",
    grade="enumerated",
    rests_on=("gcexp.theory.errors:frc_bibd_error",),
    small={"products": 1},
)
def theorem4_worst_pattern(products: int = 3) -> Instances:
    """Theorem 4: the worst error of FRC x BIBD for s stragglers, over every set by least squares, is the formula's."""
    triangle = 1 - np.eye(3)  # 3 workers, 3 partitions, two each, one in common
    four = 1 - np.eye(4)
    cases = (
        (4, 2, triangle, (3, 3, 2, 2, 1)),
        (3, 3, four, (4, 4, 3, 3, 2)),
        (2, 2, _FANO, (7, 7, 3, 3, 1)),
    )
    for n1, r1, design, parameters in cases[:products]:
        groups = np.kron(np.eye(n1 // r1), np.ones((r1, 1)))  # workers of a group hold the same
        rows = np.kron(groups, design)
        squared = _errors(rows) / rows.shape[1]
        silent = len(rows) - np.bitwise_count(np.arange(len(squared)))
        for s in range(len(rows) + 1):
            worst = squared[silent == s].max()
            formula = float(theory.frc_bibd_error(n1, r1, parameters, s))
            yield "(FRC, design, s): worst of every set = formula", bool(abs(worst - formula) < 1e-8)


@check(
    over="Fano plane x PG(2, 3), all pairs of workers",
    grade="built",
    rests_on=("gcexp.codes:Kronecker",),
    small={"q": 2},
)
def appH_block_class_counts(q: int = 3) -> Instances:
    """Appendix H: workers of the built product of Fano plane and PG(2, q) share one of four numbers of partitions."""
    first, second = codes.BlockDesign(7, "pg-2-2"), codes.BlockDesign(q * q + q + 1, f"pg-2-{q}")
    rows = codes.Kronecker(first, second).encoding.toarray()
    shared = rows @ rows.T
    n2, l1, l2 = second.n, 3, q + 1
    for i in range(len(shared)):
        for j in range(len(shared)):
            same_block, same_class = i // n2 == j // n2, i % n2 == j % n2
            expected = (l1 if same_block else 1) * (l2 if same_class else 1)
            yield "pairs of workers: l1 l2, l1, l2 or 1 partitions in common", bool(shared[i, j] == expected)
