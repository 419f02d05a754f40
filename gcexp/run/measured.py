"""What does a run measure? Rows of a timeline, and of a trajectory on its clock, with the columns they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.run.scheme import schemes_of

if TYPE_CHECKING:  # a plan asks for columns only
    import pandas as pd

    from gcexp.summary import Summary
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

CURVE = ("seed", "iteration", "simulated_time_s")
#: What a code costs a worker: constants of a run, or of a seed where the code is drawn for each.
COSTS = ("messages", "load", "stored_partitions", "codewords")
TIMED = {
    "seeds": (
        *("seed", "iterations", "mean_iteration_time_s", "mean_recovered_fraction", "min_recovered_fraction"),
        *("recovered_fraction_per_s", "mean_load_fraction", *COSTS),
    ),
    "running": ("seed", "iteration", "mean_iteration_time_s", *COSTS),
    "iterations": (*CURVE, "iteration_time_s", "heard_workers", "recovered_fraction"),
}


def scored(timeline: Timeline, trajectory: Trajectory, label: str, run: str) -> pd.DataFrame:
    """Join of a trajectory and a clock, one row per seed and evaluated iteration; iteration 0 is at time 0."""
    import pandas as pd

    clock = np.pad(timeline.clock, ((0, 0), (1, 0)))
    known = ~np.isnan(next(iter(trajectory.scores.values())))
    s, evaluation = np.nonzero(known & (trajectory.evaluated <= timeline.steps[:, None]))
    at = trajectory.evaluated[evaluation]
    columns = {"label": label, "run": run, "seed": timeline.seeds[s], "iteration": at}
    scores = {name: score[s, evaluation] for name, score in trajectory.scores.items()}
    return pd.DataFrame(columns | {"simulated_time_s": clock[s, at]} | scores)


def timing_columns(timeline: Timeline, config: dict, rows: str) -> dict[str, np.ndarray]:
    """What a timeline measures, with rows as `gcexp.report.columns.Timings.rows` says."""
    if rows != "iterations":
        from gcexp.summary import summary_of

        at = marks(timeline.duration.shape[1], rows)
        return summary_columns(summary_of(timeline, config["bound"], at), config, at)
    recovered = (timeline.coefficients == 1).mean(1)  # of a bound, which decodes nothing, unknown
    recovered = np.full_like(recovered, np.nan) if config["bound"] else recovered
    seed, iteration = np.nonzero(ran := timeline.ran)
    return {
        "seed": timeline.seeds[seed],
        "iteration": iteration + 1,
        "simulated_time_s": timeline.clock[ran],
        "iteration_time_s": timeline.duration[ran],
        "heard_workers": (timeline.patterns > 0).sum(1)[timeline.pattern[ran]],
        "recovered_fraction": recovered[timeline.pattern[ran]],
    }


def summary_columns(summary: Summary, config: dict, at: list[int]) -> dict[str, np.ndarray]:
    """The columns of ``rows=seeds``, or where there are marks of ``rows=running``, NaN behind a seed's end.

    For both no iteration must be kept.
    """
    spent = costs(summary.seeds, config)
    if at:
        return {
            "seed": np.tile(summary.seeds, len(at)),
            "iteration": np.repeat(at, len(summary.seeds)),
            "mean_iteration_time_s": summary.running.T.ravel(),
            **{name: np.tile(spent[name], len(at)) for name in COSTS},
        }
    with np.errstate(divide="ignore", invalid="ignore"):  # where waiting takes no time
        speed = summary.recovered / summary.duration
    return {
        "seed": summary.seeds,
        "iterations": summary.steps,
        "mean_iteration_time_s": summary.duration,
        "mean_recovered_fraction": summary.recovered,
        "min_recovered_fraction": summary.least,
        "recovered_fraction_per_s": speed,
        **spent,
    }


def costs(seeds: np.ndarray, config: dict) -> dict[str, np.ndarray]:
    """Mean load and costs of each seed's code, each (S,)."""
    found: dict[str, list] = {"mean_load_fraction": [], **{name: [] for name in COSTS}}
    for scheme, (seed, *_) in schemes_of(config, tuple(seeds.tolist())):
        found["mean_load_fraction"].append(scheme.code.load.mean() / scheme.code.k)
        for name, value in scheme.costs(seed).items():
            found[name].append(np.nan if config["bound"] else value)
    return {name: np.resize(values, len(seeds)) for name, values in found.items()}


def marks(iterations: int, rows: str) -> list[int]:
    """Iterations up to which ``rows=running`` has means: 1, 2, 5, 10, ... and the last one; none of other rows.

    >>> marks(34, "running")
    [1, 2, 5, 10, 20, 34]
    """
    decades = [10**e for e in range(len(str(iterations)))]
    found = {iterations, *(k * ten for ten in decades for k in (1, 2, 5) if k * ten < iterations)}
    return sorted(found) if rows == "running" else []
