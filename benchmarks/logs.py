"""B24: reading long logs of workers' times."""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.measure import Row, alone

WORKERS = 512
_MOST_TIMES = 4  # those of pandas
_MOST_BYTES = 5  # of memory for each byte of the file
_PART = 10**6  # rows that pandas reads at once


def write_log(path: str, iterations: int) -> None:
    """Write a log of lognormal times, with a row for each iteration and worker."""
    times = np.random.default_rng(0).lognormal(0, 0.3, (iterations, WORKERS))
    with open(path, "w") as file:
        file.write("iteration,worker,time\n")
        for iteration, row in enumerate(times.tolist()):
            file.writelines(f"{iteration},{worker},{value:.6f}\n" for worker, value in enumerate(row))


def _peak() -> float:
    """The most memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _digest(times: np.ndarray) -> str:
    return hashlib.sha256(times.tobytes()).hexdigest()


def read_by_gcexp(path: str) -> tuple[float, float, str]:
    """CPU seconds of reading a log, the memory that it took in MiB, and what its times are, in a new process."""
    import gcexp_adviser.logs.record  # noqa: F401  # the modules that reading imports are none of its work
    from gcexp_adviser.logs.reading import read

    before = _peak()
    begun = time.process_time()
    times = read(path).values["time"]
    cpu = time.process_time() - begun
    memory = _peak() - before
    return cpu, memory, _digest(times)


def read_by_pandas(path: str, iterations: int) -> tuple[float, str]:
    """CPU seconds of `pandas.read_csv` in parts and placing them into an array, and what its times are."""
    begun = time.process_time()
    times = np.full((iterations, WORKERS), np.nan)
    for part in pd.read_csv(path, chunksize=_PART):
        times[part["iteration"].to_numpy(), part["worker"].to_numpy()] = part["time"].to_numpy()
    return time.process_time() - begun, _digest(times)


def b24() -> Iterator[Row]:
    """B24: reading logs of 512 workers x 5000 and 15 000 iterations to the record of their times.

    Floor: `pandas.read_csv` in parts, and placing them into an array. The bits are the same.
    """
    for iterations in (5000, 15_000):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "long.csv"
            write_log(str(path), iterations)
            size = path.stat().st_size / 2**20
            ours, floors = [], []
            for _ in range(3):
                _, (cpu, memory, mine) = alone(read_by_gcexp, str(path))
                _, (floor, theirs) = alone(read_by_pandas, str(path), iterations)
                ours.append((cpu, memory))
                floors.append(floor)
        cpu, memory = np.median(ours, axis=0)
        floor = float(np.median(floors))
        yield Row(
            "B24",
            f"a log of {size:.0f} MiB: {WORKERS} workers x {iterations}",
            cpu,
            f"<= {_MOST_TIMES} times pandas, <= {_MOST_BYTES} bytes of memory per byte, same bits",
            limit=_MOST_TIMES * floor,
            memory=(memory, _MOST_BYTES * size),
            holds=mine == theirs,
            floor=floor,
            note=f"{memory / size:.1f} bytes per byte",
        )
