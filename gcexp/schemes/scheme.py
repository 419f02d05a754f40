"""A scheme: a code, the rule by which the master stops waiting, and what every iteration costs besides."""

from __future__ import annotations

from dataclasses import dataclass

from gcexp.codes import Code
from gcexp.errors import require
from gcexp.schemes.waiting import WaitingRule


@dataclass(frozen=True)
class Scheme:
    """A code plus a waiting rule.

    Parameters
    ----------
    code : Code
    wait : WaitingRule
    overhead : float
        Time added to every iteration (broadcast, update), in the delay model's unit.
    """

    code: Code
    wait: WaitingRule
    overhead: float = 0.0

    def __post_init__(self):
        require(self.overhead >= 0, f"overhead is a time >= 0, got {self.overhead}")
