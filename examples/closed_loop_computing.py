"""The closed loop with real computing, two ranks on each of two cores, and a busy loop on the second core.

By hand only, ``python examples/closed_loop_computing.py 10``: whether the prediction holds depends on how the busy loop
shares its core. Each repetition prints a line of the table in docs/real-runs.md, whatever comes out; what the example
says besides goes to standard error.
"""

import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from multiprocessing import get_context
from pathlib import Path

import closed_loop
import torch

MATRIX = torch.randn(256, 256)
BAR = 0.15  # of the prediction's error


def compute(step: int, rank: int, samples: int) -> None:
    os.sched_setaffinity(0, {rank // 2})
    for _ in range(10 + samples):
        torch.mm(MATRIX, MATRIX)


def busy(parent: int) -> None:
    os.sched_setaffinity(0, {1})
    while os.getppid() == parent:  # it ends with the experiment, however that ends
        pass


def row(number: int) -> str:
    """One repetition as a line of the table."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        _, phi, predicted, measured = closed_loop.main(Path(folder))
    cells = [f"{number}", f"{phi:.2f}", f"{measured['again']:.2f}"]
    for name in predicted:
        off = predicted[name] / measured[name] - 1
        cells.append(f"{predicted[name]:.3f}, {measured[name]:.3f}: {100 * off:+.0f} %")
    within = "yes" if abs(predicted["cgc"] / measured["cgc"] - 1) <= BAR else "no"
    cells += [
        within if 0.95 <= measured["again"] <= 1.05 else f"void ({within})",
        f"{time.monotonic() - began:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    closed_loop.compute = compute
    get_context("fork").Process(target=busy, args=(os.getpid(),), daemon=True).start()
    print(
        "| run | phi | uncoded again | coded / uncoded: predicted, measured | quorum / uncoded | within 15 % | s |"
    )
    print("| ---: | ---: | ---: | --- | --- | --- | ---: |")
    for number in range(1, int(sys.argv[1] if len(sys.argv) > 1 else 10) + 1):
        print(row(number), flush=True)
