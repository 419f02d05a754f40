"""Benchmarks of gcexp: ``python -m benchmarks [ids...]`` prints one table.

The benchmark B1 is the function ``b1`` of the module that `MODULES` names; it returns a list of
`benchmarks.measure.Row`, and its docstring says what is measured. Peer figures are those of other public
implementations, quoted as measured on another machine; a floor is measured in the same run, so only ratios to a floor
are stable. No ratio mixes a simulated clock with a wall clock. The command ends with exit code 1 where CPU seconds are
over twice what a bar allows, or memory over what it allows.
"""

ROOMS = {
    "peers": range(1, 8),
    "training": (8, 9),
    "workflow": (10, 11, 12, 19, 21, 22),
    "scale": (*range(13, 19), 20),
    "costs": (23, 27),
    "logs": (24,),
    "advice": (25,),
    "failures": (26,),
}
#: Id of a benchmark: its module.
MODULES = {f"B{number}": module for module, numbers in ROOMS.items() for number in numbers}
#: Take minutes: only when named, or with --all.
SLOW = ("B11", "B12", "B20", "B23", "B25", "B27")
