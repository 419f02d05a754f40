"""The worst case with any other than optimal decoding."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from gcexp.codes.base import Code
from gcexp.decoding_error.decodings import OWN, equal_weight, errors_of
from gcexp.decoding_error.design_parameters import SAME
from gcexp.decoding_error.promise import promised_bound
from gcexp.decoding_error.results import WorstError
from gcexp.decoding_error.straggler_sets import all_sets, random_sets, runs
from gcexp.decoding_error.subset_errors import rows
from gcexp.decoding_error.upper_bounds import QuadraticBound
from gcexp.seeding import rng

_MOST_DECODED = 100_000  # sets of stragglers that are decoded: no elimination shares them
_MOST_HELD = 200  # partitions all of whose holders are lost


def worst_decoded(
    code: Code, sizes: Sequence[int], decoding: str, seed: int, steps: int, max_sets: int
) -> list[WorstError]:
    """By decoding every set, else the worst of likely ones and what decoding and promise rule out."""
    return [_worst_of_size(code, s, decoding, seed, steps, min(max_sets, _MOST_DECODED)) for s in sizes]


def _worst_of_size(code: Code, s: int, decoding: str, seed: int, steps: int, max_sets: int) -> WorstError:
    """The worst case of s stragglers."""
    every_set = comb(code.n, s) <= max_sets
    pieces = all_sets(code.n, s) if every_set else [_likely(code, s, seed)]
    lower, survivors = -1.0, np.ones(code.n, dtype=bool)
    for responses in pieces:
        errors = errors_of(code, responses, decoding, steps)
        if errors.max() > lower:
            lower = float(errors.max())
            survivors = responses[errors.argmax()]
    upper = lower if every_set else max(lower, _decoded_bound(code, s, decoding))
    if upper - lower <= SAME:
        upper = lower
    if every_set:
        how = "enumeration"
    elif upper == lower:
        how = "guarantee"
    else:
        how = "bracket"
    stragglers = tuple(np.flatnonzero(~survivors).tolist())
    return WorstError(s, lower, upper, how, stragglers)


def _likely(code: Code, s: int, seed: int) -> np.ndarray:
    """Survivor sets among which a bad one may be: consecutive stragglers, holders of each partition, random ones."""
    holders = np.unique(code.assignment.T, axis=0)
    order = rng(seed, "monte_carlo", code.n, s, 1).permutation(code.n)
    without_holders = []
    for first in holders[holders.sum(1) <= s][:_MOST_HELD]:
        lost = first.copy()
        fewest_others_first = np.argsort((holders & ~first).sum(1), kind="stable")
        for other in holders[fewest_others_first]:
            if (lost | other).sum() <= s:
                lost |= other
        still_heard = order[~lost[order]]
        lost[still_heard[: s - lost.sum()]] = True
        without_holders.append(~lost)
    groups = np.array(without_holders, dtype=bool).reshape(-1, code.n)
    return np.concatenate([runs(code.n, s), random_sets(code.n, s, 200, seed), groups])


def _decoded_bound(code: Code, s: int, decoding: str) -> float:
    """Upper bound on the error of any s stragglers; infinite where nothing is known."""
    if decoding == "iterative":
        return 1.0
    if decoding in OWN:
        return promised_bound(code, s, otherwise=np.inf)
    messages = rows(code)
    m = code.n - s
    weight = float(equal_weight(code, np.array([m]), decoding)[0])
    x = float(np.sort(messages.h)[:m].sum())
    y = QuadraticBound(messages.G).of(m)
    return 1 + (weight * weight * y - 2 * weight * x) / code.k
