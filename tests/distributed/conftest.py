"""Ranks on this machine: one process that has torch forks them for every test."""

import inspect
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
    pipes = {"stdin": -1, "stdout": -1, "text": True, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    return lambda *command, **more: subprocess.Popen([sys.executable, *map(str, command)], **pipes, **more)


@pytest.fixture(scope="session")
def ranks(python):
    """Give worlds of four ranks, each a list of runs; what every rank has found, by world and run."""
    script = Path(__file__).with_name("ranks.py")
    with python(script, start_new_session=True) as server:  # it looks for what is left of its group

        def found(*worlds):
            server.stdin.write(json.dumps(worlds) + "\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            assert not answer["hung"], f"ranks {answer['hung']} hung"
            assert answer["left"] == []
            return answer["found"]

        yield found
        server.stdin.close()
        assert server.wait(600) == 0


@pytest.fixture
def alone(monkeypatch):
    """What wraps a model, by default a small one, in a world of one rank in this process."""
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    # The option that broadcasts buffers, which newer versions of torch have renamed.
    known = inspect.signature(DistributedDataParallel).parameters
    buffers_option = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"

    def wrapped(model=None, broadcasts=False, **options):
        model = model or nn.Linear(2, 1)
        return DistributedDataParallel(model, **{buffers_option: broadcasts}, **options)

    yield wrapped
    dist.destroy_process_group()
