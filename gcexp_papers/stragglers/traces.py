"""Times of many workers as a strip: one colour per worker and iteration, and below it what can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def strip(axes: Axes, frame: pd.DataFrame) -> None:
    """One trace of `gcexp_papers.stragglers.numerics.overview`.

    Iterations from left to right and workers upwards; where workers are new in every row, workers from left to right
    and a row for each iteration. Dark is slow; the scale is the trace's own, from its fastest to its slowest entry.

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        ``what, iteration, worker, value, note``.
    """
    rows.known(frame, "what", "iteration", "worker", "value", "note")
    times = frame[frame["what"] == "time"]
    said = frame[frame["what"] != "time"].set_index("what")
    value = said["value"].to_dict()
    table = times.pivot(index="worker", columns="iteration", values="value")
    iterations, workers = int(value["iterations"]), int(value["workers"])
    if value["persistent"]:
        extent = (0, iterations, 0, workers)
    else:
        table, extent = table.T, (0, workers, 0, iterations)
    axes.imshow(
        table.to_numpy(float),
        aspect="auto",
        origin="lower",
        extent=extent,
        cmap="viridis_r",
        interpolation="none",
    )
    told = _told(value, said, times)
    axes.text(0, -0.17, told, transform=axes.transAxes, va="top", fontsize=5.5, linespacing=1.4)
    axes.set_yticks([])
    axes.tick_params(labelsize=6)
    axes.grid(visible=False)


def _told(value: dict[str, float], said: pd.DataFrame, times: pd.DataFrame) -> str:
    """The statistics in three short lines."""
    low, high = times["value"].min(), times["value"].max()
    lines = [
        f"CoV {value['cov']:.2f}, max/median {value['max_over_median']:.2f}",
        "new workers in every round",
        f"{int(value['workers'])} workers, {said.loc['licence', 'note']}; colours {low:.2f} to {high:.2f}",
    ]
    if value["persistent"] and np.isfinite(value["lag1"]):
        shares = " / ".join(f"{value[name]:.2f}" for name in ("worker", "iteration", "rest"))
        lines[0] += f", lag-1 {value['lag1']:.2f}"
        lines[1] = f"worker / iteration / rest {shares}"
    lines[0] += ", data-bound" * bool(value["data_bound"])
    lines[1] += ", sampled" * bool(value["sampled"])
    return "\n".join(lines)
