"""
Waiting for fewer workers
=========================

How much time a code saves depends on how heavy the tail of the delays is. Two delay models, one sweep each: a code with
load s + 1 waits for n - s of n workers, and every worker computes s + 1 times as much.
"""

import gcexp

sweep = gcexp.sweep(
    {"delay": ["pareto", "shifted_exponential"], "s": [0, 1, 2, 3, 5, 7, 9]},
    scheme="cgc",
    n=20,
    iterations=200,
    seeds=10,
)
means = sweep.groupby(["delay", "s"])["mean_iteration_time_s"].mean().unstack(0)
print(means.round(4))

# %%
# Times of one model are not to be compared with those of the other, so both are shown as a share of waiting for all.
shares = sweep.assign(
    share=sweep["mean_iteration_time_s"]
    / sweep.groupby(["delay", "seed"])["mean_iteration_time_s"].transform("first")
)
figure = gcexp.plot(
    shares, x="s", y="share", line="delay", ylabel="share of the time of waiting for all", band="range"
)
