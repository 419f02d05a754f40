"""Ranks on this machine: one process that has torch forks them for every test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Ranks:
    """Worlds of four ranks, started by a process of their own."""

    def __init__(self, server):
        self.server = server

    def worlds(self, *worlds, awake=1.0):
        """What each rank has found in each world's runs, None for one that was killed; see `ranks`."""
        self.server.stdin.write(json.dumps({"worlds": worlds, "awake": awake}) + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline())
        assert not answer["hung"], f"ranks {answer['hung']} hung"
        return answer["found"]

    def in_turn(self, runs):
        """What each rank has found, for each of the runs of one world."""
        return list(zip(*self.worlds(list(runs))[0], strict=True))

    def beside(self, runs, awake=1.0):
        """What each rank has found, for each of the runs, which have worlds of their own at the same time."""
        worlds = self.worlds(*([run] for run in runs), awake=awake)
        return [[found and found[0] for found in world] for world in worlds]


@pytest.fixture(scope="session")
def ranks():
    command = [sys.executable, str(Path(__file__).with_name("ranks.py"))]
    paths = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=paths) as server:
        yield Ranks(server)
        server.stdin.close()
        assert server.wait(60) == 0
