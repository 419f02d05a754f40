"""The tidy table behind a figure: one row per plotted number, from finished runs or from an analysis function."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.errors import UserError
from gcexp.figures.rows import time_to
from gcexp.files import read_json
from gcexp.progress import bar
from gcexp.report.columns import Passages, Timings, key_columns
from gcexp.report.figure import Figure
from gcexp.run.build import build, locate, with_makers
from gcexp.run.measured import scored, timing_columns
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
from gcexp.run.stages import length_of, replayed, simulated
from gcexp.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.tasks.training import Trajectory


def assemble(figure: Figure) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Table of a figure, and the largest errors that the replays of its trained runs found, by the runs' names.

    The clock of every run is simulated here. Trajectories are read: `Figure.inputs` must be there.
    """
    kind, timings, kept = figure.file.kind, figure.file.timings, figure.file.passages
    if kind == "analysis":
        return analysed(figure), {}
    if kind == "curves":
        from gcexp.run.verification import largest_errors
        from gcexp.tasks.training import Trajectory
    frames, replays = [], dict[str, dict]()
    gradients: dict[str, dict[tuple, np.ndarray]] = {}  # of each training that exact schemes share
    with bar(len(figure.runs), "runs" if kind == "curves" else "clocks", "run") as moving:
        for run in figure.runs:
            timeline = clock(run)
            if kind == "timings":
                frames.append(timing(run, timeline, timings))
            else:
                trajectory = Trajectory.load(run.trajectory)
                rows = curve(run, timeline, trajectory)
                frames.append(rows if kept is None else passages(rows, kept))
                if run.id not in replays:  # a run may stand under several labels
                    made = run.verification  # none of an exact scheme, which is replayed here
                    known = gradients.setdefault(run.trajectory, {})
                    found = read_json(made) if made else replayed(run.config, timeline, trajectory, known)
                    replays[run.id] = largest_errors(found)
            moving.update()
    frame = _joined(figure, frames)
    return saved(frame, figure) if timings.against else frame, replays


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


def clock(run: Run) -> Timeline:
    """The timeline of a run."""
    return simulated(run.config, length_of(run.config))


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


def curve(run: Run, timeline: Timeline, trajectory: Trajectory) -> pd.DataFrame:
    """Scores of a run on its clock; every seed must reach the horizon."""
    ends = timeline.duration.sum(1, where=timeline.ran)
    if run.horizon and (early := ends < run.horizon).any():
        raise UserError(
            f"{run.label}: seed {timeline.seeds[early][0]} ends at {ends[early][0]:.3g}, before the horizon "
            f"{run.horizon:g}; raise iterations above {run.iterations}"
        )
    return scored(timeline, trajectory, run.label, run.id)


def timing(run: Run, timeline: Timeline, spec: Timings) -> pd.DataFrame:
    """Rows of a run's timeline."""
    config = run.config
    frame = pd.DataFrame(timing_columns(timeline, config, spec.rows))
    if spec.exact:
        expected, plan = locate(spec.exact, "timings.exact"), (build_scheme(config), build(config, "delay"))
        lengths = frame["iteration"] if "iteration" in frame else frame["iterations"]
        frame["exact"] = lengths.map({length: expected(*plan, length) for length in map(int, set(lengths))})
    frame.insert(0, "label", run.label)
    frame.insert(1, "run", run.id)
    return frame
