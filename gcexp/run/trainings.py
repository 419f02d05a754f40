"""Where do the trainings of runs come from? Made here, made and written to files, or read from those of a job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import VerificationError
from gcexp.files import read_json, written
from gcexp.run import paths
from gcexp.run.datasets import prepared_file
from gcexp.run.measurement import Measurement
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.provenance import write_provenance
from gcexp.run.records import Seen, name_in_folder
from gcexp.run.run import Run

if TYPE_CHECKING:  # a plan trains nothing
    import numpy as np

    from gcexp.tasks.checkpoint import Checkpoint
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline


@dataclass
class HomeTrainings:
    """Trainings that are made here, on data that are prepared among the user's caches where this folder has none.

    `checkpoint` makes the checkpoint of a training from the run, from what the training depends on, and from what it
    reads. A training that exact runs share is made once, as long as this object lives.
    """

    checkpoint: Callable[[Run, list[str], Seen], Checkpoint] | None = None
    progress: bool = True
    known: dict[str, Trajectory] = field(default_factory=dict)

    def trajectory(self, run: Run, timeline: Timeline | None) -> Trajectory:
        """Train the run, or take what an exact run has learned before."""
        if run.training_key in self.known:
            return self.known[run.training_key]
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = partial(self.checkpoint, run)
        trajectory = run.train(timeline, home_data(run), checkpoint, self.progress)
        if run.exact:
            self.known[run.training_key] = trajectory
        return trajectory

    def report(self, run: Run, timeline: Timeline, trajectory: Trajectory) -> dict:
        """Replay the training; a failure is told by what is returned."""
        return run.replay(timeline, trajectory, home_data(run))


def home_data(run: Run) -> Path:
    """Where the data of a run are prepared, as they are now."""
    return prepared_file(run.dataset, run.config["data_dir"], home=True)


@dataclass(frozen=True)
class FiledTrainings:
    """Trainings whose trajectory and replay are written to files of this folder, with their provenance.

    The data are those that are prepared in this folder. A replay that finds another gradient is an error, and its file
    is not written.
    """

    output: Path
    replay: Path | None = None
    checkpoint: Callable[[Path, list[str], Seen], Checkpoint] = OwnCheckpoint

    def trajectory(self, run: Run, timeline: Timeline | None) -> Trajectory:
        """Train the run, from where an earlier job was when it ended, and write what it learned."""
        data = prepared_here(run)
        checkpoint = partial(self.checkpoint, checkpoint_file(self.output))
        with write_provenance(self.output, run.config) as facts:
            trajectory = run.train(timeline, data, checkpoint)
            facts["data"] = read_json(data.with_suffix(".json"))
            facts["device"] = run.device or "cpu"
            facts["iterations_run"] = trajectory.steps.tolist()
            facts["updates_skipped"] = trajectory.skipped.tolist()
            trajectory.save(self.output)
        return trajectory

    def report(self, run: Run, timeline: Timeline, trajectory: Trajectory) -> dict:
        """Replay the training, and write what is found."""
        assert self.replay is not None, "no file was named for the replay"
        with write_provenance(self.replay, run.config):
            report = run.replay(timeline, trajectory, prepared_here(run))
            require_passed(report, run)
            with written(self.replay) as temporary:
                temporary.write_text(json.dumps(report, indent=1) + "\n")
        return report


class StoredTrainings:
    """Trainings that earlier jobs of the workflow have written.

    Those jobs replayed the approximate ones; an exact one is replayed here, for each run that uses it. Its gradients
    are kept in between, where they are large.
    """

    def __init__(self) -> None:
        self._gradients: dict[str, dict[tuple, np.ndarray]] = {}

    def trajectory(self, run: Run, timeline: Timeline | None) -> Trajectory:
        """Read what was learned."""
        from gcexp.tasks.training import Trajectory

        return Trajectory.load(run.trajectory_file)

    def report(self, run: Run, timeline: Timeline, trajectory: Trajectory) -> dict:
        """Read what the replay found, or replay an exact run."""
        if run.replay_file is not None:
            return read_json(run.replay_file)
        gradients = self._gradients.setdefault(run.trajectory_file, {})
        report = run.replay(timeline, trajectory, prepared_here(run), gradients)
        require_passed(report, run)
        return report


def prepared_here(run: Run) -> Path:
    """The prepared data of a run in this folder."""
    return Path(paths.DATA.format(dataset=run.dataset))


def checkpoint_file(output: Path) -> Path:
    """Where a training keeps its state; never outside `paths.CHECKPOINTS`, wherever its output goes."""
    return Path(paths.CHECKPOINTS) / name_in_folder(output)


def write_timeline(measurement: Measurement, output: Path) -> None:
    """Write the clock of a run with its provenance, which tells what simulating it took."""
    with write_provenance(output, measurement.run.config) as facts:
        timeline = measurement.timeline
        facts["mean_iteration_time_s"] = float(timeline.duration[timeline.ran].mean())
        facts["distinct_patterns"] = len(timeline.patterns)
        timeline.save(output)


def require_passed(report: dict, run: Run) -> None:
    """Refuse a training of a run whose replay found another gradient."""
    from gcexp.run.verification import failure

    if not report["passed"]:
        sentence = f"verification failed: {failure(report['failures'])}"
        raise VerificationError(sentence, run.scheme.code, run.task)
