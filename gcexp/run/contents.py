"""What stands at a path, as a few letters that change when its content does."""

from __future__ import annotations

import glob
import hashlib
import os
import re
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


def signature(path: Path | str) -> object:
    """What changes whenever a file, or one in a folder or of a pattern, is written: its times, its size and its place.

    No clock is asked, since that of a file server may be another one. None where nothing is there.
    """
    place = os.path.abspath(os.path.expanduser(path))
    try:
        if os.path.isdir(place):
            files = _files_in(place)
        elif os.path.exists(place):
            files = {place}
        else:
            files = _files_matching(place)
        found = set()
        for file in files:
            stat = os.stat(file)
            found.add((file, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size))
    except (OSError, ValueError):
        return None
    return found or None


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


#: Comments, and strings from their first quote on; a quote that begins no string, or a zero byte, stands in no Python.
_PIECES = re.compile(
    r"""
    (?P<remark> \#[^\n]* )
    | (?P<string>
        \"\"\" [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* \"\"\"
        | ''' [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '''
        | " [^"\\\n]* (?: \\. [^"\\\n]* )* "
        | ' [^'\\\n]* (?: \\. [^'\\\n]* )* '
    )
    | (?P<wrong> ["'\0] )
    """,
    re.VERBOSE | re.DOTALL,
)
_PREFIX = re.compile(r"(?<!\w)[A-Za-z]{1,2}\Z")
_KEPT = re.compile("\0(\\d+)\0")


def without_remarks(text: str) -> str:
    """A Python text without comments, docstrings and empty lines: the same under every version of Python.

    A docstring is a string that is a statement of its own, in lines of its own. Other strings stay as they are. A text
    of which this cannot be told counts as a whole. The tokenizer of Python 3.11 takes six times as long.
    """
    parts: list[str] = []
    strings: list[str] = []
    depth = 0  # of brackets
    end = 0
    for piece in _PIECES.finditer(text):
        code = text[end : piece.start()]
        end = piece.end()
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        if piece["remark"]:
            parts.append(code)
            continue
        prefix = _PREFIX.search(code[-3:])
        letters = prefix[0] if prefix else ""
        string = letters + piece[0]
        parts.append(code.removesuffix(letters))
        if piece["wrong"] or not _is_whole(letters, string):
            return text
        if depth == 0 and _is_a_statement(text, piece.start() - len(letters), end):
            continue
        parts.append(f"\0{len(strings)}\0")
        strings.append(string)
    parts.append(text[end:])
    lines = "".join(parts).split("\n")
    code = "\n".join(line.rstrip() for line in lines if line.strip())
    return _KEPT.sub(lambda kept: strings[int(kept[1])], code)


def _is_a_statement(text: str, begin: int, end: int) -> bool:
    """Whether what stands between two places has its lines for itself, but for a comment behind it."""
    line = text.rfind("\n", 0, begin) + 1
    if text[line:begin].strip() or text.endswith("\\\n", 0, line):
        return False
    rest = text[end : _end_of_line(text, end)].strip()
    return not rest or rest.startswith("#")


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _is_whole(letters: str, string: str) -> bool:
    """Whether a string with some letters before its quote ends where this quote comes again.

    Since Python 3.12 a formatted string may hold that quote between braces, of which one is then open.
    """
    if letters.lower().strip("rb") == "":
        return True
    depth = 0
    for sign in re.findall(r"\{\{|[{}]", string):
        if sign == "{{":
            depth += 0 if depth == 0 else 2
        elif sign == "{":
            depth += 1
        elif depth > 0:  # else a brace that stands for itself
            depth -= 1
    return depth == 0


def short_hash(data: bytes) -> str:
    """A hash of 16 hex digits."""
    return hashlib.sha256(data).hexdigest()[:16]
