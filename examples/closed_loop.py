"""Record four ranks, predict what a code would take, run the code, and compare: `python examples/closed_loop.py`.

Computing is a sleep of (FIXED + SHARE * load) * slowness, since four ranks that compute would share this machine's
cores. Slowness follows from the step and the rank, the same in every phase. Messages, all-reduce, decoding and the
optimiser are real. Exit code: 0 if the prediction is within 10 %, 1 if not, 3 if the machine changed meanwhile.
"""

import json
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}  # ranks of one machine

import numpy as np
import torch
import torch._dynamo.utils  # which DDP imports, here once for all ranks
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import gcexp
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays.trace_file import read_trace
from gcexp.distributed import Coded, Recorder, join
from gcexp.schemes import Fastest, Scheme

N, BATCH, UNSETTLED = 4, 64, 3  # ranks; samples of a step; first steps, which are not compared
FIXED, SHARE = 0.02, 0.03  # seconds of computing: in any case, and for a rank's share of an uncoded batch
CODED, QUORUM = Scheme(CyclicRepetition(n=N, s=1), Fastest(s=1)), Scheme(Uncoded(n=N), Fastest(s=1))
PHASES = {"warm-up": (None, 1, 5), "uncoded": (None, 1, 40), "half": (None, 0.5, 15), "coded": (CODED, 1, 40),
          "quorum": (QUORUM, 1, 40), "uncoded again": (None, 1, 40)}  # fmt: skip


def compute(step: int, rank: int, samples: int) -> None:
    slow = np.random.default_rng(step // 6).integers(N + 1)  # for six steps one rank is slow, or nobody
    slowness = np.random.default_rng([step, rank]).uniform(0.9, 1.1) + 3 * (rank == slow)
    time.sleep((FIXED + SHARE * samples * N / BATCH) * slowness)


def run(rank: int, folder: Path, scheme: Scheme | None, load: float, steps: int, name: str) -> list[float]:
    """One phase on one rank: seconds of its steps."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(8192, 20), torch.randn(8192))
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(20, 1024), torch.nn.Linear(1024, 1)))
    optimizer, ends = torch.optim.SGD(model.parameters(), lr=0.001), [time.monotonic()]
    if scheme is None:
        recorder = Recorder(folder / name, model=model, load=load)
        loader = DataLoader(data, batch_size=int(load * BATCH / N))
    else:
        coded = Coded(model, scheme)
        loader = DataLoader(data, batch_sampler=coded.batches(len(data), BATCH))
    for step, (x, y) in zip(range(steps), loader, strict=False):
        if scheme is None or len(x) > 2:  # a rank that is behind gets two samples and only takes the update
            compute(step, rank, len(x))
        optimizer.zero_grad()
        loss = mse_loss(model(x)[:, 0], y, reduction="none")
        (loss.mean() if scheme is None else coded.loss(loss)).backward()
        optimizer.step()
        ends.append(time.monotonic())
    if scheme is None:
        recorder.close()
        return np.diff(ends).tolist()
    coded.close()
    return [step.seconds for step in coded.steps]


def begin(rank: int, folder: Path, listening: socket.socket) -> None:
    store = dist.TCPStore("127.0.0.1", listening.getsockname()[1], N, rank == 0,
                          master_listen_fd=listening.fileno() if rank == 0 else None)  # fmt: skip
    dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
    seconds = {}
    for name, phase in PHASES.items():
        dist.barrier()
        seconds[name] = run(rank, folder, *phase, name)
    (folder / f"{rank}.json").write_text(json.dumps(seconds))


def main(folder: Path) -> int:
    listening, start = socket.create_server(("127.0.0.1", 0)), multiprocessing.get_context("fork").Process
    ranks = [start(target=begin, args=(rank, folder, listening)) for rank in range(N)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
    took = {name: np.mean(s[UNSETTLED:]) for name, s in json.loads((folder / "0.json").read_text()).items()}
    for name in ("uncoded", "half"):
        print(join(folder / name, folder / f"{name}.csv"))
    uncoded, half = (read_trace(folder / f"{name}.csv").values["time"] for name in ("uncoded", "half"))
    phi = float(
        np.clip(2 * np.median(half / uncoded[: len(half)]) - 1, 0, 1)
    )  # half the load takes phi + (1 - phi)/2
    trace = {"delay": "trace", "delay.file": str(folder / "uncoded.csv"), "delay.phi": phi, "late": "finish", "n": N,
             "overhead": took["uncoded"] - uncoded.max(1).mean(), "iterations": len(uncoded), "seeds": 1}  # fmt: skip
    schemes = {
        "uncoded": {"scheme": "uncoded"},
        "coded": {"scheme": "cgc", "s": 1},
        "quorum": {"scheme": "forget", "s": 1},
    }
    mean = {
        name: gcexp.simulate(**trace, **keys)["mean_iteration_time_s"][0] for name, keys in schemes.items()
    }
    print(
        f"phi, the share of a step that does not grow with the load: {phi:.2f}, from {len(half)} steps of half batches"
    )
    print(gcexp.advise(str(folder / "uncoded.csv")).sentence)
    ratios = {
        name: (mean[name] / mean["uncoded"], took[name] / took["uncoded"]) for name in ("quorum", "coded")
    }
    print("quorum/uncoded: predicted {:.3f}, measured {:.3f}; it drops data".format(*ratios["quorum"]))
    predicted, measured = ratios["coded"]
    drift, close = took["uncoded again"] / took["uncoded"], abs(predicted / measured - 1) <= 0.1
    verdict = "yes" if close else "no"
    if not 0.95 <= drift <= 1.05:
        verdict = f"void: the uncoded run took {drift:.2f} of its time when it was repeated"
    print(f"coded/uncoded: predicted {predicted:.3f}, measured {measured:.3f}, within 10 %: {verdict}")
    return {"yes": 0, "no": 1}.get(verdict, 3)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
