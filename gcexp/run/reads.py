"""What a job read, written down beside its result, and whether any of it is another today.

A job writes ``results/records/<output>.json``: ``said``, what the plan said of it when it was started; ``reads``, the
content of every file that it opened or looked for and of every module of one's own that was loaded; ``versions`` of the
libraries that were. A plan hands `state` to Snakemake: what the job was told as long as all of it is as it was, else
something new. Nothing is followed through source, so it does not matter how a module was imported or a path was made.

Not seen: what a job learns from the environment, the network, other processes or `os.path.exists`, and files that
compiled code opens without `note`. The library itself counts by rooms (`gcexp.run.dependencies`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import writable, written
from gcexp.run import paths
from gcexp.run.cache import remember, remembered

#: Environment variable that hands a job what the plan said of it.
SAID = "GCEXP_READS"
EDITED = "edited meanwhile"  # no content is: what changed under a job is read again

_PACKAGE = str(Path(__file__).parents[1])
_FINDERS = ("<frozen importlib", os.path.dirname(importlib.metadata.__file__))
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/run")
_LARGE = 2**20
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: Libraries whose version may decide a number, by the name under which they are imported.
_LIBRARIES = {
    **{name: name for name in ("numpy", "scipy", "torch", "pandas", "matplotlib", "networkx", "galois")},
    "sklearn": "scikit-learn",
}

_watching: list[_Seen] = []  # one for each block that watches
_silent = 0


class _Seen:
    """Absolute paths that a block read, or looked for, and those that it made."""

    def __init__(self) -> None:
        self.read: dict[str, None] = {}
        self.made: set[str] = set()

    def note(self, path: str, made: bool) -> None:
        if made and path not in self.read:
            self.made.add(path)
        elif not made and not _silent and path not in self.made:
            self.read[path] = None


# --- Watching


@contextmanager
def recorded(output: Path | str, said: str | None = None) -> Iterator[str]:
    """Write the record of a job when the block ends well; an old one is removed first.

    Parameters
    ----------
    output : path
        First file that the job makes.
    said : str, optional
        What the plan said of it; default ``$GCEXP_READS``, else `state` as it is now.
    """
    said = said or os.environ.get(SAID) or state(output)
    file = record_of(output)
    with writable(output):
        file.unlink(missing_ok=True)
    with observed() as reads:
        yield said
    with unrecorded():
        _write(file, said, reads, library_versions())


@contextmanager
def resumed(output: Path | str) -> Iterator[str]:
    """The record of a state that later processes go on from: `recorded`, but of an interrupted block the old one stays.

    What it says first is ``new``; the block is told what is known of all that the blocks before it read.
    """
    file = record_of(output)
    begun, record = file.is_file(), _loaded(file) or {"said": "new", "reads": {}}
    said = state(output) if begun else "new"
    known = {path: content(path) for path in record["reads"]}
    _write(file, said, known, {})
    try:
        with observed() as reads:
            yield said
    except UserError:
        if not begun:  # nothing that could go on
            file.unlink(missing_ok=True)
        raise
    if said != record["said"]:  # what goes on from an unchanged state need not read what led to it
        known = {}
    with unrecorded():
        _write(file, said, known | reads, {})
    for path in known:
        note(path)


def _write(file: Path, said: str, reads: dict[str, str | None], versions: dict[str, str]) -> None:
    with written(file) as temporary:
        record = {"said": said, "reads": dict(sorted(reads.items())), "versions": versions}
        temporary.write_text(json.dumps(record, indent=0) + "\n")


@contextmanager
def observed() -> Iterator[dict[str, str | None]]:
    """Watch a block; the yielded dict is filled at its end: what was read, and one's own modules, content by path."""
    _hook()
    began, seen, found = time.time_ns(), _Seen(), dict[str, str | None]()
    _watching.append(seen)
    try:
        yield found
    finally:
        _watching.remove(seen)
    with unrecorded():
        read = {path: None for path in map(_source, seen.read) if _counts(path)}
        for path in read | dict.fromkeys(own_files().values()):
            try:
                late = os.stat(path).st_ctime_ns > began
            except (OSError, ValueError):
                late = False
            found[_short(path)] = EDITED if late and not os.path.isdir(path) else content(path)


@contextmanager
def unrecorded() -> Iterator[None]:
    """A block in which the library only looks or remembers, or reads what counts by its values."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


def note(path: Path | str) -> None:
    """Say that a file is read, where compiled code opens it or what is read counts by its content."""
    for seen in _watching:
        seen.note(os.path.abspath(path), made=False)


@cache
def _hook() -> None:
    sys.addaudithook(_heard)  # for good: no hook can be taken away


def _heard(event: str, given: tuple) -> None:
    if not _watching or event not in ("open", "os.rename", "os.listdir", "os.scandir"):
        return
    path, made = given[event == "os.rename"], event == "os.rename"
    if event == "open":
        made = given[2] & os.O_ACCMODE == os.O_WRONLY or bool(given[2] & (os.O_TRUNC | os.O_EXCL))
    elif not made and sys._getframe(1).f_code.co_filename.startswith(_FINDERS):
        return  # looking for modules: those that it finds are known anyway
    if not isinstance(path, int):
        with suppress(TypeError, ValueError, OSError):
            for seen in _watching:
                seen.note(os.path.abspath(os.fsdecode("." if path is None else path)), made)


def _source(path: str) -> str:
    """The module whose bytecode was opened."""
    if path.endswith(".pyc"):
        with suppress(ValueError):
            return importlib.util.source_from_cache(path)
    return path


# --- What counts


def _counts(path: str) -> bool:
    """Whether a path that was read is one that a person may edit: no library, nothing that we made, no system's."""
    here, home = os.getcwd(), os.path.expanduser("~")
    (made, foreign), folder = _places(here), path + os.sep
    if path.endswith(".pyc") or path == home or folder.startswith(made):
        return False
    if _inside(path, _PACKAGE):  # whose modules count by rooms
        return not path.endswith(".py") and not os.path.isdir(path)
    if installed := re.search(r"/(?:site|dist)-packages(?:/([^/]*)|$)", path):
        plugged = {"gcexp_papers", *(name.partition(".")[0] for name in plugins())}
        return (installed[1] or "").removesuffix(".py") in plugged
    hidden = re.match(rf"{re.escape(home)}/\.[^/]*", path)  # settings and caches
    return not folder.startswith(foreign) and (hidden is None or _inside(here, hidden[0]))


@cache  # a job asks for two thousand modules
def _places(here: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Folders, each with a separator behind it, that we make and that are the system's or Python's."""
    library = sysconfig.get_paths()
    foreign = (*_SYSTEM, sys.prefix, sys.base_prefix, *(library[name] for name in ("stdlib", "platstdlib")))
    made = tuple(os.path.join(here, name) + os.sep for name in paths.MADE)
    return made, tuple(place.rstrip(os.sep) + os.sep for place in foreign if not _inside(here, place))


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


@cache
def plugins() -> tuple[str, ...]:
    """Packages with option files that installed distributions name under the entry point ``gcexp.plugins``."""
    return tuple(sorted(point.value for point in entry_points(group="gcexp.plugins")))


def is_own(path: str) -> bool:
    """Whether a module's file is somebody's own: neither ours nor an installed library's, unless that is a plug-in."""
    return path.endswith(".py") and _counts(path)


def own_files() -> dict[str, str]:
    """Where every loaded module of one's own is, by name."""
    where = os.getcwd(), plugins()
    if where != _looked[0]:
        _looked[:] = where, {}
    known: dict[str, tuple[object, str | None]] = _looked[1]
    found = {}
    for name, module in list(sys.modules.items()):  # two thousand, of which a job has loaded few itself
        if name not in known or known[name][0] is not module:
            file = getattr(module, "__dict__", {}).get("__file__")
            place = os.path.abspath(file) if isinstance(file, str) else ""
            known[name] = module, place if is_own(place) else None
        if (place := known[name][1]) is not None:
            found[name] = place
    return found


#: From where `own_files` looked, and every module that it saw with the file that is one's own.
_looked: list = [None, {}]


def library_versions() -> dict[str, str]:
    """Versions of the loaded libraries that decide numbers, and of those that modules of one's own use."""
    used = {*_LIBRARIES} & {*sys.modules}
    for name in own_files():
        for value in vars(sys.modules[name]).values():
            origin = getattr(value, "__package__", None) or getattr(value, "__module__", None)
            if isinstance(origin, str):
                used.add(origin.partition(".")[0])
    found = {_LIBRARIES.get(name, name) for name in used - sys.stdlib_module_names - {"gcexp"}}
    return {name: installed for name in sorted(found) if (installed := version_of(name))}


@cache
def version_of(distribution: str) -> str:
    """Version of what is installed; empty where nothing of that name is."""
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return ""


# --- What a path holds


def content(path: Path | str) -> str | None:
    """What stands at a path, in 16 hex digits; None where nothing does.

    Of a module its syntax tree, of a folder the names in it, of a style its lines without remarks, of any other file
    its bytes.

    Examples
    --------
    >>> content(__file__) == tree(Path(__file__).read_text()), content("no such file")
    (True, None)
    """
    try:
        stat = os.stat(place := os.path.abspath(path))
        if os.path.isdir(place):
            return _hash("\n".join(sorted(os.listdir(place))).encode())
        return _content(place, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
    except (OSError, ValueError):  # ValueError: a text with a zero byte
        return None


@cache
def _content(path: str, *when: int) -> str:
    if when[-1] <= _LARGE:
        data = Path(path).read_bytes()
        if path.endswith(".mplstyle"):  # a remark in a style draws nothing
            data = b"\n".join(line for line in data.splitlines() if not line.startswith(b"#"))
        return tree(data.decode("utf-8", "surrogateescape")) if path.endswith(".py") else _hash(data)
    key = f"content {path} {when}"
    if (found := remembered(key, _readings())) is None:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        remember(key, found, _readings())
    return found


def tree(text: str) -> str:
    r"""Hash of what runs in a Python text: no comments, docstrings, or what stands there for type checkers alone.

    Examples
    --------
    >>> tree("a = 1  # one") == tree("'''What it is.'''\na = 1") != tree("a = 2")
    True
    """
    data = text.encode("utf-8", "surrogateescape")
    key = f"tree {_hash(data)}"
    if (found := remembered(key, _readings())) is None:
        try:
            found = _hash(ast.unparse(running(text)).encode())
        except (SyntaxError, ValueError, RecursionError):
            found = _hash(data)
        remember(key, found, _readings())
    return found


def running(text: str) -> ast.Module:
    """Syntax tree of a text without docstrings and without what only a type checker reads."""
    found = ast.parse(text)
    waiting: list[ast.AST] = [found]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [child for child in body if not _is_for_types(child)]  # type: ignore[attr-defined]
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):  # expressions hold no statements
            if isinstance(inside := getattr(node, field, None), list):
                waiting += inside
    return found


def _is_for_types(node: ast.AST) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Name | ast.Attribute):
        return False
    return ast.unparse(node.test).endswith("TYPE_CHECKING") and not node.orelse


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@cache
def _readings() -> str:
    """Name of the file where they are kept: another Python, or another text of this module, reads otherwise."""
    return f"reads-{_hash(sys.version.encode() + Path(__file__).read_bytes())}"


def _short(path: str) -> str:
    """From here, where that is possible: a folder that moves as a whole keeps its records."""
    return os.path.relpath(path) if _inside(path, os.getcwd()) else path


# --- What a plan says


def state(output: Path | str, remake: tuple[str, ...] = ()) -> str:
    """What a plan says of a result: what its job was told as long as all that it read is as it was.

    Parameters
    ----------
    output : path
        First file of the job.
    remake : tuple of str
        Libraries of which another version than the job had counts as a change.
    """
    if (record := _loaded(record_of(output))) is None:
        return f"unknown {os.stat(output).st_mtime_ns}" if os.path.exists(output) else "new"
    changed = {path: now for path, was in record["reads"].items() if (now := content(path)) != was}
    other = {name: (was, now) for name, was in record["versions"].items() if (now := version_of(name)) != was}
    for name, change in other.items():
        _upgraded.setdefault((name, *change), set()).add(str(output))
        if name in remake:
            changed[name] = f"{name}=={change[1]}"
    if not changed:
        return record["said"]
    digest = _hash(json.dumps([record["said"], sorted(changed.items())]).encode())
    return f"{digest} {', '.join(sorted(changed))}"


def _loaded(file: Path) -> dict | None:
    """A record; None where there is none, or a damaged one."""
    try:
        found = json.loads(file.read_text("utf-8"))
        kinds = {"said": str, "reads": dict, "versions": dict}
        return found if all(isinstance(found[key], kind) for key, kind in kinds.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unchanged(reads: dict[str, str | None]) -> bool:
    """Whether all that was read is as it was."""
    return all(content(path) == was for path, was in reads.items())


_upgraded: dict[tuple[str, str, str], set[str]] = {}


def upgraded() -> list[str]:
    """A sentence for each library of which results that `state` was asked about had another version."""
    return [
        f"{len(outputs)} results were made with {name} {was}, here is {now or 'none'}; "
        f"they stand as they are; to make them again: snakemake --config remake={name}"
        for (name, was, now), outputs in sorted(_upgraded.items())
    ]


def record_of(output: Path | str) -> Path:
    """Where the record of a job lies, by the first file that it makes."""
    return Path(paths.RECORD.format(output=_short(os.path.abspath(output)).lstrip(os.sep)))
