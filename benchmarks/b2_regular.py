"""B2: error study of random d-regular codes, n=50, d=3, s=3..7, and its plot.

Work: 10 random bipartite regular graphs, built; for each and every s, 100 random patterns of exactly s stragglers,
decoded in two ways: one-step (equal weights on all heard) and optimal (smallest error); the mean error of each way and
s; and one plot of these ten means, drawn and written as PDF. That is 10 x 5 x 100 x 2 decodes, all through
`Code.decode`, with coefficients and certificate. Optimal weights are never worse, which is asserted.

Imports, the start of matplotlib and its first figure are not measured: one warm-up, then the median of seven whole
studies. The optimal decodes alone stand in the note. Peer: the authors' script; whether its number holds the imports
is not said, so no ratio is shown.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO

import numpy as np

from benchmarks.measure import Row, duration, median_cpu
from gcexp.codes import RegularBipartiteCode

N, D, STRAGGLERS, GRAPHS, PATTERNS = 50, 3, (3, 4, 5, 6, 7), 10, 100
DECODERS = ("one_step", "optimal")


def patterns() -> np.ndarray:
    """Patterns (s, PATTERNS, N) of exactly s stragglers for each s."""
    order = np.random.default_rng(0).random((len(STRAGGLERS), PATTERNS, N)).argsort(-1).argsort(-1)
    return (order >= np.array(STRAGGLERS)[:, None, None]).astype(np.int64)


def study(decoders: tuple[str, ...] = DECODERS) -> np.ndarray:
    """Mean error ||c - 1||^2 / n, (decoders, s)."""
    responses = patterns()
    errors = np.empty((len(decoders), GRAPHS, len(STRAGGLERS), PATTERNS))
    for i, decoder in enumerate(decoders):
        for graph in range(GRAPHS):
            code = RegularBipartiteCode(N, D, decoder=decoder, seed=graph)
            errors[i, graph] = code.decode(responses.reshape(-1, N)).error.reshape(responses.shape[:2])
    if len(decoders) == 2:
        assert (errors[1] <= errors[0] + 1e-12).all(), "optimal weights are worse than equal ones"
    return errors.mean((1, 3))


def whole() -> None:
    """The study and its plot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    for name, errors in zip(DECODERS, study(), strict=True):
        axes.plot(STRAGGLERS, errors, marker="o", label=name)
    axes.set(xlabel="stragglers", ylabel="mean error")
    axes.legend()
    figure.savefig(BytesIO(), format="pdf")
    pyplot.close(figure)


def run() -> list[Row]:
    """One line."""
    everything, optimal = median_cpu(whole, partial(study, ("optimal",)))
    decodes = GRAPHS * len(STRAGGLERS) * PATTERNS
    return [
        Row(
            *("B2", f"random regular n={N} d={D}: {decodes} x 2 decodes and a plot", everything, "< 1 s"),
            met=everything < 1,
            limit=1,
            peer="about 4.2 s user CPU",
            note=f"optimal ones without plot {duration(optimal)}",
        )
    ]
