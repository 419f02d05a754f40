"""The files of a log: which they are in a folder, and what their names say of workers, runs and rotated parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gcexp.errors import DataError
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.without_times import refuse_without_times, told_of
from gcexp_adviser.profiler.kineto_events import head_of

_PACKED = (".gz", ".zip", ".xz", ".bz2")
_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".out", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
_MOST_FILES = 4096
_RUNS = r"(?:attempt|run|session|job|slurm|restart|try|trial)"
_FOLDER_OF_RUN = re.compile(rf"{_RUNS}[-_]?\d+", re.IGNORECASE)
#: A run's number in the name of a file, before that of a worker: ``slurm-1001_2``.
_FILE_OF_RUN = re.compile(rf"({_RUNS}[-_]?\d+)[-_.](.*\d.*)", re.IGNORECASE)
_ROTATED = re.compile(r"(.+\.[a-z]+)\.(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A file of a log: the worker or the log that its name names, the run if there are several, and its place."""

    path: Path
    name: str
    run: str = ""


# --- which they are ---------------------------------------------------------------------------------------------------


def logs_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of a folder that may be logs, and its others; those of folders in it where it has none itself."""
    files, others = _logs_among(sorted(folder.iterdir()))
    if not files:
        _refuse_without_times(others)
        inner, inner_others = _logs_among(sorted(folder.rglob("*")))
        names = sorted({path.name for path in inner})
        if any(part.run for part in parts_of(inner)[0]):
            names = names[:1]  # each folder holds the logs of a run
        if len(names) != 1:
            _refuse_without_times(inner_others)
        if len(names) > 1:
            raise DataError(
                f"the folders in {folder} hold logs of several names, {listed(names)}: name those of one, as gcexp "
                f"trace import {_pattern_of_one_name(folder, inner)}"
            )
        files = inner
    if not files:
        named = f"{folder}/*"
        if not others and inner_others:
            others, named = inner_others, _pattern_of_one_name(folder, inner_others)
        told = (
            f"folder {folder} holds no log: none of its {len(others)} files ends with {', '.join(_ENDINGS)}"
        )
        if others:
            told += f"; if they are logs, name them: gcexp trace import {named}"
        raise DataError(told)
    if len(files) > _MOST_FILES:
        raise DataError(f"folder {folder} holds {len(files)} files; more than {_MOST_FILES} are not read")
    return files, others


def _pattern_of_one_name(folder: Path, paths: list[Path]) -> str:
    """A shell's pattern for the files in folders of a folder that are called as the largest one is."""
    largest = max(paths, key=lambda path: path.stat().st_size)
    depth = len(largest.parts)
    alike = [path.parts for path in paths if path.name == largest.name and len(path.parts) == depth]
    pattern = []
    for parts in zip(*alike, strict=True):
        pattern.append(parts[0] if len(set(parts)) == 1 else "*")
    return str(Path(*pattern))


def _refuse_without_times(paths: list[Path]) -> None:
    """Raise `DataError` for the first of some files that is known to hold no times of workers."""
    for path in paths[:_MOST_FILES]:
        refuse_without_times(head_of(path), str(path))


def _logs_among(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Those of some paths that may be logs by their endings and first bytes, and other files."""
    files, others = [], []
    for path in paths:
        if not path.is_file() or path.name.startswith(".") or path.name == "index.json":
            continue
        ending = Path(unrotated(path)[0]).suffix
        if ending in _ENDINGS and not told_of(head_of(path)):
            files.append(path)
        else:
            others.append(path)
    return files, others


# --- what their names say ---------------------------------------------------------------------------------------------


def unrotated(path: Path) -> tuple[str, int]:
    """The name of the log that a file belongs to, and its age: 0 for the newest part, as of a log that is in one piece.

    >>> unrotated(Path("rank0.log.2")), unrotated(Path("rank0.log")), unrotated(Path("rank0.log.1.gz"))
    (('rank0.log', 2), ('rank0.log', 0), ('rank0.log', 1))
    """
    name = _unpacked(path.name)
    found = _ROTATED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, 0)


def _unpacked(name: str) -> str:
    """A name without the ending of a packed file."""
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name


def stem(path: Path) -> str:
    """A file's name without what says its form: ``times`` of ``times.csv.gz``."""
    name, _ = unrotated(path)
    return Path(name).stem or path.stem


def parts_of(paths: Sequence[Path]) -> tuple[list[Part], list[str]]:
    """The files of a log in the order of their runs, each log's oldest part first, and what is told of that.

    >>> parts, told = parts_of([Path("a.log"), Path("a.log.1"), Path("b.log")])
    >>> [(part.path.name, part.name) for part in parts], told
    ([('a.log.1', 'a'), ('a.log', 'a'), ('b.log', 'b')], ['put rotated files together, the oldest first: a.log.1'])
    >>> parts, told = parts_of([Path("attempt_0/rank0.csv"), Path("attempt_1/rank0.csv")])
    >>> [(part.run, part.name) for part in parts]
    [('attempt_0', 'rank0'), ('attempt_1', 'rank0')]
    """
    runs, rest = _runs_of(paths)
    logs = [path.parent / unrotated(path)[0] for path in rest]
    distinct = list(dict.fromkeys(logs))
    names = dict(zip(distinct, names_of_files(distinct), strict=True))
    place_of_run = {run: place for place, run in enumerate(dict.fromkeys(runs))}
    place_of_log = {log: place for place, log in enumerate(distinct)}
    keyed = []
    for path, run, log in zip(paths, runs, logs, strict=True):
        _, age = unrotated(path)
        keyed.append(((place_of_run[run], place_of_log[log], -age), Part(path, names[log], run)))
    keyed.sort(key=lambda one: one[0])
    parts = [part for _, part in keyed]
    rotated = [part.path.name for part in parts if unrotated(part.path)[1]]
    if not rotated or len(distinct) == len(paths):
        return parts, []
    shown = ", ".join(rotated[:3]) + (", ..." if len(rotated) > 3 else "")
    return parts, [f"put rotated files together, the oldest first: {shown}"]


def _runs_of(paths: Sequence[Path]) -> tuple[list[str], list[Path]]:
    """The run of each file by its folder or name, empty where there are not several; and the paths without that."""
    for divided in (_by_folder, _by_name):
        found = [divided(path) for path in paths]
        runs = [run for run, _ in found]
        rests = [rest for _, rest in found]
        has_same_worker = len(set(rests)) < len(set(paths))
        if "" not in runs and len(set(runs)) > 1 and has_same_worker:
            return runs, rests
    return [""] * len(paths), list(paths)


def _by_folder(path: Path) -> tuple[str, Path]:
    """The run that a folder names, and the path without it."""
    parts = list(path.parts)
    for place in range(len(parts) - 2, -1, -1):
        if _FOLDER_OF_RUN.fullmatch(parts[place]):
            return parts[place], Path(*parts[:place], *parts[place + 1 :])
    return "", path


def _by_name(path: Path) -> tuple[str, Path]:
    """The run that a file's name begins with, and the path without it.

    >>> _by_name(Path("slurm-1001_2.out")), _by_name(Path("run3.csv"))
    (('slurm-1001', PosixPath('2.out')), ('', PosixPath('run3.csv')))
    """
    found = _FILE_OF_RUN.fullmatch(path.name)
    if not found or not re.search(r"\d", stem(Path(found[2]))):
        return "", path
    return found[1], path.with_name(found[2])


def names_of_files(paths: list[Path]) -> list[str]:
    """What files are called, so that no two are called alike: ``rank0`` of ``logs/rank0/metrics.csv``.

    >>> (
    ...     names_of_files([Path("a/rank0/log.csv"), Path("a/rank1/log.csv")]),
    ...     names_of_files([Path("x.csv"), Path("y.csv.gz")]),
    ... )
    (['rank0', 'rank1'], ['x', 'y'])
    """
    names = list(map(stem, paths))
    if len(set(names)) == len(names):
        return names
    folders = [path.parent.name for path in paths]
    if len(set(names)) == 1 and len(set(folders)) == len(folders):
        return folders
    return [str(path.with_suffix("")) for path in paths]
