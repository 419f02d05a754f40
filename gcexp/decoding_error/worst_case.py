"""The worst case with optimal decoding: split into the parts of a code, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.composite import Kronecker
from gcexp.decoding_error.adversary import path
from gcexp.decoding_error.design_parameters import SAME
from gcexp.decoding_error.part_curve import Curve, Limits, worst_curve
from gcexp.decoding_error.parts import Part, independent_parts
from gcexp.decoding_error.promise import promised_bound
from gcexp.decoding_error.results import WorstError
from gcexp.decoding_error.straggler_sets import random_sets, runs
from gcexp.decoding_error.subset_errors import rows
from gcexp.seeding import rng

_MOST_TRIED = 20  # workers; with more, rounding alone may spoil a code that decodes in exact arithmetic
_RANDOM = 16  # sets that are tried beside consecutive stragglers


def worst_errors(code: Code, sizes: Sequence[int], seed: int, limits: Limits) -> list[WorstError]:
    """The worst case of each number of stragglers.

    Raises
    ------
    DecodingError
        For a code of up to 20 workers that breaks its promise with consecutive or a few random stragglers.
    """
    errors: dict[int, WorstError] = {}
    for s in sizes:
        if promised_bound(code, s) == 0:
            errors[s] = WorstError(s, 0.0, 0.0, "guarantee", tuple(range(s)))
    if errors and code.n <= _MOST_TRIED:
        tried = [runs(code.n, max(errors)), random_sets(code.n, max(errors), _RANDOM, seed)]
        code.decode(np.concatenate(tried) * code.messages)
    without_guarantee = sorted(set(sizes) - set(errors))
    if without_guarantee:
        errors |= _errors_by_parts(code, without_guarantee, seed, limits)
    return [errors[s] for s in sizes]


def _errors_by_parts(code: Code, sizes: list[int], seed: int, limits: Limits) -> dict[int, WorstError]:
    """The worst case of each of some rising numbers of stragglers, from those of the parts of the code."""
    parts = independent_parts(rows(code))
    curves: list[Curve] = []
    curve_of: dict[tuple, Curve] = {}  # of parts that are alike
    for part in parts:
        key = (part.rows.B.tobytes(), part.rows.k, part.weight.tobytes())
        if key not in curve_of:
            if len(parts) == 1:
                wanted, starts = sizes, _product_sets(code, sizes, part)
            else:
                most = min(max(sizes), int(part.weight.sum()))
                wanted, starts = list(range(most + 1)), []
            random = rng(seed, "monte_carlo", code.n, 0, 1)
            curve_of[key] = worst_curve(part, wanted, random, limits, starts, code)
        curves.append(curve_of[key])
    closed = all(curve.closed for curve in curves)
    errors = {}
    for s, bracket in _together(parts, curves, sizes, code).items():
        lower = bracket.lower
        upper = min(bracket.upper, promised_bound(code, s))
        if bracket.exact or upper - lower <= SAME:
            upper = lower
        if closed:
            how = "closed form"
        elif bracket.exact:
            how = "enumeration"
        else:
            how = "bracket"
        errors[s] = WorstError(s, lower, max(lower, upper), how, bracket.stragglers)
    return errors


class _Bracket(NamedTuple):
    """Lower and upper end of the worst error, whether the lower one is the worst, and the stragglers that cause it."""

    lower: float
    upper: float
    exact: bool
    stragglers: tuple[int, ...]


def _together(parts: list[Part], curves: list[Curve], sizes: list[int], code: Code) -> dict[int, _Bracket]:
    """The brackets of the whole code, its stragglers split over the parts in the worst way (Lemma 8)."""
    most = max(sizes)
    if len(parts) == 1:
        lower = curves[0].lower
        upper = curves[0].upper
        exact = curves[0].exact
        splits = {s: [s] for s in sizes}
    else:
        lower, shares = _worst_sums([curve.lower for curve in curves], most)
        upper, _ = _worst_sums([curve.upper for curve in curves], most)
        splits = {s: _split(shares, s) for s in sizes}
        exact = np.ones(most + 1, dtype=bool)
        for s in range(most + 1):
            exact[s] = all(curve.exact[: s + 1].all() for curve in curves)
    brackets = {}
    for s in sizes:
        stragglers = _stragglers(parts, curves, splits[s], s, code.n)
        brackets[s] = _Bracket(float(lower[s] / code.k), float(upper[s] / code.k), bool(exact[s]), stragglers)
    return brackets


def _stragglers(parts: list[Part], curves: list[Curve], split: list[int], s: int, n: int) -> tuple[int, ...]:
    """The s stragglers of which each part loses its share, in the worst way."""
    lost = np.zeros(n, dtype=bool)
    for part, curve, share in zip(parts, curves, split, strict=True):
        for members, survives in zip(part.classes, curve.responses[share], strict=True):
            lost[members] |= not survives
    survivors = np.flatnonzero(~lost)
    lost[survivors[: s - lost.sum()]] = True  # who is left over changes nothing
    return tuple(np.flatnonzero(lost).tolist())


def _worst_sums(curves: list[np.ndarray], most: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Largest sums of the curves for 0, ..., most stragglers, and the share of each curve in those of the first ones.

    Entry s of the i-th array of shares is how many of s stragglers the i-th curve gets, where the first i + 1 curves
    share them in the worst way.
    """
    worst, shares = np.zeros(1), []
    for curve in curves:
        last = min(most, len(worst) + len(curve) - 2)
        sums = np.full((last + 1, len(curve)), -np.inf)
        for share in range(len(curve)):
            rest = worst[: max(0, last + 1 - share)]
            sums[share : share + len(rest), share] = rest + curve[share]
        shares.append(sums.argmax(1))
        worst = sums.max(1)
    return worst, shares


def _split(shares: list[np.ndarray], s: int) -> list[int]:
    """How many of s stragglers each curve gets, from the shares of `_worst_sums`."""
    split = []
    for shares_of_curve in reversed(shares):
        share = int(shares_of_curve[s])
        split.append(share)
        s -= share
    return split[::-1]


def _product_sets(code: Code, sizes: list[int], part: Part) -> list[np.ndarray]:
    """Survivors F1 x F2 of a product, for each pair of sizes into which n - s survivors fit (Theorem 6).

    F_i is what a greedy adversary leaves of the factor; workers of F1 x F2 beyond n - s are lost as well.
    """
    if not isinstance(code, Kronecker) or len(part.classes) != code.n:
        return []
    first_order = _greedy_order(code.a)
    second_order = _greedy_order(code.b)
    n1 = code.a.n
    n2 = code.b.n
    sets = []
    for survivors in sorted({code.n - s for s in sizes} - {0}):
        for m1 in range(1, n1 + 1):
            m2 = -(-survivors // m1)
            if m2 > n2:
                continue
            responses = np.zeros((n1, n2), dtype=bool)
            responses[np.ix_(first_order[n1 - m1 :], second_order[n2 - m2 :])] = True
            responses.flat[np.flatnonzero(responses)[survivors:]] = False
            sets.append(responses.ravel())
    return sets


def _greedy_order(factor: Code) -> np.ndarray:
    """Workers of a code in the order in which a greedy adversary loses them."""
    messages = rows(factor)
    losses = path(messages, np.ones(messages.n, dtype=int), messages.n, np.random.default_rng(0))
    steps_survived = np.array([responses for responses, _ in losses]).sum(0)
    return np.argsort(steps_survived, kind="stable")
