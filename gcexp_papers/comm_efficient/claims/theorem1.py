"""Theorem 1 and what follows from it, on codes and storages that are made here and decided by ranks."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import claim
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.seeding import rng

from .. import theory


@cache
def _said(holders, m):
    """Rank of what so many workers can say of m numbers of a partition, with one number each."""
    return int(engine.rank(engine.drawn(rng(0, "assignment", 6), (holders, m))))


@cache
def _left(n, k):
    """Every storage: its load, and the fewest holders of a partition after any s silent workers, s = 0, ..., n-1."""
    held = engine.storages(n, k)
    load = held.sum(2).max(1)
    fewest_holders = np.stack([engine.fewest_holders(held, s) for s in range(n)], axis=1)
    return list(zip(load.tolist(), fewest_holders.tolist(), strict=True))


@claim("theorem1_converse", "tradeoff_three_parameters", assumed=True)
def too_little_load_leaves_a_rank_deficit():
    """Where d/k < (s+m)/n all workers but some s say too little of a partition, in every storage with n, k <= 4."""
    for n, k in product(range(1, 5), repeat=2):
        parameters = list(product(range(n), range(1, n + 1)))
        feasible = {}
        for d in range(1, k + 1):
            feasible[d] = [theory.feasible(n, d, s, m, k) for s, m in parameters]
        for d, left in _left(n, k):
            for (s, m), is_feasible in zip(parameters, feasible[d], strict=True):
                if is_feasible:
                    yield (s + m) * k <= n * d
                else:
                    yield _said(left[s], m) < m


@claim("theorem1_achievability", "tradeoff_three_parameters", "message_length_general_k", assumed=True)
def codes_on_balanced_storages_reach_the_limit():
    """The codes decode every set exactly where d/k >= (s+m)/n, of length 1/(d n/k - s) or the next longer 1/m."""
    for n, k in product(range(2, 7), repeat=2):
        for d in range(1, k + 1):
            held = (np.arange(k) - d * np.arange(n)[:, None]) % k < d  # worker w holds d from w d on (mod k)
            copies = int(engine.least_copies(held))
            for m in range(1, copies + 1):
                B = engine.code(engine.thinned(held), m, rng(0, "assignment", 7, n, k, d, m))[:1]
                decodes = [engine.decodes(B, m, *engine.survivors(n, s)) for s in range(n)]
                for s, found in enumerate(decodes):
                    right = found == theory.feasible(n, d, s, m, k)
                    yield "theorem1_achievability", right
                    yield "tradeoff_three_parameters", right
                s = copies - m
                least = theory.shortest_message(n, d, s, k)
                if n * d % k == 0:
                    reached = abs(least - 1 / m) < 1e-9
                else:
                    reached = 1 / (m + 1) < least < 1 / m
                yield "message_length_general_k", reached and decodes[s]


def _decodes(code, s):
    """Whether all blocks of the sum are combinations of any n - s workers' messages."""
    return engine.reach_the_sum(code.encoding.toarray()[None], s)


@claim("scheme_meets_equality", "generalises_m1")
def built_codes_meet_the_limit():
    """Built codes have load d = s + m, send 1/m of a gradient, and decode any n-s workers; with m = 1 no fewer do."""
    for n, d in product(range(2, 8), range(1, 8)):
        if d > n:
            continue
        for m in range(1, d + 1):
            code = CommunicationEfficient(n, d, m)
            inside = (code.encoding.toarray().reshape(n, n, m).any(2) <= engine.cyclic(n, d)).all()
            one_message = (code.load == d).all() and (code.messages == 1).all() and code.blocks == m
            decodes = one_message and _decodes(code, d - m)
            yield "scheme_meets_equality", inside and decodes
            if m == 1:
                yield "generalises_m1", decodes and code.length == 1 and not (d < n and _decodes(code, d))


@claim("tandon_bound", assumed=True)
def most_stragglers_with_whole_messages():
    """Over all storages with n = k and load d, d - 1 silent workers are the most, and a built code bears them."""
    for n in range(2, 5):
        for d in range(1, n + 1):
            most = 0
            for load, fewest_holders in _left(n, n):
                if load == d:
                    survived = np.count_nonzero(fewest_holders) - 1
                    most = max(most, survived)
            allowed = [theory.feasible(n, d, s, 1) for s in range(n)]
            right = most == d - 1 and allowed == [s <= most for s in range(n)]
            yield right and _decodes(CommunicationEfficient(n, d, 1), most)
