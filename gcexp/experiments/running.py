"""Runs from Python as tidy tables: one, one with a training, or every combination of some keys."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gcexp.errors import UserError
from gcexp.run.run import Run
from gcexp.run.sweep import Sweep, name_of_point
from gcexp.schema import fitted

if TYPE_CHECKING:
    from gcexp.run.result import Result

ROWS = Literal["seeds", "running", "iterations"]


def simulate(*overrides: str | Run, rows: str = "seeds", progress: bool = True, **keys: Any) -> Result:
    """Clock of one scheme under one delay model; nothing is trained.

    Parameters
    ----------
    *overrides : str
        Hydra overrides, as on the command line: ``"code.beta=15"``. In their place one run that `gcexp.build` made.
    rows : {"seeds", "running", "iterations"}
        One row per seed; per seed and iteration 1, 2, 5, 10, ...; or per seed and iteration.
    progress : bool
        Show a progress bar on a terminal or in a notebook, if it takes longer than half a second.
    **keys
        The same as keyword arguments: ``scheme="cgc", n=30, s=5, delay="pareto", iterations=1000, seeds=10``. A
        dotted key is written ``**{"code.beta": 15}``. `code`, `wait`, `placement` and `delay` also take objects;
        `delay` takes recorded times too, as a frame with the columns of a trace or an array (iterations, workers).
        ``seeds=10`` are ten seeds, 0 to 9; ``"5-9"``, ``range(5, 10)`` and ``[5]`` name them.

    Returns
    -------
    Result
        A DataFrame (see `gcexp.run.result`): every given key as a column, then ``seed`` and the statistics of its
        clock, times in simulated seconds.

    Raises
    ------
    UserError
        For an unknown key or option, with the nearest match, and for a value outside what the mathematics allows.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.simulate(scheme="cgc", n=6, s=2, delay="pareto", iterations=50, seeds=3)
    >>> table[["scheme", "n", "s", "seed", "iterations"]].to_numpy().tolist()
    [['cgc', 6, 2, 0, 50], ['cgc', 6, 2, 1, 50], ['cgc', 6, 2, 2, 50]]
    """
    rows = fitted(ROWS, rows, "rows")
    progress = fitted(bool, progress, "progress")
    run = _alone(overrides, keys, trains=False)
    table = run.clocks(rows, progress=progress)
    _warn_of_silence(table, run)
    return table


def train(*overrides: str | Run, verify: bool = True, progress: bool = True, **keys: Any) -> Result:
    """Train a task with the coefficients that a scheme decodes, on its clock.

    Parameters
    ----------
    *overrides, **keys
        As in `simulate`; `task` and `optimizer` too are names or objects. The data set is prepared where it is missing.
    verify : bool
        Replay the true encode, drop, decode path on kept parameters; what is found stands in ``table.attrs``, and a
        failure is a warning.
    progress : bool
        Show progress bars, as `simulate` does.

    Returns
    -------
    Result
        A DataFrame (see `gcexp.run.result`): every given key as a column, then one row per seed and evaluated
        iteration: ``seed, iteration, simulated_time_s``, the task's scores, and what the code costs a worker.

    Raises
    ------
    UserError
        As in `simulate`, and for a scheme that is a bound of durations.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.train(scheme="frc", n=4, s=1, task="digits_mlp", iterations=3, seeds=1)
    >>> table["iteration"].tolist(), table.attrs["verification"]["passed"]
    ([0, 1, 2, 3], True)
    """
    progress = fitted(bool, progress, "progress")
    run = _alone(overrides, keys, trains=True)
    table, reports = run.trainings(verify=verify, resume=False, progress=progress)
    _warn_of_silence(table, run)
    if verify:
        from gcexp.run.result import Kept

        table.attrs["verification"] = Kept(reports[0])
        _warn_of_failures({"": reports[0]})
    return table


def sweep(
    grid: Mapping[str, Sequence[Any]],
    *overrides: str,
    jobs: int = 1,
    rows: str = "seeds",
    verify: bool = True,
    impossible: str = "skip",
    progress: bool = True,
    submit: str | None = None,
    queued: str | None = None,
    **keys: Any,
) -> Result:
    """Every combination of some keys: simulated, or trained where a `task` is given.

    Schemes share their draws, and all that are exact share one training per task, optimiser, seeds and iterations.
    A call that was interrupted continues its trainings when it is repeated: their checkpoints are in
    ``results/checkpoints/sweep`` until a call has its table. Points with objects from Python are trained again.

    Parameters
    ----------
    grid : mapping
        Key to the values it takes, as in ``{"scheme": ["cgc", "frc"], "s": [2, 5]}``.
    *overrides, rows, **keys
        As in `simulate`, the same for every point.
    jobs : int
        Processes side by side.
    impossible : {"skip", "raise"}
        Combinations that the mathematics does not allow, as FRC where d does not divide n, are left out with a warning
        and listed with their reasons in ``table.impossible``; or the first of them raises.
    verify : bool
        As in `train`, for every point that is trained; ``table.attrs["verification"]`` has a report for each.
    progress : bool
        Show progress bars, as `simulate` does.
    submit : str, optional
        A profile of Snakemake's, such as ``"slurm"`` or its folder: the points become jobs of a cluster, with the same
        bits. What is made lies in ``results/sweep``; a call that is repeated makes what is missing. Points are then
        told by names and numbers, not by objects.
    queued : {"wait", "cancel"}, optional
        What is done with jobs of the sweep that a process that was killed has left in the queue; by default they are an
        error that names them.

    Returns
    -------
    Result
        The rows of all points, in the order of the grid, the last key fastest.

    Raises
    ------
    UserError
        Before anything runs: for an unknown key or option, and where no point is possible. Where jobs that were
        submitted have failed.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["cgc", "frc"], "s": [1, 2]}, n=6, delay="pareto", iterations=20, seeds=2
    ... )
    >>> table.groupby(["scheme", "s"], sort=False)["mean_iteration_time_s"].count().to_dict()
    {('cgc', 1): 2, ('cgc', 2): 2, ('frc', 1): 2, ('frc', 2): 2}
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise UserError(f"jobs is a number of processes >= 1, got {jobs!r}")
    impossible = fitted(Literal["skip", "raise"], impossible, "impossible")
    rows = fitted(ROWS, rows, "rows")
    progress = fitted(bool, progress, "progress")
    trains = _names_a_task(grid, overrides, keys)
    points = Sweep.of(overrides, keys, grid, trains=trains, skip=impossible == "skip")
    reports: list[dict] = []
    if submit is not None:
        from gcexp.submission import submit_sweep

        queued = fitted(Literal["wait", "cancel"] | None, queued, "queued")
        table, reports = submit_sweep(points, submit, rows, verify, trains, queued)
    elif trains:
        table, reports = points.trainings(verify, resume=True, jobs=jobs, progress=progress)
    else:
        table = points.clocks(rows, jobs, progress)
    if points.impossible:
        _list_impossible(table, points)
    _warn_of_silence(table, points)
    if trains and verify:
        from gcexp.run.result import Kept

        names = [run.label for run in points.runs]
        report_of_point = Kept(zip(names, reports, strict=True))
        table.attrs["verification"] = report_of_point
        _warn_of_failures(report_of_point)
    return table


def _alone(given: Sequence[str | Run], keys: Mapping[str, Any], trains: bool) -> Sweep:
    """A sweep of one run: one that was made before, or what overrides and keys compose."""
    overrides: list[str] = []
    for one in given:
        if not isinstance(one, Run):
            overrides.append(one)
        elif len(given) > 1 or keys:
            raise UserError("a run is given alone, since it has its options already")
        else:
            return Sweep.of_run(one.that(trains=trains))
    return Sweep.of(overrides, keys, trains=trains)


def _names_a_task(grid: object, overrides: Sequence[str], keys: Mapping[str, Any]) -> bool:
    """Whether the points of a sweep are trained: a task is swept, given by a keyword or by an override."""
    if isinstance(grid, Mapping) and ("task" in grid or "task" in keys):
        return True
    return any(str(text).startswith("task=") for text in overrides)


def _list_impossible(table: Result, points: Sweep) -> None:
    """List the points of a grid that were left out beside the table, and warn of them."""
    from gcexp.run.result import Kept

    table.attrs["impossible"] = Kept(points=list(points.impossible))
    first = dict(points.impossible[0])
    reason = first.pop("reason")
    count = len(points.impossible)
    all_points = count + len(points.runs)
    warnings.warn(
        f"{count} of {all_points} points are impossible and left out; {name_of_point(first)}: {reason}; "
        "in Python table.impossible lists all of them",
        stacklevel=3,
    )


def _warn_of_silence(table: Result, points: Sweep) -> None:
    """Warn of runs that hear nobody in most of their iterations: a sentence on the first one, and how many others."""
    sentences = points.silences(table)
    if not sentences:
        return
    others = ""
    if len(sentences) > 1:
        others = f" (so do {len(sentences) - 1} other points)"
    warnings.warn(f"{sentences[0]}{others}", stacklevel=3)


def _warn_of_failures(reports: Mapping[str, dict]) -> None:
    """Warn of verifications that failed."""
    failed = {point: report for point, report in reports.items() if not report["passed"]}
    if not failed:
        return
    from gcexp.run.verification import failure

    sentences = []
    for point, report in failed.items():
        sentence = failure(report["failures"])
        if point:
            sentence = f"{point}: {sentence}"
        sentences.append(sentence)
    warnings.warn(
        f"verification failed: {'; '.join(sentences)} (attrs['verification'] has all)", stacklevel=3
    )
