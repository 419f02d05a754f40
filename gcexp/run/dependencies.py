"""What a result depends on beside what its job reads: one table of the stages.

Rules, jobs, checkpoints and provenance read it. The library counts by its rooms, options by their values; all else a
job tells itself (`gcexp.run.reads`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.run.build import named
from gcexp.run.declared import outside
from gcexp.run.reads import content, own_files, unrecorded


@dataclass(frozen=True)
class Stage:
    """What decides the result of a stage beside its input files and what its job reads.

    Attributes
    ----------
    rooms : tuple of str
        Folders and files of the package whose code runs in it: an edit of any module there makes the result again.
    keys : tuple of str
        Keys of a run's config whose values decide.
    version : int
        Raised when the result changes and nothing else here shows it.
    trained : bool
        The result costs hours, so that an edit that leaves its bits alone must not repeat it: see `learning`.
    """

    rooms: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    version: int = 1
    trained: bool = False


_RUN = ("run/build.py", "run/scheme.py", "run/stages.py", "run/run.py", "schema.py", "seeding.py")
_CLOCK = ("codes", "designs", "decoding_error", "delays", "schemes", "theory", "timeline.py", *_RUN)
_TABLE = (
    *("figures/tables.py", "figures/rows.py", "report/table.py", "report/columns.py"),
    *("run/measured.py", "run/tokens.py", "run/named_codes.py", "summary.py"),
)
_LEARN = ("tasks", "data")

#: Every stage by its name. What figure files and options say is tracked as values, not the code that reads them.
STAGES = {
    "prepare": Stage(("data", "seeding.py"), ("dataset",)),
    "timeline": Stage(
        _CLOCK,
        ("code", "wait", "placement", "loads", "overhead", "late", "chunks", "exact", "bound", "delay"),
        version=2,
    ),
    "accuracy": Stage(("codes", "designs", "theory", "schema.py", "seeding.py"), ("code",)),
    "trajectory": Stage((), ("task", "optimizer"), trained=True),
    "replay": Stage((*_CLOCK, *_LEARN, "run/verification.py"), ("code", "task")),
    "curves": Stage((*_CLOCK, *_TABLE, *_LEARN, "run/verification.py")),
    "timings": Stage((*_CLOCK, *_TABLE)),
    "analysis": Stage((*_CLOCK, *_TABLE, *_LEARN, "analysis", "benchmarking.py", "run/benchmarked.py")),
    "draw": Stage(("figures", "report/stages.py")),
    "typeset": Stage(("figures", "report/stages.py")),
    "claims": Stage(("report/claims.py", "report/predicates.py", "figures/tables.py", "schema.py")),
    "scorecard": Stage(("report", "figures/tables.py", "figures/markdown.py")),
    "page": Stage(("report", "figures")),
    "tracking": Stage(
        (
            *("report/tracking.py", "report/comparison.py"),
            *("figures/tables.py", "figures/rows.py"),
        )
    ),
}

#: The room whose modules decide what is learned, and the module in it that only stores it.
_LEARNING, _STORING = "gcexp.tasks", "gcexp.tasks.checkpoint"
_IMPORT = r"^\s*(?:from|import)\s+gcexp\.tasks\b(?:[^\n(]*\([^)]*\)|[^\n]*)"
_KNOWN = Path(__file__).with_name("learning.json")
_ROOT = Path(__file__).parents[1]


def tracked(stage: str, config: dict | None = None) -> list[str]:
    """Short flat list of all that decides the result of a stage beside its input files and what its job reads.

    Parameters
    ----------
    stage : str
        A name of `STAGES`.
    config : dict, optional
        Composed run; left out where the stage is not of one run.
    """
    found = STAGES[stage]
    keys, config = (found.keys, config) if config is not None else ((), {})
    flat = [f"version={found.version}"]
    for key in keys:
        flat += values(config.get(key), key)
    if found.trained:
        classes = [target for key in keys for target in targets(config.get(key))]
        return [*flat, f"prepare={STAGES['prepare'].version}", *learning(classes)]
    return flat + [f"{room}={_room(room)}" for room in found.rooms]


@cache
def _room(name: str) -> str:
    """Hash of what runs in a folder or a file of the package."""
    place = _ROOT / name
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    lines = [f"{file.relative_to(_ROOT).as_posix()} {content(file)}" for file in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def values(node: Any, prefix: str) -> list[str]:
    """Every value of a node with its key."""
    if isinstance(node, dict):
        return [line for key, value in node.items() for line in values(value, f"{prefix}.{key}")]
    if isinstance(node, list) and any(isinstance(value, dict) for value in node):
        return [line for i, value in enumerate(node) for line in values(value, f"{prefix}.{i}")]
    return [f"{prefix}={node}"]


def targets(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first, and what a key ``function`` names."""
    return [target for target in named(node, "_target_", "function") if isinstance(target, str)]


def learning(classes: Iterable[str], ran: bool = False) -> list[str]:
    """The modules that decide what is learned: by a version where golden bits vouch for their text, else by their hash.

    Those are the modules of `gcexp.tasks` that `classes` and training import; nothing else of ours retrains.
    ``learning.json`` beside this module holds, for each of them, its version and the hashes of the texts that give the
    bits of that version (`tests/golden/test_versions.py` compares the bits and prints new hashes). So an edit retrains
    until the bits were compared, and a text that is known to give the same bits does not. A new module needs no entry:
    it stands by its hash, as long as no module with an entry reaches it.

    Parameters
    ----------
    classes : iterable of str
        What a training is made of.
    ran : bool
        Whether those are loaded. With a class from outside every module of ours counts where they are not, else those
        that the loaded modules from outside import, and these themselves.
    """
    names = {f"{_LEARNING}.training", *(name.rpartition(".")[0] for name in classes)}
    own = own_files() if ran and any(map(outside, classes)) else {}
    if any(map(outside, classes)):
        said = set().union(*(_imports(file, r"gcexp\.tasks\.\w+") for file in own.values()))
        names |= said | {f"{_LEARNING}.base"} if ran else {*_modules()}
    lines = [f"{name}={_verified_version(name)}" for name in sorted(closure(frozenset(names)))]
    return lines + [f"{name}={content(file)}" for name, file in sorted(own.items())]


@cache
def closure(names: frozenset[str]) -> set[str]:
    """Modules of the room that run with some of them."""
    files = _modules()
    found, waiting = set(), [name for name in names if name in files]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += _imports(files[name]) & files.keys()
    return found - {_STORING}


def _modules() -> dict[str, Path]:
    """Files of the room by the names of their modules."""
    files = (_ROOT / "tasks").glob("*.py")
    return {f"{_LEARNING}.{file.stem}": file for file in files if file.stem != "__init__"}


def _imports(file: Path | str, more: str = _IMPORT) -> set[str]:
    """Names that may be modules of the room, from the imports of a text and from what else `more` matches."""
    with unrecorded():
        text = Path(file).read_text("utf-8", errors="replace")
    found = re.findall(f"{_IMPORT}|{more}", text, re.MULTILINE)
    return {f"{_LEARNING}.{word}" for word in re.findall(r"\w+", " ".join(found))}


@cache
def _verified_version(name: str) -> str | int:
    digest, known = text_hash(name), known_texts().get(name, {"version": 1, "texts": []})
    return known["version"] if digest in known["texts"] else digest


def text_hash(name: str) -> str:
    """Hash of what runs in a module of the room."""
    return (content(_ROOT / "tasks" / f"{name.rpartition('.')[2]}.py") or "")[:12]


@cache
def known_texts() -> dict[str, dict]:
    """Content of learning.json, which counts by its values."""
    with unrecorded():
        return json.loads(_KNOWN.read_text("utf-8"))
