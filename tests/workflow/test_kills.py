"""A workflow that was killed: stale lock, orphan job, checkpoint."""

import contextlib
import fcntl
import os
import shutil
import signal
import time

import numpy as np
import psutil
import pytest

from tests.conftest import LONG, WARM_PROCESSES, assert_same_arrays, at_work, wait

pytestmark = pytest.mark.workflow

TRAININGS = [
    f"results/trajectory/digits_mlp/gradient_descent/exact/T10/seeds{seeds}.npz" for seeds in ("0-2", "3-5")
]


# Loaded by every process of a project: a training halts where it saves its state between two seeds, and says so.
HALT = """
import os, signal, sys, time

if "train" in sys.orig_argv:
    from gcexp.tasks import checkpoint

    def save(self, state, saved=checkpoint.Checkpoint.save):
        saved(self, state)
        if state["at_row"] >= 1 and not os.path.exists("go"):
            with open(f"halted-{os.getpid()}", "w") as told:
                told.write(" ".join(sys.argv))
            HOW

    checkpoint.Checkpoint.save = save
"""


def halting(project, how):
    """The project, whose trainings halt once until there is a file `go`."""
    with open(project / ".guard" / "sitecustomize.py", "a") as file:
        file.write(HALT.replace("HOW", how))
    return project


def halted(project):
    """Processes that have halted, by number, and the command of each."""
    told = project.folder.glob("halted-*")
    return {int(path.name.removeprefix("halted-")): path.read_text() for path in told}


def locks(project):
    folder = project / ".snakemake/locks"
    return os.listdir(folder) if folder.exists() else []


@pytest.fixture
def killed(project):
    """A project whose Snakemake was killed between two seeds of two trainings; these are stopped, not dead."""
    halting(project, "os.kill(os.getpid(), signal.SIGSTOP)")
    first = project.begin("snakemake", "-j2", *TRAININGS)
    wait(lambda: len(halted(project)) == len(TRAININGS), "checkpoints")
    os.kill(first.child.pid, signal.SIGKILL)
    assert first.ended()[0] != 0
    (project / "go").touch()
    assert locks(project)
    orphans = [
        next(psutil.Process(pid) for pid, command in halted(project).items() if path in command)
        for path in TRAININGS
    ]
    for orphan in orphans:
        wait(lambda orphan=orphan: orphan.status() == psutil.STATUS_STOPPED, "stopped training")
    for path in TRAININGS:
        assert not (project / path).exists()
        with np.load(project / "results/checkpoints" / path) as state:
            assert 1 <= int(state["at_row"]) < 3
    yield project, *orphans
    for process in at_work(project):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
            process.kill()


def reached(project, path):
    with np.load(project / "results/checkpoints" / path) as state:
        return int(state["at_row"]), int(state["at_step"])


def test_the_same_command_goes_on_where_a_killed_run_stopped(killed):
    """One orphan finishes while the second run waits for it, the other is killed too."""
    project, finishing, dying = killed
    before = [reached(project, path) for path in TRAININGS]
    code, output = project.snakemake("-j2", *TRAININGS)
    assert code != 0 and "--unlock" in output
    assert project.snakemake("--unlock", *TRAININGS)[0] == 0
    again = project.begin("snakemake", "-j2", *TRAININGS)
    for path in TRAININGS:
        log = (project / path.replace("results", "logs", 1)).with_suffix(".log")
        wait(lambda log=log: log.exists() and "another job trains" in log.read_text(), "waiting job")
    time.sleep(1)  # in which a training that does not wait would end
    assert [reached(project, path) for path in TRAININGS] == before
    assert not any((project / path).exists() for path in TRAININGS)
    dying.kill()
    finishing.resume()
    finishing.wait(LONG)
    saved = project / "results/checkpoints" / TRAININGS[0]
    last = saved.stat().st_mtime_ns
    code, output = again.ended()
    assert code == 0, output
    assert "Traceback" not in output
    assert saved.stat().st_mtime_ns == last, "steps were repeated"
    assert not locks(project)
    assert project.planned(*TRAININGS) == {}
    for path, seeds in zip(TRAININGS, ([0, 1, 2], [3, 4, 5]), strict=True):
        assert reached(project, path) == (3, 0)
        assert (project / path).with_suffix(".provenance.json").is_file()
        with np.load(project / path) as trained:
            assert trained["seeds"].tolist() == seeds and trained["steps"].tolist() == [10] * 3
    # The one that was resumed has the same bytes as without an interruption.
    resumed = shutil.move(project / TRAININGS[1], project / "resumed.npz")
    (project / "results/checkpoints" / TRAININGS[1]).unlink()
    assert project.build("-j1", TRAININGS[1]) == {"train_exact": 1}
    assert_same_arrays(resumed, project / TRAININGS[1])


def test_a_build_that_is_killed_leaves_nothing_behind(built, fresh):
    """Kills of what goes on from each other; then plain Snakemake ends it, past the lock of the last one.

    What it has made then, one job at a time, has the bytes of a build elsewhere, which ran two at a time.
    """
    halting(fresh, "time.sleep(3600)")
    for how in ("SIGINT", "SIGKILL"):
        before = halted(fresh)
        started = fresh.begin("snakemake", "-j2")
        wait(lambda before=before: {*halted(fresh)} - {*before}, "training")
        os.killpg(started.child.pid, getattr(signal, how))  # as a terminal does on Ctrl-C
        code, output = started.ended()
        assert code != 0, how
        assert how == "SIGKILL" or "Terminating processes on user request" in output, how
        wait(lambda: not at_work(fresh), "end of all processes")
        assert not [name for name in fresh.files("results", "reports") if "/." in name], how
    assert locks(fresh) and fresh.snakemake("--unlock")[0] == 0
    (fresh / "go").touch()
    assert fresh.build("-j1")
    assert fresh.planned() == {}
    first, second = (one.files("reports", "results/trajectory") for one in (built, fresh))
    assert set(first) == set(second)
    for name in (name for name in first if "provenance" not in name):
        if name.endswith(".npz"):
            assert_same_arrays(first[name], second[name])
        else:
            assert first[name].read_bytes() == second[name].read_bytes(), name


def test_what_a_kill_left_goes_at_the_next_start(project):
    left = project / f"reports/quick/figures/.small_three.{'0a' * 16}.pdf"
    left.write_text("")
    project.planned()
    assert left.exists()  # a dry run changes nothing
    table = "reports/quick/data/small_three.csv"
    (project / table).unlink()
    assert project.build("-j1", table) == {"table": 1}
    assert not left.exists()


def test_a_second_make_waits_for_the_first(project):
    project.edit(project.figure, "kind: lines", "kind: lines, xlim: [0, 1]")
    (project / ".venv").mkdir()
    (project / ".venv/bin").symlink_to(f"{os.environ[WARM_PROCESSES]}/bin")  # whose Snakemake is a fork
    with open(project / ".snakemake/make.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = project.make("reproduce", "TARGETS=small_three small", "ARGS=-n")
        assert "another make works in this folder: waiting for it" in second.stdout.readline()
    output, _ = second.communicate(timeout=LONG)
    assert second.returncode == 0, output
    assert "draw" in output
