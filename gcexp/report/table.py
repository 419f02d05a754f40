"""The tidy table behind a figure: one row per plotted number, from finished runs or from an analysis function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.errors import UserError
from gcexp.report.figurefile import Figure
from gcexp.run.build import build_scheme, check_arguments, is_redrawn, locate
from gcexp.run.run import Run
from gcexp.timeline import Timeline

if TYPE_CHECKING:  # torch only where a stage trains
    from gcexp.tasks.training import Trajectory


def assemble(figure: Figure) -> pd.DataFrame:
    """Table of a figure.

    Raises
    ------
    UserError
        If a curve ends before its horizon, or an analysis function fails on its arguments.
    """
    if figure.file.kind == "analysis":
        function = locate(figure.file.analysis["function"], "analysis.function")
        check_arguments(function, figure.arguments, "analysis")
        return function(**figure.arguments)
    rows = {"curves": curve, "timings": timing}[figure.file.kind]
    return pd.concat([rows(run) for run in figure.runs], ignore_index=True)


def curve(run: Run) -> pd.DataFrame:
    """Scores of a run on its clock; every seed must reach the horizon."""
    from gcexp.tasks.training import Trajectory

    timeline = Timeline.load(run.timeline)
    ends = timeline.duration.sum(1, where=timeline.ran)
    if run.horizon and (early := ends < run.horizon).any():
        raise UserError(
            f"{run.label}: seed {timeline.seeds[early][0]} ends at {ends[early][0]:.3g}, before the horizon "
            f"{run.horizon:g}; raise iterations above {run.iterations}"
        )
    return scored(timeline, Trajectory.load(run.trajectory), run.label, run.id)


def scored(timeline: Timeline, trajectory: Trajectory, label: str, run: str) -> pd.DataFrame:
    """Join of a trajectory and a clock, one row per seed and evaluated iteration; iteration 0 is at time 0."""
    clock = np.pad(timeline.clock, ((0, 0), (1, 0)))
    frames = []
    for s, seed in enumerate(timeline.seeds):
        known = ~np.isnan(next(iter(trajectory.scores.values()))[s])
        mine = known & (trajectory.evaluated <= timeline.steps[s])
        at = trajectory.evaluated[mine]
        columns = {
            "label": label,
            "run": run,
            "seed": seed,
            "iteration": at,
            "simulated_time_s": clock[s, at],
        }
        frames.append(
            pd.DataFrame(columns | {name: score[s, mine] for name, score in trajectory.scores.items()})
        )
    return pd.concat(frames, ignore_index=True)


def timing(run: Run) -> pd.DataFrame:
    """Statistics of a run's timeline, one row per seed."""
    timeline, config = Timeline.load(run.timeline), run.config
    ones = (timeline.coefficients == 1).mean(1)
    shared = None if is_redrawn(config) else build_scheme(config).code
    rows = []
    for s, seed in enumerate(timeline.seeds):
        code = shared or build_scheme(config, int(seed)).code
        ran = timeline.ran[s]
        recovered = ones[timeline.pattern[s, ran]] if not config["bound"] else np.full(ran.sum(), np.nan)
        rows.append(
            {
                "label": run.label,
                "run": run.id,
                "seed": seed,
                "iterations": int(timeline.steps[s]),
                "mean_iteration_time_s": timeline.duration[s, ran].mean(),
                "mean_recovered_fraction": recovered.mean(),
                "min_recovered_fraction": recovered.min(),
                "recovered_fraction_per_s": recovered.mean() / timeline.duration[s, ran].mean(),
                "mean_load_fraction": code.load.mean() / code.k,
            }
        )
    return pd.DataFrame(rows)
