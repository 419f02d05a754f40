"""What a result depends on beside its input files and what its job reads: one table of the stages.

Rules, checkpoints and the keys of prepared data ask for the same list: the sources of the library's rooms whose code
runs in a stage, the values of the options with what their ``inputs:`` hold, and the versions of the libraries that
compute. All this is known before a job runs. A person's own modules, and files that only the job knows, are told by the
job itself (`gcexp.run.records`).
"""

from __future__ import annotations

import ast
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.run.build import values_under
from gcexp.run.contents import content_hash, short_hash
from gcexp.run.module_text import import_statements, leads_to_own_module, syntax_tree
from gcexp.run.records import versions_of


@dataclass(frozen=True)
class Stage:
    """What decides the result of a stage beside its input files.

    Attributes
    ----------
    rooms : tuple of str
        Folders and files of the package whose code runs in it.
    keys : tuple of str
        Those of a run's config whose values decide.
    libraries : tuple of str
        Distributions whose versions decide.
    version : int
        Raised when the result changes and nothing else here shows it.
    trained : bool
        Whether it may take hours: of ``gcexp.tasks`` only the modules that the task's classes import count then.
    """

    rooms: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    version: int = 1
    trained: bool = False


_RUN = (
    "run/build.py",
    "run/scheme.py",
    "run/run.py",
    "run/seeds.py",
    "run/measurement.py",
    "schema.py",
    "seeding.py",
)
_CLOCK = (
    "codes",
    "designs",
    "decoding_error",
    "delays",
    "traces",
    "schemes",
    "theory",
    "timeline",
    "extras.py",
    *_RUN,
)
_TABLE = (
    "figures/tables.py",
    "figures/rows.py",
    "report/table.py",
    "report/columns.py",
    "run/result_columns.py",
    "summary.py",
)
_LEARN = ("tasks", "data")

#: Every stage by its name. What figure files and options say counts by its values, not the code that reads them.
STAGES = {
    "prepare": Stage(
        rooms=("data", "seeding.py"),
        keys=("dataset",),
        libraries=("numpy", "scikit-learn"),
    ),
    "timeline": Stage(
        rooms=_CLOCK,
        keys=(
            "code",
            "wait",
            "placement",
            "loads",
            "overhead",
            "late",
            "chunks",
            "exact",
            "bound",
            "decodes",
            "delay",
        ),
        libraries=("numpy", "scipy"),
        version=2,
    ),
    "trajectory": Stage(
        keys=("task", "optimizer"),
        libraries=("numpy", "scipy", "torch"),
        trained=True,
    ),
    "replay": Stage(
        rooms=(*_CLOCK, *_LEARN, "run/verification.py"),
        keys=("code", "task", "optimizer"),
        libraries=("numpy", "scipy", "torch"),
    ),
    "curves": Stage(
        rooms=(*_CLOCK, *_TABLE, *_LEARN, "run/verification.py"),
        libraries=("numpy", "scipy", "pandas"),
    ),
    "timings": Stage(
        rooms=(*_CLOCK, *_TABLE),
        libraries=("numpy", "scipy", "pandas"),
    ),
    "analysis": Stage(
        rooms=(*_CLOCK, *_TABLE, *_LEARN, "analysis", "run/benchmark_schemes.py"),
        libraries=("numpy", "scipy", "pandas", "torch", "networkx", "galois"),
    ),
    "draw": Stage(
        rooms=("figures", "report/jobs.py"),
        libraries=("numpy", "pandas", "matplotlib"),
    ),
    "typeset": Stage(
        rooms=("figures", "report/jobs.py"),
        libraries=("numpy", "pandas"),
    ),
    "page": Stage(rooms=("report", "figures", "analysis/claims")),
    "tracking": Stage(
        rooms=(
            "report/tracking.py",
            "report/mlflow_store.py",
            "report/comparison.py",
            "figures/tables.py",
            "figures/rows.py",
        ),
    ),
}

#: The module of `gcexp.tasks` that decides nothing of what is learned.
_STORING = "gcexp.tasks.checkpoint"
_ROOT = Path(__file__).parents[1]


def stage_fingerprint(stage: str, config: dict | None = None) -> list[str]:
    """All that decides the result of a stage beside its input files and what its job reads, as a short flat list.

    `config` is the composed run, where the stage is of one run.
    """
    about = STAGES[stage]
    lines = [f"version={about.version}"]
    for library, version in versions_of(about.libraries).items():
        lines.append(f"{library}=={version}")
    classes = set[str]()
    if config is not None:
        for key in about.keys:
            lines += lines_of_values(config.get(key), key)
            classes.update(dotted_names(config.get(key)))
    if about.trained:
        lines += _learning(frozenset(classes))
    for room in about.rooms:
        lines.append(f"{room}={_room(room)}")
    return lines


@cache
def _room(name: str) -> str:
    """Hash of all files in a folder of the package, or of one file.

    Comments count too: to leave them out of everything takes 0.4 CPU-s.
    """
    place = _ROOT / name
    files = [place]
    if place.is_dir():
        files = sorted(place.rglob("[!.]*.*"))
    digest = hashlib.sha256()
    for file in files:
        if "__pycache__" in file.parts:
            continue
        text = file.read_bytes()
        digest.update(f"{file.relative_to(_ROOT).as_posix()} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()[:12]


def lines_of_values(node: Any, prefix: str) -> list[str]:
    """Every value of a node with its key, in the order of the keys' names, and what ``inputs`` in it hold.

    >>> lines_of_values({"scale": 2, "inputs": ["no-such-file"]}, "delay")
    ["delay.inputs=['no-such-file']", 'delay.scale=2', 'delay: no-such-file holds None']
    """
    if isinstance(node, dict):
        lines = []
        for key in sorted(node, key=str):
            lines += lines_of_values(node[key], f"{prefix}.{key}")
        for name in _inputs_of(node):
            lines.append(f"{prefix}: {name} holds {content_hash(name)}")
        return lines
    if isinstance(node, list) and any(isinstance(value, dict) for value in node):
        lines = []
        for i, value in enumerate(node):
            lines += lines_of_values(value, f"{prefix}.{i}")
        return lines
    return [f"{prefix}={node}"]


def _inputs_of(node: dict) -> list[str]:
    """Files, folders and patterns that an option file names under ``inputs:``, for what its own Python opens.

    A class inside of another may have an argument of this name. If its values are texts, asking for files of these
    names does no harm.
    """
    inputs = node.get("inputs")
    names = inputs if isinstance(inputs, list) else [inputs]
    return [name for name in names if isinstance(name, str)]


def digest_of(key: Any) -> str:
    """A name for plain values."""
    return short_hash(json.dumps(key, sort_keys=True, default=str).encode())


def dotted_names(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first, and what a key ``function`` names."""
    names = values_under(node, "_target_", "function")
    return [name for name in names if isinstance(name, str)]


@cache
def _learning(classes: frozenset[str]) -> list[str]:
    """The modules that decide what is learned, each with a hash of its text without remarks.

    Those are the one that seeds random streams and the modules of `gcexp.tasks` that some classes and training import,
    directly or through others. A class from outside may import any.
    """
    files = {f"gcexp.tasks.{file.stem}": file for file in (_ROOT / "tasks").glob("[!_]*.py")}
    del files[_STORING]
    waiting = ["gcexp.tasks.training"]
    for name in classes:
        module, _, _ = name.rpartition(".")
        waiting.append(module)
        if leads_to_own_module(name):
            waiting += files
    deciding = set[str]()
    while waiting:
        module = waiting.pop()
        if module in files and module not in deciding:
            deciding.add(module)
            waiting += _imported_names(files[module])
    lines = [f"gcexp.seeding={content_hash(_ROOT / 'seeding.py')}"]
    for module in sorted(deciding):
        lines.append(f"{module}={content_hash(files[module])}")
    return lines


def _imported_names(file: Path) -> list[str]:
    """Dotted names of all that a module imports: modules, and names in modules, which may be modules themselves."""
    names = []
    for node in import_statements(syntax_tree(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        else:  # none in the package is relative
            names.append(f"{node.module}")
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names
