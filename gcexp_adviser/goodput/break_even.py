"""From which failure rate on redundancy pays: the job MTBF at which a code and checkpoints alone have one goodput."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import inf, log

import numpy as np
from scipy.optimize import brentq

from gcexp.failures import Goodput, History, Job, Lifetimes, Steps, best_of_history, of_history
from gcexp_adviser.goodput.conditions import Conditions
from gcexp_adviser.goodput.rows import ALONE, RESPREAD, Row

#: Seconds between which an MTBF is looked for, and how many there are tried first.
LEAST, MOST, _TRIED = 60.0, 1e6, 5
# A break-even moves by several times the error of a goodput, so that runs have more fatal failures than those of the
# table. Where hardly any failure is fatal, few of them tell the goodput.
_MOST_FATAL, _MOST_FAILURES = 4000, 5000
_CLOSE = 0.005  # of the logarithm of the MTBF


@dataclass(frozen=True)
class BreakEven:
    """Where a code pays against checkpoints alone.

    Attributes
    ----------
    scheme : str
        The code.
    below : float
        The job MTBF in seconds below which it pays: 0 where it pays nowhere, infinite where it pays everywhere that was
        looked at.
    respread : str
        Whether sharing the dead workers' data is ``better`` than the code at all MTBFs that were tried, at ``some``, or
        at ``none``.
    """

    scheme: str
    below: float
    respread: str


def break_even(rows: list[Row], found: list[Goodput], conditions: Conditions) -> BreakEven | None:
    """The break-even of the best exact code of a table; None where there is none, or where no MTBF was given.

    The largest MTBF is meant at which the two goodputs are equal, each with its best period or with the given one.
    """
    if not isinstance(conditions.failures, Lifetimes):
        return None
    codes = [
        (one.progress, i)
        for i, (row, one) in enumerate(zip(rows, found, strict=True))
        if row.exact and row.redundant
    ]
    by_label = {row.label: row for row in rows}
    if not codes or ALONE not in by_label:
        return None
    _, best = max(codes, key=lambda one: one[0])
    code = rows[best]
    of_code = _goodputs(code.steps, conditions)
    of_alone = _goodputs(by_label[ALONE].steps, conditions)

    @cache
    def gain(place: float) -> float:
        return of_code(place) - of_alone(place)

    tried = np.linspace(log(LEAST), log(MOST), _TRIED).tolist()
    pays = [gain(place) > 0 for place in tried]
    below = 0.0
    if pays[-1]:
        below = inf
    elif any(pays):
        last = max(i for i, one in enumerate(pays) if one)
        below = float(np.exp(brentq(gain, tried[last], tried[last + 1], xtol=_CLOSE)))
    respread = "none"
    if RESPREAD in by_label:
        of_respread = _goodputs(by_label[RESPREAD].steps, conditions)
        better = [of_respread(place) > of_code(place) for place in tried]
        respread = "better" if all(better) else "some" if any(better) else "none"
    return BreakEven(code.label, below, respread)


def _goodputs(steps: Steps, conditions: Conditions) -> Callable[[float], float]:
    """The goodput of a scheme as a function of the logarithm of the job MTBF.

    Where workers are replaced at once or never, and machines are not counted, all times of a history are in proportion
    to the lifetimes: one history then serves every MTBF.
    """
    lifetimes = conditions.failures
    assert isinstance(lifetimes, Lifetimes), "asked of random failures only"
    assert conditions.mtbf is not None, "random failures have one"
    given = conditions.mtbf
    in_proportion = lifetimes.rejoin in (0.0, inf) and lifetimes.spares is None

    @cache
    def history(mtbf: float) -> History:
        there = replace(lifetimes, mean=mtbf * lifetimes.domains)
        return Job(there, steps, conditions.restart, _MOST_FATAL, _MOST_FAILURES).until(inf)

    @cache
    def goodput(place: float) -> float:
        mtbf = float(np.exp(place))
        if in_proportion:
            lived = history(given)
            lived = replace(lived, length=lived.length * (mtbf / given))
        else:
            lived = history(mtbf)
        if conditions.period is None:
            return best_of_history(lived, conditions.costs).progress
        return of_history(lived, conditions.costs, conditions.period).progress

    return goodput
