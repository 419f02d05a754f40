"""What does a run measure? Rows of a timeline, and of a trajectory on its clock, with the columns they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import ParameterError

if TYPE_CHECKING:  # a plan asks for columns only
    import pandas as pd

    from gcexp.run.run import Run
    from gcexp.summary import Summary
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

CURVE = ("seed", "iteration", "simulated_time_s")
#: Mean decoding error of a seed's clock, which tables keep in their attrs.
ERROR = "mean_decoding_error"
#: Share of a run's iterations in which nobody is heard whose message counts, which tables keep in their attrs.
SILENT = "silent_share"
#: What a code costs a worker: constants of a run, or of a seed where the code is drawn for each.
COSTS = ("messages", "load", "stored_partitions", "codewords")
TIMED = {
    "seeds": (
        "seed",
        "iterations",
        "mean_iteration_time_s",
        "mean_recovered_fraction",
        "min_recovered_fraction",
        "recovered_fraction_per_s",
        "mean_load_fraction",
        *COSTS,
    ),
    "running": ("seed", "iteration", "mean_iteration_time_s", *COSTS),
    "iterations": (*CURVE, "iteration_time_s", "heard_workers", "recovered_fraction"),
}


def curve_of(timeline: Timeline, trajectory: Trajectory) -> pd.DataFrame:
    """Join of a trajectory and a clock, one row per seed and evaluated iteration; iteration 0 is at time 0."""
    import pandas as pd

    time_after = np.pad(timeline.finished, ((0, 0), (1, 0)))
    first_score = next(iter(trajectory.scores.values()))
    was_evaluated = ~np.isnan(first_score)
    is_on_clock = trajectory.evaluated <= timeline.steps[:, None]
    s, evaluation = np.nonzero(was_evaluated & is_on_clock)
    iteration = trajectory.evaluated[evaluation]
    columns = {
        "seed": timeline.seeds[s],
        "iteration": iteration,
        "simulated_time_s": time_after[s, iteration],
    }
    for name, score in trajectory.scores.items():
        columns[name] = score[s, evaluation]
    return pd.DataFrame(columns)


def timing_columns(run: Run, timeline: Timeline, rows: str) -> dict[str, np.ndarray]:
    """What a timeline measures, with rows as `gcexp.report.columns.Timings.rows` says."""
    if rows == "iterations":
        return iteration_columns(run, timeline)
    from gcexp.summary import summary_of

    at = marks(timeline.duration.shape[1], rows)
    return summary_columns(run, summary_of(timeline, run.decodes, at), at)


def iteration_columns(run: Run, timeline: Timeline) -> dict[str, np.ndarray]:
    """The columns of ``rows=iterations``."""
    recovered = (timeline.coefficients == 1).mean(1)
    if not run.decodes:
        recovered = np.full_like(recovered, np.nan)
    ran = timeline.ran
    seed, iteration = np.nonzero(ran)
    heard = (timeline.patterns > 0).sum(1)
    pattern = timeline.pattern[ran]
    return {
        "seed": timeline.seeds[seed],
        "iteration": iteration + 1,
        "simulated_time_s": timeline.finished[ran],
        "iteration_time_s": timeline.duration[ran],
        "heard_workers": heard[pattern],
        "recovered_fraction": recovered[pattern],
    }


def summary_columns(run: Run, summary: Summary, at: list[int]) -> dict[str, np.ndarray]:
    """The columns of ``rows=seeds``, or where there are marks those of ``rows=running``, NaN behind a seed's end.

    Neither needs the single iterations.
    """
    costs_of_seeds = costs(run)
    if at:
        columns = {
            "seed": np.tile(summary.seeds, len(at)),
            "iteration": np.repeat(at, len(summary.seeds)),
            "mean_iteration_time_s": summary.running.T.ravel(),
        }
        for name in COSTS:
            columns[name] = np.tile(costs_of_seeds[name], len(at))
        return columns
    with np.errstate(divide="ignore", invalid="ignore"):  # where waiting takes no time
        speed = summary.recovered / summary.duration
    return {
        "seed": summary.seeds,
        "iterations": summary.steps,
        "mean_iteration_time_s": summary.duration,
        "mean_recovered_fraction": summary.recovered,
        "min_recovered_fraction": summary.least,
        "recovered_fraction_per_s": speed,
        **costs_of_seeds,
    }


def clock_columns(run: Run, rows: str, tell: Callable[[int], object] | None = None) -> dict[str, np.ndarray]:
    """The columns of a run's clock, beside them `SILENT`, and with one row per seed its decoding error, under `ERROR`.

    No iteration is kept in memory where the rows do without.
    """
    from gcexp.summary import silent_share, summary_of

    if rows == "iterations":
        timeline = run.clock(tell)
        columns = iteration_columns(run, timeline)
        columns[SILENT] = np.full(len(columns["seed"]), silent_share(timeline, run.decodes))
        return columns
    if run.horizon is None:
        at = marks(run.iterations, rows)
        summary = run.summary(at, tell)
    else:
        timeline = run.clock(tell)
        at = marks(timeline.duration.shape[1], rows)
        summary = summary_of(timeline, run.decodes, at)
    columns = summary_columns(run, summary, at)
    silent = np.average(summary.silent, weights=summary.steps)
    columns[SILENT] = np.full(len(columns["seed"]), silent)
    if rows == "seeds":
        columns[ERROR] = summary.error
    return columns


def silence_of(run: Run, share: float) -> str | None:
    """What is told of a run, by its label or its waiting rule, that hears nobody in most iterations; else None."""
    from gcexp.summary import SILENT_MOSTLY, silence
    from gcexp.timeline import usual_time

    if not share > SILENT_MOSTLY:
        return None
    try:
        usual = f"{usual_time(run.delay_model, run.scheme.code.n):.4g}"
    except ParameterError:  # it counts epochs
        usual = "no time"
    return silence(run.label or repr(run.scheme.wait), share, usual)


def score_columns(run: Run, timeline: Timeline, trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Columns of a training: scores on the clock, and what the code of each seed costs."""
    frame = curve_of(timeline, trajectory)
    columns = {str(name): values.to_numpy() for name, values in frame.items()}
    row = np.searchsorted(timeline.seeds, columns["seed"])  # seeds rise
    for name, values in costs(run).items():
        columns[name] = values[row]
    return columns


def costs(run: Run) -> dict[str, np.ndarray]:
    """Mean load and costs of each seed's code, each (S,)."""
    found: dict[str, list] = {name: [] for name in ("mean_load_fraction", *COSTS)}
    for scheme, seeds in run.schemes():
        found["mean_load_fraction"].append(scheme.code.load.mean() / scheme.code.k)
        for name, value in scheme.costs(seeds[0]).items():
            if run.config["bound"]:
                value = np.nan
            found[name].append(value)
    # There is one value for all seeds, or one for each.
    return {name: np.resize(values, len(run.seeds)) for name, values in found.items()}


def marks(iterations: int, rows: str) -> list[int]:
    """Iterations up to which ``rows=running`` has means: 1, 2, 5, 10, ... and the last one; none of other rows.

    >>> marks(34, "running")
    [1, 2, 5, 10, 20, 34]
    """
    if rows != "running":
        return []
    found = {iterations}
    for power in range(len(str(iterations))):
        for first in (1, 2, 5):
            mark = first * 10**power
            if mark < iterations:
                found.add(mark)
    return sorted(found)
