"""B13 to B18 and B20: long runs, many workers, many points."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import Row, Spent, alone, median_cpu, process
from gcexp import codes
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.timeline import run_clock

DELAY = ShiftedExponential()


def draws(total: int, piece: int) -> None:
    """A floor: so many unit exponentials from one stream, some at a time."""
    stream = np.random.default_rng(0)
    for _ in range(0, total, piece):
        stream.standard_exponential(piece)


def rate(n: int, iterations: int, seconds: float) -> float:
    """Million worker-iterations per second."""
    return n * iterations / seconds / 1e6


# --- B13 and B14 ---------------------------------------------------------------------------------------------------


def run_to_file(n: int, s: int, iterations: int) -> float:
    """B13's work, from draws to the file: its CPU seconds without the imports."""
    begun = time.process_time()
    timeline = run_clock(Scheme(codes.Uncoded(n), Fastest(s=s)), DELAY, (0,), iterations)
    with TemporaryDirectory() as folder:
        timeline.save(Path(folder) / "timeline.npz")
    return time.process_time() - begun


def drawn_and_partitioned(n: int, s: int, iterations: int, chunk: int = 1000) -> None:
    """B13's floor."""
    stream = np.random.default_rng(0)
    for _ in range(0, iterations, chunk):
        np.partition(stream.standard_exponential((chunk, n)), n - s - 1, axis=-1)


def long_run() -> list[Row]:
    """B13: n=1000 workers, the fastest 950, 10^5 iterations, draws and decoding included, the timeline written.

    On a machine slower than that of the bar, the same share of its floor counts.
    """
    n, s, iterations = 1000, 50, 10**5
    found = [alone(run_to_file, n, s, iterations) for _ in range(3)]
    ours, memory = (
        float(np.median(values)) for values in zip(*((cpu, one.memory) for one, cpu in found), strict=True)
    )
    (floor,) = median_cpu(partial(drawn_and_partitioned, n, s, iterations), repeats=3)
    return [
        Row(
            *("B13", f"n={n}, {iterations} iterations, to the file", ours),
            bar=">= 30 M/s or ours / floor <= 3.1; < 1 GiB",
            limit=max(n * iterations / 30e6, floor * 93 / 30),
            memory=(memory, 1024),
            floor=floor,
            peer="93 M/s (floor, elsewhere)",
            note=f"{rate(n, iterations, ours):.0f} M worker-iterations/s",
        )
    ]


#: Scheme, iterations and the bar in million worker-iterations per second.
CLOCKS = {
    "uncoded n=1000": (Scheme(codes.Uncoded(1000), Decodable()), 10**5, 80),
    "forget n=1000 s=50": (Scheme(codes.Uncoded(1000), Fastest(s=50)), 10**5, 80),
    "cgc n=100 s=10": (Scheme(codes.CyclicRepetition(100, 10), Fastest(s=10)), 10**6, 40),
}
STREAMS = 153  # M/s: what the floor of per-worker streams reached where the bars were set


def worker_streams(n: int, iterations: int, piece: int = 2000) -> None:
    """B14's floor: as many unit exponentials, each worker from a stream of its own."""
    from gcexp.seeding import rng

    for worker in range(n):
        stream = rng(0, "delays", worker)
        for _ in range(0, iterations, piece):
            stream.standard_exponential(piece)


def clock() -> list[Row]:
    """B14: the clock alone, draws included, where nothing is decoded that a promise gives."""
    rows = []
    for name, (scheme, iterations, least) in CLOCKS.items():
        n = scheme.code.n
        play = partial(run_clock, scheme, DELAY, (0,), iterations)
        floor, ours = median_cpu(partial(worker_streams, n, iterations), play, repeats=2)
        rows.append(
            Row(
                *("B14", f"{name}, {iterations} iterations", ours),
                bar=f">= {least} M/s or ours / floor <= {STREAMS / least:.1f}",
                limit=max(n * iterations / least / 1e6, floor * STREAMS / least),
                floor=floor,
                peer=f"{STREAMS} M/s (floor, elsewhere)",
                note=f"{rate(n, iterations, ours):.0f} M worker-iterations/s",
            )
        )
    return rows


# --- B15 -----------------------------------------------------------------------------------------------------------


def worst_case() -> list[Row]:
    """B15: the exact worst case of a regular bipartite code among 50 063 860 sets of stragglers."""
    from gcexp.decoding_error.error import MAX_SEARCHED, error

    search = partial(error, codes.RegularBipartiteCode(60, 3, seed=0), 6, max_searched=MAX_SEARCHED)
    found = search()
    (seconds,) = median_cpu(search, repeats=3)
    holds, note = found.exact and abs(found.lower - 0.0538256) < 1e-7, f"error {found.lower:.7f}"
    peer = {"peer": "0.71 s", "peer_seconds": 0.71}
    return [Row("B15", "worst case, n=60 d=3 s=6", seconds, "<= 2 s", 2, holds=holds, note=note, **peer)]


# --- B16 and B18 ---------------------------------------------------------------------------------------------------


def simulated(*typed: str, n: int, iterations: int) -> Spent:
    """The whole command ``gcexp simulate``."""
    common = (f"n={n}", f"iterations={iterations}", "seeds=1", "delay=shifted_exponential")
    return process("gcexp", "simulate", *typed, *common)


MANY = 100_000
#: What is typed, and the same scheme for n workers.
SCHEMES: dict[str, Callable[[int], Scheme]] = {
    "scheme=uncoded": lambda n: Scheme(codes.Uncoded(n), Decodable()),
    "scheme=frc s=4": lambda n: Scheme(codes.FractionalRepetition(n, s=4), Fastest(s=4)),
    "scheme=cgc s=4": lambda n: Scheme(codes.CyclicRepetition(n, 4), Fastest(s=4)),
    f"scheme=gc_sc code.clusters={MANY // 20} code.d=3": lambda n: Scheme(
        codes.Clustered(n, n // 20, 3), Decodable()
    ),
    f"scheme=epsilon_frc s={MANY // 10}": lambda n: Scheme(
        codes.EpsilonFractionalRepetition(n, n // 10, 0.1), Fastest(s=n // 10)
    ),
}


def many_workers() -> list[Row]:
    """B16: 10^5 workers, 10^3 iterations, the whole command; and the exponent in n of the clock's CPU seconds."""
    iterations, sizes = 1000, (12_500, 25_000, 50_000, 100_000)
    (floor,) = median_cpu(partial(draws, MANY * iterations, MANY), repeats=3)
    rows = []
    for typed, make in SCHEMES.items():
        spent = simulated(*typed.split(), n=MANY, iterations=iterations)
        clocks = [partial(run_clock, make(n), DELAY, (0,), 300) for n in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(median_cpu(*clocks, repeats=3)), 1)[0]
        rows.append(
            Row(
                *("B16", f"{typed}, n={MANY} x {iterations}, whole command", spent.cpu),
                bar="<= 10 s, 1 GiB, exponent 1.1",
                limit=10,
                memory=(spent.memory, 1024),
                holds=exponent <= 1.1,
                floor=floor,
                note=f"n^{exponent:.2f}",
            )
        )
    return rows


def many_iterations() -> list[Row]:
    """B18: 10^8 iterations of 10 workers, the whole command: the memory that it takes, imports included."""
    n, iterations = 10, 10**8
    (floor,) = median_cpu(partial(draws, n * iterations // 100, 10**6), repeats=3)
    spent = simulated("scheme=cgc", "s=3", n=n, iterations=iterations)
    work, memory = f"n={n} x {iterations:.0e}, whole command", (spent.memory, 200)
    return [Row("B18", work, spent.cpu, "<= 200 MiB", memory=memory, floor=100 * floor)]


# --- B17 and B20 ---------------------------------------------------------------------------------------------------

#: Every s + 1 divides every n, as fractional repetition wants it.
GRID = {
    "scheme": ["cgc", "frc"],
    "n": [12 * i for i in range(1, 6)],
    "s": [1, 2, 3, 5, 11],
    "overhead": [i / 20 for i in range(20)],
}


def swept() -> list[float]:
    """B17's work: CPU seconds of the sweep, and of the clocks of its points, their schemes already built."""
    import gcexp

    given = {"delay": "shifted_exponential", "iterations": 100, "seeds": 1, "progress": False}
    gcexp.sweep({"scheme": ["cgc"]}, n=12, s=1, **given)  # what it loads is not counted
    start = time.process_time()
    table = gcexp.sweep(GRID, **given)
    seconds = time.process_time() - start
    assert len(table) == 1000
    build = {"cgc": codes.CyclicRepetition, "frc": lambda n, s: codes.FractionalRepetition(n, s=s)}
    schemes = []
    for name, n, s in {tuple(point) for point in table[["scheme", "n", "s"]].itertuples(index=False)}:
        code = build[name](int(n), int(s))
        schemes += [Scheme(code, Fastest(s=int(s)), overhead) for overhead in GRID["overhead"]]
    start = time.process_time()
    for scheme in schemes:
        run_clock(scheme, DELAY, (0,), 100)
    return [seconds, time.process_time() - start]


def sweep() -> list[Row]:
    """B17: ``gcexp.sweep`` of 1000 points of 100 iterations, one process, nothing kept. Floor: the clocks alone."""
    with TemporaryDirectory() as folder:
        found = [alone(swept, folder=Path(folder))[1] for _ in range(3)]
    ours, floor = (float(median) for median in np.median(found, axis=0))
    return [
        Row(
            *("B17", "sweep of 1000 points x 100 iterations", ours, "<= 2.5 s"),
            limit=2.5,
            floor=floor,
            peer="1.4 s (floor)",
        )
    ]


def map_of_a_trace() -> list[Row]:
    """B20: ``gcexp benchmark`` of a generated trace, n=512, 5000 rows, phi 0, its default set of schemes."""
    n, rows = 512, 5000
    times = 1 + np.random.default_rng(0).exponential(size=(rows, n))
    with TemporaryDirectory() as folder:
        with open(Path(folder, "trace.csv"), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["iteration", "worker", "time"])
            for (t, w), value in np.ndenumerate(times):
                writer.writerow([t, w, f"{value:.6f}"])
        command = ("gcexp", "benchmark", "trace.csv", "--phi", "0")
        spent = process(*command, folder=Path(folder), timeout=900)
    work, bar = f"gcexp benchmark, n={n}, {rows} rows", "<= 120 s, 1 GiB"
    return [Row("B20", work, spent.cpu, bar, 120, memory=(spent.memory, 1024))]
