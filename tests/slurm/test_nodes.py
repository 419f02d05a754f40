"""A cluster of two nodes: both are used, a controller dies, a login process is killed, limits are told and kept."""

import os
import re
import subprocess
import time

import pytest

from tests.conftest import LONG, wait
from tests.slurm.test_slurm import ENDLESS, NODE, SLURM, children, queued, same_bytes, squeue, started, submit

SWEEP = ("gcexp", "run", "-m", "scheme=cgc,forget", "s=2", "n=6", "delay=pareto", "iterations=400", "seeds=3")
SHORT = "results/trajectory/digits_mlp/gradient_descent/exact/T30/seeds0-1.npz"
TRAINED = ("task=digits_mlp", "--submit", "slurm", "--format", "csv")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two nodes of one core each."""
    with started(tmp_path_factory.mktemp("slurm"), "2") as folder:
        yield folder


def node_of(job):
    """The node that a job, which may have ended, was started on."""
    return squeue("squeue", "--noheader", "--states=all", "--format=%N", "--jobs", job).strip()


def test_jobs_run_on_both_nodes_and_have_the_bytes_of_a_desk(nodes, fresh, tmp_path):
    desk, far = fresh, fresh.copy(tmp_path / "far")
    desk.build("-j2", "small_three")
    code, output = submit(far, "small_three")
    assert code == 0, output
    same_bytes(desk, far, "results/trajectory", "reports")
    assert {node_of(job) for job in re.findall(r"SLURM jobid (\d+)", output)} == {"n1", "n2"}


def test_a_controller_that_is_away_for_half_a_minute_ends_nothing(nodes, fresh, tmp_path):
    with open(tmp_path / "output.txt", "w") as output:
        process = fresh.start("snakemake", "small_three", *SLURM, output=output)
        said = (tmp_path / "output.txt").read_text
        wait(lambda: "submitted with SLURM jobid" in said(), "submission", 180)
        subprocess.run(["bash", NODE, "pause", nodes], check=True)
        time.sleep(30)
        subprocess.run(["bash", NODE, "resume", nodes], check=True)
        assert process.wait(LONG) == 0, said()
    assert (fresh / "reports/quick/figures/small_three.pdf").is_file()


def test_a_job_that_the_controller_has_lost_is_tried_again(nodes, fresh, tmp_path):
    with open(tmp_path / "output.txt", "w") as output:
        process = fresh.start("snakemake", SHORT, *SLURM, output=output)
        said = (tmp_path / "output.txt").read_text
        wait(lambda: "submitted with SLURM jobid" in said(), "submission", 180)
        subprocess.run(["bash", NODE, "lose", nodes], check=True)
        subprocess.run(["bash", NODE, "resume", nodes], check=True)
        assert process.wait(LONG) == 0, said()
    assert said().count("Slurm has lost job") == 1 and said().count("submitted with SLURM jobid") == 2, said()
    assert (fresh / SHORT).is_file()


@pytest.mark.parametrize("choice", ["wait", "cancel"])
def test_jobs_of_a_killed_command_are_told_and_ended(nodes, fresh, tmp_path, choice):
    with open(tmp_path / "output.txt", "w") as output:
        process = fresh.start(*SWEEP, *TRAINED, output=output)
        wait(lambda: queued() or process.poll() is not None, "job in the queue", 180)
        code, told = fresh.run(*SWEEP, *TRAINED)
        assert code == 2 and re.search(r"being made by process \d+ on", told), told
        os.killpg(process.pid, 9)
        wait(lambda: not children(fresh, process), "end", 60)
    jobs = queued()
    assert jobs
    code, told = fresh.run(*SWEEP, *TRAINED)
    assert code == 2 and all(job in told for job in jobs) and "--queued wait" in told, told
    code, far = fresh.run(*SWEEP, *TRAINED, "--queued", choice)
    assert code == 0, far
    code, desk = fresh.run(*SWEEP, "task=digits_mlp", "--format", "csv")
    assert far.endswith(desk) and desk.count("\n") == 3


def test_a_time_limit_is_told_with_what_goes_on(nodes, fresh):
    limit = ("--set-resources", "train_exact:runtime=1", "--retries", "0")
    code, output = submit(fresh, ENDLESS, *limit)
    assert code != 0
    told = output[output.index("failed: training") :]
    assert re.search(r"job \d+: TIMEOUT on n[12]; log: ", told), told
    assert "goes on from its checkpoint" in told
    assert re.search(rf"^go on: snakemake {ENDLESS} .*--workflow-profile profiles/slurm", told, re.M), told


def test_a_partition_grants_what_it_can(nodes, fresh):
    here = ("--default-resources", "mem_mb=2000", "runtime=60", "slurm_partition=short")
    code, output = submit(fresh, "small_three", *here)
    assert code == 0, output
    limits = {squeue("scontrol", "show", "job", job) for job in re.findall(r"SLURM jobid (\d+)", output)}
    assert any("TimeLimit=00:30:00" in limit for limit in limits), limits
