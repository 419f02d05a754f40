"""B13 to B18 and B20: long runs, many workers, many points."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gcexp
from benchmarks.measure import Row, Spent, alone, median_cpu, process
from gcexp import codes
from gcexp.decoding_error.error import MAX_SEARCHED, error
from gcexp.delays import ShiftedExponential
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.seeding import rng
from gcexp.timeline import run_clock

DELAY = ShiftedExponential()


def draws(total: int, piece: int, streams: int = 1) -> None:
    """A floor: so many unit exponentials from some streams, a piece at a time."""
    for worker in range(streams):
        stream = rng(0, "delays", worker)
        for _ in range(0, total // streams, piece):
            stream.standard_exponential(piece)


def rate(n: int, iterations: int, seconds: float) -> str:
    """Million worker-iterations per second."""
    return f"{n * iterations / seconds / 1e6:.0f} M worker-iterations/s"


def run_to_file(n: int, s: int, iterations: int) -> float:
    """B13's work, from draws to the file: its CPU seconds without the imports."""
    begun = time.process_time()
    timeline = run_clock(Scheme(codes.Uncoded(n), Fastest(s=s)), DELAY, (0,), iterations)
    with TemporaryDirectory() as folder:
        timeline.save(Path(folder) / "timeline.npz")
    return time.process_time() - begun


def b13() -> Iterator[Row]:
    """B13: n=1000 workers, the fastest 950, 10^5 iterations, draws and decoding included, the timeline written.

    Floor: numpy's draws and partitions of as many values. On a machine slower than that of the bar, the same share of
    its floor counts.
    """
    n, s, iterations, chunk = 1000, 50, 10**5, 1000

    def drawn_and_partitioned() -> None:
        stream = np.random.default_rng(0)
        for _ in range(0, iterations, chunk):
            np.partition(stream.standard_exponential((chunk, n)), n - s - 1, axis=-1)

    found = [alone(run_to_file, n, s, iterations) for _ in range(3)]
    ours, memory = np.median([(cpu, spent.memory) for spent, cpu in found], axis=0)
    (floor,) = median_cpu(drawn_and_partitioned, repeats=3)
    work, bar = f"n={n}, {iterations} iterations, to the file", ">= 30 M/s or ours / floor <= 3.1; < 1 GiB"
    limit = max(n * iterations / 30e6, floor * 93 / 30)
    told = {"peer": "93 M/s (floor, elsewhere)", "note": rate(n, iterations, ours)}
    yield Row("B13", work, ours, bar, limit, memory=(memory, 1024), floor=floor, **told)


#: Scheme, iterations and the bar in million worker-iterations per second.
CLOCKS = {
    "uncoded n=1000": (Scheme(codes.Uncoded(1000), Decodable()), 10**5, 80),
    "cgc n=100 s=10": (Scheme(codes.CyclicRepetition(100, 10), Fastest(s=10)), 10**6, 40),
}
STREAMS = 153  # M/s: what the floor of per-worker streams reached where the bars were set


def b14() -> Iterator[Row]:
    """B14: the clock alone, draws included, where nothing is decoded that a promise gives.

    Floor: as many unit exponentials, each worker from a stream of its own.
    """
    for name, (scheme, iterations, least) in CLOCKS.items():
        n = scheme.code.n
        streams = partial(draws, n * iterations, 2000, n)
        floor, ours = median_cpu(streams, partial(run_clock, scheme, DELAY, (0,), iterations), repeats=2)
        bar = f">= {least} M/s or ours / floor <= {STREAMS / least:.1f}"
        limit = max(n * iterations / least / 1e6, floor * STREAMS / least)
        told = {"peer": f"{STREAMS} M/s (floor, elsewhere)", "note": rate(n, iterations, ours)}
        yield Row("B14", f"{name}, {iterations} iterations", ours, bar, limit, floor=floor, **told)


def b15() -> Iterator[Row]:
    """B15: the exact worst case of a regular bipartite code among 50 063 860 sets of stragglers."""
    search = partial(error, codes.RegularBipartiteCode(60, 3, seed=0), 6, max_searched=MAX_SEARCHED)
    found = search()
    (seconds,) = median_cpu(search, repeats=3)
    holds = found.exact and abs(found.lower - 0.0538256) < 1e-7
    note = f"error {found.lower:.7f}"
    peer = {"peer": "0.71 s", "peer_seconds": 0.71}
    yield Row("B15", "worst case, n=60 d=3 s=6", seconds, "<= 2 s", 2, holds=holds, note=note, **peer)


def simulate_command(*typed: str, n: int, iterations: int) -> Spent:
    """The whole command ``gcexp simulate``."""
    common = (f"n={n}", f"iterations={iterations}", "seeds=1", "delay=shifted_exponential")
    return process("gcexp", "simulate", *typed, *common)


MANY = 100_000
SCHEMES = (
    "scheme=uncoded",
    "scheme=frc s=4",
    "scheme=cgc s=4",
    "scheme=gc_sc code.clusters={twentieth} code.d=3",
    "scheme=epsilon_frc s={tenth}",
)


def b16() -> Iterator[Row]:
    """B16: 10^5 workers, 10^3 iterations, the whole command; and the exponent in n of the clock's CPU seconds."""
    iterations, sizes = 1000, (12_500, 25_000, 50_000, 100_000)
    (floor,) = median_cpu(partial(draws, MANY * iterations, MANY), repeats=3)
    for scheme in SCHEMES:
        typed = {n: scheme.format(twentieth=n // 20, tenth=n // 10) for n in sizes}
        spent = simulate_command(*typed[MANY].split(), n=MANY, iterations=iterations)
        clocks = []
        for n, words in typed.items():
            built = build_scheme(compose([f"n={n}", *words.split()]))
            clocks.append(partial(run_clock, built, DELAY, (0,), 300))
        seconds = median_cpu(*clocks, repeats=3)
        exponent, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
        work = f"{typed[MANY]}, n={MANY} x {iterations}, whole command"
        told = {"memory": (spent.memory, 1024), "floor": floor, "note": f"n^{exponent:.2f}"}
        yield Row("B16", work, spent.cpu, "<= 10 s, 1 GiB, exponent 1.1", 10, holds=exponent <= 1.1, **told)


def b18() -> Iterator[Row]:
    """B18: 10^8 iterations of 10 workers, the whole command: the memory that it takes, imports included."""
    n, iterations = 10, 10**8
    (floor,) = median_cpu(partial(draws, n * iterations // 100, 10**6), repeats=3)
    spent = simulate_command("scheme=cgc", "s=3", n=n, iterations=iterations)
    work, memory = f"n={n} x {iterations:.0e}, whole command", (spent.memory, 200)
    yield Row("B18", work, spent.cpu, "<= 200 MiB", memory=memory, floor=100 * floor)


#: Every s + 1 divides every n, as fractional repetition wants it.
GRID = {
    "scheme": ["cgc", "frc"],
    "n": [12 * i for i in range(1, 6)],
    "s": [1, 2, 3, 5, 11],
    "overhead": [i / 20 for i in range(20)],
}


def sweep_and_clocks() -> list[float]:
    """B17's work: CPU seconds of the sweep, and of the clocks of its points, their schemes already built."""
    given = {"delay": "shifted_exponential", "iterations": 100, "seeds": 1, "progress": False}
    gcexp.sweep({"scheme": ["cgc"]}, n=12, s=1, **given)  # what it loads is not counted
    start = time.process_time()
    assert len(gcexp.sweep(GRID, **given)) == 1000
    seconds = time.process_time() - start
    points = product(*([f"{key}={value}" for value in values] for key, values in GRID.items()))
    schemes = [build_scheme(compose(point)) for point in points]
    start = time.process_time()
    for scheme in schemes:
        run_clock(scheme, DELAY, (0,), 100)
    return [seconds, time.process_time() - start]


def b17() -> Iterator[Row]:
    """B17: ``gcexp.sweep`` of 1000 points of 100 iterations, one process, nothing kept. Floor: the clocks alone."""
    with TemporaryDirectory() as folder:
        found = [alone(sweep_and_clocks, folder=Path(folder))[1] for _ in range(3)]
    ours, floor = np.median(found, axis=0)
    work = "sweep of 1000 points x 100 iterations"
    yield Row("B17", work, ours, "<= 2.5 s", 2.5, floor=floor, peer="1.4 s (floor)")


def b20() -> Iterator[Row]:
    """B20: ``gcexp benchmark`` of a generated trace, n=512, 5000 rows, phi 0, its default set of schemes."""
    n, rows = 512, 5000
    times = 1 + np.random.default_rng(0).exponential(size=(rows, n))
    with TemporaryDirectory() as folder:
        cells = [*np.indices(times.shape).reshape(2, -1), times.ravel()]
        names = {"fmt": "%d,%d,%.6f", "header": "iteration,worker,time", "comments": ""}
        np.savetxt(Path(folder, "trace.csv"), np.transpose(cells), **names)
        spent = process("gcexp", "benchmark", "trace.csv", "--phi", "0", folder=Path(folder))
    work, bar = f"gcexp benchmark, n={n}, {rows} rows", "<= 120 s, 1 GiB"
    yield Row("B20", work, spent.cpu, bar, 120, memory=(spent.memory, 1024))
