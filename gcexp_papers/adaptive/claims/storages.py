"""Sections II to IV: what any code can cost, tried on every small storage by ranks."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm

import numpy as np
import pandas as pd

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import claim
from gcexp.seeding import rng

from .. import theory


@cache
def _storages(length: int) -> pd.DataFrame:
    """Every storage on n <= 4 workers with k <= 3 partitions, every s and gradients of up to `length` numbers.

    ``copies`` are those of the partition that fewest workers hold. Each but s silent workers sends ``sent`` numbers.
    Whoever the silent ones are, ``determined`` says that what is said of each partition has full rank, and ``decoded``
    that a code built on the storage decodes.
    """
    generator = rng(0, "assignment", 1)
    storages = []
    supports = {}
    for n, k in product(range(2, 5), range(1, 4)):
        held = engine.storages(n, k)
        copies = engine.least_copies(held).tolist()
        fewest_holders = np.stack([engine.fewest_holders(held, s) for s in range(n)], axis=1).tolist()
        for i, thin in enumerate(engine.thinned(held)):
            support = (thin.shape, thin.tobytes())
            supports[support] = thin
            storages.append((n, copies[i], fewest_holders[i], support))
    decoded = {L: _decoded_by_support(supports, L, generator) for L in range(1, length + 1)}
    said = {}
    found = []
    for storage, (n, copies, fewest_holders, support) in enumerate(storages):
        for L in range(1, length + 1):
            for s, q in product(range(n), range(1, L + 1)):
                left = fewest_holders[s]
                if (left, q, L) not in said:
                    said[left, q, L] = engine.rank(engine.drawn(generator, (left * q, L))) == L
                found.append((storage, n, copies, s, L, q, said[left, q, L], decoded[L][support][s, q]))
    names = ["storage", "n", "copies", "s", "length", "sent", "determined", "decoded"]
    return pd.DataFrame(found, columns=names)


def _decoded_by_support(supports: dict[tuple, np.ndarray], L: int, generator) -> dict[tuple, dict]:
    """For each support, whether every n - s workers decode from q numbers of a code built on it, by s and q.

    Codes of one size are made and judged together, since a rank of one small matrix is mostly the overhead of its
    steps.
    """
    by_size: dict[tuple, list] = {}
    for support, held in supports.items():
        by_size.setdefault((*held.shape, int(engine.least_copies(held))), []).append(support)
    found: dict[tuple, dict] = {support: {} for support in supports}
    for (n, k, _), alike in by_size.items():
        held = np.stack([supports[one] for one in alike])
        codes = engine.code(held, L, generator)  # (codes, L, n, k L)
        for s, q in product(range(n), range(1, L + 1)):
            heard = codes[:, :q][:, :, np.array(engine.survivors(n, s))]  # (codes, q, sets, n - s, k L)
            rows = heard.swapaxes(1, 2).reshape(len(alike), -1, q * (n - s), k * L)
            for support, decodes in zip(alike, engine.spans(rows, L).all(1), strict=True):
                found[support][s, q] = bool(decodes)
    return found


@claim("thm1_iff", "converse_equations")
def lengths_that_decode():
    """On every storage (10) agrees with the rank of what is said of a partition and with what a built code decodes."""
    # Storages that differ in nothing that is compared are one instance.
    compared = ["copies", "s", "length", "sent", "determined", "decoded"]
    for one in _storages(3)[compared].drop_duplicates().itertuples():
        formula = theory.feasible(one.copies, [one.length] * one.s + [one.sent], one.length)
        yield "thm1_iff", formula == one.determined == one.decoded
        yield "converse_equations", formula == one.determined


@claim("sec2_max_stragglers")
def most_stragglers_of_a_storage():
    """The most silent workers with which a built code decodes are the least copies less one, n <= 4 and k <= 3."""
    one_number = _storages(3).query("length == 1")
    copies_of = one_number.groupby("storage")["copies"].first()
    survived = one_number[one_number["decoded"]].groupby("storage")["s"].max()
    for storage, copies in copies_of.items():
        enough, many = (theory.feasible(copies, [1] * s, 1) for s in (copies, copies + 1))
        yield survived.get(storage) == copies - 1 and enough and not many


@claim("optimality_bound")
def shortest_lengths():
    """The least length with which any storage decodes is (11), and less determines nothing: every (n, d, s, w)."""
    survived = _storages(3).query("s < copies")
    for (_, d, s, w), tried in survived.groupby(["n", "copies", "s", "length"]):
        shortest = tried["sent"][tried["decoded"]].min()
        right = theory.optimal_costs(d, w)[s] * w == shortest
        yield right and not tried["determined"][tried["sent"] < shortest].any()


@claim("thm1_optimal", "optimality_bound")
def optimum_beats_every_vector():
    """The vector (11) is superior to every vector with d <= 3 and w <= 5 that satisfies (10)."""
    for d, w in product(range(1, 4), range(1, 6)):
        for length in range(1, d + 1):
            for q in product(range(1, w + 1), repeat=length):
                if theory.feasible(d, q, w):
                    yield theory.superior(theory.optimal_costs(d, w), [Fraction(x, w) for x in q])


@claim("rem1_superior_cgc", "table1_best")
def optimum_beats_every_cgc():
    """The vector (11) is superior to the costs of every CGC, which for d >= 2 costs more or fails for some s."""
    for d, w in product(range(1, 7), range(1, 25)):
        best = theory.optimal_costs(d, w)
        for q in range(1, w + 1):
            if w % q != 0 or w // q > d:
                continue
            cgc = theory.fixed_costs(d, q, w)
            yield "rem1_superior_cgc", theory.superior(best, cgc)
            if 2 <= d <= w:
                pairs = list(zip(best, cgc, strict=False))
                worse = len(cgc) < d or any(a < b for a, b in pairs)
                yield "table1_best", worse and all(a <= b for a, b in pairs)


@claim("lcm_exact")
def least_common_multiple():
    """With L = lcm(1..d) and w = L, 2 L and 7 L the costs of AGC are 1/d, ..., 1 and optimal, d <= 6."""
    for d, f in product(range(1, 7), (1, 2, 7)):
        L = lcm(*range(1, d + 1))
        costs = tuple(Fraction(1, d - s) for s in range(d))
        yield theory.adaptive_costs(L, d, f * L) == theory.optimal_costs(d, f * L) == costs


@cache
def _most_copies(n: int, k: int, d: int) -> int:
    """Most copies that the rarest partition can have, over all storages of load d."""
    return int(engine.least_copies(engine.loads(n, k, d)).max())


@claim("converse_average", "k_equals_n")
def copies_of_the_rarest_partition():
    """Over all storages of load d the rarest partition has floor(n d / k) copies at most, and no fewer with k = n."""
    for n, k in product(range(2, 5), repeat=2):
        for d in range(1, k + 1):
            best = _most_copies(n, k, d)
            same = n * d // k
            yield "converse_average", best == same
            yield "k_equals_n", best <= _most_copies(n, n, same) == same
