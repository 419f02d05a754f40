#!/usr/bin/env bash
# FSDP2 on gloo: the reduce-scatter of a gradient is carried out as an all-reduce of the whole gradient.
#
# The operator that is launched is "c10d::_reduce_scatter_base_" with a shard as its output. What gloo runs is
# "gloo:all_reduce" with as many numbers as the whole gradient. A time of communication that is measured on the CPU, or a
# count of bytes by the operator's output, says too little about what a step with shards sends there.
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
from torch.distributed.fsdp import fully_shard
from torch.profiler import ProfilerActivity, profile


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


def work(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 2), rank=rank, world_size=2)
    model = torch.nn.Linear(64, 32, bias=False)
    fully_shard(model, mesh=dist.init_device_mesh("cpu", (2,)))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        model(torch.ones(8, 64)).square().mean().backward()
    profiler.export_chrome_trace(f"{folder}/{rank}.json")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (folder,), nprocs=2, start_method="fork")
        events = json.load(open(f"{folder}/0.json"))["traceEvents"]
    sizes = {}
    print(f"torch {torch.__version__}: a weight of {64 * 32} numbers in two shards")
    for event in events:
        if event.get("ph") == "X" and event["name"].startswith(("c10d::", "gloo:")):
            sizes[event["name"]] = event["args"]["Input Dims"]
            print(event["name"], sizes[event["name"]])
    ends(sizes["c10d::_reduce_scatter_base_"][0] == [1024] and sizes["gloo:all_reduce"] == [[2048]])
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
