"""Starts ranks for the tests beside it: a process that has torch, and forks the ranks of each run that it is asked for.

A request is a line of JSON: worlds that are there at once, each a list of runs, which its ranks make one after another,
a run the options of `train`. The answer is a line with what each rank found, None if it was killed.
"""

import copy
import gc
import hashlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TORCH_CPP_LOG_LEVEL": "ERROR"}

import numpy as np
import torch
import torch._dynamo.utils  # which DDP would import in every rank: seconds
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from gcexp import codes, schemes
from gcexp.distributed import Coded, Recorder
from gcexp.seeding import rng

N = 4
HUNG = 120  # seconds, after which a run hangs: on a machine with much else to do nothing is sooner


def scheme(code, wait):
    (kind, options), (rule, more) = code, wait
    return schemes.Scheme(getattr(codes, kind)(**options), getattr(schemes, rule)(**more))


def gradients(model):
    return torch.cat([p.grad.flatten().double() for p in model.parameters()])


def error_of(net, x, y, batch, coefficients):
    """Largest error of a gradient over the largest entry; of the partitions' sum with these coefficients, or ones."""
    full = copy.deepcopy(net)
    full.zero_grad()
    c = np.ones(N) if coefficients is None else np.asarray(coefficients)
    per_sample = mse_loss(full(x[batch])[:, 0].float(), y[batch].float(), reduction="none")
    shares = np.repeat(c, [len(part) for part in np.array_split(batch, len(c))]) / len(batch)
    (per_sample * torch.from_numpy(shares).float()).sum().backward()
    exact = gradients(full)
    return float((gradients(net) - exact).abs().max() / exact.abs().max())


def train(
    rank, *, code=("CyclicRepetition", {"n": N, "s": 1}), wait=("Fastest", {"s": 1}), form="star", steps=12,
    samples=40, batch=8, width=16, kind="float32", bucket_mb=25.0, static=False, view=False, parts=1, slow=None,
    end=None, after=None, bare=False, record=None, sleeps=None, workers=0, skipped=0, **options,
):  # fmt: skip
    """Train a small network; what `end` = [rank, step, signal] says happens to a rank in its forward pass.

    What `after` = [rank, seconds, signal] says happens to it at a moment after its second step.
    """
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(10, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    net, x, y = net.to(getattr(torch, kind)), torch.randn(samples, 10), torch.randn(samples)
    x, y = x.to(getattr(torch, kind)), y.to(getattr(torch, kind))
    wide = DistributedDataParallel(
        net,
        forward_sync_buffers=False,
        bucket_cap_mb=bucket_mb,
        static_graph=static,
        gradient_as_bucket_view=view,
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    if record:
        Recorder(record, model=wide)
    coded = loader = None
    if not bare:
        coded = Coded(wide, scheme(code, wait), form=form, **options)
        loader = DataLoader(
            TensorDataset(x, y), batch_sampler=coded.batches(samples, batch), num_workers=workers
        )
    errors, ends, computed = [], [time.monotonic()], 0

    def batches():
        epoch = 0
        while True:
            if loader is None:
                order = rng(0, "data_order", epoch).permutation(samples)
                for first in range(0, samples, batch):
                    mine = order[first : first + batch][rank::N]
                    yield x[mine], y[mine], order[first : first + batch]
            else:
                order = rng(0, "data_order", epoch).permutation(samples)
                for place, found in enumerate(loader):
                    yield *found, order[place * batch : (place + 1) * batch]
            epoch += 1

    error = ""
    try:
        for step, (inputs, targets, whole) in zip(range(steps), batches(), strict=False):
            optimizer.zero_grad()
            if slow and rank == slow[0] and len(inputs) > 2:
                time.sleep(slow[1])
            if sleeps:
                time.sleep(sleeps[rank])
            if end and rank == end[0] and step == end[1]:
                os.kill(os.getpid(), getattr(signal, end[2]))
            if after and rank == after[0] and step == 2:
                threading.Timer(after[1], os.kill, (os.getpid(), getattr(signal, after[2]))).start()
            if bare:
                mse_loss(wide(inputs)[:, 0], targets).backward()
            else:
                pieces = list(zip(inputs.chunk(parts), targets.chunk(parts), strict=True))
                for piece, (some, theirs) in enumerate(pieces[skipped:], skipped):
                    wide.require_backward_grad_sync = piece == len(pieces) - 1  # as no_sync does
                    per_sample = mse_loss(wide(some)[:, 0], theirs, reduction="none")
                    coded.loss(per_sample).backward()
                errors.append(error_of(net, x, y, whole, coded.steps[-1].coefficients))
            optimizer.step()
            ends.append(time.monotonic())
    except Exception as failed:
        error = f"{type(failed).__name__}: {failed}"
    if coded:
        computed = sum(one.samples > 0 for one in coded.steps)
        coded.close()
    digest = hashlib.sha256(
        b"".join(p.detach().float().numpy().tobytes() for p in net.parameters())
    ).hexdigest()
    heard = [one.heard.tolist() for one in coded.steps] if coded and rank == 0 else []
    return {
        "seconds": [b - a for a, b in zip(ends, ends[1:], strict=False)],
        "errors": errors,
        "digest": digest,
        "error": error,
        "computed": computed,
        "heard": heard,
        "buckets": len(wide._get_ddp_logging_data().get("rebuilt_bucket_sizes", "").split(",")),
    }


def begin(rank, folder, listening, runs):
    """A rank: join the group, train, leave a file."""
    warnings.simplefilter("ignore")
    port = listening.getsockname()[1]
    # Rank 0 serves the store on the inherited socket: where the parent served it, one start in thirty hung.
    served = listening.fileno() if rank == 0 else None
    store = dist.TCPStore("127.0.0.1", port, N, rank == 0, master_listen_fd=served)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
    found = [train(rank, **options) for options in runs]
    path = Path(folder) / f"{rank}.json"
    path.with_suffix(".half").write_text(json.dumps(found))
    path.with_suffix(".half").rename(path)


def start(folder, runs):
    """Fork the ranks of a world; their process numbers."""
    os.mkdir(folder)
    pids = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        for rank in range(N):
            pids.append(os.fork())
            if not pids[-1]:
                try:
                    begin(rank, folder, listening, runs)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
    return pids


def wait(pids, awake):
    """Until all have ended, waking those that stop after some seconds; who hung is killed and named."""
    pids, last, hung, stopped = {*pids}, time.monotonic() + HUNG, [], {}
    while pids:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            stopped[pid] = time.monotonic()
        elif pid:
            pids.discard(pid)
        for sleeper in [sleeper for sleeper, at in stopped.items() if time.monotonic() > at + awake]:
            del stopped[sleeper]
            os.kill(sleeper, signal.SIGCONT)
        if time.monotonic() > last and not hung:
            hung = sorted(pids)
            for pid in hung:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return hung


def answer(worlds, awake):
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder) / str(number) for number in range(len(worlds))]
        pids = [start(*world) for world in zip(folders, worlds, strict=True)]
        hung = wait(sum(pids, []), awake)
        files = [[folder / f"{rank}.json" for rank in range(N)] for folder in folders]
        found = [[json.loads(file.read_text()) if file.exists() else None for file in some] for some in files]
    names = [f"{rank} of world {number}" for number in range(len(worlds)) for rank in range(N)]
    return {
        "found": found,
        "hung": [name for name, pid in zip(names, sum(pids, []), strict=True) if pid in hung],
    }


def main():
    gc.freeze()  # a full collection of all that torch has imported takes 0.2 s of a rank's time
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
