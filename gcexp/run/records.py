"""What a job read of a person's own files, written down beside its result, and whether any of it has changed.

A job writes ``results/records/<output>.json`` with the content of every module of a person's own that it loaded, of
every file that it opened or looked for, of every folder that it listed, and with the versions of the libraries that
those modules use. A plan hands `state` to Snakemake among the ``params`` of the job's rule.

Not followed: the environment, the network, other processes, `os.path.exists`, files that compiled code opens, and
optional modules that were not there. The library's own modules count by the rooms of `gcexp.run.dependencies`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import io
import json
import os
import pkgutil
import sys
import sysconfig
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.files import writable, written
from gcexp.run import paths
from gcexp.run.modules import is_edited, own_modules, source

#: Environment variable by which a rule hands a job the `state` that was planned.
PLANNED = "GCEXP_PLANNED"
EDITED = "edited while it was read"  # no content is equal to it
#: Code that looks for modules and packages; `importlib_metadata`, which MLflow imports, stands beside our libraries.
_FINDERS = (
    *("<frozen importlib", os.path.dirname(importlib.metadata.__file__), pkgutil.__file__),
    os.path.join(sysconfig.get_path("purelib"), "importlib_metadata"),
)

_watching: list[Seen] = []
_silent = 0


class Seen:
    """What a block reads: absolute paths that were opened, listed or looked for, as keys of `read`.

    `earlier` is a record of what earlier processes read for the same result, part of this one.
    """

    def __init__(self) -> None:
        self.read: dict[str, None] = {}
        self.earlier: dict[str, Any] = {}
        self._made: set[str] = set()
        self._began = time.time_ns()

    def note(self, path: str, made: bool) -> None:
        """Take down a path that is read, or that the block itself makes."""
        if made and path not in self.read:
            self._made.add(path)
        elif not made and path not in self._made:
            self.read[path] = None

    def record(self) -> dict[str, Any]:
        """Modules by name, files by path, versions of libraries: what each of them is now."""
        with unrecorded():
            own = own_modules()
            named = {name for name, path in own.items() if str(source(name)) == path}
            packages = {name.rpartition(".")[0] for name in named if "." in name}  # some have no __init__
            read = {_module_of(path) for path in self.read} - {*own.values()}
            read |= {
                path for name, path in own.items() if name not in named
            }  # modules that were run by their path
            found = {
                "modules": {name: self._now(str(source(name))) for name in sorted(named | packages - {*own})},
                "files": {_short(path): self._now(path) for path in sorted(filter(is_edited, read))},
                "versions": _versions(own),
            }
        return {kind: self.earlier.get(kind, {}) | entries for kind, entries in found.items()}

    def _now(self, path: str) -> str | None:
        with suppress(OSError, ValueError):
            if os.stat(path).st_ctime_ns > self._began and not os.path.isdir(path):
                return EDITED
        return content(path)


@contextmanager
def observed() -> Iterator[Seen]:
    """Watch what a block reads."""
    _hook()
    _watching.append(seen := Seen())
    try:
        yield seen
    finally:
        _watching.remove(seen)


@contextmanager
def recorded(output: Path | str) -> Iterator[None]:
    """Write the record of a job by its first file when the block ends well; the old one is removed first."""
    planned = os.environ.get(PLANNED) or state(output)
    file = record_of(output)
    with writable(output):
        file.unlink(missing_ok=True)
    with observed() as seen:
        yield
    with unrecorded(), written(file) as temporary:
        temporary.write_text(json.dumps({"planned": planned, **seen.record()}, indent=0) + "\n")


@contextmanager
def unrecorded() -> Iterator[None]:
    """A block that reads what counts by its values, as options and figure files do."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


@cache
def _hook() -> None:
    sys.addaudithook(_heard)  # for good: no hook can be taken away
    opened = os.open

    def opening(path, flags, mode=0o777, *, dir_fd=None):
        """As `os.open`, whose audit event does not tell relative to which folder a path is."""
        if dir_fd is None or not _watching:
            return opened(path, flags, mode, dir_fd=dir_fd)
        with suppress(OSError, TypeError, ValueError):
            _note(os.path.join(_path_of(dir_fd), os.fsdecode(path)), bool(flags & (os.O_TRUNC | os.O_EXCL)))
        with unrecorded():
            return opened(path, flags, mode, dir_fd=dir_fd)

    os.open = opening


def _heard(event: str, given: tuple) -> None:
    if not _watching or event not in ("open", "os.rename", "os.listdir", "os.scandir"):
        return
    path, made = given[0], False
    if event == "os.rename":
        path, made = given[1], True
    elif event == "open":
        made = given[2] & os.O_ACCMODE == os.O_WRONLY or bool(given[2] & (os.O_TRUNC | os.O_EXCL))
    elif sys._getframe(1).f_code.co_filename.startswith(_FINDERS):
        return  # looking for modules: those that it finds are known anyway
    if event == "open" and isinstance(path, int):
        return  # opened before
    with suppress(TypeError, ValueError, OSError):
        _note(_path_of(path) if isinstance(path, int) else os.fsdecode("." if path is None else path), made)


def _path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _note(path: str, made: bool) -> None:
    if made or not _silent:
        for seen in _watching:
            seen.note(os.path.abspath(path), made)


def _module_of(path: str) -> str:
    """The module whose bytecode was opened."""
    if path.endswith(".pyc"):
        with suppress(ValueError):
            return importlib.util.source_from_cache(path)
    return path


def _versions(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the installed libraries that some modules use."""
    origins = (
        getattr(value, "__package__", None) or getattr(value, "__module__", None)
        for name in modules
        for value in vars(sys.modules[name]).values()
    )
    used = {origin.partition(".")[0] for origin in origins if isinstance(origin, str)}
    known = sorted(used - sys.stdlib_module_names - {"gcexp"} - {name.partition(".")[0] for name in modules})
    return versions_of(known)


def versions_of(distributions: Iterable[str]) -> dict[str, str]:
    """Versions of those that are installed."""
    return {name: installed for name in distributions if (installed := version_of(name))}


@cache
def version_of(distribution: str) -> str:
    """Version of what is installed; empty where nothing of that name is."""
    try:
        return importlib.metadata.version(distribution)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


# --- What a path holds


def content(path: Path | str | None) -> str | None:
    """What stands at a path, in 16 hex digits; None where nothing does.

    Of a module its text without comments and docstrings, of a folder the names in it, of a style its lines without
    remarks, of any other file its bytes.
    """
    try:
        stat = os.stat(place := os.path.abspath(str(path)))
        if os.path.isdir(place):
            return _hash("\n".join(sorted(os.listdir(place))).encode())
        return _content(place, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
    except (OSError, ValueError):  # ValueError: a text with a zero byte
        return None


@cache
def _content(path: str, *_when: int) -> str:
    if path.endswith(".py"):
        text = code_of(Path(path).read_text("utf-8", "surrogateescape"))
        return _hash(text.encode("utf-8", "surrogateescape"))
    if path.endswith(".mplstyle"):  # a remark in a style draws nothing
        lines = Path(path).read_bytes().splitlines()
        return _hash(b"\n".join(line for line in lines if not line.startswith(b"#")))
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def code_of(text: str) -> str:
    """A Python text without comments, docstrings and empty lines: the same under every version of Python."""
    lines = text.splitlines()
    try:
        dropped = sorted(_remarks(text))
    except (tokenize.TokenError, SyntaxError):  # no Python: any edit counts
        return text
    for (first, begin), (last, end) in reversed(dropped):
        lines[first - 1 : last] = [lines[first - 1][:begin] + lines[last - 1][end:], *[""] * (last - first)]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _remarks(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where comments and docstrings stand: strings that are a statement of their own."""
    begins = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    before, string = tokenize.NEWLINE, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end
        elif token.type != tokenize.NL:
            if string is not None and token.type == tokenize.NEWLINE:
                yield string.start, string.end
            string = token if token.type == tokenize.STRING and before in begins else None
            before = token.type


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _short(path: str) -> str:
    """From here, where that is possible: a folder that moves as a whole keeps its records."""
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path


# --- What a plan says


def state(output: Path | str) -> str:
    """What a plan says of a job by its first file: what the job was told, as long as all that it read is as it was."""
    record = _loaded(record_of(output))
    if record is None:
        return f"unknown {os.stat(output).st_mtime_ns}" if os.path.exists(output) else "new"
    changed = changes(record)
    if not changed:
        return record["planned"]
    return f"{_hash(json.dumps([record['planned'], changed]).encode())} {', '.join(changed)}"


def state_of(pattern: str) -> Callable[[dict], str]:
    """The `state` of a rule's jobs by its first file, as Snakemake asks: when it changes, the job runs again."""
    return lambda wildcards: state(pattern.format(**wildcards))


def changes(record: dict[str, Any]) -> dict[str, str | None]:
    """What is another thing than a record says, and what it is now."""
    now: dict[str, Callable[[str], str | None]] = {
        "modules": lambda name: content(source(name)),
        "files": content,
        "versions": version_of,
    }
    entries = ((now[kind](name), name, was) for kind in now for name, was in record.get(kind, {}).items())
    return {name: found for found, name, was in entries if found != was}


def _loaded(file: Path) -> dict | None:
    """A record; None where there is none, or a damaged one."""
    try:
        found = json.loads(file.read_text("utf-8"))
        kinds = {"planned": str, "modules": dict, "files": dict, "versions": dict}
        return found if all(isinstance(found[key], kind) for key, kind in kinds.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_of(output: Path | str) -> Path:
    """Where the record of a job lies, by the first file that it makes."""
    return Path(paths.RECORD.format(output=name_of(output)))


def name_of(output: Path | str) -> str:
    """Path of what belongs to an output, inside a folder of its own: that from here, or from the root."""
    return _short(os.path.abspath(output)).lstrip(os.sep)
