"""Which files of a folder are logs, by their names and their first bytes."""

from __future__ import annotations

from pathlib import Path

from gcexp.errors import DataError
from gcexp_adviser.logs.file_names import parts_of, unrotated
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.without_times import refuse_without_times, told_of
from gcexp_adviser.profiler.kineto_events import head_of

_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".out", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
_MOST_FILES = 4096


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
        told = (
            f"folder {folder} holds no log: none of its {len(others)} files ends with {', '.join(_ENDINGS)}"
        )
        if others:
            told += f"; if they are logs, name them: gcexp trace import {folder}/*"
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
