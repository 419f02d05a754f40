"""The tidy table behind a figure: one row per plotted number, from finished runs or from an analysis function."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.errors import UserError
from gcexp.report.columns import COSTS, Timings, key_columns
from gcexp.report.figure import Figure
from gcexp.run.build import build, is_redrawn, locate, with_makers
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
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
    return {"curves": learned, "timings": timed, "analysis": analysed}[figure.file.kind](figure)


def analysed(figure: Figure) -> pd.DataFrame:
    """Table of an analysis function.

    Raises
    ------
    UserError
        If it has other columns than the function declares: plans believe those.
    """
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


def learned(figure: Figure) -> pd.DataFrame:
    """Curves of all runs."""
    return _joined(figure, [curve(run) for run in figure.runs])


def timed(figure: Figure) -> pd.DataFrame:
    """Rows of all timelines."""
    frame = _joined(figure, [timing(run, figure.timings) for run in figure.runs])
    return saved(frame, figure) if figure.file.timings.get("against") else frame


def _joined(figure: Figure, frames: list[pd.DataFrame]) -> pd.DataFrame:
    for run, frame in zip(figure.runs, frames, strict=True):
        for place, name in enumerate(own_columns(figure), start=2):
            frame.insert(place, name, dict(run.columns).get(name))
    return with_keys(pd.concat(frames, ignore_index=True), figure)


def own_columns(figure: Figure) -> list[str]:
    """Names of the figure's own columns, which stand behind label and id of the run."""
    return list(dict.fromkeys(name for run in figure.runs for name, _ in run.columns))


def with_keys(frame: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """Rows of a figure's runs with a column for every key that is set or swept in any of them."""
    place = 2 + len(own_columns(figure))
    keys = {key: frame["run"].map(of_run) for key, of_run in key_columns(figure.runs).items()}
    return pd.concat([frame.iloc[:, :place], pd.DataFrame(keys), frame.iloc[:, place:]], axis=1)


def saved(frame: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """What each label saves against another one, seed by seed; see `gcexp.report.columns.Timings`.

    Raises
    ------
    UserError
        If two runs of the other label fit, or a seed of it is missing.
    """
    time = figure.timings.time
    keys = [key for key in (*own_columns(figure), *key_columns(figure.runs)) if key != "scheme"]
    rows = [name for name in ("seed", "iteration") if name in frame]
    frame = frame.assign(saved_time_s=np.nan, saved_share=np.nan)
    for label, other in figure.timings.against.items():
        here, there = frame[frame["label"] == label], frame[frame["label"] == other]
        differs = [key for key in keys if _is_draw(key) or there[key].nunique(dropna=False) > 1]
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


def _is_draw(key: str) -> bool:
    """Whether a key decides the draws: only what was played on the same ones is compared."""
    return key in ("n", "delay") or key.startswith("delay.")


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


def timing(run: Run, spec: Timings | None = None) -> pd.DataFrame:
    """Rows of a run's timeline, by default one per seed; see `gcexp.report.columns.Timings`."""
    spec = spec or Timings()
    timeline, config = Timeline.load(run.timeline), run.config
    frame = timing_rows(timeline, config, spec.rows)
    if spec.exact:
        expected, plan = locate(spec.exact, "timings.exact"), (build_scheme(config), build(config, "delay"))
        lengths = frame["iteration"] if "iteration" in frame else frame["iterations"]
        frame["exact"] = lengths.map({length: expected(*plan, length) for length in map(int, set(lengths))})
    frame.insert(0, "label", run.label)
    frame.insert(1, "run", run.id)
    return frame


def timing_rows(timeline: Timeline, config: dict, rows: str) -> pd.DataFrame:
    """What a timeline measures, one row as `gcexp.report.columns.Timings.rows` says."""
    return pd.DataFrame(_ROWS[rows](timeline, config))


def _per_seed(timeline: Timeline, config: dict) -> dict[str, np.ndarray]:
    """Statistics over all iterations, one row per seed."""
    recovered = recovered_fraction(timeline, config)
    return {
        "seed": timeline.seeds,
        "iterations": timeline.steps,
        "mean_iteration_time_s": (time := _means(timeline.duration, timeline.steps)),
        "mean_recovered_fraction": (mean := _means(recovered, timeline.steps)),
        "min_recovered_fraction": np.array(
            [r[:t].min() for r, t in zip(recovered, timeline.steps, strict=True)]
        ),
        "recovered_fraction_per_s": mean / time,
        **_costs(timeline, config),
    }


def _means(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return np.array([row[:count].mean() for row, count in zip(values, steps, strict=True)])


def _running(timeline: Timeline, config: dict) -> dict[str, np.ndarray]:
    """Means up to some iterations, one row per iteration and seed; NaN behind a seed's end."""
    at = up_to(timeline.duration.shape[1])
    means = np.array([timeline.duration[:, :t].mean(1) for t in at])
    means[np.array(at)[:, None] > timeline.steps] = np.nan
    costs = {
        name: np.tile(values, len(at)) for name, values in _costs(timeline, config).items() if name in COSTS
    }
    return {
        "seed": np.tile(timeline.seeds, len(at)),
        "iteration": np.repeat(at, len(timeline.seeds)),
        "mean_iteration_time_s": means.ravel(),
        **costs,
    }


def _per_iteration(timeline: Timeline, config: dict) -> dict[str, np.ndarray]:
    """One row per seed and iteration, in this order."""
    ran = timeline.ran
    seed, iteration = np.nonzero(ran)
    return {
        "seed": timeline.seeds[seed],
        "iteration": iteration + 1,
        "simulated_time_s": timeline.clock[ran],
        "iteration_time_s": timeline.duration[ran],
        "heard_workers": (timeline.patterns > 0).sum(1)[timeline.pattern[ran]],
        "recovered_fraction": recovered_fraction(timeline, config)[ran],
    }


_ROWS = {"seeds": _per_seed, "running": _running, "iterations": _per_iteration}


def recovered_fraction(timeline: Timeline, config: dict) -> np.ndarray:
    """Share of the partitions with coefficient 1 in each iteration, (S, T); NaN for a bound, which decodes nothing."""
    if config["bound"]:
        return np.full(timeline.duration.shape, np.nan)
    return (timeline.coefficients == 1).mean(1)[timeline.pattern]


def _costs(timeline: Timeline, config: dict) -> dict[str, np.ndarray]:
    """Mean load and costs of each seed's code, each (S,)."""
    seeds = [int(seed) for seed in timeline.seeds]
    shared = None if is_redrawn(config) else build_scheme(config)
    found: dict[str, list] = {"mean_load_fraction": [], **{name: [] for name in COSTS}}
    for seed in seeds if shared is None else seeds[:1]:
        scheme = shared or build_scheme(config, seed)
        found["mean_load_fraction"].append(scheme.code.load.mean() / scheme.code.k)
        for name, value in scheme.costs(seed).items():
            found[name].append(np.nan if config["bound"] else value)
    return {name: np.resize(values, len(seeds)) for name, values in found.items()}


def up_to(iterations: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... and the last iteration.

    Examples
    --------
    >>> up_to(34)
    [1, 2, 5, 10, 20, 34]
    """
    decades = range(len(str(iterations)))
    return sorted({iterations, *(k * 10**e for e in decades for k in (1, 2, 5) if k * 10**e < iterations)})
