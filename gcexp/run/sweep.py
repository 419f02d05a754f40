"""Several runs and the keys that tell them apart: what a grid of values from Python or from a command stands for.

A `Sweep` knows which of its runs share a training, measures them here, in one process or in several, and gives one
table. `gcexp.submission` makes the same measurements as jobs of a cluster.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.errors import ParameterError, UserError
from gcexp.progress import bar
from gcexp.run import paths
from gcexp.run.dependencies import digest_of
from gcexp.run.given import Given, spell_value
from gcexp.run.measurement import Measurement
from gcexp.run.options import search_path
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.run.trainings import HomeTrainings
from gcexp.run.yaml_values import read_value

if TYPE_CHECKING:  # pandas and torch are slow to import: not before a mistake is told
    import numpy as np

    from gcexp.run.records import Seen
    from gcexp.run.result import Result
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

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
        overrides = list(overrides)
        lists = _lists_of_grid({} if grid is None else grid, keys)
        points = _combinations(lists)
        codes = Codes()
        folders = search_path()
        runs, shown, impossible = [], [], []
        for point in points:
            given = Given.of(overrides, {**keys, **point})
            try:
                run = Run.of(
                    given.overrides,
                    given.objects,
                    trains=trains,
                    label=name_of_point(point),
                    codes=codes,
                    folders=folders,
                )
            except ParameterError as error:
                impossible.append(point | {"reason": str(error)})
                none_is_left = len(impossible) == len(points)
                if none_is_left or not skip:
                    raise
                continue
            if len(points) > 1:
                _release_large(run, len(points))
            runs.append(run)
            shown.append(_keys_shown(given.keys, lists))
        return cls(tuple(runs), tuple(shown), tuple(impossible))

    @classmethod
    def of_run(cls, run: Run) -> Sweep:
        """One run that was made before, under its label."""
        keys: dict[str, Any] = {}
        if run.label:
            keys["run"] = run.label
        for override in run.overrides:
            key, _, _ = override.partition("=")
            keys[key] = read_value(override)
        return cls((run,), (_keys_shown(keys, ()),))

    # --- Here

    def clocks(self, rows: str, jobs: int = 1, progress: bool = True) -> Result:
        """The table of all clocks, with rows as `gcexp.simulate` has them."""
        measure = partial(clock_of, rows=rows)
        columns = _for_each(measure, self.runs, what="timelines", jobs=jobs, progress=progress)
        return self.table(columns)

    def trainings(
        self, verify: bool, resume: bool, jobs: int = 1, progress: bool = True
    ) -> tuple[Result, list[dict]]:
        """The table of all curves, and the reports of their replays.

        All exact runs of a task share a training. With `resume` trainings keep checkpoints, from which a call that is
        repeated goes on.
        """
        for_each = partial(_for_each, jobs=jobs, progress=progress)
        measurements = [Measurement(run, _trainings_of(run, resume)) for run in self.runs]

        timelines = for_each(_timeline, measurements, what="timelines")
        for measurement, timeline in zip(measurements, timelines, strict=True):
            measurement.timeline = timeline

        first_of_key: dict[str, Measurement] = {}  # of those that share a training
        for measurement in measurements:
            first_of_key.setdefault(measurement.run.training_key, measurement)
        trained = for_each(_train, list(first_of_key.values()), what="trainings")
        trained_by_key = dict(zip(first_of_key, trained, strict=True))
        for measurement in measurements:
            measurement.trajectory = trained_by_key[measurement.run.training_key].trajectory

        table = self.table([scores_of(measurement) for measurement in measurements])
        reports = []
        if verify:
            reports = for_each(_report, measurements, what="replays")
        for one in trained:
            forget(one.checkpoint)  # the next call begins anew
        return table, reports

    # --- The table

    def silences(self, table: Result) -> list[str]:
        """What is told of the runs of a table that hear nobody in most of their iterations."""
        from gcexp.run.result_columns import SILENT, silence_of

        told = []
        for run, share in zip(self.runs, table.attrs.get(SILENT, ()), strict=False):
            sentence = silence_of(run, share)
            if sentence is not None:
                told.append(sentence)
        return told

    def table(self, columns: Sequence[dict[str, np.ndarray]]) -> Result:
        """One table of the columns of all runs, behind a column for every key, with what is known about its runs.

        Columns are joined before they become a table: a table for each run would cost most of the time.
        """
        import numpy as np

        from gcexp.run.provenance import packages, versions
        from gcexp.run.result import Kept, Result
        from gcexp.run.result_columns import ERROR, SILENT

        lengths = [len(columns_of_run["seed"]) for columns_of_run in columns]
        measured = _stack(columns, lengths)
        keys = _names_in(self.keys)
        key_columns = {}
        for key in keys:
            if key not in measured:
                values = [keys_of_run.get(key) for keys_of_run in self.keys]
                key_columns[key] = _key_column(values, lengths)
        table = Result(key_columns | measured)
        # Tables of clocks keep the columns that they always had.
        if ERROR in table:
            table.attrs[ERROR] = table.pop(ERROR).tolist()
        if SILENT in table:  # points that an older version measured have none
            first_rows = np.cumsum([0, *lengths[:-1]])
            table.attrs[SILENT] = table.pop(SILENT).to_numpy()[first_rows].tolist()
        table.attrs["keys"] = keys
        configs = [_plain_config(run) for run in self.runs]
        table.attrs["provenance"] = Kept(points=configs, versions=versions(), packages=packages())
        return table


# --- The points of a grid


def _lists_of_grid(grid: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, list]:
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


def _combinations(lists: Mapping[str, list]) -> list[dict[str, Any]]:
    """Every combination of the values of some keys, the last key fastest."""
    points = []
    for values in itertools.product(*lists.values()):
        points.append(dict(zip(lists, values, strict=True)))
    return points


def _keys_shown(keys: Mapping[str, Any], swept: Collection[str]) -> dict[str, Any]:
    """The keys of a run that become columns: of those that the rows say anyway only the ones that are swept."""
    shown = dict(keys)
    for key in _SAID_BY_ROWS:
        if key not in swept:
            shown.pop(key, None)
    return shown


def name_of_point(point: Mapping[str, Any]) -> str:
    """The name of a point of a grid: its keys and their values.

    >>> name_of_point({"scheme": "cgc", "s": 2})
    'scheme=cgc, s=2'
    """
    return ", ".join(f"{key}={spell_value(value)}" for key, value in point.items())


# --- The columns of a table


def _names_in(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys of several mappings in the order in which they first occur."""
    names: dict[str, None] = {}
    for mapping in mappings:
        names |= dict.fromkeys(mapping)
    return list(names)


def _stack(columns: Sequence[dict[str, np.ndarray]], lengths: list[int]) -> dict[str, np.ndarray]:
    """The columns of all runs below each other, with NaN for a run that has no such column."""
    import numpy as np

    stacked = {}
    for name in _names_in(columns):
        parts = []
        for columns_of_run, length in zip(columns, lengths, strict=True):
            missing = np.full(length, np.nan)
            parts.append(columns_of_run.get(name, missing))
        stacked[name] = np.concatenate(parts)
    return stacked


def _key_column(values: list, lengths: list[int]) -> Any:
    """A key as a column: the value of each run as often as the run has rows. A list is spelled as it is typed."""
    import pandas as pd

    cells = []
    for value in values:
        if isinstance(value, list | tuple):
            cells.append(spell_value(value))
        else:
            cells.append(value)
    return pd.Series(cells, dtype=object).infer_objects().repeat(lengths).array


def _plain_config(run: Run) -> dict:
    """The config of a run with objects by their repr."""
    config = dict(run.config)
    for key in run.built_in_python:
        config[key] = repr(config[key])
    return config


# --- One run of a sweep, as a process of its own may do it


def clock_of(run: Run, rows: str, progress: bool = False) -> dict[str, np.ndarray]:
    """Columns of a run's clock, with a progress bar."""
    from gcexp.run.result_columns import clock_columns

    with bar(len(run.seeds) * run.iterations, "clock", "iteration", progress) as moving:
        return clock_columns(run, rows, moving.update)


def scores_of(measurement: Measurement) -> dict[str, np.ndarray]:
    """Columns of what a run learned, beside them `SILENT`."""
    import numpy as np

    from gcexp.run.result_columns import SILENT, score_columns
    from gcexp.summary import silent_share

    run, timeline = measurement.run, measurement.timeline
    columns = score_columns(run, timeline, measurement.trajectory)
    columns[SILENT] = np.full(len(columns["seed"]), silent_share(timeline, run.decodes))
    return columns


def _trainings_of(run: Run, resume: bool) -> HomeTrainings:
    """Where the training of a run comes from: made here, perhaps from where an earlier call was when it ended."""
    checkpoint = None
    if resume and not run.built_in_python and os.access(".", os.W_OK):
        checkpoint = SweptCheckpoint()
    return HomeTrainings(checkpoint, progress=False)


def _timeline(measurement: Measurement, progress: bool) -> Timeline:
    """The clock of a run, with a progress bar."""
    run = measurement.run
    with bar(len(run.seeds) * run.iterations, "clock", "iteration", progress) as moving:
        return run.clock(moving.update)


@dataclass(frozen=True)
class _Trained:
    """What a run learned, and the file that keeps the state of its training, if one does."""

    trajectory: Trajectory
    checkpoint: Path | None


def _train(measurement: Measurement, progress: bool) -> _Trained:
    """Train a run, with a progress bar."""
    trainings = measurement.trainings
    assert isinstance(trainings, HomeTrainings)
    trainings.progress = progress
    trajectory = measurement.trajectory
    checkpoint = None
    if isinstance(trainings.checkpoint, SweptCheckpoint):
        checkpoint = trainings.checkpoint.path
    return _Trained(trajectory, checkpoint)


def _report(measurement: Measurement, progress: bool) -> dict:
    """What the replay of a training finds; a replay has no progress bar."""
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
        decided_by_scheme = []
        if not run.exact:
            decided_by_scheme = run.fingerprint("timeline")
        key = [*decided, *decided_by_scheme, run.config["n"], run.iterations, run.horizon]
        self.path = Path(paths.SWEPT.format(point=digest_of(key)))
        return OwnCheckpoint(self.path, decided, seen)


def forget(checkpoint: Path | None) -> None:
    """Delete the state of a training that is finished."""
    if checkpoint is None:
        return
    for file in checkpoint.parent.glob(f"{checkpoint.name}*"):
        file.unlink(missing_ok=True)


def _for_each(
    function: Callable[..., Any],
    parts: Sequence[Run | Measurement],
    *,
    what: str,
    jobs: int,
    progress: bool,
) -> list:
    """Call a function with every run, or with every measurement of one, some processes side by side.

    Several calls have one progress bar, and a single call has its own. Of several runs, one with a large code forgets
    its parts when it is done.
    """
    if len(parts) == 1:
        return [function(parts[0], progress=progress)]
    found = []
    with bar(len(parts), what, "run", progress) as moving:
        results = _results(partial(function, progress=False), parts, jobs)
        for part, result in zip(parts, results, strict=True):
            found.append(result)
            if isinstance(part, Measurement):
                _release_large(part.run, len(parts))
            else:
                _release_large(part, len(parts))
            moving.update()
    return found


def _results(function: Callable[..., Any], parts: Sequence[Run | Measurement], jobs: int) -> Iterable[Any]:
    """What a function gives for every part, in their order, each when it is ready."""
    if jobs == 1:
        return map(function, parts)
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=min(jobs, len(parts)), return_as="generator")
    return parallel(delayed(function)(part) for part in parts)
