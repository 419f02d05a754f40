"""A cluster of two nodes, of which one has no environment: every job fails there at once."""

import contextlib
import os
import re
import sys

import pytest
import yaml

from tests.conftest import LONG, wait
from tests.slurm.test_nodes import SHORT, node_of
from tests.slurm.test_slurm import squeue, started, submit

CLOCKS = (
    "scheme=cgc,frc,forget",
    "s=1,2",
    "n=6",
    "delay=pareto",
    "iterations=20",
    "seeds=2",
    "--format",
    "csv",
)
OPTION = r"--slurm-exclude-failed-nodes=\S+"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two nodes of one core each; n2 lacks the environment of the tests."""
    if os.getuid() != 0:
        pytest.skip("only root hides a folder from a process")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WITHOUT", sys.prefix)
        with started(tmp_path_factory.mktemp("slurm"), "2") as folder:
            yield folder


@contextlib.contextmanager
def busy(node):
    """A node with somebody else's job; the block is given what ends that job."""
    job = squeue(
        "sbatch", "--parsable", f"--nodelist={node}", "--output=/dev/null", "--wrap=sleep 3600"
    ).strip()
    try:
        yield lambda: squeue("scancel", job)
    finally:
        squeue("scancel", job)


def waiting_without(node):
    """Jobs in the queue that leave a node out."""
    listed = squeue("squeue", "--noheader", "--states=PENDING", "--format=%i %x").splitlines()
    return [line for line in listed if line.endswith(f" {node}")]


def nodes_of_submissions(output):
    """The node of every submission that Snakemake tells of, in their order."""
    return [node_of(job) for job in re.findall(r"SLURM jobid (\d+)", output)]


def test_a_node_without_the_environment_is_named(nodes, fresh):
    code, output = submit(fresh, "small_three", "--retries", "0")
    assert code != 0
    told = output[output.index("failed: ") :]
    assert "FAILED on n2" in told and "/python: not found" in told, told
    code, output = submit(fresh, "small_three", "--slurm-exclude-failed-nodes", "n2")
    assert code == 0, output


def test_a_retry_leaves_out_the_node_that_fails_while_the_good_one_is_busy(nodes, fresh, tmp_path):
    command = ("gcexp", "run", "-m", *CLOCKS)
    code, desk = fresh.run(*command)
    assert code == 0, desk
    with busy("n1") as end_it, open(tmp_path / "output.txt", "w") as output:
        said = (tmp_path / "output.txt").read_text
        process = fresh.start(*command, "--submit", "slurm", output=output)
        wait(lambda: waiting_without("n2") or process.poll() is not None, "submission without n2", LONG)
        assert process.poll() is None, said()
        end_it()
        assert process.wait(LONG) == 0, said()
    assert nodes_of_submissions(said()) == ["n2", "n2", "n1"], said()
    assert said().endswith(desk.splitlines(keepends=True)[-1]) and set(desk.splitlines()) <= set(
        said().splitlines()
    )
    assert "node n2: 2 submissions failed on it" in said()
    assert "the line `slurm-exclude-failed-nodes: n2` in the profile keeps later jobs away" in said()


def test_what_is_told_of_a_node_keeps_later_jobs_away_as_it_is_printed(nodes, fresh):
    with busy("n1"):
        code, output = submit(fresh, SHORT, "--retries", "1")
    assert code != 0 and nodes_of_submissions(output) == ["n2", "n2"], output
    assert "node n2: 2 submissions failed on it" in output
    option = re.search(OPTION, output)[0]
    code, output = submit(fresh, "small_three", option)
    assert code == 0 and set(nodes_of_submissions(output)) == {"n1"}, output


def test_the_line_for_a_profile_keeps_the_jobs_of_a_sweep_away(nodes, fresh):
    profile = fresh / "profiles/slurm/config.yaml"
    with profile.open("a") as file:
        file.write("slurm-exclude-failed-nodes: n2\n")
    assert yaml.safe_load(profile.read_text())["executor"] == "slurm"
    with busy("n1") as end_it:
        process = fresh.start("gcexp", "run", "-m", *CLOCKS, "--submit", "profiles/slurm")
        wait(lambda: waiting_without("n2") or process.poll() is not None, "submission without n2", LONG)
        end_it()
        output, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0 and nodes_of_submissions(output) == ["n1"], output
