"""What a person says of a log: its columns, the unit of its times, which of its rows count, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from gcexp.errors import ParameterError, UserError, require_known, unknown
from gcexp.schema import arguments
from gcexp_adviser.logs.names import COLUMNS_EXAMPLE, NOT_USED, SYNONYMS, UNIT_OF, UNITS

#: What ``columns=`` may name: columns of a long table, or all columns of workers of a wide one, by a pattern.
_ROLES = (*SYNONYMS, "workers")
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
    run : str
        Which of several runs is meant: a number from 1, ``last``, or ``all`` for one after another.
    without : tuple of (str, tuple of str)
        A column, and the words in it that mark rows to be left out; both empty where nothing was said.
    every_row : bool
        Whether a person said that all rows count.
    """

    roles: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    decimal: str = ""
    pattern: str = ""
    run: str = ""
    without: tuple[str, tuple[str, ...]] = ("", ())
    every_row: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """The columns of roles."""
        return dict(self.roles)


#: What ``run=`` may say beside a number.
RUNS = ("last", "all")
#: Nothing was said of a log.
ANYHOW = How()


def how_given(
    columns: str | Mapping[str, str] | None = None,
    unit: str | None = None,
    decimal: str | None = None,
    pattern: str | None = None,
    run: str | int | None = None,
    without: str | None = None,
) -> How:
    r"""What a person has said of a log; raise `ParameterError` for what has no meaning.

    Parameters
    ----------
    columns : str or mapping, optional
        What the columns of a long table are, as ``iteration:step,worker:host,time:ms_per_step``; also ``start`` and
        ``end`` in place of ``time``, ``compute``, ``load`` and ``chunk``. A key may be made of several columns,
        ``iteration:epoch+batch``, and a time be the sum of several, ``time:forward+backward``. With an ``end`` and no
        start a time begins with the end of the worker's previous row. ``iteration:none`` numbers the rows of each
        worker. Of a wide table ``workers:PATTERN``, as ``workers:rank*``.
    unit : {"s", "ms", "us", "ns", "min", "h"}, optional
        That of the times, where their name does not say it. Times of a known unit become seconds.
    decimal : {",", "."}, optional
        The decimal sign of numbers, where that is not beyond doubt; the other sign divides thousands. The words
        ``comma`` and ``point`` mean the same.
    pattern : str, optional
        A regular expression that is searched in each line of a text; its named groups are the columns, as in
        ``step (?P<iteration>\d+) of rank (?P<worker>\d+) took (?P<time_ms>[\d.]+)``. Other lines are left out.
    run : int or {"last", "all"}, optional
        Which run is meant where a log holds several, from 1; ``all`` takes them for one, one after another.
    without : str, optional
        Rows that do not count, as ``without=phase:eval`` or ``without=phase:eval+warmup``: a column and the words in
        it. ``without=none`` says that all rows count.

    Examples
    --------
    >>> how = how_given("iteration:step", "msec", "comma")
    >>> how.roles, how.unit, how.decimal
    ((('iteration', 'step'),), 'ms', ',')
    >>> how_given(pattern=r"step (?P<step>\d+) took (?P<time_ms>\d+)").pattern
    'step (?P<step>\\d+) took (?P<time_ms>\\d+)'
    """
    roles = tuple(_roles_given(columns).items())
    sign = ""
    if decimal is not None:
        require_known("decimal sign", decimal, _DECIMAL)
        sign = _DECIMAL[decimal]
    if pattern is not None:
        _check_pattern(pattern)
    left_out = _rows_left_out(without)
    return How(
        roles=roles,
        unit=_unit_named(unit) if unit else "",
        decimal=sign,
        pattern=pattern or "",
        run=_run_named(run),
        without=left_out,
        every_row=without is not None and not left_out[0],
    )


def _unit_named(given: str) -> str:
    """The unit that a person named, one of `UNITS`; raise `ParameterError` for an unknown one."""
    require_known("unit", UNIT_OF.get(given.strip().lower(), given), UNITS)
    return UNIT_OF[given.strip().lower()]


def _roles_given(columns: str | Mapping[str, object] | None) -> dict[str, str]:
    """What ``columns=`` says, as a mapping of roles to columns.

    Examples
    --------
    >>> _roles_given("iteration:step, worker:host"), _roles_given({"time": "ms_per_step"})
    ({'iteration': 'step', 'worker': 'host'}, {'time': 'ms_per_step'})
    """
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        parts = [f"{role}:{column}" for role, column in columns.items()]
    else:
        parts = str(columns).split(",")
    found: dict[str, str] = {}
    for part in parts:
        role, _, column = part.partition(":")
        role = role.strip()
        column = column.strip()
        if not column:
            raise ParameterError(
                f"columns={columns}: {part!r} is no ROLE:COLUMN; an example is {COLUMNS_EXAMPLE}"
            )
        require_known("role in columns=", role, _ROLES)
        if role in found:
            raise ParameterError(f"columns={columns}: {role} is given twice")
        found[role] = column
    return found


def _run_named(given: str | int | None) -> str:
    """Which run a person means; raise `ParameterError` for what names none."""
    if given is None:
        return ""
    text = str(given).strip()
    if text not in RUNS and not (text.isdecimal() and int(text) > 0):
        raise ParameterError(
            f"run={text} names no run; wanted is a number from 1, last, or all for one after another"
        )
    return text


def _rows_left_out(given: str | None) -> tuple[str, tuple[str, ...]]:
    """The column and the words that ``without=`` names; both empty where all rows count.

    >>> _rows_left_out("phase:eval+warmup"), _rows_left_out("none")
    (('phase', ('eval', 'warmup')), ('', ()))
    """
    if given is None or given == NOT_USED:
        return "", ()
    column, _, words = given.partition(":")
    if not column.strip() or not words.strip():
        raise ParameterError(
            f"without={given} is no COLUMN:WORD; an example is without=phase:eval, and without=none takes all rows"
        )
    return column.strip(), tuple(word.strip() for word in words.split("+"))


#: Names of what may be said of a log, which functions that take any log hand on to `how_of`.
OF_A_LOG = tuple(signature(how_given).parameters)


def how_of(given: Mapping[str, Any], function: Callable) -> How:
    """What the keyword arguments say that `function` does not take itself; raise `UserError` for one of no meaning.

    >>> how_of({"unit": "ms"}, how_of).unit
    'ms'
    """
    for name in given:
        if name not in OF_A_LOG:
            raise UserError(unknown("key", name, [*_options_of(function), *OF_A_LOG]))
    return how_given(**arguments(how_given, given, "", joint=""))


def _options_of(function: Callable) -> list[str]:
    """Names of the arguments of a function behind its first one."""
    _, *others = signature(function).parameters.values()
    return [one.name for one in others if one.kind is not Parameter.VAR_KEYWORD]


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
