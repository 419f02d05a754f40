"""B13 to B18 and B20: long runs, many workers, many points."""

from __future__ import annotations

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


def b13() -> list[Row]:
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
    ours, memory = (
        float(np.median(each)) for each in zip(*((cpu, one.memory) for one, cpu in found), strict=True)
    )
    (floor,) = median_cpu(drawn_and_partitioned, repeats=3)
    work, bar = f"n={n}, {iterations} iterations, to the file", ">= 30 M/s or ours / floor <= 3.1; < 1 GiB"
    limit = max(n * iterations / 30e6, floor * 93 / 30)
    told = {"peer": "93 M/s (floor, elsewhere)", "note": rate(n, iterations, ours)}
    return [Row("B13", work, ours, bar, limit, memory=(memory, 1024), floor=floor, **told)]


#: Scheme, iterations and the bar in million worker-iterations per second.
CLOCKS = {
    "uncoded n=1000": (Scheme(codes.Uncoded(1000), Decodable()), 10**5, 80),
    "forget n=1000 s=50": (Scheme(codes.Uncoded(1000), Fastest(s=50)), 10**5, 80),
    "cgc n=100 s=10": (Scheme(codes.CyclicRepetition(100, 10), Fastest(s=10)), 10**6, 40),
}
STREAMS = 153  # M/s: what the floor of per-worker streams reached where the bars were set


def b14() -> list[Row]:
    """B14: the clock alone, draws included, where nothing is decoded that a promise gives.

    Floor: as many unit exponentials, each worker from a stream of its own.
    """
    rows = []
    for name, (scheme, iterations, least) in CLOCKS.items():
        n = scheme.code.n
        streams = partial(draws, n * iterations, 2000, n)
        floor, ours = median_cpu(streams, partial(run_clock, scheme, DELAY, (0,), iterations), repeats=2)
        bar = f">= {least} M/s or ours / floor <= {STREAMS / least:.1f}"
        limit = max(n * iterations / least / 1e6, floor * STREAMS / least)
        told = {"peer": f"{STREAMS} M/s (floor, elsewhere)", "note": rate(n, iterations, ours)}
        rows.append(Row("B14", f"{name}, {iterations} iterations", ours, bar, limit, floor=floor, **told))
    return rows


def b15() -> list[Row]:
    """B15: the exact worst case of a regular bipartite code among 50 063 860 sets of stragglers."""
    from gcexp.decoding_error.error import MAX_SEARCHED, error

    search = partial(error, codes.RegularBipartiteCode(60, 3, seed=0), 6, max_searched=MAX_SEARCHED)
    found = search()
    (seconds,) = median_cpu(search, repeats=3)
    holds, note = found.exact and abs(found.lower - 0.0538256) < 1e-7, f"error {found.lower:.7f}"
    peer = {"peer": "0.71 s", "peer_seconds": 0.71}
    return [Row("B15", "worst case, n=60 d=3 s=6", seconds, "<= 2 s", 2, holds=holds, note=note, **peer)]


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


def b16() -> list[Row]:
    """B16: 10^5 workers, 10^3 iterations, the whole command; and the exponent in n of the clock's CPU seconds."""
    iterations, sizes = 1000, (12_500, 25_000, 50_000, 100_000)
    (floor,) = median_cpu(partial(draws, MANY * iterations, MANY), repeats=3)
    rows = []
    for typed, make in SCHEMES.items():
        spent = simulated(*typed.split(), n=MANY, iterations=iterations)
        clocks = [partial(run_clock, make(n), DELAY, (0,), 300) for n in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(median_cpu(*clocks, repeats=3)), 1)[0]
        work, bar = f"{typed}, n={MANY} x {iterations}, whole command", "<= 10 s, 1 GiB, exponent 1.1"
        told = {"memory": (spent.memory, 1024), "floor": floor, "note": f"n^{exponent:.2f}"}
        rows.append(Row("B16", work, spent.cpu, bar, 10, holds=exponent <= 1.1, **told))
    return rows


def b18() -> list[Row]:
    """B18: 10^8 iterations of 10 workers, the whole command: the memory that it takes, imports included."""
    n, iterations = 10, 10**8
    (floor,) = median_cpu(partial(draws, n * iterations // 100, 10**6), repeats=3)
    spent = simulated("scheme=cgc", "s=3", n=n, iterations=iterations)
    work, memory = f"n={n} x {iterations:.0e}, whole command", (spent.memory, 200)
    return [Row("B18", work, spent.cpu, "<= 200 MiB", memory=memory, floor=100 * floor)]


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


def b17() -> list[Row]:
    """B17: ``gcexp.sweep`` of 1000 points of 100 iterations, one process, nothing kept. Floor: the clocks alone."""
    with TemporaryDirectory() as folder:
        found = [alone(swept, folder=Path(folder))[1] for _ in range(3)]
    ours, floor = (float(median) for median in np.median(found, axis=0))
    work = "sweep of 1000 points x 100 iterations"
    return [Row("B17", work, ours, "<= 2.5 s", 2.5, floor=floor, peer="1.4 s (floor)")]


def b20() -> list[Row]:
    """B20: ``gcexp benchmark`` of a generated trace, n=512, 5000 rows, phi 0, its default set of schemes."""
    n, rows = 512, 5000
    times = 1 + np.random.default_rng(0).exponential(size=(rows, n))
    with TemporaryDirectory() as folder:
        cells = [*np.indices(times.shape).reshape(2, -1), times.ravel()]
        names = {"fmt": "%d,%d,%.6f", "header": "iteration,worker,time", "comments": ""}
        np.savetxt(Path(folder, "trace.csv"), np.transpose(cells), **names)
        command = ("gcexp", "benchmark", "trace.csv", "--phi", "0")
        spent = process(*command, folder=Path(folder), timeout=900)
    work, bar = f"gcexp benchmark, n={n}, {rows} rows", "<= 120 s, 1 GiB"
    return [Row("B20", work, spent.cpu, bar, 120, memory=(spent.memory, 1024))]
