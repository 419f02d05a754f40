#!/usr/bin/env bash
# Of five all-reduces that all wait for a late rank, torch's profiler shows only two as long with the backend gloo.
#
# The event "gloo:all_reduce" is written by one of gloo's two threads and begins when that thread takes the collective
# from the queue, not when the rank launched it. Whoever looks for stragglers by the durations or the beginnings of these
# events finds most of the waiting nowhere. The launches are the events "c10d::allreduce_".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5
cat > "$folder/run.py" <<'PYTHON'
import json
import os
import sys
import tempfile

os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist
import time
from torch.profiler import ProfilerActivity, profile

RANKS, COLLECTIVES, LATE = 2, 5, 1.0


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


def work(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", RANKS), rank=rank, world_size=RANKS)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        dist.barrier()
        if rank == 1:
            time.sleep(LATE)
        works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(COLLECTIVES)]
        for one in works:
            one.wait()
    profiler.export_chrome_trace(f"{folder}/{rank}.json")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (folder,), nprocs=RANKS, start_method="fork")
        events = json.load(open(f"{folder}/0.json"))["traceEvents"]
    launches = sorted(event["ts"] for event in events if event["name"] == "c10d::allreduce_")
    carried = [event for event in events if event["name"] == "gloo:all_reduce"]
    spread = (launches[-1] - launches[0]) / 1e6
    print(f"torch {torch.__version__}: rank 0 launched {len(launches)} all-reduces within {spread:.3f} s, rank 1 {LATE} s later")
    for event in sorted(carried, key=lambda event: event["ts"]):
        after = (event["ts"] - launches[0]) / 1e6
        print(f"gloo:all_reduce of thread {event['tid']} began {after:.3f} s after the first launch and took {event['dur'] / 1e6:.3f} s")
    long = sum(event["dur"] > 1e6 * LATE / 2 for event in carried)
    threads = {event["tid"] for event in carried}
    ends(len(launches) == COLLECTIVES and spread < LATE / 2 and long == 2 and len(threads) == 2)
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
