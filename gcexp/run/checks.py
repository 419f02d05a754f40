"""Whether composed runs can be built, told before the first job; what passed once is not tried again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from gcexp.errors import ExtraError
from gcexp.run.build import GROUPS_BUILT, build, dotted, locate, targets_of, with_makers
from gcexp.run.cache import remember, remembered
from gcexp.run.dependencies import tracked, values
from gcexp.run.scheme import build_scheme
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

    for config in configs:
        once(description(config), partial(built, config))


def check_call(function: str, given: dict, key: str) -> None:
    """Check the arguments of a named function, once for the same arguments and source."""

    def checked() -> None:
        arguments(locate(function, f"{key}.function"), with_makers(given), key, joint=".")

    dotted(function, f"{key}.function")
    once([function, *tracked("analysis", None, function), *values(given, key)], checked)


def once(description: list[str], check: Callable[[], None]) -> None:
    """Run a check, unless it passed before under the same description: all that its answer depends on."""
    digest = f"checked {hashlib.sha256(repr(description).encode()).hexdigest()[:16]}"
    if not remembered(digest):
        with suppress(ExtraError):  # told by the job that needs the extra: other figures do not
            check()
            remember(digest, True)
