"""How a code compares with the table of best codes, in one sentence for each number of stragglers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.best import Record, least_error_of, records

_EQUAL = 1e-9


def why_not_compared(code: Code) -> str | None:
    """Why a code has no cell in the table, or None.

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> why_not_compared(FractionalRepetition(n=6, d=2))
    >>> why_not_compared(Code([[1, 1], [1, 1], [0, 1]]))
    'the table of best codes has as many partitions as workers, not k=2 for n=3'
    """
    if code.redrawn:
        return "the table of best codes has no random codes"
    if code.k != code.n:
        return f"the table of best codes has as many partitions as workers, not k={code.k} for n={code.n}"
    if code.blocks != 1 or code.messages.max(initial=0) > 1:
        return "the table of best codes has one message of full length for each worker"
    if np.iscomplexobj(code.encoding):
        return "the table of best codes has real coefficients only"
    return None


def compared(code: Code, s: int, worst: float) -> str | None:
    """What the table says of the cell of a code, whose largest load is d.

    Parameters
    ----------
    code : Code
        One for which `why_not_compared` gives None.
    s : int
        Stragglers.
    worst : float
        The code's largest ||c - 1||^2 / n over all sets of s stragglers, with optimal decoding.

    Returns
    -------
    str or None
        None for s < d and s >= n - 1, where nothing is to be found.

    Examples
    --------
    >>> from gcexp.codes.cyclic import CyclicRepetition
    >>> compared(Code(np.ones((7, 7))), 3, 0.0)
    >>> from gcexp.codes.best import BestCode
    >>> print(compared(BestCode(n=7, d=3, s=3), 3, 1 / 7))
    load 3: best known 1/7 = 0.1429 (circulant 0 1 2), which this code attains; optimal: no code is below it
    """
    n = code.n
    d = int(code.load.max())
    if d < 1 or s < d or s >= n - 1:
        return None
    kind = "plain" if bool((code.encoding.data == 1).all()) else "any"
    bound = least_error_of(n, d, s, kind)
    limit = f"no code is below {_in_words(bound)}"
    record = records().get((n, d, s, kind))
    if record is None:
        return f"load {d}: {limit}; no code of this cell is in the table of best codes"
    known = f"load {d}: best known {_in_words(record.worst)} ({record.construction})"
    if worst < float(record.worst) - _EQUAL:
        return f"load {d}: a new record, {worst:.6g} instead of {float(record.worst):.6g}; {limit}"
    if worst <= float(record.worst) + _EQUAL:
        known += ", which this code attains"
    return f"{known}; {_about_the_bound(record, limit)}"


def _about_the_bound(record: Record, limit: str) -> str:
    if record.is_optimal:
        return "optimal: no code is below it"
    return limit


def _in_words(number: Fraction) -> str:
    return f"{number} = {float(number):.4g}"
