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

TRAINED = "results/trajectory/digits_mlp/gradient_descent/exact/T400/seeds0-2.npz"


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


def trainings(project):
    """Training processes that work in the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(project.folder) and "train" in (line := process.cmdline()):
                found += [process] if any("python" in part for part in line[:2]) else []
        except psutil.Error:
            continue
    return found


@pytest.fixture
def killed(project):
    """A project whose Snakemake was killed between two seeds of a training; the orphan is stopped, not dead."""
    project.edit(project.figure, "scheme: cgc", "scheme: cgc, iterations: 400, seeds: 3")
    with open(project / "first.txt", "w") as output:
        process = project.start("snakemake", "-j1", TRAINED, output=output)
        saved = project / "results/checkpoints" / TRAINED
        wait(saved.exists, "checkpoint")
        (orphan,) = trainings(project)
        orphan.suspend()
        process.kill()
        process.wait()
    assert locks(project)
    assert not (project / TRAINED).exists()
    with np.load(saved) as state:
        assert 1 <= int(state["at_row"]) < 3
    yield project, orphan
    for process in trainings(project):
        process.kill()


def finish(project, process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert not locks(project)
    assert project.planned(TRAINED) == {}
    assert (project / TRAINED).with_name("seeds0-2.provenance.json").is_file()


def reached(project):
    with np.load(project / "results/checkpoints" / TRAINED) as state:
        return int(state["at_row"]), int(state["at_step"])


@pytest.mark.parametrize("end", ["the orphan finishes", "the orphan is killed too"])
def test_make_goes_on_where_a_killed_run_stopped(killed, end):
    project, orphan = killed
    before = reached(project)
    # By hand, a locked folder is refused in one sentence.
    code, output = project.snakemake("-j1", TRAINED)
    assert code != 0 and "--unlock" in output and "Traceback" not in output

    process = project.make("reproduce", f"TARGETS={TRAINED}", "ARGS=-j1")
    log = project / "logs/trajectory/digits_mlp/gradient_descent/exact/T400/seeds0-2.log"
    wait(lambda: log.exists() and "another job trains" in log.read_text(), "waiting job")
    assert reached(project) == before
    assert not (project / TRAINED).exists()
    saved = project / "results/checkpoints" / TRAINED
    if end == "the orphan finishes":
        orphan.resume()
        orphan.wait(60)
        last = saved.stat().st_mtime_ns
        finish(project, process)
        assert saved.stat().st_mtime_ns == last, "steps were repeated"
    else:
        orphan.kill()
        finish(project, process)
    assert reached(project) == (3, 0)
    with np.load(project / TRAINED) as resumed:
        assert resumed["seeds"].tolist() == [0, 1, 2] and resumed["steps"].tolist() == [400] * 3
        resumed = {name: resumed[name] for name in resumed.files}
    if end == "the orphan is killed too":  # the same bytes as without an interruption
        saved.unlink()
        parts = {"task": "digits_mlp", "optimizer": "gradient_descent", "iterations": "400", "seeds": "0-2"}
        code, output = project.gcexp("train", *run_of_path(parts).overrides, "-o", "whole.npz")
        assert code == 0, output
        with np.load(project / "whole.npz") as whole:
            assert set(whole.files) == set(resumed)
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
        again = fresh.make("reproduce", "TARGETS=small_three", "ARGS=-j2")
        output, _ = again.communicate(timeout=120)
        assert again.returncode == 0, output
        assert fresh.planned("small_three") == {}


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
