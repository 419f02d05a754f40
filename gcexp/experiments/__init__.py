"""One's own experiments from Python: `simulate`, `train`, `sweep` give tidy tables, `plot` and `show` draw.

`build` makes a run of what a Hydra app has composed.
The same composition, checks, draws and bits as the workflow, without its files.
"""

from gcexp.experiments.building import build
from gcexp.experiments.comparing import compare
from gcexp.experiments.error_table import error
from gcexp.experiments.plotting import plot
from gcexp.experiments.running import simulate, sweep, train
from gcexp.experiments.showing import show

__all__ = ["build", "compare", "error", "plot", "show", "simulate", "sweep", "train"]
