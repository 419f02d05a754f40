"""Numbers in the cells of a log: decimal commas, thousands, units and durations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import UNIT_OF, UNITS

_DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+(e[-+]?\d+)?", re.IGNORECASE)
_THOUSANDS_COMMA = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_THOUSANDS_POINT = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_THREE_BEHIND = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")  # 1,234 is one and a bit, or more than a thousand
#: A number, maybe with a unit behind it, in which points and commas have to be told apart.
_POINTS_OR_COMMAS = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?\s*[a-zµμ]*$", re.IGNORECASE)  # noqa: RUF001
#: days-hours:minutes:seconds of sacct, and "0 days 00:00:01.5" of pandas.
_CLOCK = re.compile(r"(?:(\d{1,6})(?:-| days? ))?(\d{1,6}):(\d\d):(\d\d(?:[.,]\d+)?)")
_WITH_UNIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-zµμ]+)", re.IGNORECASE)  # noqa: RUF001
_PERCENT = re.compile(r"(\d+\.?\d*)\s*%")
_DIGITS = 18  # of a whole number in a file
_EMPTY = ("", "nan", "na", "n/a", "null", "none", "-", "--", "?", "unknown", "nat", "<na>", "timeout", "inf")


@dataclass(frozen=True)
class Writing:
    """How the numbers of a table are written.

    Attributes
    ----------
    place : str
        How sentences begin.
    semicolons : bool
        Whether the cells were divided by semicolons, as where numbers have decimal commas.
    decimal_commas : bool
        Whether some numbers have decimal commas beyond doubt, so that a point divides thousands in others.
    decimal : str
        The decimal sign, where a person has named it.
    """

    place: str
    semicolons: bool = False
    decimal_commas: bool = False
    decimal: str = ""

    @property
    def points_divide(self) -> bool:
        """Whether it is known that points divide thousands."""
        if self.decimal:
            return self.decimal == ","
        return self.decimal_commas


class Numbers(NamedTuple):
    """The numbers of a column (L,), NaN where a cell is none; their unit where cells name it; and what was decided.

    ``bare`` says which numbers above 0 have no unit, where other cells name theirs.
    """

    values: np.ndarray
    unit: str = ""
    told: tuple[str, ...] = ()
    bare: np.ndarray | None = None

    @property
    def seconds(self) -> np.ndarray:
        """The numbers in seconds; as they are where their unit is not known."""
        return in_seconds(self.values, self.unit)


def is_empty(cell: object) -> bool:
    """Whether a cell says that there is no number.

    >>> is_empty(""), is_empty(" NaN"), is_empty(np.nan), is_empty(0.0)
    (True, True, True, False)
    """
    if isinstance(cell, str):
        return cell.strip().lower() in _EMPTY
    return cell is None or cell != cell


def has_decimal_comma(cell: object) -> bool:
    """Whether a cell is a number with a decimal comma beyond doubt.

    >>> has_decimal_comma("0,656"), has_decimal_comma("1,65"), has_decimal_comma("1,656")
    (True, True, False)
    """
    return _may_have_decimal_comma(cell) and not _THREE_BEHIND.fullmatch(str(cell).strip())


def _may_have_decimal_comma(cell: object) -> bool:
    """Whether a cell is a number with a comma that may be a decimal one."""
    return isinstance(cell, str) and bool(_DECIMAL_COMMA.fullmatch(cell.strip()))


def looks_like_number(cell: Any) -> bool:
    """Whether a cell is a number; one with a unit behind it is none."""
    if _may_have_decimal_comma(cell) or (isinstance(cell, str) and _THOUSANDS_COMMA.fullmatch(cell.strip())):
        return True
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(cell, bool)


def percents_in(cells: np.ndarray) -> np.ndarray | None:
    """The numbers before signs of percent, NaN in empty cells; None where another cell is there, or no percent.

    >>> (
    ...     percents_in(np.array(["70 %", "", "8.5%"], dtype=object)),
    ...     percents_in(np.array(["70%", "0.7"], dtype=object)),
    ... )
    (array([70. ,  nan,  8.5]), None)
    """
    values = np.full(len(cells), np.nan)
    for number, cell in enumerate(cells):
        found = _PERCENT.fullmatch(cell.strip()) if isinstance(cell, str) else None
        if found:
            values[number] = float(found[1])
        elif not is_empty(cell):
            return None
    return None if np.isnan(values).all() else values


def numbers_in(cells: np.ndarray, writing: Writing) -> Numbers:
    """The numbers in the cells of a column, which are numbers of numpy's or objects.

    Raises
    ------
    DataError
        For signs that may be decimal ones or divide thousands.

    Examples
    --------
    >>> numbers_in(np.array(["1.234,5", "0,5"], dtype=object), Writing("mine.csv"))
    Numbers(values=array([1.2345e+03, 5.0000e-01]), unit='', told=('numbers have decimal commas',), bare=None)
    >>> numbers_in(np.array(["321ms", "1-00:00:01"], dtype=object), Writing("mine.csv")).values.tolist()
    [0.321, 86401.0]
    """
    if cells.dtype != object:
        return Numbers(cells.astype(float, copy=False))
    texts = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    told: list[str] = []
    if writing.decimal:
        texts = _with_points(texts, writing)
    elif writing.semicolons:
        texts, told = _without_points(texts, writing)
    try:
        return Numbers(np.array(texts, dtype=object).astype(float), told=tuple(told))
    except (TypeError, ValueError, OverflowError):
        pass
    commas = [text for text in texts if isinstance(text, str) and "," in text]
    if commas:
        texts, sentence = _without_commas(texts, commas, writing)
        told.append(sentence)
    has_unit = np.zeros(len(texts), bool)
    is_clock = np.zeros(len(texts), bool)  # beside which bare numbers are seconds
    values = np.full(len(texts), np.nan)
    for number, text in enumerate(texts):
        values[number], unit = _number_in(text)
        has_unit[number] = bool(unit)
        is_clock[number] = has_unit[number] and ":" in text
    if not has_unit.any():
        return Numbers(values, told=tuple(told))
    told.append("units stand behind the numbers, or they are written as hours:minutes:seconds")
    bare = ~has_unit & (values > 0)
    in_doubt = bare.any() and (has_unit & ~is_clock).any()
    return Numbers(values, "s", tuple(told), bare if in_doubt else None)


def _with_points(texts: list, writing: Writing) -> list:
    """The cells with decimal points, where a person has named the decimal sign; the other sign divides thousands."""
    other = "." if writing.decimal == "," else ","
    found = []
    for text in texts:
        if not isinstance(text, str) or not _POINTS_OR_COMMAS.match(text):
            found.append(text)
            continue
        whole, decimal, behind = text.partition(writing.decimal)
        groups = whole.lstrip("+-").split(other)
        if any(len(group) != 3 for group in groups[1:]) or other in behind:
            raise DataError(
                f"{writing.place}: {quoted(text)} is no number with decimal={writing.decimal}, for {other} then "
                "divides thousands"
            )
        found.append(whole.replace(other, "") + decimal.replace(",", ".") + behind)
    return found


def _without_points(texts: list, writing: Writing) -> tuple[list, list[str]]:
    """The cells without points that divide thousands, which are known by decimal commas, and what is told."""
    pointed = [text for text in texts if isinstance(text, str) and "." in text]
    if not pointed or not all(_THOUSANDS_POINT.fullmatch(text) for text in pointed):
        return texts, []
    if not writing.decimal_commas:
        if len(pointed) == len(texts):  # three decimal places throughout
            return texts, [f"{pointed[0]} has a decimal point; where it divides thousands: decimal=,"]
        if any("," not in str(text) for text in texts if text not in pointed):
            raise DataError(
                f"{writing.place}: {quoted(pointed[0])} may be {pointed[0]} or {pointed[0].replace('.', '')}, for "
                "other cells of its column have no point; say which sign is the decimal one: decimal=, or decimal=."
            )
    whole = []
    for text in texts:
        if isinstance(text, str) and "," not in text:
            text = text.replace(".", "")
        whole.append(text)
    return whole, []


def _without_commas(texts: list, commas: list[str], writing: Writing) -> tuple[list, str]:
    """The cells with decimal points, and what commas were taken for."""
    decimal = all(_DECIMAL_COMMA.fullmatch(text) for text in commas)
    thousands = all(_THOUSANDS_COMMA.fullmatch(text) for text in commas)
    either = decimal and thousands and not writing.decimal_commas
    if either and all(_THREE_BEHIND.fullmatch(text) for text in commas):
        raise DataError(
            f"{writing.place}: {quoted(commas[0])} may be {commas[0].replace(',', '.')} or "
            f"{commas[0].replace(',', '')}; say which sign is the decimal one: decimal=, or decimal=."
        )
    if decimal:
        return [_from_decimal_comma(text) for text in texts], "numbers have decimal commas"
    if thousands:
        found = [text.replace(",", "") if isinstance(text, str) else text for text in texts]
        return found, "commas divide thousands"
    return texts, "commas are no part of a number"


def _from_decimal_comma(text: object) -> object:
    """``1.234,5`` as ``1234.5``; a number with a point alone is left, unless the point can only divide thousands."""
    if not isinstance(text, str):
        return text
    if "," in text or _THOUSANDS_POINT.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text


def _number_in(cell: Any) -> tuple[float, str]:
    """The number of a cell, in seconds where it names a unit, and that unit."""
    try:
        return float(cell), ""
    except (TypeError, ValueError, OverflowError):
        if not isinstance(cell, str):
            return np.nan, ""
    clock = _CLOCK.fullmatch(cell)
    if clock:
        days, hours, minutes, seconds = clock.groups(default="0")
        whole = (int(days) * 24 + int(hours)) * 3600 + int(minutes) * 60
        return whole + float(seconds.replace(",", ".")), "s"
    found = _WITH_UNIT.fullmatch(cell)
    if found:
        unit = UNIT_OF.get(found[2].lower().replace("µ", "u").replace("μ", "u"))  # noqa: RUF001
        if unit:
            return in_seconds(float(found[1]), unit), unit
    return np.nan, ""


def whole_number(value: Any, writing: Writing) -> int | None:
    """A whole number >= 0 of at most 18 digits in a cell, or None."""
    if isinstance(value, str):
        text = value.strip()
        if writing.points_divide and re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", text):
            text = text.replace(".", "")
        text = text.removesuffix(".0")
        if text.isdecimal() and len(text) <= _DIGITS:
            return int(text)
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    if not 0 <= value < 10**_DIGITS or value != int(value):
        return None
    return int(value)


def in_seconds(values, unit: str):
    """Numbers of a unit in seconds, rounded once; those of no unit as they are."""
    if not unit:
        return values
    times, parts = UNITS[unit]
    if parts == 1:
        return values * times
    return values / parts
