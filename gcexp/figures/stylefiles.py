"""The files that say how figures look, and whether what stands in them is right.

A plan asks this of every figure that is drawn, so that nothing here needs matplotlib.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.errors import DataError, UserError, require_known, unknown
from gcexp.files import bundled
from gcexp.schema import fitted

STYLE = bundled("conf/style/paper.mplstyle")
#: Looks of schemes: ours, and beside them those of a project.
LOOKS = bundled("conf/style/looks.toml")
OWN_LOOKS = Path("conf/style/looks.toml")


@dataclass(frozen=True)
class Look:
    """How a name is drawn: the place in the style's cycle of colours, dashes and markers, and its marker."""

    place: int
    is_open: bool  # the marker, which else is filled


def known_looks() -> dict[str, Look]:
    """The look of every name that has one of its own.

    Raises
    ------
    UserError
        For a file that is no TOML, and for an unknown key, look or form in it.
    """
    found: dict[str, Look] = {}
    names: list[str] = []
    for path in dict.fromkeys([LOOKS.resolve(), OWN_LOOKS.resolve()]):
        if not path.is_file():
            continue
        given = _toml(path)
        names = fitted(list[str], given.get("names", names), f"{path}: names")
        schemes = fitted(dict[str, str], given.get("schemes", {}), f"{path}: schemes")
        for scheme, words in schemes.items():
            colour, _, form = words.partition(", ")
            require_known("look", colour, names, f"{path}: {scheme!r}")
            require_known("form", form or "open", ["open"], f"{path}: {scheme!r}")
            found[scheme] = Look(names.index(colour), is_open=form == "open")
    return found


def _toml(path: Path) -> dict[str, Any]:
    """What a file of looks holds."""
    try:
        given = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    for key in given:
        require_known("key", key, ["names", "schemes"], str(path))
    return given


def check_style(style: Path) -> None:
    """Whether a style file has one ``key: value`` of matplotlib in each line, and whether the looks are right.

    Values are checked by matplotlib, when a figure is drawn: to import it takes longer than the rest of a plan.

    Raises
    ------
    UserError
        For the first line that is wrong, with its number.
    """
    known = _matplotlib_keys()
    for number, line in enumerate(_text(style).splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        key, colon, _ = content.partition(":")
        if not colon:
            raise UserError(f"{style}: line {number}: a line is KEY: VALUE, got {content!r}")
        if known and key.strip() not in known:
            raise UserError(f"{style}: line {number}: {unknown('key', key.strip(), known)}")
    known_looks()


def _text(path: Path) -> str:
    """A text file of a person's own."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValueError as error:  # no UTF-8
        raise UserError(f"{path}: is no text in UTF-8 ({error})") from None


@cache
def _matplotlib_keys() -> frozenset[str]:
    """The keys that matplotlib's own template lists; none where it is not installed."""
    try:
        spec = importlib.util.find_spec("matplotlib")
    except ModuleNotFoundError:
        return frozenset()
    if spec is None or spec.origin is None:
        return frozenset()
    template = Path(spec.origin).parent / "mpl-data" / "matplotlibrc"
    if not template.is_file():
        return frozenset()
    listed = re.findall(r"^#*([a-z][a-zA-Z0-9_.-]*) *:", template.read_text("utf-8"), re.MULTILINE)
    return frozenset(listed)
