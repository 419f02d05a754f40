"""A cluster of two nodes, of which one has no environment."""

import os
import sys

import pytest

from tests.slurm.test_slurm import started, submit


def test_a_node_without_the_environment_is_named(fresh, tmp_path_factory):
    if os.getuid() != 0:
        pytest.skip("only root hides a folder from a process")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WITHOUT", sys.prefix)
        with started(tmp_path_factory.mktemp("slurm"), "2"):
            code, output = submit(fresh, "small_three", "--retries", "0")
            assert code != 0
            told = output[output.index("failed: ") :]
            assert "FAILED on n2" in told and "/python: not found" in told, told
            code, output = submit(fresh, "small_three", "--slurm-exclude-failed-nodes", "n2")
            assert code == 0, output
