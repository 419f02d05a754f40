"""Write files, and folders, completely or not at all, and name files that are read on a person's behalf."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from gcexp.errors import DataError, UserError

_HALF = re.compile(r"\..+\.[0-9a-f]{32}(\.[^.]+)?")  # the names that `written` gives
_PACKAGE = Path(__file__).resolve().parent
#: Whom `used` tells: one for each block of `telling_used_files` that is open, none outside of such blocks.
_open_blocks: ContextVar[tuple[Callable[[str], object], ...]] = ContextVar("open_blocks", default=())


def bundled(name: Path | str) -> Path:
    """A file or folder that comes with the package: inside it in a wheel, beside it in a clone."""
    inside = _PACKAGE / name
    if inside.exists():
        return inside
    return _PACKAGE.parent / name


def used(path: Path | str) -> None:
    """Name a file whose content decides a result, so that the result is made again when the file changes.

    Every reader of a person's own files calls it before it reads: of traces, data and styles. A reader that remembers
    what it has read calls it also when it answers from memory. Code of a person's own may call it for the files that it
    opens. The file need not be there: one that appears later is a change too.

    Parameters
    ----------
    path : path
        A file, a folder (which counts by the names and contents of its files) or a pattern such as ``raw/*.csv``
        (which counts by what it matches). It may begin with ``~``.

    Examples
    --------
    >>> names = []
    >>> with telling_used_files(names.append):
    ...     used("times.csv")
    >>> [Path(name).name for name in names]
    ['times.csv']
    >>> used("other.csv")  # outside of such a block nothing happens
    """
    name = os.path.abspath(os.path.expanduser(path))
    for tell in _open_blocks.get():
        tell(name)


@contextmanager
def telling_used_files(tell: Callable[[str], object]) -> Iterator[None]:
    """Tell the absolute path of each file that `used` names while a block runs; an outer block is told it too."""
    token = _open_blocks.set((*_open_blocks.get(), tell))
    try:
        yield
    finally:
        _open_blocks.reset(token)


def read_json(path: Path | str) -> Any:
    """Read the JSON file of an earlier job."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        told = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path} ({told}); delete it and make it again") from None


def rows_of(path: Path, columns: Sequence[str], more: bool = False) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV file with these columns, with `more` in any order, each behind its place; none without a file."""
    if not path.is_file():
        return
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = list(reader.fieldnames or ())
            found = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (csv.Error, ValueError) as error:  # ValueError: no UTF-8
        raise DataError(f"{path}: is no CSV file in UTF-8 ({error})") from None
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}: the column {name!r} stands twice")
    has_them = names == [*columns]
    if more:
        has_them = set(columns) <= set(names)
    if not has_them:
        raise DataError(f"{path}: the columns must be {', '.join(columns)}, got {', '.join(names)}")
    for line, row in found:
        place = f"{path}: line {line}"
        if None in row or None in row.values():
            raise DataError(f"{place}: a row must have {len(names)} cells")
        yield place, row


@contextmanager
def writable(path: Path | str) -> Iterator[None]:
    """Turn an error of the file system about writing `path` into a `UserError`."""
    try:
        yield
    except shutil.Error as error:  # of a whole folder: what went wrong with the first file
        _, _, reason = error.args[0][0]
        raise UserError(f"{path}: cannot be written ({reason})") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


def refuse_special(path: Path | str) -> None:
    """Raise `UserError` for a path where no file can be written: a folder, a device, an empty name."""
    path = Path(path)
    with writable(path):  # its name may be too long to ask
        is_folder = path.is_dir()
        is_special = path.exists() and not path.is_file()
    if is_folder:
        raise UserError(f"{path}: cannot be written (it is a folder)")
    if is_special:  # as root, a rename would replace the device by a file
        raise UserError(f"{path}: cannot be written (it is no regular file)")


def refuse_no_folder(path: Path | str) -> None:
    """Raise `UserError` for a path that cannot be used as a folder: a file, a path below one, a read-only folder."""
    with writable(path):
        there = Path(path)
        while not there.exists():
            there = there.absolute().parent
        if not there.is_dir():
            raise UserError(f"{path}: cannot be a folder, since {there} is not one")
        if not os.access(there, os.W_OK):
            raise UserError(f"{path}: cannot be written (no permission in {there})")


@contextmanager
def written(path: Path | str) -> Iterator[Path]:
    """Temporary path beside `path`, renamed to it when the block ends well and removed otherwise."""
    path = Path(path)
    refuse_special(path)
    # The suffix stays last, because matplotlib and numpy choose the format by it. Not tempfile: its files are private.
    temporary = _beside(path)
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as held:  # the lock ends with the process, too
                with suppress(OSError):  # a file system without locks: what is left there stays
                    fcntl.flock(held, fcntl.LOCK_SH)
                yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def written_folder(path: Path | str) -> Iterator[Path]:
    """Temporary folder beside `path`, which takes its place when the block ends well and is removed otherwise.

    A folder that is there already stays as it is until then, and what was in it goes.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "tables"
    >>> for name in ("a.csv", "b.csv"):
    ...     with written_folder(place) as fresh:
    ...         _ = (fresh / name).write_text("1")
    >>> [path.name for path in place.parent.rglob("*")]
    ['tables', 'b.csv']
    """
    path = Path(path)
    temporary = _beside(path)
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.mkdir()
            yield temporary
            _take_place(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _take_place(fresh: Path, path: Path) -> None:
    """Rename a folder to `path`; one that is there already is put aside, and back where this fails."""
    if not path.exists():
        fresh.rename(path)
        return
    former = _beside(path)
    path.rename(former)
    try:
        fresh.rename(path)
    except BaseException:
        former.rename(path)
        raise
    shutil.rmtree(former, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A name of its own in the same folder, which is hidden and whose suffix stays last."""
    return path.with_name(f".{path.stem}.{uuid4().hex}{path.suffix}")


def write_text(path: Path | str, text: str) -> None:
    """Write a text file, whole or not at all, in UTF-8 with line feeds."""
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def remove_half_written(*folders: Path | str) -> list[Path]:
    """Remove half-written files of killed processes under some folders, but none that a running process writes.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> left = folder / f".table.{uuid4().hex}.csv"
    >>> _ = left.write_text("a,"), (folder / "table.csv").write_text("a,b")
    >>> with written(folder / "plot.pdf") as living:
    ...     removed = remove_half_written(folder)
    ...     living.exists(), removed == [left]
    (True, True)
    """
    removed = []
    for folder in folders:
        for where, _, names in os.walk(folder):
            for name in names:
                if not _HALF.fullmatch(name):
                    continue
                path = Path(where, name)
                with suppress(OSError), open(path) as file:  # gone meanwhile, or a living process writes it
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                    removed.append(path)
    return removed
