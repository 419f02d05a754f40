"""Which data set has this name? One that the package knows, or one that an option file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcexp.errors import UserError, unknown
from gcexp.run.options import option_file, options, read_yaml

if TYPE_CHECKING:  # the dry run of a workflow asks only what a data set depends on
    from gcexp.data.sources import Source


def source_of(name: str) -> Source:
    """The data set of that name.

    Raises
    ------
    UserError
        If there is none, if its option file describes none, or has a name that the package uses.
    """
    from gcexp.data import datasets
    from gcexp.data.described import Description
    from gcexp.data.sources import SOURCES
    from gcexp.schema import fill

    described = options("dataset")
    if name in SOURCES and name in described:
        raise UserError(
            f"{option_file('dataset', name)}: the package has a data set {name}; choose another name"
        )
    if name in SOURCES:
        return SOURCES[name]
    if name not in described:
        raise UserError(unknown("data set", name, sorted({*datasets(), *described})))
    path = option_file("dataset", name)
    return fill(Description, read_yaml(path), str(path)).source(name)


def has_labels(name: str) -> bool:
    """Whether what a data set asks for are classes, not real numbers; true of a name that nobody knows.

    Examples
    --------
    >>> has_labels("digits"), has_labels("linear_mixture")
    (True, False)
    """
    if name in options("dataset"):
        return read_yaml(option_file("dataset", name)).get("kind") != "real"
    from gcexp.data.sources import SOURCES

    return name not in SOURCES or SOURCES[name].classes is not None


def depends(name: str) -> dict:
    """What the prepared data depend on beside code: the values of the option file, if one describes them."""
    return {"dataset": read_yaml(option_file("dataset", name))} if name in options("dataset") else {}
