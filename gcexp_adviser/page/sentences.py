"""Sentences from templates: what is told, by facts that were computed before.

A template is written as its page is read. A paragraph of it is one sentence, or some that belong together, with empty
lines around it. A line break inside a paragraph is as good as a space, and nothing before a mark, so that a clause that
is not always told has lines of its own. An expression that may be empty stands on no line alone.
"""

from __future__ import annotations

import re
from functools import cache
from math import isinf, isnan
from typing import TYPE_CHECKING

from gcexp.words import joined
from gcexp_adviser.page.environment import environment
from gcexp_adviser.page.filters import (
    capital,
    counted,
    decimals,
    digits,
    percent,
    percent_to,
    plural,
    seconds,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = (capital, counted, decimals, digits, joined, percent, percent_to, plural, seconds)
_BETWEEN_PARAGRAPHS = re.compile(r"\n\s*\n")
_BREAK_BEFORE_MARK = re.compile(r"\s*\n\s*(?=[.,;:)])")
_BREAK = re.compile(r"\s*\n\s*")


def paragraphs(template: str, **facts: object) -> list[str]:
    """The paragraphs that a template makes of some facts, each in one line; empty ones are left out.

    Parameters
    ----------
    template : str
        A file below the adviser's folder, such as ``remedies/templates/advice.j2``.
    **facts
        What the template names. One that is not given is an error.

    Examples
    --------
    >>> paragraphs("diagnosis/templates/sentences.j2")
    Traceback (most recent call last):
    ...
    jinja2.exceptions.UndefinedError: 'told' is undefined
    """
    text = _templates().get_template(template).render(facts)
    lines = [_in_one_line(paragraph) for paragraph in _BETWEEN_PARAGRAPHS.split(text)]
    return [line for line in lines if line]


def phrase(template: str, macro: str, *facts: object) -> str:
    """What a macro of a template makes of some facts, in one line."""
    return _in_one_line(getattr(_templates().get_template(template).module, macro)(*facts))


def _in_one_line(text: str) -> str:
    r"""A paragraph without line breaks.

    >>> _in_one_line("Exclude worker 3 (slow\n), and\nshare its data\n.\n")
    'Exclude worker 3 (slow), and share its data.'
    """
    return _BREAK.sub(" ", _BREAK_BEFORE_MARK.sub("", text.strip()))


@cache
def _templates() -> Environment:
    """All templates of sentences, with the filters and tests that they need."""
    found = environment(finalize=_stripped)
    for function in _FILTERS:
        found.filters[function.__name__] = function
    found.tests |= {"infinite": isinf, "nan": isnan}
    return found


def _stripped(value: object) -> object:
    """What an expression gives, without the line break at the end of a macro and the space before a first element."""
    return value.strip() if isinstance(value, str) else value
