"""How good the gradients of a timeline are, and whose data they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.words import joined
from gcexp_adviser.benchmark.bound import is_fresh

if TYPE_CHECKING:
    from gcexp.schemes import Scheme
    from gcexp.timeline import Timeline

_HARDLY = 0.05  # a worker whose data are used less often than this is named
_MOST_NAMED = 4  # workers that are named in a phrase


def hardly_used(labels: Sequence[str], shares: np.ndarray) -> str:
    """A phrase that names the workers whose data are never or hardly ever used; empty where there are none."""
    used = dict(zip(labels, shares.tolist(), strict=False))
    never = [name for name, share in used.items() if share == 0]
    hardly = [name for name, share in used.items() if 0 < share < _HARDLY]
    parts = []
    if never:
        parts.append(f"never uses {_named_workers(never)}")
    if hardly:
        parts.append(f"hardly ever uses {_named_workers(hardly)}")
    return "; ".join(parts)


def _named_workers(labels: list[str]) -> str:
    """The labels of some workers, of many only the first."""
    noun = "worker" if len(labels) == 1 else "workers"
    return f"{noun} {joined(labels, _MOST_NAMED)}"


def share_used(timeline: Timeline, scheme: Scheme) -> float | np.ndarray:
    """Share of the gradient that each iteration used, (S, T), or 1 for exact schemes."""
    if is_fresh(scheme) or (timeline.coefficients == 1).all():
        return 1.0
    return timeline.used[timeline.pattern]


def quality(timeline: Timeline, fresh: bool) -> dict[str, Any]:
    """How good the decoded gradients are; all heard shares of a fresh batch are that batch."""
    if fresh or (timeline.coefficients == 1).all():
        return {"exact": not fresh, "used_share": 1.0, "error": 0.0, "bias": 0.0, "never_used": 0.0}
    c = timeline.coefficients.astype(float)
    weight = np.bincount(timeline.pattern[0], minlength=len(c)) / timeline.pattern.shape[1]
    return {
        "exact": False,
        "used_share": float(weight @ timeline.used),
        "error": float(weight @ ((c - 1) ** 2).mean(1)),
        "bias": float(((weight @ c - 1) ** 2).mean()),
        "never_used": float((c == 0)[weight > 0].all(0).mean()),
    }


def used_of_workers(timeline: Timeline, scheme: Scheme) -> np.ndarray:
    """How often the data of each worker count, (n,): the mean over the partitions that it holds."""
    weight = np.bincount(timeline.pattern[0], minlength=len(timeline.coefficients))
    used = weight @ (timeline.coefficients != 0) / timeline.pattern.shape[1]
    held = scheme.code.assignment
    many = held.sum(1)
    return np.where(many > 0, held @ used / np.maximum(many, 1), 1.0)  # who holds nothing loses nothing
