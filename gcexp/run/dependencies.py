"""What a result depends on beside its input files and what its job reads: one table of the stages.

Rules, checkpoints and the keys of prepared data ask for the same list: the modules of the library whose code may run in
a stage (`gcexp.run.closure`), the values of the options with what their ``inputs:`` hold, and the versions of the
libraries that compute. All this is known before a job runs. A person's own modules, and files that only the job knows,
are told by the job itself (`gcexp.run.records`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from gcexp.run.build import GROUPS_BUILT, values_under
from gcexp.run.closure import closure_of, names_in_library
from gcexp.run.contents import content_hash, short_hash
from gcexp.run.modules import library_modules
from gcexp.run.records import versions_of


@dataclass(frozen=True)
class Stage:
    """What decides the result of a stage beside its input files.

    Attributes
    ----------
    entries : tuple of str
        Modules with which its work begins. All that they import counts, and so do the classes and functions that the
        options name. What calls them does not: it composes options, reads figure files and names files, and brings
        values to the entries that the fingerprint lists.
    keys : tuple of str
        Those of a run's config whose values and classes decide.
    libraries : tuple of str
        Distributions whose versions decide.
    version : int
        Raised when the result changes and nothing else here shows it.
    """

    entries: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    version: int = 1


#: What tells of a job and keeps its files whole. Nearly every module imports it, and no number of a result is in it: an
#: edit of a sentence would train everything again. `tests/unit/test_closure.py` asks for each of them whether a stage
#: reaches it, and whether a stage reaches more.
TELLING = frozenset({"gcexp.errors", "gcexp.files", "gcexp.progress", "gcexp.tasks.checkpoint"})
#: Who reaches this one composes options, and may build every class of the library that an option can name.
_COMPOSING = "gcexp.run.compose"

_CLOCK = ("gcexp.run.parts",)
_REPLAY = ("gcexp.run.learning",)
_TABLE_OF_RUNS = ("gcexp.report.run_table", "gcexp.figures.tables")
_KEYS_OF_CLOCK = (
    *("code", "wait", "placement", "loads", "overhead", "late", "chunks"),
    *("exact", "bound", "decodes", "delay"),
)

#: Every stage by its name.
STAGES = {
    "prepare": Stage(
        entries=("gcexp.data.prepare",),
        keys=("dataset",),
        libraries=("numpy", "scikit-learn"),
    ),
    "timeline": Stage(
        entries=_CLOCK,
        keys=_KEYS_OF_CLOCK,
        libraries=("numpy", "scipy"),
        version=2,
    ),
    "trajectory": Stage(
        entries=("gcexp.tasks.training",),
        keys=("task", "optimizer"),
        libraries=("numpy", "scipy", "torch"),
    ),
    "replay": Stage(
        entries=(*_CLOCK, *_REPLAY),
        keys=("code", "task", "optimizer"),
        libraries=("numpy", "scipy", "torch"),
    ),
    "curves": Stage(
        entries=(*_CLOCK, *_TABLE_OF_RUNS, *_REPLAY),
        keys=(*_KEYS_OF_CLOCK, "task", "optimizer"),
        libraries=("numpy", "scipy", "pandas"),
    ),
    "timings": Stage(
        entries=(*_CLOCK, *_TABLE_OF_RUNS),
        keys=_KEYS_OF_CLOCK,
        libraries=("numpy", "scipy", "pandas"),
    ),
    "analysis": Stage(
        entries=("gcexp.report.analysis_table", "gcexp.figures.tables"),
        libraries=("numpy", "scipy", "pandas", "torch", "networkx", "galois"),
    ),
    "draw": Stage(
        entries=("gcexp.figures.drawing", "gcexp.figures.tables"),
        libraries=("numpy", "pandas", "matplotlib"),
    ),
    "typeset": Stage(
        entries=("gcexp.figures.typeset", "gcexp.figures.tables"),
        libraries=("numpy", "pandas"),
    ),
    "page": Stage(entries=("gcexp.report.page",)),
    "tracking": Stage(entries=("gcexp.report.tracking",)),
}


def stage_fingerprint(
    stage: str,
    config: dict | None = None,
    names: Iterable[str] = (),
    played: Iterable[dict] | None = None,
) -> list[str]:
    """All that decides the result of a stage beside its input files and what its job reads, as a short flat list.

    Parameters
    ----------
    stage : str
        One of `STAGES`.
    config : dict, optional
        The composed run, where the stage is of one run.
    names : iterable of str
        Dotted names of further classes and functions that may run.
    played : iterable of dict, optional
        The composed runs of a function that composes options. Without them it may build any class that an option can
        name.
    """
    about = STAGES[stage]
    lines = [f"version={about.version}"]
    for library, version in versions_of(about.libraries).items():
        lines.append(f"{library}=={version}")
    named = set(names)
    if config is not None:
        for key in about.keys:
            lines += lines_of_values(config.get(key), key)
        named |= names_of_run(stage, config)
    for run in played or ():
        named |= names_of_run("timeline", run)
    ours, is_computed = names_in_library(named)
    composes = _COMPOSING in closure_of(ours, TELLING).modules and played is None
    return lines + _lines_of_modules(stage, ours, composes or is_computed)


def names_of_run(stage: str, config: dict) -> set[str]:
    """Dotted names of the classes that a run brings to a stage."""
    names = set[str]()
    for key in STAGES[stage].keys:
        value = config.get(key)
        names.update(dotted_names(value))
        if not isinstance(value, dict | list):  # an object that was built in Python
            names.add(f"{type(value).__module__}.{type(value).__qualname__}")
    return names


@cache
def _lines_of_modules(stage: str, names: frozenset[str], anything: bool) -> list[str]:
    """The modules whose code may run in a stage for some classes and functions, each with a hash of what it holds."""
    found = closure_of(frozenset(STAGES[stage].entries), TELLING) | closure_of(names, TELLING)
    if anything:
        found |= closure_of(_nameable(), TELLING)
    return found.lines


@cache
def _nameable() -> frozenset[str]:
    """The modules of classes that options name."""
    packages = {".".join(name.split(".")[:2]) for name in GROUPS_BUILT.values()}
    found = [name for name in library_modules() if ".".join(name.split(".")[:2]) in packages]
    return frozenset(found)


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
