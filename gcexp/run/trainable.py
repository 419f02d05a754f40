"""Can a composed run be trained at all? Told by its options and the text of its classes, before anything is built."""

from __future__ import annotations

from typing import Any

from gcexp.errors import UserError
from gcexp.run.module_text import class_value


def require_trainable(config: dict) -> None:
    """Refuse to train where nothing is decoded, on a delay that is a clock only, or seeds together if not exactly."""
    if _of_class(config["delay"], "clock_only", "draw"):
        raise UserError("local_steps has a clock but no training curve")
    if config["bound"]:
        raise UserError(
            "the scheme declares bound: true, durations without a decode, so no task can be trained with it "
            "(allowed: gcexp simulate, figures of kind timings)"
        )
    if not config.get("decodes", True):
        raise UserError(
            "the scheme declares decodes: false, a clock whose decoder is not written yet, so no task can be trained "
            "with it (allowed: gcexp simulate, figures of kind timings)"
        )
    if not config["exact"] and _of_class(config["task"], "exact_only", "together"):
        raise UserError(
            "the scheme declares exact: false, and the task trains all seeds at once with every coefficient 1 "
            "(allowed: schemes with exact: true, or a task such as mnist_mlp)"
        )


def _of_class(part: Any, name: str, beside: str) -> Any:
    """What the class of a part says, of one built in Python or one that its source tells."""
    if not isinstance(part, dict):
        return getattr(part, name, None)
    target = part.get("_target_")
    if not isinstance(target, str):
        return None
    return class_value(target, name, beside)
