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
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.files import used_files, writable, written
from gcexp.run import paths
from gcexp.run.contents import content_hash, short_hash
from gcexp.run.modules import own_modules, sources

#: Environment variable by which a rule hands a job the `state` that was planned.
PLANNED = "GCEXP_PLANNED"
EDITED = "edited while it was read"  # no content is equal to it


# --- What a job writes down


@dataclass
class Seen:
    """What a block of code reads of a person's own; see `collect_reads`.

    Attributes
    ----------
    files : set of str
        What readers have named so far.
    began : int
        When the block began, in nanoseconds.
    earlier : dict
        A record of what earlier processes read for the same result; part of this one's record.
    """

    files: set[str]
    began: int = field(default_factory=time.time_ns)
    earlier: dict[str, dict] = field(default_factory=dict)

    def record(self) -> dict[str, dict]:
        """Modules by name, files by path and libraries by name, each with what it is now."""
        own = own_modules()
        packages = {name.rpartition(".")[0] for name in own} - {""}
        places = sources(own.keys() | packages)
        modules = set[str]()
        files = set(self.files)
        for name, path in own.items():
            if str(places[name]) == path:
                modules.add(name)
                modules.add(name.rpartition(".")[0])  # its package, which may have no __init__.py yet
            else:
                files.add(path)  # run or loaded by its path
        modules.discard("")
        now: dict[str, dict] = {
            "modules": {name: self._content(places[name]) for name in sorted(modules)},
            "files": {_short(path): self._content(path) for path in sorted(files)},
            "versions": _versions_used(own),
        }
        return {kind: self.earlier.get(kind, {}) | entries for kind, entries in now.items()}

    def _content(self, path: Path | str | None) -> str | None:
        """What a path holds, unless it is a file that has changed since the block began."""
        if path is not None and os.path.isfile(path) and os.stat(path).st_ctime_ns > self.began:
            return EDITED
        return content_hash(path)


@contextmanager
def collect_reads() -> Iterator[Seen]:
    """Collect what a block reads."""
    with used_files() as files:
        yield Seen(files)


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


def _versions_used(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the installed libraries that some loaded modules use."""
    used = set[str]()
    for name in modules:
        for value in vars(sys.modules[name]).values():
            origin = getattr(value, "__package__", None) or getattr(value, "__module__", None)
            if isinstance(origin, str):
                used.add(origin.partition(".")[0])
    own = {name.partition(".")[0] for name in modules}
    return versions_of(sorted(used - sys.stdlib_module_names - own - {"gcexp"}))


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
