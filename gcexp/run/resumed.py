"""What did a training cost before it was interrupted? A checkpoint that keeps that too."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from gcexp.tasks.checkpoint import Checkpoint

_SPENT = "at_cpu_s"  # among the names that say where a training stopped, which a training reads by name


class Resumed(Checkpoint):
    """A checkpoint that knows what the processes before this one spent.

    Attributes
    ----------
    before : float or None
        CPU seconds of those; None where the state is older than this record.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     first, second = Resumed(f"{folder}/run.npz", {}), Resumed(f"{folder}/run.npz", {})
    ...     with first.held():
    ...         first.load(), first.save({"step": np.array(7)})
    ...     with second.held():
    ...         second.load()["step"], first.before, second.before > 0
    (None, None)
    (array(7), 0.0, True)
    """

    def __init__(self, path: Path | str, config: dict, every: float = 15.0):
        super().__init__(path, config, every)
        self.before: float | None = 0.0
        self._began = time.process_time()

    def load(self) -> dict[str, np.ndarray] | None:
        """As of any checkpoint."""
        state = super().load()
        if state is not None:
            known = float(state.get(_SPENT, np.nan))
            self.before = None if np.isnan(known) else known
        return state

    def save(self, state: dict[str, np.ndarray]) -> None:
        """As of any checkpoint."""
        before = np.nan if self.before is None else self.before
        super().save(state | {_SPENT: np.array(before + time.process_time() - self._began)})
