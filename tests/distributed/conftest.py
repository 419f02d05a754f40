"""Ranks on this machine: one process that has torch forks them for every test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def ranks():
    """Train on four ranks with the options of `ranks.train`; what each has found, None for one that was killed."""
    command = [sys.executable, str(Path(__file__).with_name("ranks.py"))]
    paths = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=paths) as server:

        def run(**options):
            server.stdin.write(json.dumps(options) + "\n")
            server.stdin.flush()
            found = json.loads(server.stdout.readline())
            assert not found["hung"], f"ranks {found['hung']} hung"
            return found["ranks"]

        yield run
        server.stdin.close()
        assert server.wait(60) == 0
