"""What goes wrong while people compute: each function here harms one build, and returns what its commands said.

Every function takes a trial and draws what it needs from the trial's random numbers.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

from tests.faults.trial import KINDS, PRODUCTS, Trial

SIGNALS = ("SIGKILL", "SIGTERM")
VICTIMS = ("workflow", "job", "group")
DAY = 86400.0


# --- Signals


def killed(trial: Trial, kind: str, victim: str, name: str) -> list[str]:
    """Send a signal to the workflow, a job, their group, or the server of warm jobs, at a random moment.

    The moment is one of a job of some kind, or of a build that has everything to do.
    """
    process = trial.begun(kind)
    if kind == "everything":
        time.sleep(trial.random.uniform(1.0, 20.0))
    else:
        job = trial.job(KINDS[kind][0], process)
        time.sleep(trial.random.uniform(0.0, 2.0))
    number = getattr(signal, name)
    if victim == "group":
        os.killpg(process.pid, number)
    elif victim == "workflow":
        process.send_signal(number)
    else:
        found = trial.job("gcexp.command.forkserver") if victim == "server" else job
        if found is not None and found.is_running():
            found.send_signal(number)
    return [trial.end_of(process)]


# --- Disks and folders


def disk_full(trial: Trial, kind: str) -> list[str]:
    """No file may be longer than a random limit, as under a quota."""
    trial.undo(kind)
    limit = trial.random.randint(1, 24)  # KiB
    return [trial.said("bash", "-c", f"ulimit -f {limit}; exec {' '.join(trial.command())}")]


def small_disk(trial: Trial, kind: str) -> list[str]:
    """The folder of the results lies on a disk with random little room, which is enlarged afterwards."""
    trial.undo(kind)
    folder = trial.random.choice(("results", "reports"))
    place = trial.project / folder
    held = sum(-(-path.stat().st_size // 4096) * 4096 for path in place.rglob("*") if path.is_file())
    kept = place.rename(place.with_name(f"{folder}.kept"))
    place.mkdir()
    trial.mount("-t", "tmpfs", "-o", f"size={held + trial.random.randint(40, 160) * 1024}", "none", place)
    try:
        subprocess.run(["cp", "-a", f"{kept}/.", place], check=True)
        return [trial.said(*trial.command())]
    finally:
        trial.settle()
        fresh = shutil.copytree(place, place.with_name(f"{folder}.fresh"), symlinks=True)
        trial.unmount(place)
        place.rmdir()
        fresh.rename(place)
        shutil.rmtree(kept)


def read_only(trial: Trial, kind: str, folder: str) -> list[str]:
    """A folder that nobody can write, not even root, until it is mended."""
    trial.undo(kind)
    place = trial.project / folder
    trial.mount("--bind", place, place)
    try:
        trial.mount("-o", "remount,ro,bind", place)
        return [trial.said(*trial.command())]
    finally:
        trial.settle()
        trial.unmount(place)


def lost(trial: Trial, kind: str, folder: str) -> list[str]:
    """A folder disappears at a random moment of a build and comes back after it, as a network mount does."""
    process = trial.begun(kind)
    trial.job(KINDS[kind][0], process)
    time.sleep(trial.random.uniform(0.0, 1.0))
    place, away = trial.project / folder, trial.project / "away"
    place.rename(away)
    if trial.random.random() < 0.5:  # what is left of a mount is an empty folder
        place.mkdir(exist_ok=True)
    said = trial.end_of(process)
    trial.settle()
    shutil.rmtree(place, ignore_errors=True)
    away.rename(place)
    return [said]


# --- Files


def truncated(trial: Trial, pattern: str, users: str, kind: str) -> list[str]:
    """A random file loses its end while nobody looks; what is made from it is made again."""
    found = sorted(path for path in trial.project.folder.glob(pattern) if path.is_file())
    path = trial.random.choice(found)
    before = path.stat()
    os.truncate(path, int(before.st_size * trial.random.uniform(0.0, 0.98)))
    if trial.random.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    trial.delete(*users.split())
    trial.damaged = path
    trial.kind = kind
    return []


def clock(trial: Trial, direction: int) -> list[str]:
    """Files from the future or from the past: some of what was made, or some of what it was made from."""
    files = [path for path in trial.project.files(*PRODUCTS).values()]
    files += [trial.project / trial.project.figure, *(trial.project / "workflow/rules").glob("*.smk")]
    for path in trial.random.sample(files, trial.random.randint(1, len(files))):
        at = time.time() + direction * trial.random.uniform(0.0, 3 * DAY)
        os.utime(path, (at, at))
    trial.undo(trial.random.choice(("table", "draw", "page")))
    trial.settles = False
    return []


# --- Others at work


def two_builds(trial: Trial, how: str) -> list[str]:
    """A second build begins at a random moment of the first, or two jobs make one file."""
    trial.undo("train")
    if how == "make":
        commands = [["make", "reproduce", "TARGETS=small_three", "ARGS=-j2"]] * 2
    elif how == "job":
        target = "results/trajectory/digits_mlp/gradient_descent/exact/T200/seeds0-1.npz"
        options = "task=digits_mlp optimizer=gradient_descent iterations=200 seeds=0-1 exact=true"
        commands = [["gcexp", "job", "train", *options.split(), "-o", target]] * 2
    else:
        commands = [trial.command()] * 2
    first = trial.start(*commands[0])
    time.sleep(trial.random.uniform(0.0, 4.0))
    second = trial.start(*commands[1])
    return [trial.end_of(first), trial.end_of(second)]


# --- The list

#: A pattern of files, what is made from them and so is deleted, and the kind of job that uses them.
_LEARNED = "results/checkpoints results/trajectory/*/*/exact reports/quick/data/small_three*"
TRUNCATED = (
    ("results/trajectory/**/*.npz", "reports/quick/data/small_three*", "table"),
    ("results/trajectory/**/*.verified.json", "reports/quick/data/small_three*", "table"),
    ("results/trajectory/**/*.provenance.json", "reports/quick/data/small_three*", "table"),
    ("results/checkpoints/results/**/*.npz", "results/trajectory reports/quick/data/small_three*", "train"),
    ("data/prepared/*.npz", _LEARNED, "train"),
    ("data/prepared/*.json", _LEARNED, "train"),
    ("reports/quick/data/small_three.csv", "reports/quick/figures", "draw"),
    ("reports/quick/data/small_three.provenance.json", "reports/quick/figures", "draw"),
    ("results/records/**/*.json", "reports/quick/index.html", "page"),
    ("results/mlflow/mlflow.db", "results/mlflow/quick.imported", "tracking"),
)


def faults() -> list[tuple[str, Callable[..., list[str]], tuple]]:
    """Name of the row in the table, function, and what it takes: the same list for every seed."""
    found: list[tuple[str, Callable[..., list[str]], tuple]] = []
    for place, kind in enumerate(one for one in KINDS if one != "everything"):
        for victim in (VICTIMS[place % 3], VICTIMS[(place + 1) % 3]):
            name = SIGNALS[(place + len(found)) % 2]
            found.append((f"{name} of the {victim}", killed, (kind, victim, name)))
    for victim, name in (
        ("workflow", "SIGTERM"),
        ("server", "SIGKILL"),
        *(("group", name) for name in SIGNALS),
    ):
        found.append((f"{name} of the {victim}", killed, ("everything", victim, name)))
    found += [("file size limit", disk_full, (kind,)) for kind in ("data", "train", "draw")]
    found += [("full disk", small_disk, (kind,)) for kind in ("train", "draw", "tracking")]
    folders = (("train", "results"), ("draw", "reports"), ("data", "data"))
    found += [("read-only folder", read_only, where) for where in folders]
    found += [("folder that disappears", lost, where) for where in folders]
    found += [("truncated file", truncated, which) for which in TRUNCATED]
    found += [("files from another time", clock, (direction,)) for direction in (1, -1)]
    return found + [("two at once", two_builds, (how,)) for how in ("snakemake", "make", "job")]
