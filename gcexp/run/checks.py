"""Whether composed runs can be built, told before the first job; what passed once is not tried again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gcexp.errors import ExtraError, UserError, unknown
from gcexp.run.build import GROUPS_BUILT, build, dotted, locate, named, with_makers
from gcexp.run.cache import remember, remembered
from gcexp.run.datasets import has_labels
from gcexp.run.declared import class_value, is_there, names_in
from gcexp.run.dependencies import tracked, values
from gcexp.run.options import kept
from gcexp.run.reads import observed, unchanged
from gcexp.run.scheme import SCHEME_KEYS, build_scheme
from gcexp.schema import arguments

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes import Code


def check(configs: Iterable[dict]) -> None:
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job.

    What was built before, with the same values and sources, is not built again.
    """
    for config in configs:
        for group in GROUPS_BUILT:
            for target in named(config.get(group), "_target_"):
                dotted(target, f"{group}._target_")
        scheme = {key: config.get(key) for key in SCHEME_KEYS}
        once([*tracked("timeline", scheme), f"n={scheme['n']}"], partial(check_scheme, scheme))
        for key, stage in (("delay", "timeline"), ("optimizer", "trajectory")):
            once(tracked(stage, {key: config.get(key)}), partial(_built, build, config, key))


def _built(make: Callable, *given: Any) -> bool:
    """Whether something could be built; what it is is nobody's to keep."""
    make(*given)
    return True


_accurate: WeakSet[Code] = WeakSet()  # tried, or known as accurate, in this process


def check_scheme(config: dict) -> None:
    """Build the scheme of a composed run, and refuse an exact code that rounding spoils at its size.

    The code is tried once for the same values and sources, whatever waits for it (`gcexp.codes.accuracy`); one that is
    kept for many points is not even asked for again.
    """
    from gcexp.codes.accuracy import is_tried, require_accurate

    code = build_scheme(config).code
    if code in _accurate or not is_tried(code):
        return
    if not isinstance(config["code"], dict):  # built by a person in Python
        require_accurate(code)
    else:
        once(["accurate", *tracked("accuracy", {"code": config["code"]})], partial(require_accurate, code))
        _accurate.add(code)


def check_call(function: str, given: dict, key: str) -> list[str] | None:
    """Check the arguments of an analysis, and give the columns that it declares for them; None where it declares none.

    Once for the same arguments and source.
    """
    return _declared(function, given, key)["columns"]


def declared_checks(function: str, given: dict) -> list[dict]:
    """The checks that an analysis declares its rows to be, see `gcexp.analysis.checks`; most declare none."""
    return _declared(function, given, "analysis")["checks"]


def declared_clocks(function: str, given: dict) -> bool:
    """Whether an analysis declares that it plays the schemes of a benchmark."""
    return bool(_declared(function, given, "analysis").get("clocks"))


def _declared(function: str, given: dict, key: str) -> dict:
    """What a function declares for its arguments, which are checked first."""
    dotted(function, f"{key}.function")
    empty: dict = {"columns": None, "checks": []}

    def called() -> dict:
        found, made = locate(function, f"{key}.function"), with_makers(given)
        fit = arguments(found, made, key, joint=".")
        declared = getattr(found, "columns", None)  # see gcexp.analysis.declared
        rows = getattr(found, "declared_checks", list)
        columns = declared(**fit) if callable(declared) else None
        declared = {"columns": columns, "checks": rows(), "clocks": getattr(found, "clocks", False)}
        return json.loads(
            json.dumps(declared)
        )  # as it is kept: nothing but lists, or it would be asked again

    return once([function, *tracked("analysis"), *values(given, key)], called) or empty


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


def once(description: list[str], check: Callable[[], Any]) -> Any:
    """What a check returns, unless it passed before under the same description and all that it read is as it was.

    Of one that lacks the package of an extra nothing is kept and nothing returned: the job that needs it tells.
    """
    digest = f"checked {hashlib.sha256(repr(description).encode()).hexdigest()[:16]}"
    known = remembered(digest, kept())
    if known is not None and (known["reads"] in _same or unchanged(known["reads"])):
        if _passed is not None and known["reads"] not in _same:
            _same.append(known["reads"])
        return known["value"]
    with suppress(ExtraError), together() as passed:
        if digest not in passed:
            passed[digest] = check()
        return passed[digest]
    return None


_passed: dict[str, Any] | None = None  # what checks of an open `together` returned
_same: list[dict] = []  # what earlier checks read, found as it was in an open `together`


@contextmanager
def together() -> Iterator[dict[str, Any]]:
    """Watch what all checks of a block read as one: to look at every loaded module for each of 400 takes 9 CPU-s."""
    global _passed
    if _passed is not None:
        yield _passed
        return
    _passed = {}
    try:
        with observed() as reads:
            yield _passed
    finally:
        passed, _passed = _passed, None
        _same.clear()
        for digest, value in passed.items():
            remember(digest, {"value": value, "reads": reads}, kept())
