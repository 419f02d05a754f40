"""Profile four ranks with torch's own profiler: ``python examples/profile_ranks.py FOLDER [STEPS]``.

FOLDER then holds one Kineto file for each rank, which ``gcexp advise FOLDER`` reads. Computing is a sleep in the
forward pass, since four ranks that compute would share this machine's cores: loading takes LOADING seconds, and
computing COMPUTING times the slowness of the step and rank. Messages, all-reduce, optimiser and profiler are real. The
folder docs/examples/profiled was made in this way, with 120 steps, and reduced to the events that are read.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}  # ranks of one machine

import numpy as np
import torch
import torch._dynamo.utils  # which DDP imports, here once for all ranks
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

N = 4
SETTLING = 2  # first steps, which are not recorded: DDP makes its buckets anew, and the profiler warms up
LOADING, COMPUTING = 0.01, 0.04  # seconds


def slowness(step: int, rank: int) -> float:
    """For three steps at a time one rank, or nobody, is three times slower."""
    slow = np.random.default_rng(step // 3).integers(N + 2)
    return np.random.default_rng([step, rank]).uniform(0.9, 1.1) * (3 if rank == slow else 1)


class Computing(torch.nn.Module):
    """A layer that takes its time and changes nothing."""

    seconds = 0.0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        time.sleep(self.seconds)
        return inputs


def begin(rank: int, folder: Path, store: str, steps: int) -> None:
    dist.init_process_group("gloo", store=dist.FileStore(store, N), rank=rank, world_size=N)
    torch.manual_seed(0)
    computing = Computing()
    model = DistributedDataParallel(
        torch.nn.Sequential(computing, torch.nn.Linear(20, 8), torch.nn.Linear(8, 1))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=SETTLING - 1, active=steps),
        on_trace_ready=tensorboard_trace_handler(str(folder), use_gzip=True),
    ) as profiler:
        for step in range(SETTLING + steps):
            time.sleep(LOADING)
            computing.seconds = COMPUTING * slowness(step, rank)
            optimizer.zero_grad()
            model(torch.ones(16, 20)).square().mean().backward()
            optimizer.step()
            profiler.step()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    with tempfile.TemporaryDirectory() as temporary:
        arguments = (folder, f"{temporary}/store", steps)
        torch.multiprocessing.start_processes(begin, arguments, nprocs=N, start_method="fork")
