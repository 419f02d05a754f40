"""A scheme: a code, the rule by which the master stops waiting, and what every iteration costs besides."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from gcexp.codes import Code
from gcexp.errors import require, require_known
from gcexp.schemes.late import LATE
from gcexp.schemes.placement import Placement
from gcexp.schemes.waiting import WaitingRule


@dataclass(frozen=True)
class Scheme:
    """A code plus a waiting rule and, for dynamic schemes, a placement rule.

    Parameters
    ----------
    code : Code
    wait : WaitingRule
    overhead : float
        Time added to every iteration (broadcast, update), in the delay model's unit.
    placement : Placement, optional
        Who plays worker j of the code in each iteration; default: worker j.
    late : {"stop", "chunk", "finish", "every"}
        What a worker does whose work was not waited for, see `gcexp.schemes.late.free_after`.
    chunks : int, optional
        Pieces of a worker's own share, for ``late=chunk``; default: a trace's micro-batches, else 8.

    Raises
    ------
    ParameterError
        For values outside these, a placement that is not for the code, and restarts with late workers.
    """

    code: Code
    wait: WaitingRule
    overhead: float = 0.0
    placement: Placement | None = None
    late: str = "stop"
    chunks: int | None = None

    def __post_init__(self):
        require(0 <= self.overhead < inf, f"overhead is a time >= 0, got {self.overhead}")
        require_known("late", self.late, LATE)
        require(
            self.chunks is None or self.chunks >= 1,
            f"chunks is a number of pieces >= 1, got {self.chunks}",
        )
        require(
            self.late == "stop" or not getattr(self.wait, "anew", False),
            "wait=restart starts all workers anew: late=stop only",
        )
        if self.placement is not None:
            self.placement.check(self.code)

    def costs(self, seed: int) -> dict[str, float]:
        """What a worker pays at most: gradients it sends, partitions it computes and stores, codewords it may send."""
        code, placement = self.code, self.placement
        stored, codewords = getattr(placement, "stored", None), getattr(placement, "codewords", None)
        held = stored(code, seed) if stored else code.assignment
        return {
            "messages": float((code.messages * code.length).max()),
            "load": float(code.load.max()),
            "stored_partitions": int(held.sum(1).max()),
            "codewords": int(codewords(code, seed).max()) if codewords else 1,
        }
