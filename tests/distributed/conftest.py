"""Ranks on this machine: one process that has torch forks them for every test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def python():
    """Run Python on this clone; what `subprocess.Popen` takes besides."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return lambda *command, **more: subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdin=-1,
        stdout=-1,
        text=True,
        env=environment,
        start_new_session=True,
        **more,
    )


@pytest.fixture(scope="session")
def ranks(python):
    """Give worlds of four ranks, each a list of runs; what every rank has found, by world and run."""
    with python(Path(__file__).with_name("ranks.py")) as server:

        def found(*worlds):
            server.stdin.write(json.dumps(worlds) + "\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            assert not answer["hung"], f"ranks {answer['hung']} hung"
            assert answer["left"] == []
            return answer["found"]

        yield found
        server.stdin.close()
        assert server.wait(60) == 0
