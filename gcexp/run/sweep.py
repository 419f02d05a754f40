"""Several runs and the keys that tell them apart: what a grid of values from Python or from a command stands for.

A `Sweep` knows which of its runs share a training, measures them here, in one process or in several, and gives one
table. `gcexp.submission` makes the same measurements as jobs of a cluster.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.errors import ParameterError, UserError
from gcexp.progress import bar
from gcexp.run import paths
from gcexp.run.dependencies import digest_of
from gcexp.run.given import Given, spelled_value
from gcexp.run.measurement import HomeTrainings, Measurement
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.run import Run, is_plain
from gcexp.run.scheme import Codes

if TYPE_CHECKING:  # pandas and torch are slow to import: not before a mistake is told
    import numpy as np

    from gcexp.run.records import Seen
    from gcexp.run.result import Result
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

#: In a table's attrs: tables of clocks keep the columns that they always had.
ERROR = "mean_decoding_error"
#: In a table's attrs, of each run: the share of its iterations in which nobody is heard whose message counts.
SILENT = "silent_share"
_SAID_BY_ROWS = ("seeds", "iterations")
#: Entries of all matrices of a sweep's codes, about, up to which its runs keep what they have built.
_MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class Sweep:
    """Runs in their order, and how each was given.

    Attributes
    ----------
    runs : tuple of Run
        Those that are possible, checked.
    keys : tuple of dict
        Of each run, the keys that it was given by, with their values: columns of the table.
    impossible : tuple of dict
        Points of a grid that the mathematics does not allow, with the ``reason``.
    """

    runs: tuple[Run, ...]
    keys: tuple[dict[str, Any], ...]
    impossible: tuple[dict[str, Any], ...] = field(default=())

    @classmethod
    def of(
        cls,
        overrides: Iterable[str],
        keys: Mapping[str, Any],
        grid: Mapping[str, Any] | None = None,
        *,
        trains: bool,
        skip: bool = True,
    ) -> Sweep:
        """Every combination of the values of a grid, the last key fastest, each composed and checked.

        Parameters
        ----------
        overrides, keys
            What all runs have in common.
        grid : mapping, optional
            Key to the values it takes.
        trains : bool
            Whether the runs learn their task.
        skip : bool
            Leave out combinations that the mathematics does not allow; if none is left, the last one's reason is
            raised. Otherwise the first of them raises.
        """
        overrides, lists = list(overrides), _lists({} if grid is None else grid, keys)
        points = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
        runs, given, impossible, codes = [], [], [], Codes()
        for point in points:
            told = Given.of(overrides, {**keys, **point})
            try:
                run = Run.of(told.overrides, told.objects, trains=trains, label=name_of(point), codes=codes)
            except ParameterError as error:
                impossible.append(point | {"reason": str(error)})
                if not skip or len(impossible) == len(points):
                    raise
                continue
            if len(points) > 1:
                _release_large(run, len(points))
            runs.append(run)
            shown = {key for key in told.keys if key in lists or key not in _SAID_BY_ROWS}
            given.append({key: value for key, value in told.keys.items() if key in shown})
        return cls(tuple(runs), tuple(given), tuple(impossible))

    # --- Here

    def clocks(self, rows: str, jobs: int = 1, progress: bool = True) -> Result:
        """The table of all clocks, with rows as `gcexp.simulate` has them."""
        measure = partial(clock_of, rows=rows, progress=progress and len(self.runs) == 1)
        return self.table(_for_each(measure, self.runs, what="timelines", jobs=jobs, progress=progress))

    def trainings(
        self, verify: bool, resume: bool, jobs: int = 1, progress: bool = True
    ) -> tuple[Result, list[dict]]:
        """The table of all curves, and the reports of their replays.

        All exact runs of a task share a training. With `resume` trainings keep checkpoints, from which a call that is
        repeated goes on.
        """
        each = partial(_for_each, jobs=jobs, progress=progress)
        measurements = [Measurement(run, _trainings_of(run, resume)) for run in self.runs]
        clock = partial(_timeline, progress=progress and len(measurements) == 1)
        timelines = each(clock, measurements, what="timelines")
        for measurement, timeline in zip(measurements, timelines, strict=True):
            measurement.timeline = timeline

        first: dict[str, Measurement] = {}
        for measurement in measurements:
            first.setdefault(measurement.run.training_key, measurement)
        train = partial(_trajectory, progress=progress and len(first) == 1)
        trained = each(train, list(first.values()), what="trainings")
        known = dict(zip(first, trained, strict=True))
        for measurement in measurements:
            measurement.trajectory, _ = known[measurement.run.training_key]

        table = self.table([scores_of(measurement) for measurement in measurements])
        reports = each(_report, measurements, what="replays") if verify else []
        for _, checkpoint in trained:  # the next call begins anew
            forget(checkpoint)
        return table, reports

    # --- The table

    def silences(self, table: Result) -> list[str]:
        """What is told of the runs of a table that hear nobody in most of their iterations."""
        from gcexp.run.measured import silence_of

        told = [silence_of(run, share) for run, share in zip(self.runs, table.attrs[SILENT], strict=True)]
        return [sentence for sentence in told if sentence is not None]

    def table(self, columns: Sequence[dict[str, np.ndarray]]) -> Result:
        """One table of the columns of all runs, behind a column for every key, with what is known about its runs.

        Columns are joined before they become a table: a table for each run would cost most of the time.
        """
        import numpy as np
        import pandas as pd

        from gcexp.run.provenance import packages, versions
        from gcexp.run.result import Kept, Result

        lengths = [len(one["seed"]) for one in columns]
        silent, columns = _apart(columns, SILENT)
        measured = {}
        for name in dict.fromkeys(name for one in columns for name in one):
            parts = [
                one.get(name, np.full(length, np.nan)) for one, length in zip(columns, lengths, strict=True)
            ]
            measured[name] = np.concatenate(parts)
        keys = list(dict.fromkeys(key for one in self.keys for key in one))
        given = {}
        for key in keys:
            if key in measured:
                continue
            values = [one.get(key) for one in self.keys]
            cells = [spelled_value(value) if isinstance(value, list | tuple) else value for value in values]
            given[key] = pd.Series(cells, dtype=object).infer_objects().repeat(lengths).array
        found = Result(given | measured)
        if ERROR in found:
            found.attrs[ERROR] = found.pop(ERROR).tolist()
        found.attrs["keys"] = keys
        found.attrs[SILENT] = [float(shares[0]) for shares in silent]
        configs = [_plain_config(run) for run in self.runs]
        found.attrs["provenance"] = Kept(points=configs, versions=versions(), packages=packages())
        return found


def _apart(
    columns: Sequence[dict[str, np.ndarray]], name: str
) -> tuple[list[np.ndarray], list[dict[str, np.ndarray]]]:
    """One column of all runs, and the others; a run without it has NaN there, as one that an older version measured."""
    import numpy as np

    apart, others = [], []
    for one in columns:
        apart.append(one.get(name, np.array([np.nan])))
        others.append({key: values for key, values in one.items() if key != name})
    return apart, others


def _lists(grid: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, list]:
    """The values that each key of a grid takes."""
    if not isinstance(grid, Mapping):
        raise UserError(f"the grid names keys and the values they take, as in {{'s': [2, 5]}}, got {grid!r}")
    lists = {}
    for key, values in grid.items():
        if not isinstance(values, Iterable):
            raise UserError(
                f"{key} is swept over a list of values, as in {{{key!r}: [{values!r}]}}, got {values!r}"
            )
        lists[key] = [values] if isinstance(values, str) else list(values)
        if not lists[key]:
            raise UserError(f"{key}: the list of values to sweep is empty")
        if key in keys:
            raise UserError(f"{key} stands both in the grid and beside it; give it once")
    if "seeds" in lists:
        raise UserError(f"seeds are the rows of every run and not swept: give the most, got {lists['seeds']}")
    return lists


def name_of(point: Mapping[str, Any]) -> str:
    """The name of a point of a grid: its keys and their values.

    >>> name_of({"scheme": "cgc", "s": 2})
    'scheme=cgc, s=2'
    """
    return ", ".join(f"{key}={spelled_value(value)}" for key, value in point.items())


def _plain_config(run: Run) -> dict:
    """The config of a run with objects by their repr."""
    return {key: value if is_plain(value) else repr(value) for key, value in run.config.items()}


# --- One run of a sweep, as a process of its own may do it


def clock_of(run: Run, rows: str, progress: bool = False) -> dict[str, np.ndarray]:
    """Columns of a run's clock, beside them `SILENT`, and with one row per seed its decoding error, under `ERROR`."""
    import numpy as np

    from gcexp.run.measured import clock_columns

    with bar(len(run.seeds) * run.iterations, "clock", "iteration", progress) as moving:
        columns, error, silent = clock_columns(run, rows, moving.update)
    columns[SILENT] = np.full(len(columns["seed"]), silent)
    if error is not None:
        columns[ERROR] = error
    return columns


def scores_of(measurement: Measurement) -> dict[str, np.ndarray]:
    """Columns of what a run learned, beside them `SILENT`."""
    import numpy as np

    from gcexp.run.measured import score_columns
    from gcexp.summary import silent_share

    run, timeline = measurement.run, measurement.timeline
    columns = score_columns(run, timeline, measurement.trajectory)
    columns[SILENT] = np.full(len(columns["seed"]), silent_share(timeline, run.decodes))
    return columns


def _trainings_of(run: Run, resume: bool) -> HomeTrainings:
    """Where the training of a run comes from: made here, perhaps from where an earlier call was when it ended."""
    resumes = resume and run.is_named and os.access(".", os.W_OK)
    return HomeTrainings(SweptCheckpoint() if resumes else None, progress=False)


def _timeline(measurement: Measurement, progress: bool) -> Timeline:
    """The clock of a run, with a progress bar."""
    run = measurement.run
    with bar(len(run.seeds) * run.iterations, "clock", "iteration", progress) as moving:
        return run.clock(moving.update)


def _trajectory(measurement: Measurement, progress: bool) -> tuple[Trajectory, Path | None]:
    """What a run learns, and where the state of its training is kept."""
    trainings = measurement.trainings
    assert isinstance(trainings, HomeTrainings)
    trainings.progress = progress
    trajectory = measurement.trajectory
    checkpoint = trainings.checkpoint
    return trajectory, checkpoint.path if isinstance(checkpoint, SweptCheckpoint) else None


def _report(measurement: Measurement) -> dict:
    """What the replay of a training finds."""
    return measurement.report


def _release_large(run: Run, count: int) -> None:
    """Let one of so many runs forget its parts, where the matrices of all of them would fill the memory."""
    if "scheme" in vars(run) and count * run.scheme.code.n**2 > _MOST_ENTRIES:
        run.release()


class SweptCheckpoint:
    """Makes the checkpoint of a training of a sweep, and knows afterwards where it lies: `path`."""

    def __init__(self) -> None:
        self.path: Path | None = None

    def __call__(self, run: Run, decided: list[str], seen: Seen) -> OwnCheckpoint:
        """The checkpoint, in a file named by all that decides the training."""
        own = [] if run.exact else run.fingerprint("timeline")
        key = [*decided, *own, run.config["n"], run.iterations, run.horizon]
        self.path = Path(paths.SWEPT.format(point=digest_of(key)))
        return OwnCheckpoint(self.path, decided, seen)


def forget(checkpoint: Path | None) -> None:
    """Delete the state of a training that is finished."""
    if checkpoint is None:
        return
    for file in checkpoint.parent.glob(f"{checkpoint.name}*"):
        file.unlink(missing_ok=True)


def _for_each(function: Callable, parts: Sequence[Any], *, what: str, jobs: int, progress: bool) -> list:
    """Call a function with every run, or with every measurement of one, some processes side by side.

    Several calls have a progress bar, and a run with a large code forgets its parts when it is done.
    """
    several = len(parts) > 1
    if several and jobs > 1:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=min(jobs, len(parts)), return_as="generator")
        results = parallel(delayed(function)(part) for part in parts)
    else:
        results = map(function, parts)
    found = []
    with bar(len(parts), what, "run", progress and several) as moving:
        for part, result in zip(parts, results, strict=True):
            found.append(result)
            if several:
                _release_large(part.run if isinstance(part, Measurement) else part, len(parts))
            moving.update()
    return found
