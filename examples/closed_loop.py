"""Record four ranks, predict what a code would take, run the code, and compare: ``python examples/closed_loop.py``.

Computing is a sleep of (FIXED + SHARE * load) * slowness, since four ranks that compute would share this machine's
cores. Slowness follows from step and rank, the same in every phase. Messages, all-reduce, decoding and optimiser are
real. Exit code: 0 if the prediction is within 10 %, 1 if not, 3 if the machine changed meanwhile.
"""

import gc
import os
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}  # ranks of one machine

import numpy as np
import torch._dynamo.utils  # which DDP imports, here once for all ranks
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import gcexp
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays.trace_file import read_trace
from gcexp.distributed import Coded, Recorder, join
from gcexp.schemes import Fastest, Scheme

N, BATCH, SETTLED = 4, 64, 3  # ranks; samples of a step; the first step that is compared
FIXED, SHARE = 0.02, 0.03  # seconds of computing: in any case, and for a rank's share of an uncoded batch
CODES = {"cgc": CyclicRepetition(n=N, s=1), "forget": Uncoded(n=N)}  # of phases
STEPS = {"warm-up": 5, "uncoded": 44, "half": 15, "cgc": 44, "forget": 44, "again": 44}


def compute(step: int, rank: int, samples: int) -> None:
    slow = np.random.default_rng(step // 6).integers(N + 1)  # for six steps one rank is slow, or nobody
    slowness = np.random.default_rng([step, rank]).uniform(0.9, 1.1) + 3 * (rank == slow)
    time.sleep((FIXED + SHARE * samples * N / BATCH) * slowness)


def run(rank: int, folder: Path, phase: str) -> np.ndarray | list[float]:
    """Seconds of the steps of one phase."""
    torch.manual_seed(0)
    data, targets, ends = torch.randn(8192, 20), torch.randn(8192), [time.monotonic()]
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(20, 1024), torch.nn.Linear(1024, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    if phase in CODES:
        hook = Coded(model, Scheme(CODES[phase], Fastest(s=1)))
        batches = hook.batches(len(data), BATCH)
    else:
        load = 0.5 if phase == "half" else 1
        hook = Recorder(folder / phase, model=model, load=load)
        batches = torch.arange(len(data)).split(int(load * BATCH / N))
    for step, batch in zip(range(STEPS[phase]), batches, strict=False):
        if len(batch) > 2:  # a rank that is behind gets two samples and only takes the update
            compute(step, rank, len(batch))
        optimizer.zero_grad()
        losses = (model(data[batch])[:, 0] - targets[batch]).square()
        (hook.loss(losses) if phase in CODES else losses.mean()).backward()
        optimizer.step()
        ends.append(time.monotonic())
    hook.close()
    return [step.seconds for step in hook.steps] if phase in CODES else np.diff(ends)


def begin(rank: int, folder: Path) -> None:
    store = dist.FileStore(str(folder / "store"), N)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=N, timeout=timedelta(minutes=1))
    np.savez(folder / f"steps-{rank}", **{phase: run(rank, folder, phase) for phase in STEPS})


def main(folder: Path) -> tuple[str, float, dict[str, float], dict[str, float]]:
    """The verdict, phi, and times over the uncoded one's as predicted from the recording and as measured."""
    gc.freeze()  # a full collection of all that torch has imported takes 0.2 s of a rank's time
    torch.multiprocessing.start_processes(begin, (folder,), nprocs=N, daemon=True, start_method="fork")
    steps = np.load(folder / "steps-0.npz")
    took = {name: np.mean(seconds[SETTLED:]) for name, seconds in steps.items()}
    measured = {name: took[name] / took["uncoded"] for name in took}
    for name in ("uncoded", "half"):
        print(join(folder / name, folder / f"{name}.csv"))
    uncoded, half = (read_trace(folder / f"{name}.csv").values["time"] for name in ("uncoded", "half"))
    phi = np.clip(2 * np.median(half / uncoded[: len(half)]) - 1, 0, 1)  # half takes phi + (1 - phi) / 2
    print(f"phi = {phi:.2f} of the time does not grow with the load: from {len(half)} steps of half batches")
    print(gcexp.advise(folder / "uncoded.csv", phi=phi).sentence)
    exchange = np.quantile(steps["uncoded"][SETTLED:] - uncoded.max(1), 0.1)  # of an undisturbed step
    keys = {"delay": "trace", "delay.file": str(folder / "uncoded.csv"), "delay.phi": phi, "late": "finish"}
    keys |= {"overhead": max(0.0, exchange), "n": N, "s": 1, "iterations": len(uncoded), "seeds": 1}
    coded = gcexp.sweep({"scheme": [*CODES]}, **keys)["mean_iteration_time_s"]
    predicted = {name: seconds / took["uncoded"] for name, seconds in zip(CODES, coded, strict=True)}
    verdict = "yes" if abs(predicted["cgc"] / measured["cgc"] - 1) <= 0.1 else "no"
    if not 0.95 <= measured["again"] <= 1.05:
        verdict = f"void: the uncoded run took {measured['again']:.2f} of its time when it was repeated"
    coded, quorum = (f"predicted {predicted[name]:.3f}, measured {measured[name]:.3f}" for name in predicted)
    print(f"quorum/uncoded: {quorum}\ncoded/uncoded: {coded}, within 10 %: {verdict}")
    return verdict, phi, predicted, measured


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit({"yes": 0, "no": 1}.get(main(Path(temporary))[0], 3))
