"""The tidy table behind a figure: one row per plotted number, from finished runs or from an analysis function."""

from __future__ import annotations

from pkgutil import resolve_name

import numpy as np
import pandas as pd

from gcexp.errors import UserError
from gcexp.figures.rows import time_to
from gcexp.progress import bar
from gcexp.report.columns import Passages, Timings, key_columns
from gcexp.report.figure import Figure
from gcexp.run.build import locate, with_makers
from gcexp.run.measured import timing_columns
from gcexp.run.measurement import Measurement, StoredTrainings
from gcexp.run.run import Run
from gcexp.run.verification import largest_errors
from gcexp.timeline import Timeline


def assemble(figure: Figure) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Table of a figure, and the largest errors that the replays of its trained runs found, by the runs' names.

    The clock of every run is simulated here. Trajectories are read: `Figure.inputs` must be there.
    """
    if figure.file.kind == "analysis":
        return analysed(figure), {}
    trainings = StoredTrainings()
    frames, replays = [], dict[str, dict]()
    with bar(len(figure.runs), "runs" if figure.file.kind == "curves" else "clocks", "run") as moving:
        for run in figure.runs:
            measurement = Measurement(run, trainings)
            frames.append(rows_of(figure, measurement))
            if run.trains and run.id not in replays:  # a run may stand under several labels
                replays[run.id] = largest_errors(measurement.report)
            run.release()
            moving.update()
    frame = _joined(figure, frames)
    return saved(frame, figure) if figure.file.timings.against else frame, replays


def rows_of(figure: Figure, measurement: Measurement) -> pd.DataFrame:
    """The rows of one run in the table of a figure."""
    run = measurement.run
    if figure.file.kind == "timings":
        rows = timing(run, measurement.timeline, figure.file.timings)
    else:
        require_horizon(run, measurement.timeline)
        rows = measurement.curve
    rows.insert(0, "label", run.label)
    rows.insert(1, "run", run.id)
    return rows if figure.file.passages is None else passages(rows, figure.file.passages)


def analysed(figure: Figure) -> pd.DataFrame:
    """Table of an analysis function, which must have the columns that the function declares: plans believe those."""
    name = figure.file.analysis["function"]
    frame = resolve_name(name)(**with_makers(figure.arguments))
    made = {*map(str, frame)}
    declared = made if figure.columns is None else {*figure.columns}
    for names, fault in (
        (made - declared, "gives columns that it does not declare"),
        (declared - made, "declares columns that it does not give"),
    ):
        if names:
            raise UserError(f"{name} {fault}: {', '.join(sorted(names))}")
    return frame


def passages(curves: pd.DataFrame, kept: Passages) -> pd.DataFrame:
    """When each seed of a run first reaches some levels, NaN where it never does; rows by seed and level."""
    rows = [
        {"label": label, "run": run, "seed": seed, "level": level, "reached_s": time_to(mine, kept.y, level)}
        for (label, run, seed), mine in curves.groupby(["label", "run", "seed"], sort=False)
        for level in kept.levels
    ]
    return pd.DataFrame(rows).replace(np.inf, np.nan)


def _joined(figure: Figure, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of all runs, with the figure's own columns and the keys of its runs behind label and id of the run."""
    own = dict.fromkeys(name for run in figure.runs for name, _ in run.columns)
    rows = [frame.assign(**own | dict(run.columns)) for run, frame in zip(figure.runs, frames, strict=True)]
    frame = pd.concat(rows, ignore_index=True)
    keys = {key: frame["run"].map(of_run) for key, of_run in key_columns(figure.runs).items()}
    first = figure.identifying_columns
    return frame.assign(**keys)[[*first, *(name for name in frame if name not in first)]]


def saved(frame: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """What each label saves against another one, seed by seed; see `gcexp.report.columns.Timings`."""
    time = "iteration_time_s" if figure.file.timings.rows == "iterations" else "mean_iteration_time_s"
    keys = [key for key in figure.identifying_columns[2:] if key != "scheme"]
    rows = [name for name in ("seed", "iteration") if name in frame]
    frame = frame.assign(saved_time_s=np.nan, saved_share=np.nan)
    for label, other in figure.file.timings.against.items():
        here, there = frame[frame["label"] == label], frame[frame["label"] == other]
        # Only what was played on the same draws is compared, which n and the delay model decide.
        drawn = [key for key in keys if key in ("n", "delay") or key.startswith("delay.")]
        differs = [key for key in keys if key in drawn or there[key].nunique(dropna=False) > 1]
        on = [*differs, *rows]
        if there.duplicated(on).any():
            raise UserError(
                f"timings.against: {other!r} has several runs that {label!r} could be compared with"
            )
        groups = [*differs, *(name for name in rows if name != "seed")]
        share = there.groupby(groups, dropna=False)[time].transform("mean") if groups else there[time].mean()
        baseline = here[on].merge(there[on].assign(time=there[time], mean=share), on=on, how="left")
        if baseline["time"].isna().any():
            raise UserError(f"timings.against: {other!r} has no run for a seed and the keys of {label!r}")
        gain = baseline["time"].to_numpy() - here[time].to_numpy()
        frame.loc[here.index, "saved_time_s"] = gain
        frame.loc[here.index, "saved_share"] = gain / baseline["mean"].to_numpy()
    return frame


def require_horizon(run: Run, timeline: Timeline) -> None:
    """Refuse a clock of which a seed ends before the horizon of its run."""
    if run.horizon is None:
        return
    ends = timeline.duration.sum(1, where=timeline.ran)
    early = ends < run.horizon
    if early.any():
        raise UserError(
            f"{run.label}: seed {timeline.seeds[early][0]} ends at {ends[early][0]:.3g}, before the horizon "
            f"{run.horizon:g}; raise iterations above {run.iterations}"
        )


def timing(run: Run, timeline: Timeline, spec: Timings) -> pd.DataFrame:
    """Rows of a run's timeline."""
    frame = pd.DataFrame(timing_columns(run, timeline, spec.rows))
    if spec.exact:
        expected = locate(spec.exact, "timings.exact")
        lengths = frame["iteration"] if "iteration" in frame else frame["iterations"]
        known = {length: expected(run.scheme, run.delay_model, length) for length in map(int, set(lengths))}
        frame["exact"] = lengths.map(known)
    return frame
