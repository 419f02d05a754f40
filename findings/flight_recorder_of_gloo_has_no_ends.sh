#!/usr/bin/env bash
# The flight recorder of torch records gloo's collectives without being asked, and never says that one ended.
#
# All entries stay "scheduled", also of collectives that are long over; their times of start and completion are None in
# pickles and 0 in JSON. So a dump of a healthy run on gloo looks like one in which every collective hangs, and what may
# be compared between ranks of one host is the time of the launch alone.
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
import pickle
import torch._C._distributed_c10d as c10d

if any(name.startswith(("TORCH_FR", "TORCH_NCCL")) for name in os.environ):
    sys.exit("a variable of the environment asks for the flight recorder")


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


def work(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 2), rank=rank, world_size=2)
    for _ in range(5):
        dist.all_reduce(torch.ones(8))  # which has ended when it returns
    with open(f"{folder}/{rank}.pickle", "wb") as file:
        file.write(c10d._dump_fr_trace(True, False, False))
    with open(f"{folder}/{rank}.json", "w") as file:
        file.write(c10d._dump_fr_trace_json(True, False).decode())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (folder,), nprocs=2, start_method="fork")
        pickled = pickle.load(open(f"{folder}/0.pickle", "rb"))["entries"]
        in_json = json.load(open(f"{folder}/0.json"))["entries"]
    print(f"torch {torch.__version__}: {len(pickled)} entries after 5 all-reduces that have ended")
    fields = ("profiling_name", "state", "time_discovered_started_ns", "time_discovered_completed_ns")
    for entry, same in zip(pickled, in_json):
        print([entry[field] for field in fields], "in JSON", [same[field] for field in fields[1:]])
    no_ends = all(entry["state"] == "scheduled" and entry[fields[3]] is None for entry in pickled)
    ends(len(pickled) == 5 and no_ends and all(entry[fields[3]] == 0 for entry in in_json))
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
