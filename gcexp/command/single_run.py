"""One run without Snakemake: the same stages as the rules, a summary and a plot at the end."""

from __future__ import annotations

from pathlib import Path

from gcexp.errors import UserError
from gcexp.run import stages
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.datasets import source_of
from gcexp.run.scheme import build_scheme, refuse_bound


def run(overrides: list[str], folder: Path | None = None) -> Path:
    """Timeline, training, verification, summary and plot of the run that `overrides` compose.

    Parameters
    ----------
    overrides : list of str
        Hydra overrides, as in ``scheme=cgc n=30 s=19 task=mnist_mlp``.
    folder : Path, optional
        Where the results go; default results/run/<the overrides>.

    Returns
    -------
    Path
        The folder.
    """
    import numpy as np

    from gcexp.data import prepare

    config = compose(overrides)
    stages.length_of(config)  # complain before any work
    refuse_bound(config)
    scheme = build_scheme(config)
    build(config, "delay"), build(config, "optimizer")
    task = build(config, "task")
    folder = folder or Path("results/run") / (_name(overrides) or "default")
    print(f"{scheme.code!r}, {scheme.wait!r}")

    prepared = stages.PREPARED / f"{task.dataset}.npz"
    if not prepared.is_file():
        prepare(source_of(task.dataset), prepared, config["data_dir"])
    timeline = stages.run_timeline(config, folder / "timeline.npz")
    needed = None if config["exact"] else folder / "timeline.npz"
    trajectory = stages.run_training(config, folder / "trajectory.npz", needed)
    table = folder / "curve.csv"
    frame = _table(config, timeline, trajectory, table)
    last = frame.groupby("seed").last()
    metrics = [column for column in last if column not in ("label", "run", "iteration", "simulated_time_s")]
    ones = (timeline.coefficients == 1).mean(1)[timeline.pattern][timeline.ran]
    summary = {
        "seeds": len(timeline.seeds),
        "iterations per seed": f"{timeline.steps.min()} to {timeline.steps.max()}",
        "mean iteration time (s)": f"{timeline.duration[timeline.ran].mean():.4g}",
        "mean recovered fraction": f"{ones.mean():.4f} (least {ones.min():.4f})",
        "simulated time (s)": f"{last['simulated_time_s'].median():.4g}",
        **{f"final {name.replace('_', ' ')}": f"{np.median(last[name]):.4g}" for name in metrics},
    }
    for name, value in summary.items():
        print(f"  {name + ':':26} {value}")
    _plot(frame, metrics[0], overrides, folder)
    # The curve stands when this fails: whoever looks for the reason needs it.
    found = stages.run_verification(
        config, folder / "timeline.npz", folder / "trajectory.npz", folder / "verification.json"
    )
    errors = f"decoded {found['decoded_error']:.1e}, weighted pass {found['weighted_error']:.1e}"
    print(f"  {'verification errors:':26} {errors}")
    print(f"  results in {folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}")
    return folder


def _table(config: dict, timeline, trajectory, path: Path):
    from gcexp.figures.tables import write_table
    from gcexp.report.table import scored

    frame = scored(
        timeline, trajectory, label=config["code"]["_target_"].rpartition(".")[2], run=path.parent.name
    )
    write_table(frame, path)
    return frame


def _plot(frame, metric: str, overrides: list[str], folder: Path) -> None:
    from gcexp.figures import draw, save

    plot = {"kind": "lines", "x": "simulated_time_s", "y": metric}
    if metric.endswith("loss"):  # it falls by orders of magnitude
        plot["yscale"] = "log"
    drawn = draw(frame, plot, " ".join(overrides) or "default run", "simulated clock")
    save(drawn, [folder / "curve.pdf", folder / "curve.png"])


def _name(overrides: list[str]) -> str:
    name = "+".join(o.replace("=", "@").replace("/", "_") for o in sorted(overrides))
    if len(name) > 200:
        raise UserError("so many overrides make too long a folder name: give one with --output")
    return name
