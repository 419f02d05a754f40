"""Optional members of waiting rules, placements, loads, delay models and tasks: one place for each kind, with defaults.

These parts need not inherit from anything, so that a person's own class works as it is. What such a class must have
stands in a protocol. What it may have beside that are its *extras*: the fields of one dataclass beside the protocol,
each with the value that holds for a class without it. Whoever needs an extra reads it with `extras`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Extras = TypeVar("Extras", bound="DataclassInstance")


def extras(kind: type[Extras], part: object) -> Extras:
    """The extras that a part has, and the defaults of all others.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are the extras, such as `gcexp.schemes.waiting.WaitingExtras`.
    part : object
        An object or a class; of None, which stands for a part that is not there, all extras are defaults.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Kind:
    ...     stays: bool = False
    ...     learned: bool = False
    >>> class Mine:
    ...     stays = True
    >>> extras(Kind, Mine()), extras(Kind, None)
    (Kind(stays=True, learned=False), Kind(stays=False, learned=False))
    """
    found = {field.name: getattr(part, field.name, field.default) for field in fields(kind)}
    return kind(**found)
