"""A checkpoint that is used only while the modules and files that its training read are as they were."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from gcexp.run.records import Seen, changes
from gcexp.tasks.checkpoint import Checkpoint

_RECORD = "record"


class OwnCheckpoint(Checkpoint):
    """A checkpoint with a record of what its training read of a person's own.

    `seen` is what the running training reads; what earlier processes read for it is added when it goes on.
    """

    def __init__(self, path: Path | str, config: list[str], seen: Seen, every: float = 15.0):
        super().__init__(path, config, every)  # type: ignore[arg-type]  # JSON of any kind
        self._seen = seen

    def load(self) -> dict[str, np.ndarray] | None:
        """Read the kept state; None where there is none, or something that the training read has changed."""
        state = super().load()
        if state is None:
            return None
        record = json.loads(str(state.pop(_RECORD, "{}")))
        changed = changes(record)
        if changed:
            names = ", ".join(changed)
            print(
                f"checkpoint {self.path} is not used: {names} changed; training starts over", file=sys.stderr
            )
            return None
        self._seen.earlier = record
        return state

    def save(self, state: dict[str, np.ndarray]) -> None:
        """Keep a state, with the record of what the training has read."""
        record = json.dumps(self._seen.record())
        super().save(state | {_RECORD: np.array(record)})
