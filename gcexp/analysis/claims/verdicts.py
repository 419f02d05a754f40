"""Verdicts: what a claim found, from numbers, from instances, and from other verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gcexp.errors import Defect, require, require_known

REPRODUCED = "reproduced"
CONSISTENT = "consistent"
PARTLY = "partly"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
NOT_TESTABLE = "not testable here"
OUTCOMES = (REPRODUCED, CONSISTENT, PARTLY, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE)
#: A table keeps nine digits: equality cannot be asked for more closely.
ROUNDING = 5e-9
#: Sign of each bound, and whether all numbers from low to high keep it; ends that belong to it are met to nine digits.
_BOUNDS: dict[str, tuple[str, Callable[[float, float, float], bool]]] = {
    "above": (">", lambda low, high, limit: low > limit),
    "at_least": (">=", lambda low, high, limit: low >= limit - ROUNDING * abs(limit)),
    "at_most": ("<=", lambda low, high, limit: high <= limit + ROUNDING * abs(limit)),
    "below": ("<", lambda low, high, limit: high < limit),
}


class Undecided(Exception):
    """The table cannot answer; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """What a claim found: one of `OUTCOMES` but the last, and the numbers that decided it, in words.

    `reason` says why it is not simply reproduced, or what to know where it is; see `because`.
    """

    outcome: str
    found: str = ""
    reason: str = field(default="", repr=False)


def because(verdict: Verdict, reason: str) -> Verdict:
    """The same verdict with the reason for which it is not reproduced, or with what to know where it is.

    The numbers in the reason are filled in by the claim from its table, so that they cannot differ from it.

    Examples
    --------
    >>> error = 0.41
    >>> because(within(error, below=0.1), f"The error is {error:.2f} at n = 20.").reason
    'The error is 0.41 at n = 20.'
    """
    return replace(verdict, reason=reason)


def consistent_at_best(verdict: Verdict) -> Verdict:
    """A verdict from inputs that were fitted: what would be reproduced is consistent.

    >>> consistent_at_best(Verdict(REPRODUCED)).outcome, consistent_at_best(Verdict(UNDECIDED)).outcome
    ('consistent', 'undecided')
    """
    if verdict.outcome == REPRODUCED:
        return replace(verdict, outcome=CONSISTENT)
    return verdict


def equals(found: float | str, expected: float | str, tolerance: float = 0.0) -> Verdict:
    """Whether a number is the expected one, within the tolerance (ends included); text is compared as text.

    Examples
    --------
    >>> equals(0.2501, 0.25, tolerance=1e-3).outcome, equals("cyclic", "naive").outcome
    ('reproduced', 'not reproduced')
    """
    if isinstance(expected, str) or isinstance(found, str):
        return verdict_on(found == expected, f"{found}, expected {expected}")
    near = math.isfinite(expected) and abs(found - expected) <= tolerance + ROUNDING * abs(expected)
    said = f"{found:.6g}, expected {expected:.6g}"
    if tolerance:
        said += f" ± {tolerance:g}"
    return verdict_on(near, said)


def within(found: float, **bounds: float) -> Verdict:
    """Whether a number lies within bounds: ``above``, ``at_least``, ``at_most``, ``below``.

    Examples
    --------
    >>> within(0.3, above=0).outcome, within(0.3, at_least=0.1, below=0.3).outcome
    ('reproduced', 'not reproduced')
    """
    return verdict_on(admit(bounds, found, found), f"{found:.6g}, wanted {bounds_said(bounds)}")


def less(left: float, right: float, *, or_equal: bool = False, resolution: float = 0.0) -> Verdict:
    """Whether one number is below another; sides that differ by less than `resolution` are a tie.

    Parameters
    ----------
    left, right : float
    or_equal : bool
        Equal numbers will do.
    resolution : float
        To how much the paper prints the two.

    Examples
    --------
    >>> less(1, 2).outcome, less(2, 1).outcome, less(1.2, 1.201, resolution=0.01).outcome
    ('reproduced', 'not reproduced', 'undecided')
    """
    if abs(left - right) < resolution:
        return Verdict(UNDECIDED, f"{left:.6g} and {right:.6g} differ by less than {resolution:g}")
    holds = left <= right if or_equal else left < right
    return verdict_on(holds, f"{left:.6g} against {right:.6g}")


def all_instances(holds: Iterable[Any]) -> Verdict:
    """Whether a statement holds in every instance that is tried.

    Raises
    ------
    Defect
        Without instances, which would make any statement true.

    Examples
    --------
    >>> all_instances(n < 3 for n in range(4))
    Verdict(outcome='not reproduced', found='3 of 4 instances')
    """
    tried = [bool(one) for one in holds]
    if not tried:
        raise Defect("there is no instance to try")
    return verdict_on(all(tried), f"{sum(tried)} of {len(tried)} instances")


def every(*verdicts: Verdict | Iterable[Verdict]) -> Verdict:
    """Several verdicts as one: reproduced if all are, not reproduced if one is not, else undecided.

    Examples
    --------
    >>> every(within(1, above=0), within(1, above=2)).outcome
    'not reproduced'
    >>> every(within(value, above=0) for value in (1, 2)).outcome
    'reproduced'
    """
    each: list[Verdict] = []
    for given in verdicts:
        if isinstance(given, Verdict):
            each.append(given)
        else:
            each += given
    outcomes = {verdict.outcome for verdict in each}
    outcome = next(one for one in (NOT_REPRODUCED, UNDECIDED, REPRODUCED) if one in outcomes)
    found = _each_once(verdict.found for verdict in each)
    reasons = _each_once(verdict.reason for verdict in each)
    return Verdict(outcome, "; ".join(found), " ".join(reasons))


def _each_once(texts: Iterable[str]) -> list[str]:
    """The texts that say something, each where it first occurs."""
    return list(dict.fromkeys(text for text in texts if text))


def admit(bounds: Mapping[str, float], low: float, high: float) -> bool:
    """Whether all numbers between two lie within bounds."""
    require(bool(bounds), f"no bound is given ({', '.join(_BOUNDS)})")
    for name in bounds:
        require_known("bound", name, _BOUNDS)
    for name, limit in bounds.items():
        _, keeps = _BOUNDS[name]
        if not keeps(low, high, limit):
            return False
    return True


def bounds_said(bounds: Mapping[str, float]) -> str:
    """Bounds in signs, such as ``> 0 and <= 1``."""
    words = []
    for name, (sign, _) in _BOUNDS.items():
        if name in bounds:
            words.append(f"{sign} {bounds[name]:g}")
    return " and ".join(words)


def verdict_on(holds: Any, found: str) -> Verdict:
    """Reproduced where something holds, else not reproduced; `found` are the numbers that decided it."""
    if holds:
        return Verdict(REPRODUCED, found)
    return Verdict(NOT_REPRODUCED, found)
