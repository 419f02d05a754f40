"""The files of a log: which they are, and what their names say of workers, runs and rotated parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from gcexp.errors import DataError
from gcexp.traces.places import flags_of, located
from gcexp.traces.record import Flags
from gcexp_adviser.logs.contents import told_of
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.names_of_files import Part, parts_of, runs_of_files, says_worker, stem, unrotated
from gcexp_adviser.profiler.kineto_events import head_of, is_trace

_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".out", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
_MOST_FILES = 4096


@dataclass(frozen=True)
class LogFiles:
    """The files of a log.

    Attributes
    ----------
    name : str
        That of the record.
    parts : list of Part
        In the order in which their rows follow each other.
    are_profiles : bool
        Whether they are profiler traces of PyTorch, and files beside them.
    flags : Flags
        What is known of their times without reading them.
    told : list of str
        What was left out or put together.
    """

    name: str
    parts: list[Part]
    are_profiles: bool = False
    flags: Flags = field(default_factory=Flags)
    told: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _File:
    """A file of a folder, and what its name and its first bytes say."""

    path: Path

    def is_hidden_in(self, folder: Path) -> bool:
        """Whether its name or that of a folder around it in this folder begins with a point."""
        return any(part.startswith(".") for part in self.path.relative_to(folder).parts)

    @cached_property
    def is_profile(self) -> bool:
        """Whether it is a profiler trace of PyTorch."""
        return is_trace(self.path)

    @cached_property
    def without_times(self) -> str:
        """What is told of a file that is known to hold no times of workers; nothing of others."""
        return told_of(head_of(self.path))

    @cached_property
    def may_be_log(self) -> bool:
        """Whether it may be a log by its ending and its first bytes."""
        name, _ = unrotated(self.path)
        return Path(name).suffix in _ENDINGS and not self.without_times


# --- which they are ---------------------------------------------------------------------------------------------------


def files_of(source: Path | Sequence[str | Path]) -> LogFiles:
    """The files of a log: a file, those of a folder, or those that were named.

    Raises
    ------
    DataError
        For a folder that holds no log or several, and one among files.
    """
    if isinstance(source, Path):
        paths = [source]
    else:
        paths = list(map(located, source))
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        return _together(paths)
    if len(paths) > 1:
        raise DataError(f"{folders[0]} is a folder; name one folder, or files")
    return _files_in(folders[0])


def _together(paths: list[Path], folder: str = "") -> LogFiles:
    """Files as those of one log, which is called after its folder or the first of them."""
    if len(paths) == 1:
        [path] = paths
        name = stem(path)
        return LogFiles(name, [Part(path, name)], flags=flags_of(path))
    if all(map(is_trace, paths)):
        return _profiles(paths, folder or paths[0].parent.name or "profiler")
    parts, rotated = parts_of(paths)
    return LogFiles(folder or stem(paths[0]), parts, told=rotated)


def _profiles(paths: list[Path], name: str) -> LogFiles:
    """Profiler traces of PyTorch, whose times are seconds, and files beside them."""
    parts = [Part(path, path.name) for path in paths]
    return LogFiles(name, parts, are_profiles=True, flags=Flags(unit="s"))


def _files_in(folder: Path) -> LogFiles:
    """The files of a log in a folder: profiler traces, or logs; those of folders in it where it has none itself."""
    beside = set(folder.iterdir())  # which refuses a folder that may not be read, and rglob does not
    everything = [_File(path) for path in sorted(folder.rglob("*")) if path.is_file()]
    shown = [file for file in everything if not file.is_hidden_in(folder)]
    if any(file.is_profile for file in shown):
        return _profiles([file.path for file in shown], folder.name)
    named = [file for file in everything if file.path.name != "index.json" and file.path.name[0] != "."]
    direct = [file for file in named if file.path in beside]
    others = [file for file in direct if not file.may_be_log]
    logs = [file for file in direct if file.may_be_log]
    if not logs:
        _refuse_without_times(others)
        logs = _logs_of_folders(folder, named, others)
    if len(logs) > _MOST_FILES:
        raise DataError(f"folder {folder} holds {len(logs)} files; more than {_MOST_FILES} are not read")
    together = _together([file.path for file in logs], folder.name)
    if not others:
        return together
    names = listed(file.path.name for file in others)
    left_out = f"left out {len(others)} other files of the folder: {names}"
    return replace(together, told=[left_out, *together.told])


def _logs_of_folders(folder: Path, files: list[_File], beside: list[_File]) -> list[_File]:
    """The logs in folders of a folder that has none itself: of one name, or of several runs.

    Parameters
    ----------
    folder : Path
    files : list of _File
        All in the folder and in folders in it.
    beside : list of _File
        Those of them that lie in the folder itself.

    Raises
    ------
    DataError
        For logs of several names, and where there is none.
    """
    logs = [file for file in files if file.may_be_log]
    others = [file for file in files if not file.may_be_log]
    paths = [file.path for file in logs]
    names = sorted({path.name for path in paths})
    if len(names) == 1 or any(runs_of_files(paths).runs):  # each folder holds the logs of a run
        return logs
    _refuse_without_times(others)
    if names and all(map(says_worker, paths)):
        pattern = folder.joinpath(
            *["*"] * (len(paths[0].relative_to(folder).parts) - 1), f"*{paths[0].suffix}"
        )
        raise DataError(
            f"the folders in {folder} hold the logs of several workers each, {listed(names)}: where all are workers of "
            f"one run, name their files, as gcexp trace import {pattern}"
        )
    if names:
        raise DataError(
            f"the folders in {folder} hold logs of several names, {listed(names)}: name those of one, as gcexp "
            f"trace import {_pattern_of_one_name(paths)}"
        )
    pattern = f"{folder}/*"
    if not beside and others:
        pattern = _pattern_of_one_name([file.path for file in others])
    left = beside or others
    told = f"folder {folder} holds no log: none of its {len(left)} files ends with {', '.join(_ENDINGS)}"
    if left:
        told += f"; if they are logs, name them: gcexp trace import {pattern}"
    raise DataError(told)


def _pattern_of_one_name(paths: list[Path]) -> str:
    """A shell's pattern for the files in folders of a folder that are called as the largest one is."""
    largest = max(paths, key=lambda path: path.stat().st_size)
    depth = len(largest.parts)
    alike = [path.parts for path in paths if path.name == largest.name and len(path.parts) == depth]
    pattern = []
    for parts in zip(*alike, strict=True):
        pattern.append(parts[0] if len(set(parts)) == 1 else "*")
    return str(Path(*pattern))


def _refuse_without_times(files: list[_File]) -> None:
    """Raise `DataError` for the first of some files that is known to hold no times of workers."""
    for file in files[:_MOST_FILES]:
        if file.without_times:
            raise DataError(f"{file.path}: {file.without_times}")
