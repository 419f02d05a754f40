"""Starts ranks for the tests beside it: tests/warm.py runs it, which has torch; it forks the ranks of each run.

A request is a line of JSON: worlds that are there at once, each a list of runs, which its ranks make one after another,
a run the options of `train`. The answer is a line with what each rank found in each run, None if it was killed.
"""

import copy
import gc
import hashlib
import inspect
import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import numpy as np
import psutil
import torch
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from gcexp import codes, schemes
from gcexp.distributed import Coded, Recorder
from gcexp.seeding import rng

N = 4
# The option of DistributedDataParallel that broadcasts buffers, which newer versions of torch have renamed.
_OPTIONS = inspect.signature(DistributedDataParallel).parameters
BUFFERS = "forward_sync_buffers" if "forward_sync_buffers" in _OPTIONS else "broadcast_buffers"
HUNG = 1200  # seconds, after which a run hangs: ten times what a slow machine with much else to do takes


def gradients(model):
    return torch.cat([p.grad.flatten().double() for p in model.parameters() if p.grad is not None])


def exact_gradient(net, x, y, batch, coefficients):
    """The gradient of the partitions' sum with these coefficients, or ones, as plain torch computes it."""
    kind = torch.float64 if net[0].weight.dtype == torch.float32 else net[0].weight.dtype
    full = copy.deepcopy(net).to(kind)
    full.zero_grad()
    c = np.ones(N) if coefficients is None else np.asarray(coefficients)
    per_sample = mse_loss(full(x[batch].to(kind))[:, 0].double(), y[batch].double(), reduction="none")
    shares = np.repeat(c, [len(part) for part in np.array_split(batch, len(c))]) / len(batch)
    (per_sample * torch.from_numpy(shares)).sum().backward()
    return gradients(full)


def send(name, folder, until=None):
    """Give this process a signal; one that stops it is followed by one that wakes it.

    That comes after `until` seconds, or at "others ended", when all other ranks have left a file in the folder.
    """
    if until == "others ended":
        ended = f"$(ls '{folder}' | grep -c ended) -ge {N - 1}"
        waiting = f"until [ {ended} ]; do sleep 0.05; done"
    else:
        waiting = f"sleep {until}"
    if until:
        subprocess.Popen(["timeout", str(HUNG), "sh", "-c", f"{waiting}; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), getattr(signal, name))


class Unused(torch.nn.Sequential):
    """A network with a parameter that no step uses."""

    def __init__(self, *layers):
        super().__init__(*layers)
        self.register_parameter("unused", torch.nn.Parameter(torch.ones(3)))


def train(
    rank, folder, *, code=("CyclicRepetition", {"n": N, "s": 1}), wait=("Fastest", {"s": 1}), steps=8, samples=40,
    batch=8, kind="float32", bucket_mb=25.0, static=False, view=False, unused=False, autocast=False, compiled=False,
    zero_every=1, to_none=True, late_zero=False, parts=1, sleeps=(0, 0, 0, 0), harm=None, bare=False, record=None,
    workers=0, **options,
):  # fmt: skip
    """Train a small network; `harm` = [rank, step, delay, signal, until] is what a rank suffers.

    Gradients are zeroed before every step whose number `zero_every` divides, or just before its backward pass.
    """
    torch.manual_seed(0)
    network = Unused if unused else torch.nn.Sequential
    net = network(torch.nn.Linear(10, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    net = net.to(getattr(torch, kind))
    x, y = torch.randn(samples, 10).to(net[0].weight.dtype), torch.randn(samples).to(net[0].weight.dtype)
    more = {"bucket_cap_mb": bucket_mb, "static_graph": static, "gradient_as_bucket_view": view}
    more["find_unused_parameters"] = unused
    wide = DistributedDataParallel(net, **{BUFFERS: False}, **more)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    if record:
        Recorder(record, model=wide)
    if bare:
        coded, mine = None, [[*range(i + rank, i + batch, N)] for i in range(0, samples - batch + 1, batch)]
    else:
        scheme = schemes.Scheme(getattr(codes, code[0])(**code[1]), getattr(schemes, wait[0])(**wait[1]))
        coded = Coded(wide, scheme, **({"linger": HUNG} | options))
        mine = coded.batches(samples, batch)
    model = torch.compile(wide, backend="aot_eager") if compiled else wide
    loader = DataLoader(TensorDataset(x, y), batch_sampler=mine, num_workers=workers)
    batches = ((epoch, *found) for epoch in itertools.count() for found in enumerate(loader))
    errors, ends, error = [], [time.monotonic()], ""
    exact = torch.zeros(())
    try:
        for step, (epoch, place, (inputs, targets)) in zip(range(steps), batches, strict=False):
            zeroed = step % zero_every == 0
            if zeroed and not late_zero:
                optimizer.zero_grad(set_to_none=to_none)
            if bare or len(inputs) > 2:  # a rank that is behind gets two samples, and need not compute
                time.sleep(sleeps[rank])
            if harm and [rank, step] == harm[:2]:
                name, until = harm[3:]
                if harm[2]:
                    threading.Timer(harm[2], send, (name, folder, until)).start()
                else:
                    send(name, folder, until)
            if bare:
                mse_loss(wide(inputs)[:, 0], targets).backward()
            else:
                pieces = zip(inputs.chunk(parts), targets.chunk(parts), strict=True)
                for piece, (some, theirs) in enumerate(pieces):
                    wide.require_backward_grad_sync = piece == parts - 1  # as no_sync does
                    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                        outputs = model(some)[:, 0]
                    loss = coded.loss(mse_loss(outputs.to(theirs.dtype), theirs, reduction="none"))
                    if zeroed and late_zero and piece == 0:
                        torch.autograd.grad(loss, net[0].weight, retain_graph=True)
                        optimizer.zero_grad(set_to_none=to_none)
                    loss.backward()
                order = rng(0, "data_order", epoch).permutation(samples)
                whole = order[place * batch : (place + 1) * batch]
                exact = exact * (not zeroed) + exact_gradient(net, x, y, whole, coded.steps[-1].coefficients)
                errors.append(float((gradients(net) - exact).abs().max() / exact.abs().max()))
            optimizer.step()
            ends.append(time.monotonic())
    except Exception as failed:
        error = f"{type(failed).__name__}: {failed}"
    Path(folder, f"ended {rank}").touch()
    if coded:
        coded.close()
    bits = b"".join(p.detach().float().numpy().tobytes() for p in net.parameters())
    return {
        "seconds": np.diff(ends).tolist(),
        "errors": errors,
        "digest": hashlib.sha256(bits).hexdigest(),
        "error": error,
        "computed": sum(one.samples > 0 for one in coded.steps) if coded else steps,
        "heard": [one.heard.tolist() for one in coded.steps] if coded and rank == 0 else [],
        "buckets": len(wide._get_ddp_logging_data().get("rebuilt_bucket_sizes", "").split(",")),
    }


def begin(rank, world, file, listening, runs):
    """A rank: join the group, train, leave a file."""
    warnings.simplefilter("ignore")
    # Rank 0 serves the store on the inherited socket: where the parent served it, one start in thirty hung.
    served = listening.fileno() if rank == 0 else None
    port = listening.getsockname()[1]
    # In older releases of torch the store of libuv takes no socket.
    store = dist.TCPStore("127.0.0.1", port, N, rank == 0, master_listen_fd=served, use_libuv=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=N)
    found = []
    for number, options in enumerate(runs):
        folder = file.parent / f"run {number} of world {world}"
        folder.mkdir(exist_ok=True)
        found.append(train(rank, folder, **options))
    file.with_suffix(".half").write_text(json.dumps(found))
    file.with_suffix(".half").rename(file)


def left():
    """Processes of this one's group besides it, if they do not end by themselves."""
    others, last = [os.getpid()], time.monotonic() + 3000
    while others and time.monotonic() < last:
        others = []
        for process in psutil.process_iter():
            with suppress(ProcessLookupError):
                if os.getpgid(process.pid) == os.getpgrp() and process.pid != os.getpid():
                    others.append(process.pid)
        if others:
            time.sleep(0.05)
    return others


def answer(folder, worlds):
    """What every rank finds; who hangs is killed and named."""
    started = {}
    for number, runs in enumerate(worlds):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            for rank in range(N):
                file = Path(folder, f"{rank} of world {number}.json")
                started[file] = multiprocessing.Process(
                    target=begin, args=(rank, number, file, listening, runs)
                )
                started[file].start()
    last, hung = time.monotonic() + HUNG, []
    for file, process in started.items():
        process.join(max(0.0, last - time.monotonic()))
        if process.is_alive():
            hung.append(file.stem)
            process.kill()
    found = [json.loads(file.read_text()) if file.exists() else None for file in started]
    by_world = [found[N * number : N * number + N] for number in range(len(worlds))]
    return {
        "found": [
            [[rank and rank[run] for rank in world] for run in range(len(runs))]
            for world, runs in zip(by_world, worlds, strict=True)
        ],
        "hung": hung,
        "left": left(),
    }


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    gc.freeze()  # a full collection of all that torch has imported takes 0.2 s of a rank's time
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as temporary:
            print(json.dumps(answer(temporary, json.loads(line))), flush=True)
