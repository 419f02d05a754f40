"""A sweep as jobs of Snakemake's, on a cluster or wherever a profile says: a plan of the jobs, and their start.

A job measures as many points as take some minutes, one after the other in one process, and a training that exact points
share is a job of its own. The rules are in ``workflow/sweep.smk``, which reads the plan; what a job does is
``gcexp job point`` or ``gcexp job train``. Each point is known by a name, made of what decides it, and is written
within seconds (`gcexp.run.point_files`): a sweep that was interrupted, or is repeated with more points, makes what is
missing.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import math
import os
import re
import shlex
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gcexp import slurm
from gcexp.errors import UserError, require_known, unknown
from gcexp.files import bundled, read_json, writable, written
from gcexp.run import paths
from gcexp.run.compose import compose
from gcexp.run.costs import (
    Cost,
    clock_cost,
    combine_costs,
    measure_clock,
    measure_training,
    replay_cost,
    training_cost,
)
from gcexp.run.datasets import prepared_file
from gcexp.run.dependencies import digest_of, stage_fingerprint
from gcexp.run.measurement import Measurement
from gcexp.run.options import Folders, search_path
from gcexp.run.point_files import Measured, PointFiles, PointWriter
from gcexp.run.records import collect_reads
from gcexp.run.result_columns import TIMED
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.run.sweep import Sweep, SweptCheckpoint, clock_of, forget, scores_of
from gcexp.run.trainings import HomeTrainings

if TYPE_CHECKING:  # pandas takes a second to import
    from gcexp.run.result import Result

#: What may be done with jobs that a killed command left in the queue.
QUEUED = ("wait", "cancel")
#: CPU seconds of a job that measures points: at least some minutes, so that its start counts for little.
_SHORTEST = 120
#: A job that would take longer is split, however many jobs there are.
_LONGEST = 600
#: Between the two there are at most so many jobs.
_JOBS = 50


@dataclass(frozen=True)
class Point:
    """A point of a sweep: all that decides what it measures, beside what is read of a person's own."""

    run: list[str]  #: Hydra overrides
    fingerprint: str  #: all else that decides (`gcexp.run.dependencies`), as a digest
    rows: str  #: of a clock, as in `gcexp.simulate`
    train: bool = False  #: with the coefficients that its scheme decodes
    trained: str | None = None  #: file of the training that exact points share
    verify: bool = False

    @cached_property
    def name(self) -> str:
        """What it is known by: a digest of all of this."""
        return digest_of(asdict(self))


@dataclass(frozen=True)
class Job:
    """A job of the plan: some points, or a training that points share, with what it is expected to cost."""

    cost: Cost
    needs: tuple[str, ...] = ()  #: files that other jobs of the sweep make
    points: tuple[Point, ...] = ()
    run: tuple[str, ...] = ()  #: Hydra overrides of a training
    fingerprint: tuple[str, ...] = ()


def submit_sweep(
    sweep: Sweep, profile: str, rows: str, verify: bool, trains: bool, queued: str | None = None
) -> tuple[Result, list[dict]]:
    """The table of a sweep whose points are measured by jobs of Snakemake's, and the reports of their replays.

    `queued` says what is done with jobs that an earlier call has left in the queue, see `QUEUED`.

    Raises
    ------
    UserError
        For an unknown profile, runs with objects from Python, a sweep that another process makes or whose jobs are
        still in the queue, and where jobs have failed.
    """
    folder = profile_folder(profile)  # complain before any work
    trainings: dict[str, Job] = {}
    points = []
    for run in sweep.runs:
        point = _training_point(trainings, run, verify) if trains else _clock_point(run, rows)
        points.append(point)
    plan = _plan_file(points)
    with _lock_of(plan) as lock:
        left = _left_behind(plan)
        if left.exists():
            _end_what_is_queued(left, queued)
        measured = _measured(points)
        missing = [
            (run, point) for run, point in zip(sweep.runs, points, strict=True) if point.name not in measured
        ]
        if missing:
            jobs = pack(missing, estimates(missing))
            needed = {point.trained for _, point in missing}
            for file, training in trainings.items():
                if file in needed:
                    jobs[file] = training
            _make(jobs, plan, folder, lock)
            made = PointFiles.read()
            for _, point in missing:
                measured[point.name] = made.latest(point.name)
    in_order = [measured[point.name] for point in points]
    return sweep.table([one.columns for one in in_order]), [one.report for one in in_order]


def _measured(points: Iterable[Point]) -> dict[str, Measured]:
    """Those of some points that are measured, by their names, as long as all that was read for them is as it was."""
    files = PointFiles.read()
    found = {}
    for point in points:
        measured = files.current(point.name, point.trained)
        if measured is not None:
            found[point.name] = measured
    return found


def _plan_file(points: Sequence[Point]) -> Path:
    """The file of a plan: one for the same points, in whatever order they are given."""
    names = sorted(point.name for point in points)
    return Path(paths.SWEEP_PLAN.format(name=digest_of(names)))


def _left_behind(plan: Path) -> Path:
    """The file that names the jobs of a plan while they may be in the queue (``workflow/sweep.smk`` writes it)."""
    return plan.with_suffix(".run")


# --- What is to be measured


def _clock_point(run: Run, rows: str) -> Point:
    """The point of a run whose clock is measured."""
    fingerprint = [*run.fingerprint("timeline"), *stage_fingerprint("timings")]
    return Point(_overrides(run), digest_of(fingerprint), rows)


def _training_point(trainings: dict[str, Job], run: Run, verify: bool) -> Point:
    """The point of a run that learns; exact runs share a training, which is added to `trainings`."""
    overrides = _overrides(run)
    # Data are prepared here, where there is a network.
    record = prepared_file(run.dataset, run.config["data_dir"]).with_suffix(".json")
    learned = run.training_fingerprint(read_json(record))
    fingerprint = [
        *run.fingerprint("timeline"),
        *learned,
        *stage_fingerprint("curves"),
        *run.fingerprint("replay"),
    ]
    decided = digest_of(fingerprint)
    if not run.exact:
        return Point(overrides, decided, "seeds", train=True, verify=verify)
    shared = paths.SWEEP_TRAINING.format(name=digest_of(run.training_key), task=_task(run))
    if shared not in trainings:
        alone = _overrides_of_training(run)
        trainings[shared] = Job(_training_cost(run, verify), run=tuple(alone), fingerprint=tuple(learned))
    return Point(overrides, decided, "seeds", trained=shared, verify=verify)


def _task(run: Run) -> str:
    """The name of what a run learns, as paths have it."""
    return run.option("task") or "default"


def _overrides(run: Run) -> list[str]:
    """Overrides of a job: in the order of their keys, unless the order in which they were given matters."""
    if run.built_in_python:
        built = ", ".join(run.built_in_python)
        raise UserError(f"jobs take names and numbers, got an object for {built}; leave submit out")
    ordered = sorted(run.overrides)
    if _sets_parts_of_another(ordered) and compose(ordered) != run.config:
        return list(run.overrides)
    return ordered


def _sets_parts_of_another(overrides: Sequence[str]) -> bool:
    """Whether a key of some overrides is below another one, so that their order may matter.

    >>> (
    ...     _sets_parts_of_another(["delay.mean=1", "delay.mean.3=2"]),
    ...     _sets_parts_of_another(["delay=pareto", "n=6"]),
    ... )
    (True, False)
    """
    keys = sorted(override.lstrip("+~").partition("=")[0].split(".") for override in overrides)
    for key, following in itertools.pairwise(keys):
        is_group = len(key) == 1  # its option is put below all keys, wherever it stands
        if not is_group and following[: len(key)] == key:
            return True
    return False


def _overrides_of_training(run: Run) -> list[str]:
    """Overrides of a training that exact runs share: without the scheme's, unless the task depends on them."""
    keys = ("task", "optimizer", "iterations", "seeds", "data_dir")
    own = sorted(text for text in run.overrides if _first_key(text) in keys)
    alone = compose(own)
    same = all(alone[key] == run.config[key] for key in ("task", "optimizer"))
    return [*own, "exact=true"] if same else _overrides(run)


def _first_key(override: str) -> str:
    """The group or key that an override sets.

    >>> _first_key("+task.rate=3")
    'task'
    """
    return re.split("[.=]", override.lstrip("+~"))[0]


# --- What it costs, and how it becomes jobs


def estimates(missing: Sequence[tuple[Run, Point]]) -> list[Cost]:
    """What each point is expected to cost, by the rates of ``costs.csv``.

    The rate of a clock is corrected for each scheme with each delay model: the point that should take longest is
    measured, for some iterations. A task without a rate is trained for some iterations.
    """
    clocks = [clock_cost(run) for run, _ in missing]
    corrections = _corrections([run for run, _ in missing], clocks)
    found = []
    for (run, point), clock in zip(missing, clocks, strict=True):
        correction = corrections[_parts_of_clock(run)]
        parts = [replace(clock, cpu_s=clock.cpu_s * correction)]
        if point.train:
            parts.append(_training_cost(run, point.verify))
        elif point.verify:
            replay = replay_cost(run)
            if replay.known:
                parts.append(replay)
        found.append(combine_costs(*parts))
    return found


def _corrections(runs: Sequence[Run], clocks: Sequence[Cost]) -> dict[tuple, float]:
    """How many times as long as by their rates clocks take, by scheme and delay model."""
    longest: dict[tuple, tuple[Run, Cost]] = {}
    for run, clock in zip(runs, clocks, strict=True):
        parts = _parts_of_clock(run)
        if parts not in longest or clock.cpu_s > longest[parts][1].cpu_s:
            longest[parts] = (run, clock)
    return {parts: measure_clock(run) / clock.cpu_s for parts, (run, clock) in longest.items()}


def _parts_of_clock(run: Run) -> tuple[str | None, str | None]:
    """What decides how long a clock takes, beside its size."""
    return run.option("scheme"), run.option("delay")


def _training_cost(run: Run, verify: bool) -> Cost:
    """What a training is expected to cost, measured where its task has no rate."""
    cost = training_cost(run, replayed=verify)
    if cost.known:
        return cost
    return measure_training(run)


def pack(missing: Sequence[tuple[Run, Point]], costs: Sequence[Cost]) -> dict[str, Job]:
    """Jobs of some minutes each, by the files that they make: neighbours that need the same go together."""
    groups = defaultdict(list)
    for (run, point), cost in zip(missing, costs, strict=True):
        task = _task(run) if point.train else None
        groups[task, point.trained].append((point, cost))
    jobs = {}
    for (task, trained), members in groups.items():
        for part in _split(members):
            points = tuple(point for point, _ in part)
            name = digest_of([point.name for point in points])
            pattern = paths.SWEEP_TRAINED_POINTS if task else paths.SWEEP_POINTS
            file = pattern.format(name=name, task=task)
            needs = () if trained is None else (trained,)
            jobs[file] = Job(combine_costs(*(cost for _, cost in part)), needs, points)
    return jobs


def _split(members: list[tuple[Point, Cost]]) -> list[list[tuple[Point, Cost]]]:
    """Neighbours that together take some minutes, about as long in each part."""
    seconds = [cost.cpu_s - cost.start_s for _, cost in members]
    total = sum(seconds)
    most = math.ceil(total / _SHORTEST)
    least = math.ceil(total / _LONGEST)
    count = max(1, min(most, _JOBS), least)
    parts = defaultdict(list)
    before = 0.0
    for member, own in zip(members, seconds, strict=True):
        middle = before + own / 2
        part = int(middle * count / total)
        parts[part].append(member)
        before += own
    return list(parts.values())


# --- How the jobs are made


def profile_folder(given: str) -> Path:
    """Folder of a profile by its path, or by its name where it lies in ``profiles/`` here or comes with gcexp.

    >>> profile_folder("slurm") == profile_folder("profiles/slurm")
    True
    """
    ours = bundled("profiles")
    for folder in (Path(given), "profiles" / Path(given), bundled(given), ours / given):
        if given and (folder / "config.yaml").is_file():
            return folder
    files = [*Path("profiles").glob("*/config.yaml"), *ours.glob("*/config.yaml")]
    names = {file.parent.name for file in files}
    raise UserError(unknown("profile", given, sorted(names)))


@contextmanager
def _lock_of(plan: Path) -> Iterator[IO[str]]:
    """Hold the lock of a plan, until this process and the Snakemake that it starts have ended; it names them."""
    lock = plan.with_suffix(".lock")
    with writable(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = open(lock, "a+")
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            maker = held.read().strip() or "another process"
            raise UserError(f"this sweep is being made by {maker}; wait for it, or end it") from None
        _name_maker(held, os.getpid())
        yield held


def _name_maker(lock: IO[str], process: int) -> None:
    """Write which process makes a sweep into the file of its lock."""
    lock.truncate(0)
    lock.write(f"process {process} on {socket.gethostname()}\n")
    lock.flush()


def _end_what_is_queued(left: Path, queued: str | None) -> None:
    """Wait for the jobs that a killed command has left in the queue, or cancel them, as a person says.

    `left` holds the name of its jobs; it is written when they are started and goes when they have ended.
    """
    name = left.read_text().strip()
    jobs = slurm.queued(name)
    if jobs:
        killed = f"left by a command that was killed: {' '.join(jobs)}"
        told = f"{len(jobs)} jobs of this sweep are still in the queue, {killed}"
        if queued is None and sys.stdin.isatty():
            print(f"gcexp: {told}", file=sys.stderr)
            queued = input("wait for them, or cancel them? [wait/cancel] ").strip()
        if queued not in QUEUED:
            raise UserError(
                f"{told}; --queued wait waits for them, --queued cancel cancels them (scancel --name={name})"
            )
        if queued == "cancel":
            slurm.cancel(jobs)
        slurm.wait_for(name)
    left.unlink()


def _make(jobs: Mapping[str, Job], plan: Path, folder: Path, lock: IO[str]) -> None:
    """Make the files of some jobs by Snakemake, which starts them as a profile says and shows how far they are."""
    for file, job in jobs.items():
        if job.points:
            Path(file).unlink(missing_ok=True)  # it said that these points were made, and they are not
    _write_plan(plan, jobs)
    process = _start_snakemake(plan, folder, lock)
    _name_maker(lock, process.pid)
    try:
        code = process.wait()
    except KeyboardInterrupt:  # it got the same signal, and cancels its jobs
        process.wait()
        raise
    finally:
        ended_by_itself = process.returncode is not None and process.returncode >= 0  # no signal killed it
        if ended_by_itself:
            _left_behind(plan).unlink(missing_ok=True)
    if code:
        raise UserError(
            f"the sweep is not whole (Snakemake ended with exit code {code}, see above); the same command goes on with"
            " what is missing"
        )


def _write_plan(plan: Path, jobs: Mapping[str, Job]) -> None:
    """Write the jobs of a plan by the files that they make, and the command that a person repeats."""
    listed = {file: asdict(job) for file, job in jobs.items()}
    content = {"command": shlex.join(_command()), "jobs": listed}
    with written(plan) as temporary:
        temporary.write_text(json.dumps(content, indent=0) + "\n")


def _start_snakemake(plan: Path, folder: Path, lock: IO[str]) -> subprocess.Popen:
    """Start Snakemake with a plan and the folder of a profile; it holds the lock too, and prints to standard error."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(bundled("workflow/sweep.smk"))]
    command += ["--workflow-profile", str(folder), "--nolock", "--keep-going", "--config", f"sweep={plan}"]
    return subprocess.Popen(command, stdout=sys.stderr, pass_fds=[lock.fileno()])


def _command() -> list[str]:
    """What was typed to start this process."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


# --- What a job does


def points_of(plan: Path, file: Path) -> list[Point]:
    """The points of a job that are still to be measured."""
    listed = read_json(plan)["jobs"]
    require_known("job", str(file), listed)
    points = [Point(**fields) for fields in listed[str(file)]["points"]]
    measured = _measured(points)
    return [point for point in points if point.name not in measured]


def measure_points(points: Iterable[Point], failed: Callable[[Point, Exception], object]) -> None:
    """Measure points one after the other and write them; of one that fails `failed` is told, and the others go on."""
    codes = Codes()
    folders = search_path()
    writer = PointWriter()
    for point in points:
        checkpoint = SweptCheckpoint()
        try:
            with collect_reads() as seen:
                measured = _measure(point, codes, folders, checkpoint)
        except Exception as error:
            failed(point, error)
            continue
        writer.add(point.name, measured, seen)
        if checkpoint.path is not None:
            writer.write()
            forget(checkpoint.path)  # not before the point is on disk
    writer.write()


def _measure(point: Point, codes: Codes, folders: Folders, checkpoint: SweptCheckpoint) -> Measured:
    """What a point of a submitted sweep measures, as `gcexp.sweep` would have it: its clock, or scores on it.

    The scores are those of a training of its own, which keeps a checkpoint, or of the trajectory that exact points
    share. `codes` are built once for all points of a process.
    """
    require_known("rows", point.rows, TIMED)
    trains = point.train or point.trained is not None
    run = Run.of(point.run, trains=trains, checked=False, codes=codes, folders=folders)
    if not trains:
        return Measured(clock_of(run, point.rows))
    measurement = Measurement(run, _trainings(run, point, checkpoint))
    columns = scores_of(measurement)
    report = measurement.report if point.verify else None
    return Measured(columns, report)


def _trainings(run: Run, point: Point, checkpoint: SweptCheckpoint) -> HomeTrainings:
    """Where the training of a point comes from."""
    found = HomeTrainings(checkpoint, progress=False)
    if point.trained is not None:
        from gcexp.tasks.training import Trajectory

        found.known[run.training_key] = Trajectory.load(point.trained)
    return found
