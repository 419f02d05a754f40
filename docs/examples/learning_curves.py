"""
Learning under stragglers
=========================

Test accuracy against the simulated clock. Exact schemes learn alike per iteration and differ in how long one takes; a
scheme that ignores the slowest is quick and learns from less.
"""

import gcexp

curves = gcexp.sweep(
    {"scheme": ["uncoded", "cgc", "frc", "forget"]},
    n=12,
    s=2,
    delay="pareto",
    task="digits_mlp",
    iterations=80,
    seeds=2,
)
figure = gcexp.plot(curves, level=0.8)

# %%
# When each scheme first reaches 80 %, on average over the seeds.
reached = curves[curves["test_accuracy"] >= 0.8]
print(reached.groupby(["scheme", "seed"])["simulated_time_s"].min().groupby("scheme").mean().round(3))
