"""
A formula against the clock
===========================

The mean time of the (n - s)-th fastest of n workers has a closed form for exponential tails. The simulated clock must
agree with it, and does within the error of its own mean.
"""

import pandas as pd

import gcexp
from gcexp.theory.order_statistics import shifted_exponential

n, shift, mean = 10, 1.0, 0.5
clock = gcexp.sweep(
    {"s": [0, 1, 2, 4, 6, 8]},
    "delay.data_time=0",
    f"delay.shift={shift}",
    f"delay.mean={mean}",
    scheme="forget",
    n=n,
    delay="shifted_exponential",
    iterations=500,
    seeds=20,
)
expected = {s: shifted_exponential(k=n - s, n=n, shift=shift, mean=mean) for s in clock["s"].unique()}
for s, found in clock.groupby("s")["mean_iteration_time_s"]:
    deviation = (found.mean() - expected[s]) / found.sem()
    print(
        f"s = {s}: {found.mean():.4f} simulated, {expected[s]:.4f} expected, {deviation:+.1f} standard errors"
    )
    assert abs(deviation) < 5

# %%
# The same as a figure: the clock with markers, the formula as a dashed line.
formula = clock.assign(mean_iteration_time_s=clock["s"].map(expected))
both = pd.concat([clock.assign(which="clock"), formula.assign(which="formula")], ignore_index=True)
figure = gcexp.plot(both, x="s", line="which", dashed=["formula"], ylabel="mean time (s)")
