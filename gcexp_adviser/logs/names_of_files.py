"""What folders and names of a log's files say: their workers, their runs, and rotated parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gcexp_adviser.logs.names import SYNONYMS

_ROTATED = re.compile(r"(.+\.[a-z]+)\.(\d{1,4})", re.IGNORECASE)
_PACKED = (".gz", ".zip", ".xz", ".bz2")
_RUNS = r"(?:attempt|run|session|job|slurm|restart|try|trial|version|exp|experiment|seed)"
_FOLDER_OF_RUN = re.compile(rf"{_RUNS}[-_]?\d+|\d{{4}}-?\d\d-?\d\d(?:[T_-].*)?", re.IGNORECASE)
#: A run's number in the name of a file, before that of a worker: ``slurm-1001_2``.
_FILE_OF_RUN = re.compile(rf"({_RUNS}[-_]?\d+)[-_.](.*\d.*)", re.IGNORECASE)
_WORKERS = "|".join(sorted((*SYNONYMS["worker"], "proc", "r", "w", "p"), key=len, reverse=True))
#: A worker in the name of a file, by a word and a number.
_WORKER = re.compile(rf"(?<![a-z])(?:{_WORKERS})[-_]?\d+(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_MOST_WORKERS = 4  # digits of a number that may be a worker's, and no date or job
_MACHINES = re.compile(
    rf"(?:{'|'.join(sorted(SYNONYMS['worker']))}|proc|compute|nid|dgx|rack|cuda|device|executor)\d*|(?:n|cn|vm)\d+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Part:
    """A file of a log: the worker or the log that its name names, and the run if there are several.

    Where a run is guessed, `whole_name` is what the file is called beside those of all other runs.
    """

    path: Path
    name: str
    run: str = ""
    whole_name: str = ""


@dataclass(frozen=True)
class NamedRuns:
    """The runs of files by their names.

    Attributes
    ----------
    runs : list of str
        That of each file; empty where there are not several.
    rests : list of Path
        The paths without what names the run.
    is_guess : bool
        Whether the names may also be those of machines or of workers.
    """

    runs: list[str]
    rests: list[Path]
    is_guess: bool = False


def parts_of(paths: Sequence[Path]) -> tuple[list[Part], list[str]]:
    """The files of a log in the order of their runs, each log's oldest part first, and what is told of that.

    >>> parts, told = parts_of([Path("a.log"), Path("a.log.1"), Path("b.log")])
    >>> [(part.path.name, part.name) for part in parts], told
    ([('a.log.1', 'a'), ('a.log', 'a'), ('b.log', 'b')], ['put rotated files together, the oldest first: a.log.1'])
    >>> parts, told = parts_of([Path("attempt_0/rank0.csv"), Path("attempt_1/rank0.csv")])
    >>> [(part.run, part.name) for part in parts]
    [('attempt_0', 'rank0'), ('attempt_1', 'rank0')]
    """
    named = runs_of_files(paths)
    runs = named.runs
    logs, ages = [], []
    for rest in named.rests:
        name, age = unrotated(rest)
        logs.append(rest.parent / name)
        ages.append(age)
    distinct = list(dict.fromkeys(logs))
    names = dict(zip(distinct, _names_of_files(distinct), strict=True))
    place_of_run = {run: place for place, run in enumerate(dict.fromkeys(runs))}
    place_of_log = {log: place for place, log in enumerate(distinct)}
    order = sorted(
        range(len(paths)),
        key=lambda place: (place_of_run[runs[place]], place_of_log[logs[place]], -ages[place]),
    )
    wholes = [""] * len(paths)
    if named.is_guess:
        wholes = _names_of_files(list(paths))
    parts = [Part(paths[place], names[logs[place]], runs[place], wholes[place]) for place in order]
    rotated = [paths[place].name for place in order if ages[place]]
    if not rotated or len(distinct) == len(paths):
        return parts, []
    shown = ", ".join(rotated[:3]) + (", ..." if len(rotated) > 3 else "")
    return parts, [f"put rotated files together, the oldest first: {shown}"]


def _names_of_files(paths: list[Path]) -> list[str]:
    """What files are called, so that no two are called alike: ``rank0`` of ``logs/rank0/metrics.csv``.

    >>> (
    ...     _names_of_files([Path("a/rank0/log.csv"), Path("a/rank1/log.csv")]),
    ...     _names_of_files([Path("x.csv"), Path("y.csv.gz")]),
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


def runs_of_files(paths: Sequence[Path]) -> NamedRuns:
    """The run of each file by its folder or its name.

    >>> named = runs_of_files([Path("old_rank0.csv"), Path("old_rank1.csv"), Path("new_rank0.csv")])
    >>> named.runs, [str(rest) for rest in named.rests], named.is_guess
    (['old_*.csv', 'old_*.csv', 'new_*.csv'], ['rank0.csv', 'rank1.csv', 'rank0.csv'], True)
    >>> runs_of_files([Path("node0_rank0.csv"), Path("node0_rank1.csv"), Path("node1_rank0.csv")]).runs
    ['', '', '']
    """
    for divided in (_by_folder, _by_name):
        named = _divided(paths, divided)
        if named is not None:
            return named
    guess = _guess_by_folders(paths) or _guess_by_names(paths)
    return guess or NamedRuns([""] * len(paths), list(paths))


def _divided(paths: Sequence[Path], divided: Callable[[Path], tuple[str, Path]]) -> NamedRuns | None:
    """The runs that words for them say, where there are several with the same worker."""
    found = [divided(path) for path in paths]
    runs = [run for run, _ in found]
    rests = [rest for _, rest in found]
    has_same_worker = len(set(rests)) < len(set(paths))
    if "" in runs or len(set(runs)) < 2 or not has_same_worker:
        return None
    return NamedRuns(runs, rests)


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


def _guess_by_folders(paths: Sequence[Path]) -> NamedRuns | None:
    """A run in each folder, where several folders hold files of the same names and are not called as machines are."""
    parents = {path.parent for path in paths}
    if len(parents) < 2 or len({len(parent.parts) for parent in parents}) > 1:
        return None
    depth = _depth_of_difference(list(parents))
    folders = [path.parts[depth] for path in paths]
    rests = [Path(*path.parts[:depth], *path.parts[depth + 1 :]) for path in paths]
    shared = {rest for rest, count in Counter(rests).items() if count > 1}
    if not shared or not all(says_worker(rest) for rest in shared) or _are_machines(folders):
        return None
    if len(shared) == 1 and not _WORKER.search(rests[0].name):
        return None
    return NamedRuns(folders, rests, is_guess=True)


def _depth_of_difference(folders: list[Path]) -> int:
    """The place of the first part in which some paths of equal depth differ."""
    for depth, parts in enumerate(zip(*(folder.parts for folder in folders), strict=True)):
        if len(set(parts)) > 1:
            return depth
    return 0


def _guess_by_names(paths: Sequence[Path]) -> NamedRuns | None:
    """A run for each beginning or ending of names under which the same workers stand, where these are no machines.

    >>> named = _guess_by_names(
    ...     [Path(f"train-{job}-rank{rank}.log") for job in (48123, 48140) for rank in (0, 1)]
    ... )
    >>> sorted(set(named.runs))
    ['train-48123-*.log', 'train-48140-*.log']
    """
    runs, rests = [], []
    for path in paths:
        name, age = unrotated(path)
        place = _worker_in(Path(name).stem if "." in name else name)
        if place is None:
            return None
        begin, end = place
        runs.append(f"{name[:begin]}*{name[end:]}")
        older = f".{age}" if age else ""
        rests.append(path.with_name(f"{name[begin:end]}{Path(name).suffix}{older}"))
    count = len(set(runs))
    if count < 2 or len(set(rests)) == len(rests) or count == len(paths) or _are_machines(runs):
        return None
    return NamedRuns(runs, rests, is_guess=True)


def says_worker(path: Path) -> bool:
    """Whether the name of a file has a number, which may be that of a worker."""
    return _worker_in(stem(path)) is not None


def _worker_in(name: str) -> tuple[int, int] | None:
    """Where a worker stands in a name: the last word and number for one, or the last number that is none of a job.

    >>> name = "job.48123.0"
    >>> name[slice(*_worker_in(name))], _worker_in("rank0 (1)"), _worker_in("times")
    ('0', (0, 5), None)
    """
    of_words = list(_WORKER.finditer(name))
    numbers = list(_NUMBER.finditer(name))
    short = [number for number in numbers if len(number[0]) < _MOST_WORKERS]
    found = of_words or short or numbers
    return found[-1].span() if found else None


def _are_machines(names: list[str]) -> bool:
    """Whether names differ in words that name machines or workers, as ``node0`` and ``host-a``.

    >>> _are_machines(["node0_*.csv", "node1_*.csv"]), _are_machines(["host-a_*", "host-b_*"])
    (True, True)
    >>> _are_machines(["gpu_new_*", "gpu_old_*"]), _are_machines(["seed1_*", "seed2_*"])
    (True, False)
    """
    parts = [re.split(r"[-_. ]+", name) for name in dict.fromkeys(names)]
    if len(set(map(len, parts))) > 1:
        return all(any(_MACHINES.fullmatch(word) for word in words) for words in parts)
    before: Sequence[str] = ()
    for words in zip(*parts, strict=True):
        if len(set(words)) > 1 and all(map(_MACHINES.fullmatch, words)):
            return True
        if len(set(words)) > 1 and before and all(map(_MACHINES.fullmatch, before)):
            return True
        before = words
    return False


# --- names without what says their form -------------------------------------------------------------------------------


def unrotated(path: Path) -> tuple[str, int]:
    """The name of the log that a file belongs to, and its age: 0 for the newest part, as of a log that is in one piece.

    >>> unrotated(Path("rank0.log.2")), unrotated(Path("rank0.log")), unrotated(Path("rank0.log.1.gz"))
    (('rank0.log', 2), ('rank0.log', 0), ('rank0.log', 1))
    """
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    found = _ROTATED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, 0)


def stem(path: Path) -> str:
    """A file's name without what says its form: ``times`` of ``times.csv.gz``."""
    name, _ = unrotated(path)
    return Path(name).stem or path.stem
