r"""
What is lost to stragglers
==========================

A code that is decoded although too few workers were heard gives :math:`\sum_i c_i g_i` with coefficients other than
one. Its error :math:`\|c - 1\|^2 / k` with optimal decoding, at worst over all sets of s stragglers and on average, for
three codes in which every worker holds three of twelve partitions.
"""

import matplotlib.pyplot as plt

from gcexp.codes import BernoulliCode, FractionalRepetition, RegularBipartiteCode
from gcexp.decoding_error.error import error

n, d, lost = 12, 3, range(9)
codes = {
    "fractional repetition": FractionalRepetition(n=n, d=d),
    "regular random": RegularBipartiteCode(n=n, d=d),
    "Bernoulli": BernoulliCode(n=n, d=d),
}
figure, (worst, mean) = plt.subplots(1, 2, sharey=True, figsize=(7, 3), layout="constrained")
for name, code in codes.items():
    worst.plot(lost, [found.upper for found in error(code, lost, "worst")], marker="o", label=name)
    mean.plot(lost, [found.mean for found in error(code, lost, "random", trials=500)], marker="o")
worst.set(title="at worst", xlabel="stragglers s", ylabel="error")
mean.set(title="on average", xlabel="stragglers s")
worst.legend()

# %%
# Groups are good on average and bad at worst: three silent workers of one group lose its partitions altogether.
