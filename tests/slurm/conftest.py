"""Tests that need a cluster: collected by `make test-slurm` alone."""

import os


def pytest_ignore_collect(collection_path):
    return None if os.environ.get("GCEXP_TEST_SLURM") else True
