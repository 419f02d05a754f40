"""What goes wrong while people compute: each function here harms one build, and returns what its commands said.

Every function takes a trial and draws what it needs from the trial's random numbers.
"""

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress

import psutil

from tests.faults.trial import KINDS, PRODUCTS

SIGNALS = ("SIGKILL", "SIGTERM")
VICTIMS = ("workflow", "job", "group")
DAY = 86400.0


def killed(trial, kind, victim, name):
    """Send a signal to the workflow, a job, or their group, at a random moment.

    The moment is one of a job of some kind, or of a build that has everything to do.
    """
    trial.undo(kind)
    process = trial.start(trial.command)
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
    elif job:
        with suppress(psutil.NoSuchProcess):
            job.send_signal(number)
    return [trial.end_of(process)]


def disk_full(trial, kind):
    """No file may be longer than a random limit, as under a quota."""
    trial.undo(kind)
    limit = trial.random.randint(1, 24)  # KiB
    return [trial.said(["bash", "-c", f"ulimit -f {limit}; exec {' '.join(trial.command)}"])]


def small_disk(trial, kind):
    """The folder of the results lies on a disk with random little room, which is enlarged afterwards."""
    trial.undo(kind)
    place = trial.project / trial.random.choice(("results", "reports"))
    held = sum(-(-path.stat().st_size // 4096) * 4096 for path in place.rglob("*") if path.is_file())
    kept = shutil.move(place, trial.project / "kept")
    place.mkdir()
    trial.mount("-t", "tmpfs", "-o", f"size={held + trial.random.randint(40, 160) * 1024}", "none", place)
    subprocess.run(["cp", "-a", f"{kept}/.", place], check=True)
    said = trial.said(trial.command)
    trial.mount("-o", "remount,size=1g", place)
    return [said]


def read_only(trial, kind, folder):
    """A folder that nobody can write, not even root, until it is mended."""
    trial.undo(kind)
    place = trial.project / folder
    trial.mount("--bind", place, place)
    trial.mount("-o", "remount,ro,bind", place)
    said = trial.said(trial.command)
    trial.unmount()
    return [said]


def lost(trial, kind, folder):
    """A folder disappears at a random moment of a build and comes back after it, as a network mount does."""
    trial.undo(kind)
    process = trial.start(trial.command)
    trial.job(KINDS[kind][0], process)
    time.sleep(trial.random.uniform(0.0, 1.0))
    place, away = trial.project / folder, trial.project / "away"
    place.rename(away)
    if trial.random.random() < 0.5:  # what is left of a mount is an empty folder
        place.mkdir(exist_ok=True)
    said = trial.end_of(process)
    shutil.rmtree(place, ignore_errors=True)
    away.rename(place)
    return [said]


def truncated(trial, pattern, users, kind):
    """A random file loses its end while nobody looks; what is made from it is made again."""
    found = sorted(path for path in trial.project.folder.glob(pattern) if path.is_file())
    path = trial.random.choice(found)
    before = path.stat()
    os.truncate(path, int(before.st_size * trial.random.uniform(0.0, 0.98)))
    if trial.random.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    trial.delete(users)
    trial.kind, trial.damaged = kind, True
    return []


def clock(trial, direction):
    """Files from the future or from the past: some of what was made, or some of what it was made from."""
    files = [path for path in trial.project.files(*PRODUCTS).values()]
    files += [trial.project / trial.project.figure, *(trial.project / "workflow/rules").glob("*.smk")]
    for path in trial.random.sample(files, trial.random.randint(1, len(files))):
        at = time.time() + direction * trial.random.uniform(0.0, 3 * DAY)
        os.utime(path, (at, at))
    trial.undo(trial.random.choice(("table", "draw", "page")))
    trial.settles = False
    return []


def two_builds(trial, how):
    """A second build begins at a random moment of the first, or two jobs make one file."""
    trial.undo("train")
    target = "results/trajectory/digits_mlp/gradient_descent/exact/T200/seeds0-1.npz"
    options = "task=digits_mlp optimizer=gradient_descent iterations=200 seeds=0-1 exact=true"
    command = {
        "snakemake": trial.command,
        "make": ["make", "reproduce", "TARGETS=small_three", "ARGS=-j2"],
        "job": ["gcexp", "job", "train", *options.split(), "-o", target],
    }[how]
    first = trial.start(command)
    time.sleep(trial.random.uniform(0.0, 4.0))
    second = trial.start(command)
    return [trial.end_of(first), trial.end_of(second)]


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


def faults():
    """Name of the row in the table, function, and what it takes: the same list for every seed."""
    found = []
    for place, kind in enumerate(one for one in KINDS if one != "everything"):
        for victim in (VICTIMS[place % 3], VICTIMS[(place + 1) % 3]):
            name = SIGNALS[(place + len(found)) % 2]
            found.append((f"{name} of the {victim}", killed, (kind, victim, name)))
    everything = (("workflow", "SIGTERM"), *(("group", name) for name in SIGNALS))
    for victim, name in everything:
        found.append((f"{name} of the {victim}", killed, ("everything", victim, name)))
    found += [("file size limit", disk_full, (kind,)) for kind in ("data", "train", "draw")]
    found += [("full disk", small_disk, (kind,)) for kind in ("train", "draw", "tracking")]
    folders = (("train", "results"), ("draw", "reports"), ("data", "data"))
    found += [("read-only folder", read_only, where) for where in folders]
    found += [("folder that disappears", lost, where) for where in folders]
    found += [("truncated file", truncated, which) for which in TRUNCATED]
    found += [("files from another time", clock, (direction,)) for direction in (1, -1)]
    return found + [("two at once", two_builds, (how,)) for how in ("snakemake", "make", "job")]
