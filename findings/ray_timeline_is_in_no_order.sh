#!/usr/bin/env bash
# Ray: the events of ray.timeline() are in no order of time.
#
# Each worker's calls are made one after the other, but its events come in another order. Whoever numbers the events of a
# worker in the order of the list, as one numbers the steps of a log, gives most of them a wrong number, and moves a slow
# spell to other steps. They have to be sorted by "ts" first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile ray==2.60.0
cat > "$folder/run.py" <<'PYTHON'
import os
import sys
import time

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


@ray.remote
class Worker:
    def train_step(self):
        time.sleep(0.02)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    workers = [Worker.options(num_cpus=0.5).remote() for _ in range(3)]
    for _ in range(40):
        ray.get([worker.train_step.remote() for worker in workers])
    time.sleep(3)  # in which the events reach the head node
    begins = {}
    for event in ray.timeline():
        if event["name"] == "train_step":
            begins.setdefault(event["tid"], []).append(event["ts"])
    ray.shutdown()
    places, wrong = 0, 0
    for times in begins.values():
        in_order = sorted(times)
        places += len(times)
        wrong += sum(time != right for time, right in zip(times, in_order))
    print(f"ray {ray.__version__}: {places} steps of {len(begins)} workers, {wrong} of them out of order")
    ends(len(begins) == 3 and wrong > places / 2)
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
