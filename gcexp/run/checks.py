"""Whether composed runs can be built, told before the first job; what passed once is not tried again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from gcexp.errors import ExtraError
from gcexp.run.build import GROUPS_BUILT, build, dotted, locate, named, with_makers
from gcexp.run.cache import remember, remembered
from gcexp.run.dependencies import tracked, values
from gcexp.run.scheme import build_scheme
from gcexp.schema import arguments

#: What `build_scheme` reads: many runs share a scheme, and some codes take long to construct.
_SCHEME_KEYS = ("code", "wait", "placement", "overhead", "exact", "bound", "n")


def check(configs: Iterable[dict]) -> None:
    """Build scheme, delay model and optimiser of composed runs, so that a mistake is told before the first job.

    What was built before, with the same values and sources, is not built again.
    """
    for config in configs:
        for group in GROUPS_BUILT:
            for target in named(config.get(group), "_target_"):
                dotted(target, f"{group}._target_")
        scheme = {key: config.get(key) for key in _SCHEME_KEYS}
        once([*tracked("timeline", scheme), f"n={scheme['n']}"], partial(build_scheme, scheme))
        for key, stage in (("delay", "timeline"), ("optimizer", "trajectory")):
            once(tracked(stage, {key: config.get(key)}), partial(build, config, key))


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
