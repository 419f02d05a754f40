"""Where a trace lies, and what is said of its times in ``index.json`` beside it."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gcexp.errors import DataError, unknown
from gcexp.files import bundled, used
from gcexp.traces.record import Flags


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
