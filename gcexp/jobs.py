"""The stages of a run as functions of overrides and file names: what the rules call, one after the other."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp import config as conf
from gcexp.errors import UserError
from gcexp.files import written
from gcexp.plan import Figure, check_count, check_horizon, figures, seed_list
from gcexp.provenance import provenance_file, recorded

if TYPE_CHECKING:  # codes, torch and pandas only where a stage uses them
    from gcexp.timeline import Timeline
    from gcexp.training import Trajectory

PREPARED = Path("data/prepared")
CHECKPOINTS = Path("results/checkpoints")


@dataclass(frozen=True)
class Length:
    """How long a run is: iterations at most, an optional horizon in simulated time, its seeds."""

    iterations: int
    horizon: float | None
    seeds: tuple[int, ...]


def length_of(config: dict) -> Length:
    """Read and check iterations, horizon and seeds of a composed run."""
    iterations, horizon = check_count("iterations", config["iterations"]), check_horizon(config["horizon"])
    return Length(iterations, horizon, seed_list(config["seeds"]))


def run_timeline(config: dict, output: Path) -> Timeline:
    """Simulate all seeds of a scheme; a redrawn code is drawn once per seed.

    Raises
    ------
    UserError
        If the scheme declares itself exact and a coefficient is not 1.
    """
    length = length_of(config)
    with recorded(output, config) as facts:
        timeline = simulated(config, length)
        if config["exact"] and not (timeline.coefficients == 1).all():
            raise UserError(
                "the scheme declares exact: true, but its timeline has a coefficient that is not 1"
            )
        ran = timeline.ran
        facts["mean_iteration_time_s"] = float(timeline.duration[ran].mean())
        facts["distinct_patterns"] = len(timeline.patterns)
        timeline.save(output)
    return timeline


def simulated(config: dict, length: Length) -> Timeline:
    """Timeline of a composed run."""
    from gcexp.timeline import joined, simulate

    delay = conf.build(config, "delay")
    groups = [(s,) for s in length.seeds] if conf.is_redrawn(config) else [length.seeds]
    parts = []
    for seeds in groups:
        scheme = conf.build_scheme(config, seeds[0])
        parts.append(simulate(scheme, delay.draw(seeds, length.iterations, scheme.code.n)))
    timeline = joined(parts) if len(parts) > 1 else parts[0]
    return timeline if length.horizon is None else timeline.until(length.horizon)


def run_training(config: dict, output: Path, timeline: Path | None) -> Trajectory:
    """Train all seeds from a timeline's coefficients, or exactly (every coefficient 1) without one."""
    import numpy as np

    from gcexp.checkpoint import Checkpoint
    from gcexp.data import load
    from gcexp.timeline import Timeline
    from gcexp.training import train

    conf.refuse_bound(config)
    length = length_of(config)
    task, optimizer = conf.build(config, "task"), conf.build(config, "optimizer")
    coefficients = pattern = None
    steps = np.full(len(length.seeds), length.iterations)
    if timeline is not None:
        clock = Timeline.load(timeline)
        if tuple(clock.seeds) != length.seeds:
            raise UserError(f"{timeline} has seeds {clock.seeds.tolist()}, the run {list(length.seeds)}")
        coefficients, pattern, steps = clock.coefficients, clock.pattern, clock.steps
    source = PREPARED / f"{task.dataset}.npz"
    with recorded(output, config) as facts:
        data = load(source)
        facts["data"] = json.loads(source.with_suffix(".json").read_text())
        decides = conf.tracked(config, ("task", "optimizer", "seeds"), "trajectory")
        kept = CHECKPOINTS / output.relative_to(output.anchor)
        checkpoint = Checkpoint(kept, [*decides, facts["data"]["sha256"]])
        trajectory = train(task, optimizer, data, length.seeds, steps, coefficients, pattern, checkpoint)
        facts["iterations_run"] = trajectory.steps.tolist()
        facts["updates_skipped"] = trajectory.skipped.tolist()
        trajectory.save(output)
    return trajectory


def run_verification(config: dict, timeline: Path, trajectory: Path, output: Path) -> dict:
    """Replay encode, drop, decode on the saved parameters; too large an error is an error, not a number."""
    from gcexp.data import load
    from gcexp.timeline import Timeline
    from gcexp.training import Trajectory
    from gcexp.verification import verify

    task = conf.build(config, "task")
    with recorded(output, config):
        found = verify(
            lambda seed: conf.build_scheme(config, seed).code,
            Timeline.load(timeline),
            Trajectory.load(trajectory),
            task,
            load(PREPARED / f"{task.dataset}.npz"),
        )
        if not found["passed"]:
            more = f" (and {len(found['failures']) - 1} more)" if len(found["failures"]) > 1 else ""
            raise UserError(f"verification failed: {found['failures'][0]}{more}")
        with written(output) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")
    return found


def make_table(figure: Figure, output: Path) -> None:
    """The tidy CSV of a figure from its runs' files or its analysis function."""
    from gcexp.assemble import assemble
    from gcexp.figures.tables import write_table

    with recorded(output, {"figure": figure.target, "preset": figure.preset}, inputs=figure.inputs):
        write_table(assemble(figure), output)


def make_drawing(figure: Figure, table: Path, outputs: list[Path]) -> None:
    """Draw a table as PDF and PNG, and typeset it where the figure is a table."""
    from gcexp.figures import draw, save
    from gcexp.figures.tables import read_table

    style = conf.conf_dir() / "style" / "paper.mplstyle"
    save(draw(read_table(table), figure.file.plot, figure.file.title, figure.note, style), outputs, style)


def check_claims(figure: Figure, table: Path, output: Path) -> list[dict]:
    """Hold the table against the paper's statements."""
    from gcexp.claims import check
    from gcexp.figures.tables import read_table

    entries = check(figure.file.claims, read_table(table), figure.paper, figure.name)
    with written(output) as temporary:
        temporary.write_text(json.dumps(entries, indent=1) + "\n")
    return entries


def write_page(preset: str, scorecard: Path, output: Path) -> None:
    """The static page of a preset's figures and claims."""
    from gcexp.report import write_report

    shown = []
    for figure in figures(preset):
        files = {
            path.rpartition(".")[2]: Path(path) for path in (*figure.drawings, figure.table, figure.claims)
        }
        relative = {
            kind: Path(os.path.relpath(path, output.parent)).as_posix() for kind, path in files.items()
        }
        claims = read_json(figure.claims)
        about = {"target": figure.target, "title": figure.file.title, "source": figure.file.source}
        shown.append(about | {kind: relative[kind] for kind in ("png", "pdf", "csv")} | {"claims": claims})
    write_report(output, preset, shown, read_json(scorecard))


def read_json(path: str | Path) -> Any:
    """A JSON file that an earlier job wrote."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot read {path} ({getattr(error, 'strerror', None) or error}); make it first"
        ) from None


def finished_provenance(path: str | Path) -> dict:
    """Provenance of a finished file, empty where it has none."""
    file = provenance_file(path)
    return json.loads(file.read_text()) if file.is_file() else {}
