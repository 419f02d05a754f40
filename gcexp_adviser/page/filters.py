"""Numbers as sentences have them; the templates know these functions as filters."""

from __future__ import annotations


def percent(ratio: float, decimals: int = 0) -> str:
    """A ratio in per cent.

    >>> percent(0.1234), percent(0.1234, 1)
    ('12 %', '12.3 %')
    """
    return f"{100 * ratio:.{decimals}f} %"


def percent_to(low: float, high: float, decimals: int = 0) -> str:
    """An interval in per cent.

    >>> percent_to(0.11, 0.134), percent_to(0.11, 0.134, 1)
    ('11 to 13 %', '11.0 to 13.4 %')
    """
    return f"{100 * low:.{decimals}f} to {percent(high, decimals)}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "worker"), counted(2, "worker"), counted(2, "stretch")
    ('1 worker', '2 workers', '2 stretches')
    """
    return f"{number} {plural(noun, number)}"


def plural(noun: str, number: int) -> str:
    """A noun as it stands behind a number.

    >>> plural("worker", 1), plural("worker", 2), plural("stretch", 2)
    ('worker', 'workers', 'stretches')
    """
    if number == 1:
        return noun
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def digits(number: float, significant: int = 6) -> str:
    """A number with so many significant digits.

    >>> digits(0.12345, 3), digits(4.0), digits(1234567.0)
    ('0.123', '4', '1.23457e+06')
    """
    return f"{number:.{significant}g}"


def decimals(number: float, places: int) -> str:
    """A number with so many digits behind the point.

    >>> decimals(0.5, 2)
    '0.50'
    """
    return f"{number:.{places}f}"


def capital(text: str) -> str:
    """A text with a capital at the beginning.

    >>> capital(" times of Weibull's law")
    "Times of Weibull's law"
    """
    text = text.lstrip()
    return text[:1].upper() + text[1:]


def seconds(time: float) -> str:
    """A time in seconds.

    >>> seconds(3600.0), seconds(1007.3), seconds(1e6), seconds(0.25)
    ('3600 s', '1007 s', '1e+06 s', '0.25 s')
    """
    if 1000 <= time < 1e5:
        return f"{time:.0f} s"
    return f"{time:.4g} s"
