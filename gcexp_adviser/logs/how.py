"""What a person says of a log: what its columns are, the unit of its times, and how its numbers are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gcexp.errors import require_known
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
    """

    roles: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    decimal: str = ""


def how_given(columns: Columns = None, unit: str | None = None, decimal: str | None = None) -> How:
    """What a person has said; raise `ParameterError` for what has no meaning.

    Examples
    --------
    >>> how_given("iteration:step", "msec", "comma")
    How(roles=(('iteration', 'step'),), unit='ms', decimal=',')
    """
    roles = tuple(roles_given(columns).items())
    sign = ""
    if decimal is not None:
        require_known("decimal sign", decimal, _DECIMAL)
        sign = _DECIMAL[decimal]
    return How(roles, unit_named(unit) if unit else "", sign)
