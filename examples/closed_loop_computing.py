"""The closed loop with real computing: two ranks on each of two cores, and a busy loop on the second core.

By hand only: whether the prediction holds depends on how the busy loop shares its core, and is published as measured.
"""

import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

import closed_loop
import torch

MATRIX = torch.randn(256, 256)


def compute(step: int, rank: int, samples: int) -> None:
    os.sched_setaffinity(0, {rank // 2})
    for _ in range(10 + samples):
        torch.mm(MATRIX, MATRIX)


def busy() -> None:
    os.sched_setaffinity(0, {1})
    while True:
        pass


if __name__ == "__main__":
    closed_loop.compute = compute
    disturbing = get_context("fork").Process(target=busy, daemon=True)
    disturbing.start()
    with tempfile.TemporaryDirectory() as folder:
        code = closed_loop.main(Path(folder))
    disturbing.kill()
    sys.exit(code)
