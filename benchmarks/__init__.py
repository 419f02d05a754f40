"""Benchmarks of gcexp: ``python -m benchmarks [ids...]`` prints one table.

The benchmark B1 is the function ``b1`` of the module that `MODULES` names; it returns a list of
`benchmarks.measure.Row`, and its docstring says what is measured. Peer figures are those of other public
implementations, quoted as measured on another machine; a floor is measured in the same run, so only ratios to a floor
are stable. No ratio mixes a simulated clock with a wall clock. The command ends with exit code 1 where CPU seconds are
over twice what a bar allows, or memory over what it allows.
"""

#: Id of a benchmark: its module.
MODULES = {
    **dict.fromkeys(["B1", "B2", "B3", "B4", "B5", "B6", "B7"], "peers"),
    **dict.fromkeys(["B8", "B9"], "training"),
    **dict.fromkeys(["B10", "B11", "B12"], "workflow"),
    **dict.fromkeys(["B13", "B14", "B15", "B16", "B17", "B18"], "scale"),
    "B19": "workflow",
    "B20": "scale",
    "B21": "workflow",
}
#: Take minutes: only when named, or with --all.
SLOW = ("B11", "B12", "B20")
