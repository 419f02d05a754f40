"""What stands at a path, as a few letters that change when its content does."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import tokenize
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
            return _content_of_file(place, *_times_and_size(place))
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
def _content_of_file(path: str, *times_and_size: int) -> str:
    if path.endswith(".py"):
        return short_hash(_code_in_file(path, *times_and_size).encode("utf-8", "surrogateescape"))
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def code_of(path: Path) -> str:
    """The text of a Python module without comments and docstrings, by which it counts; empty where it is not there."""
    try:
        return _code_in_file(str(path), *_times_and_size(path))
    except OSError:
        return ""


@cache
def _code_in_file(path: str, *_times_and_size: int) -> str:
    return without_remarks(Path(path).read_text("utf-8", "surrogateescape"))


def _times_and_size(path: Path | str) -> tuple[int, int, int]:
    """What changes with a file."""
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size


def without_remarks(text: str) -> str:
    """A Python text without comments, docstrings and empty lines: the same under every version of Python.

    What stands in other strings stays as it is.
    """
    lines = text.split("\n")  # as the tokenizer counts them; str.splitlines splits at nine more letters
    try:
        remarks, in_strings = _remarks_and_strings(text)
    except (tokenize.TokenError, SyntaxError):  # no Python: any edit counts
        return text
    for (first, begin), (last, end) in reversed(remarks):
        left = lines[first - 1][:begin] + lines[last - 1][end:]
        lines[first - 1 : last] = [left, *[""] * (last - first)]
    kept = []
    for number, line in enumerate(lines, start=1):
        if number in in_strings:  # its end is inside of a string
            kept.append(line)
        elif line.strip():
            kept.append(line.rstrip())
    return "\n".join(kept)


#: Tokens between which the letters of a formatted string stand, since Python 3.12.
_OPENING = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")} - {None}
_CLOSING = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")} - {None}
_Place = tuple[int, int]


def _remarks_and_strings(text: str) -> tuple[list[tuple[_Place, _Place]], set[int]]:
    """Where comments and docstrings stand, and the lines that end inside of another string.

    A docstring is a string that is a statement of its own.
    """
    begins = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    remarks = []
    in_strings = set[int]()
    opened = []  # first lines of the formatted strings that are open
    before = tokenize.NEWLINE
    statement = None  # a string that begins a statement, until its line ends
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            remarks.append((token.start, token.end))
            continue
        if token.type == tokenize.NL:
            continue
        if statement is not None:
            if token.type == tokenize.NEWLINE:
                remarks.append((statement.start, statement.end))
            else:
                in_strings.update(range(statement.start[0], statement.end[0]))
        statement = None
        if token.type == tokenize.STRING:
            if before in begins:
                statement = token
            else:
                in_strings.update(range(token.start[0], token.end[0]))
        elif token.type in _OPENING:
            opened.append(token.start[0])
        elif token.type in _CLOSING:
            in_strings.update(range(opened.pop(), token.end[0]))
        before = token.type
    return sorted(remarks), in_strings


def short_hash(data: bytes) -> str:
    """A hash of 16 hex digits."""
    return hashlib.sha256(data).hexdigest()[:16]
