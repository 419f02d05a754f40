"""Record four ranks, predict what a code would take, run the code, and compare: ``python examples/closed_loop.py``.

Computing is a sleep of (FIXED + SHARE * load) * slowness, since four ranks that compute would share this machine's
cores. Slowness follows from step and rank, the same in every phase. Messages, all-reduce, decoding and optimiser are
real. Exit code: 0 if the prediction is within 10 %, 1 if not, 3 if the machine changed meanwhile.
"""

import gc
import json
import os
import socket
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}  # ranks of one machine

import numpy as np
import torch._dynamo.utils  # which DDP imports, here once for all ranks
import torch.distributed as dist
from torch.nn import Linear, Sequential
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import gcexp
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays.trace_file import read_trace
from gcexp.distributed import Coded, Recorder, join
from gcexp.schemes import Fastest, Scheme

N, BATCH, SETTLED = 4, 64, 3  # ranks; samples of a step; the first step that is compared
FIXED, SHARE = 0.03, 0.04  # seconds of computing: in any case, and for a rank's share of an uncoded batch
CODED, QUORUM = Scheme(CyclicRepetition(n=N, s=1), Fastest(s=1)), Scheme(Uncoded(n=N), Fastest(s=1))
NAMES = {"uncoded": "uncoded", "quorum": "forget", "coded": "cgc"}  # of the simulated schemes
PHASES = {"warm-up": (None, 1, 5), "uncoded": (None, 1, 40), "half": (None, 0.5, 15)}  # scheme, load, steps
PHASES |= {"coded": (CODED, 1, 40), "quorum": (QUORUM, 1, 40), "again": (None, 1, 40)}


def compute(step: int, rank: int, samples: int) -> None:
    slow = np.random.default_rng(step // 6).integers(N + 1)  # for six steps one rank is slow, or nobody
    slowness = np.random.default_rng([step, rank]).uniform(0.9, 1.1) + 3 * (rank == slow)
    time.sleep((FIXED + SHARE * samples * N / BATCH) * slowness)


def run(rank: int, folder: Path, scheme: Scheme | None, load: float, steps: int) -> list[float]:
    """Seconds of the steps of one phase."""
    torch.manual_seed(0)
    data, ends = TensorDataset(torch.randn(8192, 20), torch.randn(8192, 1)), [time.monotonic()]
    model = DistributedDataParallel(Sequential(Linear(20, 1024), Linear(1024, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    hook = Recorder(folder, model=model, load=load) if scheme is None else Coded(model, scheme)
    batches = {} if scheme is None else {"batch_sampler": hook.batches(len(data), BATCH)}
    loader = DataLoader(data, **(batches or {"batch_size": int(load * BATCH / N)}))
    for step, (x, y) in zip(range(steps), loader, strict=False):
        if len(x) > 2:  # a rank that is behind gets two samples and only takes the update
            compute(step, rank, len(x))
        optimizer.zero_grad()
        losses = (model(x) - y).square()[:, 0]
        (losses.mean() if scheme is None else hook.loss(losses)).backward()
        optimizer.step()
        ends.append(time.monotonic())
    hook.close()
    return np.diff(ends).tolist() if scheme is None else [step.seconds for step in hook.steps]


def begin(rank: int, folder: Path, listening: socket.socket) -> None:
    fd = listening.fileno() if rank == 0 else None  # rank 0 serves the store
    store = dist.TCPStore("127.0.0.1", listening.getsockname()[1], N, rank == 0, master_listen_fd=fd)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
    seconds = {name: run(rank, folder / name, *phase) for name, phase in PHASES.items()}
    if rank == 0:
        (folder / "steps.json").write_text(json.dumps(seconds))


def main(folder: Path) -> int:
    gc.freeze()  # a full collection of all that torch has imported takes 0.2 s of a rank's time
    listening, process = socket.create_server(("127.0.0.1", 0)), get_context("fork").Process
    ranks = [process(target=begin, args=(rank, folder, listening)) for rank in range(N)]
    _ = [rank.start() for rank in ranks], [rank.join() for rank in ranks]
    steps = json.loads((folder / "steps.json").read_text())
    steps = {name: np.array(seconds[SETTLED:]) for name, seconds in steps.items()}
    took = {name: seconds.mean() for name, seconds in steps.items()}
    print(
        join(folder / "uncoded", folder / "uncoded.csv"), join(folder / "half", folder / "half.csv"), sep="\n"
    )
    uncoded, half = (read_trace(folder / f"{name}.csv").values["time"] for name in ("uncoded", "half"))
    phi = float(
        np.clip(2 * np.median(half / uncoded[: len(half)]) - 1, 0, 1)
    )  # half takes phi + (1 - phi) / 2
    print(f"{phi:.2f} of the time does not grow with the load: phi, from {len(half)} steps of half batches")
    print(gcexp.advise(folder / "uncoded.csv").sentence)
    overhead = max(0.0, np.quantile(steps["uncoded"] - uncoded.max(1), 0.1))  # of an undisturbed exchange
    keys = {"delay": "trace", "delay.file": str(folder / "uncoded.csv"), "delay.phi": phi, "late": "finish"}
    keys |= {"overhead": overhead, "n": N, "s": 1, "iterations": len(uncoded), "seeds": 1}
    simulated = {name: gcexp.simulate(scheme=scheme, **keys) for name, scheme in NAMES.items()}
    seconds = {name: table["mean_iteration_time_s"][0] for name, table in simulated.items()}
    predicted = {name: seconds[name] / seconds["uncoded"] for name in seconds}
    measured = {name: took[name] / took["uncoded"] for name in took}
    print(f"quorum/uncoded: predicted {predicted['quorum']:.3f}, measured {measured['quorum']:.3f}")
    verdict = "yes" if abs(predicted["coded"] / measured["coded"] - 1) <= 0.1 else "no"
    if not 0.95 <= measured["again"] <= 1.05:
        verdict = f"void: the uncoded run took {measured['again']:.2f} of its time when it was repeated"
    ratios = f"predicted {predicted['coded']:.3f}, measured {measured['coded']:.3f}"
    print(f"coded/uncoded: {ratios}, within 10 %: {verdict}")
    return {"yes": 0, "no": 1}.get(verdict, 3)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
