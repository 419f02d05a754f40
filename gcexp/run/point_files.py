"""Files of measured points of a submitted sweep: each holds some points, one after the other, and what they read.

A file and a record for every point would cost as much as a short point itself. So a job writes the points of some
seconds together, as long as they read the same files: a file of theirs that changes makes no other point old.

A file has a checksum in a line, a line of JSON that it is of, and the bytes of all columns. The JSON says what was read
(`gcexp.run.records`), and of each point by its name where its bytes begin, which columns they are, their checksum and
the report of its replay. Archives of numpy take ten times as long to write and to read.
"""

from __future__ import annotations

import glob
import json
import math
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gcexp.errors import DataError
from gcexp.files import written
from gcexp.run import paths
from gcexp.run.dependencies import digest_of
from gcexp.run.records import Seen, changes, is_current

#: Seconds of measuring that are lost at most when a job is killed, beside the point that it is at.
_SECONDS = 5


@dataclass(frozen=True)
class Measured:
    """What a point measured: columns of a table, and the report of its replay, if there is one."""

    columns: dict[str, np.ndarray]
    report: Any = None


# --- Writing


class PointWriter:
    """Writes the points of a process, in the order in which they are measured.

    Modules count from the making of this writer on: what an earlier point imported may have been edited since.
    """

    def __init__(self) -> None:
        self._began = time.time_ns()
        self._since = 0.0
        self._seen = Seen()
        self._waiting: dict[str, Measured] = {}

    def add(self, name: str, measured: Measured, seen: Seen) -> None:
        """Take up a point by its name, with what was read for it; it is on disk some seconds later at most."""
        if self._waiting and seen.files.keys() != self._seen.files.keys():
            self.write()
        if not self._waiting:
            self._since = time.monotonic()
            self._seen = Seen(seen.files, self._began)
        self._waiting[name] = measured
        if time.monotonic() - self._since >= _SECONDS:
            self.write()

    def write(self) -> None:
        """Write the points that wait."""
        if not self._waiting:
            return
        head, data = _packed(self._waiting, self._seen.record())
        line = json.dumps(head).encode() + b"\n"
        file = paths.SWEEP_POINT.format(name=digest_of(sorted(self._waiting)))
        with written(file) as temporary:
            temporary.write_bytes(b"%08x\n" % zlib.crc32(line) + line + data)
        self._waiting = {}


def _packed(points: Mapping[str, Measured], record: dict[str, dict]) -> tuple[dict[str, Any], bytes]:
    """What stands in the JSON of a file, and the bytes of its columns."""
    about = {}
    pieces = []
    begin = 0
    for name, measured in points.items():
        arrays = {key: np.ascontiguousarray(values) for key, values in measured.columns.items()}
        piece = b"".join(values.tobytes() for values in arrays.values())
        about[name] = {
            "begin": begin,
            "columns": {key: [values.dtype.str, values.shape] for key, values in arrays.items()},
            "checksum": zlib.crc32(piece),
            "report": measured.report,
        }
        pieces.append(piece)
        begin += len(piece)
    return {"record": record, "points": about}, b"".join(pieces)


# --- Reading


@dataclass(frozen=True)
class _File:
    """A file of points: where its bytes begin, when it was written, and what was read for its points."""

    path: str
    begin: int
    written: float
    record: dict[str, dict]


@dataclass
class PointFiles:
    """The points that are on disk now, also those of other sweeps."""

    _places: dict[str, list[tuple[_File, dict[str, Any]]]] = field(default_factory=lambda: defaultdict(list))
    _changed: dict[str, bool] = field(default_factory=dict)  # of files of points and of trainings

    @classmethod
    def read(cls) -> PointFiles:
        """Look through the folder of points; files that are damaged are as if they were not there."""
        found = cls()
        files = glob.glob(paths.SWEEP_POINT.format(name="*"))
        for path in sorted(files, key=_time_of, reverse=True):
            for name, place in _places_in(path).items():
                found._places[name].append(place)
        return found

    def current(self, name: str, trained: str | None = None) -> Measured | None:
        """A point, measured when all that was read for it was as it is now; None where there is none.

        With a file of the training that it shares with others, the point is younger than the training, which is current
        too.
        """
        if trained is not None and not self._is_current_training(trained):
            return None
        for file, about in self._places.get(name, ()):
            if self._has_changed(file) or (trained is not None and file.written < _time_of(trained)):
                continue
            measured = _measured_at(file, about)
            if measured is not None:
                return measured
        return None

    def latest(self, name: str) -> Measured:
        """A point that has just been measured, as it was written last.

        Raises
        ------
        DataError
            Where it is damaged or not there.
        """
        for file, about in self._places.get(name, ()):
            measured = _measured_at(file, about)
            if measured is not None:
                return measured
        folder = os.path.dirname(paths.SWEEP_POINT)
        raise DataError(f"{folder} lacks a point, or its file is damaged; the same command measures it again")

    def _has_changed(self, file: _File) -> bool:
        """Whether anything that was read for the points of a file is another thing now."""
        if file.path not in self._changed:
            self._changed[file.path] = bool(changes(file.record))
        return self._changed[file.path]

    def _is_current_training(self, trained: str) -> bool:
        """Whether a training that points share is there, and all that it read is as it was."""
        if trained not in self._changed:
            self._changed[trained] = not is_current(trained)
        return not self._changed[trained]


def _time_of(path: str) -> float:
    """When a file was written; 0 where it is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _places_in(path: str) -> dict[str, tuple[_File, dict[str, Any]]]:
    """Where each point of a file lies; none of a file that is damaged."""
    try:
        with open(path, "rb") as opened:
            checksum = opened.readline()
            line = opened.readline()
            begin = opened.tell()
            when = os.fstat(opened.fileno()).st_mtime
    except OSError:
        return {}
    if checksum != b"%08x\n" % zlib.crc32(line):
        return {}
    head = json.loads(line)
    file = _File(path, begin, when, head["record"])
    return {name: (file, about) for name, about in head["points"].items()}


def _measured_at(file: _File, about: dict[str, Any]) -> Measured | None:
    """A point of a file; None where its bytes are damaged."""
    kinds = {name: (np.dtype(kind), shape) for name, (kind, shape) in about["columns"].items()}
    size = sum(kind.itemsize * math.prod(shape) for kind, shape in kinds.values())
    try:
        with open(file.path, "rb") as opened:
            opened.seek(file.begin + about["begin"])
            data = opened.read(size)
    except OSError:
        return None
    if zlib.crc32(data) != about["checksum"]:
        return None
    columns = {}
    begin = 0
    for name, (kind, shape) in kinds.items():
        values = np.frombuffer(data, kind, math.prod(shape), begin).reshape(shape)
        columns[name] = values
        begin += values.nbytes
    return Measured(columns, about["report"])
