"""The training of a run on prepared data, and the replay of what it learned: what of its clock goes into each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.run.parts import Parts

if TYPE_CHECKING:  # torch is imported only where a run learns
    from gcexp.codes.base import Code
    from gcexp.data import Dataset
    from gcexp.tasks.checkpoint import Checkpoint
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline


def train_parts(
    parts: Parts,
    timeline: Timeline | None,
    data: Dataset,
    checkpoint: Checkpoint | None = None,
    progress: bool = True,
) -> Trajectory:
    """Train all seeds with the coefficients of a timeline; of an exact run every coefficient is 1."""
    from gcexp.tasks.training import train

    task, optimizer, seeds = parts.task, parts.optimizer, parts.seeds
    if parts.exact:
        steps = [parts.iterations] * len(seeds)
        return train(task, optimizer, data, seeds, steps, None, None, checkpoint, progress)
    assert timeline is not None, "an approximate training needs its timeline"
    steps = timeline.steps.tolist()
    coefficients = timeline.coefficients.astype(float)
    return train(task, optimizer, data, seeds, steps, coefficients, timeline.pattern, checkpoint, progress)


def replay_parts(
    parts: Parts, timeline: Timeline, trajectory: Trajectory, data: Path | str, kept: dict | None = None
) -> dict:
    """Follow encode, drop and decode on the parameters that a training saved; see `verify_decoding`."""
    from gcexp.data import load
    from gcexp.run.verification import verify_decoding

    def code_of(seed: int) -> Code:
        return parts.scheme_of(seed).decoder

    return verify_decoding(code_of, timeline, trajectory, parts.task, parts.optimizer, load(data), kept)
