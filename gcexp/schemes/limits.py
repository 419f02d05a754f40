"""Limits of waiting rules: a time, or a multiple of the median time of a worker, written ``1.5x``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gcexp.errors import ParameterError, require
from gcexp.extras import extras
from gcexp.schema import quoted, typed
from gcexp.schemes.waiting import WaitingExtras

#: A time in the delay model's unit, or a multiple of the median such as ``"1.5x"``.
Limit = float | str


def require_limit(limit: Limit | None, name: str) -> None:
    """Refuse what is neither a time above 0 nor a multiple above 0; `name` is what the limit is called.

    Examples
    --------
    >>> require_limit("1.5x", "wait=deadline: time")
    >>> require_limit("2 medians", "wait=deadline: time")
    Traceback (most recent call last):
    gcexp.errors.ParameterError: wait=deadline: time is a time > 0, or a multiple of the median (1.5x), got '2 medians'
    """
    if limit is None:
        return
    number = _factor(limit) if isinstance(limit, str) else limit
    require(
        number is not None and number > 0,
        f"{name} is a time > 0, or a multiple of the median (1.5x), got {quoted(limit)}",
    )


def _factor(text: str) -> float | None:
    """The number before the x; None where there is none."""
    if not text.endswith("x"):
        return None
    number = typed(text.removesuffix("x"))
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number)


def is_relative(wait: object) -> bool:
    """Whether a rule has a limit that is a multiple of the median.

    Examples
    --------
    >>> from gcexp.schemes import Deadline
    >>> is_relative(Deadline(time="1.5x")), is_relative(Deadline(time=1.5))
    (True, False)
    """
    return bool(_multiples(wait))


def _multiples(wait: object) -> dict[str, float]:
    """The multiples of the median that a rule has as its limits, by the names of its parameters."""
    found = {}
    for name in extras(WaitingExtras, wait).limits:
        limit = getattr(wait, name)
        factor = _factor(limit) if isinstance(limit, str) else None
        if factor is not None:
            found[name] = factor
    return found


def with_times(wait: Any, median: Callable[[], float]) -> Any:
    """The same rule with every limit as a time; `median` is asked for only where a limit is a multiple of it.

    Examples
    --------
    >>> from gcexp.schemes import Deadline
    >>> with_times(Deadline(time="1.5x"), lambda: 4.0)
    Deadline(time=6.0, early=False)
    """
    multiples = _multiples(wait)
    if not multiples:
        return wait
    usual = median()
    return replace(wait, **{name: factor * usual for name, factor in multiples.items()})


def time_of(limit: Limit, name: str) -> float:
    """A limit that is a time; raise `ParameterError` for a multiple, which only a clock can turn into one."""
    if isinstance(limit, str):
        raise ParameterError(
            f"{name}={limit} is a multiple of the median, which is not known here: give a time"
        )
    return float(limit)
