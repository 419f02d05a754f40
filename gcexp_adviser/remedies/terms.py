"""What is taken for granted of a job when remedies are compared: memory, costs, and when a gain is one."""

from __future__ import annotations

from dataclasses import dataclass

from gcexp.errors import require, require_known
from gcexp.schemes import LATE


@dataclass(frozen=True)
class Terms:
    """The terms on which remedies are compared.

    Attributes
    ----------
    d_max : float
        Shares of the data that a worker can store.
    overhead : float
        Time that every iteration takes besides, in the trace's unit.
    per_message : float
        Time of each message that is sent, as a share of the mean iteration of waiting for all.
    late : {"stop", "chunk", "finish", "every"}
        What workers do whose work was not waited for, see `gcexp.schemes.late`. With anything but ``stop`` only codes
        in blocks are compared with waiting, excluding and rebalancing.
    slowness : {"worker", "data"}
        Whether a slow time belongs to the worker or to its share of the data.
    moves : bool
        Whether data may move between workers from one iteration to the next.
    near, least : float
        Remedies are as good as the best within this share; a gain below this one is none.

    Raises
    ------
    ParameterError
        For a value outside what it may be.
    """

    d_max: float = 4.0
    overhead: float = 0.0
    per_message: float = 0.001
    late: str = "stop"
    slowness: str = "worker"
    moves: bool = False
    near: float = 0.01
    least: float = 0.02

    def __post_init__(self):
        require(self.d_max >= 1, f"d_max is a load >= 1 in traced loads, got {self.d_max:g}")
        require(self.overhead >= 0, f"overhead is a time >= 0, got {self.overhead:g}")
        require(
            self.per_message >= 0, f"per_message is a share >= 0 of an iteration, got {self.per_message:g}"
        )
        shares = 0 <= self.near < 1 and 0 <= self.least < 1
        require(shares, f"near and least are shares in [0, 1), got {self.near:g} and {self.least:g}")
        require_known("late", self.late, LATE)
        require_known("slowness", self.slowness, ("worker", "data"))

    @property
    def data_bound(self) -> bool:
        """Whether a slow time belongs to a share of the data, so that a copy is slow as well."""
        return self.slowness == "data"
