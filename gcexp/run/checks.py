"""Whether composed runs can be built, told before the first job; each check runs once in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from gcexp.errors import EXTRAS, ExtraError, UserError, unknown
from gcexp.run.build import build, dotted, locate, named, with_makers
from gcexp.run.datasets import has_labels
from gcexp.run.declared import class_value, names_in
from gcexp.run.modules import spec_of
from gcexp.run.scheme import SCHEME_KEYS, build_scheme
from gcexp.schema import arguments, quoted


def check(configs: Iterable[dict]) -> None:
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job."""
    for config in configs:
        for target in named(config.get("task"), "_target_"):  # which is not built: that takes torch
            dotted(target, "task._target_")
        scheme = {key: config.get(key) for key in SCHEME_KEYS}
        once(["scheme", scheme], partial(check_scheme, scheme))
        for key in ("delay", "optimizer"):
            once([key, config.get(key)], partial(build, config, key))


def check_scheme(config: dict) -> None:
    """Build the scheme of a composed run, and refuse an exact code that rounding spoils at its size.

    The code is tried once for the same values, whatever waits for it (`gcexp.codes.accuracy`).
    """
    from gcexp.codes.accuracy import is_tried, require_accurate

    code = build_scheme(config).code
    if is_tried(code) and isinstance(config["code"], dict):
        once(["accuracy", config["code"]], partial(require_accurate, code))
    elif is_tried(code):  # built by a person in Python
        require_accurate(code)


def declared(function: str, given: dict) -> dict[str, Any]:
    """What an analysis declares, once its arguments are checked: its columns, and whether it plays schemes."""

    def called() -> dict[str, Any]:
        found = locate(function, "analysis.function")
        fit = arguments(found, with_makers(given), "analysis", joint=".")
        columns = getattr(found, "columns", None)
        columns = columns(**fit) if callable(columns) else None
        if not isinstance(columns, Iterable | None):
            raise UserError(f"{function}.columns must give names of columns, got {quoted(columns)}")
        return {"columns": columns and list(columns), "clocks": getattr(found, "clocks", False)}

    return once(["analysis", function, given], called) or {"columns": None, "clocks": False}


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


_passed: dict[str, Any] = {}


def once(description: list, check: Callable[[], Any]) -> Any:
    """What a check returns; in this process it runs once for each description, which consists of plain values.

    None where the package of an extra is missing: the job that needs it tells.
    """
    with suppress(ExtraError):
        if (key := repr(description)) not in _passed:
            _passed[key] = check()
        return _passed[key]
    return None
