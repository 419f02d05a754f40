"""What a result depends on beside the files that its job reads: one table of the stages.

Rules, checkpoints and the keys of prepared data ask for the same list: the sources of the library's rooms whose code
runs in a stage, the values of the options, and the versions of the libraries that compute. A person's own modules and
files are told by the job itself (`gcexp.run.records`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.run.build import named
from gcexp.run.declared import outside
from gcexp.run.records import content, versions_of


@dataclass(frozen=True)
class Stage:
    """What decides the result of a stage beside its input files."""

    rooms: tuple[str, ...] = ()  #: folders and files of the package whose code runs in it
    keys: tuple[str, ...] = ()  #: those of a run's config whose values decide
    libraries: tuple[str, ...] = ()  #: distributions whose versions do
    version: int = 1  #: raised when the result changes and nothing else here shows it
    trained: bool = (
        False  #: it may take hours: of gcexp.tasks only modules that the task's classes import count
    )


_RUN = (
    *("run/build.py", "run/scheme.py", "run/run.py", "run/seeds.py", "run/measurement.py"),
    *("schema.py", "seeding.py"),
)
_CLOCK = ("codes", "designs", "decoding_error", "delays", "schemes", "theory", "timeline.py", *_RUN)
_TABLE = (
    *("figures/tables.py", "figures/rows.py", "report/table.py", "report/columns.py"),
    *("run/measured.py", "summary.py"),
)
_LEARN = ("tasks", "data")
_NUMBERS, _FRAMES = ("numpy", "scipy"), ("numpy", "scipy", "pandas")
_LEARNED = ("numpy", "scipy", "torch")

#: Every stage by its name. What figure files and options say counts by its values, not the code that reads them.
STAGES = {
    "prepare": Stage(("data", "seeding.py"), ("dataset",), ("numpy", "scikit-learn")),
    "timeline": Stage(
        _CLOCK,
        ("code", "wait", "placement", "loads", "overhead", "late", "chunks", "exact", "bound", "delay"),
        _NUMBERS,
        version=2,
    ),
    "trajectory": Stage((), ("task", "optimizer"), _LEARNED, trained=True),
    "replay": Stage((*_CLOCK, *_LEARN, "run/verification.py"), ("code", "task"), _LEARNED),
    "curves": Stage((*_CLOCK, *_TABLE, *_LEARN, "run/verification.py"), (), _FRAMES),
    "timings": Stage((*_CLOCK, *_TABLE), (), _FRAMES),
    "analysis": Stage(
        (*_CLOCK, *_TABLE, *_LEARN, "analysis", "benchmarking.py", "run/benchmarked.py"),
        (),
        (*_FRAMES, "torch", "networkx", "galois"),
    ),
    "draw": Stage(("figures", "report/jobs.py"), (), ("numpy", "pandas", "matplotlib")),
    "typeset": Stage(("figures", "report/jobs.py"), (), ("numpy", "pandas")),
    "page": Stage(("report", "figures", "analysis/claims.py")),
    "tracking": Stage(
        (
            *("report/tracking.py", "report/mlflow_store.py", "report/comparison.py"),
            *("figures/tables.py", "figures/rows.py"),
        )
    ),
}

#: The module of `gcexp.tasks` that decides nothing of what is learned.
_STORING = "gcexp.tasks.checkpoint"
_ROOT = Path(__file__).parents[1]


def tracked(stage: str, config: dict | None = None) -> list[str]:
    """All that decides the result of a stage beside its input files and what its job reads, as a short flat list.

    `config` is the composed run, where the stage is of one run.
    """
    found = STAGES[stage]
    keys, config = (found.keys, config) if config is not None else ((), {})
    installed = versions_of(found.libraries)
    flat = [f"version={found.version}", *(f"{name}=={version}" for name, version in installed.items())]
    for key in keys:
        flat += values(config.get(key), key)
    if found.trained:
        flat += _learning(frozenset(target for key in keys for target in targets(config.get(key))))
    return flat + [f"{room}={_room(room)}" for room in found.rooms]


@cache
def _room(name: str) -> str:
    """Hash of the modules in a folder or a file of the package, remarks included: to leave them out takes 0.4 CPU-s."""
    place, digest = _ROOT / name, hashlib.sha256()
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        text = file.read_bytes()
        digest.update(f"{file.relative_to(_ROOT).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def values(node: Any, prefix: str) -> list[str]:
    """Every value of a node with its key, in the order of the keys' names."""
    if isinstance(node, dict):
        return [line for key in sorted(node, key=str) for line in values(node[key], f"{prefix}.{key}")]
    if isinstance(node, list) and any(isinstance(value, dict) for value in node):
        return [line for i, value in enumerate(node) for line in values(value, f"{prefix}.{i}")]
    return [f"{prefix}={node}"]


def digest_of(key: Any) -> str:
    """A name for plain values."""
    return hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]


def targets(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first, and what a key ``function`` names."""
    return [target for target in named(node, "_target_", "function") if isinstance(target, str)]


@cache
def _learning(classes: frozenset[str]) -> list[str]:
    """The modules that decide what is learned, each with a hash of its text without remarks.

    Those are the one that seeds random streams and the modules of `gcexp.tasks` that some classes and training import,
    directly or through others. A class from outside may import any.
    """
    files = {f"gcexp.tasks.{file.stem}": file for file in (_ROOT / "tasks").glob("[!_]*.py")}
    found: set[str] = set()
    waiting = {"gcexp.tasks.training", *(name.rpartition(".")[0] for name in classes)}
    waiting |= files.keys() if any(map(outside, classes)) else set()
    while waiting := waiting & files.keys() - found - {_STORING}:
        found |= waiting
        waiting = {name for file in waiting for name in _imported(files[file])}
    lines = [f"gcexp.seeding={content(_ROOT / 'seeding.py')}"]
    return lines + [f"{name}={content(files[name])}" for name in sorted(found)]


def _imported(file: Path) -> Iterator[str]:
    """Names behind `gcexp.tasks` in the imports of a module, those of modules among them."""
    imports = r"^\s*(?:from|import) gcexp\.tasks\b(?:[^\n(]*\([^)]*\)|[^\n]*)"
    for line in re.findall(imports, file.read_text("utf-8"), re.MULTILINE):
        yield from (f"gcexp.tasks.{word}" for word in re.findall(r"\w+", line))
