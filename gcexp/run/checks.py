"""Whether composed runs can be built, told before the first job; what passed once is not tried again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from gcexp.run.build import GROUPS_BUILT, build, build_scheme, dotted, locate, targets_of
from gcexp.run.cache import remember, remembered
from gcexp.run.dependencies import tracked, values
from gcexp.schema import arguments


def check(configs: Iterable[dict]) -> None:
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job.

    A run that was built before, with the same values and sources, is not built again.
    """

    def built(config: dict) -> None:
        build_scheme(config)
        build(config, "delay")
        build(config, "optimizer")

    def description(config: dict) -> list[str]:
        for group in GROUPS_BUILT:
            for target in targets_of(config.get(group)):
                dotted(target, f"{group}._target_")
        return tracked("timeline", config) + tracked("trajectory", config)

    _once((description(config), built, config) for config in configs)


def check_call(function: str, given: dict, key: str) -> None:
    """Check the arguments of a named function, once for the same arguments and source."""

    def checked(_) -> None:
        arguments(locate(function, f"{key}.function"), given, key, joint=".")

    dotted(function, f"{key}.function")
    _once([([function, *tracked("analysis", None, function), *values(given, key)], checked, None)])


def _once(checks: Iterable[tuple[list[str], Callable, Any]]) -> None:
    """Run each check whose description did not pass before."""
    for description, run, argument in checks:
        digest = f"checked {hashlib.sha256(repr(description).encode()).hexdigest()[:16]}"
        if not remembered(digest):
            run(argument)
            remember(digest, True)
