"""B26: the goodput of a job whose workers fail, against the clock that it asks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf

from benchmarks.measure import Row, median_cpu
from gcexp.codes import CyclicRepetition, FractionalRepetition, PartialWork, Uncoded
from gcexp.delays import Draws, ShiftedExponential
from gcexp.failures import Costs, Job, Lifetimes, Present, Respread, Steps, best_of_history
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.schemes.micro_batches import Covered
from gcexp.timeline import durations, run_clock

MTBF, RESTART, COSTS = 3600.0, 600.0, Costs(save=30.0)


def played(steps: Steps, most_failures: int, **lifetimes: float) -> int:
    """The goodput of a scheme with its best period; the number of failures."""
    job = Job(Lifetimes(n=steps.n, mean=MTBF * steps.n, **lifetimes), steps, RESTART, 10**9, most_failures)
    return best_of_history(job.until(inf), COSTS).failures


def b26() -> Iterator[Row]:
    """B26: failures of fractional repetition at n = 1000, and 1e5 failures of six schemes at n = 64.

    Floors: one clock of 1000 iterations of that scheme with draws; and the clock asked once about each distinct set of
    dead workers, one thousand rows of a law each.
    """
    n, failures = 1000, 10_000
    scheme = Scheme(FractionalRepetition(n, 2), Decodable())
    equal = Draws((0,), (1, 1, n), compute=float(n))

    def asked() -> None:
        played(Steps(scheme, equal), failures)

    clock = partial(run_clock, scheme, ShiftedExponential(), (0,), 1000)
    floor, ours = median_cpu(clock, asked, repeats=5)
    work = f"frc n={n}, {failures} failures, equal workers"
    yield Row("B26", work, ours, "ours / floor <= 60", 60 * floor, floor=floor)
    yield _of_six_schemes()


def _of_six_schemes() -> Row:
    """The row of six schemes of 64 workers on a thousand rows of a law."""
    n, failures = 64, 100_000
    draws = ShiftedExponential(shift=0.7, mean=0.3).draw((0,), 1000, n)
    schemes = (
        Scheme(Uncoded(n), Fastest(q=n)),
        Scheme(Uncoded(n), Fastest(q=n), loads=Respread()),
        Scheme(Uncoded(n), Present()),
        Scheme(FractionalRepetition(n, 2), Decodable()),
        Scheme(CyclicRepetition(n, 3), Fastest(s=3)),
        Scheme(PartialWork(n, d=2, q=1), Covered()),
    )
    rejoin = MTBF / 4

    def asked() -> list[Steps]:
        found = [Steps(scheme, draws) for scheme in schemes]
        for steps in found:
            played(steps, failures // len(schemes), rejoin=rejoin)
        return found

    sets = [steps.asked for steps in asked()]

    def clocked() -> None:
        for scheme, dead in zip(schemes, sets, strict=True):
            for first in range(0, len(dead), 4):
                durations(scheme, draws.without(dead[first : first + 4]))

    floor, ours = median_cpu(clocked, asked, repeats=1)
    work = f"six schemes n={n}, {failures} failures, {sum(map(len, sets))} distinct sets"
    return Row("B26", work, ours, "ours / floor <= 20", 20 * floor, floor=floor)
