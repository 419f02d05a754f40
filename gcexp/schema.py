"""From what a person wrote (plain mappings) to a frozen dataclass, or one sentence that says what is wrong."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping

from gcexp.errors import UserError, unknown


def fill(cls: type, given: object, place: str):
    """Instance of the dataclass `cls` with its fields from `given`, checked against the annotations.

    Fields may be ``str``, ``bool``, ``int``, ``float``, ``dict``, ``tuple[...]``, ``Literal[...]``, another dataclass,
    or a union of these. Lists become tuples.

    Parameters
    ----------
    cls : type
        A dataclass.
    given : mapping
        What was written.
    place : str
        Where it was written, for the sentence.

    Raises
    ------
    UserError
        For an unknown or missing key and a value of the wrong kind.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Box:
    ...     width: float
    ...     colour: typing.Literal["red", "blue"] = "red"
    >>> fill(Box, {"width": 2}, "box")
    Box(width=2.0, colour='red')
    >>> fill(Box, {"width": 2, "color": "red"}, "box")
    Traceback (most recent call last):
    gcexp.errors.UserError: box: unknown key 'color'; did you mean 'colour'? (allowed: colour, width)
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if not isinstance(given, Mapping):
        raise UserError(f"{place}: wants keys ({', '.join(fields)}), got {given!r}")
    for name in given:
        if name not in fields:
            raise UserError(f"{place}: {unknown('key', name, fields)}")
    for name, field in fields.items():
        if name not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise UserError(f"{place}: {name!r} is missing")
    hints = typing.get_type_hints(cls)
    values = {name: _value(hints[name], value, f"{place}: {name}") for name, value in given.items()}
    try:
        return cls(**values)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def is_number(value: object) -> bool:
    """Whether `value` is a number and not a truth value.

    Examples
    --------
    >>> is_number(1), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(hint, value, place: str):
    """`value` as one of the kinds in `hint`."""
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    options = typing.get_args(hint) if union else (hint,)
    for option in options:
        kind = typing.get_origin(option) or option
        if kind is typing.Literal:
            choices = typing.get_args(option)
            if value in choices:
                return value
            raise UserError(f"{place}: {unknown('choice', value, map(str, choices))}")
        if dataclasses.is_dataclass(kind):
            return fill(kind, value, place)
        if kind is float and is_number(value) and not math.isnan(value):
            return float(value)
        if kind is tuple and isinstance(value, list | tuple):
            parts = typing.get_args(option)
            if parts[-1:] == (Ellipsis,):
                parts = parts[:1] * len(value)
            if len(parts) == len(value):
                return tuple(_value(part, v, place) for part, v in zip(parts, value, strict=True))
        if kind is dict and isinstance(value, Mapping):
            return dict(value)
        plain = kind in (bool, str, int, types.NoneType)
        if plain and isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
    raise UserError(f"{place} wants {' or '.join(map(_spelled, options))}, got {value!r}")


def _spelled(option) -> str:
    """A kind of value in words."""
    if typing.get_origin(option) is tuple:
        parts = typing.get_args(option)
        inner = _spelled(parts[0])
        return f"a list of {inner}s" if parts[-1] is Ellipsis else f"{len(parts)} {inner}s"
    words = {bool: "true or false", str: "text", int: "whole number", float: "number", dict: "mapping"}
    return words.get(option, "nothing" if option is types.NoneType else str(option))
