"""Which keys may a figure file have? A page made of the dataclasses that read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from gcexp.command.settings import described
from gcexp.figures.markdown import grid
from gcexp.figures.plots import KINDS
from gcexp.report.columns import Passages, Timings
from gcexp.report.figure import FigureFile
from gcexp.schema import wanted

HEADER = ("key", "default", "wants", "meaning")
_TOP = """\
# Keys of the figure file

What may stand in `<paper>/figures/<target>.yaml`, made of the classes that read it. Anything else is refused with
the nearest name before the first job. [An editor](../figure-file.md) completes and checks
the file by [figure.schema.json](../figure.schema.json).

"""


def document() -> str:
    """The page, in Markdown.

    Examples
    --------
    >>> text = document()
    >>> "### Drawing: bars" in text
    True
    """
    parts = [
        _TOP,
        "## The file\n\n",
        _about(FigureFile),
        "## Rows of kind timings\n\n",
        _about(Timings),
        "## First passages\n\n",
        _about(Passages),
        "## Plot\n\n",
    ]
    for kind, drawn in KINDS.items():
        parts.append(f"### Drawing: {kind}\n\n{_about(drawn)}")
    return "".join(parts).rstrip("\n") + "\n"


def _about(read: type) -> str:
    summary = " ".join((read.__doc__ or "").partition("\n\n")[0].split())
    return f"{summary}\n\n{grid(HEADER, keys(read))}\n"


def keys(read: type) -> Iterator[tuple[str, str, str, str]]:
    """Key, default, what it wants and what it means, for every field of a dataclass.

    Examples
    --------
    >>> next(keys(Timings))[:3]
    ('rows', 'seeds', "'seeds' or 'running' or 'iterations'")
    """
    said: dict[str, str] = {}
    for base in reversed(read.__mro__):
        said |= described(base)
    for field in dataclasses.fields(read):
        yield field.name, _default(field), wanted(read, field.name), said.get(field.name, "")


def _default(field: dataclasses.Field) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return ""
    if field.default is dataclasses.MISSING:
        return "needed"
    return "" if field.default in (None, "", ()) else str(field.default).lower()
