"""The stages of a run as functions of overrides and file names: what the rules call, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import UserError, VerificationError
from gcexp.files import read_json, written
from gcexp.run import paths
from gcexp.run.build import build
from gcexp.run.dependencies import tracked
from gcexp.run.provenance import recorded
from gcexp.run.records import name_of, observed
from gcexp.run.run import check_count, check_horizon, seed_list, seed_range
from gcexp.run.scheme import build_scheme, require_trainable, schemes_of

if TYPE_CHECKING:  # codes, torch and pandas only where a stage uses them
    import numpy as np

    from gcexp.run.records import Seen
    from gcexp.summary import Summary
    from gcexp.tasks.checkpoint import Checkpoint
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline


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
    """Write the timeline of a composed run."""
    with recorded(output, config) as facts:
        timeline = simulated(config, length_of(config))
        facts["mean_iteration_time_s"] = float(timeline.duration[timeline.ran].mean())
        facts["distinct_patterns"] = len(timeline.patterns)
        timeline.save(output)
    return timeline


def simulated(config: dict, length: Length, tell: Callable[[int], object] | None = None) -> Timeline:
    """Timeline of a composed run; `tell` as of `gcexp.timeline.run_clock`.

    A scheme that declares itself exact is refused where a coefficient is not 1.
    """
    from gcexp.timeline import joined, run_clock

    delay, schemes = build(config, "delay"), schemes_of(config, length.seeds)
    parts = [run_clock(scheme, delay, seeds, length.iterations, tell=tell) for scheme, seeds in schemes]
    timeline = joined(parts) if len(parts) > 1 else parts[0]
    if config["exact"] and not (timeline.coefficients == 1).all():
        raise UserError(
            "the scheme declares exact: true, but its timeline has a coefficient that is not 1; add exact=false"
        )
    return timeline if length.horizon is None else timeline.until(length.horizon)


def summarised(
    config: dict, length: Length, marks: Sequence[int] = (), tell: Callable[[int], object] | None = None
) -> Summary:
    """Statistics of a composed run without a horizon, of which no iteration is kept; see `gcexp.summary.summarise`."""
    from gcexp.summary import joined, summarise

    delay, schemes = build(config, "delay"), schemes_of(config, length.seeds)
    return joined(
        summarise(scheme, delay, some, length.iterations, marks, tell=tell) for scheme, some in schemes
    )


def run_training(
    config: dict,
    output: Path,
    timeline: Timeline | None,
    kept: Callable[[Path, list[str], Seen], Checkpoint] | None = None,
) -> Trajectory:
    """Write what `trained` gives on the prepared data of this folder, with a checkpoint that `kept` makes."""
    from gcexp.run.own_checkpoint import OwnCheckpoint

    require_trainable(config if timeline else config | {"exact": True})
    with recorded(output, config) as facts:
        checkpoint = partial(kept or OwnCheckpoint, checkpoint_file(output))
        trajectory = trained(config, timeline, _prepared_here, checkpoint)
        dataset = build(config, "task").dataset
        facts["data"] = read_json(_prepared_here(dataset).with_suffix(".json"))
        facts["device"] = trained_on(config["task"]) or "cpu"
        facts["iterations_run"] = trajectory.steps.tolist()
        facts["updates_skipped"] = trajectory.skipped.tolist()
        trajectory.save(output)
    return trajectory


def trained(
    config: dict,
    timeline: Timeline | None,
    place: Callable[[str], Path],
    kept: Callable[[list[str], Seen], Checkpoint] | None = None,
    progress: bool = True,
) -> Trajectory:
    """Train all seeds from a timeline's coefficients or, without one, with every coefficient 1.

    `place` says where the prepared data of a name are. `kept` makes a checkpoint from what the training depends on and
    what it reads.
    """
    from gcexp.data import load
    from gcexp.tasks.training import train

    length = length_of(config)
    steps, coefficients, pattern = [length.iterations] * len(length.seeds), None, None
    if timeline is not None:
        steps = timeline.steps.tolist()
        coefficients, pattern = timeline.coefficients.astype(float), timeline.pattern
    with observed() if kept else nullcontext() as seen:
        task, optimizer = build(config, "task"), build(config, "optimizer")
        data = load(source := place(task.dataset))
        record = read_json(source.with_suffix(".json"))
        checkpoint = kept(decided_by(config, record), seen) if kept and seen else None
        return train(task, optimizer, data, length.seeds, steps, coefficients, pattern, checkpoint, progress)


def _prepared_here(dataset: str) -> Path:
    return Path(paths.DATA.format(dataset=dataset))


def trained_on(task: object) -> str | None:
    """The device that a task's option ``device`` means here; None for one without, which uses the processor."""
    name = task.get("device") if isinstance(task, dict) else getattr(task, "device", None)
    if name != "auto":
        return name
    from gcexp.tasks.devices import device_of

    return device_of(name)


def decided_by(config: dict, data: dict) -> list[str]:
    """What a training depends on beside its steps and coefficients: its checkpoint belongs to it.

    `data` is the record of the prepared data. It says what they are: a scale decides too.
    """
    record = json.dumps({key: value for key, value in data.items() if key != "key"}, sort_keys=True)
    device = trained_on(config["task"])
    lines = tracked("trajectory", config) + ([] if device is None else [f"device={device}"])
    return [*lines, f"seeds={seed_range(config['seeds'])}", record]


def checkpoint_file(output: Path) -> Path:
    """Where a training keeps its state; never outside `paths.CHECKPOINTS`, wherever its output goes."""
    return Path(paths.CHECKPOINTS) / name_of(output)


def run_verification(config: dict, timeline: Timeline, trajectory: Trajectory, output: Path) -> dict:
    """Write what `replayed` finds."""
    with recorded(output, config):
        found = replayed(config, timeline, trajectory)
        with written(output) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")
    return found


def replayed(
    config: dict, timeline: Timeline, trajectory: Trajectory, kept: dict[tuple, np.ndarray] | None = None
) -> dict:
    """What `verified` finds on the prepared data of this folder, where every error is small enough."""
    from gcexp.run.verification import failure

    found = verified(config, timeline, trajectory, _prepared_here, kept)
    if not found["passed"]:
        sentence = f"verification failed: {failure(found['failures'])}"
        raise VerificationError(sentence, build_scheme(config).code, build(config, "task"))
    return found


def verified(
    config: dict,
    timeline: Timeline,
    trajectory: Trajectory,
    place: Callable[[str], Path],
    kept: dict[tuple, np.ndarray] | None = None,
) -> dict:
    """Replay encode, drop and decode on the parameters that a training saved; see `trained` and `verify_decoding`."""
    from gcexp.data import load
    from gcexp.run.verification import verify_decoding

    task = build(config, "task")

    @cache  # a code that is drawn for each seed is asked for once for each iteration
    def code_of(seed: int):
        return build_scheme(config, seed).code

    return verify_decoding(code_of, timeline, trajectory, task, load(place(task.dataset)), kept)
