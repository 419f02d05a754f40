"""What a job read of a person's own, written down beside its result, and whether any of it has changed since.

A job writes ``results/records/<output>.json`` when it ends: the modules of a person's own that it has imported, the
files that readers named (`gcexp.files.used`), the versions of the libraries that those modules use, and what each of
them was. A plan hands `state` to Snakemake among the ``params`` of the job's rule.

Files that a person's own Python opens are seen if it names them, or if the option file of its class lists them under
``inputs:``; these are part of the fingerprint, as the library's own modules are (`gcexp.run.dependencies`).
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.files import telling_used_files, writable, written
from gcexp.run import paths
from gcexp.run.contents import code_of, content_hash, short_hash, signature
from gcexp.run.imports import imported_names
from gcexp.run.modules import LIBRARY, own_modules, sources

#: Environment variable by which a rule hands a job the `state` that was planned.
PLANNED = "GCEXP_PLANNED"
EDITED = "edited while it was read"  # no content is equal to it


# --- What a job writes down


@dataclass
class Seen:
    """What a block of code reads of a person's own; see `collect_reads`.

    Attributes
    ----------
    files : dict
        What readers have named so far, each with what it held then and the signature that it had
        (`gcexp.run.contents.signature`).
    began : int
        When the block began by this machine's clock, in nanoseconds.
    earlier : dict
        A record of what earlier processes read for the same result; part of this one's record.
    """

    files: dict[str, tuple[str | None, object]] = field(default_factory=dict)
    began: int = field(default_factory=lambda: time.time_ns())
    earlier: dict[str, dict] = field(default_factory=dict)

    def note(self, path: str) -> None:
        """Note what a file holds when a reader first names it."""
        if path not in self.files:
            before = signature(path)
            self.files[path] = content_hash(path), before

    def record(self) -> dict[str, dict]:
        """Modules by name, files by path and libraries by name, each with what it was when it was read."""
        own = own_modules()
        packages = {name.rpartition(".")[0] for name in own} - {""}
        places = sources(own.keys() | packages)
        modules = set[str]()
        files = {_short(path): self._content_noted(path) for path in self.files}
        for name, path in own.items():
            if str(places[name]) == path:
                modules.add(name)
                modules.add(name.rpartition(".")[0])  # its package, which may have no __init__.py yet
            else:  # run or loaded by its path
                files[_short(path)] = self._content_of_module(path)
        modules.discard("")
        now: dict[str, dict] = {
            "modules": {name: self._content_of_module(places[name]) for name in sorted(modules)},
            "files": dict(sorted(files.items())),
            "versions": _versions_used(own),
        }
        return {kind: self.earlier.get(kind, {}) | entries for kind, entries in now.items()}

    def _content_noted(self, path: str) -> str | None:
        """What a file held when it was first named, unless it has changed since."""
        content, before = self.files[path]
        if signature(path) != before:
            return EDITED
        return content

    def _content_of_module(self, path: Path | str | None) -> str | None:
        """What a module's file holds, unless it has changed since the block began: when it was read, nobody noted."""
        if path is not None and os.path.isfile(path) and _has_changed_since(path, self.began):
            return EDITED
        return content_hash(path)


def _has_changed_since(path: Path | str, moment: int) -> bool:
    """Whether a file has changed since a moment of this machine's clock.

    The time of the change is by the clock of its file server. Where it may be near, a file that is made in its folder
    tells how far the two clocks are apart.
    """
    changed = os.stat(path).st_ctime_ns
    if changed < moment - _LONG_AGO:
        return False
    return changed > moment + _ahead(os.path.dirname(os.path.abspath(path)))


#: Nanoseconds: two clocks that keep the time at all are less than a day apart, and the times of files have steps.
_LONG_AGO = 24 * 3600 * 10**9
_STEP = 20 * 10**6


def _ahead(folder: str) -> int:
    """By how many nanoseconds the clock of a folder's file server is ahead of this machine's, negative where behind.

    0 where the two agree, and where no file can be made.
    """
    for place in (folder, os.getcwd()):
        before = time.time_ns()
        with suppress(OSError), tempfile.TemporaryFile(dir=place) as made:  # where possible without a name
            by_server = os.fstat(made.fileno()).st_ctime_ns
            after = time.time_ns()
            if before - _STEP <= by_server <= after:
                return 0
            return by_server - after
    return 0


@contextmanager
def collect_reads() -> Iterator[Seen]:
    """Collect what a block reads."""
    seen = Seen()
    with telling_used_files(seen.note):
        yield seen


@contextmanager
def write_record(output: Path | str) -> Iterator[None]:
    """Write the record of a job by its first file when the block ends well; the old one is removed first."""
    planned = os.environ.get(PLANNED) or state(output)
    file = record_of(output)
    with writable(output):
        file.unlink(missing_ok=True)
    with collect_reads() as seen:
        yield
    with written(file) as temporary:
        temporary.write_text(json.dumps({"planned": planned, **seen.record()}, indent=0) + "\n")


def _versions_used(modules: dict[str, str]) -> dict[str, str]:
    """Versions of the installed libraries that some modules, each with its file, import, also in functions."""
    imported = set[str]()
    for name, path in modules.items():
        is_package = os.path.basename(path) == "__init__.py"
        names = imported_names(code_of(Path(path)), name, is_package)
        imported.update(one.partition(".")[0] for one in names)
    own = {name.partition(".")[0] for name in modules}
    distributions = set[str]()
    for name in imported - sys.stdlib_module_names - own - {*LIBRARY}:
        if version_of(name):
            distributions.add(name)
        else:
            distributions.update(_distributions_of_packages().get(name, ()))
    return versions_of(sorted(distributions))


@cache
def _distributions_of_packages() -> Mapping[str, list[str]]:
    """Which distributions bring a package: scikit-learn brings sklearn. All that is installed is looked through."""
    return importlib.metadata.packages_distributions()


def versions_of(distributions: Iterable[str]) -> dict[str, str]:
    """Versions of those that are installed."""
    versions = {}
    for name in distributions:
        version = version_of(name)
        if version:
            versions[name] = version
    return versions


@cache
def version_of(distribution: str) -> str:
    """Version of what is installed; empty where nothing of that name is."""
    try:
        return importlib.metadata.version(distribution)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


# --- What a plan says


def state(output: Path | str) -> str:
    """What a plan says of a job by its first file: what the job was told, as long as all that it read is as it was."""
    record = _read_record(record_of(output))
    if record is None and not os.path.exists(output):
        return "new"
    if record is None:
        return f"unknown {os.stat(output).st_mtime_ns}"
    changed = changes(record)
    if not changed:
        return record["planned"]
    digest = short_hash(json.dumps([record["planned"], changed]).encode())
    return f"{digest} {', '.join(changed)}"


def is_current(output: Path | str) -> bool:
    """Whether a job has made its first file, and all that it read is as it was."""
    record = _read_record(record_of(output))
    return record is not None and os.path.exists(output) and not changes(record)


def state_of(pattern: str) -> Callable[[dict], str]:
    """The `state` of a rule's jobs by its first file, as Snakemake asks: when it changes, the job runs again."""
    return lambda wildcards: state(pattern.format(**wildcards))


def changes(record: dict[str, Any]) -> dict[str, str | None]:
    """What is another thing than a record says, and what it is now."""
    places = sources(record.get("modules", {}))
    content_now: dict[str, Callable[[str], str | None]] = {
        "modules": lambda name: content_hash(places[name]),
        "files": content_hash,
        "versions": version_of,
    }
    changed = {}
    for kind, content_of in content_now.items():
        for name, before in record.get(kind, {}).items():
            now = content_of(name)
            if now != before:
                changed[name] = now
    return changed


def _read_record(file: Path) -> dict | None:
    """A record; None where there is none, or a damaged one."""
    try:
        record = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("planned"), str):
        return None
    for kind in ("modules", "files", "versions"):
        if not isinstance(record.get(kind), dict):
            return None
    return record


def record_of(output: Path | str) -> Path:
    """Where the record of a job lies, by the first file that it makes."""
    return Path(paths.RECORD.format(output=name_in_folder(output)))


def name_in_folder(output: Path | str) -> str:
    """Path of what belongs to an output, inside a folder of its own: that from here, or from the root."""
    return _short(os.path.abspath(output)).lstrip(os.sep)


def _short(path: str) -> str:
    """From here, where that is possible: a folder that moves as a whole keeps its records."""
    if path.startswith(os.getcwd() + os.sep):
        return os.path.relpath(path)
    return path
