"""A workflow that was killed: stale lock, orphan job, checkpoint."""

import contextlib
import os
import signal
import sys
import time

import numpy as np
import psutil
import pytest

from gcexp.run.run import run_of_path

pytestmark = pytest.mark.workflow

TRAININGS = [
    f"results/trajectory/digits_mlp/gradient_descent/exact/T400/seeds{seeds}.npz" for seeds in ("0-2", "3-5")
]


def wait(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    pytest.fail(f"after {seconds} s still no {what}")


def locks(project):
    folder = project / ".snakemake/locks"
    return os.listdir(folder) if folder.exists() else []


def trainings(project, path=""):
    """Training processes that work in the folder, of all outputs or of one."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(project.folder) and "train" in (line := process.cmdline()):
                if any("python" in part for part in line[:2]) and (not path or path in line):
                    found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def killed(project):
    """A project whose Snakemake was killed between two seeds of two trainings; these are stopped, not dead."""
    with open(project / "first.txt", "w") as output:
        process = project.start("snakemake", "-j2", *TRAININGS, output=output)
        orphans = {}

        def all_stopped():
            for path in TRAININGS:
                if path not in orphans and (project / "results/checkpoints" / path).exists():
                    (orphans[path],) = trainings(project, path)
                    orphans[path].suspend()
            return len(orphans) == len(TRAININGS)

        wait(all_stopped, "checkpoints")
        process.kill()
        process.wait()
    assert locks(project)
    for path in TRAININGS:
        assert not (project / path).exists()
        with np.load(project / "results/checkpoints" / path) as state:
            assert 1 <= int(state["at_row"]) < 3
    yield project, *(orphans[path] for path in TRAININGS)
    for process in trainings(project):
        process.kill()


def reached(project, path):
    with np.load(project / "results/checkpoints" / path) as state:
        return int(state["at_row"]), int(state["at_step"])


def test_make_goes_on_where_a_killed_run_stopped(killed):
    """One orphan finishes while make waits for it, the other is killed too."""
    project, finishing, dying = killed
    before = [reached(project, path) for path in TRAININGS]
    # By hand, a locked folder is refused in one sentence.
    code, output = project.snakemake("-j1", TRAININGS[0])
    assert code != 0 and "--unlock" in output and "Traceback" not in output

    make = project.make("reproduce", f"TARGETS={' '.join(TRAININGS)}", "ARGS=-j2")
    for path in TRAININGS:
        log = (project / path.replace("results", "logs", 1)).with_suffix(".log")
        wait(lambda log=log: log.exists() and "another job trains" in log.read_text(), "waiting job")
    assert [reached(project, path) for path in TRAININGS] == before
    assert not any((project / path).exists() for path in TRAININGS)
    dying.kill()
    finishing.resume()
    finishing.wait(60)
    saved = project / "results/checkpoints" / TRAININGS[0]
    last = saved.stat().st_mtime_ns
    output, _ = make.communicate(timeout=120)
    assert make.returncode == 0, output
    assert "Traceback" not in output
    assert saved.stat().st_mtime_ns == last, "steps were repeated"
    assert not locks(project)
    assert project.planned(*TRAININGS) == {}
    for path, seeds in zip(TRAININGS, ([0, 1, 2], [3, 4, 5]), strict=True):
        assert reached(project, path) == (3, 0)
        assert (project / path).with_suffix(".provenance.json").is_file()
        with np.load(project / path) as trained:
            assert trained["seeds"].tolist() == seeds and trained["steps"].tolist() == [400] * 3
    # The one that was resumed has the same bytes as without an interruption.
    (project / "results/checkpoints" / TRAININGS[1]).unlink()
    parts = {"task": "digits_mlp", "optimizer": "gradient_descent", "iterations": "400", "seeds": "3-5"}
    code, output = project.gcexp("train", *run_of_path(parts).overrides, "-o", "whole.npz")
    assert code == 0, output
    with np.load(project / TRAININGS[1]) as resumed, np.load(project / "whole.npz") as whole:
        assert set(whole.files) == set(resumed.files)
        assert all(whole[name].tobytes() == resumed[name].tobytes() for name in whole.files)


def at_work(project):
    """Processes that work in the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            found += [process] if process.cwd() == str(project.folder) else []
        except psutil.Error:
            continue
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="warm jobs are for Linux")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_of_warm_jobs_that_is_killed_leaves_nothing_behind(fresh, how):
    def forks():
        found = []
        for child in snakemake.children():
            with contextlib.suppress(psutil.Error):  # some end while we look
                found += child.children() if "gcexp.command.forkserver" in child.cmdline() else []
        return found

    process = fresh.start("snakemake", "-j2")
    snakemake = psutil.Process(process.pid)
    wait(forks, "job of the warm process")
    os.killpg(process.pid, how)  # as a terminal does on Ctrl-C
    output, _ = process.communicate(timeout=20)
    assert process.returncode != 0, output
    wait(lambda: not at_work(fresh), "end of all processes", 10)
    assert not [name for name in fresh.files("results", "reports") if "/." in name]
    if how == signal.SIGINT:
        target = "reports/quick/data/small_three.csv"
        again = fresh.make("reproduce", f"TARGETS={target}", "ARGS=-j2")
        output, _ = again.communicate(timeout=120)
        assert again.returncode == 0, output
        assert fresh.planned(target) == {}


def test_a_second_make_waits_for_the_first(project):
    project.edit(project.figure, "level: 0.2", "level: 0.3")
    lock = project / ".snakemake/make.lock"
    holder = project.start("flock", str(lock), "sleep", "60")
    try:
        wait(lock.exists, "lock")
        time.sleep(0.2)
        second = project.make("reproduce", "ARGS=-n")
        assert "another make works in this folder: waiting for it" in second.stdout.readline()
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()
    output, _ = second.communicate(timeout=60)
    assert second.returncode == 0, output
    assert "draw" in output
