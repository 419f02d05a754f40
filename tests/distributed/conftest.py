"""Ranks on this machine: one process that has torch forks them for every test."""

import inspect
import json
import os
import socket
from pathlib import Path

import pytest

from tests.conftest import WARM_PROCESSES, Project
from tests.warm import Child


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """Give worlds of four ranks, each a list of runs; what every rank has found, by world and run."""
    script = str(Path(__file__).with_name("ranks.py"))
    project = Project(tmp_path_factory.mktemp("ranks")).guarded()
    ours, theirs = socket.socketpair()
    files = [theirs.fileno(), theirs.fileno(), 2]
    server = Child(os.environ[WARM_PROCESSES], [script], str(project.folder), project.environment, files)
    theirs.close()

    def found(*worlds):
        lines.write(json.dumps(worlds) + "\n")
        lines.flush()
        answer = json.loads(lines.readline())
        assert not answer["hung"], f"ranks {answer['hung']} hung"
        assert answer["left"] == []
        return answer["found"]

    with ours, ours.makefile("rw") as lines:
        yield found
    assert server.wait() == 0


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
