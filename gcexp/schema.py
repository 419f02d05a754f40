"""What is typed as text is read here (`typed`), and whether values fit what a signature asks for is checked here: for
option files, figure files, formulas and constructors.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, wraps
from numbers import Integral, Rational, Real
from typing import Any, TypeGuard

from gcexp.errors import ParameterError, UserError, unknown

_SEQUENCES = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, list)


# As Hydra's grammar of overrides has them; a number with a leading zero is text there, and so never octal.
_UNSIGNED, _DIGITS = r"(?:0|[1-9](?:_?\d)*)", r"\d(?:_?\d)*"
_WHOLE = re.compile(rf"[+-]?{_UNSIGNED}", re.ASCII)
_REAL = re.compile(
    rf"[+-]?(?:(?:{_UNSIGNED}\.?|{_UNSIGNED}?\.{_DIGITS})(?:e[+-]?{_DIGITS})?|\.?inf|\.?nan|infinity)",
    re.ASCII | re.IGNORECASE,
)
_RATIO = re.compile(rf"([+-]?{_UNSIGNED})/({_UNSIGNED})", re.ASCII)
_NAMED = {"null": None, "true": True, "false": False}


def typed(text: str, fractions: bool = False) -> Any:
    """Value of a word that a person typed: in an override, a sweep, a formula, a cell, after ``gcexp error``.

    ``null``, ``true``, ``false``, ``inf``, ``nan`` in small or large letters, and numbers, as Hydra's grammar of
    overrides has them; everything else is text, ``010``, ``0x1F``, ``yes`` and ``none`` too. Two things differ from
    Hydra: ``.inf``, ``.nan`` and ``Infinity`` are what YAML and JSON mean by them, and with `fractions`, as in
    formulas and tables, ``2/3`` is one. (A config holds only what JSON and file names can hold.) An option file is no
    typed word: it is YAML as OmegaConf reads it, where ``yes`` is true and ``010`` is eight.

    >>> [typed(word) for word in ("12", "1e-3", "inf", "null", "True", "010", "cgc", "2/3")]
    [12, 0.001, inf, None, True, '010', 'cgc', '2/3']
    """
    if text.lower() in _NAMED:
        return _NAMED[text.lower()]
    ratio = _RATIO.fullmatch(text)
    try:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _REAL.fullmatch(text):
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        if fractions and ratio is not None:
            return Fraction(int(ratio[1]), int(ratio[2]))
    except ZeroDivisionError:
        raise ParameterError(f"{text} divides by zero") from None
    except ValueError:
        raise ParameterError(f"{quoted(text)} has more digits than are read") from None
    return text


def arguments(
    of: Callable, given: object, place: str, kind: str = "key", joint: str = ": ", typed: bool = True
) -> dict[str, Any]:
    """`given` as keyword arguments of `of`, every name and value checked against its signature.

    Annotations may be ``str``, ``bool``, ``int``, ``float``, ``Fraction``, ``None``, ``Literal[...]``, lists, tuples,
    mappings (to any depth), ``ndarray``, ``Callable``, a dataclass (from a mapping, or an instance), a protocol (whose
    methods must be there), any other class, or a union of these. What has none is not checked. A whole number for a
    float becomes one, and a list for a tuple as well.

    In a sentence `place` says where it was written, `kind` what a name is called, and `joint` stands between the place
    and a name. Without `typed` names are checked, and values are not.

    >>> def area(width: float, height: float = 1.0, *, unit: typing.Literal["m", "ft"] = "m"): ...
    >>> arguments(area, {"width": 2}, "area")
    {'width': 2.0}
    >>> arguments(area, {"width": "2"}, "area")
    Traceback (most recent call last):
    gcexp.errors.UserError: area: width must be a number, got '2'
    >>> arguments(area, {"width": 2, "high": 1}, "")
    Traceback (most recent call last):
    gcexp.errors.UserError: unknown key 'high'; did you mean 'height'? (allowed: height, unit, width)
    """
    try:
        _, hints = _signature(of)
        names, required, rest = _names(of)
    except (TypeError, ValueError):
        raise UserError(f"{getattr(of, '__name__', of)} does not say which arguments it takes") from None
    if not isinstance(given, Mapping):
        raise UserError(f"{place} must be a mapping with the keys {', '.join(names)}, got {quoted(given)}")
    before = f"{place}: " if place else ""
    for name in given:
        if name not in names and (rest is None or not isinstance(name, str)):
            raise UserError(f"{before}{unknown(kind, name, names)}")
    for name in required:
        if name not in given:
            raise UserError(f"{before}{name!r} is missing (it takes {', '.join(names)})")
    if not typed:
        return dict(given)
    found = {}
    for name, value in given.items():
        parameter = name if name in names else rest
        hint = hints.get(str(parameter), Any)
        found[name] = fitted(hint, value, f"{place}{joint}{name}")
    return found


def parameters_of(of: Callable) -> frozenset[str]:
    """Names of the parameters of a class or function; none where it does not say which it takes."""
    try:
        signature, _ = _signature(of)
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(signature.parameters)


def fill(cls: type, given: object, place: str):
    """Instance of the dataclass `cls` with its fields from the mapping `given`; see `arguments`.

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
    values = arguments(cls, given, place)
    try:
        return cls(**values)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def fitted(hint: Any, value: Any, place: str) -> Any:
    """`value` as one of the kinds in the annotation `hint`.

    >>> fitted(dict[str, list[int]], {"a": [1, True]}, "sets")
    Traceback (most recent call last):
    gcexp.errors.UserError: sets: a: entry 2 must be a whole number, got True
    """
    options = _options(hint)
    own_type = type(value)
    tried = options
    if own_type in options:
        if own_type in _AS_IT_IS:
            return value
        tried = (own_type, *options)  # a fraction stays one
    for option in tried:
        found = _as(option, value, place)
        if found is not _MISFIT:
            return found
    choices: list = []
    for option in options:
        if typing.get_origin(option) is typing.Literal:
            choices += typing.get_args(option)
    if choices and isinstance(value, str):
        raise UserError(f"{place}: {unknown('choice', value, map(str, choices))}")
    raise UserError(f"{place} must be {_kinds(hint)}, got {quoted(value)}{_spelling(options, value)}")


def _spelling(options: tuple, value: Any) -> str:
    """How to write what was meant, where it stands there as text."""
    if not isinstance(value, str):
        return ""
    ratio = _RATIO.fullmatch(value)
    if float in options and ratio and int(ratio[2]) != 0:
        return f"; write a fraction as a decimal: {int(ratio[1]) / int(ratio[2]):.12g}"
    if types.NoneType in options and value.lower() == "none":
        return "; nothing is written null"
    return ""


def _may_be_looked_into(value: object) -> bool:
    """Whether going through a value uses nothing up, as it would a generator."""
    if isinstance(value, str | bytes | list | tuple | dict) or _is_array(type(value)):
        return True
    return not isinstance(value, collections.abc.Iterable)


def checked_fields(*classes: Any) -> None:
    """Let dataclasses check what they are made of, as `checked` has it, but keep numbers as they are written."""
    for cls in classes:
        if dataclasses.is_dataclass(cls):
            cls.__init__ = checked(cls.__init__, plain=False)  # type: ignore[misc, method-assign]


def checked(build: Callable, plain: bool = True) -> Callable:
    """The constructor `build`, in which what does not fit its annotations, or into memory, is one sentence.

    Parameters that are annotated as numbers (or none) become `plain` Python numbers. What can be gone through once
    only, such as a generator, is not looked into. Numbers `n` of workers and `k` of partitions are at most the
    `most_workers` and `most_partitions` of the class.

    >>> class Box:
    ...     @checked
    ...     def __init__(self, width: int, depth: float | None = None):
    ...         self.width = width
    >>> Box(3).width
    3
    >>> Box("3")
    Traceback (most recent call last):
    gcexp.errors.ParameterError: Box: width must be a whole number, got '3'
    """

    @wraps(build)
    def init(self, *args, **kwargs):
        signature, hints = _signature(build)
        name = type(self).__name__
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise ParameterError(f"{name}: {error}") from None
        for key, value in given.arguments.items():
            hint = hints.get(key, Any)
            is_number_wanted = _is_for_numbers(hint)
            if not is_number_wanted and not _may_be_looked_into(value):
                continue
            try:
                fitting = fitted(hint, value, f"{name}: {key}")
            except UserError as error:
                raise ParameterError(str(error)) from None
            if is_number_wanted and plain:
                given.arguments[key] = fitting
        for key, counted in (("n", "workers"), ("k", "partitions")):
            count = given.arguments.get(key)
            if not is_number(count):
                continue
            most = getattr(type(self), f"most_{counted}", math.inf)
            if count > most:
                raise ParameterError(
                    f"{name}: {key} is a number of {counted} up to {most}, got {quoted(count)}"
                )
        try:
            build(*given.args, **given.kwargs)
        except (MemoryError, OverflowError, ValueError) as error:
            # As numpy says of an array with too many numbers.
            if isinstance(error, ValueError) and "Maximum allowed" not in str(error):
                raise
            raise ParameterError(f"{name} does not fit into memory: {error}") from None

    return init


def fits(cls: type, kind: type) -> bool:
    """Whether `cls` is a subclass of `kind`; of a protocol: whether it has its methods.

    >>> fits(bool, int), fits(dict, typing.SupportsFloat)
    (True, False)
    """
    if not getattr(kind, "_is_protocol", False):
        return issubclass(cls, kind)
    for name, member in vars(kind).items():
        is_private = name.startswith("_") and not name.startswith("__")
        if not inspect.isfunction(member) or is_private or name in vars(object):
            continue
        if not callable(getattr(cls, name, None)):
            return False
    return True


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether `value` is a whole number and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def quoted(value: object, letters: int = 100) -> str:
    """A value in a sentence, cut where it is long.

    >>> quoted("x"), quoted([1, 2, 3, 4], letters=8)
    ("'x'", '[1, 2, 3...')
    """
    if isinstance(value, Real) and hasattr(value, "item"):  # numpy writes np.float64(0.5)
        value = value.item()
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a number of thousands of digits"
    if "\n" in text:  # of an array, say: a sentence is one line
        text = " ".join(text.split())
    if len(text) > letters:
        return f"{text[:letters]}..."
    return text


_MISFIT: Any = object()
#: Kinds whose values need no second look where they are asked for, as nearly all are.
_AS_IT_IS = (bool, int, str, types.NoneType)
_NUMBERS = (int, float, Fraction)
_ONE: dict[Any, str] = {
    bool: "true or false",
    str: "text",
    int: "a whole number",
    float: "a number",
    Fraction: "a fraction such as 2/3",
    dict: "a mapping",
    collections.abc.Mapping: "a mapping",
    collections.abc.Callable: "a function",
    types.NoneType: "nothing",
    **dict.fromkeys((tuple, *_SEQUENCES), "a list"),
}
_SEVERAL: dict[Any, str] = {
    bool: "truth values",
    str: "texts",
    int: "whole numbers",
    float: "numbers",
    Fraction: "fractions such as 2/3",
    dict: "mappings",
    collections.abc.Mapping: "mappings",
    collections.abc.Callable: "functions",
    types.NoneType: "nothing",
    **dict.fromkeys((tuple, *_SEQUENCES), "lists"),
}


@cache
def _options(hint: Any) -> tuple:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return typing.get_args(hint)
    if hint is None:
        return (types.NoneType,)
    return (hint,)


@cache
def _is_for_numbers(hint: Any) -> bool:
    """Whether an annotation asks for a number, or for none."""
    return {*_options(hint)} <= {int, float, types.NoneType}


def _as(option: Any, value: Any, place: str) -> Any:
    """`value` as the one kind `option`, or `_MISFIT`."""
    if option in _NUMBERS:
        return _as_number(option, value)
    kind = typing.get_origin(option) or option
    parts = typing.get_args(option)
    if kind is typing.Literal:
        return _as_choice(parts, value)
    if kind is Any or not isinstance(kind, type):  # a type variable, or a name that only a type checker knows
        return value
    if kind in (tuple, *_SEQUENCES):
        return _as_list(kind, parts, value, place)
    if kind in (dict, collections.abc.Mapping) and isinstance(value, Mapping):
        return _as_mapping(parts, value, place)
    if _is_array(kind):
        return _array(value)
    if kind is collections.abc.Callable:
        return value if callable(value) else _MISFIT
    if fits(type(value), kind):
        return value
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return fill(kind, value, place)
    return _MISFIT


def _as_choice(choices: tuple, value: Any) -> Any:
    """The choice that is the value, or `_MISFIT`; ``True`` is no ``1``."""
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    return _MISFIT


def _as_mapping(parts: tuple, value: Mapping, place: str) -> dict:
    """A mapping whose keys and entries are each of a kind."""
    of_keys, of_entries = parts or (Any, Any)
    found = {}
    for key, entry in value.items():
        fitted_key = fitted(of_keys, key, f"{place}: a key")
        found[fitted_key] = fitted(of_entries, entry, f"{place}: {key}")
    return found


def _as_number(kind: type, value: Any) -> Any:
    """A number as one of the kind ``int``, ``float`` or ``Fraction``, or `_MISFIT`; a truth value is no number."""
    if isinstance(value, bool):
        return _MISFIT
    if kind is float and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:  # a number that is larger than any float
            return _MISFIT
        return _MISFIT if math.isnan(number) else number
    if kind is int and isinstance(value, Integral):
        return int(value)
    if kind is int and isinstance(value, Rational) and value.denominator == 1:
        return int(value.numerator)
    if kind is Fraction and isinstance(value, Rational):
        return Fraction(value)
    return _MISFIT


def _as_list(kind: type, parts: tuple, value: Any, place: str) -> Any:
    """A list, a tuple or an array as a tuple, or as a list whose entries are of a kind, or `_MISFIT`."""
    is_listed = isinstance(value, list | tuple)
    if kind is tuple:
        if not is_listed:
            return _MISFIT
        if not parts:
            return tuple(value)
        if parts[-1] is Ellipsis:
            parts = parts[:1] * len(value)
        if len(parts) != len(value):
            return _MISFIT
        return tuple(_entries(parts, value, place))
    if is_listed or (_is_array(type(value)) and value.ndim):
        return _entries((parts or (Any,)) * len(value), value, place)
    return _MISFIT


def _kinds(hint: Any, several: bool = False) -> str:
    """The kinds of an annotation in words."""
    words = " or ".join(_spelled(option, several) for option in _options(hint))
    if words.endswith(" or nothing or nothing"):  # of a list that may be nothing, and of its entries
        return words.removesuffix(" or nothing")
    return words


def _entries(hints, values, place: str) -> list:
    found = []
    for i, (hint, value) in enumerate(zip(hints, values, strict=True), 1):
        found.append(fitted(hint, value, f"{place}: entry {i}"))
    return found


def _is_array(kind: type) -> bool:
    return kind.__name__ == "ndarray" and kind.__module__ == "numpy"


def _array(value: Any) -> Any:
    if _is_array(type(value)):
        return value
    import numpy as np  # where an array is asked for, it is loaded already

    if not isinstance(value, list | tuple):
        return _MISFIT
    try:
        found = np.array(value)
        if found.dtype.kind == "O":  # fractions
            found = found.astype(float)
    except (TypeError, ValueError):  # ragged, or no numbers
        return _MISFIT
    if found.dtype.kind not in "biuf":
        return _MISFIT
    return found


def _spelled(option: Any, several: bool = False) -> str:
    """A kind of value in words: one, or `several` of them."""
    kind = typing.get_origin(option) or option
    parts = typing.get_args(option)
    a_list = "lists" if several else "a list"
    if kind is typing.Literal:
        return " or ".join(map(repr, parts))
    if _is_array(kind):
        return f"{a_list} of numbers"
    if kind is tuple and parts and parts[-1] is not Ellipsis:
        if len(set(parts)) == 1:
            return f"{'lists of ' * several}{len(parts)} {_kinds(parts[0], several=True)}"
        return f"{a_list} of {' and '.join(map(_spelled, parts))}"
    if kind in (tuple, *_SEQUENCES) and parts:
        return f"{a_list} of {_kinds(parts[0], several=True)}"
    if dataclasses.is_dataclass(kind):
        kind = dict
    words = _SEVERAL if several else _ONE
    if kind in words:
        return words[kind]
    name = getattr(kind, "__name__", str(option))
    if several:
        return f"{name}s"
    article = "an" if name[0] in "AEIOU" else "a"
    return f"{article} {name}"


@cache
def _signature(of: Callable) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(of), _hints(of)


@cache
def _names(of: Callable) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Names that arguments may have, those that must be there, and what takes all others, such as ``**options``."""
    names: list[str] = []
    required: list[str] = []
    rest = None
    signature, _ = _signature(of)
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            rest = p.name
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            names.append(p.name)
            if p.default is p.empty:
                required.append(p.name)
    return tuple(names), tuple(required), rest


def _hints(of: Any) -> dict[str, Any]:
    """Annotations of the parameters; those whose names only a type checker knows are left out."""
    holder = of
    if isinstance(of, type) and not dataclasses.is_dataclass(of):
        holder = of.__init__  # type: ignore[misc]
    try:
        return typing.get_type_hints(holder)
    except (NameError, AttributeError):
        pass
    names = vars(inspect.getmodule(holder) or types)
    found: dict[str, Any] = {}
    for name, hint in getattr(holder, "__annotations__", {}).items():
        one = types.SimpleNamespace(__annotations__={name: hint})
        try:
            found |= typing.get_type_hints(one, globalns=names)
        except (NameError, AttributeError):
            continue
    return found
