"""Arguments that several commands take."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gcexp.errors import UserError
from gcexp.files import refuse_no_folder, refuse_special
from gcexp.schema import arguments, typed


def add_overrides(parser: ArgumentParser) -> None:
    """Hydra overrides, any number of them, and a folder of further options."""
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides: scheme=cgc n=30")
    parser.add_argument(
        "--config-dir",
        metavar="FOLDER",
        type=Path,
        help="further options, in folders such as scheme/ and code/",
    )
    parser.set_defaults(rest="overrides")


def add_search_folder(folder: Path) -> None:
    """Let this process, and those that it starts, find the options in a folder, as Hydra's ``--config-dir`` does."""
    if not folder.is_dir():
        raise UserError(f"--config-dir names {folder}, which is not a folder")
    folders = [str(folder.resolve())]
    known = os.environ.get("GCEXP_SEARCHPATH")
    if known:
        folders.append(known)
    os.environ["GCEXP_SEARCHPATH"] = os.pathsep.join(folders)


@contextmanager
def suggest_multirun(given: list[str]) -> Iterator[None]:
    """Where `given` stops what takes one run, and a key has several values, say what takes them."""
    try:
        yield
    except UserError as error:
        if any(re.match(r"[^=]+=[^\[{(\"']+,", text) for text in given):
            raise UserError(f"{error}; several values of a key: gcexp run -m") from error
        raise


def new_file(text: str) -> Path:
    """The path of an argument that names a file to write, refused before any work where no file can stand."""
    refuse_special(text)
    return Path(text)


def new_folder(text: str) -> Path:
    """The path of an argument that names a folder for results, refused before any work where no folder can stand."""
    if not text:
        raise ArgumentTypeError("a folder has a name, this one is empty")
    refuse_no_folder(text)
    return Path(text)


def add_folder(parser: ArgumentParser, purpose: str) -> None:
    """``-o``, a folder for results."""
    parser.add_argument(
        *("-o", "--output"), dest="folder", metavar="FOLDER", type=new_folder, help=f"folder {purpose}"
    )


def add_json(parser: ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="machine-readable")


def add_format(parser: ArgumentParser) -> None:
    """``--format`` of a table."""
    parser.add_argument(
        "--format", choices=("text", "csv", "markdown"), default="text", help="of the table (default: text)"
    )


def pairs(given: Iterable[str], place: str = "") -> dict[str, str]:
    """``KEY=VALUE`` words as a mapping of names; `place` begins a sentence about a key that is given twice."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise UserError(f"an argument is KEY=VALUE, got {text!r}")
        if key in found:
            raise UserError(f"{place}{key!r} is given twice")
        found[key] = value
    return found


def keywords(given: list[str], of: Callable) -> dict[str, Any]:
    """``KEY=VALUE`` words as keyword arguments of a function, checked against its signature but for the first one."""
    found = {key: typed(value) for key, value in pairs(given).items()}
    first = next(iter(of.__annotations__))
    if first in found:
        raise UserError(f"the {first} stands first, without a key")
    checked = arguments(of, {first: ""} | found, "", joint="")
    return {key: checked[key] for key in found}
