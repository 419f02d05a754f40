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
from gcexp.distributed import Coded, Recorder, join
from gcexp.schemes import Fastest, Scheme

N, BATCH, SETTLED = 4, 64, 3  # ranks; samples of a step; the first step that is compared
WHOLE = 44  # steps with whole batches; in the recorded phase steps with half a batch follow
FIXED, SHARE = 0.02, 0.03  # seconds of computing: in any case, and for a rank's share of an uncoded batch
CODES = {"cgc": CyclicRepetition(n=N, s=1), "forget": Uncoded(n=N)}  # of phases
STEPS = {"warm-up": 5, "uncoded": WHOLE + 20, "cgc": WHOLE, "forget": WHOLE, "again": WHOLE}


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
        hook = Recorder(folder / phase, model=model)
        batches = torch.arange(len(data)).split(BATCH // N)
    for step, batch in zip(range(STEPS[phase]), batches, strict=False):
        if step >= WHOLE:
            hook.load, batch = 0.5, batch[: len(batch) // 2]
        if len(batch) > 2:  # a rank that is behind gets two samples and only takes the update
            compute(step, rank, len(batch))
        optimizer.zero_grad()
        losses = (model(data[batch])[:, 0] - targets[batch]).square()
        (hook.loss(losses) if phase in CODES else losses.mean()).backward()
        optimizer.step()
        ends.append(time.monotonic())
    hook.close()
    return [step.seconds for step in hook.steps] if phase in CODES else np.diff(ends[: WHOLE + 1])


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
    recording = folder / "uncoded.csv"
    print(join(folder / "uncoded", recording))
    advice = gcexp.advise(recording)
    phi, uncoded = advice.main.phi, advice.recorded.every  # the share and the times at load 1
    print(
        f"phi at load 1 is {phi:.2f}: that share of the time does not grow with the load\n{advice.sentence}"
    )
    exchange = np.quantile(steps["uncoded"][SETTLED:] - uncoded.max(1), 0.1)  # of an undisturbed step
    keys = {"delay": "trace", "delay.file": str(recording), "delay.phi": phi, "late": "finish"}
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
