"""What stands at a path, as a few letters that change when its content does."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_SIGNS_OF_A_PATTERN = "*?["


def content_hash(path: Path | str | None) -> str | None:
    """What a file, a folder or a pattern such as ``raw/*.csv`` holds, in 16 hex digits; None where nothing is there.

    A Python module counts by its text without comments and docstrings, any other file by its bytes. A folder or a
    pattern counts by the names and contents of the files in it or that it matches. What begins with a dot there, and
    bytecode, does not count.
    """
    if path is None:
        return None
    place = os.path.abspath(os.path.expanduser(path))
    try:
        if os.path.isdir(place):
            return _content_of_files(_files_in(place), place)
        if os.path.exists(place):
            stat = os.stat(place)
            return _content_of_file(place, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
        if any(sign in place for sign in _SIGNS_OF_A_PATTERN):
            matching = _files_matching(place)
            if matching:
                return _content_of_files(matching, os.getcwd())
    except (OSError, ValueError):  # ValueError: a text with a zero byte
        return None
    return None


def _files_in(folder: str) -> set[str]:
    """All files in a folder and below."""
    files = set[str]()
    for path in glob.glob(os.path.join(glob.escape(folder), "**"), recursive=True):
        is_bytecode = "__pycache__" in path.split(os.sep)
        if not os.path.isdir(path) and not is_bytecode:
            files.add(path)
    return files


def _files_matching(pattern: str) -> set[str]:
    """All files that a pattern matches, and those in folders that it matches."""
    files = set[str]()
    for path in glob.glob(pattern, recursive=True):
        if os.path.isdir(path):
            files |= _files_in(path)
        else:
            files.add(path)
    return files


def _content_of_files(files: set[str], folder: str) -> str:
    """Names, relative to a folder, and contents of some files."""
    lines = [f"{os.path.relpath(file, folder)} {content_hash(file)}" for file in sorted(files)]
    return short_hash("\n".join(lines).encode("utf-8", "surrogateescape"))


@cache  # a plan asks for the same files for many jobs; a file that changes has another time
def _content_of_file(path: str, *_times_and_size: int) -> str:
    if path.endswith(".py"):
        text = without_remarks(Path(path).read_text("utf-8", "surrogateescape"))
        return short_hash(text.encode("utf-8", "surrogateescape"))
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def without_remarks(text: str) -> str:
    """A Python text without comments, docstrings and empty lines: the same under every version of Python."""
    lines = text.splitlines()
    try:
        remarks = sorted(_remarks(text))
    except (tokenize.TokenError, SyntaxError):  # no Python: any edit counts
        return text
    for (first, begin), (last, end) in reversed(remarks):
        left = lines[first - 1][:begin] + lines[last - 1][end:]
        lines[first - 1 : last] = [left, *[""] * (last - first)]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _remarks(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where comments and docstrings stand: a docstring is a string that is a statement of its own."""
    begins = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    before = tokenize.NEWLINE
    statement = None  # a string that begins a statement, until its line ends
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end
            continue
        if token.type == tokenize.NL:
            continue
        if statement is not None and token.type == tokenize.NEWLINE:
            yield statement.start, statement.end
        statement = None
        if token.type == tokenize.STRING and before in begins:
            statement = token
        before = token.type


def short_hash(data: bytes) -> str:
    """A hash of 16 hex digits."""
    return hashlib.sha256(data).hexdigest()[:16]
