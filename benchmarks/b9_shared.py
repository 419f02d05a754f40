"""B9: what nine exact schemes under three straggling probabilities cost (Fig. 6 of the adaptive paper).

They decode the same gradient, so one training per seed serves them all and each adds a timeline alone. Counted are the
trajectories that the three figures of the paper preset ask for; timed is each of their 27 timelines, 2000 iterations
long, draws and decoding included, in one process. Floor: the draws of the slowest alone.
"""

from __future__ import annotations

import time

from benchmarks.measure import Row, median_cpu

TARGETS = ("adaptive_fig6a", "adaptive_fig6b", "adaptive_fig6c")


def run() -> list[Row]:
    """One line: the slowest timeline, and how many there are."""
    from gcexp.report.figurefile import figure
    from gcexp.run.build import build
    from gcexp.run.compose import compose
    from gcexp.run.scheme import build_scheme
    from gcexp.run.stages import length_of, simulated

    runs = [run for target in TARGETS for run in figure(target, "paper").runs]
    trainings = {run.trajectory for run in runs}
    seconds = []
    configs = [compose(run.overrides) for run in {run.timeline: run for run in runs}.values()]
    simulated(configs[0], length_of(configs[0]))  # what it loads is not counted
    for config in configs:
        start = time.process_time()
        simulated(config, length_of(config))
        seconds.append(time.process_time() - start)
    slowest = configs[seconds.index(max(seconds))]
    length, n = length_of(slowest), build_scheme(slowest).code.n
    (floor,) = median_cpu(lambda: build(slowest, "delay").draw(length.seeds, length.iterations, n))
    seeds = len(length.seeds)
    return [
        Row(
            *("B9", "27 curves of one figure, its slowest timeline", max(seconds)),
            bar="1 training per seed, timelines < 1 s each",
            met=len(trainings) == seeds == 1 and max(seconds) < 1,
            peer="27 trainings",
            floor=floor,
            limit=1,
            note=f"{len(trainings)} training, {len(seconds)} timelines, {sum(seconds):.2f} s together",
        )
    ]
