"""What a result depends on: one table of the stages, read by rules, jobs, checkpoints and provenance."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.files import bundled
from gcexp.run.build import named
from gcexp.run.source import definer, reached, source_hash, text_hash


@dataclass(frozen=True)
class Stage:
    """What decides the result of a stage beside its input files.

    Attributes
    ----------
    entries : tuple of str
        Where its code begins, as `gcexp.run.source.source_hash` takes it: an edit of any module that can run from
        there, or from the classes that its options name, makes the result again.
    keys : tuple of str
        Keys of a run's config whose values, classes and files decide.
    version : int
        Raised when the result changes and nothing else here shows it.
    files : tuple of str
        Further files of the package that the code reads.
    trained : bool
        The result costs hours, so that an edit that leaves its bits alone must not repeat it: see `learning`.
    """

    entries: tuple[str, ...]
    keys: tuple[str, ...] = ()
    version: int = 1
    files: tuple[str, ...] = ()
    trained: bool = False


_TABLE = ("gcexp.figures.tables",)

#: Every stage by its name. What figure files and options say is tracked as values, not the code that reads them.
STAGES = {
    "prepare": Stage(("gcexp.data.prepare",), ("dataset",)),
    "timeline": Stage(
        ("gcexp.run.stages:simulated",),
        ("code", "wait", "placement", "loads", "overhead", "late", "chunks", "exact", "bound", "delay"),
        version=2,
    ),
    "trajectory": Stage(("gcexp.tasks.training",), ("task", "optimizer"), trained=True),
    "replay": Stage(("gcexp.run.verification",), ("code", "task")),
    "curves": Stage(("gcexp.report.table:learned", *_TABLE)),
    "timings": Stage(("gcexp.report.table:timed", *_TABLE), ("code",)),  # it builds the codes
    "analysis": Stage(("gcexp.report.table:analysed", *_TABLE)),
    "draw": Stage((*_TABLE, "gcexp.figures.compose", "gcexp.figures.style")),
    "typeset": Stage((*_TABLE, "gcexp.figures.typeset")),
    "claims": Stage((*_TABLE, "gcexp.report.claims")),
    "scorecard": Stage(("gcexp.report.scorecard",)),
    "page": Stage(
        ("gcexp.report.stages:write_page", "gcexp.report.page"),
        files=("report/templates/report.html.j2",),
    ),
    "tracking": Stage(("gcexp.report.tracking",)),
}

#: Rooms whose modules decide what is learned, and the module among them that only stores it.
_LEARNING, _STORING = "gcexp.tasks", "gcexp.tasks.checkpoint"
_KNOWN = Path(__file__).with_name("learning.json")
_ROOT = Path(__file__).parents[1]


def tracked(stage: str, config: dict | None = None, *more: str) -> list[str]:
    """Short flat list of all that decides the result of a stage beside its input files.

    Parameters
    ----------
    stage : str
        A name of `STAGES`.
    config : dict, optional
        Composed run; left out where the stage is not of one run.
    *more : str
        Dotted names of further code that runs in the stage, such as the function of an analysis.
    """
    found = STAGES[stage]
    keys, config = (found.keys, config) if config is not None else ((), {})
    classes = [target for key in keys for target in targets(config.get(key))]
    flat = [f"version={found.version}"]
    for key in keys:
        flat += values(config.get(key), key)
    if found.trained:
        flat += [f"prepare={STAGES['prepare'].version}", *learning(*found.entries, *classes, *more)]
    else:
        flat.append(f"source={source_hash(*found.entries, *classes, *more)}")
    return flat + [f"{name}={content(_ROOT / name)}" for name in found.files]


def values(node: Any, prefix: str) -> list[str]:
    """Every value of a node with its key; a text that names a file counts with the file's content."""
    flat: list[str] = []
    _add_values(node, prefix, flat)
    return flat


def _add_values(node: Any, prefix: str, flat: list[str]) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            _add_values(value, f"{prefix}.{key}", flat)
        return
    if isinstance(node, list) and any(isinstance(value, dict) for value in node):
        for i, value in enumerate(node):
            _add_values(value, f"{prefix}.{i}", flat)
        return
    flat.append(f"{prefix}={node}")
    if prefix.endswith("._target_"):  # a class, whose code counts
        return
    for text in node if isinstance(node, list) else (node,):
        if isinstance(text, str) and ("/" in text or "." in text) and (digest := content(text)):
            flat.append(f"{prefix}.content={digest}")


def targets(node: Any) -> list[str]:
    """Every ``_target_`` in a node, its own first, and what a key ``function`` names."""
    return [target for target in named(node, "_target_", "function") if isinstance(target, str)]


def content(path: Path | str) -> str | None:
    """Hash of a file's content; None where there is no such file."""
    for find in (Path, bundled):  # as from here, or one that comes with the package
        try:
            stat = (place := find(path)).stat()
            return _content(str(place.absolute()), stat.st_mtime_ns, stat.st_size)
        except (OSError, ValueError):  # ValueError: a text with a zero byte
            continue
    return None


@cache
def _content(path: str, *_when: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def learning(*entries: str) -> list[str]:
    """The modules that decide what is learned: by a version where golden bits vouch for their text, else by their hash.

    Those are the modules of `gcexp.tasks`, or of a plug-in's own package, that run from `entries` on; nothing else
    retrains. ``learning.json`` beside this module holds, for each of ours, its version and the hashes of the texts
    that give the bits of that version (`tests/golden/test_versions.py` compares the bits and prints new hashes). So an
    edit retrains until the bits were compared, and a text that is known to give the same bits does not. A new module
    of ours needs no entry: it stands by its hash, as a plug-in's does, as long as no module with an entry reaches it.
    """
    tops = {origin.partition(".")[0] for entry in entries if (origin := definer(entry))} - {"gcexp"}
    lines, known = [], known_texts()
    for name in sorted(reached(*entries)):
        ours = name == _LEARNING or name.startswith(f"{_LEARNING}.")
        if name == _STORING or not (ours or name.partition(".")[0] in tops):
            continue
        digest, vouched = text_hash(name), known.get(name, {"version": 1, "texts": []})
        lines.append(f"{name}={vouched['version'] if digest in vouched['texts'] else digest}")
    return lines


@cache
def known_texts() -> dict[str, dict]:
    """Content of learning.json."""
    return json.loads(_KNOWN.read_text("utf-8"))
