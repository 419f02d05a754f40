"""
From profiler traces to a setting
=================================

The profiler of PyTorch leaves a file for each rank. From such a folder to an answer: who is slow, and what to set?
Here four ranks were profiled for 120 steps; for three steps at a time one of them, or none, was three times slower.
`examples/profile_ranks.py` recorded them, and the files were then reduced to the events that are read.
"""

from pathlib import Path

import gcexp
from gcexp_adviser.profiler.kineto import read_profiler_folder

folder = Path("profiled")  # where the gallery runs this example
if not folder.is_dir():
    folder = Path("docs/examples/profiled")  # from the root of the clone
times, decisions = read_profiler_folder(folder)
print(*decisions, sep="\n")
print(times.groupby("worker")[["time", "compute"]].quantile([0.5, 0.9, 1.0]).unstack().round(3))

# %%
# The all-reduce makes all ranks end a step together. What each takes until it launches it is drawn here.
figure = gcexp.plot(
    times,
    x="iteration",
    y="time",
    line="worker",
    xlabel="step",
    ylabel="seconds until the all-reduce",
    note="Recorded by the profiler of PyTorch.",
)

# %%
# No rank is slow throughout, so excluding one would not help. It pays that neighbours compute some of a rank's share.
advice = gcexp.advise(folder)
print(advice.sentence)
