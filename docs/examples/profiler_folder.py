"""
From profiler traces to a setting
=================================

The profiler of PyTorch leaves a file for each rank. From such a folder to an answer: who is slow, and what to set?
Here four ranks were profiled for 120 steps; for three steps at a time one of them, or none, was three times slower.
`examples/profile_ranks.py` recorded them, and the files were then reduced to the events that are read.
"""

from pathlib import Path

import gcexp
from gcexp.traces.kineto import read_profiler_folder

folder = Path(__file__).parent / "profiled"
times, decisions = read_profiler_folder(folder)
print(*decisions, sep="\n")
print(
    times.groupby("worker")[["time", "compute"]].describe().T.loc[(slice(None), ["50%", "max"]), :].round(3)
)

# %%
# The all-reduce makes all ranks end a step together. Until its launch each takes its own time, which is drawn here.
figure = gcexp.plot(
    times, x="iteration", y="time", line="worker", xlabel="step", ylabel="seconds until the all-reduce"
)

# %%
# No rank is slow throughout, so none should be excluded, and spare computing pays.
advice = gcexp.advise(times.assign(iteration=times["iteration"] - times["iteration"].min()))
print(advice.sentence)
