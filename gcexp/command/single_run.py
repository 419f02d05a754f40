"""One run without Snakemake: clock, training, verification, summary and plot, in a folder of its own."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.files import read_json
from gcexp.run import paths
from gcexp.run.datasets import prepared
from gcexp.run.measurement import FiledTrainings, Measurement, write_timeline
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.live_logging import LiveRun
    from gcexp.run.records import Seen
    from gcexp.timeline import Timeline


def run(
    overrides: list[str], folder: Path | None = None, level: float | None = None, uri: str | None = None
) -> Path:
    """Timeline, training, verification, summary and plot of the run that `overrides` compose, and their folder.

    `level` is the value of the main score whose first passage is told; by default `usual_level`. `uri` says where
    MLflow logs the run while it trains; empty: where it usually does; None: nowhere.
    """
    from gcexp.report.live_logging import LiveRun
    from gcexp.report.mlflow_store import Store

    one = Run.of(overrides)
    _ = one.task  # complain before any work
    folder = folder_of(overrides) if folder is None else folder
    store = None if uri is None else Store(uri)
    print(f"{one.scheme.code!r}, {one.scheme.wait!r}")

    live: LiveRun | None = None

    def checkpoint(path: Path, decided: list[str], seen: Seen) -> OwnCheckpoint:
        """The checkpoint of the training, which logs what it keeps where the run is logged."""
        return live.checkpoint(path, decided, seen) if live else OwnCheckpoint(path, decided, seen)

    files = FiledTrainings(folder / "trajectory.npz", folder / "verification.json", checkpoint)
    measurement = Measurement(one, files)
    data = prepared(one.dataset, one.config["data_dir"])
    write_timeline(measurement, folder / "timeline.npz")
    if store is not None:
        live = LiveRun(store, one, folder, read_json(data.with_suffix(".json")), measurement.timeline)
    with live or nullcontext():
        _tell(measurement, folder, level, live)
    return folder


def folder_of(overrides: list[str]) -> Path:
    """Where the results of a run go unless a folder is given: one named by its overrides."""
    name = "+".join(text.replace("=", "@").replace("/", "_") for text in sorted(overrides)) or "default"
    if len(name) > 200:
        raise UserError("so many overrides make too long a folder name: give one with --output")
    return Path(paths.RUNS) / name


def _tell(measurement: Measurement, folder: Path, level: float | None, live: LiveRun | None) -> None:
    """Train a run, and tell, draw and log what it gives."""
    from gcexp.figures.tables import scores_of, write_table

    one, timeline = measurement.run, measurement.timeline
    trajectory = measurement.trajectory
    frame = measurement.curve
    code = type(one.scheme.code).__name__
    frame.insert(0, "label", code)
    frame.insert(1, "run", folder.name)
    write_table(frame, folder / "curve.csv")
    metrics = scores_of(frame)
    level = usual_level(frame, metrics[0]) if level is None else level
    for name, value in _summary(timeline, frame, metrics, level).items():
        print(f"  {name + ':':26} {value}")
    _plot(frame, metrics[0], list(one.overrides), folder)
    if live:
        live.finish(trajectory, frame, level)
        live.add({}, [folder / f"curve.{suffix}" for suffix in ("csv", "pdf", "png")])
    # The curve stands when this fails: whoever looks for the reason needs it.
    found = measurement.report
    errors = f"decoded {found['decoded_error']:.1e}, weighted pass {found['weighted_error']:.1e}"
    print(f"  {'verification errors:':26} {errors}")
    if live:
        live.add({name: found[name] for name in ("decoded_error", "weighted_error")})
        print(f"  {'logged in MLflow:':26} {live.place}")
    print(f"  results in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")


def _summary(
    timeline: Timeline, frame: pd.DataFrame, metrics: list[str], level: float | None
) -> dict[str, str]:
    """What is told of a run, each value with its name."""
    import numpy as np

    last = frame.groupby("seed").last()
    found = {
        "seeds": str(len(timeline.seeds)),
        "iterations per seed": f"{timeline.steps.min()} to {timeline.steps.max()}",
        "mean iteration time (s)": f"{timeline.duration[timeline.ran].mean():.4g}",
        **decoded(timeline),
        "simulated time (s)": f"{last['simulated_time_s'].median():.4g}",
    }
    if level is not None:
        found["time to a level (s)"] = passage(frame, metrics[0], level)
    for name in metrics:
        found[f"final {name.replace('_', ' ')}"] = f"{np.median(last[name]):.4g}"
    return found


def decoded(timeline: Timeline) -> dict[str, str]:
    """Error of the decoded gradients over the iterations that ran, and how much they recovered where that says it all.

    With coefficients other than 0 and 1 no partition may be recovered exactly though the gradient is near.
    """
    import numpy as np

    c, ran = timeline.coefficients.astype(float), timeline.pattern[timeline.ran]
    error = ((c - 1) ** 2).mean(1)[ran]
    found = {"mean error ||c-1||^2/k": f"{error.mean():.4g} (largest {error.max():.4g})"}
    if np.isin(c, (0, 1)).all():
        ones = c.mean(1)[ran]
        found["mean recovered fraction"] = f"{ones.mean():.4f} (least {ones.min():.4f})"
    return found


def usual_level(frame: pd.DataFrame, score: str) -> float | None:
    """Halfway from where a score begins to its best, 0 of a loss and else 1, in two digits; None if it begins beyond.

    It depends on the task and its seeds, not on the scheme, so that runs of several schemes are told alike.
    """
    first = float(frame.loc[frame["iteration"] == 0, score].median())
    best = 0 if score.endswith("loss") else 1
    if not (0 < first < math.inf if best == 0 else first < best):
        return None
    return float(f"{(first + best) / 2:.2g}")


def passage(frame: pd.DataFrame, score: str, level: float) -> str:
    """Median over the seeds of the simulated time to a level of a score, and how many seeds reached it."""
    from gcexp.run.result import Result

    found = Result(frame).time_to(level, score).iloc[0]
    middle = found[f"time_to_{level:g}"]
    told = f"{middle:.4g}" if math.isfinite(middle) else "not reached"
    reached = f"reached in {found['seeds_reached']:g} of {found['seeds']:g} seeds"
    return f"{told} ({score.replace('_', ' ')} {level:g}, {reached})"


def _plot(frame, metric: str, overrides: list[str], folder: Path) -> None:
    from gcexp.figures import draw, save

    plot = {"kind": "lines", "x": "simulated_time_s", "y": metric}
    if metric.endswith("loss"):  # it falls by orders of magnitude
        plot["yscale"] = "log"
    drawn = draw(frame, plot, " ".join(overrides) or "default run", "The clock is simulated.")
    save(drawn, [folder / "curve.pdf", folder / "curve.png"])
