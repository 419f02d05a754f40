"""What a clock costs: CPU time and memory against the number of workers."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.errors import require


@columns("label", "n", "iterations", "quantity", "value", "exponent")
def growth(codes: list, n: list[int], iterations: int, sizes: list[int] | None = None) -> Iterator[tuple]:
    """CPU time and memory of building schemes and playing their clocks, against the number of workers.

    Times of workers are unit exponentials, `gcexp.delays.ShiftedExponential`. The library is loaded before; what is
    measured is the code, the draws, waiting, and the 64 iterations that are decoded as a sample.

    Each of the `codes` has a ``label``; ``of``, what makes the code at each n; and ``s``, how many are not waited for
    at each n: left out, as many as the code lets be missing in each iteration. `sizes` are the n that are measured, by
    default all.

    The ``quantity`` of a row is ``CPU seconds`` of this process, or ``memory (MiB)``, the largest that is allocated at
    once, as `tracemalloc` counts it. ``exponent`` is the slope of a line through the CPU seconds of all sizes in
    logarithms; memory, which small sizes fill in pieces, has none.
    """
    sizes = [size for size in n if sizes is None or size in sizes]
    require(n == sorted(set(n)) and len(sizes) > 1, f"two or more sizes of a rising n are needed, got n={n}")
    loaded = False
    for given in codes:
        label = given["label"]
        makers = given["of"]
        lost = given.get("s", [None] * len(n))
        fit = isinstance(makers, list) and len(makers) == len(lost) == len(n)
        require(fit, f"{label}: one code and one s for each of {len(n)} n")
        spent: list[float] = []
        held: list[float] = []
        for size, make, s in zip(n, makers, lost, strict=True):
            if size not in sizes:
                continue
            play = partial(_play, make, s, iterations)
            if not loaded:
                play()  # loads what is loaded when it is first used
                loaded = True
            seconds, mebibytes = _costs(play)
            spent.append(seconds)
            held.append(mebibytes)
        exponent, _ = np.polyfit(np.log(sizes), np.log(spent), 1)
        for size, seconds in zip(sizes, spent, strict=True):
            yield label, size, iterations, "CPU seconds", seconds, float(exponent)
        for size, mebibytes in zip(sizes, held, strict=True):
            yield label, size, iterations, "memory (MiB)", mebibytes, np.nan


def _play(make: Callable, s: int | None, iterations: int) -> None:
    """One seed of a scheme, built and played."""
    from gcexp.delays import ShiftedExponential
    from gcexp.schemes import Decodable, Fastest, Scheme
    from gcexp.summary import summarise

    if s is None:
        scheme = Scheme(make(), Decodable())
    else:
        scheme = Scheme(make(), Fastest(s=s))
    summarise(scheme, ShiftedExponential(), (0,), iterations)


def _costs(play: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of this process; and played again, the most MiB that Python and numpy hold for it at once."""
    gc.collect()
    began = time.process_time()
    play()
    spent = time.process_time() - began
    tracemalloc.start()
    try:
        play()
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return spent, most_bytes / 2**20
