"""A scheme: a code, a waiting rule, and the overhead of every iteration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from gcexp.codes import Code
from gcexp.codes.by_message import by_message
from gcexp.errors import require, require_known
from gcexp.extras import extras
from gcexp.schema import quoted
from gcexp.schemes.late import LATE
from gcexp.schemes.loads import Loads, LoadsExtras
from gcexp.schemes.placement import Placement, PlacementExtras
from gcexp.schemes.waiting import WaitingExtras, WaitingRule, WorkerLimit


def durations_only(wait: object) -> bool:
    """Whether a waiting rule gives durations only, from which nothing can be decoded."""
    return bool(extras(WaitingExtras, wait).durations_only)


def require_workers(part: object, n: int, key: str = "n") -> None:
    """Raise `ParameterError` for more workers than `most_workers` of the class, by default that of `Code`.

    Examples
    --------
    >>> from gcexp.codes import CyclicMDS
    >>> require_workers(CyclicMDS, 100_000)
    Traceback (most recent call last):
    gcexp.errors.ParameterError: CyclicMDS supports at most 10000 workers, got n=100000
    """
    most = extras(WorkerLimit, part).most_workers
    name = part.__name__ if isinstance(part, type) else type(part).__name__
    require(n <= most, f"{name} supports at most {most} workers, got {key}={quoted(n)}")


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
    loads : Loads, optional
        How much each worker is given, where that is not what the code says.
    bound : bool
        Declares that only durations mean anything, which nothing can beat: a rule with `durations_only`, or uneven
        loads chosen in hindsight. A bound decodes nothing.
    decodes : bool
        False where the scheme can be timed, but nobody has written its decoder yet: a clock only.

    Raises
    ------
    ParameterError
        For values outside these, a placement or loads that are not for the code or for each other, restarts with late
        workers, and a bound that is none or is asked for what it does not bound.
    """

    code: Code
    wait: WaitingRule
    overhead: float = 0.0
    placement: Placement | None = None
    late: str = "stop"
    chunks: int | None = None
    loads: Loads | None = None
    bound: bool = False
    decodes: bool = True

    def __post_init__(self):
        require(0 <= self.overhead < inf, f"overhead must be a time >= 0, got {self.overhead}")
        require_known("late", self.late, LATE)
        for part in filter(None, (self.wait, self.placement, self.loads)):
            require_workers(part, self.code.n)
        require(
            self.chunks is None or self.chunks >= 1,
            f"chunks must be a number of pieces >= 1, got {self.chunks}",
        )
        require(
            self.late == "stop" or not extras(WaitingExtras, self.wait).anew,
            "wait=restart starts all workers again in each iteration, so it needs late=stop",
        )
        if self.placement is not None:
            self.placement.check(self.code)
        if self.loads is not None:
            self.loads.check(self.code)
            require(
                self.placement is None,
                f"loads belong to fixed workers, but {self.placement!r} moves workers: choose one of the two",
            )
        self._check_assignment()
        if durations_only(self.wait):
            object.__setattr__(self, "bound", True)
        if self.bound:
            self._check_bound()
            object.__setattr__(self, "decodes", False)

    def _check_assignment(self) -> None:
        """Refuse a rule that says what workers compute where that has no meaning."""
        rule = extras(WaitingExtras, self.wait)
        lag_fits = rule.lag == 0 if rule.ages is None else rule.lag >= 1
        require(lag_fits, f"{self.wait!r} needs a lag >= 1 with ages, and none without, got lag={rule.lag}")
        if rule.order is None and rule.ages is None:
            return
        _ = self.decoder
        require(
            rule.begin is not None,
            f"{self.wait!r} says before each iteration what workers compute, so it needs a memory: a method begin",
        )
        require(
            rule.order is None or rule.ages is None,
            f"{self.wait!r} has both order and ages, but messages are ordered within their own iteration only",
        )
        require(
            self.loads is None,
            f"loads say what workers compute, and so does {self.wait!r}: choose one of the two",
        )

    @property
    def lag(self) -> int:
        """Iterations after which a gradient is decoded at the latest: 0 but for codes over time."""
        return extras(WaitingExtras, self.wait).lag

    @cached_property
    def decoder(self) -> Code:
        """The code that decodes the responses: where the rule orders messages, each of them is counted by itself."""
        orders = extras(WaitingExtras, self.wait).order is not None
        return by_message(self.code) if orders else self.code

    def counted(self, patterns: np.ndarray) -> np.ndarray:
        """Messages of each worker in patterns of `decoder`, (U, n)."""
        if self.decoder is self.code:
            return patterns
        return patterns @ (self.code.owner[:, None] == np.arange(self.code.n)).astype(np.int16)

    def _check_bound(self) -> None:
        rule = extras(WaitingExtras, self.wait)
        bounded_by_loads = extras(LoadsExtras, self.loads).hindsight
        require(
            rule.durations_only or bounded_by_loads,
            f"the scheme declares bound: true, but {self.wait!r} gives no bound",
        )
        require(
            self.late == "stop",
            f"a bound is computed with late=stop and holds for every value of late; got late={self.late}",
        )
        if not rule.by_loads:
            return
        require(
            self.loads is None,
            "wait=capacity uses the loads of its code; for other loads use scheme=work_floor",
        )
        stays = self.placement is None or extras(PlacementExtras, self.placement).stays
        equal_loads = len(np.unique(self.code.load)) == 1
        equal_messages = len(np.unique(self.code.messages)) == 1
        name = type(self.placement).__name__.lower()
        require(
            stays or (equal_loads and equal_messages),
            "wait=capacity with unequal loads needs workers that keep their places, but "
            f"placement {name} moves them",
        )

    def costs(self, seed: int) -> dict[str, float]:
        """The largest costs of a worker: gradients sent, partitions computed and stored, codewords that it may send."""
        code = self.code
        placement = extras(PlacementExtras, self.placement)
        stored, codewords = code.load, 1
        if placement.stored is not None:
            stored = placement.stored(code, seed).sum(1)
        if placement.codewords is not None:
            codewords = int(placement.codewords(code, seed).max())
        return {
            "messages": float((code.messages * code.length).max()),
            "load": float(code.load.max()),
            "stored_partitions": int(stored.max()),
            "codewords": codewords,
        }
