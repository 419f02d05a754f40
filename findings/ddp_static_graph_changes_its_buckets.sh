#!/usr/bin/env bash
# With static_graph=True, DistributedDataParallel reduces behind the backward pass in step 0, in one bucket at its end in
# step 1, and in overlapping buckets from step 2 on.
#
# A profile that holds the first two steps shows other launches than those after them. Whoever takes the launch of the
# last gradient collective for the end of what a rank did by itself must not learn from step 0 what holds for all steps.
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
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

STEPS = 5
BACKWARD = "autograd::engine::evaluate_function"


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


def work(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 2), rank=rank, world_size=2)
    layers = [torch.nn.Linear(64, 64) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), static_graph=True, bucket_cap_mb=0.001)
    for step in range(STEPS):
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            model(torch.ones(8, 64)).square().mean().backward()
        profiler.export_chrome_trace(f"{folder}/{rank}-{step}.json")


if __name__ == "__main__":
    print(f"torch {torch.__version__}: all-reduces of a static graph in each step")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (folder,), nprocs=2, start_method="fork")
        for step in range(STEPS):
            events = json.load(open(f"{folder}/0-{step}.json"))["traceEvents"]
            end = max(event["ts"] + event["dur"] for event in events if event["name"].startswith(BACKWARD))
            launches = [event["ts"] for event in events if event["name"] == "c10d::allreduce_"]
            behind = sum(at > end for at in launches)
            counts.append((len(launches) - behind, behind))
            print(f"step {step}: {counts[-1][0]} in the backward pass, {behind} behind it")
    ends(counts[0][0] == 0 and counts[0][1] > 0 and counts[1] == (1, 0) and all(count == (4, 0) for count in counts[2:]))
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
