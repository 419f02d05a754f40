"""What do an analysis, a task and a module declare? Asked by a plan, before the first job."""

from __future__ import annotations

from typing import Any

from gcexp.errors import EXTRAS, ExtraError, UserError, unknown
from gcexp.run.build import dotted, locate, with_makers
from gcexp.run.datasets import has_labels
from gcexp.run.declared import class_value, names_in
from gcexp.run.modules import spec_of
from gcexp.schema import arguments


def declared(function: str, given: dict) -> dict[str, Any]:
    """What an analysis declares, once its arguments are checked: its columns, and whether it plays schemes.

    Where the package of an extra is missing nothing is known: the job that needs it tells.
    """
    try:
        found = locate(function, "analysis.function")
        checked = arguments(found, with_makers(given), "analysis", joint=".")
        columns = getattr(found, "columns", None)
        if callable(columns):
            columns = list(columns(**checked))
        return {"columns": columns and list(columns), "clocks": getattr(found, "clocks", False)}
    except ExtraError:
        return {"columns": None, "clocks": False}


def declared_scores(task: dict) -> list[str] | None:
    """Names of the scores of a composed task: a key ``scores`` of its own, or what its class declares in its source.

    None where neither says them.
    """
    names, of_labels = (
        task.get(key) or class_value(task["_target_"], key, "problem")
        for key in ("scores", "scores_of_labels")
    )
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    if not isinstance(of_labels, list) or has_labels(task["dataset"]):
        return names
    return [name for name in names if name not in of_labels]


def check_named(function: str, place: str) -> None:
    """Whether a dotted name stands for something in a module; told by the module's source, and nothing is imported."""
    module, _, name = dotted(function, place).rpartition(".")
    of_an_extra = any(module.partition(".")[0] in packages for packages in EXTRAS.values())
    if not of_an_extra and spec_of(module) is None:
        raise UserError(f"{place}: cannot import {function!r} (there is no module {module})")
    names = names_in(module)
    if names is not None and name not in names:
        public = [name for name in names if not name.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module}', name, public)}")
