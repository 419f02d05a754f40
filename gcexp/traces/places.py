"""Where a trace lies, of what kind it is, and what is said of its times in ``index.json`` beside it."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gcexp.errors import DataError, unknown
from gcexp.files import bundled, used
from gcexp.traces.record import NEEDED, RECORDED, Flags, rank_file


@dataclass(frozen=True)
class Place:
    """A file or a folder in which times are looked for.

    Attributes
    ----------
    path : Path
    replayable : bool
        Whether a run can replay it: a file with the columns of a clean record in its first line, or a folder with
        recordings of `gcexp.distributed.Recorder`.
    flags : Flags
        What the index beside a file says of its times.
    """

    path: Path
    replayable: bool
    flags: Flags = Flags()

    @property
    def has_recordings(self) -> bool:
        """Whether it is a folder of `gcexp.distributed.Recorder`."""
        return self.replayable and self.path.is_dir()

    @property
    def written(self) -> tuple[tuple[str, int, int], ...]:
        """When the file, or each file of the folder, was written, and how large it is: what tells that it changed."""
        files = [self.path]
        if self.path.is_dir():
            files = [path for path in sorted(self.path.rglob("*")) if path.is_file()]
        found = []
        for path in files:
            stat = path.stat()
            found.append((str(path), stat.st_mtime_ns, stat.st_size))
        return tuple(found)


def place_of(file: str | Path) -> Place:
    """The place of a trace: a file, a folder of files, or the name of a bundled trace.

    >>> place_of("pai-job1").replayable, place_of("README.md").replayable
    (True, False)
    """
    path = located(file)
    if path.is_dir():
        return Place(path, _has_recordings(path))
    return Place(path, _is_clean(path), flags_of(path))


def located(file: str | Path) -> Path:
    """The path of a trace: a file, a folder of files, or the name of a bundled trace; no pipe or device.

    Examples
    --------
    >>> located("pai-job1").name, located("data/traces/pai-job1.csv").name
    ('pai-job1.csv', 'pai-job1.csv')
    """
    if not str(file).strip():
        raise DataError(
            "no trace is named: wanted is a file, a folder or the name of a bundled trace, as in gcexp advise mylab.csv"
        )
    paths = [Path(file), bundled(file)]
    if Path(file).name == str(file):
        paths.append(bundled(f"data/traces/{file}.csv"))
    for path in paths:
        with suppress(OSError):
            if path.exists() and not (path.is_file() or path.is_dir()):  # a device may never end
                raise DataError(f"trace {path} cannot be read: it is no regular file")
            if not path.is_dir():
                used(path)  # also where nothing is: a file may appear there
            with open(path):
                return path
    with suppress(OSError):
        if Path(file).is_dir():
            used(file)
            return Path(file)
    raise DataError(
        f"there is no trace {file}, neither from this folder nor from the project's; {_allowed_instead(file)}"
    )


def _allowed_instead(file: str | Path) -> str:
    """The sentence for a trace that is not there, with the names of the bundled ones, or of the files beside a file."""
    path = Path(file)
    folder = bundled("data/traces")
    name = str(file)
    if path.suffix == ".csv":
        folder = path.parent
        name = path.stem
    names = [other.stem for other in folder.glob("*.csv")]
    return unknown("trace", name, names)


def _has_recordings(folder: Path) -> bool:
    """Whether a folder holds the recording of rank 0, recognised by its columns."""
    try:
        with (folder / rank_file(0)).open(encoding="utf-8") as file:
            return file.readline().strip() == ",".join(RECORDED)
    except (OSError, ValueError):
        return False


def _is_clean(path: Path) -> bool:
    """Whether a file is a clean record by its first line."""
    try:
        return not fault_in(header_of(path))
    except (OSError, ValueError, csv.Error):
        return False


def header_of(path: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


def fault_in(columns: list[str]) -> str:
    """What is wrong with the columns of a clean record, as a sentence goes on; empty where each is there, and once.

    >>> fault_in(["iteration", "worker", "time", "load"]), fault_in(["iteration", "time", "time"])
    ('', "has 2 columns 'time'")
    """
    if not columns:
        return "is empty"
    for name in columns:
        count = columns.count(name)
        if count > 1:
            return f"has {count} columns {name!r}"
    for name in NEEDED:
        if name not in columns:
            return f"has no column {name!r}, as a clean record has; it has {', '.join(columns[:8])}"
    return ""


@lru_cache(maxsize=8)
def _index_of(path: Path, *_when: int) -> dict:
    return json.loads(path.read_text("utf-8"))


def flags_of(path: Path) -> Flags:
    """What the times of a file mean; defaults where no index says it."""
    index = path.parent / "index.json"
    used(index)
    try:
        stat = index.stat()
        entry = _index_of(index, stat.st_mtime_ns, stat.st_size)[path.stem]
        return Flags(**{name: entry[name] for name in Flags.__dataclass_fields__ if name in entry})
    except (OSError, KeyError):
        return Flags()
    except (TypeError, ValueError) as error:
        raise DataError(f"{index} is no index of traces ({error})") from None
