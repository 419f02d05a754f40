"""The tidy table behind a figure of runs: one row per plotted number, from clocks and finished trainings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.errors import UserError
from gcexp.figures.rows import time_to
from gcexp.progress import bar
from gcexp.report.columns import Passages, Timings, key_columns
from gcexp.run.build import locate
from gcexp.run.measurement import Measurement, Trainings
from gcexp.run.result_columns import silence_of, timing_columns
from gcexp.summary import silent_share

if TYPE_CHECKING:  # figures and runs bring values alone
    from gcexp.report.figure import Figure
    from gcexp.run.run import Run
    from gcexp.timeline import Timeline


def table_of_runs(figure: Figure, trainings: Trainings) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Table of a figure of runs, and what the replays of its trained runs found, by the runs' names.

    The clock of every run is simulated here.
    """
    frames: list[pd.DataFrame] = []
    reports: dict[str, dict] = {}
    what = "runs" if figure.file.kind == "curves" else "clocks"
    with bar(len(figure.runs), what, "run") as moving:
        for run in figure.runs:
            measurement = Measurement(run, trainings)
            frames.append(rows_of(figure, measurement))
            tell_silence(measurement)
            if run.trains and run.id not in reports:  # a run may stand under several labels
                reports[run.id] = measurement.report
            run.release()
            moving.update()
    frame = join_rows(figure, frames)
    if figure.file.timings.against:
        frame = add_savings(frame, figure)
    return frame, reports


def tell_silence(measurement: Measurement) -> None:
    """Say on stderr, in a job's log, where a run hears nobody in most of its iterations."""
    run = measurement.run
    sentence = silence_of(run, silent_share(measurement.timeline, run.decodes))
    if sentence is not None:
        print(f"gcexp: {sentence}", file=sys.stderr)


def rows_of(figure: Figure, measurement: Measurement) -> pd.DataFrame:
    """The rows of one run in the table of a figure."""
    run = measurement.run
    if figure.file.kind == "timings":
        rows = timing_rows(run, measurement.timeline, figure.file.timings)
    else:
        require_horizon(run, measurement.timeline)
        rows = measurement.curve
    rows.insert(0, "label", run.label)
    rows.insert(1, "run", run.id)
    if figure.file.passages is not None:
        rows = passage_rows(rows, figure.file.passages)
    return rows


def passage_rows(curves: pd.DataFrame, kept: Passages) -> pd.DataFrame:
    """When each seed of a run first reaches some levels, NaN where it never does; rows by seed and level."""
    rows = []
    for (label, run, seed), curve in curves.groupby(["label", "run", "seed"], sort=False):
        for level in kept.levels:
            reached = time_to(curve, kept.y, level)
            rows.append({"label": label, "run": run, "seed": seed, "level": level, "reached_s": reached})
    return pd.DataFrame(rows).replace(np.inf, np.nan)


def timing_rows(run: Run, timeline: Timeline, spec: Timings) -> pd.DataFrame:
    """Rows of a run's timeline."""
    frame = pd.DataFrame(timing_columns(run, timeline, spec.rows))
    if spec.exact:
        expected = locate(spec.exact, "timings.exact")
        lengths = frame["iteration"] if "iteration" in frame else frame["iterations"]
        expected_of = {}
        for length in lengths.unique().tolist():
            expected_of[length] = expected(run.scheme, run.delay_model, length)
        frame["exact"] = lengths.map(expected_of)
    return frame


def require_horizon(run: Run, timeline: Timeline) -> None:
    """Refuse a clock of which a seed ends before the horizon of its run."""
    if run.horizon is None:
        return
    ends = np.take_along_axis(timeline.finished, timeline.steps[:, None] - 1, axis=1)[:, 0]
    early = ends < run.horizon
    if early.any():
        raise UserError(
            f"{run.label}: seed {timeline.seeds[early][0]} ends at {ends[early][0]:.3g}, before the horizon "
            f"{run.horizon:g}; raise iterations above {run.iterations}"
        )


def join_rows(figure: Figure, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of all runs, with the figure's own columns and the keys of its runs behind label and id of the run."""
    rows = []
    for run, frame in zip(figure.runs, frames, strict=True):
        rows.append(frame.assign(**dict(run.columns)))
    table = pd.concat(rows, ignore_index=True)
    for key, value_of_run in key_columns(figure.runs).items():
        table[key] = table["run"].map(value_of_run)
    first = figure.identifying_columns
    rest = [name for name in table if name not in first]
    return table[[*first, *rest]]


# --- What a label saves against another one -------------------------------------------------------------------------


def add_savings(frame: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The table with what each label saves against its baseline; see `gcexp.report.columns.Timings`."""
    spec = figure.file.timings
    if spec.rows == "iterations":
        time = "iteration_time_s"
    else:
        time = "mean_iteration_time_s"
    keys = [key for key in figure.identifying_columns if key not in ("label", "run", "scheme")]
    frame = frame.assign(saved_time_s=np.nan, saved_share=np.nan)
    for label, against in spec.against.items():
        own = frame[frame["label"] == label]
        baselines = frame[frame["label"] == against]
        matched = columns_to_match(baselines, keys)
        pairs = match_baselines(own, baselines, matched, time)
        require_one_baseline(pairs, baselines, matched, label=label, against=against)
        saved_time = pairs["baseline_time_s"] - pairs[time]
        frame.loc[pairs.index, "saved_time_s"] = saved_time
        frame.loc[pairs.index, "saved_share"] = saved_time / pairs["baseline_mean_s"]
    return frame


def columns_to_match(baselines: pd.DataFrame, keys: list[str]) -> list[str]:
    """The columns in which a row and its baseline agree.

    Only what was played on the same draws is compared: these columns are the keys that decide the draws, the other keys
    in which the runs of the baseline differ, the seed, and the iteration in a table that has one.
    """
    matched = []
    for key in keys:
        decides_draws = key in ("n", "delay") or key.startswith("delay.")
        if decides_draws or baselines[key].nunique(dropna=False) > 1:
            matched.append(key)
    for name in ("seed", "iteration"):
        if name in baselines:
            matched.append(name)
    return matched


def match_baselines(
    own: pd.DataFrame, baselines: pd.DataFrame, matched: list[str], time: str
) -> pd.DataFrame:
    """The rows of a label with the time of their baseline, and the mean of that time over the baseline's seeds.

    A row and its baseline have equal values in the columns `matched`.
    """
    over_seeds = [name for name in matched if name != "seed"]
    if over_seeds:
        means = baselines.groupby(over_seeds, dropna=False)[time].transform("mean")
    else:
        means = baselines[time].mean()
    times = baselines[matched].assign(baseline_time_s=baselines[time], baseline_mean_s=means)
    pairs = own[[*matched, time]].reset_index(names="row")
    pairs = pairs.merge(times, on=matched, how="left")
    return pairs.set_index("row")


def require_one_baseline(
    pairs: pd.DataFrame, baselines: pd.DataFrame, matched: list[str], *, label: str, against: str
) -> None:
    """Refuse a label of which a row has several baselines or none."""
    if baselines.duplicated(matched).any():
        raise UserError(
            f"timings.against: {against!r} has several runs that {label!r} could be compared with"
        )
    if pairs["baseline_time_s"].isna().any():
        raise UserError(f"timings.against: {against!r} has no run for a seed and the keys of {label!r}")
