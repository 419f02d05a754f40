"""Benchmarks of gcexp: ``python -m benchmarks [ids...]`` prints one table.

A benchmark is one module with ``run() -> list[Row]``, whose docstring says what exactly is measured, and one line in
`REGISTRY`. Peer figures are those of other public implementations, quoted as measured on another machine; the floor is
measured in the same run, so only ratios to the floor are stable; what has no floor of its own gets that of a fixed
piece of work (`benchmarks.measure.calibration`). No ratio mixes a simulated clock with a wall clock.
CPU seconds over twice what a bar allows, and memory over what it allows, end the command with 1.
"""

#: Id: module with ``run``.
REGISTRY = {
    "B1": "benchmarks.b1_cyclic",
    "B2": "benchmarks.b2_regular",
    "B3": "benchmarks.b3_amazon",  # and B4
    "B5": "benchmarks.b5_timeline",
    "B6": "benchmarks.b6_elimination",
    "B7": "benchmarks.b7_comm_efficient",
    "B8": "benchmarks.b8_training",
    "B9": "benchmarks.b9_shared",
    "B10": "benchmarks.b10_dryrun",
    "B12": "benchmarks.b12_quick",
    "B13": "benchmarks.b13_scale",
    "B14": "benchmarks.b14_clock",
    "B15": "benchmarks.b15_worst_case",
    "B16": "benchmarks.b16_workers",
    "B17": "benchmarks.b17_sweep",
    "B18": "benchmarks.b18_length",
}
#: Take minutes: only when named, or with --all.
SLOW = ("B12",)
