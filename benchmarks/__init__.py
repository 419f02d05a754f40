"""Benchmarks of gcexp: ``python -m benchmarks [ids...]`` prints one table.

A benchmark is one function without arguments that returns a list of `benchmarks.measure.Row`. Its docstring says what
is measured, and `REGISTRY` names it. Peer figures are those of other public implementations, quoted as measured on
another machine; a floor is measured in the same run, so only ratios to a floor are stable. No ratio mixes a simulated
clock with a wall clock. The command ends with exit code 1 where CPU seconds are over twice what a bar allows, or memory
over what it allows.
"""

#: Id: module and function.
REGISTRY = {
    "B1": "benchmarks.peers:cyclic_repetition",
    "B2": "benchmarks.peers:random_regular",
    "B3": "benchmarks.peers:amazon",
    "B4": "benchmarks.peers:amazon_with_delays",
    "B5": "benchmarks.peers:waiting_rule",
    "B6": "benchmarks.peers:elimination",
    "B7": "benchmarks.peers:polynomial_code",
    "B8": "benchmarks.training:one_step",
    "B9": "benchmarks.training:shared_training",
    "B10": "benchmarks.workflow:plan",
    "B11": "benchmarks.workflow:first_figure",
    "B12": "benchmarks.workflow:everything",
    "B13": "benchmarks.scale:long_run",
    "B14": "benchmarks.scale:clock",
    "B15": "benchmarks.scale:worst_case",
    "B16": "benchmarks.scale:many_workers",
    "B17": "benchmarks.scale:sweep",
    "B18": "benchmarks.scale:many_iterations",
    "B19": "benchmarks.workflow:start",
    "B20": "benchmarks.scale:map_of_a_trace",
    "B21": "benchmarks.workflow:functions_of_a_drawing",
}
#: Take minutes: only when named, or with --all.
SLOW = ("B11", "B12", "B20")
