"""What do an analysis, a task and a module declare? Asked by a plan, before the first job."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gcexp.errors import EXTRAS, ExtraError, UserError, require, unknown
from gcexp.run.build import locate, require_dotted_name, with_makers
from gcexp.run.datasets import has_labels
from gcexp.run.module_text import class_value, names_in
from gcexp.run.modules import spec_of
from gcexp.schema import arguments, quoted

#: Modules whose functions figure files may still call by an earlier name, and where they are now: its parts, since a
#: whole name would lead all that reads figure files to the adviser (`gcexp.run.closure`).
_MOVED = {
    "gcexp.benchmarking": ("gcexp_adviser", "benchmark"),
    "gcexp.figures.remedies": ("gcexp_adviser", "maps"),
}


@dataclass(frozen=True)
class Declaration:
    """What an analysis declares: the columns of its table, None where it names none, and whether it plays schemes."""

    columns: list[str] | None = None
    plays_schemes: bool = False


def declaration_of(function: str, given: dict) -> Declaration:
    """What an analysis declares, once its arguments are checked.

    Where the package of an extra is missing nothing is known: the job that needs it tells.
    """
    _refuse_moved(require_dotted_name(function, "analysis.function"), "analysis.function")
    try:
        analysis = locate(function, "analysis.function")
        checked = arguments(analysis, with_makers(given), "analysis", joint=".")
        columns = getattr(analysis, "columns", None)
        if callable(columns):
            columns = columns(**checked)
    except ExtraError:
        return Declaration()
    if not isinstance(columns, Iterable | None):
        raise UserError(f"{function}.columns must give names of columns, got {quoted(columns)}")
    if columns is not None:
        columns = list(columns)
    return Declaration(columns, plays_schemes=getattr(analysis, "clocks", False))


def scores_of_task(task: dict) -> list[str] | None:
    """Names of the scores of a composed task: a key ``scores`` of its own, or what its class declares in its source.

    None where neither says them.
    """
    scores = _value_of_task(task, "scores")
    if not isinstance(scores, list) or not all(isinstance(name, str) for name in scores):
        return None
    scores_of_labels = _value_of_task(task, "scores_of_labels")
    if not isinstance(scores_of_labels, list) or has_labels(task["dataset"]):
        return scores
    return [name for name in scores if name not in scores_of_labels]


def require_reachable(level: float, score: str) -> None:
    """Raise `ParameterError` for a level that a score cannot reach: an accuracy is a share.

    Examples
    --------
    >>> require_reachable(0.9, "test_accuracy")
    """
    require(math.isfinite(level), f"level must be a finite number, got {level}")
    if score.endswith("accuracy"):
        require(0 <= level <= 1, f"{score} is a share from 0 to 1, got the level {level:g}; 90 % is 0.9")


def _value_of_task(task: dict, key: str) -> Any:
    """A key of a task's option, or where the option has none, what its class sets."""
    return task.get(key) or class_value(task["_target_"], key, "problem")


def check_named(function: str, place: str) -> None:
    """Whether a dotted name stands for something in a module; told by the module's source, and nothing is imported."""
    _refuse_moved(require_dotted_name(function, place), place)
    module, _, name = function.rpartition(".")
    if not _is_of_an_extra(module) and spec_of(module) is None:
        raise UserError(f"{place}: cannot import {function!r} (there is no module {module})")
    names = names_in(module)
    if names is not None and name not in names:
        public = [known for known in names if not known.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module}', name, public)}")


def _refuse_moved(function: str, place: str) -> None:
    """Refuse the earlier name of a function, and say the new one."""
    for old, now in _MOVED.items():
        if function.startswith(f"{old}."):
            raise UserError(
                f"{place}: {function} has moved: write {'.'.join(now)}{function.removeprefix(old)}"
            )


def _is_of_an_extra(module: str) -> bool:
    """Whether a module belongs to a package of an extra, which may not be installed."""
    package = module.partition(".")[0]
    return any(package in packages for packages in EXTRAS.values())
