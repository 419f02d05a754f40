"""What ``gcexp run`` does without Snakemake: one run, in a folder of its own, or every combination of several."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gcexp.command.library_warnings import print_warnings
from gcexp.errors import UserError
from gcexp.experiments import sweep
from gcexp.files import read_json
from gcexp.report.comparison import format_comparison
from gcexp.run import paths
from gcexp.run.compose import split_sweep
from gcexp.run.datasets import prepared_file
from gcexp.run.measurement import Measurement
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.run import Run
from gcexp.run.trainings import FiledTrainings, write_timeline
from gcexp.schema import typed

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.live_logging import LiveRun
    from gcexp.run.records import Seen
    from gcexp.run.result import Result

_LONGEST_NAME = 200  # of a folder


def single_run(
    overrides: list[str], folder: Path | None = None, level: float | None = None, uri: str | None = None
) -> Path:
    """Timeline, training, verification, summary and plot of the run that `overrides` compose, and their folder.

    `level` is the value of the main score whose first passage is told; by default `usual_level`. `uri` says where
    MLflow logs the run while it trains; empty: where it usually does; None: nowhere.
    """
    from gcexp.report.live_logging import LiveRun
    from gcexp.report.mlflow_store import Store

    run = Run.of(overrides)
    _ = run.task  # complain before any work
    if folder is None:
        folder = folder_of(overrides)
    store = None if uri is None else Store(uri)
    print(f"{run.scheme.code!r}, {run.scheme.wait!r}")

    live: LiveRun | None = None

    def checkpoint(path: Path, decided: list[str], seen: Seen) -> OwnCheckpoint:
        """The checkpoint of the training, which logs what it keeps where the run is logged."""
        if live is not None:
            return live.checkpoint(path, decided, seen)
        return OwnCheckpoint(path, decided, seen)

    trainings = FiledTrainings(folder / "trajectory.npz", folder / "verification.json", checkpoint)
    measurement = Measurement(run, trainings)
    data = prepared_file(run.dataset, run.config["data_dir"])
    write_timeline(measurement, folder / "timeline.npz")
    if store is not None:
        live = LiveRun(store, measurement, folder, data=read_json(data.with_suffix(".json")))
    with live or nullcontext():
        _train_and_tell(measurement, folder, level, live)
    return folder


def multirun(
    overrides: list[str],
    jobs: int,
    form: str,
    level: float | None = None,
    submit: str | None = None,
    queued: str | None = None,
) -> str:
    """Every combination of the swept values, one row each: final scores, times to a level, mean iteration time."""
    single, several = split_sweep(overrides)
    if not several:
        raise UserError("nothing is swept: give a key several values, as in scheme=cgc,frc s=2,5,9")
    grid = {}
    for key, texts in several.items():
        grid[key] = [typed(text) for text in texts]
    with print_warnings():
        table = sweep(grid, *single, jobs=jobs, submit=submit, queued=queued)
    return format_comparison(summary_of_sweep(table, level), form)


# --- One run ---------------------------------------------------------------------------------------------------------


def folder_of(overrides: list[str]) -> Path:
    """Where the results of a run go unless a folder is given: one named by its overrides."""
    words = [text.replace("=", "@").replace("/", "_") for text in sorted(overrides)]
    name = "+".join(words) or "default"
    if len(name) > _LONGEST_NAME:
        raise UserError("so many overrides make too long a folder name: give one with --output")
    return Path(paths.RUNS) / name


def _train_and_tell(
    measurement: Measurement, folder: Path, level: float | None, live: LiveRun | None
) -> None:
    """Train a run, and tell, draw and log what it gives."""
    from gcexp.figures.tables import scores_of, write_table
    from gcexp.report.run_table import tell_silence

    run = measurement.run
    trajectory = measurement.trajectory
    curve = measurement.curve
    tell_silence(measurement)
    curve.insert(0, "label", run.name)
    curve.insert(1, "run", folder.name)
    write_table(curve, folder / "curve.csv")
    scores = scores_of(curve)
    if level is None:
        level = usual_level(curve, scores[0])
    for name, value in _summary(measurement, scores, level).items():
        _tell(name, value)
    _plot(curve, scores[0], list(run.overrides), folder)
    if live is not None:
        live.finish(trajectory, curve, level)
        live.add({}, [folder / f"curve.{suffix}" for suffix in ("csv", "pdf", "png")])
    # The curve stands when the verification fails: whoever looks for the reason needs it.
    report = measurement.report
    decoded_error = report["decoded_error"]
    weighted_error = report["weighted_error"]
    _tell("verification errors", f"decoded {decoded_error:.1e}, weighted pass {weighted_error:.1e}")
    if live is not None:
        live.add({"decoded_error": decoded_error, "weighted_error": weighted_error})
        _tell("logged in MLflow", live.place)
    files = sorted(path.name for path in folder.iterdir())
    print(f"  results in {folder}: {', '.join(files)}")


def _tell(name: str, value: str) -> None:
    """Print one line of the summary."""
    print(f"  {name + ':':26} {value}")


def _summary(measurement: Measurement, scores: list[str], level: float | None) -> dict[str, str]:
    """What is told of a run, each value with its name."""
    timeline, curve = measurement.timeline, measurement.curve
    last = curve.groupby("seed").last()
    found = {
        "seeds": str(len(timeline.seeds)),
        "iterations per seed": f"{timeline.steps.min()} to {timeline.steps.max()}",
        "mean iteration time (s)": f"{timeline.duration[timeline.ran].mean():.4g}",
    }
    found |= decoding_summary(timeline.coefficients, timeline.pattern[timeline.ran])
    found["simulated time (s)"] = f"{last['simulated_time_s'].median():.4g}"
    if level is not None:
        found["time to a level (s)"] = passage_in_words(curve, scores[0], level)
    for name in scores:
        found[f"final {name.replace('_', ' ')}"] = f"{np.median(last[name]):.4g}"
    return found


def decoding_summary(coefficients: np.ndarray, pattern: np.ndarray) -> dict[str, str]:
    """Error of the decoded gradients over some iterations, and how much they recovered where that says it all.

    `coefficients` (P, k) has a row for each pattern, and `pattern` names that of each iteration. With coefficients
    other than 0 and 1 no partition may be recovered exactly though the gradient is near.
    """
    c = coefficients.astype(float)
    error = ((c - 1) ** 2).mean(1)[pattern]
    found = {"mean error ||c-1||^2/k": f"{error.mean():.4g} (largest {error.max():.4g})"}
    if np.isin(c, (0, 1)).all():
        recovered = c.mean(1)[pattern]
        found["mean recovered fraction"] = f"{recovered.mean():.4f} (least {recovered.min():.4f})"
    return found


def usual_level(curve: pd.DataFrame, score: str) -> float | None:
    """Halfway from where a score begins to its best, 0 of a loss and else 1, in two digits; None if it begins beyond.

    It depends on the task and its seeds, not on the scheme, so that runs of several schemes are told alike.
    """
    first = float(curve.loc[curve["iteration"] == 0, score].median())
    if score.endswith("loss"):
        best = 0
        begins_before = 0 < first < math.inf
    else:
        best = 1
        begins_before = first < best
    if not begins_before:
        return None
    return float(f"{(first + best) / 2:.2g}")


def passage_in_words(curve: pd.DataFrame, score: str, level: float) -> str:
    """Median over the seeds of the simulated time to a level of a score, and how many seeds reached it."""
    from gcexp.run.result import Result

    found = Result(curve).time_to(level, score).iloc[0]
    median = found[f"time_to_{level:g}"]
    time = "not reached"
    if math.isfinite(median):
        time = f"{median:.4g}"
    reached = f"reached in {found['seeds_reached']:g} of {found['seeds']:g} seeds"
    return f"{time} ({score.replace('_', ' ')} {level:g}, {reached})"


def _plot(curve: pd.DataFrame, score: str, overrides: list[str], folder: Path) -> None:
    """Draw a score over the simulated clock."""
    from gcexp.figures import draw, save

    plot = {"kind": "lines", "x": "simulated_time_s", "y": score}
    if score.endswith("loss"):  # it falls by orders of magnitude
        plot["yscale"] = "log"
    title = " ".join(overrides) or "default run"
    drawn = draw(curve, plot, title, "The clock is simulated.")
    save(drawn, [folder / "curve.pdf", folder / "curve.png"])


# --- Several runs ----------------------------------------------------------------------------------------------------


def summary_of_sweep(result: Result, level: float | None = None) -> pd.DataFrame:
    """One row per point of a sweep: medians over the seeds, but for the mean iteration time."""
    times = None if level is None else result.time_to(level)
    if "simulated_time_s" not in result:
        return _means_of_clocks(result)
    found = _medians_of_trainings(result)
    if times is not None:
        for name in times:
            if name not in result.attrs["keys"]:
                found[name] = times[name]
    return found


def _means_of_clocks(result: Result) -> pd.DataFrame:
    """Means over the seeds of what the clock of each point says."""
    import pandas as pd

    keys = result.attrs["keys"]
    table = pd.DataFrame(result)
    table = table.assign(mean_decoding_error=result.attrs["mean_decoding_error"])
    groups = table.groupby(keys, sort=False, dropna=False)
    means = groups[["mean_iteration_time_s", "mean_decoding_error", "mean_recovered_fraction"]].mean()
    # Where the gradient is near and still no partition has coefficient 1, the share recovered means nothing.
    recovered = means["mean_recovered_fraction"]
    says_it_all = (recovered + means["mean_decoding_error"] - 1).abs() < 1e-9
    means["mean_recovered_fraction"] = recovered.where(says_it_all)
    means["seeds"] = groups["seed"].nunique()
    return means.reset_index()


def _medians_of_trainings(result: Result) -> pd.DataFrame:
    """Medians over the seeds of what each training ends with."""
    import pandas as pd

    keys = result.attrs["keys"]
    table = pd.DataFrame(result)
    of_a_seed = table.groupby([*keys, "seed"], sort=False, dropna=False)
    last = table.loc[of_a_seed["iteration"].idxmax()]
    iterations = last["iteration"].clip(lower=1)
    last = last.assign(mean_iteration_time_s=last["simulated_time_s"] / iterations)
    groups = last.groupby(keys, sort=False, dropna=False)
    found = groups[["simulated_time_s", *result.scores]].median().add_prefix("final_")
    found["mean_iteration_time_s"] = groups["mean_iteration_time_s"].mean()
    found["seeds"] = groups["seed"].nunique()
    return found.reset_index()
