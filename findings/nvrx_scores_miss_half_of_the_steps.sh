#!/usr/bin/env bash
# NVRx: a rank that is three times slower in two of five steps has the relative score 1.0, and a rank without an entry
# makes the score of every rank NaN.
#
# The relative score of a section is the smallest median of all ranks over the rank's own median. A rank that holds all
# others up in 40 percent of the steps is not seen by it. Where one rank has not entered a section since the last report,
# nobody has a score there, the slow ranks included.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5 nvidia-resiliency-ext==0.4.1
cat > "$folder/run.py" <<'PYTHON'
import json
import os
import sys
import tempfile

os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist
import math
import statistics
from importlib.metadata import version
from nvidia_resiliency_ext.straggler.reporting import ReportGenerator
from nvidia_resiliency_ext.straggler.statistics import Statistic

RANKS = 4
TIMES_OF_RANK_3 = {"slow in two of five steps": [1.0, 1.0, 1.0, 3.0, 3.0], "without an entry": []}


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


def work(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", RANKS), rank=rank, world_size=RANKS)
    for case, of_rank_3 in TIMES_OF_RANK_3.items():
        times = of_rank_3 if rank == 3 else [1.0] * 5
        summaries = {"step": {Statistic.MED: statistics.median(times), Statistic.NUM: len(times)}} if times else {}
        report = ReportGenerator(["relative_perf_scores"]).generate_report(summaries, {})
        if rank == 0:
            scores = {str(one): score for one, score in report.section_relative_perf_scores["step"].items()}
            json.dump(scores, open(f"{folder}/{case}.json", "w"))


if __name__ == "__main__":
    print("nvidia-resiliency-ext", version("nvidia-resiliency-ext"))
    scores = {}
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (folder,), nprocs=RANKS, start_method="fork")
        for case in TIMES_OF_RANK_3:
            scores[case] = list(json.load(open(f"{folder}/{case}.json")).values())
            print(f"rank 3 {case}: scores of the ranks {scores[case]}")
    slow, without = scores.values()
    ends(slow == [1.0] * RANKS and all(map(math.isnan, without)))
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
