"""Which columns a table of runs has: the keys of its runs and what its kind measures, known before the first job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gcexp.run.parts import PARTS
from gcexp.run.result_columns import TIMED

if TYPE_CHECKING:
    from gcexp.run.run import Run

SAVED = ("saved_time_s", "saved_share")


@dataclass(frozen=True)
class Timings:
    """Rows of a table of kind timings.

    Parameters
    ----------
    rows : {"seeds", "running", "iterations"}
        One row per seed, over all its iterations; one per seed and iteration 1, 2, 5, 10, 20, ... and the last, over
        the iterations up to this one; or one per seed and iteration.
    against : mapping
        Label to the label that it is compared with, seed by seed: columns ``saved_time_s``, and ``saved_share`` of the
        other's mean over seeds, so that its own mean over seeds is one minus the ratio of the means. A run meets the
        other's run with the same draws (n and the keys of the delay model) and equal values of all keys, and columns of
        the figure's own, in which the other's runs differ.
    exact : str, optional
        Dotted name of a function of a run's scheme, delay model and a number of iterations: the expected mean iteration
        time, NaN where no formula is known; column ``exact``.
    """

    rows: Literal["seeds", "running", "iterations"] = "seeds"
    against: dict = field(default_factory=dict)
    exact: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns behind those of the run."""
        names = list(TIMED[self.rows])
        if self.exact:
            names.append("exact")
        if self.against:
            names += SAVED
        return tuple(names)


@dataclass(frozen=True)
class Passages:
    """First passages alone as the rows of a table of kind curves: one per run, seed and level.

    Parameters
    ----------
    levels : list of float
        Scores to be reached.
    y : str
        Column of the score.
    """

    levels: tuple[float, ...]
    y: str = "test_accuracy"

    #: Simulated time at the first evaluated iteration with that score or more; empty where it is never reached.
    columns: ClassVar = ("seed", "level", "reached_s")


def key_columns(runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """Keys that are set or swept in any of some runs, and their value in each run: key to id of the run to value.

    A key that a run leaves alone has its default there, and nothing where the run has no such key.
    """
    runs = list(runs)
    keys: dict[str, None] = {}
    for part in PARTS:  # each part with its own keys behind it, whichever run sets them
        for run in runs:
            keys |= dict.fromkeys(run.keys_set(part))
    keys.pop("exact", None)  # what a scheme declares changes no number
    found = {}
    for key in keys:
        found[key] = {run.id: _value(run, key) for run in runs}
    return found


def _value(run: Run, key: str) -> Any:
    """The value of a key in a run; None where the run has no such key."""
    if key in PARTS:
        return run.option(key)
    node: Any = run.config
    for part in key.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    if isinstance(node, dict):  # a whole option: its class, as in wait=decodable
        return str(node.get("_target_")).rpartition(".")[2]
    return node
