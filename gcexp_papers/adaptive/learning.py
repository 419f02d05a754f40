"""Learning with gradients that a drawn adaptive code decodes, without a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcexp.analysis.declared import columns
from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@columns("n", "method", "seed", "last_accuracy", "median_error", "largest_error")
def trainings(d: int, L: int, sizes: list[int], seeds: int, iterations: int, learning_rate: float):
    """Test accuracy after training with the gradients that drawn codes decode in single and in double precision.

    A perceptron learns scikit-learn's digits by gradient descent. In every iteration 0 to d-1 random workers straggle,
    and the update is made with what the plain solves of `numerics.decode_errors` decode. The errors are those of all
    decoded gradients of a training, relative to their sums. ``whole gradient``: nothing is coded. A training that ends
    in numbers that are not finite has the accuracy 0.
    """
    from .coded_training import trained  # torch takes long to import, and a plan needs the columns only

    for n in sizes:
        for seed in range(seeds):
            for method in ("float32", "float64", "whole gradient"):
                yield n, method, seed, *trained(n, d, L, seed, method, iterations, learning_rate)


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """A point for each training in single precision: its accuracy over the largest error of a decoded gradient."""
    rows.require_columns(frame, "n", "method", "last_accuracy", "largest_error")
    single = frame[frame["method"] == "float32"]
    for (n, part), marker in zip(rows.parts(single, "n"), "o^xsD", strict=False):
        look = {"marker": marker, "linestyle": "none", "color": "black", "markerfacecolor": "white"}
        axes.plot(part["largest_error"], part["last_accuracy"], **look, markersize=5, label=f"n = {n}")
    whole = frame.loc[frame["method"] == "whole gradient", "last_accuracy"]
    axes.axhline(whole.median(), color="black", linestyle="--", linewidth=0.8, label="whole gradients")
    axes.axhline(0.8, color="#A00000", linestyle="-", linewidth=0.8, label="the paper's 80 %")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
