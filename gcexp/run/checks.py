"""Whether composed runs can be built, told before the first job; each check runs once in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gcexp.errors import ExtraError, UserError, unknown
from gcexp.run.build import GROUPS_BUILT, build, dotted, locate, named, with_makers
from gcexp.run.datasets import has_labels
from gcexp.run.declared import class_value, is_there, names_in
from gcexp.run.options import generation
from gcexp.run.scheme import SCHEME_KEYS, build_scheme
from gcexp.schema import arguments

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes import Code


def check(configs: Iterable[dict]) -> None:
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job."""
    for config in configs:
        for group in GROUPS_BUILT:
            for target in named(config.get(group), "_target_"):
                dotted(target, f"{group}._target_")
        scheme = {key: config.get(key) for key in SCHEME_KEYS}
        once(["scheme", scheme], partial(check_scheme, scheme))
        for key in ("delay", "optimizer"):
            once([key, config.get(key)], partial(build, config, key))


_accurate: WeakSet[Code] = WeakSet()  # tried, or known as accurate, in this process


def check_scheme(config: dict) -> None:
    """Build the scheme of a composed run, and refuse an exact code that rounding spoils at its size.

    The code is tried once for the same values, whatever waits for it (`gcexp.codes.accuracy`).
    """
    from gcexp.codes.accuracy import is_tried, require_accurate

    code = build_scheme(config).code
    if code in _accurate or not is_tried(code):
        return
    if not isinstance(config["code"], dict):  # built by a person in Python
        require_accurate(code)
    else:
        once(["accuracy", config["code"]], partial(require_accurate, code))
        _accurate.add(code)


def check_call(function: str, given: dict, key: str) -> list[str] | None:
    """Check the arguments of an analysis, and give the columns that it declares for them; None where it declares none.

    Once for the same arguments.
    """
    return _declared(function, given, key)["columns"]


def declared_clocks(function: str, given: dict) -> bool:
    """Whether an analysis declares that it plays the schemes of a benchmark."""
    return bool(_declared(function, given, "analysis").get("clocks"))


def _declared(function: str, given: dict, key: str) -> dict:
    """What a function declares for its arguments, which are checked first."""
    dotted(function, f"{key}.function")

    def called() -> dict:
        found, made = locate(function, f"{key}.function"), with_makers(given)
        fit = arguments(found, made, key, joint=".")
        declared = getattr(found, "columns", None)  # see gcexp.analysis.declared
        columns = declared(**fit) if callable(declared) else None
        return {"columns": columns and list(columns), "clocks": getattr(found, "clocks", False)}

    return once(["analysis", function, key, given], called) or {"columns": None}


def declared_scores(task: dict) -> list[str] | None:
    """Names of the scores of a composed task: a key ``scores`` of its own, or what its class declares in its source.

    None where neither says them.

    Examples
    --------
    >>> declared_scores({"_target_": "gcexp.tasks.torch_task.TorchTask", "dataset": "linear_mixture"})
    ['test_loss']
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
    """Whether a dotted name stands for something in a module; told by the module's source, and nothing is imported.

    Examples
    --------
    >>> check_named("gcexp.figures.style.plane", "plot.function")
    Traceback (most recent call last):
    gcexp.errors.UserError: plot.function: unknown name in gcexp.figures.style 'plane'; did you mean 'plain'? ...
    """
    module, _, name = dotted(function, place).rpartition(".")
    if not is_there(module):
        raise UserError(f"{place}: cannot import {function!r} (there is no module {module})")
    names = names_in(module)
    if names is not None and name not in names:
        public = [name for name in names if not name.startswith("_")]
        raise UserError(f"{place}: {unknown(f'name in {module}', name, public)}")


@cache
def _passed() -> dict[tuple, Any]:
    """What checks returned, by what they were made of."""
    return {}


def once(description: list, check: Callable[[], Any]) -> Any:
    """What a check returns; in this process it runs once for each description, which consists of plain values.

    Of one that lacks the package of an extra nothing is returned: the job that needs it tells.
    """
    key = (repr(description), *generation())
    with suppress(ExtraError):
        if key not in _passed():
            _passed()[key] = check()
        return _passed()[key]
    return None
