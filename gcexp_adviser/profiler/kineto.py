"""A trace of workers' times from the profiler traces of PyTorch (Kineto), one or more for each rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.profiler.kineto_events import is_damaged, is_trace, read_events
from gcexp_adviser.profiler.kineto_steps import Step, steps_of

_SHOWN = 8  # numbers in a sentence
_AFTER_BACKWARD = (
    "the gradients are reduced after the backward pass, and later collectives wait for the first"
)


@dataclass(frozen=True)
class _Recording:
    """What one file holds."""

    file: Path
    rank: int
    world_size: int
    steps: list[Step]
    has_gpu: bool


def read_profiler_folder(source: Path | str | Iterable[Path | str]) -> tuple[pd.DataFrame, list[str]]:
    """The times of all ranks and steps of a run that was profiled, and what was decided about them.

    Parameters
    ----------
    source : path or paths
        A folder with the files of all ranks, or these files.

    Returns
    -------
    frame : DataFrame
        Columns ``iteration`` (number of the step, or of the update of several steps), ``worker`` (rank), ``time`` from
        the mark of the first step behind the last one with a gradient collective to the launch of the last gradient
        collective, and ``compute``, its part from the first forward operation on; both in seconds. There
        is a row for each rank and each step that all ranks have. ``compute`` is left out where no operation is seen
        that it could begin with.
    decisions : list of str
        What was taken for what, and what was left out.

    Raises
    ------
    DataError
        For files that are damaged or do not say their rank, steps without marks or without collectives, a single rank,
        ranks that wait for each other before the backward pass, and a step that a rank has twice.
    """
    files, left_out_files = _files_of(source)
    recordings = list(map(_recording, files))
    decisions = [*left_out_files, *_check_world(recordings)]
    steps_of_ranks = _by_rank(recordings)
    _check_collectives(recordings)
    kept, left_out_steps = _kept_steps(steps_of_ranks)
    frame = _frame(steps_of_ranks, kept)
    read = f"read {len(steps_of_ranks)} ranks x {len(kept)} steps from {len(files)} Kineto files"
    return frame, [read, *_meaning(recordings, steps_of_ranks, kept, frame), *left_out_steps, *decisions]


# --- files ------------------------------------------------------------------------------------------------------------


def _files_in(folder: Path) -> list[Path]:
    """Files in a folder and in folders in it, but for hidden ones."""
    files = []
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            files.append(path)
    return files


def _files_of(source: Path | str | Iterable[Path | str]) -> tuple[list[Path], list[str]]:
    """The profiler traces of a source, and what is told of its other files."""
    if isinstance(source, str | Path):
        path = Path(source)
        files = _files_in(path) if path.is_dir() else [path]
    else:
        files = list(map(Path, source))
    traces, others = [], []
    for file in files:
        if is_trace(file):
            traces.append(file)
        elif is_damaged(file):
            raise DataError(
                f"{file.name} is empty or damaged: it does not begin as JSON; copy it again, or take it out"
            )
        else:
            others.append(file.name)
    if not traces:
        raise DataError(f"{_named(source)} holds no profiler trace of PyTorch")
    if not others:
        return traces, []
    return traces, [f"left out {len(others)} files that are no profiler traces: {_listed(others)}"]


def _named(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else "the list of files"


def _listed(items: Iterable[object]) -> str:
    """Items in a sentence; of many, the first.

    Examples
    --------
    >>> _listed(range(12))
    '0, 1, 2, 3, 4, 5, 6, 7 and 4 more'
    """
    texts = list(map(str, items))
    shown = ", ".join(texts[:_SHOWN])
    if len(texts) > _SHOWN:
        shown += f" and {len(texts) - _SHOWN} more"
    return shown


# --- what is refused --------------------------------------------------------------------------------------------------


def _recording(file: Path) -> _Recording:
    """The steps of a file; its events are not kept."""
    events = read_events(file)
    if not events.steps:
        raise DataError(
            f"{file.name} has no step marks (ProfilerStep#...): give the profiler a schedule=, without which torch "
            "writes none, and call prof.step() at the end of each training step"
        )
    return _Recording(file, events.rank, events.world_size, steps_of(events), events.has_gpu)


def _check_world(recordings: list[_Recording]) -> list[str]:
    """Raise `DataError` unless the files are of several ranks of one world; what is told of ranks without a file."""
    ranks = set()
    worlds = set()
    for recording in recordings:
        ranks.add(recording.rank)
        if recording.world_size:
            worlds.add(recording.world_size)
    if len(worlds) > 1:
        raise DataError(
            f"the files are of runs with {_listed(sorted(worlds))} ranks; put each run into a folder of its own"
        )
    world_size = max(worlds, default=0)
    if len(ranks) == 1:
        rank = f"rank {recordings[0].rank}"
        if world_size:
            rank += f" of {world_size}"
        raise DataError(
            f"there are files of one rank only, {rank}: who is slow is seen by comparing ranks; profile on "
            "every rank, and put their files into one folder"
        )
    missing = sorted(set(range(world_size)) - ranks)
    if not missing:
        return []
    return [f"{len(missing)} of {world_size} ranks have no file: {_listed(missing)}"]


def _by_rank(recordings: list[_Recording]) -> dict[int, dict[int, Step]]:
    """Steps by rank and number; several files of a rank are joined where they have no step in common."""
    joined: dict[int, dict[int, Step]] = {}
    files: dict[tuple[int, int], Path] = {}
    for recording in sorted(recordings, key=lambda recording: recording.rank):
        steps = joined.setdefault(recording.rank, {})
        for step in recording.steps:
            if step.number in steps:
                first = files[recording.rank, step.number]
                places = first.name
                if first != recording.file:
                    places += f" and {recording.file.name}"
                raise DataError(
                    f"rank {recording.rank} has step {step.number} twice, in {places}; take one out, or put each run "
                    "into a folder of its own"
                )
            steps[step.number] = step
            files[recording.rank, step.number] = recording.file
    return joined


def _check_collectives(recordings: list[_Recording]) -> None:
    """Raise `DataError` where no step of a rank says what the rank took by itself."""
    collectives = 0
    for recording in recordings:
        waits_for: set[str] = set()
        usable = 0
        for step in recording.steps:
            waits_for.update(step.waits_for)
            usable += step.is_usable
            collectives += step.collectives
        if waits_for and not usable:
            raise DataError(
                f"the ranks wait for each other before the backward pass is over ({_listed(sorted(waits_for))} in "
                f"{recording.file.name}), as with FSDP, tensor or pipeline parallelism, SyncBatchNorm, a loss "
                "that is reduced, or several backward passes that reduce: what a rank takes by itself cannot be read "
                "from such steps"
            )
    if not collectives:
        raise DataError(
            "no step has a gradient collective (all_reduce or reduce_scatter), so ranks do not wait for each other in "
            "what was profiled; profile training steps of DistributedDataParallel on the CPU side "
            "(ProfilerActivity.CPU); where a schedule begins anew and writes over its first file, give it repeat=1"
        )


# --- steps ------------------------------------------------------------------------------------------------------------


def _kept_steps(ranks: dict[int, dict[int, Step]]) -> tuple[list[int], list[str]]:
    """Numbers of the steps that are usable on every rank, and what is told of the others."""
    kept: list[int] = []
    without, waiting, cut_off, not_begun, incomplete = [], [], [], [], []
    numbers: set[int] = set()
    joined: set[int] = set()
    for steps in ranks.values():
        numbers.update(steps)
        for step in steps.values():
            if step.collectives:
                joined.update(range(step.first, step.number))
    not_whole = _not_begun(ranks)
    for number in sorted(numbers):
        of_ranks = [steps[number] for steps in ranks.values() if number in steps]
        begins = {(step.first, step.from_update) for step in of_ranks}
        if any(step.cut_off for step in of_ranks):
            cut_off.append(number)
        elif any(step.waits_for for step in of_ranks):
            waiting.append(number)
        elif not all(step.collectives for step in of_ranks):
            if number not in joined:
                without.append(number)
        elif number in not_whole or len(begins) > 1:
            not_begun.append(number)
        elif len(of_ranks) < len(ranks):
            incomplete.append(number)
        else:
            kept.append(number)
    reasons = {
        "without a gradient collective": without,
        "in which ranks wait for each other before the backward pass is over": waiting,
        "that the recording cut off before the last gradient collective": cut_off,
        "whose gradients were accumulated since a step that was not recorded": not_begun,
        "that not every rank has": incomplete,
    }
    told = []
    for reason, left_out in reasons.items():
        if left_out:
            told.append(f"left out {_steps(len(left_out))} {reason}: {_listed(left_out)}")
    if not kept:
        raise DataError(f"no step is whole on every rank: {'; '.join(told)}")
    return kept, told


def _not_begun(ranks: dict[int, dict[int, Step]]) -> set[int]:
    """Numbers of steps to which steps before the recording may belong, since others have more steps than they."""
    lengths: set[int] = set()
    others: list[Step] = []
    for steps in ranks.values():
        for step in steps.values():
            before = steps.get(step.first - 1)
            if not step.is_preceded and not (before is not None and before.collectives):
                others.append(step)
            elif step.collectives:
                lengths.add(step.length)
    return {step.number for step in others if {step.length} != (lengths or {1})}


def _iterations_of(kept: list[int], lengths: set[int]) -> list[int]:
    """Numbers of iterations; steps that were joined, as many for each, count as one.

    Examples
    --------
    >>> _iterations_of([3, 7, 15], {4}), _iterations_of([3, 4, 9], {4, 1, 5}), _iterations_of([3, 4, 6], {1})
    ([0, 1, 3], [0, 1, 2], [3, 4, 6])
    """
    if len(lengths) > 1:
        return list(range(len(kept)))
    return [number // max(lengths) for number in kept]


def _frame(ranks: dict[int, dict[int, Step]], kept: list[int]) -> pd.DataFrame:
    """A row for each kept step and rank; without ``compute`` where a step lacks it."""
    rows = []
    some_rank = next(iter(ranks.values()))
    iterations = _iterations_of(kept, {some_rank[number].length for number in kept})
    for iteration, number in zip(iterations, kept, strict=True):
        for rank, steps in ranks.items():
            step = steps[number]
            rows.append((iteration, rank, step.time, step.compute))
    frame = pd.DataFrame(rows, columns=["iteration", "worker", "time", "compute"])
    return frame.dropna(axis="columns")


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _accumulation(steps: list[Step]) -> list[str]:
    """What is told of steps that were joined, or that may have to be."""
    lengths = sorted({step.length for step in steps})
    if lengths[-1] > 1:
        number = str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
        return [
            f"an iteration is {number} steps, of which the last has a gradient collective, as where gradients are "
            "accumulated; its time begins with the first of them"
        ]
    numbers = {step.number for step in steps}
    follow = any(step.is_preceded or step.number + 1 in numbers for step in steps)
    if len(numbers) > 1 and not follow:
        return [
            "no two recorded steps follow each other: if gradients were accumulated in the steps between, what "
            "ranks took in them is not in time; record whole updates"
        ]
    return []


def _meaning_of_time(steps: list[Step], number: int) -> list[str]:
    """Where the times of these steps begin and end; `number` is that of the steps of a rank."""
    start = "the end of the optimiser's step" if steps[0].from_update else "step start"
    after_backward = sorted({step.number for step in steps if step.after_backward})
    if len(after_backward) == number:
        time = f"{start} to the first gradient collective, since {_AFTER_BACKWARD}"
    else:
        time = f"{start} to the launch of the last gradient collective"
    told = [f"time = {time}"]
    if 0 < len(after_backward) < number:
        told.append(
            f"in {_steps(len(after_backward))} of {number}, {_listed(after_backward)}, time ends with the first "
            f"gradient collective, since {_AFTER_BACKWARD}"
        )
    if steps[0].from_update:
        told.append("the step marks lie between the forward and the backward pass, as Lightning's do")
    return told


def _meaning(
    recordings: list[_Recording], ranks: dict[int, dict[int, Step]], kept: list[int], frame: pd.DataFrame
) -> list[str]:
    """What the columns mean in these files."""
    steps: list[Step] = []
    for of_rank in ranks.values():
        steps += map(of_rank.__getitem__, kept)
    told = [*_meaning_of_time(steps, len(kept)), *_accumulation(steps)]
    if "compute" not in frame:
        told.append("compute is not known, since no forward operation is seen")
    elif any(step.unmarked_forward for step in steps):
        told.append("compute = from the first operation, since no forward pass is marked")
    else:
        told.append("compute = from the first forward operation")
    buffers = [step.buffers for step in steps if step.buffers > 0]
    if buffers:
        told.append(
            f"took {1000 * sum(buffers) / len(steps):.3g} ms a step off, in which ranks waited for a broadcast before "
            "the backward pass, as of buffers (DistributedDataParallel(..., broadcast_buffers=False) sends none)"
        )
    if any(recording.has_gpu for recording in recordings):
        told.append(
            "times are of launches on the CPU, which may run ahead of the GPU: what the GPU alone takes is in them "
            "only where the loop waits for it before the next step, as by loss.item()"
        )
    return told
