#!/usr/bin/env bash
# Lightning's PyTorchProfiler marks a step where training_step returns, and Lightning broadcasts in every batch.
#
# A mark of the profiler ("ProfilerStep#...") then holds the backward pass and the all-reduce of one step first, and the
# data and the forward pass of the next one behind them. The time from a mark to its all-reduce is that of the backward
# pass alone: a rank that is slow in loading or in training_step is not seen by it. The broadcast, by which rank 0 tells
# of signals, makes all ranks wait for rank 0 once more in each batch, also while gradients are accumulated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5 lightning==2.6.6
cat > "$folder/run.py" <<'PYTHON'
import glob
import json
import os
import sys

os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import lightning
import torch
from lightning.pytorch.profilers import PyTorchProfiler
from torch.profiler import ProfilerActivity, schedule


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(20, 1)

    def training_step(self, batch, index):
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)


if __name__ == "__main__":
    profiler = PyTorchProfiler(
        dirpath="profiles", filename="profile", schedule=schedule(wait=1, warmup=1, active=10),
        activities=[ProfilerActivity.CPU], record_module_names=False,
    )
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp_fork", max_epochs=1, profiler=profiler, logger=False,
        enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
    )
    data = torch.utils.data.TensorDataset(torch.ones(2 * 4 * 20, 20))
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=4))
    events = json.load(open(glob.glob("profiles/fit-profile-1-*.json")[0]))["traceEvents"]
    events = sorted((event for event in events if event.get("ph") == "X"), key=lambda event: event["ts"])
    shown = {"c10d::allreduce_": "all-reduce", "c10d::broadcast_": "broadcast", "DistributedDataParallel.forward": "forward pass"}
    orders = []
    for mark in (event for event in events if event["name"].startswith("ProfilerStep#")):
        inside = [event["name"] for event in events if mark["ts"] <= event["ts"] < mark["ts"] + mark["dur"]]
        orders.append([shown[name] for name in inside if name in shown])
    print(f"lightning {lightning.__version__}, torch {torch.__version__}: in {len(orders)} marks of rank 1, in the order of time")
    print(*orders[:-1][:3], sep="\n")
    ends(all(order == ["all-reduce", "broadcast", "forward pass"] for order in orders[:-1]))
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
