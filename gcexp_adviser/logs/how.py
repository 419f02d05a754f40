"""What a person says of a log: its columns, the unit of its times, and how its lines and numbers are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gcexp.errors import ParameterError, require_known
from gcexp_adviser.logs.names import roles_given, unit_named

Columns: TypeAlias = str | Mapping[str, str] | None
#: Decimal signs, by what may be typed for them.
_DECIMAL = {",": ",", "comma": ",", ".": ".", "point": "."}


@dataclass(frozen=True)
class How:
    """How a log is to be read; what is empty was not said.

    Attributes
    ----------
    roles : tuple of pairs
        Roles and the columns that have them, as ``columns=`` names them.
    unit : str
        That of the times, one of `gcexp_adviser.logs.names.UNITS`.
    decimal : str
        The decimal sign of numbers, a comma or a point; the other one divides thousands.
    pattern : str
        A regular expression whose named groups are the columns of a line.
    """

    roles: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    decimal: str = ""
    pattern: str = ""


def how_given(
    columns: Columns = None, unit: str | None = None, decimal: str | None = None, pattern: str | None = None
) -> How:
    r"""What a person has said; raise `ParameterError` for what has no meaning.

    Examples
    --------
    >>> how_given("iteration:step", "msec", "comma")
    How(roles=(('iteration', 'step'),), unit='ms', decimal=',', pattern='')
    >>> how_given(pattern=r"step (?P<step>\d+) took (?P<time_ms>\d+)").pattern
    'step (?P<step>\\d+) took (?P<time_ms>\\d+)'
    """
    roles = tuple(roles_given(columns).items())
    sign = ""
    if decimal is not None:
        require_known("decimal sign", decimal, _DECIMAL)
        sign = _DECIMAL[decimal]
    if pattern is not None:
        _check_pattern(pattern)
    return How(roles, unit_named(unit) if unit else "", sign, pattern or "")


def _check_pattern(pattern: str) -> None:
    """Raise `ParameterError` for what is no regular expression with named groups."""
    example = (
        r"an example is pattern='step (?P<iteration>\d+) of rank (?P<worker>\d+) took (?P<time_ms>[\d.]+)'"
    )
    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise ParameterError(f"pattern={pattern} is no regular expression ({error}); {example}") from None
    if not groups:
        raise ParameterError(f"pattern={pattern} has no named group; {example}")
